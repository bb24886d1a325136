/*
 * procedure.h
 *	  Procedures that commit: how they begin, their transactions, and taking turns at a table.
 *
 * Such a procedure is called by itself, outside of a transaction block:
 *
 *		procedure_connect(fcinfo, name)					instead of SPI_connect()
 *		PG_TRY
 *			rel = …;									in the caller's transaction
 *			if (!procedure_begin(&procedure, rel)) error	another session has the turn
 *			relation_close(rel, NoLock);
 *			rel = procedure_open_briefly(&procedure, mode);	each of these commits first
 *			…
 *		PG_FINALLY
 *			procedure_end(&procedure)
 *		SPI_finish()
 *
 * One that does not keep others away from a table uses procedure_connect() and procedure_commit()
 * only.
 */
#ifndef DYNAMO_TABLE_SERVER_WORK_PROCEDURE_H
#define DYNAMO_TABLE_SERVER_WORK_PROCEDURE_H

#include "fmgr.h"
#include "nodes/pg_list.h"
#include "storage/lock.h"
#include "utils/relcache.h"

/*
 * The extension's advisory locks have this class; SQL functions have the classes 1 and 2.  Jobs and
 * migrations have classes of their own.
 */
#define PROCEDURE_LOCK_CLASS 0x4459

/* A Procedure is what one that works on a table knows from one transaction to the next. */
typedef struct Procedure
{
	const char *name; /* of what the user called */
	const char *what; /* it works on, for messages */
	Oid relid;
	const char *table; /* its name, for messages */
	MemoryContext context; /* outlives transactions */
	MemoryContext transient; /* emptied by each transaction */
	void (*begun)(struct Procedure *procedure); /* called in each new transaction, unless NULL */
	List *(*also)(Oid relid); /* relations to be locked before the table, for
	                           * procedure_open_briefly(); NULL: none */
	bool has_turn;
} Procedure;

extern bool procedure_can_commit(FunctionCallInfo fcinfo);
extern void procedure_require_commit(FunctionCallInfo fcinfo, const char *name);
extern void procedure_connect(FunctionCallInfo fcinfo, const char *name);
extern void procedure_commit(MemoryContext transient);
extern void procedure_commit_lazily(void);

extern bool procedure_begin(Procedure *procedure, Relation rel);
extern void procedure_end(Procedure *procedure);
extern void procedure_next_transaction(Procedure *procedure);
extern Relation procedure_open(Procedure *procedure, LOCKMODE mode);
extern Relation procedure_open_briefly(Procedure *procedure, LOCKMODE mode);

extern bool procedure_is_at_work(Oid relid);
extern bool procedure_await_turn(Oid relid, bool session);

#endif
