/*
 * service.c
 *	  Time to live as a service of background workers: a visit sweeps a database's tables.
 *
 * Owners of tables take turns, beginning with the one after that with which the last visit ended:
 * each turn is one table, the one that has been due for longest, and has its share of the time.  So
 * an owner with many tables, or with tables that fail, delays others by one table at a time.
 * Several workers may be in the database; each takes the tables that it sweeps.
 *
 * What goes wrong with a table is noted with it, and it is left alone for a while.  A sweep that does
 * not come back in time is cancelled; if that does not help, the launcher ends the worker, and the
 * next visit notes what happened.  The same is done for what was swept when the server went down.
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
#include "storage/ipc.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "catalog/listing.h"
#include "catalog/rights.h"
#include "server/citus.h"
#include "server/extension.h"
#include "server/work/background.h"
#include "services/ttl/service.h"
#include "services/ttl/ttl.h"

/* A table's share is so many milliseconds at least. */
#define MIN_SHARE 100

/*
 * A table that is left alone after failures is looked at again after MAX_TRUST milliseconds, or at
 * the next sweep if that is later, since the failures may be forgotten meanwhile.  A table that
 * seems to be due later than in MAX_WAIT milliseconds is due: the clock was set back.
 */
#define MAX_TRUST (60 * 1000)
#define MAX_WAIT (25 * 60 * 60 * INT64CONST(1000))

/* A Turn is a table that is due. */
typedef struct Turn
{
	Oid owner;
	Oid relid;
	const DynLocalShard *shard; /* as in a sweep */
	TimestampTz due;
	bool taken;
} Turn;

typedef struct Worker
{
	MemoryContext context; /* outlives transactions */
	Visit *visit;
	bool installed; /* the extension is, in this database */
	bool found; /* tables with time to live, even if no shard of theirs is here; or they may come */
	List *targets; /* what to sweep, of TtlTarget */
	Turn *turns; /* in the order of owners, and of the times at which they were due */
	int nturns;
} Worker;

/* Looks where the extension is, and what there is to sweep. */
static void
look_around(Worker *worker)
{
	List *tables = NIL;

	background_begin();
	SPI_connect();
	worker->installed = extension_installed();
	MemoryContextSwitchTo(worker->context);
	if (worker->installed)
		tables = dyn_listed_tables("ttl_attribute");
	worker->targets = ttl_targets(tables);
	/* other nodes may distribute tables to a worker of Citus, and move shards */
	worker->found = tables != NIL || (worker->installed && citus_local_group() > 0);
	SPI_finish();
	background_commit();
}

/* Without a name the table is gone. */
static char *
service_describe(Oid relid, MemoryContext context)
{
	char *schema;
	char *name;

	background_begin();
	MemoryContextSwitchTo(context);
	name = get_rel_name(relid);
	schema = name == NULL ? NULL : get_namespace_name(get_rel_namespace(relid));
	background_commit();
	return schema == NULL ? NULL : psprintf("%s.%s", schema, name);
}

/*
 * One table
 */

static void
service_tell(const TtlSweep *sweep, const char *name)
{
	char *database;

	background_begin();
	database = get_database_name(MyDatabaseId);
	ereport(
		WARNING,
		(errcode(sweep->error->sqlerrcode),
		 errmsg("expired items of table \"%s\" cannot be removed: %s", name, sweep->error->message),
		 sweep->error->detail == NULL ? 0 : errdetail("%s", sweep->error->detail),
		 errcontext("background worker in database \"%s\"", database ? database : "?")));
	background_commit();
}

static void
note_failure(Worker *worker, TtlSweep *sweep)
{
	background_begin();
	SPI_connect();
	ttl_note_failure(sweep);
	SPI_finish();
	background_commit();
}

static ErrorData *
make_error(int code, char *message)
{
	ErrorData *error = palloc0(sizeof(ErrorData));

	error->sqlerrcode = code;
	error->message = message;
	return error;
}

/* Catches an error that has ended the transaction; what ends the worker does not come here. */
static void
catch_error(Worker *worker, TtlSweep *sweep)
{
	MemoryContextSwitchTo(worker->context);
	sweep->error = CopyErrorData();
	background_abort(worker->context);
	if (TimestampDifferenceExceeds(worker->visit->began, GetCurrentTimestamp(), VISIT_STAY) &&
		sweep->error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		sweep->error =
			make_error(ERRCODE_QUERY_CANCELED,
					   psprintf("a batch of up to %d items takes longer than a worker may stay",
								sweep->limits.batch));
	/* what goes wrong from here on is not the table's fault */
	visit_end_work(worker->visit);
	note_failure(worker, sweep);
}

static void
service_run(TtlSweep *sweep)
{
	StartTransactionCommand();
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	/* what comes out of the sweep outlives the connection */
	MemoryContextSwitchTo(PortalContext);
	ttl_run(sweep);
	SPI_finish();
	CommitTransactionCommand();
}

/* Runs the sweep with an end to it. */
static void
run_until_cancelled(Worker *worker, TtlSweep *sweep)
{
	enable_timeout_at(STATEMENT_TIMEOUT,
					  TimestampTzPlusMilliseconds(worker->visit->began, VISIT_STAY));
	PG_TRY();
	{
		service_run(sweep);
	}
	PG_CATCH();
	{
		disable_timeout(STATEMENT_TIMEOUT, false);
		catch_error(worker, sweep);
	}
	PG_END_TRY();
	disable_timeout(STATEMENT_TIMEOUT, false);
	/* a cancel that came too late must not hit the next table */
	QueryCancelPending = false;
}

/* Returns when a table is due again: after a failure at retry_at, or MAX_TRUST if sooner. */
static TimestampTz
next_due_time(const TtlSweep *sweep)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz next = TimestampTzPlusMilliseconds(now, dyn_ttl_interval * INT64CONST(1000));

	if (sweep->retry_at > now)
		return Min(sweep->retry_at, Max(next, TimestampTzPlusMilliseconds(now, MAX_TRUST)));
	return sweep->finished || sweep->absent || sweep->error != NULL ? next : now;
}

/* Sweeps a table; returns false if there is more to do. */
static bool
sweep_table(Worker *worker, const Turn *turn, int share, MemoryContext context)
{
	TtlSweep sweep = {.relid = turn->relid,
					  .shard = turn->shard,
					  .limits = {.batch = dyn_ttl_batch_size,
								 .budget = share,
								 .pause = dyn_ttl_pause,
								 .background = true}};
	char *name = service_describe(sweep.relid, context);
	TimestampTz due;

	if (name == NULL)
		return true;
	worker->visit->turn = turn->owner;
	visit_begin_work(worker->visit, sweep.relid);
	pgstat_report_activity(STATE_RUNNING, psprintf("sweeping expired items of %s", name));
	run_until_cancelled(worker, &sweep);
	if (sweep.error != NULL)
		service_tell(&sweep, name);
	pgstat_report_activity(STATE_IDLE, NULL);
	pgstat_report_stat(true);
	visit_end_work(worker->visit);
	due = next_due_time(&sweep);
	ttl_set_due(sweep.relid, due);
	return due > GetCurrentTimestamp();
}

/*
 * The visit
 */

/* Notes a table whose sweep ended a visit before. */
static void
note_culprit(Worker *worker, Culprit culprit)
{
	TtlSweep sweep = {.relid = culprit.relid, .crashed = culprit.crashed};
	char *name = service_describe(sweep.relid, worker->context);

	if (name == NULL)
		return;
	sweep.error =
		make_error(ERRCODE_OPERATOR_INTERVENTION,
				   pstrdup(culprit.crashed ? "the server went down during its sweep"
										   : "the background worker ended before its sweep"));
	note_failure(worker, &sweep);
	service_tell(&sweep, name);
}

static void
note_culprits(Worker *worker)
{
	MemoryContextSwitchTo(worker->context);
	for (int i = 0; worker->targets != NIL && i < worker->visit->nculprits; i++)
		note_culprit(worker, worker->visit->culprits[i]);
	worker->visit->nculprits = 0;
	visit_publish(worker->visit);
}

static int
compare_turns(const void *a, const void *b)
{
	const Turn *x = a;
	const Turn *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	if (x->due != y->due)
		return x->due < y->due ? -1 : 1;
	return x->relid < y->relid ? -1 : x->relid > y->relid;
}

/* Finds what is due now. */
static void
find_turns(Worker *worker)
{
	TimestampTz now = GetCurrentTimestamp();
	ListCell *cell;

	worker->turns = palloc0(list_length(worker->targets) * sizeof(Turn));
	background_begin();
	foreach (cell, worker->targets)
	{
		const TtlTarget *target = lfirst(cell);
		Turn turn = {
			.relid = target->relid, .shard = target->shard, .due = ttl_due_time(target->relid)};

		CHECK_FOR_INTERRUPTS();
		if (turn.due > now && turn.due < TimestampTzPlusMilliseconds(now, MAX_WAIT))
			continue;
		turn.owner = rights_owner(turn.relid);
		if (OidIsValid(turn.owner))
			worker->turns[worker->nturns++] = turn;
	}
	background_commit();
	qsort(worker->turns, worker->nturns, sizeof(Turn), compare_turns);
	worker->visit->left = worker->nturns;
}

/* Returns the first table left of the owner who comes after the last one; NULL: there is none. */
static Turn *
next_turn(Worker *worker)
{
	Turn *first = NULL;

	for (int i = 0; i < worker->nturns; i++)
	{
		Turn *turn = &worker->turns[i];

		if (turn->taken)
			continue;
		if (turn->owner > worker->visit->turn)
			return turn;
		if (first == NULL)
			first = turn;
	}
	return first;
}

/* Takes it, unless another worker has. */
static bool
take_turn(Worker *worker, Turn *turn)
{
	TimestampTz now = GetCurrentTimestamp();

	turn->taken = true;
	worker->visit->left--;
	return ttl_claim(turn->relid, now, TimestampTzPlusMilliseconds(now, 2 * VISIT_OVERSTAY));
}

/* Sweeps the tables that are due; returns false if there is more to do. */
static bool
sweep_tables(Worker *worker)
{
	bool done = true;
	MemoryContext context = PortalContext;
	Turn *turn;

	while ((turn = next_turn(worker)) != NULL)
	{
		long left = dyn_ttl_budget -
					TimestampDifferenceMilliseconds(worker->visit->began, GetCurrentTimestamp());

		CHECK_FOR_INTERRUPTS();
		if (left <= 0 || background_is_locked(MyDatabaseId))
			return false;
		if (!take_turn(worker, turn))
			continue;
		MemoryContextReset(context);
		MemoryContextSwitchTo(context);
		done &=
			sweep_table(worker, turn,
						(int) Min(Max(left / (worker->visit->left + 1), MIN_SHARE), left), context);
	}
	return done;
}

static VisitAnswer
service_visit(Visit *visit)
{
	Worker worker = {.visit = visit};
	/* default_transaction_read_only stops it, but not for long */
	VisitAnswer answer = dyn_ttl_worker && DefaultXactReadOnly ? VISIT_DONE : VISIT_NOTHING;

	worker.context =
		AllocSetContextCreate(TopMemoryContext, "dynamo_table visit", ALLOCSET_DEFAULT_SIZES);
	/* where SPI keeps what outlives transactions */
	PortalContext =
		AllocSetContextCreate(worker.context, "dynamo_table table", ALLOCSET_DEFAULT_SIZES);
	/* ALTER DATABASE may have switched it off */
	if (dyn_ttl_worker && !DefaultXactReadOnly)
		look_around(&worker);
	note_culprits(&worker);
	MemoryContextSwitchTo(worker.context);
	if (worker.found)
	{
		find_turns(&worker);
		answer = sweep_tables(&worker) ? VISIT_DONE : VISIT_MORE;
	}
	visit->left = 0;
	return answer;
}

const Service ttl_service = {.worker = "dynamo_table ttl worker",
							 .purpose = "remove expired items",
							 .enabled = &dyn_ttl_worker,
							 .setting = "dynamo_table.ttl_worker",
							 .max_workers = &dyn_ttl_max_workers,
							 .interval = &dyn_ttl_interval,
							 .probe_interval = &dyn_ttl_probe_interval,
							 .max_back_off = 300,
							 .visit = service_visit};
