/*
 * print.c
 *	  A record as JSON, in the shape of DynamoDB Streams.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "catalog/definition/arn.h"
#include "catalog/table.h"
#include "item/json_writer.h"
#include "services/stream/record.h"

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

/* Format strings would take longer than all the rest of a small record, so there are none. */
static char *
write_hex(char *digits, int n, uint64 value)
{
	for (int i = n; i > 0; value >>= 4)
		digits[--i] = "0123456789abcdef"[value & 15];
	return digits + n;
}

static void
append_image(JsonWriter *json, const char *name, const DynItem *image, StreamFormat format)
{
	if (format != STREAM_PLAIN || image == NULL)
		json_write_item(json, name, image);
	else
	{
		json_write_name(json, name);
		item_print_plain(json->text, item_root(image));
	}
}

static void
append_change(JsonWriter *json, const StreamRecord *record, StreamFormat format)
{
	char sequence[STREAM_SEQUENCE_MAX + 1];

	json_write_begin(json, "dynamodb");
	json_write_integer(json, "ApproximateCreationDateTime",
					   (int64) timestamptz_to_time_t(record->committed));
	append_image(json, "Keys", record->keys, format);
	append_image(json, "NewImage", record->new_image, format);
	append_image(json, "OldImage", record->old_image, format);
	if (record->incomplete)
		json_write_bool(json, "Incomplete", true);
	json_write_string(json, "SequenceNumber",
					  stream_sequence_print_in(record->epoch, record->place, sequence));
	json_write_integer(json, "SizeBytes", record->size);
	json_write_string(json, "StreamViewType", dyn_stream_view_names[record->view]);
	json_write_end(json);
}

/* Events for functions have small letters, and say which stream they are of. */
static void
append_source(JsonWriter *json, const StreamRecord *record, StreamFormat format)
{
	bool api = format == STREAM_API;

	if (record->expired)
	{
		json_write_begin(json, "userIdentity");
		json_write_string(json, api ? "PrincipalId" : "principalId", "dynamodb.amazonaws.com");
		json_write_string(json, api ? "Type" : "type", "Service");
		json_write_end(json);
	}
	if (api)
		return;
	/* it has nothing that needs an escape */
	json_write_name(json, "eventSourceARN");
	appendStringInfoChar(json->text, '"');
	dyn_append_arn(json->text, record->table, record->stream);
	appendStringInfoChar(json->text, '"');
}

/*
 * Appends a record as JSON.  The event's id is made of its place: 32 digits for the table, the
 * commit and the number, and 8 more for the node of a distributed table.
 */
void
stream_record_print(StringInfo out, const StreamRecord *record, StreamFormat format)
{
	JsonWriter json = json_writer_into(out, JSON_COMPACT);
	char id[8 + 16 + 8 + 8 + 1];
	char *end = write_hex(write_hex(write_hex(id, 8, record->relid), 16, record->place.lsn), 8,
						  record->place.ordinal);

	if (record->epoch != 0)
		end = write_hex(end, 8, (uint64) record->node);
	*end = '\0';
	json_write_begin(&json, NULL);
	json_write_string(&json, "eventID", id);
	json_write_string(&json, "eventName", stream_event_name(record->event));
	json_write_string(&json, "eventVersion", "1.1");
	json_write_string(&json, "eventSource", "aws:dynamodb");
	json_write_string(&json, "awsRegion",
					  record->region != NULL ? record->region : dyn_arn_region());
	append_change(&json, record, format);
	append_source(&json, record, format);
	json_write_end(&json);
}
