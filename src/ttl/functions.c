/*
 * functions.c
 *	  dyn_sweep_ttl(): sweeps on demand.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "ground/arguments.h"
#include "ground/errors.h"
#include "ttl/ttl.h"
#include "work/procedure.h"

/*
 * A role that may delete items may remove the expired ones.  No other privilege is needed, since
 * the owner's rights are used.
 */
static bool
may_sweep(Oid relid)
{
	/* it may have gone since the tables were listed */
	bool missing = false;

	return pg_class_aclcheck_ext(relid, GetUserId(), ACL_DELETE, &missing) == ACLCHECK_OK;
}

static Oid
named_table(text *name)
{
	DynTable *table;
	Relation rel = dyn_table_open(name, AccessShareLock, &table);

	if (!may_sweep(table->relid))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, table->name);
	if (table->ttl == NULL || table->ttl->status != DYN_INDEX_ACTIVE)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("time to live of table \"%s\" is not enabled", table->name)));
	if (!ttl_has_items(rel, table))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("partitioned table \"%s\" cannot be swept", table->name),
						errhint("Sweep its partitions.")));
	relation_close(rel, NoLock);
	return table->relid;
}

/* In milliseconds. */
static int
get_budget(Interval *interval)
{
	double seconds = interval->month * (30.0 * SECS_PER_DAY) +
					 interval->day * (double) SECS_PER_DAY +
					 interval->time / (double) USECS_PER_SEC;

	if (seconds <= 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("\"time_budget\" must be more than nothing")));
	return (int) Min(Max(seconds * 1000, 1), PG_INT32_MAX);
}

static TtlLimits
get_limits(FunctionCallInfo fcinfo)
{
	TtlLimits limits = {.batch = dyn_ttl_batch_size, .pause = dyn_ttl_pause};

	if (!PG_ARGISNULL(1))
		limits.batch = (int) Min(argument_positive(fcinfo, 1, "batch_size"), INT_MAX);
	if (!PG_ARGISNULL(2))
		limits.budget = get_budget(PG_GETARG_INTERVAL_P(2));
	/* a call that names a table removes all of its due items */
	limits.from_start = PG_ARGISNULL(3) ? !PG_ARGISNULL(0) : PG_GETARG_BOOL(3);
	return limits;
}

/* An error in one table does not stop the sweep of the others. */
static void
tell_error(const TtlSweep *sweep)
{
	char *name = get_rel_name(sweep->relid);

	ereport(WARNING, (errcode(sweep->error->sqlerrcode),
					  errmsg("expired items of table \"%s\" cannot be removed: %s",
							 name == NULL ? "?" : name, sweep->error->message),
					  sweep->error->detail == NULL ? 0 : errdetail("%s", sweep->error->detail)));
}

static void
tell_locked(const TtlSweep *sweep)
{
	char *name = get_rel_name(sweep->relid);

	ereport(WARNING, (errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					  errmsg("expired items of table \"%s\" were left: it is locked",
							 name == NULL ? "?" : name)));
}

static int64
sweep_table(Oid relid, TtlLimits limits, bool alone)
{
	TtlSweep sweep = {.relid = relid, .limits = limits};

	ttl_run(&sweep);
	if (sweep.error != NULL && alone)
		ThrowErrorData(sweep.error);
	if (sweep.error != NULL)
		tell_error(&sweep);
	else if (sweep.locked)
		tell_locked(&sweep);
	return sweep.deleted;
}

/* The budget is for all tables together. */
static int64
sweep_all(TtlLimits limits)
{
	TimestampTz start = GetCurrentTimestamp();
	List *tables = dyn_tables_with_setting("ttl_attribute");
	int budget = limits.budget;
	int64 deleted = 0;
	ListCell *cell;

	foreach (cell, tables)
	{
		long used = TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());

		CHECK_FOR_INTERRUPTS();
		if (budget > 0 && used >= budget)
			break;
		if (!may_sweep(lfirst_oid(cell)))
			continue;
		/* a lock of another session does not stop the rest */
		limits.nowait = true;
		limits.budget = budget > 0 ? budget - (int) used : 0;
		deleted += sweep_table(lfirst_oid(cell), limits, false);
	}
	return deleted;
}

static Datum
make_result(FunctionCallInfo fcinfo, int64 deleted)
{
	Datum value = Int64GetDatum(deleted);
	bool isnull = false;
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), &value, &isnull));
}

/* dyn_sweep_ttl(table_name, batch_size, time_budget, from_start, INOUT deleted) */
PG_FUNCTION_INFO_V1(dyn_sweep_ttl);
Datum
dyn_sweep_ttl(PG_FUNCTION_ARGS)
{
	TtlLimits limits = get_limits(fcinfo);
	int64 deleted;

	procedure_connect(fcinfo, "dyn_sweep_ttl");
	PreventCommandIfReadOnly("dyn_sweep_ttl");
	if (PG_ARGISNULL(0))
		deleted = sweep_all(limits);
	else
		deleted = sweep_table(named_table(PG_GETARG_TEXT_PP(0)), limits, true);
	SPI_finish();
	return make_result(fcinfo, deleted);
}
