/*
 * kept.c
 *	  What a backend keeps of relations.
 *
 * It works like the cache of schemas (catalog/schema.c): invalidation only marks an entry, the next
 * look-up replaces it, and the old entry is freed when the transaction ends, since a caller may
 * still use it.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "server/invalidate.h"
#include "server/kept.h"

typedef struct KeptKey
{
	Oid relid;
	const void *kind;
} KeptKey;

typedef struct KeptEntry
{
	KeptKey key;
	Oid also; /* or InvalidOid */
	bool valid;
	MemoryContext context;
	void *kept;
} KeptEntry;

static HTAB *entries = NULL;
static MemoryContext kept_context = NULL;
static MemoryContext retired = NULL; /* what was replaced in this transaction */

/* This is true if any entry is invalid. */
static bool some_invalid = false;

/* Counts invalidations, so that one that arrives while an entry is made is not lost. */
static uint64 invalidations = 0;

static void
mark_invalid(Oid relid)
{
	HASH_SEQ_STATUS scan;
	KeptEntry *entry;

	invalidations++;
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (OidIsValid(relid) && entry->key.relid != relid && entry->also != relid)
			continue;
		entry->valid = false;
		some_invalid = true;
	}
}

/* Types are named with their schemas; types and schemas may be dropped or renamed. */
static Subscriber subscriber = {.relation_changed = mark_invalid, .schemas = true, .types = true};

static void
end_of_transaction(XactEvent event, void *arg)
{
	HASH_SEQ_STATUS scan;
	KeptEntry *entry;

	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PARALLEL_PRE_COMMIT ||
		event == XACT_EVENT_PRE_PREPARE)
		return;
	MemoryContextDeleteChildren(retired);
	if (!some_invalid)
		return;
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->valid)
			continue;
		MemoryContextDelete(entry->context);
		hash_search(entries, &entry->key, HASH_REMOVE, NULL);
	}
	some_invalid = false;
}

static void
create_cache(void)
{
	HASHCTL ctl;

	kept_context =
		AllocSetContextCreate(CacheMemoryContext, "dynamo_table kept", ALLOCSET_SMALL_SIZES);
	retired = AllocSetContextCreate(kept_context, "replaced", ALLOCSET_SMALL_SIZES);
	ctl.keysize = sizeof(KeptKey);
	ctl.entrysize = sizeof(KeptEntry);
	ctl.hcxt = kept_context;
	entries = hash_create("dynamo_table kept", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	invalidation_subscribe(&subscriber);
	RegisterXactCallback(end_of_transaction, NULL);
}

/* Makes an entry; one that is invalid when it is complete serves its caller alone. */
static KeptEntry *
make_entry(const KeptKey *key, KeptMake make, void *arg)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table kept", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	uint64 before = invalidations;
	Oid also = InvalidOid;
	void *kept = make(arg, &also);
	KeptEntry *entry;
	bool found;

	MemoryContextSwitchTo(old);
	entry = hash_search(entries, key, HASH_ENTER, &found);
	if (found)
		MemoryContextSetParent(entry->context, retired);
	entry->context = context;
	entry->kept = kept;
	entry->also = also;
	entry->valid = before == invalidations;
	some_invalid |= !entry->valid;
	MemoryContextSetParent(context, kept_context);
	return entry;
}

/*
 * Returns what make has made of a relation, or makes it now.  It belongs to the cache, and is valid
 * until the transaction ends.
 */
void *
kept_get(Oid relid, const void *kind, KeptMake make, void *arg)
{
	KeptEntry *entry;
	KeptKey key;

	if (entries == NULL)
		create_cache();
	/* the hash is of all bytes */
	memset(&key, 0, sizeof(key));
	key.relid = relid;
	key.kind = kind;
	entry = hash_search(entries, &key, HASH_FIND, NULL);
	if (entry == NULL || !entry->valid)
		entry = make_entry(&key, make, arg);
	return entry->kept;
}
