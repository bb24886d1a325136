/*
 * watch.c
 *	  The shards of distributed tables on this node, as shards of streams.
 *
 * A shard on a node is a relation, whose changes are collected as those of any table.  Which table
 * it is a shard of is what Citus' catalogs say, never what its own name or definition say, which are
 * its owner's.  The collector looks at them now and then, and notes each shard of a table that has a
 * stream.
 *
 * A shard leaves the node when it is moved or split, or when the stream is disabled.  Citus and
 * ALTER TABLE keep writers out meanwhile, so all changes of the relation are in the WAL when the
 * catalogs show that it has left.  Where the WAL ends then is noted, and when all before that place
 * is collected, the stream's shard has ended there.
 *
 * Catalogs that have no shard of a table are no reason: they may be on their way to a new node.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "replication/origin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "catalog/definition/definition.h"
#include "catalog/listing.h"
#include "catalog/rights.h"
#include "server/attempt.h"
#include "server/citus.h"
#include "server/extension.h"
#include "server/sql.h"
#include "server/work/owned.h"
#include "services/stream/collect.h"

/* So many milliseconds are between two looks at Citus' catalogs, and at whether there are any. */
#define PAUSE 1000
#define PAUSE_WITHOUT 60000

/* An ended shard is kept for so many times the retention: its records expire by partitions. */
#define KEPT 2

#define HERE "(SELECT g.groupid FROM pg_catalog.pg_dist_local_group g)"

/* Shards of tables that are distributed otherwise have no bounds that are numbers. */
#define IS_HASHED \
	"EXISTS (SELECT FROM pg_catalog.pg_dist_partition d" \
	" WHERE d.logicalrelid = s.logicalrelid AND d.partmethod = 'h')"

/* Citus hides shards from queries of pg_class, but not from look-ups. */
#define SHARDS_HERE \
	"SELECT pg_catalog.shard_name(t.oid, s.shardid), t.oid, s.shardid, " \
	"s.shardminvalue::pg_catalog.int4," \
	" s.shardmaxvalue::pg_catalog.int4," \
	" (SELECT pg_catalog.max(o.stream) FROM " DYN_INTERNAL "." STREAM_PLACEMENTS_TABLE " o" \
	" WHERE o.distributed = t.oid AND o.shard = s.shardid AND o.leaving IS NULL)" \
	" FROM pg_catalog.pg_dist_placement p JOIN pg_catalog.pg_dist_shard s USING (shardid)" \
	" JOIN pg_catalog.pg_class t ON t.oid = s.logicalrelid" \
	" WHERE p.groupid = " HERE " AND " IS_HASHED \
	" AND EXISTS (SELECT FROM pg_catalog.pg_constraint k" \
	" WHERE k.conrelid = t.oid AND k.conname = '" DEFINITION_CONSTRAINT "')"

/* This selects shards that have no end, and whether they left: to another node, or in a split. */
#define SHARDS_NOTED \
	"SELECT o.relation, o.stream, o.distributed, o.leaving," \
	" (EXISTS (SELECT FROM pg_catalog.pg_dist_placement p WHERE p.shardid = o.shard)" \
	" AND NOT EXISTS (SELECT FROM pg_catalog.pg_dist_placement p WHERE p.shardid = o.shard" \
	" AND p.groupid = " HERE "))" \
	" OR EXISTS (SELECT FROM pg_catalog.pg_dist_shard s WHERE s.logicalrelid = o.distributed" \
	" AND s.shardid <> o.shard AND s.shardminvalue::pg_catalog.int4 >= o.lower" \
	" AND s.shardmaxvalue::pg_catalog.int4 <= o.upper)" \
	" FROM " DYN_INTERNAL "." STREAM_PLACEMENTS_TABLE " o" \
	" WHERE NOT EXISTS (SELECT FROM " DYN_INTERNAL "." STREAM_ENDS_TABLE " e" \
	" WHERE e.relation = o.relation AND e.stream = o.stream)"

/*
 * Streams of distributed tables
 */

typedef struct TableStream
{
	Oid relid;
	bool known; /* no other session has locked the table so that it cannot be read */
	int64 label; /* 0: it has none that is enabled */
} TableStream;

static const TableStream *
find_stream(List **streams, Oid relid)
{
	TableStream *found;
	DynListed table;
	ListCell *cell;

	foreach (cell, *streams)
	{
		found = lfirst(cell);
		if (found->relid == relid)
			return found;
	}
	found = palloc0(sizeof(TableStream));
	found->relid = relid;
	if (dyn_open_listed(relid, &table))
	{
		const DynStream *stream = dyn_settings_stream(&table.settings);

		found->known = true;
		found->label = stream != NULL ? stream->label : 0;
		dyn_close_listed(&table);
	}
	*streams = lappend(*streams, found);
	return found;
}

/*
 * Shards
 */

static void
note_shard(const SPITupleTable *rows, uint64 row, Oid relid, int64 label)
{
	owned_execute(STREAM_PLACEMENTS_TABLE,
				  "INSERT INTO " DYN_INTERNAL "." STREAM_PLACEMENTS_TABLE
				  " (relation, distributed, shard, lower, upper, stream, began)"
				  " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
				  SQL_VALUES(SQL_OID(relid), SQL_VALUE(OIDOID, sql_value(rows, row, 2)),
							 SQL_VALUE(INT8OID, sql_value(rows, row, 3)),
							 SQL_VALUE(INT4OID, sql_value(rows, row, 4)),
							 SQL_VALUE(INT4OID, sql_value(rows, row, 5)), SQL_INT8(label),
							 SQL_TIME(GetCurrentTimestamp())));
}

/* Notes the shards that are here; a table that is locked is looked at again. */
static void
note_shards(List **streams)
{
	uint64 n = owned_execute(STREAM_PLACEMENTS_TABLE, SHARDS_HERE, 0, NULL);
	SPITupleTable *rows = SPI_tuptable;

	for (uint64 i = 0; i < n; i++)
	{
		bool gone;
		Datum name = sql_nullable(rows, i, 1, &gone);
		Oid distributed = DatumGetObjectId(sql_value(rows, i, 2));
		const TableStream *stream = find_stream(streams, distributed);
		Oid relid;

		CHECK_FOR_INTERRUPTS();
		/* a shard has no name if its table was dropped meanwhile */
		if (gone || !stream->known || stream->label <= DatumGetInt64(sql_value_or_zero(rows, i, 6)))
			continue;
		relid = citus_shard_relation(distributed, TextDatumGetCString(name));
		/* else it is not there yet, or another relation */
		if (OidIsValid(relid) && rights_owner(relid) == rights_owner(distributed))
			note_shard(rows, i, relid, stream->label);
	}
	SPI_freetuptable(rows);
}

/*
 * Notes the shards that are here, before it is noted that changes are missing: those concern them.
 * Connected to SPI.
 */
void
stream_watch_note(void)
{
	List *streams = NIL;

	if (citus_is_installed())
		note_shards(&streams);
}

static void
note_leaving(Oid relid, int64 label, XLogRecPtr place)
{
	owned_execute(STREAM_PLACEMENTS_TABLE,
				  "UPDATE " DYN_INTERNAL "." STREAM_PLACEMENTS_TABLE
				  " SET leaving = $3 WHERE relation = $1 AND stream = $2",
				  SQL_VALUES(SQL_OID(relid), SQL_INT8(label), SQL_LSN(place)));
}

/* Ends shards; all that ends before the place was collected. */
static void
end_shards(List **streams, XLogRecPtr collected)
{
	uint64 n = owned_execute(STREAM_PLACEMENTS_TABLE, SHARDS_NOTED, 0, NULL);
	SPITupleTable *rows = SPI_tuptable;
	XLogRecPtr end = GetXLogInsertRecPtr(); /* after the catalogs were read */

	for (uint64 i = 0; i < n; i++)
	{
		Oid relid = DatumGetObjectId(sql_value(rows, i, 1));
		int64 label = DatumGetInt64(sql_value(rows, i, 2));
		const TableStream *stream = find_stream(streams, DatumGetObjectId(sql_value(rows, i, 3)));
		XLogRecPtr leaving = DatumGetLSN(sql_value_or_zero(rows, i, 4));

		CHECK_FOR_INTERRUPTS();
		if (!XLogRecPtrIsInvalid(leaving) && collected >= leaving)
			stream_end_write(relid, label, 0, (StreamPlace){leaving, 0}, GetCurrentTimestamp());
		else if (XLogRecPtrIsInvalid(leaving) &&
				 (DatumGetBool(sql_value_or_zero(rows, i, 5)) || !OidIsValid(rights_owner(relid)) ||
				  (stream->known && stream->label != label)))
			note_leaving(relid, label, end);
	}
	SPI_freetuptable(rows);
}

static void
forget_shards(void)
{
	owned_execute(STREAM_PLACEMENTS_TABLE,
				  "DELETE FROM " DYN_INTERNAL "." STREAM_PLACEMENTS_TABLE " o USING " DYN_INTERNAL
				  "." STREAM_ENDS_TABLE " e WHERE e.relation = o.relation AND e.stream = o.stream"
				  " AND e.collected < $1",
				  SQL_VALUES(SQL_TIME(GetCurrentTimestamp() -
									  KEPT * (int64) dyn_stream_retention * USECS_PER_SEC)));
}

static void
watch_shards(void *arg)
{
	const StreamCollector *collector = arg;
	List *streams = NIL;

	SPI_connect();
	note_shards(&streams);
	end_shards(&streams, collector->decoder->seen);
	forget_shards();
	SPI_finish();
}

/* A table may be dropped while it is looked at; then another look is taken. */
static void
watch_tell(ErrorData *error)
{
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
		ReThrowError(error);
	ereport(LOG,
			(errcode(error->sqlerrcode),
			 errmsg("shards of distributed tables could not be looked at: %s", error->message)));
	FreeErrorData(error);
}

/* Watches in a transaction of its own, when it is time. */
void
stream_watch(StreamCollector *collector)
{
	TimestampTz now = GetCurrentTimestamp();

	collector->watched = Min(collector->watched, now);
	if (!TimestampDifferenceExceeds(collector->watched, now,
									collector->distributed ? PAUSE : PAUSE_WITHOUT))
		return;
	collector->watched = now;
	collector->begin();
	collector->distributed = citus_is_installed();
	if (collector->distributed)
	{
		ErrorData *error;

		(void) extension_lock(true);
		session_origin = DoNotReplicateId;
		PushActiveSnapshot(GetTransactionSnapshot());
		error = attempt(watch_shards, collector);
		PopActiveSnapshot();
		if (error != NULL)
			watch_tell(error);
		session_origin = collector->origin;
		stream_decoder_leave_out(collector->decoder, GetTopTransactionIdIfAny());
	}
	collector->commit();
}

/*
 * Notes by its records a shard that was here between two looks.  It is one of the table that Citus
 * has it for, if that is in the same schema and its owner's own; so no other role can add a shard
 * to a table.  One that Citus has forgotten has been split since, or dropped with its table: then
 * readers of the table that has the name are told that changes are missing.
 */
static void
note_records(const StreamPlaced *placed)
{
	Oid distributed;
	const SqlValue arguments[] = {SQL_OID(placed->relid),  SQL_INT8(placed->stream),
								  SQL_INT8(placed->shard), SQL_OID(placed->schema),
								  SQL_OID(placed->owner),  SQL_TIME(placed->committed)};

	if (owned_execute(STREAM_PLACEMENTS_TABLE,
					  "SELECT FROM " DYN_INTERNAL "." STREAM_PLACEMENTS_TABLE
					  " WHERE relation = $1 AND stream = $2",
					  2, arguments) > 0 ||
		owned_execute(STREAM_PLACEMENTS_TABLE,
					  "INSERT INTO " DYN_INTERNAL "." STREAM_PLACEMENTS_TABLE
					  " (relation, stream, distributed, shard, lower, upper, began)"
					  " SELECT $1, $2, t.oid, s.shardid, s.shardminvalue::pg_catalog.int4,"
					  " s.shardmaxvalue::pg_catalog.int4, $6 FROM pg_catalog.pg_dist_shard s"
					  " JOIN pg_catalog.pg_class t ON t.oid = s.logicalrelid"
					  " WHERE s.shardid = $3 AND t.relnamespace = $4 AND t.relowner = $5"
					  " AND " IS_HASHED,
					  lengthof(arguments), arguments) > 0)
		return;
	if (owned_execute(STREAM_PLACEMENTS_TABLE,
					  "SELECT FROM pg_catalog.pg_dist_shard WHERE shardid = $1", 1,
					  arguments + 2) > 0)
		return;
	distributed = get_relname_relid(placed->table, placed->schema);
	if (rights_owner(distributed) != placed->owner)
		return;
	ereport(LOG, (errmsg("changes of shard " INT64_FORMAT " of table \"%s\" are in no stream, "
						 "since Citus has no such shard any more",
						 placed->shard, placed->table),
				  errhint("Readers of streams that were enabled then are told so.")));
	stream_gap_write(placed->lsn, placed->lsn + 1, GetCurrentTimestamp(), distributed);
}

/* Watches the round's shards in the transaction that stores them, connected to SPI. */
void
stream_watch_records(StreamCollector *collector, const StreamRound *round)
{
	ListCell *cell;

	if (round->placed != NIL)
		collector->distributed = citus_is_installed();
	foreach (cell, round->placed)
	{
		if (collector->distributed)
			note_records(lfirst(cell));
	}
}

/* Returns the relations that listeners know: for a shard, its table.  Connected to SPI. */
List *
stream_watch_tables(const StreamCollector *collector, List *relids)
{
	List *tables = NIL;
	ListCell *cell;

	if (!collector->distributed)
		return relids;
	foreach (cell, relids)
	{
		uint64 n = owned_execute(STREAM_PLACEMENTS_TABLE,
								 "SELECT distributed FROM " DYN_INTERNAL "." STREAM_PLACEMENTS_TABLE
								 " WHERE relation = $1 LIMIT 1",
								 SQL_VALUES(SQL_OID(lfirst_oid(cell))));

		tables = list_append_unique_oid(tables, n > 0 ? DatumGetObjectId(owned_value(1))
													  : lfirst_oid(cell));
		SPI_freetuptable(SPI_tuptable);
	}
	return tables;
}
