/*
 * enforce.c
 *	  The entities of tables that are in use, kept parsed; and items that must be one of them.
 *
 * Kept as schemas are (catalog/schema.c): invalidation only marks an entry, the next look-up
 * replaces it, and what was replaced is freed when the transaction ends, as somebody may be using it.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "ground/errors.h"
#include "ground/invalidate.h"
#include "ground/label.h"
#include "entity/entity.h"

typedef struct EntityEntry
{
	Oid relid; /* hash key */
	bool valid;
	MemoryContext context;
	List *entities;
} EntityEntry;

static HTAB *entries = NULL;
static MemoryContext entity_context = NULL;
static MemoryContext retired = NULL; /* what was replaced in this transaction */

/* Counts invalidations, so that one that comes while entities are read is not lost. */
static uint64 invalidations = 0;

static void
mark_invalid(Oid relid)
{
	HASH_SEQ_STATUS scan;
	EntityEntry *entry;

	invalidations++;
	if (OidIsValid(relid))
	{
		entry = hash_search(entries, &relid, HASH_FIND, NULL);
		if (entry != NULL)
			entry->valid = false;
		return;
	}
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		entry->valid = false;
}

/* Types are named by schema, and may go or change their names. */
static Subscriber subscriber = {.relation_changed = mark_invalid, .schemas = true, .types = true};

static void
end_of_transaction(XactEvent event, void *arg)
{
	HASH_SEQ_STATUS scan;
	EntityEntry *entry;

	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PARALLEL_PRE_COMMIT ||
		event == XACT_EVENT_PRE_PREPARE)
		return;
	MemoryContextDeleteChildren(retired);
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->valid)
			continue;
		MemoryContextDelete(entry->context);
		hash_search(entries, &entry->relid, HASH_REMOVE, NULL);
	}
}

static void
create_cache(void)
{
	HASHCTL ctl;

	entity_context =
		AllocSetContextCreate(CacheMemoryContext, "dynamo_table entities", ALLOCSET_SMALL_SIZES);
	retired = AllocSetContextCreate(entity_context, "replaced", ALLOCSET_SMALL_SIZES);
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(EntityEntry);
	ctl.hcxt = entity_context;
	entries = hash_create("dynamo_table entities", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	invalidation_subscribe(&subscriber);
	RegisterXactCallback(end_of_transaction, NULL);
}

static EntityEntry *
read_entry(Relation rel, const DynTable *table)
{
	Oid relid = RelationGetRelid(rel);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table entities", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	uint64 before = invalidations;
	List *entities = entities_of(rel, table);
	EntityEntry *entry;
	bool found;

	MemoryContextSwitchTo(old);
	entry = hash_search(entries, &relid, HASH_ENTER, &found);
	if (found)
		MemoryContextSetParent(entry->context, retired);
	entry->context = context;
	entry->entities = entities;
	entry->valid = before == invalidations;
	MemoryContextSetParent(context, entity_context);
	return entry;
}

/*
 * Returns the entities of an open table from the session's cache, in the order in which they were
 * declared.  The list belongs to the cache, must not be changed, and is good until the transaction
 * ends.
 */
List *
entities_cached(Relation rel, const DynTable *table)
{
	Oid relid = RelationGetRelid(rel);
	EntityEntry *entry;

	if (entries == NULL)
		create_cache();
	entry = hash_search(entries, &relid, HASH_FIND, NULL);
	if (entry == NULL || !entry->valid)
		entry = read_entry(rel, table);
	return entry->entities;
}

/*
 * Returns the entity of this name from the session's cache; it is good until the transaction ends.
 * Raises ERRCODE_UNDEFINED_OBJECT if there is none.
 */
const Entity *
entity_cached(Relation rel, const DynTable *table, ItemSpan name)
{
	ListCell *cell;

	foreach (cell, entities_cached(rel, table))
	{
		const Entity *entity = lfirst(cell);

		if (item_compare_bytes(entity->name, name) == 0)
			return entity;
	}
	entity_fail_missing(rel, name);
}

static char *
list_problems(const Entity *entity, List *problems)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	appendStringInfo(&out, "As entity \"%s\": ", item_quoted(entity->name));
	foreach (cell, problems)
		appendStringInfo(&out, "%s%s", foreach_current_index(cell) > 0 ? "; " : "",
						 (char *) lfirst(cell));
	appendStringInfoChar(&out, '.');
	return out.data;
}

/* A dump without security labels has none. */
pg_noreturn static void
fail_without_entities(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" enforces entities, and none is declared",
					RelationGetRelationName(rel)),
			 errdetail("Entities are declared in the table's security label of provider \"%s\".",
					   LABEL_PROVIDER),
			 errhint("Restore the label, declare the entities with dyn_create_entity(), or call "
					 "dyn_enforce_entities() with enabled => false.")));
}

/*
 * Raises ERRCODE_DYN_VALIDATION unless an item that is to be stored fits one of the entities of the
 * table.
 */
void
entity_enforce(Relation rel, const DynTable *table, const DynItem *item)
{
	List *entities = entities_cached(rel, table);
	const char *detail = NULL;
	ListCell *cell;

	if (entities == NIL)
		fail_without_entities(rel);
	foreach (cell, entities)
	{
		const Entity *entity = lfirst(cell);
		List *problems;

		if (!entity_has(entity, item))
			continue;
		problems = entity_problems(entity, item);
		if (problems == NIL)
			return;
		if (detail == NULL)
			detail = list_problems(entity, problems);
	}
	if (detail == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the item is none of the entities of table \"%s\"",
							   RelationGetRelationName(rel))));
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("the item does not fit an entity of table \"%s\"",
						   RelationGetRelationName(rel)),
					errdetail("%s", detail)));
}
