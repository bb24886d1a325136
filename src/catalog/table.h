/*
 * table.h
 *	  What a table of ours is, as pg_catalog says it: the cached schema.
 *
 * A table is ours if it has a column "item" of type dyn_item, a primary key, and the derive
 * trigger.  The primary key's columns are the table's keys in order; the trigger's arguments
 * say which attribute and type each is derived from.
 */
#ifndef DYNAMO_TABLE_CATALOG_TABLE_H
#define DYNAMO_TABLE_CATALOG_TABLE_H

#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "item/item.h"

#define DYN_DERIVE_TRIGGER "~dynamo_keys"
#define DYN_KEYS_CONSTRAINT "dynamo_keys"
#define DYN_ITEM_COLUMN "item"
#define DYN_MAX_KEYS 2

/* A key attribute and the column derived from it. */
typedef struct DynKey
{
	ItemSpan attribute;
	ItemType type; /* S, N or B */
	AttrNumber attnum;
	const char *column;
} DynKey;

/*
 * An entry of the schema cache.  It lives until the end of the transaction in which it was
 * looked up, even if it is invalidated meanwhile, so callers may keep the pointer for a call.
 */
typedef struct DynTable
{
	Oid relid; /* hash key */
	bool valid;
	MemoryContext context;
	const char *qualified; /* quoted, for SQL */
	const char *name; /* for messages */
	AttrNumber item_attnum;
	Oid item_type;
	Oid key_index;
	bool row_security; /* policies may hide rows */
	int nkeys; /* 1: partition key only */
	DynKey keys[DYN_MAX_KEYS];
	struct StorePlan *plans; /* the SPI store's kept plans, see store/plan.c */
} DynTable;

/* schema.c */
extern DynTable *dyn_schema(Relation rel);

/* lookup.c */
extern Relation dyn_table_open(text *name, LOCKMODE lockmode, DynTable **table);
extern char *dyn_identifier(ItemSpan name);
extern char *dyn_column_identifier(ItemSpan name);
extern void dyn_split_name(ItemSpan name, char **schema, char **relation);
extern void dyn_check_table_name(ItemSpan name);

/* keyspec.c */
extern void dyn_parse_key_spec(ItemSpan spec, ItemSpan *attribute, ItemType *type);

#endif
