/*
 * counters.c
 *	  Counters of operations: a hash table of a fixed number of entries in shared memory.
 *
 * An entry is one kind of operation on a table or an index.  Sessions add to it by atomic
 * instructions; entries come and go under the lock.  If there is no room, what has no entry is not
 * counted, so nobody can take away what others have.  Whoever reads the counters removes those of
 * tables and databases that have gone.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "actions/operation.h"
#include "server/compat.h"
#include "server/work/service.h"

#define NAME "dynamo_table operations"

typedef struct Entry
{
	OperationKey key;
	char index[MAX_COUNTED_NAME + 1];
	TimestampTz since;
	pg_atomic_uint64 counts[NCOUNTS];
} Entry;

typedef struct Shared
{
	LWLock lock;
	bool told; /* that there is no room */
} Shared;

static Shared *shared = NULL;
static HTAB *entries;
static int max_tracked_operations = 5000;
static bool track_operations = true;

/*
 * Entries
 */

static Size
memory_size(void)
{
	return add_size(MAXALIGN(sizeof(Shared)),
					hash_estimate_size(max_tracked_operations, sizeof(Entry)));
}

static void
start_memory(void)
{
	HASHCTL control = {.keysize = sizeof(OperationKey), .entrysize = sizeof(Entry)};
	bool found;

	shared = ShmemInitStruct(NAME, sizeof(Shared), &found);
	if (!found)
	{
		LWLockInitialize(&shared->lock, shared_tranche());
		shared->told = false;
	}
	entries =
		shmem_init_hash(NAME " by table", max_tracked_operations, &control, HASH_ELEM | HASH_BLOBS);
}

/* Returns NULL if there is no room. */
static Entry *
make_entry(const OperationKey *key, ItemSpan index)
{
	int len = pg_mbcliplen(index.data, (int) index.len, MAX_COUNTED_NAME);
	bool has_room = hash_get_num_entries(entries) < max_tracked_operations;
	bool found;
	Entry *entry = hash_search(entries, key, has_room ? HASH_ENTER_NULL : HASH_FIND, &found);

	if (entry == NULL || found)
		return entry;
	memset(entry->index, 0, sizeof(entry->index));
	if (len > 0)
		memcpy(entry->index, index.data, len);
	entry->since = GetCurrentTimestamp();
	for (int i = 0; i < NCOUNTS; i++)
		pg_atomic_init_u64(&entry->counts[i], 0);
	return entry;
}

/* Tells whether that was not said before. */
static void
tell_full(bool tell)
{
	if (tell)
		ereport(LOG, (errmsg("counters of operations do not suffice"),
					  errdetail("Further operations on tables and indexes are not counted."),
					  errhint("Set dynamo_table.max_tracked_operations to more than %d, or call "
							  "dynamo_internal.reset_operations().",
							  max_tracked_operations)));
}

/* Returns whether operations are counted. */
bool
counters_are_on(void)
{
	return shared != NULL && track_operations;
}

/* Adds to what is counted of a kind of operation on a table or an index. */
void
counters_add(OperationKind kind, const OperationTable *table, const int64 counts[NCOUNTS])
{
	OperationKey key = {MyDatabaseId, table->relid, kind, 0};
	bool tell = false;
	Entry *entry;

	if (table->index.len > 0)
		key.index = hash_bytes((const unsigned char *) table->index.data, (int) table->index.len);
	LWLockAcquire(&shared->lock, LW_SHARED);
	entry = hash_search(entries, &key, HASH_FIND, NULL);
	if (entry == NULL && (!shared->told || hash_get_num_entries(entries) < max_tracked_operations))
	{
		LWLockRelease(&shared->lock);
		LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
		entry = make_entry(&key, table->index);
		tell = entry == NULL && !shared->told;
		shared->told |= tell;
	}
	for (int i = 0; i < NCOUNTS && entry != NULL; i++)
	{
		if (counts[i] != 0)
			pg_atomic_fetch_add_u64(&entry->counts[i], counts[i]);
	}
	LWLockRelease(&shared->lock);
	tell_full(tell);
}

/*
 * All entries
 */

/*
 * Returns what was counted in all databases, palloc'd, and sets *n to their number.  Raises an
 * error if the library is not preloaded.
 */
CountedOperation *
counters_read(int *n)
{
	CountedOperation *counted;
	HASH_SEQ_STATUS scan;
	Entry *entry;

	if (shared == NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("operations are counted only if dynamo_table is preloaded"),
						errhint("Add dynamo_table to shared_preload_libraries, and restart the "
								"server.")));
	counted = palloc(max_tracked_operations * sizeof(CountedOperation));
	*n = 0;
	LWLockAcquire(&shared->lock, LW_SHARED);
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		CountedOperation *copy = &counted[(*n)++];

		copy->key = entry->key;
		copy->since = entry->since;
		memcpy(copy->index, entry->index, sizeof(copy->index));
		for (int i = 0; i < NCOUNTS; i++)
			copy->counts[i] = pg_atomic_read_u64(&entry->counts[i]);
	}
	LWLockRelease(&shared->lock);
	return counted;
}

/* Forgets what was counted of an operation. */
void
counters_forget(const OperationKey *key)
{
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	(void) hash_search(entries, key, HASH_REMOVE, NULL);
	LWLockRelease(&shared->lock);
}

/* Called by _PG_init(). */
void
counters_init(void)
{
	bool preloaded = process_shared_preload_libraries_in_progress;

	DefineCustomBoolVariable("dynamo_table.track_operations",
							 "Sets whether operations are counted for dyn_operations.", NULL,
							 &track_operations, true, PGC_SUSET, 0, NULL, NULL, NULL);
	/* Where it changes nothing any more it still has to be known, as it may be in the server's file. */
	DefineCustomIntVariable("dynamo_table.max_tracked_operations",
							"Sets how many rows dyn_operations can have.", NULL,
							&max_tracked_operations, 5000, 100, 100000,
							preloaded ? PGC_POSTMASTER : PGC_SIGHUP, 0, NULL, NULL, NULL);
	if (preloaded)
		shared_add(memory_size, start_memory);
}
