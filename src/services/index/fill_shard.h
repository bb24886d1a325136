/*
 * fill_shard.h
 *	  What fill_shard() returns, as a text that comes from another node.
 */
#ifndef DYNAMO_TABLE_SERVICES_INDEX_FILL_SHARD_H
#define DYNAMO_TABLE_SERVICES_INDEX_FILL_SHARD_H

#include "storage/block.h"

typedef struct FilledShard
{
	Oid filenode;
	BlockNumber blocks;
	int64 lacking; /* rows of the range, before the call */
	int64 updated;
	int64 left_out;
} FilledShard;

#define FILLED_SHARD_FORMAT "%u %u " INT64_FORMAT " " INT64_FORMAT " " INT64_FORMAT

#endif
