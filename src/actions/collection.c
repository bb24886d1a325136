/*
 * collection.c
 *	  The size of an item collection, which local indexes limit.
 *
 * A collection is what has one partition key: its items and their copies in local indexes.  To know
 * its size it must be read, so few writes look at it.  What a look finds free is divided between
 * all sessions that there can be; a session that has looked does not look again before it has
 * written its share.  Writes to collections that were not looked at are counted together, and the
 * one that makes it LOOK_AFTER of the limit looks: a collection is looked at the sooner the more is
 * written to it, and where collections are many and small, few writes pay.
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
#include "catalog/definition/settings.h"
#include "server/errors.h"

/*
 * This is how many times larger items can be than the bytes that they take in a relation: 255 by
 * the best compression, which repeats 255 bytes by one, and two by the encoding.
 */
#define MAX_PACKING 510

#define LOOK_AFTER 1e-5

/* This is what an update may write, for counting it before it is known. */
#define USUAL_SIZE 4096

/* Tells what may be written to a collection without a look. */
typedef struct Slack
{
	uint64 collection; /* hash of table and partition key */
	int64 bytes;
} Slack;

#define SLACKS 1024

static Slack slacks[SLACKS];
static double unseen; /* bytes that were written to collections without one */
static int known_limit; /* that they are about */

static Size
limit_bytes(void)
{
	return (Size) dyn_item_collection_size_limit * 1024;
}

/* Returns whether a relation is so small that no collection can be near the limit. */
static bool
is_small(Relation rel, const DynTable *table, int local_indexes)
{
	double blocks;

	/* a table whose rows are in others does not know */
	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind) || table->distributed)
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

/* Returns where the slack of a collection is, if it is there. */
static Slack *
find_slack(uint64 collection)
{
	if (known_limit != dyn_item_collection_size_limit)
	{
		memset(slacks, 0, sizeof(slacks));
		known_limit = dyn_item_collection_size_limit;
		/* the first write looks */
		unseen = (double) limit_bytes();
	}
	return &slacks[collection % SLACKS];
}

static void
keep_slack(const DynTable *table, const DynKeyValues *key, Size size)
{
	uint64 collection = collection_hash(table, key);

	*find_slack(collection) =
		(Slack){collection, (int64) ((limit_bytes() - size) / MaxConnections)};
}

/*
 * Returns at least the size of an item with its copies, which have a limit of their own
 * (docs/semantics.md, L14).
 */
static int64
size_bound(int local_indexes, const DynItem *item)
{
	return Min((int64) VARSIZE_ANY(item) * 2 * (1 + local_indexes), ITEM_MAX_SIZE);
}

/* Returns what a write does about its collection.  An item that is not known yet is NULL. */
CollectionWatch
collection_watch(Relation rel, const DynTable *table, const DynKeyValues *key, const DynItem *new)
{
	int local_indexes = dyn_local_indexes(table);
	uint64 collection;
	Slack *slack;
	int64 bytes;

	if (local_indexes == 0)
		return COLLECTION_UNLIMITED;
	bytes = new == NULL ? ITEM_MAX_SIZE : size_bound(local_indexes, new);
	collection = collection_hash(table, key);
	slack = find_slack(collection);
	if (slack->collection == collection)
		return slack->bytes >= bytes ? COLLECTION_ROOM : COLLECTION_LOOK;
	if (new == NULL)
		bytes = USUAL_SIZE;
	if (unseen + (double) bytes < LOOK_AFTER * (double) limit_bytes())
		return COLLECTION_ROOM;
	unseen = 0;
	return is_small(rel, table, local_indexes) ? COLLECTION_ROOM : COLLECTION_LOOK;
}

/* Counts a write that had not to look, after it was done. */
void
collection_spend(const DynTable *table, const DynKeyValues *key, const DynItem *new)
{
	uint64 collection = collection_hash(table, key);
	Slack *slack = find_slack(collection);
	int64 bytes = new == NULL ? 0 : size_bound(dyn_local_indexes(table), new);

	if (slack->collection == collection)
		slack->bytes -= bytes;
	else
		unseen += (double) bytes;
}

/* Returns the size of an item, or of none, and its copies in local indexes. */
static Size
size_with_copies(const DynTable *table, const DynItem *item)
{
	return item == NULL ? 0 : dyn_size_with_copies(table, item, ITEM_SIZE_NOW);
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

/* Returns the size of a key's collection with our own writes, inside store_begin(). */
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

/* Returns whether a write makes the collection larger: one that is too large already can shrink. */
bool
collection_grows(const DynTable *table, const DynItem *old, const DynItem *new)
{
	return size_with_copies(table, new) > size_with_copies(table, old);
}

/* Returns whether a write has left the collection too large (docs/semantics.md, L05). */
bool
collection_is_full(DynTable *table, const DynKeyValues *key, Size *size)
{
	*size = (Size) collection_size(table, key);
	if (*size <= limit_bytes())
		keep_slack(table, key, *size);
	return *size > limit_bytes();
}

/* Follows a write, and raises an error for one that made the collection too large. */
void
collection_written(CollectionWatch watch, DynTable *table, const DynKeyValues *key,
				   const DynItem *old, const DynItem *new)
{
	Size size;

	if (watch == COLLECTION_ROOM)
		collection_spend(table, key, new);
	if (watch == COLLECTION_LOOK && collection_grows(table, old, new) &&
		collection_is_full(table, key, &size))
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_ITEM_COLLECTION_SIZE_LIMIT), errmsg(COLLECTION_IS_FULL),
			 errwords(COLLECTION_IS_FULL_WORDS),
			 errdetail("It would have %zu bytes with its copies in local indexes; %zu are allowed.",
					   size, limit_bytes())));
}

/* Returns the partition key of a collection, as an item of its attributes. */
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
