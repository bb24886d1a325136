/*
 * nodes.h
 *	  The shards of a distributed table's stream on all nodes.
 *
 * Each shard of the table is a shard of its stream as long as it stays on a node.
 */
#ifndef DYNAMO_TABLE_SERVICES_STREAM_NODES_H
#define DYNAMO_TABLE_SERVICES_STREAM_NODES_H

#include "services/stream/read.h"

/* A page of records has no more bytes of keys and images than this. */
#define STREAM_PAGE_BYTES (1024 * 1024)

/* A StreamPlacement says which shard it is, of all there have ever been, and on which node. */
typedef struct StreamPlacement
{
	int node; /* Citus' group of it */
	int64 shard; /* Citus' number of the table's shard */
	Oid relid; /* on the node */
} StreamPlacement;

typedef struct StreamNodeShard
{
	StreamPlacement placement;
	int lower; /* of hashes of partition keys, to upper */
	int upper;
	TimestampTz began;
	bool ended;
	char *first; /* sequence numbers */
	char *last;
	int parent; /* which has had all its keys before, or -1 */
	bool shown; /* the parents can be read to their end */
} StreamNodeShard;

typedef struct StreamNodePage
{
	char *records; /* a JSON array */
	char *position; /* to go on at */
	bool ended;
} StreamNodePage;

extern int stream_nodes_shards(const StreamTarget *target, StreamNodeShard **shards);
extern char *stream_nodes_position(const StreamPlacement *placement);
extern void stream_nodes_read(const StreamTarget *target, const StreamPlacement *placement,
							  ItemSpan position, int64 max_records, StreamNodePage *page);
extern void stream_nodes_require(Oid relid);

#endif
