/*
 * print.c
 *	  From a value to text: DynamoDB JSON, and plain JSON.
 */
#include "postgres.h"

#include "common/base64.h"

#include "item/item.h"

/* A JSON string.  U+0000 can be in it, so escape_json() does not serve. */
void
item_print_string(StringInfo out, ItemSpan s)
{
	const char *end = s.data + s.len;
	const char *clean = s.data; /* start of what needs no escape */

	appendStringInfoChar(out, '"');
	for (const char *p = s.data; p < end; p++)
	{
		unsigned char c = (unsigned char) *p;

		if (c >= ' ' && c != '"' && c != '\\')
			continue;
		appendBinaryStringInfo(out, clean, p - clean);
		clean = p + 1;
		switch (c)
		{
			case '"':
			case '\\':
				appendStringInfoChar(out, '\\');
				appendStringInfoChar(out, c);
				break;
			case '\b':
				appendStringInfoString(out, "\\b");
				break;
			case '\f':
				appendStringInfoString(out, "\\f");
				break;
			case '\n':
				appendStringInfoString(out, "\\n");
				break;
			case '\r':
				appendStringInfoString(out, "\\r");
				break;
			case '\t':
				appendStringInfoString(out, "\\t");
				break;
			default:
				appendStringInfo(out, "\\u%04x", c);
		}
	}
	appendBinaryStringInfo(out, clean, end - clean);
	appendStringInfoChar(out, '"');
}

static void
print_number(StringInfo out, ItemSpan number)
{
	char text[ITEM_NUMBER_TEXT];

	appendBinaryStringInfo(out, text, item_number_print(number, text));
}

/* Base64 without line breaks, palloc'd and not ended with a NUL. */
char *
item_base64(ItemSpan bytes, int *len)
{
	int size = pg_b64_enc_len(bytes.len);
	char *text = palloc(size + 1);

	*len = pg_b64_encode((const void *) bytes.data, bytes.len, text, size + 1);
	Assert(*len >= 0);
	return text;
}

static void
print_base64(StringInfo out, ItemSpan bytes)
{
	int len;
	char *text = item_base64(bytes, &len);

	appendStringInfoChar(out, '"');
	appendBinaryStringInfo(out, text, len);
	appendStringInfoChar(out, '"');
	pfree(text);
}

/* A scalar's payload; N is a string in DynamoDB JSON and a number in plain JSON. */
static void
print_scalar(StringInfo out, ItemType type, ItemSpan payload, bool typed)
{
	if (type == ITEM_S)
		item_print_string(out, payload);
	else if (type == ITEM_B)
		print_base64(out, payload);
	else if (typed)
	{
		appendStringInfoChar(out, '"');
		print_number(out, payload);
		appendStringInfoChar(out, '"');
	}
	else
		print_number(out, payload);
}

static void print_value(StringInfo out, ItemSpan value, bool typed);

static void
print_map(StringInfo out, ItemSpan map, bool typed)
{
	ItemChildren c = item_children(map);

	appendStringInfoChar(out, '{');
	for (uint32 i = 0; i < c.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&c, i), &name);

		if (i > 0)
			appendStringInfoChar(out, ',');
		item_print_string(out, name);
		appendStringInfoChar(out, ':');
		print_value(out, value, typed);
	}
	appendStringInfoChar(out, '}');
}

static void
print_elements(StringInfo out, ItemSpan value, bool typed)
{
	ItemChildren c = item_children(value);
	ItemType type = item_type(value);

	appendStringInfoChar(out, '[');
	for (uint32 i = 0; i < c.count; i++)
	{
		if (i > 0)
			appendStringInfoChar(out, ',');
		if (type == ITEM_L)
			print_value(out, item_child(&c, i), typed);
		else
			print_scalar(out, item_element_type(type), item_child(&c, i), typed);
	}
	appendStringInfoChar(out, ']');
}

static void
print_value(StringInfo out, ItemSpan value, bool typed)
{
	ItemType type = item_type(value);

	if (typed)
	{
		appendStringInfoString(out, "{\"");
		appendStringInfoString(out, item_type_code(type));
		appendStringInfoString(out, "\":");
	}
	if (type == ITEM_M)
		print_map(out, value, typed);
	else if (item_type_has_children(type))
		print_elements(out, value, typed);
	else if (type == ITEM_BOOL)
		appendStringInfoString(out, item_bool(value) ? "true" : "false");
	else if (type == ITEM_NULL)
		appendStringInfoString(out, typed ? "true" : "null");
	else
		print_scalar(out, type, item_payload(value), typed);
	if (typed)
		appendStringInfoChar(out, '}');
}

/* {"S":"a"} */
void
item_print_typed(StringInfo out, ItemSpan value)
{
	print_value(out, value, true);
}

/* {"a":{"S":"b"}}: a map without its own type code, as items are written. */
void
item_print_attributes(StringInfo out, ItemSpan map)
{
	print_map(out, map, true);
}

void
item_print_plain(StringInfo out, ItemSpan value)
{
	print_value(out, value, false);
}
