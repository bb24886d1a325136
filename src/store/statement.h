/*
 * statement.h
 *	  A statement of the direct store, on a table that has more than what is its own: triggers,
 *	  constraints, columns and indexes of others, which it obeys as the executor does.
 *
 * A statement that inserts is an INSERT … ON CONFLICT DO UPDATE, so it is one of updates too.
 *
 * What is called between statement_begin() and statement_end() may run code of users.  The caller
 * holds the row that a call is about in a slot, and nothing half done.
 */
#ifndef DYNAMO_TABLE_STORE_STATEMENT_H
#define DYNAMO_TABLE_STORE_STATEMENT_H

#include "access/tableam.h"
#include "nodes/execnodes.h"
#include "nodes/lockoptions.h"

#include "catalog/key.h"
#include "server/compat.h"

typedef struct StoreStatement StoreStatement;

/* Tells what the triggers before a row have made of it. */
typedef enum BeforeResult
{
	BEFORE_GO_ON,
	BEFORE_KEPT, /* the row is as it was: it stays locked, and is not written */
	BEFORE_SUPPRESSED
} BeforeResult;

extern bool statement_needed(const DynTable *table, CmdType operation);
extern StoreStatement *statement_begin(const DynTable *table, Relation rel, CmdType operation,
									   CommandId command);
extern void statement_end(StoreStatement *statement);

/* These take one row; statement_row() comes first, and frees what the row before it has used. */
extern void statement_row(StoreStatement *statement);
extern void statement_defaults(StoreStatement *statement, TupleTableSlot *slot);
extern BeforeResult statement_before_insert(StoreStatement *statement, const DynKeyValues *key,
											TupleTableSlot *slot);
extern BeforeResult statement_before_update(StoreStatement *statement, ItemPointer tid,
											TupleTableSlot *slot);
extern BeforeResult statement_before_delete(StoreStatement *statement, ItemPointer tid);
extern void statement_check(StoreStatement *statement, CmdType operation, TupleTableSlot *slot);
extern List *statement_add_entries(StoreStatement *statement, TupleTableSlot *slot);
extern List *statement_renew_entries(StoreStatement *statement, TupleTableSlot *slot,
									 UpdateIndexes indexes);
extern void statement_inserted(StoreStatement *statement, TupleTableSlot *slot, List *recheck);
extern void statement_updated(StoreStatement *statement, ItemPointer old, TupleTableSlot *slot,
							  List *recheck);
extern void statement_deleted(StoreStatement *statement, ItemPointer old);
extern LockTupleMode statement_lock_mode(StoreStatement *statement);

#endif
