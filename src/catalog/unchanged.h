/*
 * unchanged.h
 *	  What the derive trigger knows of the statement that it runs in, if that is one of a function.
 *
 * Rows that it would leave as they are, are locked, not written.  The whole row is compared, each
 * column by its bytes.  So a row that is older than one of its derived columns, and lacks its
 * value, is written.
 *
 * Users' triggers run before and may change an item, but not its key: the answer would be about an
 * item that is not there.
 */
#ifndef DYNAMO_TABLE_CATALOG_UNCHANGED_H
#define DYNAMO_TABLE_CATALOG_UNCHANGED_H

#include "access/htup.h"

#include "catalog/key.h"

/*
 * This is a statement that writes items for one of the functions.  The derive trigger suppresses an
 * update that would change nothing, and counts it here, so that it is not taken for one that a
 * user's trigger has suppressed.
 */
typedef struct DynStatement
{
	Oid relid;
	bool keeps; /* it may leave rows unwritten */
	bool rules; /* there may be other statements around it */
	CommandId command;
	int depth; /* of running triggers when it begins */
	int nkeys; /* of the items that it inserts, in the order in which it does */
	const DynKeyValues *const *keys;
	int next; /* of the keys, behind the last one that was inserted */
	uint64 kept;
	struct DynStatement *outer; /* triggers may make calls of their own */
} DynStatement;

extern void dyn_statement_begin(DynStatement *statement, const DynTable *table, CommandId command,
								int nkeys, const DynKeyValues *const *keys);
extern void dyn_statement_end(const DynStatement *statement);

extern bool dyn_statement_runs(Relation rel);
extern bool dyn_row_unchanged(TupleDesc desc, const Datum *old, const bool *old_nulls,
							  const Datum *new, const bool *new_nulls);
extern void dyn_row_kept(Relation rel, HeapTuple row);
extern bool dyn_statement_keeps(Relation rel, HeapTuple old, HeapTuple new);
extern void dyn_statement_check_inserted(Relation rel, const DynTable *table,
										 const DynKeyValues *key);
extern void dyn_statement_check_updated(Relation rel, const DynTable *table);

#endif
