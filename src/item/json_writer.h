/*
 * json_writer.h
 *	  JSON, written as text: objects with members, and arrays with elements, one after the other.
 *
 *		JsonWriter json = json_writer(JSON_COMPACT);
 *
 *		json_write_begin(&json, NULL);
 *		json_write_string(&json, "TableName", "Orders");
 *		json_write_begin_array(&json, "Tags");
 *		json_write_string(&json, NULL, "a");
 *		json_write_end_array(&json);
 *		json_write_end(&json);
 *
 * Each function takes the name of the member that it writes, which is not escaped, or NULL for an
 * element of an array.  Commas are written where they are needed.
 */
#ifndef DYNAMO_TABLE_ITEM_JSON_WRITER_H
#define DYNAMO_TABLE_ITEM_JSON_WRITER_H

#include "item/item.h"

typedef enum JsonStyle
{
	JSON_COMPACT, /* {"a":1,"b":[]}, as DynamoDB writes responses */
	JSON_SPACED /* {"a": 1, "b": []}, as jsonb is written */
} JsonStyle;

typedef struct JsonWriter
{
	StringInfo text;
	JsonStyle style;
	bool comma; /* what comes next needs one before it */
} JsonWriter;

extern JsonWriter json_writer(JsonStyle style);
extern JsonWriter json_writer_into(StringInfo text, JsonStyle style);

extern void json_write_begin(JsonWriter *json, const char *name);
extern void json_write_end(JsonWriter *json);
extern void json_write_begin_array(JsonWriter *json, const char *name);
extern void json_write_end_array(JsonWriter *json);
extern void json_write_name(JsonWriter *json, const char *name);
extern void json_write_member(JsonWriter *json, ItemSpan name);
extern void json_write_string(JsonWriter *json, const char *name, const char *value);
extern void json_write_span(JsonWriter *json, const char *name, ItemSpan value);
extern void json_write_spans(JsonWriter *json, const char *name, const ItemSpan *values, int n);
extern void json_write_integer(JsonWriter *json, const char *name, int64 value);
extern void json_write_bool(JsonWriter *json, const char *name, bool value);
extern void json_write_raw(JsonWriter *json, const char *name, const char *value);
extern void json_write_item(JsonWriter *json, const char *name, const DynItem *item);
extern void json_write_typed(JsonWriter *json, const char *name, ItemSpan value);

#endif
