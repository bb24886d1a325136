/*
 * log.c
 *	  The records that were collected, and what is known of their completeness, as one snapshot shows it.
 *
 * Records are appended in the order of commits, by transactions of which each begins after the one
 * before it has ended.  So a snapshot shows all records up to some place, and none behind it: a
 * reader that continues after the last record it has read misses none.  Partitions are spans of the
 * time of collecting, which never goes back, so that one after the other they are in the same
 * order, and nothing has to be merged.
 *
 * Only the owner of the tables has privileges on them.  They are read here without the executor,
 * which would check privileges; target.c checks before whether the caller may read a stream.  No
 * code of the caller's runs, and no lock is kept after a read: partitions can be dropped while the
 * caller's transaction goes on, and so a transaction with an old snapshot learns of that by a new
 * snapshot.
 *
 * Partitions are made while records are read.  The relation cache may lack the newest partition for
 * a moment although the snapshot shows its records.  So partitions are listed from the catalog,
 * which is read after the snapshot was taken.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "partitioning/partdesc.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "server/compat.h"
#include "server/work/owned.h"
#include "services/stream/read.h"

/* These are the columns of the index of stream_records. */
enum
{
	INDEX_RELATION = 1,
	INDEX_STREAM,
	INDEX_LSN,
	INDEX_ORDINAL,
	INDEX_SHARD
};

/* These are the columns of stream_gaps, _trimmed, _ends, _placements and _state. */
enum
{
	GAP_AFTER = 1,
	GAP_BEFORE,
	GAP_NOTICED,
	GAP_RELATION
};

enum
{
	TRIMMED_RELATION = 1,
	TRIMMED_STREAM,
	TRIMMED_LSN,
	TRIMMED_ORDINAL
};

enum
{
	END_RELATION = 1,
	END_STREAM,
	END_GENERATION,
	END_LSN,
	END_ORDINAL,
	END_COLLECTED
};

enum
{
	PLACEMENT_RELATION = 1,
	PLACEMENT_STREAM,
	PLACEMENT_DISTRIBUTED,
	PLACEMENT_SHARD,
	PLACEMENT_LOWER,
	PLACEMENT_UPPER,
	PLACEMENT_BEGAN
};

enum
{
	STATE_DATABASE = 1,
	STATE_COLLECTED = 3
};

static bool
is_known(const PartitionDescData *known, Oid partition)
{
	for (int i = 0; i < known->nparts; i++)
	{
		if (known->oids[i] == partition)
			return true;
	}
	return false;
}

/* Dropping a partition locks its parent against readers, so the cache has no dropped ones. */
static void
list_partitions(StreamLog *log)
{
	const PartitionDescData *known = RelationGetPartitionDesc(log->records, true);
	List *children = find_inheritance_children(RelationGetRelid(log->records), NoLock);
	ListCell *cell;

	log->npartitions = known->nparts;
	log->partitions = palloc((known->nparts + list_length(children)) * sizeof(Oid));
	memcpy(log->partitions, known->oids, known->nparts * sizeof(Oid));
	/* the newest one is the last */
	foreach (cell, children)
	{
		if (!is_known(known, lfirst_oid(cell)))
			log->partitions[log->npartitions++] = lfirst_oid(cell);
	}
	list_free(children);
}

/*
 * Opens the records for reading: AccessShareLock on their table, and snapshots, of which the
 * transaction's becomes the active one.  The caller has checked the right to read, and ends with
 * stream_log_close().
 */
void
stream_log_open(StreamLog *log)
{
	List *indexes;

	log->records = table_open(owned_table(STREAM_RECORDS_TABLE), AccessShareLock);
	log->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	/* a session that holds the lock already processes no invalidations by taking it again */
	AcceptInvalidationMessages();
	log->newest = RegisterSnapshot(GetLatestSnapshot());
	/* for what is stored out of line */
	PushActiveSnapshot(log->snapshot);
	indexes = RelationGetIndexList(log->records);
	if (indexes == NIL)
		elog(ERROR, "the index of \"%s\" is missing", STREAM_RECORDS_TABLE);
	log->index = linitial_oid(indexes);
	list_free(indexes);
	list_partitions(log);
}

/* Releases the snapshots and the lock that stream_log_open() has taken. */
void
stream_log_close(StreamLog *log)
{
	PopActiveSnapshot();
	UnregisterSnapshot(log->newest);
	UnregisterSnapshot(log->snapshot);
	table_close(log->records, AccessShareLock);
}

/*
 * Records
 */

typedef struct LogKeys
{
	int n;
	ScanKeyData keys[5];
	ScanKeyData place[2]; /* that the row comparison points to */
} LogKeys;

static void
add_key(LogKeys *keys, AttrNumber column, StrategyNumber strategy, RegProcedure procedure,
		Datum value)
{
	ScanKeyInit(&keys->keys[keys->n++], column, strategy, procedure, value);
}

/* Adds the keys for (lsn, ordinal) > place, or another comparison. */
static void
add_place(LogKeys *keys, StrategyNumber strategy, StreamPlace place)
{
	ScanKey header = &keys->keys[keys->n++];

	ScanKeyInit(&keys->place[0], INDEX_LSN, strategy, F_PG_LSN_CMP, LSNGetDatum(place.lsn));
	ScanKeyInit(&keys->place[1], INDEX_ORDINAL, strategy, F_BTINT8CMP,
				Int64GetDatum((int64) place.ordinal));
	keys->place[0].sk_flags = SK_ROW_MEMBER;
	keys->place[1].sk_flags = SK_ROW_MEMBER | SK_ROW_END;
	memset(header, 0, sizeof(*header));
	header->sk_flags = SK_ROW_HEADER;
	header->sk_attno = INDEX_LSN;
	header->sk_strategy = strategy;
	header->sk_argument = PointerGetDatum(keys->place);
}

static void
make_stream_keys(LogKeys *keys, Oid relid, int64 stream)
{
	keys->n = 0;
	add_key(keys, INDEX_RELATION, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	add_key(keys, INDEX_STREAM, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(stream));
}

/* Makes the keys in the order of the index's columns. */
static void
make_keys(LogKeys *keys, const StreamScan *scan)
{
	make_stream_keys(keys, scan->relid, scan->stream->label);
	add_place(keys, BTGreaterStrategyNumber, scan->after);
	if (scan->before != InvalidXLogRecPtr)
		add_key(keys, INDEX_LSN, BTLessStrategyNumber, F_PG_LSN_LT, LSNGetDatum(scan->before));
	if (scan->shard >= 0)
		add_key(keys, INDEX_SHARD, BTEqualStrategyNumber, F_INT2EQ,
				Int16GetDatum((int16) scan->shard));
}

/* An OpenPartition is what is open of a partition. */
typedef struct OpenPartition
{
	Relation rel;
	Relation btree;
	IndexScanDesc scan;
	TupleTableSlot *slot;
} OpenPartition;

/* Dropping a partition locks its parent against readers. */
static void
open_partition(const StreamLog *log, int i, LogKeys *keys, OpenPartition *partition)
{
	Relation rel = table_open(log->partitions[i], AccessShareLock);
	Oid index = index_get_partition(rel, log->index);

	if (!OidIsValid(index))
		elog(ERROR, "partition \"%s\" has no index", RelationGetRelationName(rel));
	partition->rel = rel;
	partition->btree = index_open(index, AccessShareLock);
	partition->slot = table_slot_create(rel, NULL);
	partition->scan = begin_index_scan(rel, partition->btree, log->snapshot, keys->n);
	index_rescan(partition->scan, keys->keys, keys->n, NULL, 0);
}

static void
close_partition(const OpenPartition *partition)
{
	index_endscan(partition->scan);
	ExecDropSingleTupleTableSlot(partition->slot);
	index_close(partition->btree, AccessShareLock);
	table_close(partition->rel, AccessShareLock);
}

static Datum
value_of(const TupleTableSlot *slot, int column)
{
	return slot->tts_values[column];
}

static StreamPlace
place_of(const TupleTableSlot *slot)
{
	return (StreamPlace){DatumGetLSN(value_of(slot, RECORD_LSN)),
						 (uint64) DatumGetInt64(value_of(slot, RECORD_ORDINAL))};
}

static const DynItem *
image_of(const TupleTableSlot *slot, int column)
{
	return slot->tts_isnull[column] ? NULL : DatumGetDynItem(value_of(slot, column));
}

static void
read_record(const StreamScan *scan, TupleTableSlot *slot, StreamRecord *record)
{
	slot_getallattrs(slot);
	memset(record, 0, sizeof(*record));
	record->relid = scan->relid;
	record->stream = scan->stream->label;
	record->view = scan->stream->view;
	record->shard = DatumGetInt16(value_of(slot, RECORD_SHARD));
	record->place = place_of(slot);
	record->event = (StreamEvent) DatumGetChar(value_of(slot, RECORD_EVENT));
	record->expired = DatumGetBool(value_of(slot, RECORD_EXPIRED));
	record->incomplete = DatumGetBool(value_of(slot, RECORD_INCOMPLETE));
	record->committed = DatumGetTimestampTz(value_of(slot, RECORD_COMMITTED));
	record->size = DatumGetInt32(value_of(slot, RECORD_SIZE));
	record->keys = image_of(slot, RECORD_KEYS);
	record->new_image = image_of(slot, RECORD_NEW_IMAGE);
	record->old_image = image_of(slot, RECORD_OLD_IMAGE);
}

/* Scans a partition; returns false if the callback wants no more. */
static bool
scan_partition(const OpenPartition *partition, const StreamScan *scan, MemoryContext context,
			   StreamRecordCallback callback, void *arg)
{
	bool more = true;

	while (more && index_getnext_slot(partition->scan, ForwardScanDirection, partition->slot))
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		StreamRecord record;

		CHECK_FOR_INTERRUPTS();
		read_record(scan, partition->slot, &record);
		more = callback(&record, arg);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	return more;
}

/* Scans the records in order; returns false if the callback has ended it. */
bool
stream_log_scan(const StreamLog *log, const StreamScan *scan, StreamRecordCallback callback,
				void *arg)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table record", ALLOCSET_DEFAULT_SIZES);
	bool more = true;

	for (int i = 0; i < log->npartitions && more; i++)
	{
		OpenPartition partition;
		LogKeys keys;

		make_keys(&keys, scan);
		open_partition(log, i, &keys, &partition);
		more = scan_partition(&partition, scan, context, callback, arg);
		close_partition(&partition);
	}
	MemoryContextDelete(context);
	return more;
}

/* Finds the place of a stream's last record up to a place; returns false if there is none. */
bool
stream_log_last(const StreamLog *log, Oid relid, int64 stream, StreamPlace bound,
				StreamPlace *place)
{
	bool found = false;

	for (int i = log->npartitions - 1; i >= 0 && !found; i--)
	{
		OpenPartition partition;
		LogKeys keys;

		make_stream_keys(&keys, relid, stream);
		add_place(&keys, BTLessEqualStrategyNumber, bound);
		open_partition(log, i, &keys, &partition);
		found = index_getnext_slot(partition.scan, BackwardScanDirection, partition.slot);
		if (found)
		{
			slot_getallattrs(partition.slot);
			*place = place_of(partition.slot);
		}
		close_partition(&partition);
	}
	return found;
}

/*
 * What is known of their completeness
 */

/*
 * Returns the rows of a small table that have an OID in a column, or all of them, where the column is
 * 0: each an array of values by their columns.  Types are passed by value, and NULL is 0.
 */
static List *
read_rows(const char *name, Snapshot snapshot, AttrNumber column, Oid oid)
{
	Relation rel = table_open(owned_table(name), AccessShareLock);
	TupleDesc desc = RelationGetDescr(rel);
	bool *nulls = palloc(desc->natts * sizeof(bool));
	List *rows = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple row;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(oid));
	scan = systable_beginscan(rel, InvalidOid, false, snapshot, column == 0 ? 0 : 1, &key);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		Datum *values = palloc((desc->natts + 1) * sizeof(Datum));

		heap_deform_tuple(row, desc, values + 1, nulls);
		rows = lappend(rows, values);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return rows;
}

/*
 * Returns the place of the last record of a stream that was dropped, or behind that of an older
 * stream of the relation, if there are any, and whether or not the snapshot shows that.
 */
StreamPlace
stream_log_floor(const StreamLog *log, Oid relid, int64 stream)
{
	StreamPlace floor = {0};
	ListCell *cell;

	foreach (cell, read_rows(STREAM_TRIMMED_TABLE, log->newest, TRIMMED_RELATION, relid))
	{
		const Datum *row = lfirst(cell);
		int64 trimmed = DatumGetInt64(row[TRIMMED_STREAM]);
		StreamPlace place = {DatumGetLSN(row[TRIMMED_LSN]),
							 (uint64) DatumGetInt64(row[TRIMMED_ORDINAL])};

		if (trimmed < stream)
			place.ordinal++;
		if (trimmed <= stream && stream_place_compare(floor, place) < 0)
			floor = place;
	}
	return floor;
}

/* Returns all gaps, of whichever streams. */
int
stream_log_gaps(const StreamLog *log, StreamGap **gaps)
{
	List *rows = read_rows(STREAM_GAPS_TABLE, log->snapshot, 0, InvalidOid);
	ListCell *cell;

	*gaps = palloc(list_length(rows) * sizeof(StreamGap));
	foreach (cell, rows)
	{
		const Datum *row = lfirst(cell);
		StreamGap *gap = &(*gaps)[foreach_current_index(cell)];

		gap->after = DatumGetLSN(row[GAP_AFTER]);
		gap->before = DatumGetLSN(row[GAP_BEFORE]);
		gap->relid = DatumGetObjectId(row[GAP_RELATION]);
		gap->noticed = DatumGetTimestampTz(row[GAP_NOTICED]);
	}
	return list_length(rows);
}

/*
 * Returns the place before which all commits have been collected, in this database and not in one
 * that it is a copy of; Invalid if nothing was set up.
 */
XLogRecPtr
stream_log_collected(const StreamLog *log)
{
	List *rows = read_rows(STREAM_STATE_TABLE, log->snapshot, STATE_DATABASE, MyDatabaseId);

	return rows == NIL ? InvalidXLogRecPtr
					   : DatumGetLSN(((const Datum *) linitial(rows))[STATE_COLLECTED]);
}

/* Returns the ends of those generations of shards whose records have all been collected. */
void
stream_log_ends(const StreamLog *log, Oid relid, int64 stream,
				StreamClosing ends[DYN_MAX_GENERATIONS])
{
	ListCell *cell;

	memset(ends, 0, DYN_MAX_GENERATIONS * sizeof(StreamClosing));
	foreach (cell, read_rows(STREAM_ENDS_TABLE, log->snapshot, END_RELATION, relid))
	{
		const Datum *row = lfirst(cell);
		int generation = DatumGetInt16(row[END_GENERATION]);

		if (DatumGetInt64(row[END_STREAM]) == stream && generation >= 0 &&
			generation < DYN_MAX_GENERATIONS)
			ends[generation] = (StreamClosing){
				true,
				{DatumGetLSN(row[END_LSN]), (uint64) DatumGetInt64(row[END_ORDINAL])},
				DatumGetTimestampTz(row[END_COLLECTED])};
	}
}

/* Returns the shards of a distributed table's stream that this node has, or had. */
int
stream_log_placements(const StreamLog *log, Oid distributed, int64 stream, StreamPlacedRow **rows)
{
	List *read =
		read_rows(STREAM_PLACEMENTS_TABLE, log->snapshot, PLACEMENT_DISTRIBUTED, distributed);
	ListCell *cell;
	int n = 0;

	*rows = palloc(list_length(read) * sizeof(StreamPlacedRow));
	foreach (cell, read)
	{
		const Datum *row = lfirst(cell);

		if (DatumGetInt64(row[PLACEMENT_STREAM]) == stream)
			(*rows)[n++] = (StreamPlacedRow){
				DatumGetObjectId(row[PLACEMENT_RELATION]), DatumGetInt64(row[PLACEMENT_SHARD]),
				DatumGetInt32(row[PLACEMENT_LOWER]), DatumGetInt32(row[PLACEMENT_UPPER]),
				DatumGetTimestampTz(row[PLACEMENT_BEGAN])};
	}
	return n;
}
