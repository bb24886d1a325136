/*
 * work.c
 *	  The transactions of a procedure, and the locks that it takes in them.
 *
 * Two procedures on one table keep apart by an advisory lock of the session: of a class that
 * SQL functions cannot name, and held across commits.  It goes with the session, so a crash
 * leaves nothing behind.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/rights.h"
#include "ground/compat.h"
#include "ground/errors.h"
#include "index/index.h"
#include "work/brief_lock.h"

/* Between attempts at a lock that others queue behind. */
#define LOCK_PAUSE 700

/* How long a procedure may take to end. */
#define AWAY_PAUSE 50
#define AWAY_ATTEMPTS 20

/*
 * Begin and end
 */

/*
 * Returns whether an SQL procedure may commit: it runs by CALL, outside of a transaction block and
 * of a subtransaction.
 */
bool
gsi_can_commit(FunctionCallInfo fcinfo)
{
	return fcinfo->context != NULL && IsA(fcinfo->context, CallContext) &&
		   !castNode(CallContext, fcinfo->context)->atomic && !IsSubTransaction();
}

/*
 * Connect to SPI as a procedure that commits.  First of all it is one that may: such a connection's memory
 * is the portal's, so the abort of a subtransaction would free it twice.
 */
void
gsi_connect(const GsiWork *work, FunctionCallInfo fcinfo)
{
	if (!gsi_can_commit(fcinfo))
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("%s cannot run inside a transaction block", work->procedure),
						errhint("It commits many times, so it has to be called by itself.")));
	SPI_connect_ext(SPI_OPT_NONATOMIC);
}

/* The first argument names the table, and the second an index, if it is about one. */
static void
read_names(FunctionCallInfo fcinfo, GsiWork *work)
{
	text *name;

	if (PG_ARGISNULL(0) || (!work->ttl && PG_ARGISNULL(1)))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg(work->ttl ? "table name must not be null"
										 : "table name and index name must not be null")));
	if (work->ttl)
		return;
	name = PG_GETARG_TEXT_P_COPY(1);
	gsi_name(work, (ItemSpan){VARDATA(name), VARSIZE(name) - VARHDRSZ});
}

/* Its DDL is for a table whose rows are its own. */
void
gsi_require_plain_table(Relation rel, const char *what)
{
	const char *table = RelationGetRelationName(rel);

	if (!object_ownercheck(RelationRelationId, RelationGetRelid(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, table);
	if (rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rel->relispartition)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("%s of table \"%s\" cannot be changed", what, table),
						errdetail("It is partitioned, or a partition.")));
}

/* The lock by which procedures on a table keep apart. */
void
gsi_set_lock_tag(LOCKTAG *lock, Oid relid)
{
	SET_LOCKTAG_ADVISORY(*lock, MyDatabaseId, 0, relid, GSI_LOCK_CLASS);
}

static void
take_session_lock(GsiWork *work)
{
	gsi_set_lock_tag(&work->lock, work->relid);
	if (LockAcquire(&work->lock, ExclusiveLock, true, true) == LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("an index of table \"%s\" is being created or dropped by another "
							   "session",
							   work->table)));
	work->locked = true;
}

/*
 * Keep procedures away until the transaction ends, before any lock of the table.  A procedure that
 * is about to end may do so; false if one goes on.
 */
bool
gsi_keep_away(Oid relid)
{
	LOCKTAG lock;

	gsi_set_lock_tag(&lock, relid);
	for (int i = 0; i < AWAY_ATTEMPTS; i++)
	{
		if (i > 0)
			work_sleep(AWAY_PAUSE);
		if (LockAcquire(&lock, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL)
			return true;
	}
	return false;
}

/*
 * Keep all others away for as long as the session lasts: in a gap before ours begins, one who only asks
 * would send it away.  A procedure that is about to end may do so; false if one goes on.
 */
bool
gsi_take_turn(Oid relid)
{
	LOCKTAG lock;

	gsi_set_lock_tag(&lock, relid);
	for (int i = 0; i < AWAY_ATTEMPTS; i++)
	{
		if (i > 0)
			work_sleep(AWAY_PAUSE);
		if (LockAcquire(&lock, ExclusiveLock, true, true) != LOCKACQUIRE_NOT_AVAIL)
			return true;
	}
	return false;
}

static Relation
open_argument(FunctionCallInfo fcinfo, bool by_oid, DynTable **table)
{
	Relation rel;

	if (!by_oid)
		return dyn_table_open(PG_GETARG_TEXT_PP(0), AccessShareLock, table);
	rel = rights_open(PG_GETARG_OID(0), AccessShareLock);
	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("relation %u is not a table of items", PG_GETARG_OID(0))));
	return rel;
}

/*
 * The first transaction, the caller's: look without changing, under a lock that hinders nobody
 * but is too weak for all that follows.  The relation, which the first argument names or is the
 * OID of, is returned open.
 */
Relation
gsi_begin(GsiWork *work, FunctionCallInfo fcinfo, bool by_oid, DynTable **table)
{
	Relation rel;

	read_names(fcinfo, work);
	work->context = CurrentMemoryContext;
	work->transient =
		AllocSetContextCreate(work->context, "dynamo_table index", ALLOCSET_DEFAULT_SIZES);
	rel = open_argument(fcinfo, by_oid, table);
	work->relid = RelationGetRelid(rel);
	work->table = pstrdup(RelationGetRelationName(rel));
	work->temporary = rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP;
	gsi_require_plain_table(rel, work->ttl ? work->what : "indexes");
	take_session_lock(work);
	return rel;
}

/* Also after an error, in whatever state that has left the transaction. */
void
gsi_end(GsiWork *work)
{
	if (work->locked)
		LockRelease(&work->lock, ExclusiveLock, true);
	work->locked = false;
	gsi_leave_place(&work->place);
	pgstat_progress_end_command();
}

/*
 * Transactions
 */

/*
 * Commit, and begin anew with nothing held.  Always READ COMMITTED: each statement has to see
 * what was committed before it, whatever the session's default.
 */
void
gsi_next_transaction(GsiWork *work)
{
	SPI_commit();
	XactIsoLevel = XACT_READ_COMMITTED;
	MemoryContextReset(work->transient);
	MemoryContextSwitchTo(work->transient);
	gsi_progress_show(work);
}

/* The relation, locked by its OID; it may have been renamed, and it may be gone. */
static Relation
open_locked(GsiWork *work, DynTable **table)
{
	Relation rel = try_relation_open(work->relid, NoLock);

	if (rel == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("table \"%s\" was dropped meanwhile", work->table)));
	*table = dyn_schema(rel);
	if (*table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("\"%s\" is no table of items any more", work->table)));
	return rel;
}

/* In a new transaction; a lock that does not hinder writes is waited for like any. */
Relation
gsi_open(GsiWork *work, LOCKMODE mode, DynTable **table)
{
	gsi_next_transaction(work);
	/* before there is a snapshot, which CREATE INDEX CONCURRENTLY would wait for while we do */
	Assert(mode <= RowExclusiveLock);
	LockRelationOid(work->relid, mode);
	return open_locked(work, table);
}

static void
tell_blocked(const GsiWork *work, LOCKMODE mode)
{
	char *blockers = brief_lock_blockers(list_make1_oid(work->relid), mode);

	ereport(NOTICE,
			(errmsg("%s: other transactions still use table \"%s\"", work->what, work->table),
			 blockers == NULL ? 0 : errdetail("%s", blockers)));
}

/*
 * In a new transaction, under a lock that others wait for.  While we queue for it, all who come
 * later queue behind us, so the queue is left again soon; and while we stay away, nothing is held.
 */
Relation
gsi_open_briefly(GsiWork *work, LOCKMODE mode, DynTable **table)
{
	TimestampTz told = GetCurrentTimestamp();

	gsi_next_transaction(work);
	while (!brief_lock_try(work->relid, mode))
	{
		gsi_next_transaction(work);
		if (TimestampDifferenceExceeds(told, GetCurrentTimestamp(), 10000))
		{
			told = GetCurrentTimestamp();
			tell_blocked(work, mode);
		}
		work_sleep(LOCK_PAUSE);
	}
	return open_locked(work, table);
}
