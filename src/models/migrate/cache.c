/*
 * cache.c
 *	  Migrations as a backend knows them, with the plans of their statements.
 *
 * Triggers of followed tables look up their migration for each statement.  An entry goes out of
 * date with the definition of any relation that it names, and is freed when the transaction ends,
 * since callers may hold it until then.  catalog/schema.c does the same with tables.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/definition/label.h"
#include "catalog/rights.h"
#include "models/migrate/migrate.h"
#include "server/catalogs.h"
#include "server/errors.h"
#include "server/invalidate.h"

static List *entries = NIL; /* of Migration */
static MemoryContext cache_context = NULL;

/* Counts invalidations, to notice one that comes while a migration is read. */
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
 * Reads declarations.  Any role can write any text into labels of its tables, and all tables are
 * looked through, so an error that text can cause is not raised: returns false.  The function only
 * computes by then, so there is nothing to roll back.
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
	Oid relid;
	List *declarations;
} Reading;

static void
read_declarations(void *arg)
{
	Reading *reading = arg;

	reading->declarations = model_label_declarations(reading->relid, MODEL_MIGRATION);
}

/*
 * Returns the migrations that a table declares (ModelDeclaration), copied into the current memory
 * context; NIL if they cannot be read.  The table is not locked, so that a call does not wait for
 * tables of other roles.
 */
List *
migration_declarations(Oid relid)
{
	Reading reading = {relid, NIL};

	return migration_try_read(read_declarations, &reading) ? reading.declarations : NIL;
}

/* Returns whether a table declares a migration of this name; what is read of the label is freed. */
bool
migration_is_declared(Oid relid, ItemSpan name)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table label", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool declared = model_find(migration_declarations(relid), name) != NULL;

	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return declared;
}

/*
 * Returns whether the migrations of a table of items may follow another table.  A follower runs the
 * SQL of the declaration with the rights of each role that writes the followed table, so the owner
 * of the declaration must have the rights of the owner of that table, who could create triggers
 * anyway.
 */
bool
migration_may_follow(Oid relid, Oid followed)
{
	Oid owner = rights_owner(relid);
	Oid other = rights_owner(followed);

	return OidIsValid(owner) && OidIsValid(other) && has_privs_of_role(owner, other);
}

/*
 * Returns the tables that have the migration: those of "owner" if there are any, or else those of
 * other owners that may be meant.  If followed is valid, it is the table whose trigger asks.  If
 * not, the user asks, who needs the rights of the table's owner; where owner is InvalidOid, any
 * table will do.  Labels of tables that cannot be meant are not read: there may be many, and they
 * may be long.
 */
static List *
tables_with(ItemSpan name, Oid owner, Oid followed)
{
	List *own = NIL;
	List *found = NIL;
	ListCell *cell;

	foreach (cell, label_tables())
	{
		Oid relid = lfirst_oid(cell);

		CHECK_FOR_INTERRUPTS();
		if (OidIsValid(followed) ? !migration_may_follow(relid, followed)
								 : OidIsValid(owner) && !rights_owns(relid, owner))
			continue;
		if (!migration_is_declared(relid, name))
			continue;
		if (rights_owner(relid) == owner)
			own = lappend_oid(own, relid);
		else
			found = lappend_oid(found, relid);
	}
	return own != NIL ? own : found;
}

/*
 * Returns whether a trigger with the name of a migration, on the table "followed", may be of the
 * migration of relid: no other table's that comes first for it has the name.
 */
bool
migration_may_be_followed(ItemSpan name, Oid relid, Oid followed)
{
	List *tables;

	if (!migration_may_follow(relid, followed))
		return false;
	if (rights_owner(relid) == rights_owner(followed))
		return true;
	tables = tables_with(name, rights_owner(followed), followed);
	return tables == NIL || list_member_oid(tables, relid);
}

/*
 * Returns the table that has the migration.  Any role can take any name for tables of its own, so
 * names are unique among the tables of one owner only, and that unless two sessions declare one at
 * once.
 */
static Oid
find_table(ItemSpan name, Oid followed)
{
	List *found =
		tables_with(name, OidIsValid(followed) ? rights_owner(followed) : GetUserId(), followed);

	/* so that the call tells which rights are missing */
	if (found == NIL && !OidIsValid(followed))
		found = list_truncate(tables_with(name, InvalidOid, InvalidOid), 1);
	if (list_length(found) > 1)
		ereport(ERROR, (errcode(ERRCODE_AMBIGUOUS_ALIAS),
						errmsg("two tables have a migration \"%s\"", item_quoted(name)),
						errdetail("They are %s and %s.", catalogs_qualified(linitial_oid(found)),
								  catalogs_qualified(lsecond_oid(found))),
						errhint("Use SET ROLE to call as the owner of one of them, or remove one "
								"with dyn_drop_migration().")));
	return found == NIL ? InvalidOid : linitial_oid(found);
}

/*
 * Returns the table of items that has a migration of this name, among those whose owner's rights
 * the caller has, its own first; one of another role's only if there is none.  InvalidOid: none has
 * it.  Raises ERRCODE_AMBIGUOUS_ALIAS if several have one.  The table is not locked.
 */
Oid
migration_table(ItemSpan name)
{
	return find_table(name, InvalidOid);
}

static Migration *
find_entry(ItemSpan name, Oid relid, Oid of)
{
	ListCell *cell;

	foreach (cell, entries)
	{
		Migration *migration = lfirst(cell);

		if (migration->valid && item_span_is(name, migration->name) && migration->relid == relid &&
			migration->of == of)
			return migration;
	}
	return NULL;
}

/* Finds the migration in the cache, which triggers look up for each statement. */
static Oid
find_followed(ItemSpan name, Oid followed)
{
	ListCell *cell;

	foreach (cell, entries)
	{
		Migration *migration = lfirst(cell);

		if (migration->valid && migration->of == followed && item_span_is(name, migration->name) &&
			migration_may_follow(migration->relid, followed))
			return migration->relid;
	}
	return find_table(name, followed);
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

/* This is a migration that is read, for the user or for a trigger of a followed table. */
typedef struct Opening
{
	Relation rel;
	DynTable *table;
	ItemSpan name;
	Oid followed; /* InvalidOid: it is for the user */
	Migration *migration;
} Opening;

static void
read_schema(void *arg)
{
	Opening *opening = arg;

	opening->table = dyn_schema(opening->rel);
}

/* Opens the schema; a table that is found by its label may have become another one. */
static void
open_schema(Opening *opening)
{
	char *name = span_string(opening->name);

	if (!OidIsValid(opening->followed))
		read_schema(opening);
	else
		migration_fit(name, true, NULL, read_schema, opening);
	if (opening->table != NULL)
		return;
	if (!OidIsValid(opening->followed))
		fail_missing(opening->name);
	migration_fail_misfit(name, true,
						  psprintf("Table \"%s\" is no table of items any more",
								   RelationGetRelationName(opening->rel)));
}

/* Reads the migration; the texts of all that the label has are freed, and may be long. */
static void
read_migration(void *arg)
{
	Opening *opening = arg;
	MemoryContext label =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table label", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(label);
	const ModelDeclaration *declaration =
		model_find(model_declarations(opening->rel, MODEL_MIGRATION), opening->name);

	MemoryContextSwitchTo(old);
	if (declaration != NULL)
		opening->migration =
			OidIsValid(opening->followed)
				? migration_parse_of(opening->rel, opening->table, declaration, opening->followed)
				: migration_parse(opening->rel, opening->table, declaration->json);
	MemoryContextDelete(label);
}

/*
 * Raises an error unless all tables that the steps read have triggers of the migration.  One that was
 * renamed may have got a successor of its name, whose rows nobody follows.
 */
static void
check_followed(const Migration *migration)
{
	ListCell *cell;

	foreach (cell, migration->relids)
	{
		Oid relid = lfirst_oid(cell);
		Relation rel;

		if (relid == migration->relid)
			continue;
		rel = try_relation_open(relid, AccessShareLock);
		if (rel == NULL)
			migration_fail_misfit(migration->name, true, "A table is gone");
		if (!migration_has_followers(migration, rel))
			migration_fail_misfit(migration->name, true,
								  psprintf("Table %s has not the triggers of following",
										   catalogs_qualified(RelationGetRelid(rel))));
		relation_close(rel, NoLock);
	}
}

/* Reads a migration and keeps it. */
static Migration *
add_entry(Opening *opening)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table migration", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	static uint64 serial = 0;
	uint64 before = invalidations;
	Migration *migration;
	RightsBefore rights;
	int nest = migration_enter();

	/* to analyse SQL can run code: input of types, checks of domains */
	rights_take(opening->rel->rd_rel->relowner, 0, &rights);
	migration_fit(span_string(opening->name), OidIsValid(opening->followed), NULL, read_migration,
				  opening);
	rights_give_back(&rights);
	migration_leave(nest);
	migration = opening->migration;
	if (migration == NULL)
		fail_missing(opening->name);
	migration->context = context;
	migration->of = opening->followed;
	migration->serial = ++serial;
	list_relids(migration);
	if (OidIsValid(opening->followed))
		check_followed(migration);
	migration->valid = invalidations == before;
	MemoryContextSwitchTo(cache_context);
	entries = lappend(entries, migration);
	MemoryContextSetParent(context, cache_context);
	MemoryContextSwitchTo(old);
	return migration;
}

/* Opens the table of a migration that may not be valid any more, without reading the migration. */
Relation
migration_open_table(ItemSpan name, LOCKMODE lockmode, DynTable **table)
{
	Oid relid = migration_table(name);
	Relation rel = OidIsValid(relid) ? rights_open(relid, lockmode) : NULL;

	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		fail_missing(name);
	return rel;
}

static Relation
open_migration(ItemSpan name, Oid relid, Oid followed, LOCKMODE lockmode, DynTable **table,
			   Migration **migration)
{
	Opening opening = {.name = name, .followed = followed};

	if (cache_context == NULL)
		create_cache();
	/* a trigger needs no privilege of the user for the lock, as triggers of foreign keys do not */
	opening.rel =
		OidIsValid(followed) ? try_relation_open(relid, lockmode) : rights_open(relid, lockmode);
	if (opening.rel == NULL)
		fail_missing(name);
	open_schema(&opening);
	*table = opening.table;
	*migration = find_entry(name, relid, followed);
	if (*migration == NULL)
		*migration = add_entry(&opening);
	return opening.rel;
}

/*
 * Opens a migration and its table of items, which is locked until the transaction ends.  Connected
 * to SPI.
 */
Relation
migration_open(ItemSpan name, LOCKMODE lockmode, DynTable **table, Migration **migration)
{
	Oid relid = migration_table(name);

	if (!OidIsValid(relid))
		fail_missing(name);
	return open_migration(name, relid, InvalidOid, lockmode, table, migration);
}

static Relation
to_run(Relation rel, LOCKMODE lockmode, RightsBefore *before)
{
	rights_require_owner(rel);
	rights_take_for_rows(rel, lockmode != AccessShareLock, before);
	return rel;
}

/*
 * Opens a migration to run its SQL, which is of the owner of the table of items.  The caller must
 * have the owner's rights, and the session has no others until migration_close().
 */
Relation
migration_open_to_run(ItemSpan name, LOCKMODE lockmode, DynTable **table, Migration **migration,
					  RightsBefore *before)
{
	return to_run(migration_open(name, lockmode, table, migration), lockmode, before);
}

/* Opens it so once more, in the same call, which has found the table that has it. */
Relation
migration_open_again(ItemSpan name, Oid relid, LOCKMODE lockmode, DynTable **table,
					 Migration **migration, RightsBefore *before)
{
	return to_run(open_migration(name, relid, InvalidOid, lockmode, table, migration), lockmode,
				  before);
}

/* Closes what migration_open_to_run() has opened; locks are kept. */
void
migration_close(Relation rel, const RightsBefore *before)
{
	rights_give_back(before);
	relation_close(rel, NoLock);
}

/*
 * Opens a migration for a trigger of the relation "followed".  Returns NULL if no table declares it
 * that may follow this one (see migration_may_follow()).  The table of items is returned under
 * RowExclusiveLock, for which the caller needs no privilege.  The caller is connected to SPI.
 */
Relation
migration_open_followed(ItemSpan name, Oid followed, DynTable **table, Migration **migration)
{
	Oid relid = find_followed(name, followed);

	return OidIsValid(relid)
			   ? open_migration(name, relid, followed, RowExclusiveLock, table, migration)
			   : NULL;
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
