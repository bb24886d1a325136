/*
 * entries.h
 *	  Rows that a scan of an index alone has to look at after all.
 */
#ifndef DYNAMO_TABLE_STORE_ENTRIES_H
#define DYNAMO_TABLE_STORE_ENTRIES_H

#include "access/relscan.h"

#include "store/prefetch.h"
#include "store/store.h"

/* What is known of the entries behind the one that the scan is at. */
typedef struct EntriesAhead
{
	IndexScanDesc scan;
	const StoreRange *range;
	int64 taken; /* entries that the caller has taken */
	Buffer map; /* a page of the visibility map */
	BlockNumber leaf;
	int looked_at; /* the last entry of the leaf that was looked at */
	Prefetch prefetch;
} EntriesAhead;

extern void entries_begin(EntriesAhead *entries, IndexScanDesc scan, const StoreRange *range);
extern bool entries_fetch_row(EntriesAhead *entries, TupleTableSlot *slot);
extern void entries_end(EntriesAhead *entries);

#endif
