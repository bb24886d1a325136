/*
 * iterator.h
 *	  Streams in requests: their ARNs, their shards' ids, and iterators.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_ITERATOR_H
#define DYNAMO_TABLE_API_REQUEST_ITERATOR_H

#include "services/stream/nodes.h"

typedef struct ShardIterator
{
	ItemSpan stream; /* an ARN */
	int shard;
	StreamPosition position;
	int64 issued; /* milliseconds since 1970 */
	/* of a distributed table, instead of shard and position */
	bool placed;
	StreamPlacement placement;
	ItemSpan place; /* TRIM_HORIZON, or a sequence number that records come after */
} ShardIterator;

extern int64 request_now(void);
extern bool request_parse_stream_arn(ItemSpan arn, ItemSpan *table, int64 *label);
extern char *request_shard_id(int64 label, int shard);
extern int request_parse_shard_id(ItemSpan id, const DynStream *stream);
extern char *request_node_shard_id(int64 label, const StreamPlacement *placement);
extern bool request_parse_node_shard_id(ItemSpan id, int64 label, StreamPlacement *placement);
extern char *request_print_iterator(const ShardIterator *iterator);
extern void request_parse_iterator(ItemSpan text, ShardIterator *iterator);

#endif
