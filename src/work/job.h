/*
 * job.h
 *	  Long work on a table in many transactions, by several sessions, which a crash interrupts only.
 *
 * A job has steps, numbered from 1, and a step has chunks: ranges of keys in the order of the
 * step's source.  They are made one after the other, as sessions ask for work.  A session that
 * works on a chunk holds a lock of the session on it; how far it came is written in the
 * transaction that did the work.  So whoever asks next takes first the chunks that are not done
 * and that nobody holds, from where they stand: what a kill leaves behind is gone on with.
 *
 *		PG_TRY
 *			job = job_begin(kind, relid, fingerprint, …);	finds the one that is not finished
 *			for each step
 *				while (job_claim(job, step, cut, arg, &chunk))
 *					for each batch:							a transaction each
 *						do the work; job_advance(&chunk, position, done, skipped);
 *						job_commit(job); job_tell(job);
 *					job_complete(&chunk);
 *			for each step
 *				while (job_await(job, step, wait, &chunk))
 *					the same again							what others have left behind
 *			job_end(job)
 *		PG_FINALLY
 *			job_leave(job)									NULL: it was not begun
 *
 * The caller is a procedure that has connected to SPI by procedure_connect() (work/procedure.h), and
 * has looked at the rights of who calls.  Every job_ function that commits says so.  After each
 * commit the transaction is READ COMMITTED, its own commit need not reach the disk (what a crash takes back
 * takes its position with it), nothing is locked, there is no active snapshot, and the current memory context is
 * job->transient, which was reset.
 *
 * Rows of dyn_job_table, dyn_job_chunks and dyn_job_notes are nobody's but the extension owner's (see
 * owned.h).  They are not dumped: a restored database begins anew, and jobs are such that this
 * changes nothing.
 */
#ifndef DYNAMO_TABLE_WORK_JOB_H
#define DYNAMO_TABLE_WORK_JOB_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/array.h"

typedef struct Job
{
	int64 id;
	Oid relid; /* the table of items */
	const char *kind; /* "backfill", "refresh", "migration" */
	const char *name; /* of a migration; else what was asked for, for people */
	TimestampTz told; /* the last NOTICE about progress */
	MemoryContext context; /* outlives transactions */
	MemoryContext transient; /* emptied by each transaction */
	Oid schema; /* of the extension */
	bool joined; /* a lock of the session says that it takes part */
	bool waited; /* and has told that it waits for others */
	int64 claimed; /* the number of the chunk that it has a lock on; 0: none */
} Job;

/* Keys after lower (NULL: from the beginning) up to and with upper (NULL: to the end). */
typedef struct JobChunk
{
	Job *job;
	int step;
	int64 number;
	ArrayType *lower; /* text[], what the chunk still has to do begins after it */
	ArrayType *upper;
} JobChunk;

/* What a job has done, in all sessions. */
typedef struct JobTotal
{
	int64 done;
	int64 skipped;
	int64 problems;
} JobTotal;

/*
 * Where a chunk that begins after lower (NULL: the beginning) ends, as text[] in the current memory
 * context; NULL: it is the last one.  It runs while the job is locked, under an active snapshot.
 */
typedef ArrayType *(*JobCut)(int step, ArrayType *lower, void *arg);

/*
 * Begin a job, or go on with the one of the same kind, table and fingerprint that is not finished.
 * Commits.  The current memory context becomes job->context.
 *
 * Only who has the rights of the role that began a job can go on with it.  restart forgets what was
 * done, which the table's owner may ask for, too, and nobody as long as sessions are at work on it.
 */
extern Job *job_begin(const char *kind, Oid relid, const char *name, const char *fingerprint,
					  int nsteps, bool restart);

/* Let go of the locks, also after an error, in whatever state that has left the transaction. */
extern void job_leave(Job *job);

/* Commits. */
extern void job_commit(Job *job);

/* Rows that a step is expected to have, for progress; the first time counts.  Does not commit. */
extern void job_expect(Job *job, int step, int64 rows);

/* Commits.  False: all chunks of the step are done, or others are at work on them. */
extern bool job_claim(Job *job, int step, JobCut cut, void *arg, JobChunk *chunk);

/*
 * The same when there is nothing to claim: wait for those who are at work on the step, and take what
 * one of them leaves behind; an error if others are at work and who calls does not want to wait.
 * False: all chunks of the step are done.  Commits.
 */
extern bool job_await(Job *job, int step, bool wait, JobChunk *chunk);

/*
 * Rows up to position are dealt with: so many were done, and so many looked at only.  The last
 * thing in the transaction that did it.  Does not commit.
 */
extern void job_advance(JobChunk *chunk, ArrayType *position, int64 done, int64 skipped);

/* Nothing of the chunk is left.  Commits. */
extern void job_complete(JobChunk *chunk);

/*
 * Whether all chunks of all steps are done: the job is finished then, for whoever finds it so.
 * Commits, and waits until all that went before is on disk.
 */
extern bool job_end(Job *job);

/*
 * Something that people have to look at: a row that was not migrated, and why.  dyn_job_problems
 * shows it.  Does not commit.
 */
extern void job_problem(Job *job, int step, const char *what, const char *row, const char *message);

extern void job_total(Job *job, JobTotal *total);

/* A NOTICE about progress, if the last one is some seconds old: rows, rate, time left. */
extern void job_tell(Job *job);

#endif
