/*
 * streams.c
 *	  ListStreams, DescribeStream, GetShardIterator, GetRecords.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "executor/spi.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "api/request/iterator.h"
#include "api/request/node_shards.h"
#include "api/request/request.h"
#include "catalog/definition/arn.h"
#include "catalog/key_grant.h"
#include "catalog/listing.h"
#include "catalog/lookup.h"
#include "catalog/resource.h"
#include "item/json_writer.h"
#include "server/errors.h"

#define MAX_LISTED 100
#define MAX_RECORDS 1000

static int64
get_limit(const RequestInteger *limit, int max)
{
	return limit->given ? limit->value : max;
}

/* Appends what all descriptions of a stream begin with. */
static void
append_stream_names(JsonWriter *response, ItemSpan table, int64 label, const char *arn)
{
	char text[STREAM_LABEL_LENGTH + 1];

	json_write_string(response, "StreamArn", arn);
	json_write_string(response, "StreamLabel", stream_label_print(label, text));
	json_write_span(response, "TableName", table);
}

/*
 * ListStreams
 */

typedef struct ListStreams
{
	ItemSpan table;
	RequestInteger limit;
	ItemSpan after;
	/* what the last one means */
	ItemSpan after_table;
	int64 after_label;
} ListStreams;

static bool
is_behind(const ListStreams *list, ItemSpan table, int64 label)
{
	int order = list->after.data == NULL ? 1 : item_compare_bytes(table, list->after_table);

	return order > 0 || (order == 0 && label > list->after_label);
}

/* Appends of a table's streams what has room; goes on counting.  False if the next one has none. */
static bool
append_streams(JsonWriter *response, const ListStreams *list, ItemSpan table,
			   const DynSettings *settings, int64 *room, char **last)
{
	for (int i = 0; i < settings->nstreams; i++)
	{
		const DynStream *stream = &settings->streams[i];

		if (!stream_is_kept(stream) || !is_behind(list, table, stream->label))
			continue;
		if ((*room)-- == 0)
			return false;
		*last = dyn_stream_arn(table, stream->label);
		json_write_begin(response, NULL);
		append_stream_names(response, table, stream->label, *last);
		json_write_end(response);
	}
	return true;
}

/* Appends one table; one that does not exist has no streams. */
static bool
append_one_table(JsonWriter *response, const ListStreams *list, int64 *room, char **last)
{
	DynTable *table;
	Relation rel = dyn_table_find(list->table, AccessShareLock, &table);
	bool complete;

	if (rel == NULL)
		return true;
	stream_check_reader(rel);
	complete =
		append_streams(response, list, dyn_table_name(list->table), &table->settings, room, last);
	relation_close(rel, NoLock);
	return complete;
}

/* This is a table that its name alone names, and that the caller may read. */
typedef struct ListedTable
{
	ItemSpan name;
	DynSettings settings;
} ListedTable;

static int
compare_tables(const void *a, const void *b)
{
	return item_compare_bytes(((const ListedTable *) a)->name, ((const ListedTable *) b)->name);
}

/* Finds a table; privileges come first, so that no caller waits for one that it may not read. */
static bool
find_table(Oid relid, ListedTable *listed)
{
	DynListed table;

	if (!dyn_reads_all(relid) || !dyn_is_named_alone(relid) || !dyn_open_listed(relid, &table))
		return false;
	listed->settings = table.settings;
	listed->name = dyn_name_of_relation(get_rel_name(relid), &listed->settings);
	dyn_close_listed(&table);
	return true;
}

static bool
append_all_tables(JsonWriter *response, const ListStreams *list, int64 *room, char **last)
{
	List *relids = dyn_listed_tables("streams");
	ListedTable *tables = palloc(list_length(relids) * sizeof(ListedTable));
	bool complete = true;
	ListCell *cell;
	int n = 0;

	foreach (cell, relids)
		n += find_table(lfirst_oid(cell), &tables[n]);
	qsort(tables, n, sizeof(ListedTable), compare_tables);
	for (int i = 0; i < n && complete; i++)
		complete = append_streams(response, list, tables[i].name, &tables[i].settings, room, last);
	return complete;
}

/*
 * Runs ListStreams: lists the streams of one table, or those of all tables that are visible in the
 * search_path and whose streams the current user may read.
 */
void
request_list_streams(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"TableName", MEMBER_STRING, offsetof(ListStreams, table), .name_of = NAME_TABLE},
		{"Limit", MEMBER_INTEGER, offsetof(ListStreams, limit), .min = 1, .max = MAX_LISTED},
		{"ExclusiveStartStreamArn", MEMBER_STRING, offsetof(ListStreams, after)}};
	ListStreams list = {{0}};
	char *last = NULL;
	bool complete;
	int64 room;

	request_read(reader, members, lengthof(members), &list, NULL);
	if (list.after.data != NULL)
		request_names(reader, list.after);
	if (list.table.data != NULL)
		request_names(reader, list.table);
	room = get_limit(&list.limit, MAX_LISTED);
	if (list.after.data != NULL &&
		!request_parse_stream_arn(list.after, &list.after_table, &list.after_label))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid ExclusiveStartStreamArn \"%s\"", item_quoted(list.after))));
	SPI_connect();
	json_write_begin_array(response, "Streams");
	complete = list.table.data != NULL ? append_one_table(response, &list, &room, &last)
									   : append_all_tables(response, &list, &room, &last);
	json_write_end_array(response);
	if (!complete)
		json_write_string(response, "LastEvaluatedStreamArn", last);
	SPI_finish();
}

/*
 * One stream
 */

pg_noreturn static void
fail_not_found(ItemSpan arn)
{
	dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND, "Requested resource not found: Stream: %s not found",
			  item_quoted_words(arn));
}

/* Opens a stream by its ARN, whose label may be any text, under the lock of a reader. */
static Relation
open_stream(ItemSpan arn, DynTable **table, StreamTarget *target)
{
	const DynStream *stream = NULL;
	ItemSpan name;
	ItemSpan text;
	int64 label;
	Relation rel;

	if (!dyn_parse_stream_arn(arn, &name, &text))
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Invalid StreamArn: Invalid ResourceArn provided as input %s",
				  item_quoted_words(arn));
	if (!stream_label_parse(text, &label))
		fail_not_found(arn);
	rel = dyn_table_find(name, AccessShareLock, table);
	if (rel == NULL)
		fail_not_found(arn);
	stream_check_reader(rel);
	stream = stream_find(&(*table)->settings, label);
	if (stream == NULL)
		fail_not_found(arn);
	stream_set_target(target, *table, stream, name);
	return rel;
}

typedef struct DescribeStream
{
	ItemSpan stream;
	RequestInteger limit;
	ItemSpan after; /* a shard */
	int filter; /* -1: all shards are wanted */
	ItemSpan parent; /* whose children are wanted otherwise */
} DescribeStream;

static const char *const filter_types[] = {"CHILD_SHARDS", NULL};

static const RequestMember filter_members[] = {
	{"Type", MEMBER_CHOICE, offsetof(DescribeStream, filter), true, filter_types},
	{"ShardId", MEMBER_STRING, offsetof(DescribeStream, parent), true, .min = 28, .max = 65}};
static const RequestType filter = {filter_members, lengthof(filter_members)};

static void
append_sequence(JsonWriter *response, const char *name, StreamPlace place)
{
	char text[STREAM_SEQUENCE_LENGTH + 1];

	json_write_string(response, name, (stream_sequence_print(place, text)));
}

/* Returns the first shard to describe.  Behind a shard that does not exist there are none. */
static int
first_shard(const DescribeStream *describe, const StreamTarget *target)
{
	int after;

	if (describe->after.data == NULL)
		return 0;
	after = request_parse_shard_id(describe->after, &target->stream);
	return after < 0 ? stream_all_shards(&target->stream) : after + 1;
}

static void
append_shard(JsonWriter *response, const DynStream *stream, int shard,
			 const StreamGeneration *generation)
{
	int parent = stream_parent_shard(stream, shard);

	json_write_begin(response, NULL);
	json_write_string(response, "ShardId", request_shard_id(stream->label, shard));
	json_write_begin(response, "SequenceNumberRange");
	append_sequence(response, "StartingSequenceNumber", generation->first);
	if (generation->ended)
		append_sequence(response, "EndingSequenceNumber", generation->last);
	json_write_end(response);
	if (parent >= 0)
		json_write_string(response, "ParentShardId", request_shard_id(stream->label, parent));
	json_write_end(response);
}

/* Lists the shards of a stream that a description has, by their numbers. */
static int
find_shards(const DescribeStream *describe, const StreamTarget *target,
			const StreamGeneration *generations, int shards[DYN_MAX_SHARD_NUMBERS])
{
	const DynStream *stream = &target->stream;
	int parent = describe->filter < 0 ? -1 : request_parse_shard_id(describe->parent, stream);
	int n = 0;

	for (int i = first_shard(describe, target); i < stream_all_shards(stream); i++)
	{
		if (!generations[stream_generation_of(stream, i)].listed ||
			(describe->filter >= 0 && (parent < 0 || stream_parent_shard(stream, i) != parent)))
			continue;
		shards[n++] = i;
	}
	return n;
}

static void
append_shards(JsonWriter *response, const DescribeStream *describe, const StreamTarget *target)
{
	const DynStream *stream = &target->stream;
	StreamGeneration generations[DYN_MAX_GENERATIONS];
	int shards[DYN_MAX_SHARD_NUMBERS];
	int n;
	int shown;

	stream_generations(target, generations);
	n = find_shards(describe, target, generations, shards);
	shown = Min(n, (int) get_limit(&describe->limit, MAX_LISTED));
	json_write_begin_array(response, "Shards");
	for (int i = 0; i < shown; i++)
		append_shard(response, stream, shards[i],
					 &generations[stream_generation_of(stream, shards[i])]);
	json_write_end_array(response);
	if (shown < n)
		json_write_string(response, "LastEvaluatedShardId",
						  request_shard_id(stream->label, shards[shown - 1]));
}

static void
append_key_schema(JsonWriter *response, const DynTable *table)
{
	json_write_begin_array(response, "KeySchema");
	for (int i = 0; i < table->nkeys; i++)
	{
		json_write_begin(response, NULL);
		json_write_span(response, "AttributeName", table->keys[i].attribute);
		json_write_string(response, "KeyType", i == 0 ? "HASH" : "RANGE");
		json_write_end(response);
	}
	json_write_end_array(response);
}

static void
append_description(JsonWriter *response, const DescribeStream *describe, const DynTable *table,
				   const StreamTarget *target)
{
	const DynStream *stream = &target->stream;

	json_write_begin(response, "StreamDescription");
	append_stream_names(response, target->table, stream->label,
						dyn_stream_arn(target->table, stream->label));
	json_write_string(response, "StreamStatus", stream->disabled == 0 ? "ENABLED" : "DISABLED");
	json_write_string(response, "StreamViewType", dyn_stream_view_names[stream->view]);
	json_write_raw(response, "CreationRequestDateTime",
				   psprintf("%.3f", (double) stream->label / 1000));
	append_key_schema(response, table);
	if (table->distributed)
	{
		NodeShardsWanted wanted = {describe->after, describe->parent,
								   (int) get_limit(&describe->limit, MAX_LISTED)};

		request_append_node_shards(response, target, &wanted);
	}
	else
		append_shards(response, describe, target);
	json_write_end(response);
}

/* Runs DescribeStream.  Raises an error if the current user may not read the table's streams. */
void
request_describe_stream(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"StreamArn", MEMBER_STRING, offsetof(DescribeStream, stream), true},
		{"Limit", MEMBER_INTEGER, offsetof(DescribeStream, limit), .min = 1, .max = MAX_LISTED},
		{"ExclusiveStartShardId", MEMBER_STRING, offsetof(DescribeStream, after)},
		{"ShardFilter", MEMBER_PART, 0, .of = &filter}};
	DescribeStream describe = {.filter = -1};
	StreamTarget target;
	DynTable *table;
	Relation rel;

	request_read(reader, members, lengthof(members), &describe, NULL);
	request_names(reader, describe.stream);
	rel = open_stream(describe.stream, &table, &target);
	append_description(response, &describe, table, &target);
	relation_close(rel, NoLock);
}

/*
 * GetShardIterator, GetRecords
 */

enum
{
	TYPE_TRIM_HORIZON,
	TYPE_LATEST,
	TYPE_AT,
	TYPE_AFTER
};

static const char *const iterator_types[] = {"TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER",
											 "AFTER_SEQUENCE_NUMBER", NULL};

typedef struct GetShardIterator
{
	ItemSpan stream;
	ItemSpan shard;
	int type;
	ItemSpan sequence;
} GetShardIterator;

pg_noreturn static void
fail_sequence(const GetShardIterator *get)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid SequenceNumber \"%s\"", item_quoted(get->sequence))));
}

static StreamPosition
get_position(const GetShardIterator *get, int64 *epoch)
{
	bool needed = get->type == TYPE_AT || get->type == TYPE_AFTER;
	StreamPlace place;

	if (needed != (get->sequence.data != NULL))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("an iterator of type %s %s a SequenceNumber",
							   iterator_types[get->type], needed ? "needs" : "cannot have")));
	if (get->type == TYPE_TRIM_HORIZON)
		return (StreamPosition){true};
	if (get->type == TYPE_LATEST)
		return stream_position_latest();
	if (!stream_sequence_parse_in(get->sequence, epoch, &place))
		fail_sequence(get);
	return get->type == TYPE_AT ? stream_position_at(place) : stream_position_after(place);
}

/* Returns a position as text, for the node that has the shard; LATEST is that node's. */
static ItemSpan
position_text(const GetShardIterator *get, StreamPosition position, int64 epoch)
{
	const char *text =
		get->type == TYPE_TRIM_HORIZON || get->type == TYPE_LATEST
			? iterator_types[get->type]
			: stream_sequence_print_in(epoch, position.after, palloc(STREAM_SEQUENCE_MAX + 1));

	return item_span(text);
}

/* Runs GetShardIterator.  Raises an error if the current user may not read the table's streams. */
void
request_get_shard_iterator(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"StreamArn", MEMBER_STRING, offsetof(GetShardIterator, stream), true},
		{"ShardId", MEMBER_STRING, offsetof(GetShardIterator, shard), true},
		{"ShardIteratorType", MEMBER_CHOICE, offsetof(GetShardIterator, type), true,
		 iterator_types},
		{"SequenceNumber", MEMBER_STRING, offsetof(GetShardIterator, sequence)}};
	GetShardIterator get = {{0}};
	ShardIterator iterator = {{0}};
	StreamTarget target;
	DynTable *table;
	bool distributed;
	int64 epoch = 0;
	Relation rel;

	request_read(reader, members, lengthof(members), &get, NULL);
	request_names(reader, get.stream);
	iterator.position = get_position(&get, &epoch);
	iterator.stream = get.stream;
	rel = open_stream(get.stream, &table, &target);
	distributed = table->distributed;
	relation_close(rel, AccessShareLock);
	if (!distributed && epoch != 0)
		fail_sequence(&get);
	if (distributed)
		request_node_iterator(&target, get.shard, position_text(&get, iterator.position, epoch),
							  &iterator);
	else
		iterator.shard = request_parse_shard_id(get.shard, &target.stream);
	if (iterator.shard < 0)
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND,
				  "Requested resource not found: Shard does not exist");
	iterator.issued = request_now();
	json_write_string(response, "ShardIterator", request_print_iterator(&iterator));
}

typedef struct GetRecords
{
	ItemSpan iterator;
	RequestInteger limit;
} GetRecords;

static bool
append_record(const StreamRecord *record, void *arg)
{
	JsonWriter *response = arg;

	json_write_name(response, NULL);
	stream_record_print(response->text, record, STREAM_API);
	return true;
}

/* Finds the stream; an ARN that is none was not issued here. */
static void
find_target(const ShardIterator *iterator, StreamTarget *target)
{
	Relation rel;
	bool distributed;
	ItemSpan name;
	int64 label;
	DynTable *table;

	if (!request_parse_stream_arn(iterator->stream, &name, &label))
		dyn_error(ERRCODE_DYN_VALIDATION, "Invalid ShardIterator");
	rel = open_stream(iterator->stream, &table, target);
	distributed = table->distributed;
	relation_close(rel, AccessShareLock);
	if (distributed != iterator->placed || iterator->shard >= stream_all_shards(&target->stream))
		dyn_error(ERRCODE_DYN_VALIDATION, "Invalid ShardIterator");
}

/* Appends records of a shard that this server has collected. */
static void
append_records(JsonWriter *response, const StreamTarget *target, ShardIterator *iterator,
			   int64 max_records, bool *ended)
{
	StreamRead read = {.position = iterator->position,
					   .shard = iterator->shard,
					   .max_records = max_records,
					   .max_bytes = STREAM_PAGE_BYTES};
	StreamReadResult result;

	json_write_begin_array(response, "Records");
	stream_read(target, &read, append_record, response, &result);
	json_write_end_array(response);
	iterator->position = result.next;
	*ended = result.ended;
}

/*
 * Runs GetRecords, which does not wait for records.  The response has no NextShardIterator if the
 * shard has ended.
 */
void
request_get_records(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"ShardIterator", MEMBER_STRING, offsetof(GetRecords, iterator), true},
		{"Limit", MEMBER_INTEGER, offsetof(GetRecords, limit), .min = 1, .max = MAX_RECORDS}};
	GetRecords get = {{0}};
	ShardIterator iterator = {{0}};
	StreamTarget target;
	int64 max_records;
	bool ended;

	request_read(reader, members, lengthof(members), &get, NULL);
	max_records = get_limit(&get.limit, MAX_RECORDS);
	request_parse_iterator(get.iterator, &iterator);
	request_names(reader, iterator.stream);
	find_target(&iterator, &target);
	if (iterator.placed)
		request_append_node_records(response, &target, &iterator, max_records, &ended);
	else
		append_records(response, &target, &iterator, max_records, &ended);
	iterator.issued = request_now();
	if (!ended)
		json_write_string(response, "NextShardIterator", request_print_iterator(&iterator));
}
