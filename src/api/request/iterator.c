/*
 * iterator.c
 *	  ARNs of streams, ids of shards, and iterators as text.
 *
 * An iterator contains the whole state of reading; the server stores nothing for it:
 *
 *		ARN of the stream | number of the shard, or its place | position | when it was issued
 *
 * There is nothing secret in it.  A role that forges one can read only what it may read anyway,
 * since privileges are checked at each use.  An iterator names the table, as all requests do: of a
 * table that is renamed the streams have other ARNs, and no other table has a stream with that
 * label.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "api/request/iterator.h"
#include "catalog/definition/arn.h"
#include "server/errors.h"

#define ITERATOR_MINUTES 15

/* Returns the current time, not that of the transaction's start, in milliseconds since 1970. */
int64
request_now(void)
{
	return stream_milliseconds(GetCurrentTimestamp());
}

/*
 * Sets *table to the table's name, which points into arn, and *label to the stream's label.  Returns
 * false if arn is not the ARN of a stream.  The stream need not exist.
 */
bool
request_parse_stream_arn(ItemSpan arn, ItemSpan *table, int64 *label)
{
	ItemSpan text;

	return dyn_parse_stream_arn(arn, table, &text) && stream_label_parse(text, label) && *label > 0;
}

/* Returns the id of a shard.  Shards of two streams have different ids. */
char *
request_shard_id(int64 label, int shard)
{
	return psprintf("shardId-%020lld-%08d", (long long) label, shard);
}

/* Returns the number of the shard, or -1 if the stream has none with that id. */
int
request_parse_shard_id(ItemSpan id, const DynStream *stream)
{
	for (int i = 0; i < stream_all_shards(stream); i++)
	{
		if (item_span_is(id, request_shard_id(stream->label, i)))
			return i;
	}
	return -1;
}

/*
 * Shards of a distributed table are named by where they are: group of the node, number of the
 * table's shard, relation there.
 */
#define PLACEMENT_FORMAT "%08x-%016llx-%08x"
#define PLACEMENT_LENGTH (8 + 1 + 16 + 1 + 8)

static char *
print_placement(const StreamPlacement *placement)
{
	return psprintf(PLACEMENT_FORMAT, (unsigned) placement->node,
					(unsigned long long) placement->shard, placement->relid);
}

/* Parses only what print_placement() writes. */
static bool
parse_placement(ItemSpan text, StreamPlacement *placement)
{
	char *given = span_string(text);
	unsigned node;
	unsigned long long shard;
	unsigned relid;

	if (text.len != PLACEMENT_LENGTH || sscanf(given, "%8x-%16llx-%8x", &node, &shard, &relid) != 3)
		return false;
	*placement = (StreamPlacement){(int) node, (int64) shard, relid};
	return strcmp(print_placement(placement), given) == 0;
}

/* Returns a shard's id like request_shard_id(), of the place where it is. */
char *
request_node_shard_id(int64 label, const StreamPlacement *placement)
{
	return psprintf("shardId-%020lld-%s", (long long) label, print_placement(placement));
}

/* Returns false if the text is no id of a shard of the stream; there need not be such a shard. */
bool
request_parse_node_shard_id(ItemSpan id, int64 label, StreamPlacement *placement)
{
	uint32 len = id.len - Min(id.len, PLACEMENT_LENGTH);

	return parse_placement((ItemSpan){id.data + len, id.len - len}, placement) &&
		   item_span_is(id, request_node_shard_id(label, placement));
}

/* Returns the iterator as text, allocated in the current memory context. */
char *
request_print_iterator(const ShardIterator *iterator)
{
	char sequence[STREAM_SEQUENCE_LENGTH + 1];
	const char *position = iterator->position.horizon
							   ? "TRIM_HORIZON"
							   : stream_sequence_print(iterator->position.after, sequence);

	if (iterator->placed)
		return psprintf("%.*s|%s|%.*s|" INT64_FORMAT, (int) iterator->stream.len,
						iterator->stream.data, print_placement(&iterator->placement),
						(int) iterator->place.len, iterator->place.data, iterator->issued);
	return psprintf("%.*s|%d|%s|" INT64_FORMAT, (int) iterator->stream.len, iterator->stream.data,
					iterator->shard, position, iterator->issued);
}

/* Cuts off the text behind the last bar. */
static bool
cut_last(ItemSpan *text, ItemSpan *last)
{
	uint32 len = text->len;

	while (len > 0 && text->data[len - 1] != '|')
		len--;
	if (len == 0)
		return false;
	*last = (ItemSpan){text->data + len, text->len - len};
	text->len = len - 1;
	return true;
}

/* Reads a number of at most 18 digits. */
static bool
read_number(ItemSpan text, int64 *number)
{
	*number = 0;
	for (uint32 i = 0; i < text.len; i++)
	{
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		*number = *number * 10 + (text.data[i] - '0');
	}
	return text.len > 0 && text.len <= 18;
}

static bool
read_position(ItemSpan text, StreamPosition *position)
{
	StreamPlace place;

	*position = (StreamPosition){item_span_is(text, "TRIM_HORIZON")};
	if (position->horizon)
		return true;
	if (!stream_sequence_parse(text, &place))
		return false;
	*position = stream_position_after(place);
	return true;
}

/* Reads a place in a distributed table; whether it is one is for its node to say. */
static bool
read_placed(ItemSpan place, ItemSpan shard, ShardIterator *iterator)
{
	iterator->placed = parse_placement(shard, &iterator->placement);
	iterator->place = place;
	return iterator->placed && place.len <= STREAM_SEQUENCE_MAX;
}

static bool
read_iterator(ItemSpan text, ShardIterator *iterator)
{
	ItemSpan place;
	ItemSpan part;
	int64 shard;

	if (!cut_last(&text, &part) || !read_number(part, &iterator->issued) ||
		!cut_last(&text, &place) || !cut_last(&text, &part))
		return false;
	iterator->stream = text;
	if (part.len == PLACEMENT_LENGTH)
		return read_placed(place, part, iterator);
	iterator->placed = false;
	if (!read_position(place, &iterator->position) || !read_number(part, &shard) ||
		shard >= DYN_MAX_SHARD_NUMBERS)
		return false;
	iterator->shard = (int) shard;
	return true;
}

/*
 * Reads an iterator from its text, which it points into.  A malformed text is
 * ERRCODE_DYN_VALIDATION, and one that was issued too long ago ERRCODE_DYN_EXPIRED_ITERATOR.  The
 * caller has to check the ARN and the number of the shard.
 */
void
request_parse_iterator(ItemSpan text, ShardIterator *iterator)
{
	if (!read_iterator(text, iterator))
		dyn_error(ERRCODE_DYN_VALIDATION, "Invalid ShardIterator");
	if (iterator->issued < request_now() - ITERATOR_MINUTES * SECS_PER_MINUTE * INT64CONST(1000))
		dyn_error(ERRCODE_DYN_EXPIRED_ITERATOR,
				  "The shard iterator has expired and can no longer be used to retrieve stream "
				  "records. A shard iterator expires %d minutes after it is retrieved",
				  ITERATOR_MINUTES);
}
