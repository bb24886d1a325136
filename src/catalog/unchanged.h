/*
 * unchanged.h
 *	  Rows that a write by the functions would leave as they are: they are locked, not written.
 *
 * The whole row is compared, each column by its bytes.  So a row that is older than one of its
 * derived columns, and lacks its value, is written.
 */
#ifndef DYNAMO_TABLE_CATALOG_UNCHANGED_H
#define DYNAMO_TABLE_CATALOG_UNCHANGED_H

#include "access/htup.h"

#include "catalog/table.h"

/*
 * A statement that writes items for one of the functions.  The derive trigger suppresses an update
 * that would change nothing, and counts it here, so that it is not taken for one that a user's
 * trigger has suppressed.
 */
typedef struct DynStatement
{
	Oid relid;
	bool keeps; /* it may leave rows unwritten */
	int depth; /* depth of running triggers when it begins */
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
