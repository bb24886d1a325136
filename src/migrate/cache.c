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
#include "catalog/pg_trigger.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "errors.h"
#include "migrate/migrate.h"

static List *entries = NIL; /* of Migration */
static MemoryContext cache_context = NULL;

/* Counts invalidations, so that one that comes while a migration is read is not lost. */
static uint64 invalidations = 0;

static void
mark_invalid(Datum arg, Oid relid)
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

static void
mark_all_invalid(Datum arg, int cacheid, uint32 hashvalue)
{
	mark_invalid(arg, InvalidOid);
}

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
	CacheRegisterRelcacheCallback(mark_invalid, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, mark_all_invalid, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, mark_all_invalid, (Datum) 0);
	RegisterXactCallback(end_of_transaction, NULL);
}

/*
 * Looking up
 */

/* Under a snapshot of the catalogs, and not the transaction's, which may be older than a migration. */
List *
migration_tables(void)
{
	Relation rel = table_open(TriggerRelationId, AccessShareLock);
	List *tables = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_trigger_tgname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(MODEL_TRIGGER));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		tables = lappend_oid(tables, ((Form_pg_trigger) GETSTRUCT(tuple))->tgrelid);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return tables;
}

pg_noreturn static void
fail_missing(ItemSpan name)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("migration \"%s\" does not exist", item_quoted(name))));
}

/* The table that has it; names are unique unless two sessions have declared them at once. */
static Oid
find_table(ItemSpan name)
{
	Oid found = InvalidOid;
	ListCell *cell;

	foreach (cell, migration_tables())
	{
		DynTable *table;
		Relation rel = dyn_open_listed(lfirst_oid(cell), &table);

		if (rel == NULL)
			continue;
		if (model_find(model_declarations(rel), MODEL_MIGRATION, name) != NULL)
		{
			if (OidIsValid(found))
				ereport(ERROR, (errcode(ERRCODE_AMBIGUOUS_ALIAS),
								errmsg("two tables have a migration \"%s\"", item_quoted(name)),
								errhint("Remove one of them with dyn_migration_drop().")));
			found = lfirst_oid(cell);
		}
		relation_close(rel, AccessShareLock);
	}
	if (!OidIsValid(found))
		fail_missing(name);
	return found;
}

static Migration *
find_entry(ItemSpan name)
{
	ListCell *cell;

	foreach (cell, entries)
	{
		Migration *migration = lfirst(cell);

		if (migration->valid && item_span_is(name, migration->name))
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
	Relation rel = try_relation_open(find_table(name), lockmode);

	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		fail_missing(name);
	return rel;
}

/* Connected to SPI.  The table of items, open and locked until the transaction ends. */
Relation
migration_open(ItemSpan name, LOCKMODE lockmode, DynTable **table, Migration **migration)
{
	Oid relid;
	Relation rel;

	if (cache_context == NULL)
		create_cache();
	*migration = find_entry(name);
	relid = *migration != NULL ? (*migration)->relid : find_table(name);
	rel = try_relation_open(relid, lockmode);
	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		fail_missing(name);
	/* the lock may have told us of changes */
	*migration = find_entry(name);
	if (*migration == NULL || (*migration)->relid != relid)
		*migration = add_entry(rel, *table, name);
	return rel;
}

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
