/*
 * ahead.h
 *	  Rows of an index scan, read ahead a page at a time.
 */
#ifndef DYNAMO_TABLE_STORE_AHEAD_H
#define DYNAMO_TABLE_STORE_AHEAD_H

#include "access/relscan.h"

#include "store/store.h"

typedef struct RowsAhead RowsAhead;

extern RowsAhead *ahead_begin(IndexScanDesc scan, const DynTable *table, const StoreRange *range);
extern bool ahead_next(RowsAhead *ahead, const StoreRow **row);
extern void ahead_end(RowsAhead *ahead);

#endif
