/*
 * regroup.c
 *	  dyn_regroup(): moves the rows of collections that lie on many pages to fewer.
 *
 * A procedure of the table's owner, as VACUUM FULL, but without a lock that anybody waits for.  Rows
 * are moved by updates that change nothing, in short transactions that are SERIALIZABLE (see
 * am/move.h) and begin again if they fail for that.  No trigger fires, and no stream has a record.
 * Expressions of indexes run as in VACUUM: with the owner's rights, and security-restricted.
 *
 * Each transaction looks whether an index or time to live has been declared and is not active yet.
 * Its backfill goes over the pages that there were, and relies on triggers for the rows of others.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "am/am.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "catalog/size.h"
#include "server/arguments.h"
#include "server/attempt.h"
#include "server/catalogs.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/progress.h"
#include "server/work/brief_lock.h"
#include "services/job/items.h"
#include "services/job/regroup.h"

/* A transaction that others make fail is tried so often, so many milliseconds apart and more. */
#define ATTEMPTS 5
#define ATTEMPT_PAUSE 50

/* Between looks whether anybody still sees what has made room are so many milliseconds. */
#define HORIZON_PAUSE 20

/* VACUUM runs when so many versions are dead, or a tenth of the table's rows if that is more. */
#define DEAD_ROWS 10000

/*
 * The table
 */

static void
require_no_exclusion(Relation rel)
{
	List *indexes = RelationGetIndexList(rel);
	ListCell *cell;

	foreach (cell, indexes)
	{
		Relation index = index_open(lfirst_oid(cell), RowExclusiveLock);
		bool exclusion = index->rd_index->indisexclusion;

		index_close(index, NoLock);
		if (exclusion)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("table \"%s\" cannot be regrouped", RelationGetRelationName(rel)),
					 errdetail("It has an exclusion constraint, which waits for other "
							   "transactions when a row moves."),
					 errhint("Use VACUUM FULL, which locks the table.")));
	}
	list_free(indexes);
}

static void
require_active(const DynTable *table)
{
	bool active = table->ttl == NULL || table->ttl->status == DYN_INDEX_ACTIVE;

	for (int i = 0; i < table->nindexes; i++)
		active &= table->indexes[i].status == DYN_INDEX_ACTIVE;
	if (!active)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("an index or time to live of table \"%s\" is being created or removed",
						table->name),
				 errhint("Call dyn_regroup again when dyn_jobs shows that this is finished; it "
						 "goes on where it is now.")));
}

/* Raises an error unless the caller may regroup the table, and it can be done. */
static void
require_regroupable(Relation rel, const DynTable *table)
{
	rights_require_plain_table(rel, "the place of rows");
	if (table->distributed)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("distributed table \"%s\" cannot be regrouped", table->name)));
	if (!dyn_am_is_ours(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot be regrouped", table->name),
				 errdetail("Its access method is not dynamo_table, so nothing keeps its item "
						   "collections together.")));
	if (table->nkeys < 2)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table \"%s\" cannot be regrouped", table->name),
						errdetail("It has no sort key, so each item collection is one item.")));
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("temporary table \"%s\" cannot be regrouped", table->name)));
	require_no_exclusion(rel);
	require_active(table);
}

pg_noreturn static void
fail_dropped(const Regroup *r)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
					errmsg("table \"%s\" was dropped meanwhile", r->procedure.table)));
}

/* Opens the table in a new transaction, under a snapshot. */
static void
regroup_open(Regroup *r)
{
	(void) extension_lock(true);
	LockRelationOid(r->procedure.relid, RowExclusiveLock);
	r->rel = try_relation_open(r->procedure.relid, NoLock);
	r->table = r->rel == NULL ? NULL : dyn_schema(r->rel);
	if (r->table == NULL)
		fail_dropped(r);
	require_regroupable(r->rel, r->table);
	r->index = index_open(r->table->primary.relid, RowExclusiveLock);
	PushActiveSnapshot(GetTransactionSnapshot());
}

static void
regroup_close(Regroup *r)
{
	PopActiveSnapshot();
	index_close(r->index, NoLock);
	relation_close(r->rel, NoLock);
}

/*
 * Transactions
 */

/* Begins to read the rest of the table, of whose pages nothing is known. */
static void
forget_pages(Regroup *r)
{
	r->plan.position = NULL;
	r->plan.npieces = 0;
	r->plan.end = r->lacks_room = false;
	r->page = r->shared = r->opened = r->hole = InvalidBlockNumber;
	r->cursor = 0;
	r->left.n = r->emptied.n = r->empty.n = r->empty.next = r->nfollowed = 0;
	bms_free(r->ours);
	r->ours = NULL;
}

/* A Part is a part of the work, that a transaction does. */
typedef struct Part
{
	Regroup *r;
	void (*run)(Regroup *r);
} Part;

/* Does a part of the work with the owner's rights. */
static void
run_with_rights(void *arg)
{
	const Part *part = arg;
	Regroup *r = part->r;
	RightsBefore before;

	if (GetUserId() != r->rel->rd_rel->relowner)
		rights_check_temporary(r->rel);
	rights_take(r->rel->rd_rel->relowner, SECURITY_RESTRICTED_OPERATION, &before);
	part->run(r);
	rights_give_back(&before);
}

/*
 * Does a part of the work in a subtransaction, and commits.  Its abort ends what functions of indexes
 * have begun in SPI, and the snapshot is popped, without which SPI_rollback() fails.  If the table
 * has another file than the plan was made of, a new plan is made instead.
 */
static void
run_part(Part *part)
{
	Regroup *r = part->r;
	ErrorData *error = NULL;

	job_commit(r->chunk.job);
	XactIsoLevel = XACT_SERIALIZABLE;
	regroup_open(r);
	if (r->rel->rd_rel->relfilenode == r->file)
		error = attempt(run_with_rights, part);
	else
		forget_pages(r);
	regroup_close(r);
	if (error != NULL)
		ReThrowError(error);
	job_commit(r->chunk.job);
}

/* Returns false if other transactions made it fail; then it is rolled back. */
static bool
try_part(Part *part)
{
	volatile bool done = false;

	PG_TRY();
	{
		run_part(part);
		done = true;
	}
	PG_CATCH();
	{
		if (!item_job_is_conflict(geterrcode()))
			PG_RE_THROW();
		MemoryContextSwitchTo(part->r->procedure.context);
		FlushErrorState();
		SPI_rollback();
	}
	PG_END_TRY();
	return done;
}

/* Waits as long as the work took, or as the rate demands; nothing is locked meanwhile. */
static void
regroup_pause(const Regroup *r, TimestampTz begin)
{
	long took = TimestampDifferenceMilliseconds(begin, GetCurrentTimestamp());

	work_sleep(r->max_rate > 0 ? (long) (r->moves * 1000 / r->max_rate) - took : Max(took, 1));
}

/*
 * Does a part of the work, again if others make it fail.  A collection for which they make it fail
 * again and again is left for the next time.
 */
static void
do_part(Regroup *r, void (*run)(Regroup *))
{
	Part part = {r, run};
	const Regroup before = *r;
	TimestampTz begin = GetCurrentTimestamp();

	r->moves = 0;
	for (int attempt = 1; !try_part(&part); attempt++)
	{
		r->piece = before.piece;
		r->row = before.row;
		r->own = before.own;
		r->filling = -1;
		r->moved = before.moved;
		r->moves = r->nfollowed = 0;
		work_sleep(ATTEMPT_PAUSE * attempt);
		if (attempt < ATTEMPTS)
			continue;
		r->piece++;
		break;
	}
	r->dead += r->moves;
	regroup_pause(r, begin);
}

/* Waits until no snapshot shows what has made room.  Nothing is locked meanwhile. */
static void
await_horizon(Regroup *r)
{
	TimestampTz told = GetCurrentTimestamp();
	bool removable;

	for (;;)
	{
		job_commit(r->chunk.job);
		regroup_open(r);
		removable = !TransactionIdIsValid(r->mover) ||
					TransactionIdPrecedes(r->mover, GetOldestNonRemovableTransactionId(r->rel));
		if (removable)
			regroup_look_at_left(r);
		regroup_close(r);
		job_commit(r->chunk.job);
		if (removable)
			return;
		if (progress_is_due(&told))
			ereport(NOTICE, (errmsg("dyn_regroup of table \"%s\" waits for an old transaction",
									r->procedure.table),
							 errdetail("Its snapshot shows rows where they were, so these pages "
									   "cannot be filled.")));
		work_sleep(HORIZON_PAUSE);
	}
}

/* Has VACUUM remove what moves have left, in a background worker. */
static void
run_vacuum(Regroup *r)
{
	char *name;
	char *sql;

	job_commit(r->chunk.job);
	name = catalogs_qualified(r->procedure.relid);
	if (name == NULL)
		fail_dropped(r);
	sql = MemoryContextStrdup(r->plan_context, psprintf("VACUUM (TRUNCATE false) %s", name));
	job_commit(r->chunk.job);
	statement_run(&r->procedure, &r->place, sql);
	r->dead = 0;
	r->left.n = 0;
}

/*
 * The job
 */

/* Notes what was done of the last part of the table, reads on and plans what is to be moved. */
static void
plan_next(Regroup *r)
{
	job_commit(r->chunk.job);
	regroup_open(r);
	if (r->plan.position != NULL)
		job_advance(&r->chunk, r->plan.position, r->moved, r->plan.read - r->moved);
	if (r->rel->rd_rel->relfilenode != r->file)
		forget_pages(r);
	r->file = r->rel->rd_rel->relfilenode;
	regroup_choose(r);
	r->expected = Max(r->rel->rd_rel->reltuples, 0);
	regroup_close(r);
	job_commit(r->chunk.job);
	job_tell(r->chunk.job);
}

static void
carry_out(Regroup *r)
{
	while (r->piece < r->plan.npieces)
	{
		do_part(r, regroup_move);
		if (r->lacks_room)
		{
			do_part(r, regroup_make_room);
			await_horizon(r);
		}
		if (r->dead > Max(DEAD_ROWS, r->expected / 10))
			run_vacuum(r);
		job_tell(r->chunk.job);
	}
}

static void
regroup_chunk(Regroup *r)
{
	forget_pages(r);
	do
	{
		plan_next(r);
		carry_out(r);
	} while (!r->plan.end);
	plan_next(r);
	if (r->dead > 0)
		run_vacuum(r);
	job_complete(&r->chunk);
}

/* The whole table is one chunk: two sessions would have each other's pages make room. */
static ArrayType *
no_cut(int step, ArrayType *lower, void *arg)
{
	return NULL;
}

static void
regroup_tell_end(const Regroup *r, Job *job)
{
	JobTotal total;

	job_total(job, &total);
	ereport(NOTICE,
			(errmsg("%s of table \"%s\" is finished", r->procedure.name, r->procedure.table),
			 errdetail("Items read: %lld. Items moved: %lld.",
					   (long long) (total.done + total.skipped), (long long) total.done)));
}

static void
regroup_run(Regroup *r, double expected, bool restart, Job **job)
{
	*job = job_begin("regroup", r->procedure.relid, r->procedure.table, "", NIL, restart);
	if (expected >= 0)
		job_expect(*job, 1, (int64) expected);
	while (job_claim(*job, 1, no_cut, NULL, &r->chunk))
		regroup_chunk(r);
	while (job_await(*job, 1, true, &r->chunk))
		regroup_chunk(r);
	(void) job_end(*job);
	regroup_tell_end(r, *job);
}

/* Opens the table in the caller's transaction; returns how many rows it may have. */
static double
regroup_begin(Regroup *r, text *name)
{
	Relation rel;
	DynTable *table;
	double expected;

	rel = dyn_table_open(name, AccessShareLock, &table);
	require_regroupable(rel, table);
	r->procedure.relid = RelationGetRelid(rel);
	r->procedure.table = pstrdup(RelationGetRelationName(rel));
	r->procedure.context = CurrentMemoryContext;
	r->plan_context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table plan", ALLOCSET_DEFAULT_SIZES);
	expected = dyn_expected_items(rel);
	relation_close(rel, NoLock);
	return expected;
}

/* dyn_regroup(table_name, max_rate, restart) */
PG_FUNCTION_INFO_V1(dyn_regroup);
Datum
dyn_regroup(PG_FUNCTION_ARGS)
{
	Regroup r = {.procedure = {.name = "dyn_regroup", .what = "dyn_regroup"}};
	Job *volatile job = NULL;
	double expected;

	procedure_connect(fcinfo, r.procedure.name);
	r.max_rate = argument_positive(fcinfo, 1, "max_rate");
	expected = regroup_begin(&r, argument_required_text(fcinfo, 0, "table_name"));
	PG_TRY();
	{
		regroup_run(&r, expected, argument_flag(fcinfo, 2, false), (Job **) &job);
	}
	PG_FINALLY();
	{
		job_leave(job);
		place_leave(&r.place);
	}
	PG_END_TRY();
	SPI_finish();
	PG_RETURN_VOID();
}
