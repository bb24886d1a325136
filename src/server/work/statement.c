/*
 * statement.c
 *	  Statements that run in no function: a background worker of our own runs one.
 *
 * The worker is a session like the caller's: it connects as the caller's session user, with the
 * caller's role and some settings, and has no rights beyond that.  What it has to say comes back
 * through a queue in shared memory, as with parallel workers; that includes why it could not
 * connect.  Meanwhile the caller holds nothing but its session's lock, as the statement may wait
 * for everybody's snapshots and locks.  If the caller goes, the worker goes first.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "executor/spi.h"
#include "libpq/pqformat.h"
#include "libpq/pqmq.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

#include "server/compat.h"
#include "server/errors.h"
#include "server/work/background.h"
#include "server/work/brief_lock.h"
#include "server/work/statement.h"

#define QUEUE_SIZE 16384
#define MESSAGE_DONE 'Z'
#define MAX_SETTING 256

/* So many milliseconds are between two looks whether there is a place. */
#define PLACE_PAUSE 200

/* These matter to the statements that are run, and are the caller's to choose. */
static const char *const settings[] = {"maintenance_work_mem", "max_parallel_maintenance_workers",
									   "default_tablespace",   "vacuum_cost_delay",
									   "vacuum_cost_limit",    "default_transaction_read_only"};

/* A WorkerRequest is at the start of the segment; the queue follows the statement. */
typedef struct WorkerRequest
{
	Oid database;
	Oid session_user;
	Oid role; /* InvalidOid: the session user itself */
	char settings[lengthof(settings)][MAX_SETTING];
	Size queue;
	char sql[FLEXIBLE_ARRAY_MEMBER];
} WorkerRequest;

/*
 * The caller
 */

/*
 * Sets the session user and the role of a worker for this session.  A session that has set a role may
 * set it back, and so may its worker.  But code that runs with another role's rights (a SECURITY
 * DEFINER function, a function of an index that is analyzed) has only these rights: a worker that it
 * starts must not have those of the session that called it.
 */
void
statement_user(Oid *session_user, Oid *role)
{
	bool lent = InLocalUserIdChange() || InSecurityRestrictedOperation();

	*session_user = lent ? GetUserId() : GetSessionUserId();
	*role = GetUserId() == *session_user ? InvalidOid : GetUserId();
}

static dsm_segment *
make_request(const char *sql)
{
	Size queue = MAXALIGN(offsetof(WorkerRequest, sql) + strlen(sql) + 1);
	dsm_segment *segment = dsm_create(queue + QUEUE_SIZE, 0);
	WorkerRequest *request = dsm_segment_address(segment);
	shm_mq *mq;

	request->database = MyDatabaseId;
	statement_user(&request->session_user, &request->role);
	for (int i = 0; i < lengthof(settings); i++)
		strlcpy(request->settings[i], GetConfigOption(settings[i], false, false), MAX_SETTING);
	request->queue = queue;
	strcpy(request->sql, sql);
	mq = shm_mq_create((char *) request + queue, QUEUE_SIZE);
	shm_mq_set_receiver(mq, MyProc);
	return segment;
}

/* Starts the worker; returns NULL if there is no free slot. */
static BackgroundWorkerHandle *
start_worker(const Procedure *procedure, dsm_segment *segment)
{
	BackgroundWorkerHandle *handle;
	BackgroundWorker worker;

	background_describe(&worker, STATEMENT_WORKER, "dyn_statement_main",
						UInt32GetDatum(dsm_segment_handle(segment)));
	snprintf(worker.bgw_name, BGW_MAXLEN, "dynamo_table: index of table %s, for PID %d",
			 procedure->table, MyProcPid);
	return RegisterDynamicBackgroundWorker(&worker, &handle) ? handle : NULL;
}

/* Stops the worker, not to be interrupted: the session that waits was interrupted already. */
static void
stop_worker(int code, Datum arg)
{
	BackgroundWorkerHandle *handle = (BackgroundWorkerHandle *) DatumGetPointer(arg);

	HOLD_INTERRUPTS();
	TerminateBackgroundWorker(handle);
	WaitForBackgroundWorkerShutdown(handle);
	RESUME_INTERRUPTS();
}

/*
 * Raises the worker's error as our own; a FATAL one becomes an ERROR.  Returns true for a deadlock
 * with a transaction that the statement waited for: the caller then looks what there is, and begins
 * again.
 */
static bool
raise_error(StringInfo message)
{
	ErrorData error;

	pq_parse_errornotice(message, &error);
	if (error.elevel < ERROR)
		return false;
	if (error.sqlerrcode == ERRCODE_T_R_DEADLOCK_DETECTED)
		return true;
	error.elevel = ERROR;
	if (error.sqlerrcode == ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION && error.hint == NULL)
		error.hint = pstrdup("The statement is run by a background worker that connects as the "
							 "session's user.");
	ThrowErrorData(&error);
	return true;
}

static bool
handle_message(void *data, Size len)
{
	StringInfoData message;
	char type;
	bool done;

	initStringInfo(&message);
	appendBinaryStringInfo(&message, data, (int) len);
	type = (char) pq_getmsgbyte(&message);
	done = type == MESSAGE_DONE || (type == 'E' && raise_error(&message));
	pfree(message.data);
	return done;
}

static void
listen_to_worker(const Procedure *procedure, shm_mq_handle *queue)
{
	bool done = false;
	void *data;
	Size len;

	while (shm_mq_receive(queue, &len, &data, false) == SHM_MQ_SUCCESS)
		done |= handle_message(data, len);
	if (!done)
		ereport(ERROR, (errcode(ERRCODE_OPERATOR_INTERVENTION),
						errmsg("the background worker for %s ended early", procedure->what),
						errhint("See the server's log, and call %s again.", procedure->name)));
}

/* Runs the statement in a worker, while the session has a place. */
static bool
run_in_worker(const Procedure *procedure, const char *sql)
{
	dsm_segment *segment = make_request(sql);
	BackgroundWorkerHandle *handle = start_worker(procedure, segment);
	shm_mq_handle *queue;

	if (handle == NULL)
	{
		dsm_detach(segment);
		return false;
	}
	queue = shm_mq_attach((shm_mq *) ((char *) dsm_segment_address(segment) +
									  ((WorkerRequest *) dsm_segment_address(segment))->queue),
						  segment, handle);
	/* the catalogs that were looked at are a snapshot too */
	InvalidateCatalogSnapshot();
	Assert(!ActiveSnapshotSet());
	PG_ENSURE_ERROR_CLEANUP(stop_worker, PointerGetDatum(handle));
	{
		listen_to_worker(procedure, queue);
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_worker, PointerGetDatum(handle));
	WaitForBackgroundWorkerShutdown(handle);
	dsm_detach(segment);
	return true;
}

static bool
run_in_place(const Procedure *procedure, Place *place, const char *sql)
{
	bool done = run_in_worker(procedure, sql);

	place_leave(place);
	return done;
}

/*
 * Runs a statement in a worker and waits for its end, or until it has met a deadlock, in a transaction
 * that has no lock and no snapshot.  Returns false if there is no place, or no worker, to be had.
 * After an error the caller gives up the place.
 */
bool
statement_try(const Procedure *procedure, Place *place, const char *sql)
{
	return place_try(GetUserId(), place) && run_in_place(procedure, place, sql);
}

/* Wait for a place, holding nothing but the session's lock. */
static void
await_place(const Procedure *procedure, Place *place)
{
	bool told = false;

	while (!place_try(GetUserId(), place))
	{
		if (!told)
			ereport(NOTICE, (errmsg("%s: waiting for one of the %d workers for indexes",
									procedure->what, dyn_max_index_workers)));
		told = true;
		InvalidateCatalogSnapshot();
		work_sleep(PLACE_PAUSE);
	}
}

/* These say whether this background worker runs such statements itself, and which comes next. */
static bool runs_statements = false;
static char *next_statement = NULL;

/*
 * Returns whether this process is a background worker that calls procedures by statement_call().
 * There statement_run() raises an error, after which the worker runs the statement and calls
 * again.
 */
bool
statement_runs_here(void)
{
	return runs_statements;
}

/* Waits for a place and runs the statement, which could otherwise only be run by hand. */
void
statement_run(const Procedure *procedure, Place *place, const char *sql)
{
	if (runs_statements)
	{
		next_statement = MemoryContextStrdup(TopMemoryContext, sql);
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("%s needs a statement of its own", procedure->name)));
	}
	await_place(procedure, place);
	if (!run_in_place(procedure, place, sql))
		ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
						errmsg("no background worker is free for %s", procedure->what),
						errhint("Increase max_worker_processes, or run this and call %s again: %s",
								procedure->name, sql)));
}

/*
 * The worker
 */

static void
connect_as_caller(const WorkerRequest *request)
{
	background_connect(request->database, request->session_user, request->role);
	StartTransactionCommand();
	for (int i = 0; i < lengthof(settings); i++)
		SetConfigOption(settings[i], request->settings[i], PGC_USERSET, PGC_S_SESSION);
	/* waiting is what a concurrent build does */
	SetConfigOption("lock_timeout", "0", PGC_USERSET, PGC_S_SESSION);
	CommitTransactionCommand();
}

/* Runs a statement as the server runs one that comes alone. */
static void
run_statement(const char *sql)
{
	RawStmt *raw = linitial_node(RawStmt, pg_parse_query(sql));
	DestReceiver *receiver = CreateDestReceiver(DestNone);
	QueryCompletion completion;
	List *statements;
	Portal portal;

	statements = pg_plan_queries(pg_analyze_and_rewrite_fixedparams(raw, sql, NULL, 0, NULL), sql,
								 CURSOR_OPT_PARALLEL_OK, NULL);
	portal = CreatePortal("", true, true);
	portal->visible = false;
	PortalDefineQuery(portal, NULL, sql, CreateCommandTag(raw->stmt), statements, NULL);
	PortalStart(portal, NULL, 0, InvalidSnapshot);
	portal_run(portal, receiver, &completion);
	receiver->rDestroy(receiver);
	PortalDrop(portal, false);
}

/*
 * Runs one SQL statement in a background worker as if a client had sent it, in a transaction that
 * begins and commits here.  sql must outlive that transaction; it stays as debug_query_string.
 */
void
statement_run_here(const char *sql)
{
	MemoryContext context =
		AllocSetContextCreate(TopMemoryContext, "dynamo_table worker", ALLOCSET_DEFAULT_SIZES);

	debug_query_string = sql;
	pgstat_report_activity(STATE_RUNNING, sql);
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	/* the statement commits, so what it is made of must not go with a transaction */
	MemoryContextSwitchTo(context);
	run_statement(sql);
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);
}

/*
 * Calls a procedure in a worker that runs by itself the statements for which the procedure would start
 * another worker.  Returns false if there is such a statement: the caller runs it and then calls the
 * procedure again, which finds what the statement has done.
 */
bool
statement_call(const char *sql, char **statement)
{
	runs_statements = true;
	next_statement = NULL;
	PG_TRY();
	{
		statement_run_here(sql);
	}
	PG_CATCH();
	{
		if (next_statement == NULL)
			PG_RE_THROW();
		background_abort(TopMemoryContext);
	}
	PG_END_TRY();
	*statement = next_statement;
	return next_statement == NULL;
}

/*
 * This is the entry point of the background worker that runs one statement for a session, with that
 * session's role and settings.  handle names the shared memory that holds the statement and a queue
 * for the messages.
 */
void
dyn_statement_main(Datum handle)
{
	dsm_segment *segment;
	WorkerRequest *request;
	const char done = MESSAGE_DONE;
	shm_mq_handle *queue;
	shm_mq *mq;

	background_start();
	segment = dsm_attach(DatumGetUInt32(handle));
	if (segment == NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("the session that wanted a statement run is gone")));
	request = dsm_segment_address(segment);
	mq = (shm_mq *) ((char *) request + request->queue);
	shm_mq_set_sender(mq, MyProc);
	queue = shm_mq_attach(mq, segment, NULL);
	pq_redirect_to_shm_mq(segment, queue);
	connect_as_caller(request);
	statement_run_here(request->sql);
	(void) shm_mq_send(queue, 1, &done, false, true);
	dsm_detach(segment);
}
