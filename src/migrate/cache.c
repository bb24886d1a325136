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

#include "catalog/rights.h"
#include "ground/errors.h"
#include "ground/invalidate.h"
#include "ground/label.h"
#include "migrate/migrate.h"

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

/* Labels of tables that may not follow are not read: there may be many, and they may be long. */
static List *
tables_with(ItemSpan name, Oid followed)
{
	List *found = NIL;
	ListCell *cell;

	foreach (cell, label_tables())
	{
		Oid relid = lfirst_oid(cell);

		CHECK_FOR_INTERRUPTS();
		if ((!OidIsValid(followed) || migration_may_follow(relid, followed)) &&
			migration_is_declared(relid, name))
			found = lappend_oid(found, relid);
	}
	return found;
}

/* The tables that the user owns, if any; otherwise those that the user has a privilege on. */
static List *
preferred(List *found)
{
	List *own = NIL;
	List *usable = NIL;
	ListCell *cell;

	foreach (cell, found)
	{
		if (is_member_of_role_nosuper(GetUserId(), rights_owner(lfirst_oid(cell))))
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
 * Returns the table that has the migration.  dyn_create_migration() keeps names unique, unless two
 * sessions call it at once.  A migration of another role's does not hide one of the user's own.
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

/* A migration that is read, for the user or for a trigger of a followed table. */
typedef struct Opening
{
	Relation rel;
	DynTable *table;
	ItemSpan name;
	bool followed;
	Migration *migration;
} Opening;

static void
read_schema(void *arg)
{
	Opening *opening = arg;

	opening->table = dyn_schema(opening->rel);
}

/* A table that is found by its label may have become another one. */
static void
open_schema(Opening *opening)
{
	char *name = pnstrdup(opening->name.data, opening->name.len);

	if (!opening->followed)
		read_schema(opening);
	else
		migration_fit(name, true, NULL, read_schema, opening);
	if (opening->table != NULL)
		return;
	if (!opening->followed)
		fail_missing(opening->name);
	migration_fail_misfit(name, true,
						  psprintf("Table \"%s\" is no table of items any more",
								   RelationGetRelationName(opening->rel)));
}

static void
read_migration(void *arg)
{
	Opening *opening = arg;
	const ModelDeclaration *declaration =
		model_find(model_declarations(opening->rel, MODEL_MIGRATION), opening->name);

	opening->migration = declaration == NULL
							 ? NULL
							 : migration_parse(opening->rel, opening->table, declaration->json);
}

/* Reads a migration and keeps it. */
static Migration *
add_entry(Opening *opening)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table migration", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	uint64 before = invalidations;
	Migration *migration;
	int nest = migration_enter();

	migration_fit(pnstrdup(opening->name.data, opening->name.len), opening->followed, NULL,
				  read_migration, opening);
	migration_leave(nest);
	migration = opening->migration;
	if (migration == NULL)
		fail_missing(opening->name);
	migration->context = context;
	list_relids(migration);
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
	Oid relid = find_table(name, InvalidOid);
	Relation rel = OidIsValid(relid) ? rights_open(relid, lockmode) : NULL;

	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		fail_missing(name);
	return rel;
}

/*
 * Raises an error unless all tables that the migration reads have its triggers.  One that was
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
			migration_fail_misfit(
				migration->name, true,
				psprintf("Table %s has not the triggers of following",
						 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
													RelationGetRelationName(rel))));
		relation_close(rel, NoLock);
	}
}

/*
 * followed: the table whose trigger asks, or InvalidOid if the user does.  NULL: no table has the
 * migration, or the one that has it may not follow.
 */
static Relation
open_migration(ItemSpan name, Oid followed, LOCKMODE lockmode, DynTable **table,
			   Migration **migration)
{
	Opening opening = {.name = name, .followed = OidIsValid(followed)};
	Oid relid;

	if (cache_context == NULL)
		create_cache();
	*migration = find_entry(name, followed);
	relid = *migration != NULL ? (*migration)->relid : find_table(name, followed);
	if (!OidIsValid(relid))
		return NULL;
	/* a trigger needs no privilege of the user for the lock, as triggers of foreign keys do not */
	opening.rel =
		opening.followed ? try_relation_open(relid, lockmode) : rights_open(relid, lockmode);
	if (opening.rel == NULL)
		fail_missing(name);
	open_schema(&opening);
	*table = opening.table;
	/* taking the lock may have brought invalidations */
	*migration = find_entry(name, followed);
	if (*migration == NULL || (*migration)->relid != relid)
		*migration = add_entry(&opening);
	if (opening.followed && !(*migration)->followed)
	{
		check_followed(*migration);
		(*migration)->followed = true;
	}
	return opening.rel;
}

/*
 * Opens a migration and its table of items, which is locked until the transaction ends.  Connected
 * to SPI.
 */
Relation
migration_open(ItemSpan name, LOCKMODE lockmode, DynTable **table, Migration **migration)
{
	Relation rel = open_migration(name, InvalidOid, lockmode, table, migration);

	if (rel == NULL)
		fail_missing(name);
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
	Relation rel = migration_open(name, lockmode, table, migration);

	rights_require_owner(rel);
	rights_take_for_rows(rel, lockmode != AccessShareLock, before);
	return rel;
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
