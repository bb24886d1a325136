/*
 * procedure.c
 *	  Procedures that commit: how they begin, their transactions, and taking turns at a table.
 *
 * Two procedures on one table keep apart by an advisory lock of the session, the turn: of a class
 * that SQL functions cannot name, and held across commits.  It goes with the session, so a crash
 * leaves nothing behind.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "server/errors.h"
#include "server/work/brief_lock.h"
#include "server/work/procedure.h"

/* So many milliseconds are between two attempts at a lock that others queue behind. */
#define LOCK_PAUSE 700

/* The user is told so often who is in the way, in milliseconds. */
#define TELL_BLOCKED 10000

/* A procedure that has the turn may take so long to end. */
#define TURN_PAUSE 50
#define TURN_ATTEMPTS 20

/*
 * Transactions
 */

/*
 * Returns whether an SQL procedure may commit: it runs by CALL, outside of a transaction block and
 * of a subtransaction.
 */
bool
procedure_can_commit(FunctionCallInfo fcinfo)
{
	return fcinfo->context != NULL && IsA(fcinfo->context, CallContext) &&
		   !castNode(CallContext, fcinfo->context)->atomic && !IsSubTransaction();
}

/* Raises ERRCODE_ACTIVE_SQL_TRANSACTION unless the procedure may commit. */
void
procedure_require_commit(FunctionCallInfo fcinfo, const char *name)
{
	if (!procedure_can_commit(fcinfo))
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("%s cannot run inside a transaction block", name),
						errhint("It commits many times, so it has to be called by itself.")));
}

/*
 * Connects to SPI as a procedure that commits, or raises ERRCODE_ACTIVE_SQL_TRANSACTION if it may
 * not.  In a subtransaction no such connection may be made: its memory is the portal's, so the
 * abort of the subtransaction would free it twice.
 */
void
procedure_connect(FunctionCallInfo fcinfo, const char *name)
{
	procedure_require_commit(fcinfo, name);
	SPI_connect_ext(SPI_OPT_NONATOMIC);
}

/*
 * Commits, and begins a transaction in which nothing is held.  It is READ COMMITTED, whatever the
 * session's default: each statement has to see what was committed before it.  Unless transient is
 * NULL, it is emptied and becomes the current memory context.
 */
void
procedure_commit(MemoryContext transient)
{
	SPI_commit();
	XactIsoLevel = XACT_READ_COMMITTED;
	if (transient == NULL)
		return;
	MemoryContextReset(transient);
	MemoryContextSwitchTo(transient);
}

/*
 * Lets the commit of the current transaction not wait for the disk.  For work that is done again if a
 * crash loses it.
 */
void
procedure_commit_lazily(void)
{
	set_config_option("synchronous_commit", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL,
					  true, 0, false);
}

/*
 * Turns
 */

static void
set_turn_tag(LOCKTAG *tag, Oid relid)
{
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, 0, relid, PROCEDURE_LOCK_CLASS);
}

/* Takes the turn; returns false if another session has it. */
static bool
try_turn(Oid relid, bool session)
{
	LOCKTAG tag;

	set_turn_tag(&tag, relid);
	return LockAcquire(&tag, ExclusiveLock, session, true) != LOCKACQUIRE_NOT_AVAIL;
}

static void
leave_turn(Oid relid)
{
	LOCKTAG tag;

	set_turn_tag(&tag, relid);
	LockRelease(&tag, ExclusiveLock, true);
}

/* Returns whether another session works on the table. */
bool
procedure_is_at_work(Oid relid)
{
	if (!try_turn(relid, true))
		return true;
	leave_turn(relid);
	return false;
}

/*
 * Keeps procedures away from a table until the transaction ends, or for as long as the session
 * lasts.  It comes before any lock of the table.  A procedure that is about to end is waited for
 * for a second; returns false if one goes on.
 */
bool
procedure_await_turn(Oid relid, bool session)
{
	for (int i = 0; i < TURN_ATTEMPTS; i++)
	{
		if (i > 0)
			work_sleep(TURN_PAUSE);
		if (try_turn(relid, session))
			return true;
	}
	return false;
}

/*
 * Procedures on one table
 */

/*
 * Begins work on a table, in the caller's transaction, which has it open.  The name and what it
 * works on are set by the caller.  The current memory context must outlive transactions.  Returns
 * false if another session has the turn.
 */
bool
procedure_begin(Procedure *procedure, Relation rel)
{
	procedure->relid = RelationGetRelid(rel);
	procedure->table = pstrdup(RelationGetRelationName(rel));
	procedure->context = CurrentMemoryContext;
	procedure->transient =
		AllocSetContextCreate(procedure->context, "dynamo_table procedure", ALLOCSET_DEFAULT_SIZES);
	procedure->has_turn = try_turn(procedure->relid, true);
	return procedure->has_turn;
}

/* Gives up the turn if there is one; also after an error, whatever state the transaction is in. */
void
procedure_end(Procedure *procedure)
{
	if (procedure->has_turn)
		leave_turn(procedure->relid);
	procedure->has_turn = false;
}

/* Commits, see procedure_commit().  The current memory context becomes procedure->transient. */
void
procedure_next_transaction(Procedure *procedure)
{
	procedure_commit(procedure->transient);
	if (procedure->begun != NULL)
		procedure->begun(procedure);
}

/* Opens the table by its OID: it may have been renamed, and it may be gone. */
static Relation
open_locked(const Procedure *procedure)
{
	Relation rel = try_relation_open(procedure->relid, NoLock);

	if (rel == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("table \"%s\" was dropped meanwhile", procedure->table)));
	return rel;
}

/*
 * Opens the table in a new transaction, under a lock that does not hinder writes and is waited for
 * like any.  Raises ERRCODE_DYN_RESOURCE_NOT_FOUND if it was dropped.
 */
Relation
procedure_open(Procedure *procedure, LOCKMODE mode)
{
	procedure_next_transaction(procedure);
	/* before there is a snapshot, which CREATE INDEX CONCURRENTLY would wait for while we do */
	Assert(mode <= RowExclusiveLock);
	LockRelationOid(procedure->relid, mode);
	return open_locked(procedure);
}

/* Returns what is locked together, in the order of a reader's locks. */
static List *
wanted_locks(const Procedure *procedure)
{
	List *also = procedure->also == NULL ? NIL : procedure->also(procedure->relid);

	return lappend_oid(also, procedure->relid);
}

static void
tell_blocked(const Procedure *procedure, LOCKMODE mode)
{
	char *blockers = brief_lock_blockers(wanted_locks(procedure), mode);

	ereport(NOTICE, (errmsg("%s: other transactions still use table \"%s\"", procedure->what,
							procedure->table),
					 blockers == NULL ? 0 : errdetail("%s", blockers)));
}

/*
 * Does the same under a lock that others wait for.  While we queue for it, all who come later queue
 * behind us, so the queue is left again soon; and while we stay away, nothing is held.
 */
Relation
procedure_open_briefly(Procedure *procedure, LOCKMODE mode)
{
	TimestampTz told = GetCurrentTimestamp();

	procedure_next_transaction(procedure);
	while (!brief_lock_try_all(wanted_locks(procedure), mode))
	{
		procedure_next_transaction(procedure);
		if (TimestampDifferenceExceeds(told, GetCurrentTimestamp(), TELL_BLOCKED))
		{
			told = GetCurrentTimestamp();
			tell_blocked(procedure, mode);
		}
		work_sleep(LOCK_PAUSE);
	}
	return open_locked(procedure);
}
