/*
 * response.h
 *	  A response, written as text: objects with members, one after the other.
 *
 *		response_begin(out, NULL);
 *		response_item(out, "Item", item);
 *		response_begin(out, "ConsumedCapacity");
 *		...
 *		response_end(out);
 *		response_end(out);
 */
#ifndef DYNAMO_TABLE_REQUEST_RESPONSE_H
#define DYNAMO_TABLE_REQUEST_RESPONSE_H

#include "item/item.h"

/* A comma where one is needed, and the name, unless it is NULL. */
extern void response_name(StringInfo out, const char *name);

/* The same of a member that is named by data. */
extern void response_member(StringInfo out, ItemSpan name);

extern void response_begin(StringInfo out, const char *name);
extern void response_end(StringInfo out);
extern void response_begin_array(StringInfo out, const char *name);
extern void response_end_array(StringInfo out);
extern void response_string(StringInfo out, const char *name, ItemSpan string);
extern void response_integer(StringInfo out, const char *name, int64 value);

/* Nothing, if the item is NULL. */
extern void response_item(StringInfo out, const char *name, const DynItem *item);

#endif
