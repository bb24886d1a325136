/*
 * stream_shards.c
 *	  The shards of a stream: how they are numbered, and whose children they are.
 */
#include "postgres.h"

#include "catalog/definition/stream_shards.h"

static int
count_shards(const DynStream *stream, int generation)
{
	return generation < stream->nearlier ? stream->earlier[generation] : stream->shards;
}

/* Returns the number of the first shard of a generation. */
int
stream_first_shard(const DynStream *stream, int generation)
{
	int first = 0;

	for (int i = 0; i < generation; i++)
		first += count_shards(stream, i);
	return first;
}

/* Returns how many shards the stream has had up to now; their numbers are smaller. */
int
stream_all_shards(const DynStream *stream)
{
	return stream_first_shard(stream, stream->nearlier + 1);
}

/* Returns the generation of a shard; the newest one has all larger numbers too. */
int
stream_generation_of(const DynStream *stream, int shard)
{
	int generation = 0;

	while (generation < stream->nearlier && shard >= stream_first_shard(stream, generation + 1))
		generation++;
	return generation;
}

/* Returns the shard that had all keys of a shard before; -1: it is one of the first. */
int
stream_parent_shard(const DynStream *stream, int shard)
{
	int generation = stream_generation_of(stream, shard);

	if (generation == 0)
		return -1;
	return stream_first_shard(stream, generation - 1) +
		   (shard - stream_first_shard(stream, generation)) % count_shards(stream, generation - 1);
}

/* Returns whether the shards of a generation get no more records, once all is collected. */
bool
stream_is_closed(const DynStream *stream, int generation)
{
	return generation < stream->nearlier || stream->disabled != 0;
}
