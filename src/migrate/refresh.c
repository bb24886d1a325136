/*
 * refresh.c
 *	  The triggers of followed tables: items are made again when a row that they are made of has changed.
 *
 * Two transactions that change rows of one item must not miss each other.  So the item is locked
 * first, and then made from what a new snapshot shows, whatever the isolation level, as foreign
 * keys read their tables: a transaction that had the item before has committed by then, and one
 * that comes later waits and then sees our change.  If there is no item to lock, the unique index
 * does the same: an insert waits for other inserts of its key, and the item is made again after it;
 * an item that must not exist is held absent.
 *
 * A row may get another key meanwhile.  The transaction that changes the key locks the item of the
 * old key first, and then makes that of the new key.  So a transaction that has found the row by a
 * related row either sees, once it has locked the old item, that the row has left it, and searches
 * again; or the change of the key waits for it.
 *
 * Rows that a row refers to are locked FOR SHARE before, so that their change is either seen, or
 * finds this row.
 *
 * Lock order: the migration's lock, rows of the source, items.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "actions/write.h"
#include "ground/errors.h"
#include "ground/extension.h"
#include "migrate/check.h"
#include "migrate/collide.h"
#include "store/plan.h"

extern PGDLLEXPORT Datum dyn_migration_changed(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum dyn_migration_truncated(PG_FUNCTION_ARGS);

typedef struct Change
{
	Relation rel; /* of items */
	DynTable *table;
	ItemWriter writer;
	Migration *migration;
	Relation source; /* the table that was changed */
	HeapTuple old; /* or NULL */
	HeapTuple new;
	List *refreshes; /* of Refresh: the items to make again */
} Change;

/* An item to make again, known by a row that makes its key. */
typedef struct Refresh
{
	MigrationStep *step;
	DynItem *item; /* the key attributes */
	DynKeyValues key;
	HeapTuple tuple; /* of SELECT_ROW: the step's key, and what makes the item's key */
	TupleDesc desc;
	bool is_old; /* the row has another key now, or is gone */
	const struct Referring *by; /* how it was found, if a related row was changed */
	bool moved; /* the row does not make this item, or not any more */
} Refresh;

/* A related row, and the values of its columns by which the rows of the source are found. */
typedef struct Referring
{
	MigrationStep *step;
	const StepRelation *relation;
	const StepChild *link;
	const Datum *values;
} Referring;

/*
 * Statements
 */

/* Executes a statement under a new snapshot.  SPI has the result. */
static void
execute(MigrationStep *step, const SelectOptions *options, Datum *values, const char *nulls)
{
	MemoryContext context = CurrentMemoryContext;
	int result = SPI_execute_snapshot(step_plan(step, options), values, nulls, GetLatestSnapshot(),
									  InvalidSnapshot, false, false, 0);

	MemoryContextSwitchTo(context);
	if (result < 0)
		elog(ERROR, "SPI_execute_snapshot failed: %s", SPI_result_code_string(result));
}

/* Raises an error if policies may hide rows, which would be missing in items. */
static void
check_row_security(const MigrationStep *step)
{
	ListCell *cell;

	foreach (cell, step_relations(step))
	{
		const StepRelation *relation = lfirst(cell);

		if (check_enable_rls(relation->relid, InvalidOid, true) == RLS_ENABLED)
			ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
							errmsg("row-level security may hide rows of %s from migration \"%s\"",
								   relation->name, step->migration->name)));
	}
}

/* Gets the values of some columns; false if one is NULL, so that no row matches. */
static bool
get_columns(HeapTuple tuple, TupleDesc desc, const StepRelation *relation, bool other,
			Datum *values)
{
	for (int i = 0; i < relation->npairs; i++)
	{
		bool isnull;

		values[i] = heap_getattr(
			tuple, other ? relation->pairs[i].other : relation->pairs[i].column, desc, &isnull);
		if (isnull)
			return false;
	}
	return true;
}

/*
 * Locks the row of a relation that a row refers to.  A lock needs more rights than reading, so it
 * is taken as the relation's owner, as foreign keys do; no data is returned.
 */
static void
lock_referred(MigrationStep *step, const StepRelation *relation, const StepChild *link,
			  HeapTuple tuple, TupleDesc desc)
{
	SelectOptions options = {.which = SELECT_LOCK, .relation = relation, .link = link};
	Datum *values = palloc(relation->npairs * sizeof(Datum));
	Relation rel;
	Oid user;
	int context;

	if (!get_columns(tuple, desc, relation, true, values))
		return;
	rel = relation_open(relation->relid, RowShareLock);
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	execute(step, &options, values, NULL);
	SetUserIdAndSecContext(user, context);
	SPI_freetuptable(SPI_tuptable);
	relation_close(rel, NoLock);
}

/*
 * Items
 */

static Datum *
key_parameters(const MigrationStep *step, const Refresh *refresh)
{
	ArrayType *position = row_position(step, refresh->tuple, refresh->desc);
	Datum *values;
	bool *nulls;
	int n;

	deconstruct_array(position, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	return values;
}

/* Returns the values that make the item's key, which come after the step's key. */
static Datum *
same_parameters(const MigrationStep *step, const Refresh *refresh, char **nulls)
{
	int n = refresh->desc->natts - step->nkeys;
	Datum *values = palloc(Max(n, 1) * sizeof(Datum));

	*nulls = palloc0(n + 1);
	for (int i = 0; i < n; i++)
	{
		bool isnull;

		values[i] = heap_getattr(refresh->tuple, step->nkeys + i + 1, refresh->desc, &isnull);
		(*nulls)[i] = isnull ? 'n' : ' ';
	}
	return values;
}

/* Reads the rows that make the item now, and builds the first one.  Returns their number. */
static int
read_rows(const Change *change, const Refresh *refresh, MigrationRow *row)
{
	MigrationStep *step = refresh->step;
	bool told = step_key_is_told(step);
	SelectOptions options = {.which = told ? SELECT_KEY : SELECT_SAME};
	char *nulls = NULL;
	int nest = migration_enter();
	Datum *values = told ? key_parameters(step, refresh) : same_parameters(step, refresh, &nulls);
	int n;

	execute(step, &options, values, nulls);
	n = (int) SPI_processed;
	if (n > 0)
	{
		row_build(row_builder(step, change->rel, change->table),
				  heap_copytuple(SPI_tuptable->vals[0]), CreateTupleDescCopy(SPI_tuptable->tupdesc),
				  row);
		row->message = row->problem == ROW_ERROR || n > 1
						   ? psprintf("row %s cannot become an item: %s",
									  row_name(step, row->tuple, row->desc),
									  n > 1 ? "another row makes it already" : row->message)
						   : NULL;
	}
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
	return n;
}

/* Returns whether this is the row that the item is known by; another row may have its key now. */
static bool
is_row(const Refresh *refresh, const MigrationRow *row)
{
	ArrayType *meant = row_position(refresh->step, refresh->tuple, refresh->desc);
	ArrayType *found = row_position(refresh->step, row->tuple, row->desc);

	return VARSIZE(meant) == VARSIZE(found) && memcmp(meant, found, VARSIZE(meant)) == 0;
}

/*
 * Returns the item as it has to be; NULL: there must be none.  A row that is found by the step's
 * key may make another item by now, if the item's key has more attributes.
 */
static DynItem *
make_item(const Change *change, Refresh *refresh)
{
	MigrationRow row;
	int n = read_rows(change, refresh, &row);

	refresh->moved = n == 0 || !is_row(refresh, &row);
	if (n == 0)
		return NULL;
	if (n > 1)
		ereport(ERROR, (errcode(ERRCODE_UNIQUE_VIOLATION), errmsg("%s", row.message)));
	if (row.problem == ROW_ERROR)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("%s", row.message)));
	if (row.item != NULL && store_key_compare(change->table, &row.key, &refresh->key) != 0)
	{
		refresh->moved = true;
		return NULL;
	}
	return row.item;
}

static bool
same_item(const DynItem *a, const DynItem *b)
{
	return item_compare_bytes(item_root(a), item_root(b)) == 0;
}

static void
replace_item(Change *change, ItemWrite *write, DynItem *new)
{
	if (new == NULL)
		write_delete_locked(&change->writer, write);
	else if (!same_item(write->old, new))
	{
		ItemWrite replacement;

		write_prepare(&change->writer, new, &replacement);
		replacement.old = write->old;
		write_replace(&change->writer, &replacement);
		write_done(&change->writer, &replacement, NULL);
	}
}

/* False: there is an item already. */
static bool
insert_item(Change *change, DynItem *new)
{
	ItemWrite write;

	write_prepare(&change->writer, new, &write);
	if (!write_insert(&change->writer, &write))
		return false;
	write_done(&change->writer, &write, NULL);
	return true;
}

/* Returns whether changes of other rows than the source's own make its item again. */
static bool
is_shared(const MigrationStep *step)
{
	return step->nparents > 0 || step->nchildren > 0 || !step_key_is_told(step);
}

/* False: try again. */
static bool
try_refresh(Change *change, Refresh *refresh)
{
	ItemWrite write = {.key = refresh->key};
	DynItem *old = write_lock(&change->writer, &write, STORE_LOCK_REPLACE);
	DynItem *new = make_item(change, refresh);

	if (old == NULL && new == NULL)
		return !is_shared(refresh->step) ||
			   write_hold_absent(&change->writer, &write, refresh->item);
	if (old == NULL)
	{
		if (!insert_item(change, new))
			return false;
		if (!is_shared(refresh->step))
			return true;
		/* the insert may have waited for a transaction that held the item absent */
		write.old = new;
		new = make_item(change, refresh);
	}
	replace_item(change, &write, new);
	return true;
}

/*
 * Conflicts keep PostgreSQL's error codes instead of the store's: a client that writes a followed
 * table retries its transaction when it gets these.
 */
static void
refresh_item(Change *change, Refresh *refresh)
{
	while (!try_refresh(change, refresh))
		CHECK_FOR_INTERRUPTS();
}

/*
 * Rows of the source
 */

typedef struct KeyTry
{
	const Change *change;
	Refresh *refresh;
} KeyTry;

static void
try_keys(void *arg)
{
	KeyTry *try = arg;
	Refresh *refresh = try->refresh;

	refresh->item = row_build_keys(row_builder(refresh->step, try->change->rel, try->change->table),
								   refresh->tuple, refresh->desc);
	dyn_key_of_item(try->change->table, refresh->item, &refresh->key);
}

/* Sets the item of the i-th row that was read.  Returns the error if the row has no valid key. */
static ErrorData *
take_refresh(const Change *change, MigrationStep *step, uint64 i, Refresh *refresh)
{
	KeyTry try = {change, refresh};

	*refresh = (Refresh){.step = step};
	refresh->tuple = heap_copytuple(SPI_tuptable->vals[i]);
	refresh->desc = CreateTupleDescCopy(SPI_tuptable->tupdesc);
	return row_try(try_keys, &try);
}

/* Sets the item of a row of the source, which need not be in the table any more. */
static ErrorData *
refresh_of_tuple(const Change *change, MigrationStep *step, HeapTuple tuple, Refresh *refresh)
{
	SelectOptions options = {.which = SELECT_ROW};
	Datum value = heap_copy_tuple_as_datum(tuple, RelationGetDescr(change->source));
	int nest = migration_enter();
	ErrorData *error;

	execute(step, &options, &value, NULL);
	error = take_refresh(change, step, 0, refresh);
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
	return error;
}

/* Raises the error about a row without a valid key, unless the step does not take the row. */
static void
check_unwanted(const Change *change, const Refresh *refresh, const ErrorData *error)
{
	SelectOptions options = {.which = SELECT_KEY};
	int nest = migration_enter();
	char *name = row_name(refresh->step, refresh->tuple, refresh->desc);
	uint64 found;

	execute(refresh->step, &options, key_parameters(refresh->step, refresh), NULL);
	found = SPI_processed;
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
	if (found > 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("row %s cannot become an item: %s", name, error->message)));
}

static void
source_changed(Change *change, MigrationStep *step)
{
	TupleDesc desc = RelationGetDescr(change->source);
	Refresh *old = palloc(sizeof(Refresh));
	Refresh *new = palloc(sizeof(Refresh));
	bool had = false;
	bool has = false;
	ErrorData *error;

	for (int i = 0; change->new != NULL &&i < step->nparents; i++)
	{
		int nest = migration_enter();

		lock_referred(step, &step->parents[i].relation, NULL, change->new, desc);
		migration_leave(nest);
	}
	/* an old row without a key had no item */
	had = change->old != NULL && refresh_of_tuple(change, step, change->old, old) == NULL;
	if (change->new != NULL)
	{
		error = refresh_of_tuple(change, step, change->new, new);
		has = error == NULL;
		if (error != NULL)
			check_unwanted(change, new, error);
	}
	old->is_old = true;
	if (had && !(has && store_key_compare(change->table, &old->key, &new->key) == 0))
		change->refreshes = lappend(change->refreshes, old);
	if (has)
		change->refreshes = lappend(change->refreshes, new);
}

/*
 * Parents, children and what they are joined with
 */

/* Adds the items of all rows of the source that a related row belongs to. */
static List *
find_referring(const Change *change, const Referring *by, List *refreshes)
{
	SelectOptions options = {.which = SELECT_REFERRING, .relation = by->relation, .link = by->link};
	int nest = migration_enter();

	execute(by->step, &options, (Datum *) by->values, NULL);
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++)
	{
		Refresh *refresh = palloc(sizeof(Refresh));

		CHECK_FOR_INTERRUPTS();
		/* a row without a valid key has no item, and a related row does not give it one */
		if (take_refresh(change, by->step, i, refresh) != NULL)
			continue;
		refresh->by = by;
		refreshes = lappend(refreshes, refresh);
	}
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
	return refreshes;
}

static void
add_referring(Change *change, MigrationStep *step, const StepRelation *relation,
			  const StepChild *link, const Datum *values)
{
	Referring *by = palloc(sizeof(Referring));

	*by = (Referring){step, relation, link, values};
	change->refreshes = find_referring(change, by, change->refreshes);
}

static bool
same_values(const StepRelation *relation, const Datum *a, const Datum *b)
{
	for (int i = 0; i < relation->npairs; i++)
	{
		Form_pg_attribute column = TupleDescAttr(relation->desc, relation->pairs[i].column - 1);

		if (!datumIsEqual(a[i], b[i], column->attbyval, column->attlen))
			return false;
	}
	return true;
}

static void
related_changed(Change *change, MigrationStep *step, const StepRelation *relation,
				const StepChild *link)
{
	TupleDesc desc = RelationGetDescr(change->source);
	Datum *old = palloc(relation->npairs * sizeof(Datum));
	Datum *new = palloc(relation->npairs * sizeof(Datum));
	bool had = change->old != NULL && get_columns(change->old, desc, relation, false, old);
	bool has = change->new != NULL &&get_columns(change->new, desc, relation, false, new);

	if (had && !(has && same_values(relation, old, new)))
		add_referring(change, step, relation, link, old);
	if (has)
		add_referring(change, step, relation, link, new);
}

static void
child_changed(Change *change, MigrationStep *step, const StepChild *child)
{
	for (int i = 0; change->new != NULL &&i < child->njoins; i++)
	{
		int nest = migration_enter();

		lock_referred(step, &child->joins[i], child, change->new, RelationGetDescr(change->source));
		migration_leave(nest);
	}
	related_changed(change, step, &child->relation, NULL);
}

/* Finds the items to make again, in all roles that the table has in the step. */
static bool
step_changed(Change *change, MigrationStep *step)
{
	Oid relid = RelationGetRelid(change->source);
	bool concerned = false;
	ListCell *cell;

	foreach (cell, step_relations(step))
		concerned = concerned || ((StepRelation *) lfirst(cell))->relid == relid;
	if (!concerned)
		return false;
	check_row_security(step);
	if (step->source.relid == relid)
		source_changed(change, step);
	for (int i = 0; i < step->nparents; i++)
	{
		if (step->parents[i].relation.relid == relid)
			related_changed(change, step, &step->parents[i].relation, NULL);
	}
	for (int i = 0; i < step->nchildren; i++)
	{
		const StepChild *child = &step->children[i];

		if (child->relation.relid == relid)
			child_changed(change, step, child);
		for (int k = 0; k < child->njoins; k++)
		{
			if (child->joins[k].relid == relid)
				related_changed(change, step, &child->joins[k], child);
		}
	}
	return true;
}

/*
 * Triggers
 */

static int
compare_refreshes(const void *a, const void *b, void *table)
{
	const Refresh *one = *(Refresh *const *) a;
	const Refresh *other = *(Refresh *const *) b;

	if (one->is_old != other->is_old)
		return one->is_old ? -1 : 1;
	return store_key_compare(table, &one->key, &other->key);
}

/*
 * Old keys come first; otherwise the order is that of all writes, so that changes do not deadlock.
 */
static Refresh **
sort_refreshes(const Change *change, const List *refreshes)
{
	int n = list_length(refreshes);
	Refresh **sorted = MemoryContextAllocHuge(CurrentMemoryContext, Max(n, 1) * sizeof(Refresh *));

	for (int i = 0; i < n; i++)
		sorted[i] = list_nth(refreshes, i);
	qsort_arg(sorted, n, sizeof(Refresh *), compare_refreshes, change->table);
	return sorted;
}

/*
 * A transaction that gives a row another key makes the new item without our change, which it does
 * not see.  After we have waited for it, we find that the row has left the item that we knew, and
 * search for the rows again.  An item that was made in an earlier round is not made again: its row
 * has not moved since, or the transaction that moves it waits for us.
 */
static void
refresh_moved(Change *change, const Referring *by)
{
	Refresh **before = NULL;
	int nbefore = 0;
	bool moved = true;

	while (moved)
	{
		List *refreshes = find_referring(change, by, NIL);
		Refresh **sorted = sort_refreshes(change, refreshes);
		int n = list_length(refreshes);

		moved = false;
		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (nbefore > 0 && bsearch_arg(&sorted[i], before, nbefore, sizeof(Refresh *),
										   compare_refreshes, change->table) != NULL)
				continue;
			refresh_item(change, sorted[i]);
			moved |= sorted[i]->moved;
		}
		before = sorted;
		nbefore = n;
	}
}

static void
refresh_items(Change *change)
{
	Refresh **sorted = sort_refreshes(change, change->refreshes);
	int n = list_length(change->refreshes);
	List *moved = NIL;
	ListCell *cell;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i > 0 && compare_refreshes(&sorted[i - 1], &sorted[i], change->table) == 0)
			continue;
		refresh_item(change, sorted[i]);
		if (sorted[i]->by != NULL && sorted[i]->moved)
			moved = list_append_unique_ptr(moved, (void *) sorted[i]->by);
	}
	foreach (cell, moved)
		refresh_moved(change, lfirst(cell));
}

static void
say_how_to_end(void *arg)
{
	errhint("Call dyn_unfollow_migration(%s) to follow no longer.", quote_literal_cstr(arg));
}

static bool
open_followed(Change *change, char *name)
{
	ErrorContextCallback callback = {error_context_stack, say_how_to_end, name};

	error_context_stack = &callback;
	change->rel = migration_open_followed((ItemSpan){name, (uint32) strlen(name)},
										  RelationGetRelid(change->source), &change->table,
										  &change->migration);
	error_context_stack = callback.previous;
	return change->rel != NULL;
}

/*
 * The declaration is in the label of the table of items, which a dump may leave out, and the table
 * may be gone.  Whoever writes to the source can do nothing about that, so writes go on.
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
				name),
		 errdetail("It is declared in the security label of a table of items whose owner has the "
				   "rights of the owner of \"%s\".",
				   source),
		 errhint("Declare it with dyn_create_migration() and run it again, or call "
				 "dyn_unfollow_migration(%s).",
				 quote_literal_cstr(name))));
}

static bool
is_unchanged(const Change *change)
{
	return change->old != NULL && change->new != NULL && change->old->t_len == change->new->t_len &&
		   change->old->t_data->t_hoff ==
			   change->new->t_data->t_hoff &&HeapTupleHeaderGetNatts(change->old->t_data) ==
			   HeapTupleHeaderGetNatts(change->new->t_data) &&
		   memcmp((char *) change->old->t_data + offsetof(HeapTupleHeaderData, t_bits),
				  (char *) change->new->t_data + offsetof(HeapTupleHeaderData, t_bits),
				  change->old->t_len - offsetof(HeapTupleHeaderData, t_bits)) == 0;
}

/* False: it is not declared, of which the user is told. */
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

static void
follow(Change *change, char *name)
{
	bool concerned = false;

	if (!lock_followed(change, name))
		return;
	for (int i = 0; i < change->migration->nsteps; i++)
		concerned |= step_changed(change, &change->migration->steps[i]);
	if (!concerned)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("migration \"%s\" does not read table \"%s\"", name,
							   RelationGetRelationName(change->source)),
						errhint("Call dyn_unfollow_migration(%s) to follow no longer.",
								quote_literal_cstr(name))));
	write_open(&change->writer, change->rel, change->table);
	change->writer.plain_conflicts = true;
	refresh_items(change);
	write_close(&change->writer);
	relation_close(change->rel, NoLock);
}

static void
refuse_call(const char *function, const char *kind)
{
	ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
					errmsg("function \"%s\" must be called by %s trigger", function, kind)));
}

PG_FUNCTION_INFO_V1(dyn_migration_changed);
Datum
dyn_migration_changed(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Change change = {0};

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) || trigger->tg_trigger->tgnargs != 1)
		refuse_call(DYN_INTERNAL ".migration_changed", "an AFTER row");
	change.source = trigger->tg_relation;
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
	{
		change.old = trigger->tg_trigtuple;
		change.new = trigger->tg_newtuple;
	}
	else if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		change.old = trigger->tg_trigtuple;
	else
		change.new = trigger->tg_trigtuple;
	if (is_unchanged(&change))
		return PointerGetDatum(NULL);
	store_connect();
	follow(&change, trigger->tg_trigger->tgargs[0]);
	SPI_finish();
	return PointerGetDatum(NULL);
}

PG_FUNCTION_INFO_V1(dyn_migration_truncated);
Datum
dyn_migration_truncated(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event) ||
		trigger->tg_trigger->tgnargs != 1)
		refuse_call(DYN_INTERNAL ".migration_truncated", "a TRUNCATE");
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" cannot be truncated, since migration \"%s\" follows it",
					RelationGetRelationName(trigger->tg_relation), trigger->tg_trigger->tgargs[0]),
			 errhint("Use DELETE, or call dyn_unfollow_migration(%s) first.",
					 quote_literal_cstr(trigger->tg_trigger->tgargs[0]))));
}
