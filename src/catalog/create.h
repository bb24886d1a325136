/*
 * create.h
 *	  Creating and dropping tables.
 */
#ifndef DYNAMO_TABLE_CATALOG_CREATE_H
#define DYNAMO_TABLE_CATALOG_CREATE_H

#include "catalog/shape.h"

/* create.c */
#define DYN_DEFAULT_FILLFACTOR 90
extern void dyn_create(DynShape *shape, ItemSpan given, int64 fillfactor);
extern void dyn_drop(Relation rel, DynTable *table, bool cascade);

/* dependents.c */
extern void dyn_dependents_refuse(Relation rel, const char *what, List *columns, List *released);

#endif
