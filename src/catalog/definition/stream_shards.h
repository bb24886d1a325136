/*
 * stream_shards.h
 *	  The shards of a stream: how they are numbered, and whose children they are.
 *
 * A stream can only get a multiple of its shards, which are then closed, and new ones opened: a
 * generation of shards follows another.  Shards are numbered through all of them, so of a stream
 * that had 2 shards and then 4, the first generation has the numbers 0 and 1, the second 2 to 5.
 * A key's shard is the hash of its partition key modulo the generation's shards.  Since that number
 * is a multiple of the one before, the keys of a shard were all in one shard before, its parent.
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_STREAM_SHARDS_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_STREAM_SHARDS_H

#include "catalog/definition/table_settings.h"

#define DYN_MAX_GENERATIONS (DYN_MAX_SPLITS + 1)
#define DYN_MAX_SHARD_NUMBERS (2 * DYN_MAX_SHARDS) /* 1 + 2 + 4 + … + 64, rounded up */

extern int stream_first_shard(const DynStream *stream, int generation);
extern int stream_all_shards(const DynStream *stream);
extern int stream_generation_of(const DynStream *stream, int shard);
extern int stream_parent_shard(const DynStream *stream, int shard);
extern bool stream_is_closed(const DynStream *stream, int generation);

#endif
