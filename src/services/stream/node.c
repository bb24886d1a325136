/*
 * node.c
 *	  What this node tells other nodes about the shards that it has of a distributed table's stream.
 *
 * They ask by SQL, as the role that reads the stream, so its rights are checked here as well.  The
 * answer is JSON, and so is an error, which would lose its SQLSTATE on the way otherwise.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/definition/arn.h"
#include "catalog/lookup.h"
#include "catalog/node_error.h"
#include "catalog/rights.h"
#include "item/json_writer.h"
#include "server/attempt.h"
#include "server/citus.h"
#include "server/errors.h"
#include "services/stream/nodes.h"
#include "services/stream/read.h"

typedef struct NodeCall
{
	FunctionCallInfo fcinfo;
	JsonWriter json;
	StreamTarget target; /* of the distributed table */
} NodeCall;

/*
 * Returns milliseconds since 1970: the shard that comes after another has a larger one, and so have
 * its sequence numbers.
 */
static int64
epoch_of(const StreamPlacedRow *row)
{
	return stream_milliseconds(row->began);
}

static void
find_target(NodeCall *call)
{
	Relation rel = rights_open(DatumGetObjectId(call->fcinfo->args[0].value), AccessShareLock);
	const DynStream *stream;
	DynTable *table;

	if (rel == NULL)
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND, DYN_NOT_FOUND_WORDS);
	stream_check_reader(rel);
	table = dyn_schema(rel);
	/* a caller may name any relation */
	if (table == NULL)
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND, DYN_NOT_FOUND_WORDS);
	stream = stream_find(&table->settings, DatumGetInt64(call->fcinfo->args[1].value));
	if (stream == NULL)
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND, DYN_NOT_FOUND_WORDS ": Stream");
	stream_set_target(&call->target, table, stream, item_span(table->name));
	relation_close(rel, AccessShareLock);
}

/* The shard has the one generation that a stream begins with, and an end of its own. */
static StreamTarget
shard_target(const NodeCall *call, const StreamPlacedRow *row)
{
	StreamTarget target = call->target;

	target.relid = row->relid;
	target.distributed = call->target.relid;
	target.began = row->began;
	target.stream.shards = 1;
	target.stream.nearlier = 0;
	/* it is closed if it has an end */
	target.stream.disabled = target.stream.label;
	return target;
}

static void
write_sequence(JsonWriter *json, const char *name, int64 epoch, StreamPlace place)
{
	char text[STREAM_SEQUENCE_MAX + 1];

	json_write_string(json, name, stream_sequence_print_in(epoch, place, text));
}

static void
write_shard(NodeCall *call, const StreamPlacedRow *row, int group)
{
	StreamTarget target = shard_target(call, row);
	StreamGeneration generations[DYN_MAX_GENERATIONS];
	JsonWriter *json = &call->json;

	stream_generations(&target, generations);
	if (!generations[0].listed)
		return;
	json_write_begin(json, NULL);
	json_write_integer(json, "node", group);
	json_write_integer(json, "shard", row->shard);
	json_write_integer(json, "relation", row->relid);
	json_write_integer(json, "lower", row->lower);
	json_write_integer(json, "upper", row->upper);
	json_write_integer(json, "began", row->began);
	json_write_bool(json, "ended", generations[0].ended);
	write_sequence(json, "first", epoch_of(row), generations[0].first);
	write_sequence(json, "last", epoch_of(row), generations[0].last);
	json_write_end(json);
}

static void
write_shards(void *arg)
{
	NodeCall *call = arg;
	StreamPlacedRow *rows;
	StreamLog log;
	int n;
	int group;

	find_target(call);
	group = citus_local_group();
	stream_log_open(&log);
	n = stream_log_placements(&log, call->target.relid, call->target.stream.label, &rows);
	stream_log_close(&log);
	json_write_begin(&call->json, NULL);
	json_write_begin_array(&call->json, "shards");
	for (int i = 0; i < n; i++)
		write_shard(call, &rows[i], group);
	json_write_end_array(&call->json);
	json_write_end(&call->json);
}

/*
 * Records
 */

static bool
find_row(const NodeCall *call, Oid relid, StreamPlacedRow *row)
{
	StreamPlacedRow *rows;
	StreamLog log;
	bool found = false;
	int n;

	stream_log_open(&log);
	n = stream_log_placements(&log, call->target.relid, call->target.stream.label, &rows);
	stream_log_close(&log);
	for (int i = 0; i < n && !found; i++)
	{
		*row = rows[i];
		found = row->relid == relid;
	}
	return found;
}

/* A sequence number of another shard is no place in this one. */
static StreamPosition
position_in(const StreamPlacedRow *row, ItemSpan text)
{
	StreamPlace place;
	int64 epoch;

	if (item_span_is(text, "TRIM_HORIZON"))
		return (StreamPosition){true};
	if (!stream_sequence_parse_in(text, &epoch, &place) || (epoch != 0 && epoch != epoch_of(row)))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("sequence number \"%s\" is not of this shard", item_quoted(text))));
	return stream_position_after(place);
}

typedef struct NodeRecords
{
	NodeCall *call;
	int group;
	int64 epoch;
	ItemSpan name;
	const char *region;
} NodeRecords;

static bool
write_record(const StreamRecord *record, void *arg)
{
	const NodeRecords *records = arg;
	StreamRecord named = *record;

	named.table = records->name;
	named.epoch = records->epoch;
	named.node = records->group;
	named.region = records->region;
	json_write_name(&records->call->json, NULL);
	stream_record_print(records->call->json.text, &named, STREAM_API);
	return true;
}

static void
write_records(void *arg)
{
	NodeCall *call = arg;
	FunctionCallInfo fcinfo = call->fcinfo;
	NodeRecords records = {call};
	StreamRead read = {.max_bytes = STREAM_PAGE_BYTES};
	StreamReadResult result;
	StreamTarget target;
	StreamPlacedRow row;

	find_target(call);
	if (!find_row(call, PG_GETARG_OID(2), &row))
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND,
				  "Requested resource not found: Shard does not exist");
	records.group = citus_local_group();
	records.epoch = epoch_of(&row);
	records.name = text_span(PG_GETARG_TEXT_PP(5));
	records.region = text_to_cstring(PG_GETARG_TEXT_PP(6));
	read.position = position_in(&row, text_span(PG_GETARG_TEXT_PP(3)));
	read.max_records = PG_GETARG_INT64(4);
	target = shard_target(call, &row);
	json_write_begin(&call->json, NULL);
	json_write_begin_array(&call->json, "records");
	stream_read(&target, &read, write_record, &records, &result);
	json_write_end_array(&call->json);
	write_sequence(&call->json, "position", records.epoch, result.next.after);
	json_write_bool(&call->json, "ended", result.ended);
	json_write_end(&call->json);
}

/*
 * Answers
 */

static text *
answer(FunctionCallInfo fcinfo, void (*write)(void *arg))
{
	NodeCall call = {.fcinfo = fcinfo, .json = json_writer(JSON_COMPACT)};
	ErrorData *error = attempt(write, &call);

	if (error != NULL)
		return cstring_to_text(node_error_json(error));
	return cstring_to_text_with_len(call.json.text->data, call.json.text->len);
}

/* dyn_stream_node_shards(distributed, label) */
PG_FUNCTION_INFO_V1(dyn_stream_node_shards);
Datum
dyn_stream_node_shards(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(answer(fcinfo, write_shards));
}

/* dyn_stream_node_records(distributed, label, shard, start_position, max_records, name, region) */
PG_FUNCTION_INFO_V1(dyn_stream_node_records);
Datum
dyn_stream_node_records(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(answer(fcinfo, write_records));
}
