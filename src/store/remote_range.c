/*
 * remote_range.c
 *	  Ranges of a distributed table, chunk by chunk.
 *
 * Citus keeps all that a statement returns until the statement has ended, and no limit reaches a
 * shard unless the statement has one.  So a range is read by statements with a LIMIT, each of which
 * begins after the last entry of the one before.  A range of several shards takes as many rows from
 * each of them, which Citus merges.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "store/remote.h"
#include "store/shard.h"

/* The first chunk and the largest one have so many rows; bytes are worth more. */
#define FIRST_CHUNK 100
#define MOST_ROWS 1600
#define MOST_BYTES (1024 * 1024)

static int64
first_limit(const StoreRange *range)
{
	return range->likely > 0 ? Min(range->likely, MOST_ROWS) : FIRST_CHUNK;
}

/* Returns twice the limit, since more is taken than was likely: some entries are filtered out. */
static int64
next_limit(const RangeChunk *chunk)
{
	int64 fitting = MOST_BYTES / (chunk->bytes / chunk->rows + 1);

	return Max(1, Min(Min(Max(2 * chunk->limit, FIRST_CHUNK), MOST_ROWS), fitting));
}

static void
go_on_after(StoreRange *range, const RangeChunk *chunk)
{
	range->nposition = range->index->ncolumns;
	memcpy(range->position, chunk->position, range->nposition * sizeof(Datum));
}

/* Calls back for each entry, in a memory context that is reset after each call. */
void
remote_range(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg)
{
	StoreRange rest = *range;
	RangeChunk chunk = {.limit = first_limit(range)};
	MemoryContext position = NULL; /* of the entry that the chunk begins after */

	if (remote_scan_has_cells(table, range))
	{
		remote_scan(table, range, callback, arg);
		return;
	}
	for (;;)
	{
		MemoryContext context =
			AllocSetContextCreate(CurrentMemoryContext, "dynamo_table chunk", ALLOCSET_SMALL_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);
		StoreRange narrowed = rest;

		CHECK_FOR_INTERRUPTS();
		chunk.more = false;
		if (store_range_narrow(table, &narrowed))
			spi_range_chunk(table, &narrowed, callback, arg, &chunk);
		MemoryContextSwitchTo(old);
		if (position != NULL)
			MemoryContextDelete(position);
		position = context;
		if (!chunk.more)
			break;
		go_on_after(&rest, &chunk);
		chunk.limit = next_limit(&chunk);
	}
	MemoryContextDelete(position);
}
