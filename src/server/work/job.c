/*
 * job.c
 *	  Jobs and their chunks: which session works on which chunk, and how far it is.
 *
 * A session writes the position of a chunk only if the row still has the position that the session
 * began at.  So no row is processed twice even if a lock is lost, for instance by a trigger that
 * calls pg_advisory_unlock_all().
 *
 * Locks are advisory locks of the session, of a class that SQL functions cannot name: exclusive on
 * a chunk, and share on the job by each session that takes part.  They are taken in this order: the
 * right to begin jobs, a job, a chunk.  Of the rows of jobs and chunks, only that of a job is locked.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/progress.h"
#include "server/sql.h"
#include "server/work/job.h"
#include "server/work/owned.h"
#include "server/work/procedure.h"

#define JOB_LOCK_CLASS 0x445A /* the view of the steps of jobs has it, too */
#define JOB_TABLE "jobs"
#define CHUNK_TABLE "job_chunks"
#define NOTE_TABLE "job_notes"

#define KEEP_FINISHED "'7 days'"

/*
 * Transactions
 */

/*
 * Commit, and begin a transaction that is READ COMMITTED and whose own commit does not wait for the
 * disk.  job->transient is emptied, and becomes the current memory context.
 */
void
job_commit(Job *job)
{
	procedure_commit(job->transient);
	procedure_commit_lazily();
}

/*
 * Locks
 */

/* Sets the tag of a chunk; number 0 stands for the job, and id 0 for the right to begin jobs. */
static void
set_tag(LOCKTAG *tag, int64 id, int64 number)
{
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, (uint32) id, (uint32) number, JOB_LOCK_CLASS);
}

static bool
take_lock(int64 id, int64 number, LOCKMODE mode, bool session, bool wait)
{
	LOCKTAG tag;

	set_tag(&tag, id, number);
	return LockAcquire(&tag, mode, session, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

static void
drop_lock(int64 id, int64 number, LOCKMODE mode)
{
	LOCKTAG tag;

	set_tag(&tag, id, number);
	LockRelease(&tag, mode, true);
}

static bool
take_chunk(Job *job, int64 number, bool wait)
{
	if (!take_lock(job->id, number, ExclusiveLock, true, wait))
		return false;
	job->claimed = number;
	return true;
}

static void
drop_chunk(Job *job)
{
	if (job->claimed != 0)
		drop_lock(job->id, job->claimed, ExclusiveLock);
	job->claimed = 0;
}

/*
 * Release the locks that the session has on the job.  The job may be NULL.  This must be called
 * after an error too, since locks of the session outlive the transaction.
 */
void
job_leave(Job *job)
{
	if (job == NULL)
		return;
	drop_chunk(job);
	if (job->joined)
		drop_lock(job->id, 0, ShareLock);
	job->joined = false;
}

/*
 * Statements
 */

/* Returns a column of the first row found, copied into the job's memory context; NULL for NULL. */
static ArrayType *
result_array(const Job *job, int column)
{
	MemoryContext old;
	ArrayType *array;
	bool isnull;
	Datum datum = sql_nullable(SPI_tuptable, 0, column, &isnull);

	if (isnull)
		return NULL;
	old = MemoryContextSwitchTo(job->context);
	array = DatumGetArrayTypePCopy(datum);
	MemoryContextSwitchTo(old);
	return array;
}

pg_noreturn static void
fail_gone(const Job *job)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("%s \"%s\" is gone, or another session has done its work", job->kind,
						   job->name),
					errhint("Call the procedure again.")));
}

/*
 * Beginning
 */

/*
 * Deletes jobs that finished KEEP_FINISHED ago or whose table is gone, with their chunks and notes.
 */
static void
forget_old(void)
{
	owned_execute(JOB_TABLE,
				  "DELETE FROM " DYN_INTERNAL "." JOB_TABLE
				  " j WHERE j.finished < pg_catalog.now() - interval " KEEP_FINISHED
				  " OR NOT EXISTS (SELECT FROM pg_catalog.pg_class c"
				  " WHERE c.oid = j.relation)",
				  0, NULL);
	if (SPI_processed == 0)
		return;
	owned_execute(CHUNK_TABLE,
				  "DELETE FROM " DYN_INTERNAL "." CHUNK_TABLE
				  " c WHERE NOT EXISTS (SELECT FROM " DYN_INTERNAL "." JOB_TABLE
				  " j WHERE j.job = c.job)",
				  0, NULL);
	owned_execute(NOTE_TABLE,
				  "DELETE FROM " DYN_INTERNAL "." NOTE_TABLE
				  " n WHERE NOT EXISTS (SELECT FROM " DYN_INTERNAL "." JOB_TABLE
				  " j WHERE j.job = n.job)",
				  0, NULL);
}

/*
 * Inserts the job unless it is there.  Numbers are given out under the lock that each session holds
 * while it begins a job.  A number that is given out again belonged to a job that was deleted.
 */
static void
insert_job(Job *job, const char *fingerprint, ArrayType *steps)
{
	owned_execute(JOB_TABLE,
				  "INSERT INTO " DYN_INTERNAL "." JOB_TABLE
				  " (job, kind, relation, name, fingerprint, role,"
				  " steps) SELECT coalesce(pg_catalog.max(j.job), 0) + 1, $1, $2, $3,"
				  " pg_catalog.sha256(pg_catalog.convert_to($4, 'UTF8')), $5, $6"
				  " FROM " DYN_INTERNAL "." JOB_TABLE " j"
				  " ON CONFLICT (kind, relation, fingerprint) WHERE finished IS NULL DO NOTHING",
				  SQL_VALUES(SQL_TEXT(job->kind), SQL_OID(job->relid), SQL_TEXT(job->name),
							 SQL_TEXT(fingerprint), SQL_OID(GetUserId()),
							 SQL_VALUE(TEXTARRAYOID, PointerGetDatum(steps))));
}

/* Finds the job; returns false if another session has finished it just now. */
static bool
find_job(Job *job, const char *fingerprint, Oid *role)
{
	uint64 found =
		owned_execute(JOB_TABLE,
					  "SELECT j.job, j.role FROM " DYN_INTERNAL "." JOB_TABLE
					  " j WHERE j.kind = $1 AND j.relation = $2"
					  " AND j.fingerprint = pg_catalog.sha256(pg_catalog.convert_to($3, 'UTF8'))"
					  " AND j.finished IS NULL",
					  SQL_VALUES(SQL_TEXT(job->kind), SQL_OID(job->relid), SQL_TEXT(fingerprint)));

	if (found > 0)
	{
		job->id = DatumGetInt64(owned_value(1));
		*role = DatumGetObjectId(owned_value(2));
	}
	SPI_freetuptable(SPI_tuptable);
	return found > 0;
}

static void
require_member(const Job *job, Oid role, bool restart)
{
	char *name = GetUserNameFromId(role, true);

	if (has_privs_of_role(GetUserId(), role) ||
		(restart && object_ownercheck(RelationRelationId, job->relid, GetUserId())))
		return;
	ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					errmsg("permission denied for %s \"%s\"", job->kind, job->name),
					errdetail("It was begun by role \"%s\", and is not finished.",
							  name == NULL ? "" : name),
					errhint("The table's owner may restart it.")));
}

/* Forgets what was done, unless other sessions are at work. */
static void
restart_job(Job *job)
{
	const SqlValue arguments[] = {SQL_INT8(job->id), SQL_OID(GetUserId())};

	if (!take_lock(job->id, 0, ExclusiveLock, false, false))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
						errmsg("other sessions are at work on %s \"%s\"", job->kind, job->name),
						errhint("Wait until they end, or end them, to restart it.")));
	owned_execute(CHUNK_TABLE, "DELETE FROM " DYN_INTERNAL "." CHUNK_TABLE " WHERE job = $1", 1,
				  arguments);
	owned_execute(NOTE_TABLE, "DELETE FROM " DYN_INTERNAL "." NOTE_TABLE " WHERE job = $1", 1,
				  arguments);
	owned_execute(JOB_TABLE,
				  "UPDATE " DYN_INTERNAL "." JOB_TABLE
				  " SET role = $2, started = pg_catalog.clock_timestamp(),"
				  " expected = '{}', chunks = 0 WHERE job = $1",
				  lengthof(arguments), arguments);
}

static void
enter_job(Job *job, const char *fingerprint, ArrayType *steps, bool restart)
{
	Oid role;

	take_lock(0, 0, ExclusiveLock, false, true);
	forget_old();
	do
	{
		insert_job(job, fingerprint, steps);
	} while (!find_job(job, fingerprint, &role));
	require_member(job, role, restart);
	if (restart)
		restart_job(job);
}

/* Returns the names of steps as text[]; NULL for the only one of a job without any. */
static ArrayType *
step_array(const List *names)
{
	int n = Max(list_length(names), 1);
	Datum *elements = palloc0(n * sizeof(Datum));
	bool *nulls = palloc0(n * sizeof(bool));
	int lower = 1;
	ListCell *cell;

	nulls[0] = names == NIL;
	foreach (cell, names)
		elements[foreach_current_index(cell)] = CStringGetTextDatum(lfirst(cell));
	return construct_md_array(elements, nulls, 1, &n, &lower, TEXTOID, -1, false, TYPALIGN_INT);
}

/*
 * Find or create a job, and take part in it.  Commits twice.  The job is allocated in the current
 * memory context, which must outlive it.  Raises an error if the current user lacks the rights of
 * the role that began the job, unless the table's owner restarts it, or if it is to be restarted
 * while other sessions work on it.
 */
Job *
job_begin(const char *kind, Oid relid, const char *name, const char *fingerprint,
		  const List *step_names, bool restart)
{
	Job *job = palloc0(sizeof(Job));
	ArrayType *steps = step_array(step_names);

	job->context = CurrentMemoryContext;
	job->transient =
		AllocSetContextCreate(job->context, "dynamo_table job", ALLOCSET_DEFAULT_SIZES);
	job->relid = relid;
	job->kind = pstrdup(kind);
	job->name = pstrdup(name);
	fingerprint = pstrdup(fingerprint);
	job->told = GetCurrentTimestamp();
	procedure_commit(job->transient);
	enter_job(job, fingerprint, steps, restart);
	job_commit(job);
	/*
	 * Last, since nothing fails after it: an error here would leave the caller no job to release.
	 */
	job->joined = take_lock(job->id, 0, ShareLock, true, true);
	return job;
}

/* Set how many rows a step is expected to have, unless that is set already.  Does not commit. */
void
job_expect(Job *job, int step, int64 rows)
{
	owned_execute(JOB_TABLE,
				  "UPDATE " DYN_INTERNAL "." JOB_TABLE " SET expected[$2] = $3"
				  " WHERE job = $1 AND expected[$2] IS NULL",
				  SQL_VALUES(SQL_INT8(job->id), SQL_INT4(step), SQL_INT8(rows)));
}

/*
 * Chunks
 */

/* Reads the chunk, which this session has locked; false if another session has completed it. */
static bool
read_chunk(Job *job, int step, JobChunk *chunk)
{
	if (owned_execute(CHUNK_TABLE,
					  "UPDATE " DYN_INTERNAL "." CHUNK_TABLE
					  " SET updated = pg_catalog.clock_timestamp()"
					  " WHERE job = $1 AND step = $2 AND number = $3 AND NOT complete"
					  " RETURNING position, upper",
					  SQL_VALUES(SQL_INT8(job->id), SQL_INT4(step), SQL_INT8(job->claimed))) == 0)
		return false;
	*chunk = (JobChunk){.job = job, .step = step, .number = job->claimed};
	chunk->lower = result_array(job, 1);
	chunk->upper = result_array(job, 2);
	SPI_freetuptable(SPI_tuptable);
	return true;
}

/*
 * Takes a chunk that was begun and that no session holds.  If there is none, *busy is the number of
 * one that a session holds, or 0.
 */
static bool
take_open_chunk(Job *job, int step, JobChunk *chunk, int64 *busy)
{
	uint64 n = owned_execute(CHUNK_TABLE,
							 "SELECT number FROM " DYN_INTERNAL "." CHUNK_TABLE
							 " WHERE job = $1 AND step = $2 AND NOT complete ORDER BY number",
							 SQL_VALUES(SQL_INT8(job->id), SQL_INT4(step)));
	int64 *numbers = palloc(Max(n, 1) * sizeof(int64));

	for (uint64 i = 0; i < n; i++)
		numbers[i] = DatumGetInt64(sql_value(SPI_tuptable, i, 1));
	SPI_freetuptable(SPI_tuptable);
	*busy = 0;
	for (uint64 i = 0; i < n; i++)
	{
		if (!take_chunk(job, numbers[i], false))
		{
			*busy = *busy == 0 ? numbers[i] : *busy;
			continue;
		}
		if (read_chunk(job, step, chunk))
			return true;
		drop_chunk(job);
	}
	return false;
}

/* Locks the job's row, and returns the number of its next chunk. */
static int64
count_chunk(const Job *job)
{
	int64 number;

	if (owned_execute(JOB_TABLE,
					  "UPDATE " DYN_INTERNAL "." JOB_TABLE " SET chunks = chunks + 1 WHERE job = $1"
					  " RETURNING chunks",
					  SQL_VALUES(SQL_INT8(job->id))) == 0)
		fail_gone(job);
	number = DatumGetInt64(owned_value(1));
	SPI_freetuptable(SPI_tuptable);
	return number;
}

/* Finds where the next chunk begins; returns false if there is none. */
static bool
find_end(const Job *job, int step, ArrayType **end)
{
	bool begun = owned_execute(CHUNK_TABLE,
							   "SELECT upper FROM " DYN_INTERNAL "." CHUNK_TABLE
							   " WHERE job = $1 AND step = $2 ORDER BY number DESC LIMIT 1",
							   SQL_VALUES(SQL_INT8(job->id), SQL_INT4(step))) > 0;

	*end = begun ? result_array(job, 1) : NULL;
	SPI_freetuptable(SPI_tuptable);
	return !begun || *end != NULL;
}

static void
insert_chunk(const JobChunk *chunk)
{
	const Job *job = chunk->job;

	owned_execute(CHUNK_TABLE,
				  "INSERT INTO " DYN_INTERNAL "." CHUNK_TABLE
				  " (job, step, number, position, upper)"
				  " VALUES ($1, $2, $3, $4, $5)",
				  SQL_VALUES(SQL_INT8(job->id), SQL_INT4(chunk->step), SQL_INT8(chunk->number),
							 SQL_POINTER(TEXTARRAYOID, chunk->lower),
							 SQL_POINTER(TEXTARRAYOID, chunk->upper)));
}

static bool
cut_chunk(Job *job, int step, JobCut cut, void *arg, JobChunk *chunk)
{
	int64 number = count_chunk(job);
	ArrayType *upper;

	*chunk = (JobChunk){.job = job, .step = step, .number = number};
	if (!find_end(job, step, &chunk->lower))
		return false;
	/* no other session sees the chunk before the commit */
	take_chunk(job, number, false);
	PushActiveSnapshot(GetTransactionSnapshot());
	upper = cut(step, chunk->lower, arg);
	PopActiveSnapshot();
	if (upper != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(job->context);

		chunk->upper = DatumGetArrayTypePCopy(PointerGetDatum(upper));
		MemoryContextSwitchTo(old);
	}
	insert_chunk(chunk);
	return true;
}

/*
 * Take a chunk of the step that no session works on, or else cut a new one.  The bounds of the
 * chunk are allocated in job->context.  Returns false if there is nothing to take.  Commits twice.
 */
bool
job_claim(Job *job, int step, JobCut cut, void *arg, JobChunk *chunk)
{
	int64 busy;
	bool found;

	job_commit(job);
	found = take_open_chunk(job, step, chunk, &busy) || cut_chunk(job, step, cut, arg, chunk);
	job_commit(job);
	return found;
}

/* Waits for a chunk, in a transaction that has done nothing and holds no lock but the job's. */
static void
await_chunk(Job *job, int64 number, bool wait)
{
	if (!wait)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("other sessions are at work on %s \"%s\"", job->kind, job->name),
				 errdetail("What they have not taken is done."),
				 errhint("To wait until all is done, call the procedure with wait => true.")));
	if (!job->waited)
		ereport(NOTICE, (errmsg("%s \"%s\": waiting for other sessions", job->kind, job->name)));
	job->waited = true;
	take_chunk(job, number, true);
	/* the session that had it has most often completed it; if not, the next look finds it open */
	drop_chunk(job);
	job_tell(job);
}

/*
 * Take a chunk that another session leaves unfinished, waiting for the sessions that work on the
 * step; if wait is false, ERRCODE_OBJECT_IN_USE is raised instead of waiting.  Returns false if all
 * chunks of the step are done.  Commits twice each time it looks.
 */
bool
job_await(Job *job, int step, bool wait, JobChunk *chunk)
{
	for (;;)
	{
		int64 busy;
		bool found;

		CHECK_FOR_INTERRUPTS();
		job_commit(job);
		found = take_open_chunk(job, step, chunk, &busy);
		job_commit(job);
		if (found || busy == 0)
			return found;
		await_chunk(job, busy, wait);
	}
}

/*
 * Notes that rows up to position are done or skipped, as the last thing in the transaction that did
 * it.  Raises an error unless the chunk's row has the position that the session began at.  Does not
 * commit.
 */
void
job_advance(JobChunk *chunk, ArrayType *position, int64 done, int64 skipped)
{
	Job *job = chunk->job;
	MemoryContext old;

	if (owned_execute(CHUNK_TABLE,
					  "UPDATE " DYN_INTERNAL "." CHUNK_TABLE " SET position = $5, done = done + $6,"
					  " skipped = skipped + $7, updated = pg_catalog.clock_timestamp(),"
					  " worked = worked + pg_catalog.clock_timestamp() - updated"
					  " WHERE job = $1 AND step = $2 AND number = $3 AND NOT complete"
					  " AND position IS NOT DISTINCT FROM $4",
					  SQL_VALUES(SQL_INT8(job->id), SQL_INT4(chunk->step), SQL_INT8(chunk->number),
								 SQL_POINTER(TEXTARRAYOID, chunk->lower),
								 SQL_VALUE(TEXTARRAYOID, PointerGetDatum(position)), SQL_INT8(done),
								 SQL_INT8(skipped))) == 0)
		fail_gone(job);
	old = MemoryContextSwitchTo(job->context);
	if (chunk->lower != NULL)
		pfree(chunk->lower);
	chunk->lower = DatumGetArrayTypePCopy(PointerGetDatum(position));
	MemoryContextSwitchTo(old);
}

/*
 * Notes that nothing of the chunk is left.  Commits.  The lock is released after the commit: a
 * session that finds the chunk free must find it complete.
 */
void
job_complete(JobChunk *chunk)
{
	Job *job = chunk->job;
	if (owned_execute(CHUNK_TABLE,
					  "UPDATE " DYN_INTERNAL "." CHUNK_TABLE " SET complete = true,"
					  " updated = pg_catalog.clock_timestamp(),"
					  " worked = worked + pg_catalog.clock_timestamp() - updated"
					  " WHERE job = $1 AND step = $2 AND number = $3 AND NOT complete"
					  " AND position IS NOT DISTINCT FROM $4",
					  SQL_VALUES(SQL_INT8(job->id), SQL_INT4(chunk->step), SQL_INT8(chunk->number),
								 SQL_POINTER(TEXTARRAYOID, chunk->lower))) == 0)
		fail_gone(job);
	job_commit(job);
	drop_chunk(job);
	if (chunk->lower != NULL)
		pfree(chunk->lower);
	if (chunk->upper != NULL)
		pfree(chunk->upper);
	chunk->lower = chunk->upper = NULL;
}

/*
 * Mark the job as finished if all chunks of all steps are done, and return whether they are.
 * Commits twice; the last commit waits for the disk, unless the session's synchronous_commit is
 * off.
 */
bool
job_end(Job *job)
{
	bool finished;

	procedure_commit(job->transient);
	finished = owned_execute(JOB_TABLE,
							 "UPDATE " DYN_INTERNAL "." JOB_TABLE
							 " j SET finished = coalesce(j.finished, pg_catalog.clock_timestamp())"
							 " WHERE j.job = $1"
							 " AND NOT EXISTS (SELECT FROM " DYN_INTERNAL "." CHUNK_TABLE " c"
							 " WHERE c.job = $1 AND NOT c.complete)"
							 " AND pg_catalog.cardinality(j.steps) = (SELECT pg_catalog.count(*) "
							 "FROM " DYN_INTERNAL "." CHUNK_TABLE " c"
							 " WHERE c.job = $1 AND c.upper IS NULL)",
							 SQL_VALUES(SQL_INT8(job->id))) > 0;
	procedure_commit(job->transient);
	return finished;
}

/*
 * Reports
 */

/*
 * Add a problem to those that the job has found: its kind, the row that has it, in a form for
 * people, and the error message, which is cut if it is long.  Does not commit.
 */
void
job_problem(Job *job, int step, const char *what, const char *row, const char *message)
{
	owned_execute(NOTE_TABLE,
				  "INSERT INTO " DYN_INTERNAL "." NOTE_TABLE " (job, step, what, \"row\", message)"
				  " VALUES ($1, $2, $3, $4, $5)",
				  SQL_VALUES(SQL_INT8(job->id), SQL_INT4(step), SQL_TEXT(what), SQL_TEXT(row),
							 SQL_TEXT(message_shortened(message))));
}

/*
 * Set *total to the numbers of rows done, rows skipped and problems, of all sessions, as far as
 * they are committed or written by the current transaction.
 */
void
job_total(Job *job, JobTotal *total)
{
	owned_execute(CHUNK_TABLE,
				  "SELECT coalesce(pg_catalog.sum(done), 0)::pg_catalog.int8,"
				  " coalesce(pg_catalog.sum(skipped), 0)::pg_catalog.int8,"
				  " (SELECT pg_catalog.count(*) FROM " DYN_INTERNAL "." NOTE_TABLE
				  " n WHERE n.job = $1)"
				  " FROM " DYN_INTERNAL "." CHUNK_TABLE " WHERE job = $1",
				  SQL_VALUES(SQL_INT8(job->id)));
	*total = (JobTotal){DatumGetInt64(owned_value(1)), DatumGetInt64(owned_value(2)),
						DatumGetInt64(owned_value(3))};
	SPI_freetuptable(SPI_tuptable);
}

/* Prints a line on the step that is worked on, read from the view so that both show the same. */
static void
tell_step(const Job *job)
{
	const char *sql = "SELECT step, (rows_done OPERATOR(pg_catalog.+) rows_skipped)"
					  "::pg_catalog.text, rows_expected::pg_catalog.text,"
					  " pg_catalog.round(rate)::pg_catalog.text, time_left::pg_catalog.text"
					  " FROM " DYN_INTERNAL ".job_steps WHERE job OPERATOR(pg_catalog.=) $1"
					  " AND rate IS NOT NULL ORDER BY step";

	PushActiveSnapshot(GetTransactionSnapshot());
	sql_execute(sql_on(InvalidOid, sql), true, 0, SQL_VALUES(SQL_INT8(job->id)));
	PopActiveSnapshot();
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char *cells[5];

		for (int c = 0; c < lengthof(cells); c++)
			cells[c] = sql_text_or_null(SPI_tuptable, i, c + 1);
		ereport(NOTICE,
				(errmsg("%s \"%s\"%s: %s%s rows, %s a second, time left %s", job->kind, job->name,
						cells[0] == NULL ? "" : psprintf(", step \"%s\"", cells[0]), cells[1],
						cells[2] == NULL ? "" : psprintf(" of about %s", cells[2]), cells[3],
						cells[4] == NULL ? "unknown" : cells[4])));
	}
	SPI_freetuptable(SPI_tuptable);
}

/*
 * Reports the job's progress as a NOTICE if one is due.  A transaction is in progress, and the caller
 * is connected to SPI.
 */
void
job_tell(Job *job)
{
	if (progress_is_due(&job->told))
		tell_step(job);
}
