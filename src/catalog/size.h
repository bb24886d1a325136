/*
 * size.h
 *	  How large a table and its indexes are, wherever their rows are.
 */
#ifndef DYNAMO_TABLE_CATALOG_SIZE_H
#define DYNAMO_TABLE_CATALOG_SIZE_H

#include "access/tableam.h"

#include "catalog/table.h"

/* This is a size; what is not known is 0. */
typedef struct DynSize
{
	int64 items; /* as of the last VACUUM or ANALYZE, or counted */
	int64 bytes;
} DynSize;

/* Returns the size of the table, and of each index in the order of the schema. */
extern DynSize *dyn_sizes(Relation rel, const DynTable *table);

extern DynSize dyn_entries_size(Oid relid);

extern TableScanDesc dyn_begin_block_scan(Relation rel, BlockNumber from, BlockNumber to);

/* Returns how many items there are as of the last VACUUM or ANALYZE, or -1 if that is not known. */
extern double dyn_expected_items(Relation rel);

#endif
