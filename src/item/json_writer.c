/*
 * json_writer.c
 *	  JSON, written as text.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "item/json_writer.h"

/* Returns a writer with a text of its own, in the current memory context. */
JsonWriter
json_writer(JsonStyle style)
{
	return json_writer_into(makeStringInfo(), style);
}

/* Returns a writer that appends to a text.  It writes no comma before its first value. */
JsonWriter
json_writer_into(StringInfo text, JsonStyle style)
{
	return (JsonWriter){text, style, false};
}

/* Names and values are many and small. */
static inline void
json_put(StringInfo text, char c)
{
	appendStringInfoCharMacro(text, c);
}

static void
write_comma(JsonWriter *json)
{
	if (json->comma)
	{
		json_put(json->text, ',');
		if (json->style == JSON_SPACED)
			json_put(json->text, ' ');
	}
	json->comma = true;
}

static void
write_colon(JsonWriter *json)
{
	json_put(json->text, ':');
	if (json->style == JSON_SPACED)
		json_put(json->text, ' ');
}

/*
 * Writes what comes before a value: a comma if one is needed, the name, and a colon.  The caller
 * appends the value to the text.
 */
void
json_write_name(JsonWriter *json, const char *name)
{
	write_comma(json);
	if (name == NULL)
		return;
	json_put(json->text, '"');
	appendStringInfoString(json->text, name);
	json_put(json->text, '"');
	write_colon(json);
}

/*
 * Writes a name that is data, which is escaped.  The value is written next, by a function that is
 * given NULL as the name.
 */
void
json_write_member(JsonWriter *json, ItemSpan name)
{
	write_comma(json);
	item_print_string(json->text, name);
	write_colon(json);
	json->comma = false;
}

static void
json_begin(JsonWriter *json, const char *name, char bracket)
{
	json_write_name(json, name);
	json_put(json->text, bracket);
	json->comma = false;
}

static void
json_end(JsonWriter *json, char bracket)
{
	json_put(json->text, bracket);
	json->comma = true;
}

/* Begins an object. */
void
json_write_begin(JsonWriter *json, const char *name)
{
	json_begin(json, name, '{');
}

/* Ends the object that was begun last. */
void
json_write_end(JsonWriter *json)
{
	json_end(json, '}');
}

/* Begins an array. */
void
json_write_begin_array(JsonWriter *json, const char *name)
{
	json_begin(json, name, '[');
}

/* Ends the array that was begun last. */
void
json_write_end_array(JsonWriter *json)
{
	json_end(json, ']');
}

/* Writes a string; nothing, if it is NULL. */
void
json_write_string(JsonWriter *json, const char *name, const char *value)
{
	if (value != NULL)
		json_write_span(json, name, item_span(value));
}

/* Writes a string that may contain U+0000. */
void
json_write_span(JsonWriter *json, const char *name, ItemSpan value)
{
	json_write_name(json, name);
	item_print_string(json->text, value);
}

/* Writes an array of strings. */
void
json_write_spans(JsonWriter *json, const char *name, const ItemSpan *values, int n)
{
	json_write_begin_array(json, name);
	for (int i = 0; i < n; i++)
		json_write_span(json, NULL, values[i]);
	json_write_end_array(json);
}

/* Writes a number. */
void
json_write_integer(JsonWriter *json, const char *name, int64 value)
{
	char digits[MAXINT8LEN + 1];

	json_write_name(json, name);
	appendBinaryStringInfo(json->text, digits, pg_lltoa(value, digits));
}

/* Writes true or false. */
void
json_write_bool(JsonWriter *json, const char *name, bool value)
{
	json_write_raw(json, name, value ? "true" : "false");
}

/* Writes a value that is JSON already. */
void
json_write_raw(JsonWriter *json, const char *name, const char *value)
{
	json_write_name(json, name);
	appendStringInfoString(json->text, value);
}

/* Writes an item in DynamoDB JSON; nothing, if it is NULL. */
void
json_write_item(JsonWriter *json, const char *name, const DynItem *item)
{
	if (item == NULL)
		return;
	json_write_name(json, name);
	item_print_attributes(json->text, item_root(item));
}

/* Writes a value in DynamoDB JSON. */
void
json_write_typed(JsonWriter *json, const char *name, ItemSpan value)
{
	json_write_name(json, name);
	item_print_typed(json->text, value);
}
