/*
 * print.c
 *	  A record as JSON, in the shape of DynamoDB Streams.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "catalog/table.h"
#include "stream/record.h"

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

static void
append_image(StringInfo out, const char *name, const DynItem *image, StreamFormat format)
{
	if (image == NULL)
		return;
	appendStringInfo(out, "\"%s\":", name);
	if (format == STREAM_PLAIN)
		item_print_plain(out, item_root(image));
	else
		item_print_attributes(out, item_root(image));
	appendStringInfoChar(out, ',');
}

static void
append_change(StringInfo out, const StreamRecord *record, StreamFormat format)
{
	char sequence[STREAM_SEQUENCE_LENGTH + 1];

	appendStringInfo(out, "\"dynamodb\":{\"ApproximateCreationDateTime\":" INT64_FORMAT ",",
					 (int64) timestamptz_to_time_t(record->committed));
	append_image(out, "Keys", record->keys, format);
	append_image(out, "NewImage", record->new_image, format);
	append_image(out, "OldImage", record->old_image, format);
	if (record->incomplete)
		appendStringInfoString(out, "\"Incomplete\":true,");
	appendStringInfo(out, "\"SequenceNumber\":\"%s\",\"SizeBytes\":%d,\"StreamViewType\":\"%s\"}",
					 stream_sequence_print(record->place, sequence), record->size,
					 dyn_stream_view_names[record->view]);
}

/* Events for functions have small letters, and say which stream they are of. */
static void
append_source(StringInfo out, const StreamRecord *record, StreamFormat format)
{
	char label[STREAM_LABEL_LENGTH + 1];
	char *arn;

	if (record->expired)
		appendStringInfoString(out, format == STREAM_API
										? ",\"userIdentity\":{\"PrincipalId\":\"dynamodb.amazonaws."
										  "com\",\"Type\":\"Service\"}"
										: ",\"userIdentity\":{\"principalId\":\"dynamodb.amazonaws."
										  "com\",\"type\":\"Service\"}");
	if (format == STREAM_API)
		return;
	arn = dyn_table_arn(record->table);
	if (record->stream != 0)
		arn = psprintf("%s/stream/%s", arn, stream_label_print(record->stream, label));
	appendStringInfoString(out, ",\"eventSourceARN\":");
	item_print_string(out, (ItemSpan){arn, (uint32) strlen(arn)});
}

/* The event's id is as good as its place: 32 digits for the table, the commit and the number. */
void
stream_record_print(StringInfo out, const StreamRecord *record, StreamFormat format)
{
	appendStringInfo(
		out,
		"{\"eventID\":\"%08x%016llx%08x\",\"eventName\":\"%s\","
		"\"eventVersion\":\"1.1\",\"eventSource\":\"aws:dynamodb\",\"awsRegion\":\"%s\",",
		record->relid, (unsigned long long) record->place.lsn, (uint32) record->place.ordinal,
		stream_event_name(record->event), dyn_arn_region());
	append_change(out, record, format);
	append_source(out, record, format);
	appendStringInfoChar(out, '}');
}
