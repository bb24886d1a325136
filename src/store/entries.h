/*
 * entries.h
 *	  The entries of indexes that are distributed by their own key, see catalog/entries.h.
 */
#ifndef DYNAMO_TABLE_STORE_ENTRIES_H
#define DYNAMO_TABLE_STORE_ENTRIES_H

#include "catalog/check/check.h"
#include "catalog/derive.h"
#include "server/work/owned.h"

extern void store_entries_begin(const DynTable *table, const DynIndex *index, RightsBefore *before);
extern void store_entries_write(DynTable *table, const DynRow *old, const DynRow *row);
extern void store_entries_fill(Relation rel, DynTable *table, const DynIndex *index,
							   const DynKeyValues *key);
extern void store_entries_check(TableCheck *check);
extern void store_entries_missing(void *arg);

#endif
