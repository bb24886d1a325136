/*
 * functions.c
 *	  dyn_sweep_ttl(): sweeps on demand.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/describe.h"
#include "catalog/key_grant.h"
#include "catalog/listing.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "server/arguments.h"
#include "server/catalogs.h"
#include "server/citus.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"
#include "server/work/brief_lock.h"
#include "server/work/procedure.h"
#include "server/work/service.h"
#include "services/ttl/ttl.h"

/* A node may be so many milliseconds behind another one that has enabled time to live. */
#define ENABLING_PATIENCE 10000
#define ENABLING_PAUSE 100

/*
 * Returns whether the role may sweep: one that may delete items, and from which policies hide none, may
 * remove the expired ones.  No other privilege is needed, since the owner's rights are used.
 */
static bool
may_sweep(Oid relid)
{
	/* it may have gone since the tables were listed */
	bool missing = false;

	return pg_class_aclcheck_ext(relid, GetUserId(), ACL_DELETE, &missing) == ACLCHECK_OK &&
		   (rights_owns(relid, GetUserId()) || !dyn_policies_hide(relid));
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
						errmsg("time to live of table \"%s\" is not enabled", table->name),
						table->ttl == NULL ? 0
										   : errdetail("Its status is %s.",
													   dyn_ttl_status_names[table->ttl->status])));
	if (!table->distributed && !ttl_has_items(rel, table))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("partitioned table \"%s\" cannot be swept", table->name),
						errhint("Sweep its partitions.")));
	relation_close(rel, NoLock);
	return table->relid;
}

/* Returns the budget in milliseconds. */
static int
get_budget(Interval *interval)
{
	double seconds = interval->month * (30.0 * SECS_PER_DAY) +
					 interval->day * (double) SECS_PER_DAY +
					 interval->time / (double) USECS_PER_SEC;

	if (seconds <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("time_budget must be greater than zero")));
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

static void
tell_enabling(Oid relid)
{
	char *name = get_rel_name(relid);

	ereport(WARNING, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					  errmsg("expired items of table \"%s\" were left: its time to live is not "
							 "enabled yet",
							 name == NULL ? "?" : name)));
}

/* Returns what is left of the budget after what was used of it; -1: nothing. */
static int
rest_of_budget(const TtlLimits *limits, TimestampTz start)
{
	long used = TimestampDifferenceMilliseconds(start, GetCurrentTimestamp());

	if (limits->budget == 0)
		return 0;
	return used < limits->budget ? limits->budget - (int) used : -1;
}

/*
 * Tables that Citus distributes
 */

/*
 * Returns the call for each node; NULL if the table is gone.  Citus makes it there as the current
 * user, in a session of its own, so that it can commit.
 */
static char *
nodes_call(Oid relid, const TtlLimits *limits)
{
	char *table = catalogs_qualified(relid);

	if (table == NULL)
		return NULL;
	return psprintf("CALL " DYN_INTERNAL ".sweep_shards(%s::pg_catalog.regclass, %d, %d, %s)",
					quote_literal_cstr(table), limits->batch, limits->budget,
					limits->from_start ? "true" : "false");
}

/* Returns what one node has removed; why it could not becomes a WARNING. */
static int64
read_answer(uint64 row, bool *failed)
{
	char *node = sql_text_or_null(SPI_tuptable, row, 1);
	bool success = DatumGetBool(sql_value_or_zero(SPI_tuptable, row, 2));
	char *result = sql_text_or_null(SPI_tuptable, row, 3);

	if (success && result != NULL)
		return pg_strtoint64(result);
	*failed = true;
	ereport(
		WARNING,
		(errmsg("expired items on node %s cannot be removed", node == NULL ? "?" : node),
		 result == NULL ? 0 : errdetail("%s", result),
		 errhint("The node is called as the current user, who has to be able to log in there.")));
	return 0;
}

/*
 * Lets each node sweep its shards.  The nodes work at the same time, each with the whole budget.
 * The error of a node does not stop the others.
 */
static int64
sweep_distributed(Oid relid, TtlLimits limits, bool alone)
{
	char *call = nodes_call(relid, &limits);
	int64 deleted = 0;
	bool failed = false;

	if (call == NULL)
		return 0;
	sql_execute(
		"SELECT n.nodename OPERATOR(pg_catalog.||) ':' OPERATOR(pg_catalog.||) n.nodeport,"
		" r.success, r.result"
		" FROM pg_catalog.run_command_on_all_nodes($1) r LEFT JOIN pg_catalog.pg_dist_node n"
		" ON n.nodeid OPERATOR(pg_catalog.=) r.nodeid ORDER BY r.nodeid",
		false, 0, SQL_VALUES(SQL_TEXT(call)));
	for (uint64 i = 0; i < SPI_processed; i++)
		deleted += read_answer(i, &failed);
	if (failed && alone)
		ereport(ERROR, (errcode(ERRCODE_FDW_ERROR),
						errmsg("expired items were not removed on all nodes")));
	return deleted;
}

/*
 * Tables and shards of this node
 */

static int64
sweep_target(const TtlTarget *target, TtlLimits limits, bool alone)
{
	TtlSweep sweep = {.relid = target->relid, .shard = target->shard, .limits = limits};

	ttl_run(&sweep);
	if (sweep.error != NULL && alone)
		ThrowErrorData(sweep.error);
	if (sweep.error != NULL)
		tell_error(&sweep);
	else if (sweep.locked)
		tell_locked(&sweep);
	else if (sweep.enabling)
		tell_enabling(target->relid);
	return sweep.deleted;
}

/* Returns whether time to live of a table is in the making. */
static bool
is_enabling(Oid relid)
{
	Relation rel = rights_open(relid, AccessShareLock);
	DynTable *table = rel == NULL ? NULL : dyn_schema(rel);
	bool enabling = table != NULL && table->ttl != NULL && table->ttl->status == DYN_INDEX_CREATING;

	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	return enabling;
}

static int64
sweep_table(Oid relid, TtlLimits limits, bool alone)
{
	TtlTarget target = {relid, NULL};

	if (citus_kind(relid) != CITUS_DISTRIBUTED)
		return sweep_target(&target, limits, alone);
	if (!is_enabling(relid))
		return sweep_distributed(relid, limits, alone);
	tell_enabling(relid);
	return 0;
}

/* The budget is for all tables together. */
static int64
sweep_all(TtlLimits limits)
{
	TimestampTz start = GetCurrentTimestamp();
	List *tables = dyn_listed_tables("ttl_attribute");
	TtlLimits rest = limits;
	int64 deleted = 0;
	ListCell *cell;

	/* a lock of another session does not stop the rest */
	rest.nowait = true;
	foreach (cell, tables)
	{
		CHECK_FOR_INTERRUPTS();
		rest.budget = rest_of_budget(&limits, start);
		if (rest.budget < 0)
			break;
		if (may_sweep(lfirst_oid(cell)))
			deleted += sweep_table(lfirst_oid(cell), rest, false);
	}
	return deleted;
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
	(void) extension_lock(true);
	if (PG_ARGISNULL(0))
		deleted = sweep_all(limits);
	else
		deleted = sweep_table(named_table(PG_GETARG_TEXT_PP(0)), limits, true);
	SPI_finish();
	return sql_row(fcinfo, SQL_VALUES(SQL_INT8(deleted)));
}

/*
 * Sweeps a shard.  Where another node has found time to live of the table enabled and this node has
 * not yet, this one is just about to commit the same, and that is waited for.
 */
static void
sweep_shard(TtlSweep *sweep)
{
	for (int waited = 0;; waited += ENABLING_PAUSE)
	{
		ttl_run(sweep);
		if (!sweep->enabling || waited >= ENABLING_PATIENCE)
			break;
		work_sleep(ENABLING_PAUSE);
	}
	if (sweep->enabling)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("time to live of table \"%s\" is not enabled yet",
							   get_rel_name(sweep->shard->table))));
}

/* Sweeps the shards on this node of a table, by the same rules; an error is raised at the end. */
static int64
sweep_shards(Oid relid, TtlLimits limits)
{
	TimestampTz start = GetCurrentTimestamp();
	List *targets = ttl_targets(list_make1_oid(relid));
	MemoryContext context = CurrentMemoryContext;
	TtlLimits rest = limits;
	ErrorData *error = NULL;
	int64 deleted = 0;
	ListCell *cell;

	foreach (cell, targets)
	{
		const TtlTarget *target = lfirst(cell);
		TtlSweep sweep = {.relid = target->relid, .shard = target->shard};

		CHECK_FOR_INTERRUPTS();
		rest.budget = rest_of_budget(&limits, start);
		if (rest.budget < 0)
			break;
		sweep.limits = rest;
		sweep_shard(&sweep);
		MemoryContextSwitchTo(context);
		deleted += sweep.deleted;
		if (error == NULL)
			error = sweep.error;
	}
	if (error != NULL)
		ThrowErrorData(error);
	return deleted;
}

/* dyn_ttl_sweep_shards(relation, batch_size, milliseconds, from_start, INOUT deleted) */
PG_FUNCTION_INFO_V1(dyn_ttl_sweep_shards);
Datum
dyn_ttl_sweep_shards(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"relation", "batch_size", "milliseconds", "from_start"};
	TtlLimits limits = {.pause = dyn_ttl_pause};
	int64 deleted;
	char *name;
	Oid relid;

	for (int i = 0; i < lengthof(names); i++)
		argument_require(fcinfo, i, names[i]);
	relid = PG_GETARG_OID(0);
	limits.batch = Max(PG_GETARG_INT32(1), 1);
	limits.budget = Max(PG_GETARG_INT32(2), 0);
	limits.from_start = PG_GETARG_BOOL(3);
	procedure_connect(fcinfo, DYN_INTERNAL ".sweep_shards");
	PreventCommandIfReadOnly(DYN_INTERNAL ".sweep_shards");
	(void) extension_lock(true);
	name = get_rel_name(relid);
	if (name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	if (!may_sweep(relid))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, name);
	if (citus_kind(relid) != CITUS_DISTRIBUTED)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("table \"%s\" is not distributed", name)));
	deleted = sweep_shards(relid, limits);
	SPI_finish();
	return sql_row(fcinfo, SQL_VALUES(SQL_INT8(deleted)));
}

/* wake_sweepers(): background workers of this node look at this database at once */
PG_FUNCTION_INFO_V1(dyn_wake_sweepers);
Datum
dyn_wake_sweepers(PG_FUNCTION_ARGS)
{
	launcher_wake();
	PG_RETURN_VOID();
}
