/*
 * cache.c
 *	  Migrations as a backend knows them, with the plans of their statements.
 *
 * Triggers of followed tables look theirs up for each row.  An entry goes out of date with the
 * definition of any relation that it names, and is freed when the transaction ends: until
 * then somebody may hold it.  That is what schema.c does with tables.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/rights.h"
#include "ground/errors.h"
#include "ground/invalidate.h"
#include "migrate/migrate.h"

static List *entries = NIL; /* of Migration */
static MemoryContext cache_context = NULL;

/* Counts invalidations, so that one that comes while a migration is read is not lost. */
static uint64 invalidations = 0;

static void
mark_invalid(Oid relid)
{
	ListCell *cell;

	invalidations++;
	foreach (cell, entries)
	{
		Migration *migration = lfirst(cell);

		if (!OidIsValid(relid) || list_member_oid(migration->relids, relid))
			migration->valid = false;
	}
}

static Subscriber subscriber = {.relation_changed = mark_invalid, .schemas = true, .types = true};

static void
free_migration(Migration *migration)
{
	for (int i = 0; i < migration->nsteps; i++)
		step_free_plans(&migration->steps[i]);
	MemoryContextDelete(migration->context);
}

static void
end_of_transaction(XactEvent event, void *arg)
{
	ListCell *cell;

	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PARALLEL_PRE_COMMIT ||
		event == XACT_EVENT_PRE_PREPARE)
		return;
	foreach (cell, entries)
	{
		Migration *migration = lfirst(cell);

		if (migration->valid)
			continue;
		entries = foreach_delete_current(entries, cell);
		free_migration(migration);
	}
}

static void
create_cache(void)
{
	cache_context =
		AllocSetContextCreate(CacheMemoryContext, "dynamo_table migrations", ALLOCSET_SMALL_SIZES);
	invalidation_subscribe(&subscriber);
	RegisterXactCallback(end_of_transaction, NULL);
}

/*
 * Looking up
 */

pg_noreturn static void
fail_missing(ItemSpan name)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("migration \"%s\" does not exist", item_quoted(name))));
}

/*
 * Whoever may create triggers on some table can write what he likes into it, and all tables are
 * looked through.  It computes only; false: what is there cannot be read.
 */
bool
migration_try_read(void (*read)(void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	bool volatile readable = true;

	PG_TRY();
	{
		read(arg);
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_TO_CATEGORY(ERRCODE_DYN_VALIDATION) &&
			error->sqlerrcode != ERRCODE_INVALID_TABLE_DEFINITION)
			PG_RE_THROW();
		FlushErrorState();
		readable = false;
	}
	PG_END_TRY();
	return readable;
}

typedef struct Reading
{
	const DynListedTrigger *trigger;
	List *declarations;
} Reading;

static void
read_declarations(void *arg)
{
	Reading *reading = arg;

	reading->declarations = model_listed_declarations(reading->trigger);
}

/* Without a lock: nobody waits for a table of others, which he has no business with. */
List *
migration_tables(void)
{
	List *tables = NIL;
	ListCell *cell;

	foreach (cell, dyn_listed_triggers(InvalidOid, DYN_MODEL_TRIGGER, "dyn_model"))
	{
		Reading reading = {lfirst(cell), NIL};
		MigrationTable *table;

		CHECK_FOR_INTERRUPTS();
		if (!migration_try_read(read_declarations, &reading))
			continue;
		table = palloc(sizeof(MigrationTable));
		*table = (MigrationTable){reading.trigger->relid, reading.declarations};
		tables = lappend(tables, table);
	}
	return tables;
}

/* Returns the owner of a relation, or InvalidOid if the relation is gone.  Takes no lock. */
Oid
migration_owner(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/*
 * Followers run what a migration's declaration says with the rights of all who write their table, so
 * it has to be of somebody who could make triggers there himself.
 */
bool
migration_may_follow(Oid relid, Oid followed)
{
	Oid owner = migration_owner(relid);
	Oid other = migration_owner(followed);

	return OidIsValid(owner) && OidIsValid(other) && has_privs_of_role(owner, other);
}

static List *
tables_with(ItemSpan name, Oid followed)
{
	List *found = NIL;
	ListCell *cell;

	foreach (cell, migration_tables())
	{
		const MigrationTable *table = lfirst(cell);

		if (model_find(table->declarations, MODEL_MIGRATION, name) != NULL &&
			(!OidIsValid(followed) || migration_may_follow(table->relid, followed)))
			found = lappend_oid(found, table->relid);
	}
	return found;
}

/* The caller's own ones if there are any, or else those that he has a privilege on. */
static List *
preferred(List *found)
{
	List *own = NIL;
	List *usable = NIL;
	ListCell *cell;

	foreach (cell, found)
	{
		if (is_member_of_role_nosuper(GetUserId(), migration_owner(lfirst_oid(cell))))
			own = lappend_oid(own, lfirst_oid(cell));
		if (rights_any(lfirst_oid(cell), GetUserId()))
			usable = lappend_oid(usable, lfirst_oid(cell));
	}
	return own != NIL ? own : usable != NIL ? usable : found;
}

static const char *
table_name(Oid relid)
{
	char *name = get_rel_name(relid);

	return name == NULL ? "?" : quote_identifier(name);
}

/*
 * The table that has it.  Names are unique as long as they are declared by dyn_create_migration(), and not
 * by two sessions at once; anybody else's does not hide one's own.
 */
static Oid
find_table(ItemSpan name, Oid followed)
{
	List *found = tables_with(name, followed);

	if (list_length(found) > 1)
		found = preferred(found);
	if (list_length(found) > 1)
		ereport(ERROR, (errcode(ERRCODE_AMBIGUOUS_ALIAS),
						errmsg("two tables have a migration \"%s\"", item_quoted(name)),
						errdetail("They are %s and %s.", table_name(linitial_oid(found)),
								  table_name(lsecond_oid(found))),
						errhint("Remove one of them with dyn_drop_migration().")));
	return found == NIL ? InvalidOid : linitial_oid(found);
}

static Oid
require_table(ItemSpan name, Oid followed)
{
	Oid relid = find_table(name, followed);

	if (!OidIsValid(relid))
		fail_missing(name);
	return relid;
}

/*
 * Returns the table of items that has a migration of this name, or InvalidOid if none has.  Raises
 * ERRCODE_AMBIGUOUS_ALIAS if several have one and neither ownership nor privileges of the caller
 * single one out.  The table is not locked.
 */
Oid
migration_table(ItemSpan name)
{
	return find_table(name, InvalidOid);
}

static Migration *
find_entry(ItemSpan name, Oid followed)
{
	ListCell *cell;

	foreach (cell, entries)
	{
		Migration *migration = lfirst(cell);

		if (migration->valid && item_span_is(name, migration->name) &&
			(!OidIsValid(followed) || migration_may_follow(migration->relid, followed)))
			return migration;
	}
	return NULL;
}

static void
list_relids(Migration *migration)
{
	migration->relids = list_make1_oid(migration->relid);
	for (int i = 0; i < migration->nsteps; i++)
	{
		ListCell *cell;

		foreach (cell, step_relations(&migration->steps[i]))
			migration->relids =
				list_append_unique_oid(migration->relids, ((StepRelation *) lfirst(cell))->relid);
	}
}

/* Read it, and keep it. */
static Migration *
add_entry(Relation rel, DynTable *table, ItemSpan name)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table migration", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const ModelDeclaration *declaration =
		model_find(model_declarations(rel), MODEL_MIGRATION, name);
	uint64 before = invalidations;
	Migration *migration;
	int nest;

	if (declaration == NULL)
		fail_missing(name);
	nest = migration_enter();
	migration = migration_parse(rel, table, declaration->json);
	migration_leave(nest);
	migration->context = context;
	list_relids(migration);
	migration->valid = invalidations == before;
	MemoryContextSwitchTo(cache_context);
	entries = lappend(entries, migration);
	MemoryContextSetParent(context, cache_context);
	MemoryContextSwitchTo(old);
	return migration;
}

/* The table alone, of a migration that may not be what it has to be any more. */
Relation
migration_open_table(ItemSpan name, LOCKMODE lockmode, DynTable **table)
{
	Relation rel = rights_open(require_table(name, InvalidOid), lockmode);

	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		fail_missing(name);
	return rel;
}

/* followed: the table whose trigger asks; InvalidOid: who calls does. */
static Relation
open_migration(ItemSpan name, Oid followed, LOCKMODE lockmode, DynTable **table,
			   Migration **migration)
{
	Oid relid;
	Relation rel;

	if (cache_context == NULL)
		create_cache();
	*migration = find_entry(name, followed);
	relid = *migration != NULL ? (*migration)->relid : require_table(name, followed);
	/* triggers take their locks on behalf of who made them, as those of foreign keys do */
	rel = OidIsValid(followed) ? try_relation_open(relid, lockmode) : rights_open(relid, lockmode);
	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		fail_missing(name);
	/* the lock may have told us of changes */
	*migration = find_entry(name, followed);
	if (*migration == NULL || (*migration)->relid != relid)
		*migration = add_entry(rel, *table, name);
	return rel;
}

/* Connected to SPI.  The table of items, open and locked until the transaction ends. */
Relation
migration_open(ItemSpan name, LOCKMODE lockmode, DynTable **table, Migration **migration)
{
	return open_migration(name, InvalidOid, lockmode, table, migration);
}

/*
 * Opens a migration for a trigger of the relation "followed", which it must be allowed to follow
 * (see migration_may_follow()); raises ERRCODE_UNDEFINED_OBJECT if there is none.  The table of
 * items is returned under RowExclusiveLock, for which the caller needs no privilege.  The caller is
 * connected to SPI.
 */
Relation
migration_open_followed(ItemSpan name, Oid followed, DynTable **table, Migration **migration)
{
	return open_migration(name, followed, RowExclusiveLock, table, migration);
}

/* Returns the step of a migration that has this name, or raises ERRCODE_UNDEFINED_OBJECT. */
MigrationStep *
migration_step(Migration *migration, ItemSpan name)
{
	for (int i = 0; i < migration->nsteps; i++)
	{
		if (item_span_is(name, migration->steps[i].name))
			return &migration->steps[i];
	}
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("migration \"%s\" has no step \"%s\"",
															  migration->name, item_quoted(name))));
}
