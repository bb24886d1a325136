/*
 * listing.h
 *	  The tables of the database, by what they have.
 */
#ifndef DYNAMO_TABLE_CATALOG_LISTING_H
#define DYNAMO_TABLE_CATALOG_LISTING_H

#include "catalog/table.h"

extern List *dyn_listed_tables(const char *member);
extern bool dyn_is_named_alone(Oid relid);
extern bool dyn_listed_settings(Oid relid, DynSettings *settings);

/* This is a table in a list, which is made without waiting for locks. */
typedef struct DynListed
{
	Oid relid;
	Relation
		rel; /* under the lock of a reader; NULL: another session has locked the table or an index
		      * of it */
	DynTable *table; /* likewise */
	DynSettings settings; /* in any case */
	List *indexes; /* that are locked with it */
} DynListed;

/* Returns false if the table is gone, broken, or no table of items. */
extern bool dyn_try_listed(void (*step)(void *arg), void *arg);
extern bool dyn_open_listed(Oid relid, DynListed *listed);
extern void dyn_close_listed(DynListed *listed);
extern char *dyn_listed_name(const DynListed *listed); /* quoted */

struct ReturnSetInfo;

/* Adds the rows of a listed table to the result of a function. */
typedef void (*PutListed)(struct ReturnSetInfo *result, const DynListed *listed, void *arg);

extern void dyn_list(struct FunctionCallInfoBaseData *fcinfo, List *relids, PutListed put,
					 void *arg);

/*
 * Locks a table and its indexes, which reading its schema and planning lock too, without waiting.
 * Returns false, with nothing locked, if one of the locks is not available.
 */
extern bool dyn_try_locks(Oid relid, LOCKMODE mode, List **indexes);
extern Oid dyn_try_lock_all(const List *relids, LOCKMODE mode);

#endif
