/*
 * run.c
 *	  dyn_migrate().
 *
 * A batch reads rows and writes their items, together with its position, in one transaction.  Items
 * that are already as they have to be are not written, so doing a batch twice changes nothing.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "actions/actions.h"
#include "models/migrate/collide.h"
#include "models/migrate/write.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/work/job.h"
#include "server/work/procedure.h"

/* A chunk, on which one session works, has so many batches. */
#define CHUNK_BATCHES 20
#define LARGEST_BATCH 100000
#define BATCH_ROWS 1000

/* So many batches yield after writers were seen; short transactions are seen now and then only. */
#define POLITE_BATCHES 20

/* This is a run of dyn_migrate(), which outlives transactions. */
typedef struct MigrationJob
{
	Job *job;
	ItemSpan name;
	Oid relid; /* of the table of items; InvalidOid: not found yet */
	const char *declared; /* all that decides what rows become */
	uint64 serial; /* of the migration when it was last found to be declared so */
	int batch_size; /* 0: the default of the source */
	bool wait; /* for other sessions that are at work on the rest */
	HTAB *collisions;
	List *broken; /* of BrokenStep */
	const char *step_name;
	int polite; /* batches that are still to yield to writers */
} MigrationJob;

/* This is a step that no rows are read of, with the row whose fault that is. */
typedef struct BrokenStep
{
	int number;
	const char *row;
	const char *message;
} BrokenStep;

/* This is the migration as it is open in one transaction. */
typedef struct OpenMigration
{
	Relation rel;
	DynTable *table;
	Migration *migration;
	MigrationStep *step;
	RightsBefore before;
} OpenMigration;

/*
 * Returns a text that changes when rows would become other items, or be read in another order.  A
 * job must not be continued then, as it would leave the rows before its position as they are.
 */
static char *
declared(const OpenMigration *open)
{
	List *declarations = model_declarations(open->rel, MODEL_ENTITY);
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, open->migration->json);
	for (int i = 0; i < open->migration->nsteps; i++)
	{
		const MigrationStep *step = &open->migration->steps[i];
		const ModelDeclaration *entity = model_find(declarations, step->entity->name);

		appendStringInfo(&text, "\n%s %u", entity == NULL ? "" : entity->json, step->source.relid);
		for (int k = 0; k < step->nkeys; k++)
			appendStringInfo(&text, " %s %s", step->keys[k].column, step->keys[k].type_name);
	}
	return text.data;
}

/*
 * Returns a text for the job to be known by.  Followers are a part of it: they care for rows that
 * change behind the job's position, and a job that ran without them has missed such changes.
 */
static char *
run_fingerprint(const Migration *migration, const char *declared)
{
	List *followers = migration_followers(migration->name, migration->relid);
	StringInfoData text;
	ListCell *cell;

	list_sort(followers, list_oid_cmp);
	initStringInfo(&text);
	appendStringInfo(&text, "%s\n", declared);
	foreach (cell, followers)
		appendStringInfo(&text, " %u", lfirst_oid(cell));
	return text.data;
}

/* Called under an active snapshot, which the analysis of SQL needs. */
static void
open_migration(MigrationJob *work, OpenMigration *open)
{
	open->rel = OidIsValid(work->relid)
					? migration_open_again(work->name, work->relid, RowExclusiveLock, &open->table,
										   &open->migration, &open->before)
					: migration_open_to_run(work->name, RowExclusiveLock, &open->table,
											&open->migration, &open->before);
	/* whatever changes the label, where all is declared, has the migration read again */
	if (work->declared != NULL && work->serial != open->migration->serial &&
		strcmp(work->declared, declared(open)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("migration \"%s\" was declared again meanwhile", open->migration->name),
				 errhint("Call dyn_migrate() again.")));
	work->relid = open->migration->relid;
	work->serial = open->migration->serial;
	open->step = work->step_name == NULL
					 ? NULL
					 : migration_step(open->migration, item_span(work->step_name));
}

static void
close_migration(OpenMigration *open)
{
	migration_close(open->rel, &open->before);
}

static int
batch_rows(const MigrationJob *work, const MigrationStep *step)
{
	if (work->batch_size > 0)
		return work->batch_size;
	return step->key_is_given ? MIGRATION_QUERY_ROWS : BATCH_ROWS;
}

/*
 * Chunks
 */

/* Returns what is wrong with a step as a whole, or NULL. */
static const BrokenStep *
broken_step(const MigrationJob *work, int number)
{
	ListCell *cell;

	foreach (cell, work->broken)
	{
		const BrokenStep *broken = lfirst(cell);

		if (broken->number == number)
			return broken;
	}
	return NULL;
}

static ArrayType *
cut_chunk(int number, ArrayType *lower, void *arg)
{
	MigrationJob *work = arg;
	OpenMigration open;
	int64 rows;
	ArrayType *cut;

	if (broken_step(work, number) != NULL)
		return NULL;
	open_migration(work, &open);
	rows = batch_rows(work, open.step);
	if (!open.step->key_is_given)
		rows *= CHUNK_BATCHES;
	cut = step_cut(open.step, lower, rows);
	close_migration(&open);
	return cut;
}

/*
 * Batches
 */

static void
note_collisions(MigrationJob *work, MigrationRow *rows, int n)
{
	for (int i = 0; i < n; i++)
	{
		const Collision *collision =
			rows[i].item == NULL ? NULL : collision_of(work->collisions, &rows[i]);

		if (collision != NULL)
			row_set_collision(&rows[i], collision->loses, collision->other);
	}
}

static void
note_problems(MigrationJob *work, const MigrationStep *step, const MigrationRow *rows, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (rows[i].problem == ROW_OK)
			continue;
		job_problem(work->job, step->number, row_problem_names[rows[i].problem],
					row_name(step, rows[i].tuple, rows[i].desc), rows[i].message);
	}
}

/* Leaves time to the writers of the source, if there are any. */
static void
run_yield(MigrationJob *work, TimestampTz began, bool writers)
{
	if (writers)
		work->polite = POLITE_BATCHES;
	if (work->polite == 0)
		return;
	work->polite--;
	migration_yield(began);
}

/* Opens the migration with the lock of a batch.  Returns since when writers are kept out. */
static TimestampTz
lock_migration(MigrationJob *work, OpenMigration *open)
{
	TimestampTz began;

	PushActiveSnapshot(GetTransactionSnapshot());
	open_migration(work, open);
	PopActiveSnapshot();
	began = migration_lock_batch(open->migration);
	/* a job of another declaration waits for batches that have the lock, and for no others */
	close_migration(open);
	AcceptInvalidationMessages();
	PushActiveSnapshot(GetTransactionSnapshot());
	open_migration(work, open);
	PopActiveSnapshot();
	return began;
}

/* Returns false if the chunk has no more rows. */
static bool
run_batch(MigrationJob *work, JobChunk *chunk)
{
	OpenMigration open;
	MigrationRow *rows;
	ArrayType *position = NULL;
	int written;
	TimestampTz began;
	bool writers;
	bool more;
	int nest;
	int n;

	began = lock_migration(work, &open);
	/* taken after the lock: no follower changes what it shows until the batch has committed */
	PushActiveSnapshot(GetTransactionSnapshot());
	n = step_read(open.step, open.rel, open.table, chunk->lower, chunk->upper,
				  batch_rows(work, open.step), &rows, &more);
	nest = migration_enter();
	note_collisions(work, rows, n);
	if (n > 0)
		position = row_position(open.step, rows[n - 1].tuple, rows[n - 1].desc);
	migration_leave(nest);
	written = write_rows(open.rel, open.table, rows, n);
	nest = migration_enter();
	note_problems(work, open.step, rows, n);
	migration_leave(nest);
	if (n > 0)
		job_advance(chunk, position, written, n - written);
	PopActiveSnapshot();
	writers = migration_has_writers(open.step);
	close_migration(&open);
	job_commit(work->job);
	job_tell(work->job);
	run_yield(work, began, writers);
	return more;
}

static void
note_broken(MigrationJob *work, const BrokenStep *broken)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	job_problem(work->job, broken->number, row_problem_names[ROW_ERROR], broken->row,
				broken->message);
	PopActiveSnapshot();
}

static void
run_chunk(MigrationJob *work, JobChunk *chunk)
{
	const BrokenStep *broken = broken_step(work, chunk->step);

	if (broken != NULL)
		note_broken(work, broken);
	else
	{
		while (run_batch(work, chunk))
			;
	}
	job_complete(chunk);
}

static void
run_step(MigrationJob *work, int number)
{
	JobChunk chunk;

	while (job_claim(work->job, number, cut_chunk, work, &chunk))
		run_chunk(work, &chunk);
}

/* Takes what other sessions leave unfinished, once there is nothing else to do in any step. */
static void
finish_step(MigrationJob *work, int number)
{
	JobChunk chunk;

	while (job_await(work->job, number, work->wait, &chunk))
		run_chunk(work, &chunk);
}

/*
 * The whole
 */

/* Notes a step whose key is broken, and goes on: the others have nothing to do with it. */
static void
check_key(MigrationJob *work, MigrationStep *step)
{
	MemoryContext old;
	MigrationRow row;
	BrokenStep *broken;
	char *name;

	if (!step_key_is_broken(step, &row))
		return;
	name = row_name(step, row.tuple, row.desc);
	old = MemoryContextSwitchTo(work->job->context);
	broken = palloc(sizeof(BrokenStep));
	*broken = (BrokenStep){step->number, pstrdup(name), row.message};
	work->broken = lappend(work->broken, broken);
	MemoryContextSwitchTo(old);
}

/* Checks keys, counts rows and finds collisions in the job's first transaction. */
static void
run_prepare(MigrationJob *work, const List *steps)
{
	OpenMigration open;
	MemoryContext old;
	ListCell *cell;

	PushActiveSnapshot(GetTransactionSnapshot());
	work->step_name = NULL;
	open_migration(work, &open);
	foreach (cell, steps)
	{
		MigrationStep *step = migration_step(open.migration, item_span(lfirst(cell)));
		int64 rows = (int64) step_expected_rows(step);

		check_key(work, step);
		if (rows >= 0)
			job_expect(work->job, step->number, rows);
	}
	old = MemoryContextSwitchTo(work->job->context);
	work->collisions = collisions_find(open.migration);
	MemoryContextSwitchTo(old);
	PopActiveSnapshot();
	close_migration(&open);
}

static void
tell_end(MigrationJob *work, bool finished, bool same_followers)
{
	JobTotal total;
	char *name = span_string(work->name);

	job_total(work->job, &total);
	if (finished)
		ereport(NOTICE,
				(errmsg("migration \"%s\" is done: %lld items", name, (long long) total.done)));
	if (!same_followers)
		ereport(WARNING, (errmsg("following migration \"%s\" was begun or ended meanwhile", name),
						  errhint("Call dyn_migrate() again for changes that were made before.")));
	if (total.problems > 0)
		ereport(WARNING, (errmsg("%lld rows of migration \"%s\" have problems",
								 (long long) total.problems, name),
						  errhint("They are in dyn_job_problems, with job = %lld.",
								  (long long) work->job->id)));
}

/* Returns the names of the steps that were asked for, in their order. */
static List *
chosen_steps(const OpenMigration *open, const text *step)
{
	List *steps = NIL;

	if (step != NULL)
		return list_make1(pstrdup(migration_step(open->migration, text_span(step))->name));
	for (int i = 0; i < open->migration->nsteps; i++)
		steps = lappend(steps, pstrdup(open->migration->steps[i].name));
	return steps;
}

static int
step_number(MigrationJob *work, const char *name)
{
	OpenMigration open;
	int number;

	PushActiveSnapshot(GetTransactionSnapshot());
	work->step_name = name;
	open_migration(work, &open);
	number = open.step->number;
	PopActiveSnapshot();
	close_migration(&open);
	return number;
}

static bool
has_fingerprint(MigrationJob *work, const char *began)
{
	OpenMigration open;
	bool same;

	PushActiveSnapshot(GetTransactionSnapshot());
	work->step_name = NULL;
	open_migration(work, &open);
	same = strcmp(began, run_fingerprint(open.migration, work->declared)) == 0;
	PopActiveSnapshot();
	close_migration(&open);
	return same;
}

static void
run_migrate(MigrationJob *work, const text *step, bool restart)
{
	OpenMigration open;
	List *steps;
	ListCell *cell;
	List *all;
	bool finished;
	const char *began;

	open_migration(work, &open);
	steps = chosen_steps(&open, step);
	all = chosen_steps(&open, NULL);
	work->declared = declared(&open);
	began = run_fingerprint(open.migration, work->declared);
	close_migration(&open);
	migration_await_batches(open.migration);
	work->job = job_begin("migration", work->relid, span_string(work->name), began, all, restart);
	run_prepare(work, steps);
	foreach (cell, steps)
		run_step(work, step_number(work, lfirst(cell)));
	foreach (cell, steps)
		finish_step(work, step_number(work, lfirst(cell)));
	finished = job_end(work->job);
	tell_end(work, finished, has_fingerprint(work, began));
}

PG_FUNCTION_INFO_V1(dyn_migrate);
Datum
dyn_migrate(PG_FUNCTION_ARGS)
{
	MigrationJob work = {0};
	int64 batch_size = argument_positive(fcinfo, 2, "batch_size");

	procedure_connect(fcinfo, "dyn_migrate");
	argument_require(fcinfo, 0, "migration");
	if (batch_size > LARGEST_BATCH)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("batch_size must be at most %d", LARGEST_BATCH)));
	work.name = text_span(PG_GETARG_TEXT_P_COPY(0));
	work.batch_size = (int) batch_size;
	work.wait = argument_flag(fcinfo, 4, true);
	PG_TRY();
	{
		run_migrate(&work, argument_text(fcinfo, 1), argument_flag(fcinfo, 3, false));
	}
	PG_FINALLY();
	{
		job_leave(work.job);
	}
	PG_END_TRY();
	SPI_finish();
	PG_RETURN_VOID();
}
