/*
 * print.c
 *	  A record as JSON, in the shape of DynamoDB Streams.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "catalog/table.h"
#include "ground/arn.h"
#include "stream/record.h"

/*
 * Returns the name of an event as records have it, DynamoDB's or "TRUNCATE", as a constant string.
 */
const char *
stream_event_name(StreamEvent event)
{
	switch (event)
	{
		case STREAM_INSERT:
			return "INSERT";
		case STREAM_MODIFY:
			return "MODIFY";
		case STREAM_REMOVE:
			return "REMOVE";
		case STREAM_TRUNCATE:
			break;
	}
	return "TRUNCATE";
}

/*
 * Format strings would take longer than all the rest of a small record, so there are none.
 */

#define put_literal(out, literal) appendBinaryStringInfo(out, literal, sizeof(literal) - 1)

static void
put_integer(StringInfo out, int64 value)
{
	char digits[MAXINT8LEN + 1];

	appendBinaryStringInfo(out, digits, pg_lltoa(value, digits));
}

static void
put_hex(StringInfo out, uint64 value, int ndigits)
{
	char digits[16];

	for (int i = ndigits; i > 0; value >>= 4)
		digits[--i] = "0123456789abcdef"[value & 15];
	appendBinaryStringInfo(out, digits, ndigits);
}

static void
append_image(StringInfo out, const DynItem *image, StreamFormat format)
{
	if (format == STREAM_PLAIN)
		item_print_plain(out, item_root(image));
	else
		item_print_attributes(out, item_root(image));
	put_literal(out, ",");
}

static void
append_images(StringInfo out, const StreamRecord *record, StreamFormat format)
{
	if (record->keys != NULL)
	{
		put_literal(out, "\"Keys\":");
		append_image(out, record->keys, format);
	}
	if (record->new_image != NULL)
	{
		put_literal(out, "\"NewImage\":");
		append_image(out, record->new_image, format);
	}
	if (record->old_image != NULL)
	{
		put_literal(out, "\"OldImage\":");
		append_image(out, record->old_image, format);
	}
}

static void
append_change(StringInfo out, const StreamRecord *record, StreamFormat format)
{
	char sequence[STREAM_SEQUENCE_LENGTH + 1];

	put_literal(out, "\"dynamodb\":{\"ApproximateCreationDateTime\":");
	put_integer(out, (int64) timestamptz_to_time_t(record->committed));
	put_literal(out, ",");
	append_images(out, record, format);
	if (record->incomplete)
		put_literal(out, "\"Incomplete\":true,");
	put_literal(out, "\"SequenceNumber\":\"");
	appendBinaryStringInfo(out, stream_sequence_print(record->place, sequence),
						   STREAM_SEQUENCE_LENGTH);
	put_literal(out, "\",\"SizeBytes\":");
	put_integer(out, record->size);
	put_literal(out, ",\"StreamViewType\":\"");
	appendStringInfoString(out, dyn_stream_view_names[record->view]);
	put_literal(out, "\"}");
}

/* Events for functions have small letters, and say which stream they are of. */
static void
append_source(StringInfo out, const StreamRecord *record, StreamFormat format)
{
	char label[STREAM_LABEL_LENGTH + 1];

	if (record->expired && format == STREAM_API)
		put_literal(out, ",\"userIdentity\":{\"PrincipalId\":\"dynamodb.amazonaws.com\",\"Type\":"
						 "\"Service\"}");
	else if (record->expired)
		put_literal(out, ",\"userIdentity\":{\"principalId\":\"dynamodb.amazonaws.com\",\"type\":"
						 "\"Service\"}");
	if (format == STREAM_API)
		return;
	put_literal(out, ",\"eventSourceARN\":");
	dyn_print_table_arn(out, record->table);
	if (record->stream != 0)
	{
		/* before the quote at the end */
		out->len--;
		put_literal(out, "/stream/");
		appendStringInfoString(out, stream_label_print(record->stream, label));
		put_literal(out, "\"");
	}
}

/* The event's id is as good as its place: 32 digits for the table, the commit and the number. */
void
stream_record_print(StringInfo out, const StreamRecord *record, StreamFormat format)
{
	put_literal(out, "{\"eventID\":\"");
	put_hex(out, record->relid, 8);
	put_hex(out, record->place.lsn, 16);
	put_hex(out, record->place.ordinal, 8);
	put_literal(out, "\",\"eventName\":\"");
	appendStringInfoString(out, stream_event_name(record->event));
	put_literal(out,
				"\",\"eventVersion\":\"1.1\",\"eventSource\":\"aws:dynamodb\",\"awsRegion\":\"");
	appendStringInfoString(out, dyn_arn_region());
	put_literal(out, "\",");
	append_change(out, record, format);
	append_source(out, record, format);
	put_literal(out, "}");
}
