/*
 * derive.h
 *	  The columns that are derived from a row's item, and the trigger that derives them.
 */
#ifndef DYNAMO_TABLE_CATALOG_DERIVE_H
#define DYNAMO_TABLE_CATALOG_DERIVE_H

#include "access/htup.h"
#include "nodes/pg_list.h"

#include "catalog/definition/trigger.h"
#include "catalog/key.h"

/* Says why an item that has the attributes of an index is not in it. */
typedef struct DynProblem
{
	const DynIndex *index;
	const DynKey *key; /* NULL: all of the entry together */
	const char *reason; /* "must be of type S, not N" */
	ItemSpan value; /* of the key */
	bool partition; /* it is in the partition key */
	const struct DynVector *vector; /* the index is one of vectors; or NULL */
	const char *words; /* what DynamoDB says of such a one, or NULL */
} DynProblem;

/*
 * This is an item as a row of its table.  Each array has an element for each of the table's keys,
 * in their order.
 */
typedef struct DynRow
{
	const DynItem *item;
	DynKeyValues key; /* the first of the values */
	Datum *values;
	bool *nulls;
	bool *troubled; /* a problem concerns the column */
	List *problems; /* of DynProblem */
	Bitmapset *copied; /* keys that an update has set to what the item had elsewhere */
	ItemSpan expiry; /* the attribute of time to live; without data: the item has none */
} DynRow;

extern void dyn_derive_init(void);

extern DynRow *dyn_derive(Relation rel, const DynTable *table, const DynItem *item);
extern void dyn_row_check(Relation rel, const DynTable *table, const DynItem *old,
						  const DynRow *row);
extern void dyn_row_check_call(const DynTable *table, const DynItem *old, const DynRow *row);
extern Size dyn_size_with_copies(const DynTable *table, const DynItem *item, ItemSizeRule rule);
extern bool dyn_row_has_key(const DynTable *table, const DynRow *row, const DynKeyValues *key);
pg_noreturn extern void dyn_fail_index_key(const DynIndex *index, const DynKey *key, bool partition,
										   ItemSpan value, DynKeySource source);
pg_noreturn extern void dyn_fail_key_changed(const DynTable *table);

/* schema.c */
extern bool dyn_is_item_type(Oid type);

extern PGDLLEXPORT Datum dyn_keys_match(PG_FUNCTION_ARGS);

#endif
