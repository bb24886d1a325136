/*
 * queue.c
 *	  What transactions have begun and background workers are to go on with.
 *
 * It is a row for each table in a table of the extension's own (server/work/owned.c), written by the
 * transaction itself: it says for whom a worker is to work.  What is to be done is in the table's
 * schema.  The row is there until the worker has ended its work, by success or by an error, so what
 * waits for a place, or was cut off by a crash, is found again: by each worker that gives up its
 * place, and where the library is preloaded by visits of the database, too.
 *
 * A worker that was cut off is started again later each time: it may be what has taken the server
 * down.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "server/extension.h"
#include "server/sql.h"
#include "server/work/background.h"
#include "server/work/owned.h"
#include "services/index/index.h"
#include "services/index/queue.h"

#define QUEUE_TABLE "index_requests"

/* Queues a request in the transaction that has declared it, connected to SPI. */
void
index_build_enqueue(const IndexBuildRequest *request)
{
	owned_execute(QUEUE_TABLE,
				  "INSERT INTO " DYN_INTERNAL "." QUEUE_TABLE " (relation, session_role, role)"
				  " VALUES ($1, $2, $3) ON CONFLICT (relation) DO UPDATE SET"
				  " session_role = EXCLUDED.session_role, role = EXCLUDED.role, attempts = 0,"
				  " requested_at = EXCLUDED.requested_at, begun_at = NULL",
				  SQL_VALUES(SQL_OID(request->relid), SQL_OID(request->session_user),
							 SQL_OID(request->role)));
}

/*
 * Each in a transaction of its own
 */

/* Returns the extension's schema, or InvalidOid. */
static bool
begin_change(void)
{
	background_begin();
	SPI_connect();
	return extension_installed();
}

static void
end_change(void)
{
	SPI_finish();
	/* what comes next may take the server down */
	ForceSyncCommit();
	background_commit();
}

/*
 * Counts an attempt at the request of a table, with change 1, and notes when it began.  With -1 it
 * takes back an attempt that found no place for a worker.  If there is no request, or if it is
 * locked because another session makes it again, nothing is done.  Called outside of a transaction;
 * commits one of its own.
 */
void
index_build_count_attempt(Oid relid, int change)
{
	bool installed = begin_change();

	if (installed)
		owned_execute(QUEUE_TABLE,
					  "UPDATE " DYN_INTERNAL "." QUEUE_TABLE " SET attempts ="
					  " GREATEST(attempts OPERATOR(pg_catalog.+) $2, 0), begun_at ="
					  " CASE WHEN $2 OPERATOR(pg_catalog.>) 0 THEN pg_catalog.clock_timestamp() END"
					  " WHERE relation OPERATOR(pg_catalog.=) (SELECT relation FROM " DYN_INTERNAL
					  "." QUEUE_TABLE
					  " WHERE relation OPERATOR(pg_catalog.=) $1 FOR UPDATE SKIP LOCKED)",
					  SQL_VALUES(SQL_OID(relid), SQL_INT4(change)));
	end_change();
}

/*
 * Deletes the request of a table, if there is one, and waits for it if it is locked.  Called
 * outside of a transaction; commits one of its own.
 */
void
index_build_dequeue(Oid relid)
{
	bool installed = begin_change();

	if (installed)
		owned_execute(QUEUE_TABLE,
					  "DELETE FROM " DYN_INTERNAL "." QUEUE_TABLE
					  " WHERE relation OPERATOR(pg_catalog.=) $1",
					  SQL_VALUES(SQL_OID(relid)));
	end_change();
}

/* Forgets requests whose table, or role, is gone. */
static void
forget_lost(void)
{
	owned_execute(QUEUE_TABLE,
				  "DELETE FROM " DYN_INTERNAL "." QUEUE_TABLE
				  " WHERE relation OPERATOR(pg_catalog.=) ANY (ARRAY("
				  "SELECT r.relation FROM " DYN_INTERNAL "." QUEUE_TABLE
				  " r WHERE NOT EXISTS (SELECT FROM"
				  " pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) r.relation)"
				  " OR NOT EXISTS (SELECT FROM pg_catalog.pg_roles a"
				  " WHERE a.oid OPERATOR(pg_catalog.=) r.session_role) FOR UPDATE SKIP LOCKED))",
				  0, NULL);
}

/*
 * Reads the requests that may be begun, in context: the oldest first, but those that were cut off
 * after those that were never begun.  waiting: how many there are in all.
 */
static List *
read_requests(MemoryContext context, int *waiting)
{
	MemoryContext old;
	List *requests = NIL;

	owned_execute(QUEUE_TABLE,
				  "SELECT relation, session_role, role, attempts OPERATOR(pg_catalog.=) 0 OR"
				  " begun_at OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => 5.0"
				  " OPERATOR(pg_catalog.*) pg_catalog.pow(2.0, LEAST(attempts, 15)"
				  " OPERATOR(pg_catalog.-) 1)) OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()"
				  " FROM " DYN_INTERNAL "." QUEUE_TABLE
				  " ORDER BY attempts OPERATOR(pg_catalog.>) 0,"
				  " requested_at, relation",
				  0, NULL);
	*waiting = (int) SPI_processed;
	old = MemoryContextSwitchTo(context);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		IndexBuildRequest *request = palloc0(sizeof(IndexBuildRequest));
		bool never_begun;
		Datum again = sql_nullable(SPI_tuptable, i, 4, &never_begun);

		request->database = MyDatabaseId;
		request->relid = DatumGetObjectId(sql_value(SPI_tuptable, i, 1));
		request->session_user = DatumGetObjectId(sql_value(SPI_tuptable, i, 2));
		request->role = DatumGetObjectId(sql_value(SPI_tuptable, i, 3));
		request->noted = true;
		if (never_begun || DatumGetBool(again))
			requests = lappend(requests, request);
	}
	MemoryContextSwitchTo(old);
	if (*waiting > 0)
		forget_lost();
	return requests;
}

/* Chooses those that there are places for, which are taken meanwhile so that each counts once. */
static List *
queue_choose(List *requests)
{
	List *chosen = NIL;
	List *places = NIL;
	ListCell *cell;

	foreach (cell, requests)
	{
		IndexBuildRequest *request = lfirst(cell);
		Place *place = palloc0(sizeof(Place));
		Oid role = OidIsValid(request->role) ? request->role : request->session_user;

		if (procedure_is_at_work(request->relid) || !place_try(role, place))
			continue;
		places = lappend(places, place);
		chosen = lappend(chosen, request);
	}
	foreach (cell, places)
		place_leave(lfirst(cell));
	return chosen;
}

/*
 * Starts workers for requests that wait, as far as there are places, in a session of a superuser
 * and outside of a transaction.  Returns whether there are requests.
 */
bool
index_build_start_waiting(void)
{
	MemoryContext context =
		AllocSetContextCreate(TopMemoryContext, "dynamo_table requests", ALLOCSET_SMALL_SIZES);
	List *requests = NIL;
	int waiting = 0;
	ListCell *cell;

	if (begin_change())
		requests = read_requests(context, &waiting);
	end_change();
	MemoryContextSwitchTo(context);
	foreach (cell, queue_choose(requests))
	{
		IndexBuildRequest *request = lfirst(cell);

		index_build_count_attempt(request->relid, 1);
		MemoryContextSwitchTo(context);
		(void) index_build_start_request(request, psprintf("%u", request->relid));
	}
	MemoryContextSwitchTo(TopMemoryContext);
	MemoryContextDelete(context);
	return waiting > 0;
}

/*
 * Starts workers for requests that would otherwise wait until another worker ends: after a restart,
 * a crash, or the end of a worker.  While there are requests, each is looked at again after some
 * seconds.
 */
static VisitAnswer
queue_visit(Visit *visit)
{
	visit_look();
	/* default_transaction_read_only stops the worker, but not for long */
	return DefaultXactReadOnly || index_build_start_waiting() ? VISIT_DONE : VISIT_NOTHING;
}

static const bool enabled = true;
static const int max_workers = 1;
static const int interval = 5;
static const int probe_interval = 300;

const Service index_build_service = {.worker = "dynamo_table index requests",
									 .purpose = "go on with requests for indexes",
									 .enabled = &enabled,
									 .max_workers = &max_workers,
									 .interval = &interval,
									 .probe_interval = &probe_interval,
									 .patience = MAX_PATIENCE,
									 .max_back_off = 300,
									 .visit = queue_visit};
