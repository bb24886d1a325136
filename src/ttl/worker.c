/*
 * worker.c
 *	  The worker that visits a database: it sweeps the tables with time to live, and ends.
 *
 * Each table has its share of the time, beginning with the one after that with which the last visit
 * ended.  What goes wrong with a table is noted with it, and it is left alone for a while.  A sweep
 * that does not come back in time is cancelled; if that does not help, the launcher ends the
 * worker, and the next visit notes what happened.
 *
 * It is a session of the bootstrap superuser's.  What belongs to a table's owner never runs with
 * these rights (see sweep.c).
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "catalog/owned.h"
#include "index/index.h"
#include "ttl/background.h"
#include "ttl/ttl.h"

/* The least of a table's share, in milliseconds. */
#define MIN_SHARE 100

static const char *const settings[][2] = {{"search_path", "pg_catalog, pg_temp"},
										  {"lock_timeout", "500ms"},
										  {"statement_timeout", "0"},
										  {"transaction_timeout", "0"},
										  {"idle_in_transaction_session_timeout", "0"}};

typedef struct Worker
{
	MemoryContext context; /* outlives transactions */
	TtlVisit visit;
	Oid schema; /* of the extension; InvalidOid: it is not installed */
	List *tables;
} Worker;

/*
 * Transactions
 */

static void
begin_transaction(void)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
}

static void
end_transaction(void)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
}

/* Where the extension is, and what there is to sweep. */
static void
look_around(Worker *worker)
{
	begin_transaction();
	SPI_connect();
	worker->schema = owned_extension_schema();
	MemoryContextSwitchTo(worker->context);
	if (OidIsValid(worker->schema))
		worker->tables = dyn_tables_with_setting("ttl_attribute");
	SPI_finish();
	end_transaction();
}

/* Without a name the table is gone. */
static char *
describe(Oid relid, MemoryContext context)
{
	char *schema;
	char *name;

	begin_transaction();
	MemoryContextSwitchTo(context);
	name = get_rel_name(relid);
	schema = name == NULL ? NULL : get_namespace_name(get_rel_namespace(relid));
	end_transaction();
	return schema == NULL ? NULL : psprintf("%s.%s", schema, name);
}

/*
 * One table
 */

static void
tell(const TtlSweep *sweep, const char *name)
{
	char *database;

	begin_transaction();
	database = get_database_name(MyDatabaseId);
	ereport(
		WARNING,
		(errcode(sweep->error->sqlerrcode),
		 errmsg("expired items of table \"%s\" cannot be removed: %s", name, sweep->error->message),
		 sweep->error->detail == NULL ? 0 : errdetail("%s", sweep->error->detail),
		 errcontext("background worker in database \"%s\"", database ? database : "?")));
	end_transaction();
}

static void
note_failure(Worker *worker, TtlSweep *sweep)
{
	begin_transaction();
	SPI_connect();
	ttl_note_failure(worker->schema, sweep);
	SPI_finish();
	end_transaction();
}

static ErrorData *
make_error(int code, char *message)
{
	ErrorData *error = palloc0(sizeof(ErrorData));

	error->sqlerrcode = code;
	error->message = message;
	return error;
}

/* An error that has ended the transaction; what ends the worker does not come here. */
static void
catch_error(Worker *worker, TtlSweep *sweep)
{
	HOLD_INTERRUPTS();
	MemoryContextSwitchTo(worker->context);
	sweep->error = CopyErrorData();
	AbortOutOfAnyTransaction();
	MemoryContextSwitchTo(worker->context);
	FlushErrorState();
	RESUME_INTERRUPTS();
	if (TimestampDifferenceExceeds(worker->visit.began, GetCurrentTimestamp(), TTL_STAY) &&
		sweep->error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		sweep->error =
			make_error(ERRCODE_QUERY_CANCELED,
					   psprintf("a batch of up to %d items takes longer than a worker may stay",
								sweep->limits.batch));
	note_failure(worker, sweep);
}

static void
run(TtlSweep *sweep)
{
	StartTransactionCommand();
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	/* what comes out of the sweep outlives the connection */
	MemoryContextSwitchTo(PortalContext);
	ttl_run(sweep);
	SPI_finish();
	CommitTransactionCommand();
}

/* With an end to it. */
static void
run_until_cancelled(Worker *worker, TtlSweep *sweep)
{
	enable_timeout_at(STATEMENT_TIMEOUT,
					  TimestampTzPlusMilliseconds(worker->visit.began, TTL_STAY));
	PG_TRY();
	{
		run(sweep);
	}
	PG_CATCH();
	{
		disable_timeout(STATEMENT_TIMEOUT, false);
		catch_error(worker, sweep);
	}
	PG_END_TRY();
	disable_timeout(STATEMENT_TIMEOUT, false);
	/* what came too late is not for the next table */
	QueryCancelPending = false;
}

/* False if there is more to do. */
static bool
sweep_table(Worker *worker, Oid relid, int share, MemoryContext context)
{
	TtlSweep sweep = {.relid = relid,
					  .limits = {.batch = dyn_ttl_batch_size,
								 .budget = share,
								 .pause = dyn_ttl_pause,
								 .background = true}};
	char *name = describe(relid, context);

	if (name == NULL)
		return true;
	worker->visit.last = worker->visit.culprit = relid;
	(void) ttl_publish_visit(&worker->visit);
	pgstat_report_activity(STATE_RUNNING, psprintf("sweeping expired items of %s", name));
	run_until_cancelled(worker, &sweep);
	if (sweep.error != NULL)
		tell(&sweep, name);
	pgstat_report_activity(STATE_IDLE, NULL);
	pgstat_report_stat(true);
	worker->visit.culprit = InvalidOid;
	(void) ttl_publish_visit(&worker->visit);
	return sweep.absent || sweep.finished || sweep.error != NULL;
}

/*
 * The visit
 */

/* The table whose sweep ended the visit before. */
static void
note_culprit(Worker *worker)
{
	TtlSweep sweep = {.relid = worker->visit.culprit};
	char *name = describe(sweep.relid, worker->context);

	if (name != NULL)
	{
		sweep.error = make_error(ERRCODE_OPERATOR_INTERVENTION,
								 pstrdup("the background worker ended before its sweep"));
		note_failure(worker, &sweep);
		tell(&sweep, name);
	}
	worker->visit.culprit = InvalidOid;
}

/* What DROP DATABASE and others wait for, who wait for not more than five seconds. */
static bool
is_to_leave(void)
{
	bool locked;

	StartTransactionCommand();
	locked = ttl_database_is_locked(MyDatabaseId);
	CommitTransactionCommand();
	return locked;
}

/* In the order of their OIDs, beginning after the last one of the visit before. */
static void
rotate(List *tables, Oid last, Oid *result)
{
	int n = list_length(tables);
	int first = 0;

	while (first < n && list_nth_oid(tables, first) <= last)
		first++;
	for (int i = 0; i < n; i++)
		result[i] = list_nth_oid(tables, (first + i) % n);
}

/* False if there is more to do. */
static bool
sweep_tables(Worker *worker)
{
	int n = list_length(worker->tables);
	Oid *tables = palloc(n * sizeof(Oid));
	bool done = true;
	MemoryContext context = PortalContext;

	rotate(worker->tables, worker->visit.last, tables);
	for (int i = 0; i < n; i++)
	{
		long left = dyn_ttl_budget -
					TimestampDifferenceMilliseconds(worker->visit.began, GetCurrentTimestamp());

		CHECK_FOR_INTERRUPTS();
		if (left <= 0 || is_to_leave())
			return false;
		MemoryContextReset(context);
		MemoryContextSwitchTo(context);
		done &= sweep_table(worker, tables[i], (int) Min(Max(left / (n - i), MIN_SHARE), left),
							context);
	}
	return done;
}

static void
visit(Worker *worker)
{
	TtlAnswer answer = TTL_NOTHING;

	/* who lets nobody write by default means us as well */
	if (!DefaultXactReadOnly)
		look_around(worker);
	MemoryContextSwitchTo(worker->context);
	if (OidIsValid(worker->visit.culprit) && worker->tables != NIL)
		note_culprit(worker);
	if (worker->tables != NIL)
		answer = sweep_tables(worker) ? TTL_DONE : TTL_MORE;
	worker->visit.answer = answer;
	(void) ttl_publish_visit(&worker->visit);
}

void
dyn_ttl_worker_main(Datum number)
{
	Worker worker = {0};

	gsi_worker_start();
	ttl_read_visit(&worker.visit);
	if (worker.visit.number != DatumGetUInt32(number))
		return;
	worker.visit.began = GetCurrentTimestamp();
	(void) ttl_publish_visit(&worker.visit);
	gsi_worker_connect(worker.visit.database, InvalidOid, InvalidOid);
	gsi_worker_settings(settings, lengthof(settings));
	worker.context =
		AllocSetContextCreate(TopMemoryContext, "dynamo_table visit", ALLOCSET_DEFAULT_SIZES);
	/* where SPI keeps what outlives transactions */
	PortalContext =
		AllocSetContextCreate(worker.context, "dynamo_table table", ALLOCSET_DEFAULT_SIZES);
	visit(&worker);
}
