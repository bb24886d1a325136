/*
 * trigger.c
 *	  The triggers of followed tables.
 *
 * A statement trigger has the rows of its statement in transition tables.  The worker that applies
 * replicated changes fires row triggers only, for changes that are no statements; so in a session
 * whose session_replication_role is "replica", row triggers do the same for one row (see follow.c).
 *
 * The rows of a statement are worked on by portions, which bound the memory.  Items are locked in
 * the order of their keys within a portion.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tupconvert.h"
#include "catalog/pg_index.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "catalog/follower.h"
#include "models/migrate/refresh.h"
#include "server/errors.h"
#include "server/extension.h"
#include "store/plan.h"

/* So many rows are in memory at once, unless work_mem is less. */
#define PORTION_ROWS 10000

uint64 follower_calls = 0;

/*
 * The followed table: that of the trigger, or one that has it as a partition
 */

typedef struct Followed
{
	Oid relid;
	TupleConversionMap *map; /* NULL: rows of the partition are like its */
} Followed;

/* Returns the table whose trigger this is, or is a copy of. */
static Oid
trigger_table(const TriggerData *trigger)
{
	Oid relid = RelationGetRelid(trigger->tg_relation);
	Oid oid = trigger->tg_trigger->tgoid;

	while (trigger->tg_trigger->tgisclone && OidIsValid(oid))
	{
		HeapTuple tuple = dyn_follower_trigger(oid);

		CHECK_FOR_INTERRUPTS();
		if (tuple == NULL)
			break;
		relid = ((Form_pg_trigger) GETSTRUCT(tuple))->tgrelid;
		oid = ((Form_pg_trigger) GETSTRUCT(tuple))->tgparentid;
	}
	return relid;
}

/* Opens the followed table, which is looked for once in a statement. */
static const Followed *
open_followed_table(FunctionCallInfo fcinfo, const TriggerData *trigger, Change *change)
{
	Followed *followed = fcinfo->flinfo->fn_extra;
	bool is_first = followed == NULL;
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

	if (is_first)
	{
		followed = palloc0(sizeof(Followed));
		followed->relid = trigger_table(trigger);
	}
	change->part = trigger->tg_relation;
	change->source = relation_open(followed->relid, AccessShareLock);
	if (is_first && change->source != change->part)
		followed->map =
			convert_tuples_by_name(CreateTupleDescCopy(RelationGetDescr(change->part)),
								   CreateTupleDescCopy(RelationGetDescr(change->source)));
	fcinfo->flinfo->fn_extra = followed;
	MemoryContextSwitchTo(old);
	return followed;
}

/*
 * Restoring a dump
 */

/* Returns whether no two rows can be equal in some columns, by an index that is complete. */
static bool
has_unique_index(Relation rel)
{
	List *indexes = RelationGetIndexList(rel);
	bool found = false;
	ListCell *cell;

	foreach (cell, indexes)
	{
		HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));

		if (!HeapTupleIsValid(tuple))
			continue;
		found = found || (((Form_pg_index) GETSTRUCT(tuple))->indisunique &&
						  ((Form_pg_index) GETSTRUCT(tuple))->indisvalid);
		ReleaseSysCache(tuple);
	}
	list_free(indexes);
	return found;
}

static bool
refuses_truncate(const TriggerDesc *triggers, const char *migration)
{
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (TRIGGER_FOR_TRUNCATE(trigger->tgtype) && trigger->tgnargs == 1 &&
			strncmp(trigger->tgname, DYN_FOLLOW_TRIGGER, strlen(DYN_FOLLOW_TRIGGER)) == 0 &&
			strcmp(trigger->tgargs[0], migration) == 0)
			return true;
	}
	return false;
}

/*
 * Returns whether rows of a partition come from a dump, which has their items too.  A restore in
 * parallel may make the trigger of a partitioned table, and so its copies, before partitions have
 * their rows: pg_dump knows no dependency of that trigger on these rows.  What a partition has of its
 * own comes after its rows: its trigger for TRUNCATE, and its part of an index, without which the
 * index of the whole table is not valid.  Restores, and hardly anybody else, check no bodies of
 * functions.
 */
static bool
is_restored(const TriggerData *trigger, const Change *change)
{
	return !check_function_bodies && change->part != change->source &&
		   !refuses_truncate(change->part->trigdesc, trigger->tg_trigger->tgargs[0]) &&
		   !has_unique_index(change->source);
}

/*
 * Opening the migration
 */

static bool
open_followed(Change *change, char *name)
{
	change->rel = migration_open_followed(item_span(name), RelationGetRelid(change->source),
										  &change->table, &change->migration);
	if (change->rel != NULL &&
		!migration_may_follow(RelationGetRelid(change->rel), RelationGetRelid(change->part)))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("migration \"%s\" cannot follow partition \"%s\"",
						item_quoted(item_span(name)), RelationGetRelationName(change->part)),
				 errdetail("The owner of the table of items has not the rights of its owner."),
				 errhint("Call dyn_follow_migration(%s, enabled => false) to follow no longer.",
						 dyn_follower_literal(name))));
	return change->rel != NULL;
}

/*
 * Warns of a missing declaration.  It is in the label of the table of items, which a dump may leave
 * out, and the table may be gone.  Whoever writes to the source can do nothing about that, so
 * writes go on.
 */
static void
warn_of_missing(const Change *change, const char *name)
{
	static List *told = NIL; /* names, for the rest of the session */
	const char *source = RelationGetRelationName(change->source);
	MemoryContext old;
	ListCell *cell;

	foreach (cell, told)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return;
	}
	old = MemoryContextSwitchTo(TopMemoryContext);
	told = lappend(told, pstrdup(name));
	MemoryContextSwitchTo(old);
	ereport(
		WARNING,
		(errcode(ERRCODE_UNDEFINED_OBJECT),
		 errmsg("changes of table \"%s\" make no items: migration \"%s\" is not declared", source,
				item_quoted(item_span(name))),
		 errdetail("It is declared in the security label of a table of items whose owner has the "
				   "rights of the owner of \"%s\".",
				   source),
		 errhint("Declare it with dyn_create_migration() and run it again, or call "
				 "dyn_follow_migration(%s, enabled => false).",
				 dyn_follower_literal(name))));
}

/* Returns false, and tells the user, if the migration is not declared. */
static bool
find_followed(Change *change, char *name)
{
	if (open_followed(change, name))
		return true;
	warn_of_missing(change, name);
	return false;
}

/*
 * Opens the migration, and takes its lock.  A batch of a newer declaration that had the lock before
 * has not seen this change, so the item must not be made by the older one.
 */
static bool
lock_followed(Change *change, char *name)
{
	if (!find_followed(change, name))
		return false;
	migration_lock_follow(change->migration);
	AcceptInvalidationMessages();
	if (change->migration->valid)
		return true;
	relation_close(change->rel, NoLock);
	return find_followed(change, name);
}

/*
 * Rows that were changed
 */

/* Holds rows of a row trigger, or of the transition tables of a statement trigger. */
typedef struct Rows
{
	TriggerData *trigger;
	const Followed *followed;
	Tuplestorestate *stores[2]; /* old, new; NULL: the event has none */
	int pointers[2]; /* our positions in them: others read them too */
	TupleTableSlot *slots[2];
	bool done;
} Rows;

static void
open_rows(Rows *rows, TriggerData *trigger, const Followed *followed)
{
	*rows = (Rows){.trigger = trigger, .followed = followed};
	if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		return;
	rows->stores[0] = trigger->tg_oldtable;
	rows->stores[1] = trigger->tg_newtable;
	for (int i = 0; i < 2; i++)
	{
		if (rows->stores[i] == NULL)
			continue;
		rows->pointers[i] = tuplestore_alloc_read_pointer(rows->stores[i], EXEC_FLAG_REWIND);
		tuplestore_select_read_pointer(rows->stores[i], rows->pointers[i]);
		tuplestore_rescan(rows->stores[i]);
		rows->slots[i] =
			MakeSingleTupleTableSlot(RelationGetDescr(trigger->tg_relation), &TTSOpsMinimalTuple);
	}
}

static void
close_rows(Rows *rows)
{
	for (int i = 0; i < 2; i++)
	{
		if (rows->slots[i] != NULL)
			ExecDropSingleTupleTableSlot(rows->slots[i]);
	}
}

/* Reads a row of a transition table into its slot; false: there are no more. */
static bool
next_row(Rows *rows, int i)
{
	if (rows->stores[i] == NULL)
		return false;
	tuplestore_select_read_pointer(rows->stores[i], rows->pointers[i]);
	return tuplestore_gettupleslot(rows->stores[i], true, false, rows->slots[i]);
}

/* Returns whether an update has left a row as it was, by its bytes. */
static bool
is_unchanged(HeapTuple old, HeapTuple new)
{
	return old != NULL && new != NULL && old->t_len == new->t_len &&
		   old->t_data->t_hoff == new->t_data->t_hoff &&HeapTupleHeaderGetNatts(old->t_data) ==
			   HeapTupleHeaderGetNatts(new->t_data) &&
		   memcmp((char *) old->t_data + offsetof(HeapTupleHeaderData, t_bits),
				  (char *) new->t_data + offsetof(HeapTupleHeaderData, t_bits),
				  old->t_len - offsetof(HeapTupleHeaderData, t_bits)) == 0;
}

/* Adds a row, unless it is unchanged.  Returns its size. */
static Size
add_row(Change *change, HeapTuple old, HeapTuple new)
{
	if (is_unchanged(old, new))
		return 0;
	change->old[change->n] = old;
	change->new[change->n] = new;
	change->n++;
	return (old == NULL ? 0 : old->t_len) + (new == NULL ? 0 : new->t_len);
}

/*
 * Returns a row of a partition as one of the followed table.  Partitioned tables do not know the
 * values of columns that were added after the row was written, so these are filled in.
 */
static HeapTuple
row_of_followed(const Change *change, const Followed *followed, HeapTuple row)
{
	TupleDesc desc = RelationGetDescr(change->part);

	if (row == NULL || change->part == change->source)
		return row;
	if (HeapTupleHeaderGetNatts(row->t_data) < desc->natts)
		row = heap_expand_tuple(row, desc);
	return followed->map == NULL ? row : execute_attr_map_tuple(row, followed->map);
}

static void
take_row(Change *change, Rows *rows)
{
	const TriggerData *trigger = rows->trigger;

	rows->done = true;
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		(void) add_row(change, trigger->tg_trigtuple, trigger->tg_newtuple);
	else if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		(void) add_row(change, trigger->tg_trigtuple, NULL);
	else
		(void) add_row(change, NULL, trigger->tg_trigtuple);
	if (change->n == 0)
		return;
	change->old[0] = row_of_followed(change, rows->followed, change->old[0]);
	change->new[0] = row_of_followed(change, rows->followed, change->new[0]);
}

/* Takes rows: the n-th of the old table and that of the new one are versions of one row. */
static void
take_rows(Change *change, Rows *rows)
{
	Size size = 0;

	while (change->n < PORTION_ROWS && size < (Size) work_mem * 1024)
	{
		bool old = next_row(rows, 0);
		bool new = next_row(rows, 1);

		CHECK_FOR_INTERRUPTS();
		if (!old && !new)
		{
			rows->done = true;
			return;
		}
		size += add_row(change, old ? ExecCopySlotHeapTuple(rows->slots[0]) : NULL,
						new ? ExecCopySlotHeapTuple(rows->slots[1]) : NULL);
	}
}

/* Takes as many of the rows as are worked on at a time. */
static void
take_portion(Change *change, Rows *rows)
{
	int max = TRIGGER_FIRED_FOR_ROW(rows->trigger->tg_event) ? 1 : PORTION_ROWS;

	change->n = 0;
	change->old = palloc(max * sizeof(HeapTuple));
	change->new = palloc(max * sizeof(HeapTuple));
	if (max == 1)
		take_row(change, rows);
	else
		take_rows(change, rows);
	/* a row that was read from disk is in the memory of the portion */
	for (int i = 0; i < 2; i++)
	{
		if (rows->slots[i] != NULL)
			ExecClearTuple(rows->slots[i]);
	}
}

/*
 * Triggers
 */

static void
follow_portion(Change *change, const char *name)
{
	if (!change_find(change))
		migration_fail_misfit(
			name, true,
			psprintf("It does not read table \"%s\"", RelationGetRelationName(change->source)));
	change_refresh(change);
}

static void
trigger_follow(Change *change, Rows *rows, char *name)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "migration portion", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool opened = false;

	change->found = AllocSetContextCreate(old, "migration items", ALLOCSET_DEFAULT_SIZES);
	while (!rows->done)
	{
		take_portion(change, rows);
		if (change->n > 0)
		{
			if (!opened && !lock_followed(change, name))
				break;
			opened = true;
			follower_calls++;
			follow_portion(change, name);
		}
		MemoryContextReset(change->found);
		MemoryContextReset(context);
	}
	if (opened)
		relation_close(change->rel, NoLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(change->found);
	MemoryContextDelete(context);
}

/* Raises the error of a trigger function that was called otherwise. */
void
migration_refuse_call(const char *function, const char *kind)
{
	ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
					errmsg("function \"%s\" must be called by %s", function, kind)));
}

/* Returns whether a trigger gives all rows that its event has changed. */
static bool
has_rows(const TriggerData *trigger)
{
	if (!TRIGGER_FIRED_AFTER(trigger->tg_event) || TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
		return false;
	return TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		   ((trigger->tg_oldtable != NULL || TRIGGER_FIRED_BY_INSERT(trigger->tg_event)) &&
			(trigger->tg_newtable != NULL || TRIGGER_FIRED_BY_DELETE(trigger->tg_event)));
}

PG_FUNCTION_INFO_V1(dyn_migration_changed);
Datum
dyn_migration_changed(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Change change = {0};
	Rows rows;

	if (!CALLED_AS_TRIGGER(fcinfo) || !has_rows(trigger) || trigger->tg_trigger->tgnargs != 1)
		migration_refuse_call(
			DYN_INTERNAL ".migration_changed",
			"an AFTER row trigger, or an AFTER statement trigger with transition tables");
	store_connect();
	open_rows(&rows, trigger, open_followed_table(fcinfo, trigger, &change));
	if (!is_restored(trigger, &change))
		trigger_follow(&change, &rows, trigger->tg_trigger->tgargs[0]);
	close_rows(&rows);
	relation_close(change.source, NoLock);
	SPI_finish();
	return PointerGetDatum(NULL);
}
