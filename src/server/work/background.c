/*
 * background.c
 *	  What all background workers of the extension have in common.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "server/compat.h"
#include "server/quiet.h"
#include "server/work/background.h"

/*
 * Fills in the description of a worker that is connected to a database.  The process that registers
 * it is told when the worker starts and ends, and nobody starts it again.
 */
void
background_describe(BackgroundWorker *worker, const char *type, const char *function,
					Datum argument)
{
	memset(worker, 0, sizeof(BackgroundWorker));
	strlcpy(worker->bgw_name, type, BGW_MAXLEN);
	strlcpy(worker->bgw_type, type, BGW_MAXLEN);
	strlcpy(worker->bgw_library_name, "dynamo_table", sizeof(worker->bgw_library_name));
	strlcpy(worker->bgw_function_name, function, sizeof(worker->bgw_function_name));
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker->bgw_restart_time = BGW_NEVER_RESTART;
	worker->bgw_main_arg = argument;
	worker->bgw_notify_pid = MyProcPid;
}

/* Sets up the signals of a worker.  This is the first thing that it does. */
void
background_start(void)
{
	quiet_begin(QUIET_WORKER);
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
}

/* Connects to a database.  role is InvalidOid for the session user itself. */
void
background_connect(Oid database, Oid session_user, Oid role)
{
	BackgroundWorkerInitializeConnectionByOid(database, session_user, WORKER_CONNECTION_FLAGS);
	SetClientEncoding(GetDatabaseEncoding());
	StartTransactionCommand();
	if (OidIsValid(role))
		SetConfigOption("role", GetUserNameFromId(role, false), PGC_USERSET, PGC_S_SESSION);
	CommitTransactionCommand();
}

/*
 * Sets settings of the session, whatever those of the database and its roles are.  A setting that
 * this version of the server does not have is left out.
 */
void
background_settings(const char *const (*values)[2], int n)
{
	SetConfigOption("application_name", MyBgworkerEntry->bgw_name, PGC_USERSET, PGC_S_SESSION);
	for (int i = 0; i < n; i++)
		if (GetConfigOption(values[i][0], true, false) != NULL)
			SetConfigOption(values[i][0], values[i][1], PGC_USERSET, PGC_S_SESSION);
}

/* Ends the worker if it is told to, and reads the configuration if that has changed. */
void
background_heed(void)
{
	CHECK_FOR_INTERRUPTS();
	if (!ConfigReloadPending)
		return;
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
}

/* Waits until the process is woken, or for so long, and does what background_heed() does. */
void
background_wait(long milliseconds, const char *event)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds,
					 custom_wait_event(event));
	ResetLatch(MyLatch);
	background_heed();
}

/* Begins a transaction, with a snapshot. */
void
background_begin(void)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
}

/* Commits what background_begin() has begun. */
void
background_commit(void)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
}

/*
 * Gets over an error, in a PG_CATCH(): whatever goes on is aborted, and the memory context becomes
 * the one that is given.
 */
void
background_abort(MemoryContext context)
{
	HOLD_INTERRUPTS();
	AbortOutOfAnyTransaction();
	MemoryContextSwitchTo(context);
	FlushErrorState();
	RESUME_INTERRUPTS();
}

/*
 * Returns whether somebody drops, renames or copies a database.  Whoever does so has it locked, and
 * waits for not more than five seconds until all others have left it.  A worker that connects to it
 * meanwhile hangs.
 */
bool
background_is_locked(Oid database)
{
	bool outside = !IsTransactionState();
	bool locked;
	LOCKTAG tag;

	/* the lock that a session takes to connect, and gives up then */
	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	if (outside)
		StartTransactionCommand();
	locked = LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL;
	if (!locked)
		LockRelease(&tag, RowExclusiveLock, false);
	if (outside)
		CommitTransactionCommand();
	return locked;
}
