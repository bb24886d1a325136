/*
 * read_functions.c
 *	  dyn_read_stream(), which may wait for records.
 *
 * Each look opens the table and the records again, and keeps no lock and no snapshot of its own; so
 * a session that waits does not block others.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/definition/arn.h"
#include "catalog/lookup.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/sql.h"
#include "services/stream/read.h"

#define MAX_WAIT (60 * USECS_PER_SEC)

#define NO_JSON (-1)

/* These are the names of each StreamFormat. */
static const char *const formats[] = {"dynamodb", "plain", NULL};

/* This is the longest sleep between two looks, whatever it is that may wake us. */
#define MAX_SLEEP 1000

typedef struct ReadCall
{
	text *table;
	text *stream; /* a label or an ARN, or NULL */
	StreamRead read;
	int64 wait; /* microseconds */
	int format; /* a StreamFormat, or NO_JSON */
	StreamTarget target;
	bool known; /* the target is the one that was found by the first look */
	ReturnSetInfo *result;
} ReadCall;

static int64
get_wait(FunctionCallInfo fcinfo, int i)
{
	const Interval *interval;
	double wait;

	if (PG_ARGISNULL(i))
		return 0;
	interval = PG_GETARG_INTERVAL_P(i);
	wait = (double) interval->time +
		   ((double) interval->day + DAYS_PER_MONTH * (double) interval->month) * USECS_PER_DAY;
	if (wait < 0 || wait > MAX_WAIT)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("max_wait must be between 0 and 1 minute")));
	if (wait > 0 && IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot wait for records in a transaction that keeps its snapshot"),
				 errhint("Records that are added meanwhile are shown at READ COMMITTED only.")));
	return (int64) wait;
}

/* No shard has a number that is negative, or as large. */
static int
shard_number(int64 shard)
{
	return shard < 0 || shard > INT_MAX ? INT_MAX : (int) shard;
}

/* Reads the arguments table_name, start_position, shard, stream, max_records, max_wait, format. */
static void
get_call(FunctionCallInfo fcinfo, ReadCall *call)
{
	memset(call, 0, sizeof(*call));
	argument_require(fcinfo, 0, "table_name");
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("start_position must not be null"),
				 errhint("Leave it out to begin with the oldest record, or give LATEST or the "
						 "sequence number of a record.")));
	call->table = PG_GETARG_TEXT_PP(0);
	call->read.position = stream_position_parse(text_span(PG_GETARG_TEXT_PP(1)));
	call->read.shard = PG_ARGISNULL(2) ? -1 : shard_number(PG_GETARG_INT64(2));
	call->stream = argument_text(fcinfo, 3);
	call->read.max_records = argument_positive(fcinfo, 4, "max_records");
	call->wait = get_wait(fcinfo, 5);
	call->format = argument_choice(fcinfo, 6, "format", NO_JSON, formats);
}

/* An ARN has to be one of this table. */
static int64
get_label(const ReadCall *call, const DynTable *table)
{
	ItemSpan label = text_span(call->stream);
	ItemSpan arn = label;
	ItemSpan name;
	int64 value;

	if (dyn_parse_stream_arn(arn, &name, &label))
	{
		DynTable *other;
		Relation rel = dyn_table_find(name, AccessShareLock, &other);
		bool same = rel != NULL && other->relid == table->relid;

		if (rel != NULL)
			relation_close(rel, AccessShareLock);
		if (!same)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION), errmsg("stream \"%s\" is not of table \"%s\"",
															 item_quoted(arn), table->name)));
	}
	if (!stream_label_parse(label, &value) || value <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid stream \"%s\"", item_quoted(arn)),
				 errdetail("A stream is given by its label or its ARN.")));
	return value;
}

static void
find_target(ReadCall *call, const DynTable *table)
{
	int64 label = call->known            ? call->target.stream.label
				  : call->stream != NULL ? get_label(call, table)
										 : 0;
	const DynStream *stream = stream_find(&table->settings, label);

	if (stream == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
				 errmsg("table \"%s\" has no %sstream", table->name, label == 0 ? "" : "such "),
				 label != 0
					 ? 0
					 : errhint("Call dyn_enable_stream(%s).", quote_literal_cstr(table->name))));
	if (call->read.shard >= stream_all_shards(stream))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("shard must be between 0 and %d", stream_all_shards(stream) - 1)));
	stream_set_target(&call->target, table, stream, dyn_table_name(text_span(call->table)));
	call->known = true;
}

static const char *
print_json(const ReadCall *call, const StreamRecord *record)
{
	StreamRecord named = *record;
	StringInfoData json;

	named.table = call->target.table;
	initStringInfo(&json);
	stream_record_print(&json, &named, (StreamFormat) call->format);
	return json.data;
}

static bool
put_record(const StreamRecord *record, void *arg)
{
	const ReadCall *call = arg;
	char sequence[STREAM_SEQUENCE_LENGTH + 1];

	sql_put(call->result,
			SQL_VALUES(SQL_TEXT(stream_sequence_print(record->place, sequence)),
					   SQL_TEXT(stream_event_name(record->event)),
					   SQL_POINTER(InvalidOid, record->keys),
					   SQL_POINTER(InvalidOid, record->new_image),
					   SQL_POINTER(InvalidOid, record->old_image), SQL_TIME(record->committed),
					   SQL_BOOL(record->expired), SQL_BOOL(record->incomplete),
					   SQL_INT8(record->shard), SQL_INT8(record->size),
					   SQL_TEXT(call->format == NO_JSON ? NULL : print_json(call, record))));
	return true;
}

static int64
read_look(ReadCall *call)
{
	StreamReadResult result;
	DynTable *table;
	Relation rel = dyn_table_open(call->table, AccessShareLock, &table);

	stream_check_reader(rel);
	if (table->distributed)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the stream of distributed table \"%s\" cannot be read as a whole",
						table->name),
				 errdetail("Nodes have no common order of commits."),
				 errhint("Read its shards by DescribeStream, GetShardIterator and GetRecords of "
						 "dyn_request.")));
	find_target(call, table);
	relation_close(rel, AccessShareLock);
	stream_read(&call->target, &call->read, put_record, call, &result);
	call->read.position = result.next;
	return result.count;
}

PG_FUNCTION_INFO_V1(dyn_read_stream);
Datum
dyn_read_stream(PG_FUNCTION_ARGS)
{
	TimestampTz start = GetCurrentTimestamp();
	ReadCall call;

	get_call(fcinfo, &call);
	InitMaterializedSRF(fcinfo, 0);
	call.result = (ReturnSetInfo *) fcinfo->resultinfo;
	while (read_look(&call) == 0)
	{
		long left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), start + call.wait);

		CHECK_FOR_INTERRUPTS();
		if (left <= 0)
			break;
		stream_wait_for_records((int) Min(left, MAX_SLEEP));
	}
	PG_RETURN_NULL();
}
