/*
 * parse.h
 *	  Reading JSON in which items are members: requests.
 *
 * The reader walks tokens; at an opening brace it can read an item, by the same rules and in the
 * same pass as item_parse(), and is at its closing brace then.  All errors are raised at once, and
 * tell the position in the whole text.
 */
#ifndef DYNAMO_TABLE_ITEM_PARSE_H
#define DYNAMO_TABLE_ITEM_PARSE_H

#include "common/jsonapi.h"

#include "item/item.h"

typedef struct ItemParser ItemParser;

extern ItemParser *item_reader(const char *json, int len);
extern JsonTokenType item_reader_token(const ItemParser *p);
extern JsonTokenType item_reader_next(ItemParser *p);
extern ItemSpan item_reader_string(ItemParser *p);
extern DynItem *item_reader_item(ItemParser *p, ItemSyntax syntax);
pg_noreturn extern void item_reader_fail(ItemParser *p, const char *message);

#endif
