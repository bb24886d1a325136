/*
 * iterator.h
 *	  Streams in requests: their ARNs, their shards' ids, and iterators.
 */
#ifndef DYNAMO_TABLE_REQUEST_ITERATOR_H
#define DYNAMO_TABLE_REQUEST_ITERATOR_H

#include "stream/read.h"

typedef struct ShardIterator
{
	ItemSpan stream; /* an ARN */
	int shard;
	StreamPosition position;
	int64 issued; /* milliseconds since 1970 */
} ShardIterator;

extern int64 request_now(void);
extern bool request_parse_stream_arn(ItemSpan arn, ItemSpan *table, int64 *label);
extern char *request_shard_id(int64 label, int shard);
extern int request_parse_shard_id(ItemSpan id, const DynStream *stream);
extern char *request_print_iterator(const ShardIterator *iterator);
extern void request_parse_iterator(ItemSpan text, ShardIterator *iterator);

#endif
