/*
 * backfill.c
 *	  The columns of an index, for rows that are older than it.
 *
 * Each row is updated with its own item, and the derive trigger fills in the columns.  Rows are
 * updated in the order of blocks, in batches of one transaction each that lock rows for some tens
 * of milliseconds.  A batch never waits for a row while it has others locked: rows that other
 * sessions have locked are skipped, and updated at the end, one by one.
 *
 * The rows of a distributed table are updated on the nodes that have them, see backfill_shards.c.
 *
 * No progress is stored.  A procedure that begins again reads the table again, and finds which rows
 * have their columns.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/transam.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/timestamp.h"

#include "server/errors.h"
#include "server/extension.h"
#include "server/mark.h"
#include "server/progress.h"
#include "server/sql.h"
#include "services/index/index.h"
#include "services/index/lacking.h"

#define FIRST_BATCH 16 /* blocks */
#define LONG_BATCH 40.0 /* milliseconds: smaller ones then */
#define SHORT_BATCH 15.0

/* Smaller tables may double; larger ones are vacuumed after each eighth that was updated. */
#define VACUUM_FROM 1024 /* blocks */
#define VACUUM_PART 8

typedef struct Backfill
{
	IndexBuild *work;
	Oid filenode; /* a rewrite puts rows elsewhere */
	TransactionId begin; /* transactions from this one on came after the start */
	BlockNumber next;
	BlockNumber end; /* as of the start: what comes later has its columns */
	BlockNumber batch;
	BlockNumber changed; /* blocks since the last VACUUM */
	List *skipped; /* BlockRange */
	TimestampTz told;
	Lacking rows; /* of the transaction */
} Backfill;

/*
 * Transactions
 */

/* Raises an error if a policy applies to us: it would hide rows silently. */
void
index_build_check_row_security(const IndexBuild *work)
{
	if (check_enable_rls(work->procedure.relid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("row-level security may hide items of table \"%s\" from %s",
							   work->procedure.table, work->procedure.what),
						errhint("Call as a role that bypasses row-level security.")));
}

/* Starts at the beginning, or at the beginning again. */
static void
backfill_start(Backfill *fill, Relation rel)
{
	fill->filenode = rel->rd_rel->relfilenode;
	fill->begin = ReadNextTransactionId();
	fill->next = 0;
	fill->end = RelationGetNumberOfBlocks(rel);
	fill->changed = 0;
	fill->skipped = NIL;
	fill->work->blocks_total = fill->end;
	fill->work->blocks_done = 0;
	fill->work->left_out = 0;
}

/*
 * Begins a transaction for some rows.  Its commit need not reach the disk before the next one
 * begins: what a crash takes back is done again.  Returns false if rows are no longer where they
 * were.
 */
static bool
next_transaction(Backfill *fill)
{
	IndexBuild *work = fill->work;
	DynTable *table;
	Relation rel = index_build_open(work, RowExclusiveLock, &table);
	bool same = fill->filenode == rel->rd_rel->relfilenode;

	index_build_check_row_security(work);
	procedure_commit_lazily();
	set_config_option("enable_tidscan", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0,
					  false);
	if (!same)
		backfill_start(fill, rel);
	lacking_describe(&fill->rows, work, rel, table);
	relation_close(rel, NoLock);
	return same;
}

/*
 * Statements
 */

/* Counts rows in a range of blocks that lack columns; those that never get them count apart. */
static int64
count_rows(Backfill *fill, BlockRange range)
{
	int64 left_out;
	int64 lacking = lacking_count(&fill->rows, range, fill->begin, &left_out);

	fill->work->left_out += left_out;
	return lacking;
}

/* Finds the rows themselves. */
static int
find_rows(Backfill *fill, BlockRange range, Datum **tids)
{
	Datum bounds[2] = {lacking_tid(range.from), lacking_tid(range.to)};
	int n;

	lacking_run_tid_scan(&fill->rows,
						 psprintf("SELECT ctid FROM %s WHERE " LACKING_IN_RANGE " AND %s",
								  fill->rows.qualified, fill->rows.lacking),
						 2, bounds);
	n = (int) SPI_processed;
	*tids = palloc(Max(n, 1) * sizeof(Datum));
	for (int i = 0; i < n; i++)
		(*tids)[i] = datumCopy(sql_value(SPI_tuptable, i, 1), false, sizeof(ItemPointerData));
	SPI_freetuptable(SPI_tuptable);
	return n;
}

/* Counts the rows of an UPDATE, which returns whether each is left out. */
static int
count_updated(Backfill *fill)
{
	int updated = (int) SPI_processed;

	for (int i = 0; i < updated; i++)
		fill->work->left_out += DatumGetBool(sql_value_or_zero(SPI_tuptable, i, 1));
	fill->work->items += updated;
	SPI_freetuptable(SPI_tuptable);
	return updated;
}

/* Runs an UPDATE that readers of changes are to leave out. */
static void
run_update(const Backfill *fill, const char *sql, int nargs, Datum *values)
{
	DynMarked marked;

	dyn_mark_start(&marked, DYN_MARK_BACKFILL, fill->work->procedure.relid);
	lacking_run(&fill->rows, sql, nargs, values, false);
	dyn_mark_end(&marked);
}

/* Returns how many were updated, without those that other sessions have locked or changed. */
static int
update_rows(Backfill *fill, BlockRange range)
{
	Datum bounds[2] = {lacking_tid(range.from), lacking_tid(range.to)};
	const char *item = quote_identifier(DYN_ITEM_COLUMN);

	run_update(fill,
			   psprintf("UPDATE %s SET %s = %s WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
						"SELECT ctid FROM %s WHERE " LACKING_IN_RANGE " AND %s"
						" FOR NO KEY UPDATE SKIP LOCKED)) RETURNING %s",
						fill->rows.qualified, item, item, fill->rows.qualified, fill->rows.lacking,
						fill->rows.left_out),
			   2, bounds);
	return count_updated(fill);
}

/* Updates one row; the transaction holds no other row, so it can wait for the lock. */
static bool
update_row(Backfill *fill, Datum pointer)
{
	const char *item = quote_identifier(DYN_ITEM_COLUMN);

	run_update(
		fill,
		psprintf("UPDATE %s SET %s = %s WHERE ctid OPERATOR(pg_catalog.=) $1 AND %s RETURNING %s",
				 fill->rows.qualified, item, item, fill->rows.lacking, fill->rows.left_out),
		1, &pointer);
	return count_updated(fill) > 0;
}

/*
 * Raises an error for a row that is where it was, was not locked, and still lacks its columns: a
 * trigger or rule of the table's has undone the update.
 */
static void
check_gone(const Backfill *fill, Datum pointer)
{
	lacking_run(&fill->rows,
				psprintf("SELECT 1 FROM %s WHERE ctid OPERATOR(pg_catalog.=) $1 AND %s",
						 fill->rows.qualified, fill->rows.lacking),
				1, &pointer, false);
	if (SPI_processed > 0)
		ereport(ERROR, (errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
						errmsg("columns of %s cannot be filled in", fill->work->procedure.what),
						errdetail("A trigger or rule of table \"%s\" takes updates back.",
								  fill->work->procedure.table)));
	SPI_freetuptable(SPI_tuptable);
}

/*
 * Batches
 */

static void
fill_batch(Backfill *fill)
{
	BlockRange range = {fill->next, Min(fill->next + fill->batch, fill->end)};
	int64 lacking = count_rows(fill, range);
	instr_time begin;
	int updated;

	fill->next = range.to;
	if (lacking == 0)
	{
		fill->batch = LACKING_LARGEST_BATCH;
		return;
	}
	INSTR_TIME_SET_CURRENT(begin);
	updated = update_rows(fill, range);
	fill->batch = lacking_next_batch(fill->batch, begin, SHORT_BATCH, LONG_BATCH);
	fill->changed += Min(updated, range.to - range.from);
	if (updated < lacking)
		fill->skipped = lacking_keep(fill->skipped, range, fill->work);
}

/* Fills in what was skipped of one range; the rows move no more than with any update. */
static void
fill_skipped(Backfill *fill)
{
	BlockRange range = *(BlockRange *) linitial(fill->skipped);
	MemoryContext old = MemoryContextSwitchTo(fill->work->procedure.context);
	Datum *tids;
	int n = find_rows(fill, range, &tids);

	MemoryContextSwitchTo(old);
	for (int i = 0; i < n; i++)
	{
		if (!next_transaction(fill))
			return;
		if (!update_row(fill, tids[i]))
			check_gone(fill, tids[i]);
	}
	fill->skipped = list_delete_first(fill->skipped);
}

/*
 * Between transactions
 */

static void
backfill_vacuum(Backfill *fill)
{
	IndexBuild *work = fill->work;
	char *sql;

	if (work->temporary || fill->end < VACUUM_FROM || fill->changed < fill->end / VACUUM_PART)
		return;
	fill->changed = 0;
	sql = psprintf("VACUUM (TRUNCATE false, PROCESS_TOAST false, SKIP_LOCKED) %s",
				   fill->rows.qualified);
	sql = MemoryContextStrdup(work->procedure.context, sql);
	procedure_next_transaction(&work->procedure);
	index_build_progress(work, INDEX_BUILD_VACUUM);
	if (!statement_try(&work->procedure, &work->place, sql))
		ereport(DEBUG1, (errmsg("no background worker is free for \"%s\"", sql)));
	pfree(sql);
}

/* Tells of progress from time to time. */
void
index_build_tell(const IndexBuild *work, TimestampTz *told)
{
	if (progress_is_due(told))
		ereport(NOTICE, (errmsg("%s: %d %% of the blocks of table \"%s\" are read, " INT64_FORMAT
								" items are filled in",
								work->procedure.what,
								(int) (100.0 * work->blocks_done / Max(work->blocks_total, 1)),
								work->procedure.table, work->items)));
}

/*
 * Fills in the index's columns in all rows of the table that lack them, in many transactions.  It
 * commits the caller's transaction and leaves the last one open.  index_build_run() and procedure_connect()
 * were called before.
 */
void
index_build_backfill(IndexBuild *work)
{
	Backfill fill = {.work = work, .batch = FIRST_BATCH, .told = GetCurrentTimestamp()};

	ereport(NOTICE, (errmsg("%s: filling columns", work->procedure.what)));
	index_build_progress(work, INDEX_BUILD_BACKFILL);
	if (work->distributed)
	{
		index_build_backfill_shards(work);
		return;
	}
	for (;;)
	{
		next_transaction(&fill);
		if (fill.next < fill.end)
			fill_batch(&fill);
		else if (fill.skipped != NIL)
			fill_skipped(&fill);
		else
			break;
		work->blocks_done = fill.next;
		index_build_tell(work, &fill.told);
		backfill_vacuum(&fill);
		work->phase = fill.next < fill.end ? INDEX_BUILD_BACKFILL : INDEX_BUILD_SKIPPED;
	}
}
