/*
 * key_spec.h
 *	  How a key attribute is declared: "name TYPE".
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_KEY_SPEC_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_KEY_SPEC_H

#include "item/item.h"

#define DYN_MAX_KEYS 2
#define DYN_MAX_KEY_NAME 255 /* bytes */

extern void dyn_parse_key_spec(ItemSpan spec, ItemSpan *attribute, ItemType *type);
extern ItemSpan dyn_key_spec(ItemSpan attribute, const char *code);

#endif
