/*
 * node_shards.h
 *	  The shards of distributed tables' streams in requests.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_NODE_SHARDS_H
#define DYNAMO_TABLE_API_REQUEST_NODE_SHARDS_H

#include "api/request/iterator.h"
#include "item/json_writer.h"
#include "services/stream/nodes.h"

/* Says which shards a description has; without data: all. */
typedef struct NodeShardsWanted
{
	ItemSpan after; /* a shard */
	ItemSpan parent;
	int limit;
} NodeShardsWanted;

extern void request_append_node_shards(JsonWriter *response, const StreamTarget *target,
									   const NodeShardsWanted *wanted);
extern void request_node_iterator(const StreamTarget *target, ItemSpan shard, ItemSpan position,
								  ShardIterator *iterator);
extern void request_append_node_records(JsonWriter *response, const StreamTarget *target,
										ShardIterator *iterator, int64 max_records, bool *ended);

#endif
