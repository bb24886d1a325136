/*
 * collection.c
 *	  The size of an item collection, which local indexes limit.
 *
 * A collection is what has one partition key: its items and their copies in local indexes.  To know
 * its size it must be read.  So a write looks only where the limit could be in reach at all: if
 * the whole relation could hold so much, and then once in as many writes as it takes to fill what
 * the last look found free, were all of them as large as an item can be and all sessions at it.
 * Near the limit that is each time.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "actions/actions.h"
#include "errors.h"
#include "settings.h"

/*
 * How many times larger items can be than the bytes that they take in a relation: 255 by the best
 * compression, which repeats 255 bytes by one, and two by the encoding.
 */
#define MAX_PACKING 510

/* Writes that need no look. */
typedef struct Slack
{
	uint64 collection; /* hash of table and partition key */
	int64 writes;
} Slack;

#define SLACKS 1024

static Slack slacks[SLACKS];
static int slacks_limit; /* that they are about */

static Size
limit_bytes(void)
{
	return (Size) dyn_item_collection_size_limit * 1024;
}

/* Whether a relation is so small that no collection can be near the limit. */
static bool
is_small(Relation rel, int local_indexes)
{
	double blocks;

	/* a partitioned table does not know */
	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		return false;
	blocks = RelationGetNumberOfBlocks(rel);
	if (OidIsValid(rel->rd_rel->reltoastrelid))
	{
		Relation toast = table_open(rel->rd_rel->reltoastrelid, AccessShareLock);

		blocks += RelationGetNumberOfBlocks(toast);
		table_close(toast, AccessShareLock);
	}
	return blocks * BLCKSZ * MAX_PACKING * (1 + local_indexes) < (double) limit_bytes();
}

static uint64
collection_hash(const DynTable *table, const DynKeyValues *key)
{
	uint64 hash = table->relid;

	for (int i = 0; i < table->primary.npartition; i++)
		hash = hash_combine64(hash, datum_image_hash(key->values[i], false, -1));
	return hash;
}

/* Where a collection's slack is, if it is there. */
static Slack *
find_slack(uint64 collection)
{
	if (slacks_limit != dyn_item_collection_size_limit)
	{
		memset(slacks, 0, sizeof(slacks));
		slacks_limit = dyn_item_collection_size_limit;
	}
	return &slacks[collection % SLACKS];
}

static void
keep_slack(const DynTable *table, const DynKeyValues *key, Size size)
{
	uint64 collection = collection_hash(table, key);
	Slack *slack = find_slack(collection);

	slack->collection = collection;
	slack->writes = (int64) ((limit_bytes() - size) / ITEM_MAX_SIZE / MaxConnections);
}

/*
 * Whether a write must be followed by collection_check(), to which it has to tell the old item.
 * No more than this is asked of a write elsewhere.
 */
bool
collection_is_watched(Relation rel, const DynTable *table, const DynKeyValues *key)
{
	int local_indexes = dyn_local_indexes(table);
	uint64 collection;
	Slack *slack;

	if (local_indexes == 0 || is_small(rel, local_indexes))
		return false;
	collection = collection_hash(table, key);
	slack = find_slack(collection);
	if (slack->collection != collection || slack->writes == 0)
		return true;
	slack->writes--;
	return false;
}

/* Spec row R18: an item and its copies. */
static Size
size_with_copies(const DynTable *table, const DynItem *item)
{
	Size size;

	if (item == NULL)
		return 0;
	size = item_size(item_root(item));
	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];

		if (index->local && dyn_index_has(table, index, item))
			size += dyn_index_entry_size(table, index, item);
	}
	return size;
}

typedef struct Sum
{
	const DynTable *table;
	int64 bytes;
} Sum;

static bool
add_row(const StoreRow *row, void *arg)
{
	Sum *sum = arg;

	sum->bytes += (int64) size_with_copies(sum->table, DatumGetDynItem(row->item));
	return true;
}

/* The size of the collection of a key, our own writes included.  Inside store_begin(). */
int64
collection_size(DynTable *table, const DynKeyValues *key)
{
	Sum sum = {table, 0};
	StoreRange range = {.index = &table->primary, .want = STORE_WANT_ITEM, .forward = true};

	range.nequal = table->primary.npartition;
	memcpy(range.equal, key->values, range.nequal * sizeof(Datum));
	/* the caller's snapshot was taken before what its statement has written */
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	store_range(table, &range, add_row, &sum);
	PopActiveSnapshot();
	return sum.bytes;
}

/* Whether a write makes the collection larger: one that is too large already can shrink. */
bool
collection_grows(const DynTable *table, const DynItem *old, const DynItem *new)
{
	return size_with_copies(table, new) > size_with_copies(table, old);
}

/* Spec row L05: after a write, whether the collection is larger than it may be. */
bool
collection_is_full(DynTable *table, const DynKeyValues *key, Size *size)
{
	*size = (Size) collection_size(table, key);
	if (*size <= limit_bytes())
		keep_slack(table, key, *size);
	return *size > limit_bytes();
}

/* Take a write back that made the collection too large. */
void
collection_check(DynTable *table, const DynKeyValues *key, const DynItem *old, const DynItem *new)
{
	Size size;

	if (collection_grows(table, old, new) && collection_is_full(table, key, &size))
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_ITEM_COLLECTION_SIZE_LIMIT), errmsg(COLLECTION_IS_FULL),
			 errdetail("It would have %zu bytes with its copies in local indexes; %zu are allowed.",
					   size, limit_bytes())));
}

/* The partition key of a collection, as an item of its attributes. */
DynItem *
collection_key(const DynTable *table, const DynKeyValues *key)
{
	ItemBuilder b;

	item_build_init(&b, 256);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < table->primary.npartition; i++)
	{
		const DynKey *column = dyn_index_key(table, &table->primary, i);

		item_build_name(&b, column->attribute);
		dyn_key_build(&b, column->type, key->values[i]);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}
