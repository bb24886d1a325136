/*
 * key.h
 *	  From attribute values to the columns derived from them.
 */
#ifndef DYNAMO_TABLE_CATALOG_KEY_H
#define DYNAMO_TABLE_CATALOG_KEY_H

#include "catalog/table.h"
#include "item/build.h"

#define DYN_MAX_PARTITION_KEY 2048
#define DYN_MAX_SORT_KEY 1024

/* Holds the columns of an entry of an index, in its order; of the table: the primary key. */
typedef struct DynKeyValues
{
	int nkeys;
	Datum values[DYN_MAX_INDEX_COLUMNS];
} DynKeyValues;

/* Says what a key is given for, which DynamoDB's words depend on. */
typedef enum DynKeyRole
{
	DYN_KEY_OF_ITEM, /* it is in an item */
	DYN_KEY_OF_REQUEST, /* it names an item */
	DYN_KEY_OF_CONDITION, /* of Query */
	DYN_KEY_OF_QUERY_START,
	DYN_KEY_OF_SCAN_START
} DynKeyRole;

/* Says where the key of an index comes from. */
typedef enum DynKeySource
{
	DYN_KEY_PUT, /* it is in an item */
	DYN_KEY_UPDATED, /* an update has the value */
	DYN_KEY_COPIED /* an update takes it from the item */
} DynKeySource;

#define DYN_KEY_MISMATCH_WORDS "The provided key element does not match the schema"

extern Oid dyn_key_column_type(ItemType type);
extern Datum dyn_key_datum(ItemType type, ItemSpan payload);
extern void dyn_key_build(ItemBuilder *builder, ItemType type, Datum column);
extern bool dyn_key_prefix_end(ItemType type, ItemSpan prefix, Datum *end);
extern void dyn_key_check(const DynKey *key, bool partition, ItemSpan value);
extern bool dyn_key_is_empty(const DynKey *key, ItemSpan value);
extern const char *dyn_key_problem(const DynKey *key, bool partition, ItemSpan value);
extern const char *dyn_index_key_words(const DynIndex *index, const DynKey *key, bool partition,
									   ItemSpan value, DynKeySource source);
extern Size dyn_key_entry_too_large(Relation rel, const DynTable *table, const DynIndex *index,
									Datum *values);
extern void dyn_key_fail_too_large(const DynTable *table, Size size);

extern const char *dyn_key_names(const DynTable *table, const DynIndex *index, int n);
extern void dyn_key_of_item(const DynTable *table, const DynItem *item, DynKeyValues *key);
extern void dyn_key_exact(const DynTable *table, const DynIndex *index, const DynItem *given,
						  DynKeyRole role, DynKeyValues *key);
extern ItemSpan dyn_key_attribute(const DynTable *table, const DynIndex *index, const DynItem *item,
								  int i);

#endif
