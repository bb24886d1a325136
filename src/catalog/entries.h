/*
 * entries.h
 *	  Indexes of a distributed table that are distributed by their own key.
 *
 * The entries of such an index are a distributed table of the table's owner, in the schema of the
 * table, that the definition of the index names.  An entry has the columns of the index, which are
 * its primary key, and the part of the item that the index projects.  The store writes it in the
 * transaction of the item, and reads it, both with the rights of the owner: nobody else has a
 * privilege on it.
 */
#ifndef DYNAMO_TABLE_CATALOG_ENTRIES_H
#define DYNAMO_TABLE_CATALOG_ENTRIES_H

#include "fmgr.h"

#include "catalog/shape.h"
#include "server/work/owned.h"

/* This is the column of entries by which they are distributed: the first of the index, after the item. */
#define DYN_ENTRIES_KEY 2

/* Returns whether writes keep the entries of an index. */
static inline bool
dyn_index_is_kept(const DynIndex *index)
{
	return index->entries != NULL && index->status != DYN_INDEX_DELETING;
}

extern void dyn_entries_read(Oid namespace, const DynIndexSpec *spec, DynIndex *index);
extern bool dyn_has_entries(const DynTable *table);
extern bool dyn_is_guarded(const DynTable *table);
extern void dyn_entries_forbid(const DynShape *shape);
extern void dyn_entries_create(const DynShape *shape, DynIndexSpec *spec, bool keep);
extern void dyn_entries_drop(Oid relid, Oid owner);
extern DynTable *dyn_entries_schema(const DynTable *table, const DynIndex *index);
extern void dyn_entries_take(const DynTable *table, const DynIndex *index, RightsBefore *before);

/* entries_guard.c */
extern void dyn_entries_guard_init(void);
extern const char *dyn_entries_mark(const DynTable *table, const char *before);
extern void dyn_entries_forbid_write(Oid relid, const FmgrInfo *flinfo);

#endif
