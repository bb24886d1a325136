/*
 * unchanged.h
 *	  Rows that a write by the functions would leave as they are: they are locked, not written.
 *
 * What counts is the whole row, every column by its bytes.  So a row whose columns do not follow
 * its item yet, because they are younger than it, is written.
 */
#ifndef DYNAMO_TABLE_CATALOG_UNCHANGED_H
#define DYNAMO_TABLE_CATALOG_UNCHANGED_H

#include "access/htup.h"

#include "catalog/table.h"

/*
 * A statement that writes items for one of the functions.  The derive trigger takes back what would
 * change nothing, and counts it here, so that nobody takes it for what a user's trigger has taken back.
 */
typedef struct DynStatement
{
	Oid relid;
	bool keeps; /* it may leave rows unwritten */
	int depth; /* of the triggers that are running when it begins */
	uint64 kept;
	struct DynStatement *outer; /* triggers may make calls of their own */
} DynStatement;

extern void dyn_statement_begin(DynStatement *statement, const DynTable *table);
extern void dyn_statement_end(const DynStatement *statement);

extern bool dyn_row_unchanged(TupleDesc desc, const Datum *old, const bool *old_nulls,
							  const Datum *new, const bool *new_nulls);
extern void dyn_row_kept(Relation rel, HeapTuple row);
extern bool dyn_statement_keeps(Relation rel, HeapTuple old, HeapTuple new);

#endif
