/*
 * derive.h
 *	  The columns that are derived from a row's item, and the trigger that derives them.
 */
#ifndef DYNAMO_TABLE_CATALOG_DERIVE_H
#define DYNAMO_TABLE_CATALOG_DERIVE_H

#include "access/htup.h"
#include "nodes/pg_list.h"

#include "catalog/table.h"
#include "ground/trigger.h"

/* Why an item that has the attributes of an index is not in it. */
typedef struct DynProblem
{
	const DynIndex *index;
	const DynKey *key; /* NULL: all of the entry together */
	const char *reason; /* "must be of type S, not N" */
} DynProblem;

/* The derived columns of a row, in the order of the table's keys. */
typedef struct DynDerived
{
	Datum values[DYN_MAX_COLUMNS];
	bool nulls[DYN_MAX_COLUMNS];
	bool troubled[DYN_MAX_COLUMNS]; /* a problem concerns the column */
	List *problems; /* of DynProblem */
} DynDerived;

extern void dyn_derive(Relation rel, const DynTable *table, const DynItem *item,
					   DynDerived *derived);
extern void dyn_derive_inserted(Relation rel, const DynTable *table, const DynItem *item,
								DynDerived *derived);
extern void dyn_derive_updated(Relation rel, const DynTable *table, HeapTuple old,
							   const DynItem *item, DynDerived *derived);
extern void dyn_check_index_keys(Relation rel, const DynTable *table, const DynItem *old,
								 const DynItem *item);

/* schema.c */
extern bool dyn_is_item_type(Oid type);

extern PGDLLEXPORT Datum dyn_keys_match(PG_FUNCTION_ARGS);

#endif
