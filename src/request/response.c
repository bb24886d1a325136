/*
 * response.c
 *	  A response, written as text.
 */
#include "postgres.h"

#include "request/response.h"

void
response_name(StringInfo out, const char *name)
{
	if (out->len > 0 && out->data[out->len - 1] != '{' && out->data[out->len - 1] != '[')
		appendStringInfoChar(out, ',');
	if (name != NULL)
		appendStringInfo(out, "\"%s\":", name);
}

void
response_member(StringInfo out, ItemSpan name)
{
	response_name(out, NULL);
	item_print_string(out, name);
	appendStringInfoChar(out, ':');
}

void
response_begin(StringInfo out, const char *name)
{
	response_name(out, name);
	appendStringInfoChar(out, '{');
}

void
response_end(StringInfo out)
{
	appendStringInfoChar(out, '}');
}

void
response_begin_array(StringInfo out, const char *name)
{
	response_name(out, name);
	appendStringInfoChar(out, '[');
}

void
response_end_array(StringInfo out)
{
	appendStringInfoChar(out, ']');
}

void
response_string(StringInfo out, const char *name, ItemSpan string)
{
	response_name(out, name);
	item_print_string(out, string);
}

void
response_integer(StringInfo out, const char *name, int64 value)
{
	response_name(out, name);
	appendStringInfo(out, INT64_FORMAT, value);
}

void
response_item(StringInfo out, const char *name, const DynItem *item)
{
	if (item == NULL)
		return;
	response_name(out, name);
	item_print_attributes(out, item_root(item));
}
