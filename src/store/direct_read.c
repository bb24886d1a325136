/*
 * direct_read.c
 *	  Reads of the direct store: scans of the index in its order, as the executor would make them.
 *
 * They run under the caller's snapshot.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/compat.h"
#include "store/ahead.h"
#include "store/direct.h"
#include "store/find.h"
#include "store/plan.h"

/* Holds what a read has open. */
typedef struct DirectRead
{
	Relation rel;
	Relation btree;
} DirectRead;

/* Returns whether an index, built over broken HOT chains, lacks what older snapshots see. */
static bool
is_newer(Relation btree)
{
	return btree->rd_index->indcheckxmin &&
		   !TransactionIdPrecedes(HeapTupleHeaderGetXmin(btree->rd_indextuple->t_data),
								  TransactionXmin);
}

static const char *
refuse_index(const DirectRead *read)
{
	if (!read->btree->rd_index->indisvalid)
		return "the index is not valid";
	if (is_newer(read->btree))
		return "the transaction's snapshot is older than the index";
	if (!RelationIsPermanent(read->rel) && RecoveryInProgress())
		return "it is not permanent, and the server is in recovery";
	return NULL;
}

static void
close_read(const DirectRead *read)
{
	index_close(read->btree, NoLock);
	table_close(read->rel, NoLock);
}

/*
 * Opens what a read needs, and returns NULL; or returns why the SPI store is to read, which raises
 * the errors for what cannot be read at all.
 */
static const char *
open_read(const DynTable *table, const DynIndex *index, DirectRead *read)
{
	const char *reason = direct_read_refusal(table);

	if (reason != NULL)
		return reason;
	if (index->entries != NULL)
		return "the entries of the index are a table";
	read->rel = table_open(table->relid, NoLock);
	read->btree = index_open(index->relid, AccessShareLock);
	reason = refuse_index(read);
	if (reason != NULL)
		close_read(read);
	return reason;
}

/* Returns why reads of an index are not direct, as a phrase, or NULL if they are. */
const char *
direct_index_refusal(const DynTable *table, const DynIndex *index)
{
	DirectRead read;
	const char *reason = open_read(table, index, &read);

	if (reason == NULL)
		close_read(&read);
	return reason;
}

/*
 * Keys of scans
 */

/* Each column has one, and where a range begins there are two bounds or a bound and a position. */
#define MAX_SCAN_KEYS (DYN_MAX_INDEX_COLUMNS + 1)

typedef struct ScanKeys
{
	int n;
	ScanKeyData keys[MAX_SCAN_KEYS];
	ScanKeyData position[DYN_MAX_INDEX_COLUMNS]; /* that keys point to */
} ScanKeys;

static void
add_key(ScanKeys *keys, const DynTable *table, const StoreRange *range, int column,
		StrategyNumber strategy, Datum value)
{
	store_scan_key(&keys->keys[keys->n++], 0, dyn_index_key(table, range->index, column)->type,
				   column, strategy, value);
}

/* Adds ROW(…) > ROW(…), of the columns from the first one that need not equal something. */
static void
add_row_key(ScanKeys *keys, const DynTable *table, const StoreRange *range, StrategyNumber strategy)
{
	int n = range->nposition - range->nequal;
	ScanKey header = &keys->keys[keys->n++];

	for (int i = 0; i < n; i++)
	{
		int column = range->nequal + i;

		store_scan_key(&keys->position[i], SK_ROW_MEMBER,
					   dyn_index_key(table, range->index, column)->type, column, strategy,
					   range->position[column]);
	}
	keys->position[n - 1].sk_flags |= SK_ROW_END;
	memset(header, 0, sizeof(*header));
	header->sk_flags = SK_ROW_HEADER;
	header->sk_attno = keys->position[0].sk_attno;
	header->sk_strategy = strategy;
	header->sk_argument = PointerGetDatum(keys->position);
}

static void
add_position(ScanKeys *keys, const DynTable *table, const StoreRange *range)
{
	StrategyNumber strategy = range->forward ? BTGreaterStrategyNumber : BTLessStrategyNumber;

	if (range->nposition == range->nequal + 1)
		add_key(keys, table, range, range->nequal, strategy, range->position[range->nequal]);
	else
		add_row_key(keys, table, range, strategy);
}

/* Adds the bounds of the first column that need not equal something. */
static void
add_bounds(ScanKeys *keys, const DynTable *table, const StoreRange *range)
{
	const StoreBound *lower = &range->lower;
	const StoreBound *upper = &range->upper;

	if (lower->given)
		add_key(keys, table, range, range->nequal,
				lower->inclusive ? BTGreaterEqualStrategyNumber : BTGreaterStrategyNumber,
				lower->value);
	if (upper->given)
		add_key(keys, table, range, range->nequal,
				upper->inclusive ? BTLessEqualStrategyNumber : BTLessStrategyNumber, upper->value);
	if (range->nposition > 0)
		add_position(keys, table, range);
}

/* Makes keys in the order of the columns.  The btree need not be partial, so it may have nulls. */
static void
make_keys(ScanKeys *keys, const DynTable *table, const StoreRange *range)
{
	keys->n = 0;
	for (int i = 0; i < range->index->ncolumns; i++)
	{
		int before = keys->n;

		if (i < range->nequal)
			add_key(keys, table, range, i, BTEqualStrategyNumber, range->equal[i]);
		else if (i == range->nequal)
			add_bounds(keys, table, range);
		if (keys->n == before && range->index->columns[i] >= table->nkeys)
			ScanKeyEntryInitialize(&keys->keys[keys->n++], SK_ISNULL | SK_SEARCHNOTNULL,
								   (AttrNumber) (i + 1), InvalidStrategy, InvalidOid, InvalidOid,
								   InvalidOid, (Datum) 0);
	}
}

/*
 * Single items
 */

/* Holds what is open for the gets of one call. */
struct StoreReader
{
	MemoryContext context;
	DirectRead read;
	RowFinder at; /* of no table: nothing is open */
};

/* Returns a reader in the current memory context, with nothing open yet. */
StoreReader *
direct_reader(void)
{
	StoreReader *reader = palloc0(sizeof(StoreReader));

	reader->context = CurrentMemoryContext;
	return reader;
}

/* Closes what a reader has open.  Locks stay until the transaction ends. */
void
direct_reader_close(StoreReader *reader)
{
	if (reader->at.table == NULL)
		return;
	ExecDropSingleTupleTableSlot(reader->at.row);
	close_read(&reader->read);
	reader->at.table = NULL;
}

static bool
open_reader(StoreReader *reader, const DynTable *table)
{
	DirectRead *read = &reader->read;

	if (reader->at.table == table)
		return true;
	direct_reader_close(reader);
	if (open_read(table, &table->primary, read) != NULL)
		return false;
	reader->at = (RowFinder){table, read->rel, read->btree, table_slot_create(read->rel, NULL)};
	return true;
}

/* Returns false if the read is for the SPI store. */
bool
direct_read(StoreReader *reader, const DynTable *table, const DynKeyValues *key, DynItem **item)
{
	MemoryContext old = MemoryContextSwitchTo(reader->context);
	bool open = open_reader(reader, table);

	MemoryContextSwitchTo(old);
	*item =
		open && find_row(&reader->at, GetActiveSnapshot(), key) ? find_row_item(&reader->at) : NULL;
	return open;
}

/*
 * Sets *item to the item of a key that the active snapshot shows, palloc'd, or to NULL if there is
 * none.  Returns false if the read is for the SPI store.
 */
bool
direct_get(const DynTable *table, const DynKeyValues *key, DynItem **item)
{
	StoreReader reader = {.context = CurrentMemoryContext};
	bool open = direct_read(&reader, table, key, item);

	direct_reader_close(&reader);
	return open;
}

/*
 * Ranges
 */

typedef struct RangeScan
{
	const DynTable *table;
	const StoreRange *range;
	IndexScanDesc scan;
	RowsAhead *ahead;
	StoreRowCallback callback;
	void *arg;
} RangeScan;

/*
 * Gets what is wanted of the entry that the scan is at.  It stays right for all versions of a row
 * that it leads to: an update that changes what it has makes another one.  The row is read if the
 * entry carries nothing.
 */
static void
get_entry(const RangeScan *scan, const StoreRow *row, StoreRow *entry)
{
	const DynIndex *index = scan->range->index;
	StoreWant want = scan->range->want;
	Datum values[INDEX_MAX_KEYS];
	bool nulls[INDEX_MAX_KEYS];

	index_deform_tuple(scan->scan->xs_itup, scan->scan->xs_itupdesc, values, nulls);
	for (int i = 0; i < index->ncolumns; i++)
		store_forbid_null(nulls[i]);
	if (row != NULL)
		entry->item = row->item;
	else if (store_wants_part(want))
	{
		entry->item =
			PointerGetDatum(store_range_part(scan->table, index, values, values[index->ncolumns]));
		entry->projected = true;
	}
	else if (store_wants_keys(want))
		entry->item = PointerGetDatum(store_range_item(scan->table, index, values));
	if (store_wants_partition(want))
		memcpy(entry->partition, values, index->npartition * sizeof(Datum));
}

/* Returns the next row, in the memory context or of the rows ahead; NULL at the end. */
static const StoreRow *
next_row(const RangeScan *scan, MemoryContext context, StoreRow *entry)
{
	const StoreRow *row;
	MemoryContext old;

	if (!ahead_next(scan->ahead, &row))
		return NULL;
	if (store_wants_item(scan->range->want))
		return row;
	old = MemoryContextSwitchTo(context);
	memset(entry, 0, sizeof(*entry));
	get_entry(scan, row, entry);
	MemoryContextSwitchTo(old);
	return entry;
}

static void
read_rows(RangeScan *scan)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table row", ALLOCSET_DEFAULT_SIZES);
	bool more = true;
	StoreRow entry;
	const StoreRow *row;

	while (more && (row = next_row(scan, context, &entry)) != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		more = scan->callback(row, scan->arg);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}

/* Returns false if the range is for the SPI store. */
bool
direct_range(const DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg)
{
	RangeScan scan = {.table = table, .range = range, .callback = callback, .arg = arg};
	DirectRead read;
	ScanKeys keys;

	if (open_read(table, range->index, &read) != NULL)
		return false;
	make_keys(&keys, table, range);
	scan.scan = begin_index_scan(read.rel, read.btree, GetActiveSnapshot(), keys.n);
	scan.scan->xs_want_itup = !store_wants_item(range->want);
	index_rescan(scan.scan, keys.keys, keys.n, NULL, 0);
	scan.ahead = ahead_begin(scan.scan, table, range);
	read_rows(&scan);
	ahead_end(scan.ahead);
	index_endscan(scan.scan);
	close_read(&read);
	return true;
}
