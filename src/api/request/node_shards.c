/*
 * node_shards.c
 *	  The shards of distributed tables' streams in requests.
 *
 * They can be read at any node.  Which node has a shard is in its id, and so in an iterator.
 */
#include "postgres.h"

#include "api/request/node_shards.h"
#include "server/errors.h"

static char *
shard_id(const StreamTarget *target, const StreamPlacement *placement)
{
	return request_node_shard_id(target->stream.label, placement);
}

static void
append_shard(JsonWriter *response, const StreamTarget *target, const StreamNodeShard *shards, int i)
{
	const StreamNodeShard *shard = &shards[i];

	json_write_begin(response, NULL);
	json_write_string(response, "ShardId", shard_id(target, &shard->placement));
	json_write_begin(response, "SequenceNumberRange");
	json_write_string(response, "StartingSequenceNumber", shard->first);
	if (shard->ended)
		json_write_string(response, "EndingSequenceNumber", shard->last);
	json_write_end(response);
	if (shard->parent >= 0)
		json_write_string(response, "ParentShardId",
						  shard_id(target, &shards[shard->parent].placement));
	json_write_end(response);
}

/* Returns the place of a shard among those of the stream, or n if none has that id. */
static int
find_shard(const StreamTarget *target, const StreamNodeShard *shards, int n, ItemSpan id)
{
	int i = 0;

	while (i < n && !item_span_is(id, shard_id(target, &shards[i].placement)))
		i++;
	return i;
}

/* Appends the array of shards of a description, and where the next one goes on. */
void
request_append_node_shards(JsonWriter *response, const StreamTarget *target,
						   const NodeShardsWanted *wanted)
{
	StreamNodeShard *shards;
	int n = stream_nodes_shards(target, &shards);
	int first = wanted->after.data != NULL ? find_shard(target, shards, n, wanted->after) + 1 : 0;
	int parent = wanted->parent.data != NULL ? find_shard(target, shards, n, wanted->parent) : -1;
	int last = -1;
	int shown = 0;
	bool more = false;

	json_write_begin_array(response, "Shards");
	for (int i = first; i < n && !more; i++)
	{
		if (!shards[i].shown || (wanted->parent.data != NULL && shards[i].parent != parent))
			continue;
		more = shown == wanted->limit;
		if (more)
			break;
		append_shard(response, target, shards, i);
		last = i;
		shown++;
	}
	json_write_end_array(response);
	if (more)
		json_write_string(response, "LastEvaluatedShardId",
						  shard_id(target, &shards[last].placement));
}

/* Makes an iterator; position: TRIM_HORIZON, LATEST, or a number that records come after. */
void
request_node_iterator(const StreamTarget *target, ItemSpan shard, ItemSpan position,
					  ShardIterator *iterator)
{
	iterator->placed = true;
	if (!request_parse_node_shard_id(shard, target->stream.label, &iterator->placement))
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND,
				  "Requested resource not found: Shard does not exist");
	if (item_span_is(position, "LATEST"))
	{
		const char *place = stream_nodes_position(&iterator->placement);

		position = item_span(place);
	}
	iterator->place = position;
}

/* Appends the array of records, and moves the iterator behind them. */
void
request_append_node_records(JsonWriter *response, const StreamTarget *target,
							ShardIterator *iterator, int64 max_records, bool *ended)
{
	StreamNodePage page;

	stream_nodes_read(target, &iterator->placement, iterator->place, max_records, &page);
	json_write_raw(response, "Records", page.records);
	iterator->place = item_span(page.position);
	*ended = page.ended;
}
