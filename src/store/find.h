/*
 * find.h
 *	  The row of a key, as the direct store looks for it.
 */
#ifndef DYNAMO_TABLE_STORE_FIND_H
#define DYNAMO_TABLE_STORE_FIND_H

#include "access/tableam.h"

#include "am/placement.h"
#include "catalog/key.h"

/* Holds what the caller has open, and the row that was found, with its buffer pinned. */
typedef struct RowFinder
{
	const DynTable *table;
	Relation rel;
	Relation primary;
	TupleTableSlot *row;
	bool after_read; /* the row has been read just now, most likely */
} RowFinder;

/* Says whether a key leads to a row. */
typedef enum FindResult
{
	FIND_ROW,
	FIND_NONE,
	FIND_UNSURE /* an index scan has to tell */
} FindResult;

extern bool find_row(const RowFinder *finder, Snapshot snapshot, const DynKeyValues *key);
extern bool find_row_by_scan(const RowFinder *finder, Snapshot snapshot, const DynKeyValues *key);
extern FindResult find_row_by_entries(const RowFinder *finder, Snapshot snapshot,
									  const DynKeyValues *key, const DynNeighbours *entries);
extern DynItem *find_row_item(const RowFinder *finder);
extern bool find_row_has_key(const RowFinder *finder, const DynKeyValues *key);

#endif
