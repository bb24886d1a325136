/*
 * response.c
 *	  A response, written as text.
 */
#include "postgres.h"

#include "request/response.h"

/*
 * Append the name of a member and a colon, after a comma unless the object or array has just begun.
 * The name is not escaped.  NULL appends no name, for an element of an array.
 */
void
response_name(StringInfo out, const char *name)
{
	if (out->len > 0 && out->data[out->len - 1] != '{' && out->data[out->len - 1] != '[')
		appendStringInfoChar(out, ',');
	if (name != NULL)
		appendStringInfo(out, "\"%s\":", name);
}

/* The same as response_name() for a name that is data, which is escaped. */
void
response_member(StringInfo out, ItemSpan name)
{
	response_name(out, NULL);
	item_print_string(out, name);
	appendStringInfoChar(out, ':');
}

/*
 * Begin an object, as a member with the given name or, if name is NULL, as an element of an array.
 */
void
response_begin(StringInfo out, const char *name)
{
	response_name(out, name);
	appendStringInfoChar(out, '{');
}

/* End the object that was begun last. */
void
response_end(StringInfo out)
{
	appendStringInfoChar(out, '}');
}

/*
 * Begin an array, as a member with the given name or, if name is NULL, as an element of an array.
 */
void
response_begin_array(StringInfo out, const char *name)
{
	response_name(out, name);
	appendStringInfoChar(out, '[');
}

/* End the array that was begun last. */
void
response_end_array(StringInfo out)
{
	appendStringInfoChar(out, ']');
}

/* Append a string, which is escaped, as a member; as an element of an array if name is NULL. */
void
response_string(StringInfo out, const char *name, ItemSpan string)
{
	response_name(out, name);
	item_print_string(out, string);
}

/* Append a number as a member; as an element of an array if name is NULL. */
void
response_integer(StringInfo out, const char *name, int64 value)
{
	response_name(out, name);
	appendStringInfo(out, INT64_FORMAT, value);
}

/*
 * Append an item in DynamoDB JSON as a member; as an element of an array if name is NULL.  Nothing
 * is appended if the item is NULL.
 */
void
response_item(StringInfo out, const char *name, const DynItem *item)
{
	if (item == NULL)
		return;
	response_name(out, name);
	item_print_attributes(out, item_root(item));
}
