/*
 * scan.c
 *	  Scan: all of a table or an index, or one segment of it.
 *
 * Collections are divided between segments by a hash of the partition key; shards of a distributed
 * table are divided by the store.  (By blocks, an item that an update moves would be read twice or
 * never.)  A segment is read by going through all collections in the order of the index.  Few
 * entries of other segments between collections of our own are read and dropped.  Where many follow
 * each other, only partition keys are read, from the index, until one of our own comes; and a
 * larger collection is left out by beginning again behind it.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "actions/read.h"
#include "server/errors.h"

/*
 * After so many foreign entries only partition keys are read, and after so many keys of one
 * collection reading begins again behind it.  To begin again costs about as much as to read these.
 */
#define FOREIGN_ITEMS 16
#define FOREIGN_KEYS 32

typedef struct Segment
{
	Read *read;
	uint32 number;
	uint32 total;
	bool begun; /* there is a current collection */
	bool own; /* which is of this segment */
	Datum partition[DYN_MAX_KEY_PART]; /* its key, allocated by us */
	bool keys; /* only partition keys are read */
	int foreign; /* foreign entries in a row; of keys: of the current collection */
	bool again; /* the statement was given up, to go on behind the current collection */
} Segment;

pg_noreturn static void
fail_segment(const char *message, const char *words)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("%s", message), errwords("%s", words)));
	pg_unreachable();
}

/* Checks the number of a segment; they are numbered from 0 (docs/semantics.md, S06). */
static void
check_segment(const ScanRequest *request)
{
	long long segment = request->segment;
	long long total = request->total_segments;

	if (segment >= 0 && segment < total)
		return;
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("a segment must be at least 0 and less than their number"),
					errdetail("It is %lld of %lld.", segment, total),
					errwords("The Segment parameter is zero-based and must be less than parameter "
							 "TotalSegments: Segment: %lld is not less than TotalSegments: %lld",
							 segment, total)));
}

/*
 * Sets the segment and the number of segments, which are given together (docs/semantics.md, S06).
 * What is not given is NULL.  The caller has checked that the number is between 1 and
 * DYN_MAX_SEGMENTS.
 */
void
action_set_segment(ScanRequest *request, const int64 *segment, const int64 *total)
{
	static const char *const together =
		"a segment and the number of segments must be given together";

	if (segment != NULL && total == NULL)
		fail_segment(together, "The TotalSegments parameter is required but was not present in the "
							   "request when Segment parameter is present");
	if (segment == NULL && total != NULL)
		fail_segment(together, "The Segment parameter is required but was not present in the "
							   "request when parameter TotalSegments is present");
	request->segmented = segment != NULL;
	if (!request->segmented)
		return;
	request->segment = *segment;
	request->total_segments = *total;
	check_segment(request);
}

static ItemType
partition_type(const Segment *segment, int i)
{
	return dyn_index_key(segment->read->table, segment->read->index, i)->type;
}

/* Hashes a column by its value, so that the hash is the same for all forms of a number. */
static uint64
hash_column(ItemType type, Datum value)
{
	struct varlena *bytes;

	if (type == ITEM_N)
		return DatumGetUInt64(DirectFunctionCall2(hash_numeric_extended, value, Int64GetDatum(0)));
	bytes = PG_DETOAST_DATUM_PACKED(value);
	return DatumGetUInt64(
		hash_any_extended((unsigned char *) VARDATA_ANY(bytes), (int) VARSIZE_ANY_EXHDR(bytes), 0));
}

static bool
is_own(const Segment *segment, const Datum *partition)
{
	uint64 hash = 0;

	for (int i = 0; i < segment->read->index->npartition; i++)
		hash = hash_combine64(hash, hash_column(partition_type(segment, i), partition[i]));
	return hash % segment->total == segment->number;
}

static bool
is_current(const Segment *segment, const Datum *partition)
{
	if (!segment->begun)
		return false;
	for (int i = 0; i < segment->read->index->npartition; i++)
	{
		if (store_column_compare(partition_type(segment, i), partition[i], segment->partition[i]) !=
			0)
			return false;
	}
	return true;
}

/* Copies partition keys into the memory of the read, in place of others that are there. */
static void
copy_partition(const Segment *segment, bool replace, Datum *to, const Datum *from)
{
	MemoryContext old = MemoryContextSwitchTo(segment->read->context);

	for (int i = 0; i < segment->read->index->npartition; i++)
	{
		if (replace)
			pfree(DatumGetPointer(to[i]));
		to[i] = datumCopy(from[i], false, -1);
	}
	MemoryContextSwitchTo(old);
}

static bool
receive_row(const StoreRow *row, void *arg)
{
	Segment *segment = arg;

	if (!is_current(segment, row->partition))
	{
		bool own = is_own(segment, row->partition);

		if (segment->keys && own)
		{
			/* read its items: it comes behind the current one, which is foreign */
			segment->keys = false;
			segment->again = true;
			return false;
		}
		copy_partition(segment, segment->begun, segment->partition, row->partition);
		segment->begun = true;
		segment->own = own;
		if (segment->keys)
			segment->foreign = 0;
	}
	if (segment->own)
	{
		segment->foreign = 0;
		return read_item(segment->read, row);
	}
	if (++segment->foreign < (segment->keys ? FOREIGN_KEYS : FOREIGN_ITEMS))
		return true;
	segment->keys = true;
	segment->foreign = 0;
	segment->again = true;
	return false;
}

/* Reads a segment by one statement after the other, each from where the one before was given up. */
static void
read_segment(Segment *segment, StoreRange *range)
{
	ErrorContextCallback callback;
	Read *read = segment->read;
	MemoryContext context =
		AllocSetContextCreate(read->context, "dynamo_table segment", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool moved = false;

	store_begin_cleared(&callback, &read->clearance);
	do
	{
		CHECK_FOR_INTERRUPTS();
		segment->again = false;
		range->want = segment->keys     ? STORE_WANT_PARTITION
					  : read->keys_only ? STORE_WANT_KEYS_PARTITION
					  : read->part      ? STORE_WANT_PART_PARTITION
										: STORE_WANT_ITEM_PARTITION;
		store_range(read->table, range, receive_row, segment);
		MemoryContextReset(context);
		if (segment->again)
		{
			/* a copy, since the statement needs it while the current collection changes */
			copy_partition(segment, moved, range->position, segment->partition);
			range->nposition = read->index->npartition;
			moved = true;
		}
	} while (segment->again);
	store_end(&callback);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Reads a segment; shards of a table are divided by the store. */
static void
scan_segment(Segment *segment, StoreRange *range)
{
	Read *read = segment->read;
	int64 of_shards = store_segment(read->table, range, segment->total);
	bool own = of_shards < 0 ? range->nposition == 0 || is_own(segment, range->position)
							 : range->nposition == 0 || of_shards == segment->number;

	/* a start key lies in its segment (docs/semantics.md, S07) */
	if (!own)
		fail_segment("the start key lies in another segment",
					 "Exclusive start key must lie within the segment");
	if (of_shards < 0)
	{
		read_segment(segment, range);
		return;
	}
	range->segment = segment->number;
	range->total_segments = segment->total;
	read_range(read, range);
}

static void
run_scan(Operation *operation, void *arg)
{
	const ReadCall *call = arg;
	const ScanRequest *request = call->request;
	StoreRange range = {0};
	Read read;
	Segment segment = {.read = &read,
					   .number = (uint32) request->segment,
					   .total = (uint32) request->total_segments};

	read_check(&request->read);
	read_begin(&read, &request->read, call, &operation->table);
	read_open(&read);
	read_check_paths(&read);
	read_authorize(&read, ACTION_SCAN, 0, NULL);
	range.index = read.index;
	range.forward = true;
	range.scan = true;
	read_set_range(&read, &range);
	read_start(&read, &range);
	if (request->segmented && request->total_segments > 1)
		scan_segment(&segment, &range);
	else
		read_range(&read, &range);
	read_tell_meter(&read);
	read_close(&read);
}

/* Runs a scan.  Everything is checked before anything is read. */
void
action_scan(const ScanRequest *request, ResultCallback callback, void *arg, ReadResult *result)
{
	Operation operation = {.kind = OPERATION_SCAN};
	ReadCall call = {request, callback, arg, result, 0};

	operation_run(&operation, run_scan, &call);
}

/* Raises an error for what is wrong with a request, without reading. */
void
action_check_scan(const ScanRequest *request)
{
	ReadResult result;
	Read read;

	read_check(&request->read);
	read_begin(&read, &request->read, &(ReadCall){.result = &result}, NULL);
	read_open(&read);
	read_check_paths(&read);
	read_close(&read);
}
