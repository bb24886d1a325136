/*
 * sweep.c
 *	  The removal of due items from one table.
 *
 * The index is read some thousand entries at a time, and these are removed in batches, in the order
 * of the table's pages, a transaction each.  By then an item may have changed: whether it is due is
 * looked at again when it is locked, and an item that another session has locked or changed is left
 * to the next sweep (docs/semantics.md, TT10).
 *
 * It runs with the rights of the table's owner, whichever role calls, as VACUUM and ANALYZE do for
 * functions of a table: the table's triggers must not get a superuser's rights, and the caller must
 * not get the owner's.  So the search_path is a fixed one, and deferred triggers fire at once,
 * while the owner's rights are in effect.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_type.h"
#include "executor/instrument.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "catalog/entries.h"
#include "catalog/key.h"
#include "catalog/listing.h"
#include "catalog/rights.h"
#include "server/catalogs.h"
#include "server/citus.h"
#include "server/compat.h"
#include "server/extension.h"
#include "server/mark.h"
#include "server/sql.h"
#include "server/work/background.h"
#include "server/work/brief_lock.h"
#include "server/work/procedure.h"
#include "server/work/tid_plan.h"
#include "services/ttl/ttl.h"
#include "store/entries.h"

/* So many entries are read at once: each reading may have to pass all that went before. */
#define DUE_AT_ONCE 20000

/*
 * Transactions
 */

static void
next_transaction(TtlSweep *sweep)
{
	procedure_commit(sweep->transient);
}

/*
 * Keeps a shard on this node until the transaction ends.  False if it is moving, or is not here any
 * more.
 */
static bool
keep_shard(TtlSweep *sweep, bool wait)
{
	DynShardState state = dyn_local_shard_keep(sweep->shard, wait);

	sweep->locked = state == DYN_SHARD_MOVES;
	sweep->absent = state != DYN_SHARD_HERE;
	return !sweep->absent;
}

/* Opens the table; returns NULL if there is nothing to sweep, or no longer. */
Relation
ttl_open(TtlSweep *sweep, LOCKMODE mode, DynTable **table)
{
	bool wait = !sweep->limits.background && !sweep->limits.nowait;
	Relation rel = NULL;
	List *indexes;

	*table = NULL;
	sweep->enabling = false;
	sweep->locked = sweep->absent = !extension_lock(wait);
	if (sweep->locked)
		return NULL;
	if (sweep->shard != NULL && !keep_shard(sweep, wait))
		return NULL;
	if (wait)
		rel = try_relation_open(sweep->relid, mode);
	else if (dyn_try_locks(sweep->relid, mode, &indexes))
		rel = try_relation_open(sweep->relid, NoLock);
	else
		sweep->locked = true;
	*table = rel == NULL ? NULL : sweep->shard != NULL ? dyn_schema_shard(rel) : dyn_schema(rel);
	sweep->absent = *table == NULL || !ttl_has_items(rel, *table) ||
					(*table)->ttl->status != DYN_INDEX_ACTIVE || RELATION_IS_OTHER_TEMP(rel);
	if (!sweep->absent)
		return rel;
	sweep->enabling =
		*table != NULL && (*table)->ttl != NULL && (*table)->ttl->status == DYN_INDEX_CREATING;
	if (rel != NULL)
		relation_close(rel, mode);
	return NULL;
}

static void
take_owner(Relation rel, RightsBefore *before)
{
	rights_take_owner(rel, 0, before);
	if (check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("row-level security may hide expired items of table \"%s\"",
							   RelationGetRelationName(rel)),
						errdetail("It is forced on the table's owner, whose rights sweeps have.")));
}

static void
keep_error(TtlSweep *sweep)
{
	MemoryContextSwitchTo(sweep->context);
	sweep->error = CopyErrorData();
	FlushErrorState();
	RollbackAndReleaseCurrentSubTransaction();
}

/* Returns whether an error ends the caller's statement, and so is not caught. */
static bool
ends_statement(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_QUERY_CANCELED ||
		   error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN;
}

/* Does a step in a subtransaction, and keeps its error. */
void
ttl_attempt(TtlSweep *sweep, void (*step)(TtlSweep *sweep))
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		step(sweep);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		keep_error(sweep);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	/* not before the subtransaction has ended, or the session would be left in it */
	if (sweep->error != NULL && ends_statement(sweep->error))
		ReThrowError(sweep->error);
}

/*
 * Reading
 */

static int
compare_places(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) & ((const TtlDue *) a)->tid,
							  (ItemPointer) & ((const TtlDue *) b)->tid);
}

/*
 * Finds which items are due.  Where there are none any more, a dead entry costs a look at a page of
 * the table, unless an earlier look has marked it.
 */
static void
find_due(TtlSweep *sweep)
{
	BufferUsage before = pgBufferUsage;
	TimestampTz now = GetCurrentTimestamp();
	DynTable *table;
	Relation rel = ttl_open(sweep, RowExclusiveLock, &table);
	int64 pages;

	sweep->ndue = sweep->done = 0;
	if (rel == NULL)
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	sweep->ndue = ttl_find_due(rel, table, expiry_oldest(sweep->next, now), expiry_number(now),
							   sweep->due, DUE_AT_ONCE);
	PopActiveSnapshot();
	relation_close(rel, NoLock);
	pages = pgBufferUsage.shared_blks_hit + pgBufferUsage.shared_blks_read -
			before.shared_blks_hit - before.shared_blks_read;
	sweep->dead += Max(pages - sweep->ndue, 0);
	sweep->last = sweep->ndue == DUE_AT_ONCE ? sweep->due[sweep->ndue - 1].second
											 : expiry_second(expiry_number(now));
	qsort(sweep->due, sweep->ndue, sizeof(TtlDue), compare_places);
}

/*
 * Removing
 */

#define IS_DUE "%s OPERATOR(pg_catalog.>=) $2 AND %s OPERATOR(pg_catalog.<) $3"

/* Makes the generic plan valid, as one that reads rows where they are. */
static void
plan_by_place(SPIPlanPtr plan)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));
	PlanSwitches before;

	tid_plan_begin(&before);
	PG_TRY();
	{
		ReleaseCachedPlan(GetCachedPlan(source, NULL, CurrentResourceOwner, NULL),
						  CurrentResourceOwner);
	}
	PG_FINALLY();
	{
		tid_plan_end(&before);
	}
	PG_END_TRY();
}

static void
forget_plan(TtlSweep *sweep)
{
	if (sweep->plan != NULL)
		SPI_freeplan(sweep->plan);
	sweep->plan = NULL;
}

/* Returns the plan, which is kept for the sweep as long as the table has its name. */
static SPIPlanPtr
removal_plan(TtlSweep *sweep, const DynTable *table)
{
	Oid types[] = {TIDARRAYOID, NUMERICOID, NUMERICOID};
	const char *column = quote_identifier(DYN_TTL_COLUMN);
	char *sql;

	if (sweep->plan != NULL && strcmp(sweep->planned_for, table->qualified) != 0)
		forget_plan(sweep);
	if (sweep->plan == NULL)
	{
		sweep->planned_for = MemoryContextStrdup(sweep->context, table->qualified);
		sql = psprintf(
			"DELETE FROM ONLY %s WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
			"SELECT ctid FROM ONLY %s WHERE ctid OPERATOR(pg_catalog.=) ANY ($1) AND " IS_DUE
			" FOR UPDATE SKIP LOCKED))%s",
			table->qualified, table->qualified, column, column,
			dyn_entries_mark(table, " RETURNING item,"));
		sweep->plan = SPI_prepare_cursor(sql_on(sweep->relid, sql), lengthof(types), types,
										 CURSOR_OPT_GENERIC_PLAN);
		if (sweep->plan == NULL)
			elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
		SPI_keepplan(sweep->plan);
	}
	plan_by_place(sweep->plan);
	return sweep->plan;
}

static Datum
places(const TtlDue *due, int n)
{
	Datum *tids = palloc(n * sizeof(Datum));

	for (int i = 0; i < n; i++)
		tids[i] = PointerGetDatum(&due[i].tid);
	return PointerGetDatum(
		construct_array(tids, n, TIDOID, sizeof(ItemPointerData), false, TYPALIGN_SHORT));
}

/*
 * Has Citus commit in two phases what it writes on other nodes in this transaction.  Where its library
 * hides the function for that, as from PostgreSQL 16 on, it does so after a statement that writes to
 * a shard of this node, such as one that finds nothing.  False if no item is in its place.
 */
static bool
join_citus(Relation rel, const DynTable *table, Datum tids)
{
	const char *column = quote_identifier(table->keys[0].column);
	Oid type = dyn_key_column_type(table->keys[0].type);
	Oid distributed = citus_shard_of(rel);
	char *sql;

	if (citus_join_transaction())
		return true;
	sql = psprintf("SELECT %s FROM ONLY %s WHERE ctid OPERATOR(pg_catalog.=) ANY ($1)", column,
				   table->qualified);
	if (sql_execute(sql_on(table->relid, sql), true, 1, SQL_VALUES(SQL_VALUE(TIDARRAYOID, tids))) ==
		0)
		return false;
	sql = psprintf("DELETE FROM %s WHERE %s OPERATOR(pg_catalog.=) $1"
				   " AND %s OPERATOR(pg_catalog.<>) %s%s",
				   catalogs_qualified(distributed), column, column, column,
				   dyn_entries_mark(table, " RETURNING"));
	sql_execute(sql_on(distributed, sql), false, 0,
				SQL_VALUES(SQL_VALUE(type, sql_value(SPI_tuptable, 0, 1))));
	return true;
}

/* Removes the entries of items that are gone from indexes, which may be on other nodes. */
static void
remove_entries(Relation rel, DynTable *table, const SPITupleTable *items, uint64 n)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table swept item",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);

	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		store_entries_write(table, dyn_derive(rel, table, DatumGetDynItem(sql_value(items, i, 1))),
							NULL);
		MemoryContextReset(work);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}

/* Returns how many are gone. */
static int
remove_rows(TtlSweep *sweep, Relation rel, DynTable *table, const TtlDue *due, int n)
{
	TimestampTz now = GetCurrentTimestamp();
	Datum values[] = {places(due, n), expiry_oldest(0, now), expiry_number(now)};
	RightsBefore before;
	uint64 removed = 0;
	int result = 0;

	take_owner(rel, &before);
	/* a background worker has no portal that has one */
	PushActiveSnapshot(GetTransactionSnapshot());
	if (!dyn_has_entries(table) || join_citus(rel, table, values[0]))
	{
		result = SPI_execute_plan(removal_plan(sweep, table), values, NULL, false, 0);
		removed = SPI_processed;
	}
	if (result < 0)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
	if (dyn_has_entries(table))
		remove_entries(rel, table, SPI_tuptable, removed);
	PopActiveSnapshot();
	rights_give_back(&before);
	return (int) removed;
}

static void
remove_batch(TtlSweep *sweep)
{
	const TtlDue *due = sweep->due + sweep->done;
	int n = Min(sweep->batch, sweep->ndue - sweep->done);
	DynTable *table;
	Relation rel = ttl_open(sweep, RowExclusiveLock, &table);
	DynMarked marked;
	int removed;

	if (rel == NULL)
		return;
	dyn_mark_start(&marked, DYN_MARK_EXPIRY, sweep->relid);
	removed = remove_rows(sweep, rel, table, due, n);
	dyn_mark_end(&marked);
	relation_close(rel, NoLock);
	sweep->done += n;
	sweep->deleted += removed;
	sweep->dead += removed;
	for (int i = 0; i < n && removed < n; i++)
		sweep->missed = Min(sweep->missed, due[i].second);
}

/*
 * The sweep
 */

static bool
goes_on(const TtlSweep *sweep)
{
	return sweep->error == NULL && !sweep->absent &&
		   !(sweep->limits.background && background_is_locked(MyDatabaseId)) &&
		   (sweep->limits.budget == 0 ||
			!TimestampDifferenceExceeds(sweep->start, GetCurrentTimestamp(), sweep->limits.budget));
}

/* So many items that cannot be removed do not keep a sweep from the others. */
#define MAX_SKIPPED 10

/*
 * Lets half of the items come next after a step that has failed, until one is left whose fault it
 * is: that is left out.  A step that has gone well lets the next be larger.
 */
static void
set_batch(TtlSweep *sweep)
{
	if (sweep->error == NULL)
	{
		sweep->batch = Min(2 * sweep->batch, sweep->limits.batch);
		return;
	}
	if (sweep->problem == NULL)
		sweep->problem = sweep->error;
	if (sweep->skipped == MAX_SKIPPED)
		return;
	sweep->error = NULL;
	sweep->batch = Min(sweep->batch, sweep->ndue - sweep->done);
	if (sweep->batch > 1)
		sweep->batch /= 2;
	else
	{
		sweep->missed = Min(sweep->missed, sweep->due[sweep->done].second);
		sweep->done++;
		sweep->skipped++;
	}
}

/* Removes what was found, or one batch of it at least, so that each sweep makes progress. */
static void
remove_due(TtlSweep *sweep)
{
	if (sweep->ndue == 0)
		return;
	do
	{
		TimestampTz begin = GetCurrentTimestamp();

		next_transaction(sweep);
		ttl_attempt(sweep, remove_batch);
		set_batch(sweep);
		next_transaction(sweep);
		if (sweep->limits.pause > 0)
			work_sleep(TimestampDifferenceMilliseconds(begin, GetCurrentTimestamp()) *
					   sweep->limits.pause / 100);
	} while (sweep->done < sweep->ndue && goes_on(sweep));
}

static void
sweep_run(TtlSweep *sweep)
{
	int64 before;
	bool all;

	do
	{
		before = sweep->deleted;
		next_transaction(sweep);
		ttl_attempt(sweep, find_due);
		remove_due(sweep);
		all = sweep->error == NULL && !sweep->absent && sweep->done == sweep->ndue;
		if (all)
			sweep->next = sweep->last;
		/* where others are at work on most of them we only get in their way */
	} while (all && sweep->ndue == DUE_AT_ONCE && sweep->deleted - before > DUE_AT_ONCE / 2 &&
			 goes_on(sweep));
	sweep->finished = all && sweep->ndue < DUE_AT_ONCE;
}

/* Sweeps from sweep->from on, in a transaction that has done nothing, and leaves one such. */
void
ttl_sweep(TtlSweep *sweep)
{
	sweep->transient =
		AllocSetContextCreate(sweep->context, "dynamo_table sweep", ALLOCSET_DEFAULT_SIZES);
	sweep->due = MemoryContextAlloc(sweep->context, DUE_AT_ONCE * sizeof(TtlDue));
	sweep->start = GetCurrentTimestamp();
	sweep->next = sweep->from;
	sweep->missed = PG_INT64_MAX;
	sweep->batch = sweep->limits.batch;
	sweep->skipped = 0;
	sweep->problem = NULL;
	PG_TRY();
	{
		sweep_run(sweep);
	}
	PG_FINALLY();
	{
		forget_plan(sweep);
	}
	PG_END_TRY();
	if (sweep->error == NULL)
		sweep->error = sweep->problem;
	sweep->next = Min(sweep->next, sweep->missed);
	next_transaction(sweep);
	MemoryContextSwitchTo(sweep->context);
	MemoryContextDelete(sweep->transient);
	pfree(sweep->due);
}
