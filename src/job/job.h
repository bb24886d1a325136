/*
 * job.h
 *	  Long work on a table in many transactions, by several sessions, which a crash interrupts only.
 *
 * A job has steps, a step has chunks: ranges of keys in the order of the step's source.  They are
 * made one after the other, as sessions ask for work.  A session that works on a chunk holds a lock of the session on it;
 * how far it came is written in the transaction that did the work.  So whoever asks next takes
 * first the chunks that are not done and that nobody holds, from where they stand: what a kill
 * leaves behind is gone on with.
 *
 *		job = job_begin(kind, relid, fingerprint, …);		finds the one that is not finished
 *		while (job_claim(job, step, cut, arg, &chunk))		commits
 *			for each batch:									a transaction each
 *				do the work; job_advance(&chunk, position, done, skipped); SPI_commit();
 *			job_complete(&chunk);
 *		job_end(job)		if nobody has work left: it is finished
 *
 * Rows of dyn_jobs and dyn_job_chunks are nobody's but the extension owner's (see owned.h).  They are not
 * dumped: a restored database begins anew, and jobs are such that this changes nothing.
 */
#ifndef DYNAMO_TABLE_JOB_JOB_H
#define DYNAMO_TABLE_JOB_JOB_H

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

/*
 * Where a chunk that begins after lower ends, as text[] in the current memory context, and roughly
 * how many rows it has; NULL: it is the last one.  It runs while the job is locked.
 */
typedef ArrayType *(*JobCut)(int step, ArrayType *lower, void *arg);

/* Begin a job, or go on with the one of the same kind, table and fingerprint that is not finished. */
extern Job *job_begin(const char *kind, Oid relid, const char *name, const char *fingerprint,
					  int nsteps, bool restart);

/* Rows that a step is expected to have, for progress. */
extern void job_expect(Job *job, int step, int64 rows);

extern bool job_claim(Job *job, int step, JobCut cut, void *arg, JobChunk *chunk);
extern void job_advance(JobChunk *chunk, ArrayType *position, int64 done, int64 skipped);
extern void job_complete(JobChunk *chunk);

/* Whether all chunks of all steps are done; the job is finished then, for whoever asks first. */
extern bool job_end(Job *job);

/* Something that people have to look at: a row that was not migrated, and why. */
extern void job_problem(Job *job, int step, const char *what, const char *row, const char *message);
extern void job_forget_problems(Job *job, int step);

/* A NOTICE about progress, if the last one is some seconds old: rows, rate, time left. */
extern void job_tell(Job *job);

#endif
