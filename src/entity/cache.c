/*
 * cache.c
 *	  The session's cache of parsed declarations.
 *
 * It works like the cache of schemas (catalog/schema.c): invalidation only marks an entry, the next
 * look-up replaces it, and the old entry is freed when the transaction ends, since a caller may
 * still use it.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "ground/invalidate.h"
#include "entity/model.h"

typedef struct ModelKey
{
	Oid relid;
	ModelKind kind;
} ModelKey;

typedef struct ModelEntry
{
	ModelKey key;
	bool valid;
	MemoryContext context;
	List *declarations; /* of ModelDeclaration */
} ModelEntry;

static HTAB *entries = NULL;
static MemoryContext model_context = NULL;
static MemoryContext retired = NULL; /* what was replaced in this transaction */

/* Counts invalidations, so that one that arrives while declarations are read is not lost. */
static uint64 invalidations = 0;

static void
mark_invalid(Oid relid)
{
	HASH_SEQ_STATUS scan;
	ModelEntry *entry;

	invalidations++;
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		entry->valid = entry->valid && OidIsValid(relid) && entry->key.relid != relid;
}

/* Declarations name types with their schemas; types and schemas may be dropped or renamed. */
static Subscriber subscriber = {.relation_changed = mark_invalid, .schemas = true, .types = true};

static void
end_of_transaction(XactEvent event, void *arg)
{
	HASH_SEQ_STATUS scan;
	ModelEntry *entry;

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
		hash_search(entries, &entry->key, HASH_REMOVE, NULL);
	}
}

static void
create_cache(void)
{
	HASHCTL ctl;

	model_context = AllocSetContextCreate(CacheMemoryContext, "dynamo_table declarations",
										  ALLOCSET_SMALL_SIZES);
	retired = AllocSetContextCreate(model_context, "replaced", ALLOCSET_SMALL_SIZES);
	ctl.keysize = sizeof(ModelKey);
	ctl.entrysize = sizeof(ModelEntry);
	ctl.hcxt = model_context;
	entries =
		hash_create("dynamo_table declarations", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	invalidation_subscribe(&subscriber);
	RegisterXactCallback(end_of_transaction, NULL);
}

static ModelEntry *
read_entry(Relation rel, const ModelKey *key)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table declarations",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	uint64 before = invalidations;
	List *declarations = model_declarations(rel, key->kind);
	ModelEntry *entry;
	bool found;

	MemoryContextSwitchTo(old);
	entry = hash_search(entries, key, HASH_ENTER, &found);
	if (found)
		MemoryContextSetParent(entry->context, retired);
	entry->context = context;
	entry->declarations = declarations;
	entry->valid = before == invalidations;
	MemoryContextSetParent(context, model_context);
	return entry;
}

/*
 * Returns the declarations of one kind of an open table (ModelDeclaration) as model_declarations()
 * does, from the session's cache.  The list belongs to the cache, must not be changed, and is valid
 * until the transaction ends, as is the result of model_parsed().
 */
List *
model_cached(Relation rel, ModelKind kind)
{
	ModelKey key = {RelationGetRelid(rel), kind};
	ModelEntry *entry;

	if (entries == NULL)
		create_cache();
	entry = hash_search(entries, &key, HASH_FIND, NULL);
	if (entry == NULL || !entry->valid)
		entry = read_entry(rel, &key);
	return entry->declarations;
}

/*
 * Returns what parse makes of a declaration that model_cached() has given.  It is parsed once: the
 * result is allocated in the declaration's memory context, and becomes invalid together with it.
 */
void *
model_parsed(ModelDeclaration *declaration, ModelParse parse, Relation rel, const DynTable *table)
{
	MemoryContext context;
	MemoryContext old;
	void *parsed;

	if (declaration->parsed != NULL)
		return declaration->parsed;
	context = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table declaration",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	parsed = parse(declaration, rel, table);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, GetMemoryChunkContext(declaration));
	return declaration->parsed = parsed;
}
