/*
 * later.c
 *	  Procedures that begin when a transaction has committed.
 *
 * A function cannot commit, so it declares the wanted state of an index and leaves the rest to a
 * background worker, a session like the caller's.  The worker is registered when the transaction
 * has committed, at a moment at which nothing may fail: all that it is given fits into its slot.
 * It finds what to do in the table's schema, and so does a later call if there is no worker, or if
 * the worker fails.  If there is no place for it, it ends at once; the request waits (queue.c), and
 * each worker that gives up its place has those that wait started.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "server/errors.h"
#include "server/extension.h"
#include "server/work/background.h"
#include "services/index/index.h"
#include "services/index/queue.h"

typedef struct Pending
{
	IndexBuildRequest request;
	char *table;
	const char *what;
	char *statement; /* which does the same */
} Pending;

StaticAssertDecl(sizeof(IndexBuildRequest) <= BGW_EXTRALEN, "a worker's slot is too small");

static List *pending = NIL; /* of the transaction, in its memory */

/* Returns false if there is no worker to be had. */
bool
index_build_start_request(const IndexBuildRequest *request, const char *table)
{
	BackgroundWorker worker;

	background_describe(&worker, STATEMENT_WORKER, "dyn_index_later_main", (Datum) 0);
	snprintf(worker.bgw_name, BGW_MAXLEN, "dynamo_table: indexes of table %s", table);
	memcpy(worker.bgw_extra, request, sizeof(IndexBuildRequest));
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

static bool
start_worker(const Pending *what)
{
	return index_build_start_request(&what->request, what->table);
}

static void
later_warn(const Pending *what, const char *why)
{
	ereport(WARNING, (errmsg("%s to go on with %s of table \"%s\"", why, what->what, what->table),
					  errdetail("The transaction has only declared what is to be done."),
					  errhint("Run %s.", what->statement)));
}

static void
end_of_transaction(XactEvent event, void *arg)
{
	ListCell *cell;

	if (pending == NIL || event == XACT_EVENT_PRE_COMMIT)
		return;
	foreach (cell, pending)
	{
		if (event == XACT_EVENT_COMMIT && !start_worker(lfirst(cell)))
			later_warn(lfirst(cell), "no background worker is free");
		/* its commit comes in another session, perhaps */
		if (event == XACT_EVENT_PRE_PREPARE)
			later_warn(lfirst(cell), "a prepared transaction starts no background worker");
	}
	pending = NIL;
}

/* Refuses a request that no worker can connect for, which would stay at its beginning. */
static void
check_may_log_in(Oid session_user)
{
	HeapTuple tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(session_user));
	bool may_log_in;

	if (!HeapTupleIsValid(tuple))
		return;
	may_log_in = ((Form_pg_authid) GETSTRUCT(tuple))->rolcanlogin;
	ReleaseSysCache(tuple);
	if (!may_log_in && WORKER_NEEDS_LOGIN)
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("role \"%s\" is not permitted to log in",
					GetUserNameFromId(session_user, false)),
			 errdetail("Before PostgreSQL 17 a background worker cannot connect as such a role."),
			 errhint("Give the role the LOGIN attribute.")));
}

/* Has a worker go on with an index after the commit.  The caller is connected to SPI. */
void
index_build_resume_later(const IndexBuild *work, const DynTable *table)
{
	static bool registered = false;
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Pending *what = palloc0(sizeof(Pending));

	if (!registered)
		RegisterXactCallback(end_of_transaction, NULL);
	registered = true;
	what->request.database = MyDatabaseId;
	statement_user(&what->request.session_user, &what->request.role);
	check_may_log_in(what->request.session_user);
	what->request.relid = table->relid;
	what->table = pstrdup(work->procedure.table);
	what->what = work->ttl ? "time to live" : "the index";
	what->statement = dyn_resume_call(quote_literal_cstr(table->qualified),
									  work->ttl ? (ItemSpan){NULL, 0} : work->name);
	pending = lappend(pending, what);
	MemoryContextSwitchTo(old);
	index_build_enqueue(&what->request);
	/* should the worker not come, or not come to its end */
	launcher_wake();
}

/*
 * The worker
 */

/* Returns the calls that a table's schema asks for. */
static List *
calls_for(const DynTable *table)
{
	const char *relid = psprintf("%u", table->relid);
	List *calls = NIL;

	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];

		if (index->status != DYN_INDEX_ACTIVE)
			calls = lappend(calls, dyn_resume_call(relid, index->name));
	}
	for (int i = 0; i < table->nvectors; i++)
	{
		if (!dyn_vector_is_built(&table->vectors[i]))
			calls = lappend(calls, dyn_resume_call(relid, table->vectors[i].index.name));
	}
	if (table->ttl != NULL && table->ttl->status != DYN_INDEX_ACTIVE)
		calls = lappend(calls, dyn_resume_call(relid, (ItemSpan){NULL, 0}));
	return calls;
}

/* Returns these calls in the memory that outlives the transaction. */
static List *
find_calls(Oid relid, MemoryContext context)
{
	List *calls = NIL;
	DynTable *table;
	Relation rel;

	background_begin();
	rel = try_relation_open(relid, AccessShareLock);
	table = rel == NULL ? NULL : dyn_schema(rel);
	if (table != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		calls = calls_for(table);
		MemoryContextSwitchTo(old);
	}
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	background_commit();
	return calls;
}

/*
 * Makes a call.  Each statement of its own that it needs comes before its next attempt, which
 * begins again where it has met a deadlock.
 */
static void
go_on(const char *call)
{
	char *statement;

	while (!statement_call(call, &statement))
	{
		PG_TRY();
		{
			statement_run_here(statement);
		}
		PG_CATCH();
		{
			if (geterrcode() != ERRCODE_T_R_DEADLOCK_DETECTED)
				PG_RE_THROW();
			background_abort(TopMemoryContext);
		}
		PG_END_TRY();
	}
}

/* Ends the request by an error: it would come again. */
static void
later_fail(Oid relid)
{
	EmitErrorReport();
	background_abort(TopMemoryContext);
	index_build_dequeue(relid);
	proc_exit(1);
}

static void
work_on(const IndexBuildRequest *request)
{
	List *calls;
	ListCell *cell;

	PG_TRY();
	{
		calls = find_calls(request->relid, TopMemoryContext);
		foreach (cell, calls)
			go_on(lfirst(cell));
	}
	PG_CATCH();
	{
		later_fail(request->relid);
	}
	PG_END_TRY();
	index_build_dequeue(request->relid);
}

/* Starts the next one once the locks are gone, whatever ends the worker but a crash. */
static void
start_next(int code, Datum database)
{
	IndexBuildRequest next = {.database = DatumGetObjectId(database)};

	(void) index_build_start_request(&next, "requests that wait");
}

/*
 * Returns false if all places are taken, or another session has the table locked; the request is
 * tried again later.
 */
static bool
later_begin(const IndexBuildRequest *request)
{
	if (!place_take_own())
	{
		if (request->noted)
			index_build_count_attempt(request->relid, -1);
		return false;
	}
	on_shmem_exit(start_next, ObjectIdGetDatum(MyDatabaseId));
	/*
	 * The transaction that started us has committed, but may hold its locks for a moment more.  The
	 * turn is ours to the end: in a gap before our procedure begins, a session that only asks for
	 * it would send that away.
	 */
	if (!procedure_await_turn(request->relid, true))
		return false;
	if (!request->noted)
		index_build_count_attempt(request->relid, 1);
	return true;
}

/*
 * Enters the background worker that goes on with a request, which is in its slot's extra data.  A
 * request without a session user only has the workers of other requests started.
 */
void
dyn_index_later_main(Datum unused)
{
	static const char *const settings[][2] = {{"lock_timeout", "0"}};
	IndexBuildRequest request;

	background_start();
	memcpy(&request, MyBgworkerEntry->bgw_extra, sizeof(IndexBuildRequest));
	background_connect(request.database, request.session_user, request.role);
	if (!OidIsValid(request.session_user))
		(void) index_build_start_waiting();
	else
	{
		/* waiting is what a concurrent build does */
		background_settings(settings, lengthof(settings));
		if (later_begin(&request))
			work_on(&request);
	}
}
