/*
 * extras.h
 *	  What a table has beside what is its own, and whether the executor is needed for it.
 */
#ifndef DYNAMO_TABLE_CATALOG_EXTRAS_H
#define DYNAMO_TABLE_CATALOG_EXTRAS_H

#include "catalog/table.h"

/* plain.c */
extern void dyn_read_plainness(Relation rel, DynTable *table);

/* extras.c */
extern void dyn_read_extras(Relation rel, DynTable *table);
extern bool dyn_may_rewrite(const DynTable *table, const Trigger *trigger);
extern bool dyn_constraint_covers(const DynTable *table, const char *expression);
extern bool dyn_columns_are_valid(Relation rel, const DynTable *table);

#endif
