/*
 * job.h
 *	  Long work on a table, in many transactions and sessions, that a crash only interrupts.
 *
 * A job has steps, numbered from 1, which have names where there can be several.  A step has chunks:
 * ranges of keys in the order of the step's source.  They are made one after the other, as sessions
 * ask for work.  A session that works on a chunk holds a lock of the session on it; how far it came
 * is written in the transaction that did the work.  A session that asks for work first takes chunks
 * that are not done and that no session holds, and continues them from their position: so work that
 * a killed session has left is taken up.
 *
 *		PG_TRY
 *			job = job_begin(kind, relid, fingerprint, …);	finds the job if it is not finished
 *			for each step
 *				while (job_claim(job, step, cut, arg, &chunk))
 *					for each batch:							a transaction each
 *						do the work; job_advance(&chunk, position, done, skipped);
 *						job_commit(job); job_tell(job);
 *					job_complete(&chunk);
 *			for each step
 *				while (job_await(job, step, wait, &chunk))
 *					the same again							what other sessions have left
 *			job_end(job)
 *		PG_FINALLY
 *			job_leave(job)									NULL: it was not begun
 *
 * The caller is a procedure that has connected to SPI by procedure_connect() (server/work/procedure.h),
 * and has checked the user's rights.  Every job_ function that commits says so.  After each commit
 * the transaction is READ COMMITTED, and its own commit does not wait for the disk: if a crash
 * loses work, it loses the position too.  Nothing is locked, there is no active snapshot, and the
 * current memory context is job->transient, which was reset.
 *
 * Rows of jobs, job_chunks and job_notes belong to the extension's owner (see
 * owned.h).  They are not dumped: after a restore a job begins at its start.
 */
#ifndef DYNAMO_TABLE_SERVER_WORK_JOB_H
#define DYNAMO_TABLE_SERVER_WORK_JOB_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/array.h"

typedef struct Job
{
	int64 id;
	Oid relid; /* the table of items */
	const char *kind; /* "backfill", "refresh", "migration" */
	const char *name; /* of a migration, or what was asked for; shown to users */
	TimestampTz told; /* the last NOTICE about progress */
	MemoryContext context; /* outlives transactions */
	MemoryContext transient; /* emptied by each transaction */
	bool joined; /* the session has a lock that says that it takes part */
	bool waited; /* a NOTICE has said that it waits for other sessions */
	int64 claimed; /* the number of the chunk that the session has locked; 0: none */
} Job;

/* A JobChunk has the keys after lower, if not NULL, up to and with upper, or the end if NULL. */
typedef struct JobChunk
{
	Job *job;
	int step;
	int64 number;
	ArrayType *lower; /* text[], what the chunk still has to do begins after it */
	ArrayType *upper;
} JobChunk;

/* A JobTotal is what a job has done, in all sessions. */
typedef struct JobTotal
{
	int64 done;
	int64 skipped;
	int64 problems;
} JobTotal;

/*
 * Returns where a chunk that begins after lower (NULL: the beginning) ends, as text[] in the
 * current context; NULL: it is the last one.  It runs while the job is locked, under an active
 * snapshot.
 */
typedef ArrayType *(*JobCut)(int step, ArrayType *lower, void *arg);

/*
 * Begins a job, or continues the one of the same kind, table and fingerprint that is not finished.
 * Commits.  The current memory context becomes job->context.
 *
 * To continue a job, the user needs the rights of the role that began it.  restart forgets what was
 * done; the table's owner may restart a job too, but not while other sessions work on it.
 */
extern Job *job_begin(const char *kind, Oid relid, const char *name, const char *fingerprint,
					  const List *step_names, bool restart);

/* Releases the locks; also after an error, whatever state the transaction is in. */
extern void job_leave(Job *job);

/* Commits. */
extern void job_commit(Job *job);

/* Sets the rows that a step may have, for progress; the first time counts.  Does not commit. */
extern void job_expect(Job *job, int step, int64 rows);

/* Commits.  False: all chunks of the step are done, or others are at work on them. */
extern bool job_claim(Job *job, int step, JobCut cut, void *arg, JobChunk *chunk);

/*
 * Serves when there is nothing to claim: waits for the sessions that work on the step, and takes a
 * chunk that one of them leaves unfinished.  If wait is false, sessions at work are an error.
 * False: all chunks of the step are done.  Commits.
 */
extern bool job_await(Job *job, int step, bool wait, JobChunk *chunk);

/*
 * Notes that rows up to position are processed: so many were changed, and so many only read.  The
 * last thing in the transaction that did it.  Does not commit.
 */
extern void job_advance(JobChunk *chunk, ArrayType *position, int64 done, int64 skipped);

/* Nothing of the chunk is left.  Commits. */
extern void job_complete(JobChunk *chunk);

/*
 * Returns whether all chunks of all steps are done, and if so marks the job as finished.  Commits,
 * and waits until all that went before is on disk.
 */
extern bool job_end(Job *job);

/*
 * Notes a row that could not be processed, and why; dyn_job_problems shows it.  Does not commit.
 */
extern void job_problem(Job *job, int step, const char *what, const char *row, const char *message);

extern void job_total(Job *job, JobTotal *total);

/* Raises a NOTICE about progress, if the last one is some seconds old: rows, rate, time left. */
extern void job_tell(Job *job);

#endif
