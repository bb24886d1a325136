/*
 * remote_scan.c
 *	  Scans of a distributed table, shard by shard.
 *
 * A scan reads the cells of the table in the order of their hashes, and the entries of a cell in
 * that of the index.  So the key of an entry is its place: its partition key has the cell, whatever
 * has become of the shards since.  An index that is distributed by its own key has cells of its
 * own.  Most cells are one shard each.  The shards of one that was split are read together, each by
 * pieces, and the first entry of all is the next one.
 *
 * A piece is what dynamo_internal.scan_shard() answers on the shard's node.  It is called there by
 * store_call(), as all statements of one item are sent: in the same transaction, by the same
 * connection.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/entries.h"
#include "catalog/key.h"
#include "server/arguments.h"
#include "server/extension.h"
#include "store/entries.h"
#include "store/remote.h"
#include "store/shard.h"

/* This shape comes beside those of remote.c. */
#define SCAN_SHARD (1 << 29)

/* A piece has about so many bytes at most. */
#define MOST_BYTES (1024 * 1024)

/* The nodes may not agree for so long on where a shard is, as while a move is being committed. */
#define PATIENCE_MS 10000
#define PAUSE_MS 10

/* This is a shard of the cell that is read, and the piece of it that is here. */
typedef struct ShardPiece
{
	int64 number;
	MemoryContext context;
	Datum *items;
	int n;
	int next;
	bool ended; /* nothing comes behind it */
	DynKeyValues key; /* of the next entry, if there are several shards */
} ShardPiece;

typedef struct ShardScan
{
	DynTable *table;
	DynTable *placed; /* what has the shards: the table, or the relation of the index's entries */
	const StoreRange *range;
	StoreRowCallback callback;
	void *arg;
	MemoryContext row;
	int64 taken; /* entries */
	const DynItem *position; /* key of the last one, or where the cell begins; NULL: at its start */
	MemoryContext context; /* of that */
	MemoryContext cell; /* of the pieces */
	CitusRange hashes;
	int npieces;
	ShardPiece *pieces;
	TimestampTz waiting; /* since when; 0: it does not */
} ShardScan;

/* Tells how the read of a cell has ended. */
typedef enum CellEnd
{
	CELL_READ,
	CELL_LEFT, /* the callback wants no more */
	CELL_AGAIN /* its shards are not where they were: it goes on behind the position */
} CellEnd;

/*
 * Pieces
 */

/* Returns so much for each of the pieces. */
static int64
share(const ShardScan *scan, int64 all)
{
	return all / scan->npieces + (all % scan->npieces > 0);
}

/* Returns how many bytes are worth reading: a page ends when it has so many. */
static int64
bytes_wanted(const StoreRange *range)
{
	return range->bytes == NULL ? MOST_BYTES
								: Max(1, Min(MOST_BYTES, range->likely_bytes - *range->bytes));
}

/* Takes the entries that an array has, whose last element is NULL if nothing comes behind them. */
static void
take_items(ShardPiece *piece, ArrayType *array)
{
	Oid type = ARR_ELEMTYPE(array);
	bool *nulls;
	int16 len;
	bool byval;
	char align;

	get_typlenbyvalalign(type, &len, &byval, &align);
	deconstruct_array(array, type, len, byval, align, &piece->items, &nulls, &piece->n);
	piece->next = 0;
	piece->ended = piece->n == 0 || nulls[piece->n - 1];
	if (piece->ended && piece->n > 0)
		piece->n--;
}

/* Asks a shard for the entries behind the position.  False if it is not on the node that was asked. */
static bool
ask(const ShardScan *scan, ShardPiece *piece, Datum key)
{
	DynTable *table = scan->table;
	const StoreRange *range = scan->range;
	Oid types[] = {dyn_key_column_type(scan->placed->keys[0].type),
				   TEXTOID,
				   INT8OID,
				   INT4OID,
				   INT4OID,
				   TEXTOID,
				   table->item_type,
				   INT4OID,
				   INT8OID,
				   INT8OID};
	Datum values[] = {key,
					  CStringGetTextDatum(table->qualified),
					  Int64GetDatum(piece->number),
					  Int32GetDatum(scan->hashes.from),
					  Int32GetDatum(scan->hashes.to),
					  PointerGetDatum(span_text(range->index->name)),
					  PointerGetDatum(scan->position),
					  Int32GetDatum(range->want),
					  Int64GetDatum(share(scan, store_range_wanted(range, scan->taken))),
					  Int64GetDatum(share(scan, bytes_wanted(range)))};
	ParamListInfo parameters = store_parameters(lengthof(types), types, values);
	MemoryContext old = MemoryContextSwitchTo(piece->context);
	RightsBefore before;
	Datum answer;
	bool here;

	parameters->params[6].isnull = scan->position == NULL;
	if (scan->placed->entries)
		store_entries_begin(table, range->index, &before);
	here = store_call(scan->placed, SCAN_SHARD, DYN_INTERNAL ".scan_shard", parameters, &answer);
	if (scan->placed->entries)
		rights_give_back(&before);
	if (here)
		take_items(piece, DatumGetArrayTypeP(answer));
	MemoryContextSwitchTo(old);
	return here;
}

/* Waits a little for the nodes to agree on where a shard is. */
static void
wait_for_nodes(ShardScan *scan)
{
	TimestampTz now = GetCurrentTimestamp();

	if (scan->waiting == 0)
		scan->waiting = now;
	if (TimestampDifferenceExceeds(scan->waiting, now, PATIENCE_MS))
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access due to a move or split of a shard")));
	CHECK_FOR_INTERRUPTS();
	pg_usleep(PAUSE_MS * 1000L);
	store_shards_forget(scan->placed);
}

/* Fetches the next piece of a shard.  False if the cell has to begin again. */
static bool
fetch(ShardScan *scan, ShardPiece *piece)
{
	MemoryContext old;
	StorePin pin;
	bool here;

	CHECK_FOR_INTERRUPTS();
	if (!store_shard_pin(scan->placed, piece->number, &pin))
		return false;
	MemoryContextReset(piece->context);
	old = MemoryContextSwitchTo(piece->context);
	here = ask(scan, piece, pin.key);
	MemoryContextSwitchTo(old);
	store_shard_unpin(&pin);
	if (here)
		scan->waiting = 0;
	else
		wait_for_nodes(scan);
	return here;
}

static const DynItem *
key_of(const ShardScan *scan, Datum item)
{
	return dyn_key_item(scan->table, scan->range->index, DatumGetDynItem(item));
}

/* Has the next entry of a piece ready.  False if the cell has to begin again. */
static bool
make_ready(ShardScan *scan, ShardPiece *piece)
{
	MemoryContext old;

	if (piece->next == piece->n && !piece->ended && !fetch(scan, piece))
		return false;
	if (scan->npieces == 1 || piece->next == piece->n)
		return true;
	old = MemoryContextSwitchTo(piece->context);
	dyn_key_exact(scan->table, scan->range->index, key_of(scan, piece->items[piece->next]),
				  DYN_KEY_OF_SCAN_START, &piece->key);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * Cells
 */

static bool
comes_before(const ShardScan *scan, const ShardPiece *a, const ShardPiece *b)
{
	const DynIndex *index = scan->range->index;
	int cmp = 0;

	for (int i = 0; i < index->ncolumns && cmp == 0; i++)
		cmp = store_column_compare(dyn_index_key(scan->table, index, i)->type, a->key.values[i],
								   b->key.values[i]);
	return cmp < 0;
}

/* Returns the piece that has the next entry of the cell, or NULL. */
static ShardPiece *
first_piece(const ShardScan *scan)
{
	ShardPiece *first = NULL;

	for (int i = 0; i < scan->npieces; i++)
	{
		ShardPiece *piece = &scan->pieces[i];

		if (piece->next < piece->n && (first == NULL || comes_before(scan, piece, first)))
			first = piece;
	}
	return first;
}

/* Begins a cell.  False if it has to begin again. */
static bool
open_cell(ShardScan *scan, int cell)
{
	MemoryContext old;
	int64 *numbers;

	MemoryContextReset(scan->cell);
	old = MemoryContextSwitchTo(scan->cell);
	scan->npieces = store_cell_shards(scan->placed, cell, &scan->hashes, &numbers);
	scan->pieces = palloc0(scan->npieces * sizeof(ShardPiece));
	for (int i = 0; i < scan->npieces; i++)
	{
		scan->pieces[i].number = numbers[i];
		scan->pieces[i].context =
			AllocSetContextCreate(scan->cell, "dynamo_table piece", ALLOCSET_DEFAULT_SIZES);
	}
	MemoryContextSwitchTo(old);
	for (int i = 0; i < scan->npieces; i++)
	{
		if (!make_ready(scan, &scan->pieces[i]))
			return false;
	}
	return true;
}

/* Hands the next entry of a piece to the callback. */
static bool
take_entry(ShardScan *scan, ShardPiece *piece)
{
	StoreRow row = {.item = piece->items[piece->next++],
					.projected = store_wants_part(scan->range->want)};
	MemoryContext old = MemoryContextSwitchTo(scan->row);
	bool more = scan->callback(&row, scan->arg);

	MemoryContextSwitchTo(old);
	MemoryContextReset(scan->row);
	scan->taken++;
	return more;
}

/* Sets the position behind an entry. */
static void
set_position(ShardScan *scan, Datum item)
{
	MemoryContext old;

	MemoryContextReset(scan->context);
	old = MemoryContextSwitchTo(scan->context);
	scan->position = key_of(scan, item);
	MemoryContextSwitchTo(old);
}

static CellEnd
read_cell(ShardScan *scan, int cell)
{
	ShardPiece *piece;

	if (!open_cell(scan, cell))
		return CELL_AGAIN;
	while ((piece = first_piece(scan)) != NULL)
	{
		if (!take_entry(scan, piece))
			return CELL_LEFT;
		if (piece->next == piece->n)
			set_position(scan, piece->items[piece->n - 1]);
		if (!make_ready(scan, piece))
			return CELL_AGAIN;
	}
	return CELL_READ;
}

/* Segments have whole cells: there is no telling what part of one a range of hashes is. */
static int64
segment_of(int cells, int cell, int64 total_segments)
{
	return cell * total_segments / cells;
}

/* Returns what has the shards of an index; NULL if that is missing. */
static DynTable *
placed(DynTable *table, const DynIndex *index)
{
	if (index->entries == NULL)
		return table;
	return OidIsValid(index->relid) ? dyn_entries_schema(table, index) : NULL;
}

/* Returns the value that a position has of the key by which the shards are divided. */
static Datum
position_partition(const StoreRange *range)
{
	int i = 0;

	while (range->index->entries == NULL && range->index->columns[i] != 0)
		i++;
	return range->position[i];
}

/* Returns whether a range is read cell by cell. */
bool
remote_scan_has_cells(DynTable *table, const StoreRange *range)
{
	DynTable *shards = placed(table, range->index);

	return range->scan && shards != NULL && store_cells(shards) > 0;
}

/* Returns the segment of so many that a position lies in; -1: they are no matter of the store. */
int64
store_segment(DynTable *table, const StoreRange *range, int64 total_segments)
{
	DynTable *shards = placed(table, range->index);
	int cells = shards == NULL ? 0 : store_cells(shards);

	if (cells == 0)
		return -1;
	if (range->nposition == 0)
		return 0;
	return segment_of(cells, store_cell(shards, position_partition(range)), total_segments);
}

/* Returns how many times all of a table is as much as the first of so many segments, roughly. */
double
store_segment_times(DynTable *table, int64 total_segments)
{
	int cells = store_cells(table);

	if (cells == 0)
		return (double) total_segments;
	return (double) cells / (double) ((cells + total_segments - 1) / total_segments);
}

/* Calls back for each entry, in a memory context that is reset after each call. */
void
remote_scan(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table scan", ALLOCSET_DEFAULT_SIZES);
	ShardScan scan = {
		.table = table,
		.placed = placed(table, range->index),
		.range = range,
		.callback = callback,
		.arg = arg,
		.row = AllocSetContextCreate(context, "dynamo_table row", ALLOCSET_DEFAULT_SIZES),
		.context = AllocSetContextCreate(context, "dynamo_table position", ALLOCSET_SMALL_SIZES),
		.cell = AllocSetContextCreate(context, "dynamo_table cell", ALLOCSET_DEFAULT_SIZES)};
	int cells = store_cells(scan.placed);
	CellEnd end = CELL_READ;
	int cell = 0;

	if (range->nposition > 0)
	{
		cell = store_cell(scan.placed, position_partition(range));
		scan.position = store_range_item(table, range->index, range->position);
	}
	for (; cell < cells && end != CELL_LEFT; cell++)
	{
		if (range->total_segments > 0 &&
			segment_of(cells, cell, range->total_segments) != range->segment)
			continue;
		while ((end = read_cell(&scan, cell)) == CELL_AGAIN)
			;
		scan.position = NULL;
	}
	MemoryContextDelete(context);
}
