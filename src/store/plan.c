/*
 * plan.c
 *	  Kept plans that stay ordered index scans.
 *
 * A kept plan is no ordered index scan by itself: by the statistics of the moment the planner
 * prefers a sequential scan of a small table, or a bitmap and a sort.  And it plans anew after
 * each invalidation, another session's ANALYZE for instance.  So before a statement runs, its
 * generic plan is made valid here, with everything else than ordered index scans discouraged;
 * the execution that follows finds it valid and takes it as it is.
 *
 * Nor does the order of an index mean that its index is read: once the first columns are required
 * to equal something, the order of the others may be another index's order too, and a scan of all
 * of that one, filtered, the cheaper plan.  So the planner sees the one index only.
 *
 * Nothing can invalidate the plan in between: that takes a new lock, and the relation is locked.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_type.h"
#include "jit/jit.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "rewrite/rowsecurity.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "catalog/key_grant.h"
#include "server/compat.h"
#include "server/sql.h"
#include "store/plan.h"
#include "store/store.h"

/* Connects to SPI.  The caller's memory context stays the current one. */
void
store_connect(void)
{
	MemoryContext context = CurrentMemoryContext;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	MemoryContextSwitchTo(context);
}

/*
 * Policies
 *
 * Row-level security is part of the plan.  A request that the actions have cleared has a plan of
 * its own, for which a policy is added that shows all rows: permissive policies are alternatives,
 * and restrictive ones, which are other people's, still hold.
 *
 * Planning runs functions of others, such as stable ones in restrictive policies.  Their statements
 * are not cleared: these are rewritten in error contexts of their own.
 */

typedef struct ClearedBefore
{
	row_security_policy_hook_type hook;
	Oid relid;
	const ErrorContextCallback *context;
	int depth;
} ClearedBefore;

static row_security_policy_hook_type next_policy_hook = NULL;
static Oid cleared_relation = InvalidOid;
static const ErrorContextCallback *cleared_context;
static int cleared_depth; /* error contexts above that one where the statement is rewritten */

static bool
is_cleared(const DynTable *table)
{
	return table->grants->any && store_is_cleared(table);
}

/* Returns whether the statement that is being rewritten is the one that is cleared. */
static bool
is_cleared_statement(void)
{
	const ErrorContextCallback *context = error_context_stack;

	for (int i = 0; i < cleared_depth && context != NULL; i++)
		context = context->previous;
	return context == cleared_context;
}

static List *
add_policy(CmdType command, Relation rel)
{
	List *policies = next_policy_hook == NULL ? NIL : next_policy_hook(command, rel);
	RowSecurityPolicy *policy;
	Datum everybody = ObjectIdGetDatum(ACL_ID_PUBLIC);

	if (RelationGetRelid(rel) != cleared_relation || !is_cleared_statement())
		return policies;
	policy = palloc0(sizeof(RowSecurityPolicy));
	policy->policy_name = "dynamo_table";
	policy->polcmd = '*';
	policy->roles = construct_array(&everybody, 1, OIDOID, sizeof(Oid), true, TYPALIGN_INT);
	policy->permissive = true;
	policy->qual = (Expr *) makeBoolConst(true, false);
	return lappend(policies, policy);
}

/*
 * Has a statement on the relation rewritten without its permissive policies, or with all policies
 * if relid is InvalidOid.  The statement is the one that is rewritten with depth more error
 * contexts than there are.
 */
static void
clear_policies(Oid relid, int depth, ClearedBefore *before)
{
	*before = (ClearedBefore){row_security_policy_hook_permissive, cleared_relation,
							  cleared_context, cleared_depth};
	cleared_relation = relid;
	cleared_context = error_context_stack;
	cleared_depth = depth;
	if (!OidIsValid(relid) || before->hook == add_policy)
		return;
	next_policy_hook = before->hook;
	row_security_policy_hook_permissive = add_policy;
}

static void
restore_policies(const ClearedBefore *before)
{
	row_security_policy_hook_permissive = before->hook;
	cleared_relation = before->relid;
	cleared_context = before->context;
	cleared_depth = before->depth;
}

/* Returns what is kept of a statement, which may have no plan; or NULL. */
static StorePlan *
find_kept(const DynTable *table, int shape)
{
	bool cleared = is_cleared(table);
	StorePlan *plan = table->plans;

	while (plan != NULL && (plan->shape != shape || plan->cleared != cleared))
		plan = plan->next;
	return plan;
}

/* Frees a plan, also when the table's schema leaves the cache. */
static void
free_plan(void *arg)
{
	StorePlan *plan = arg;

	if (plan->plan != NULL)
		SPI_freeplan(plan->plan);
	plan->plan = NULL;
}

/*
 * A statement on a distributed table is prepared anew after so many executions.  Citus adds a plan
 * for the shard to the generic plan if the shard is on this node; versions 13.2 and 14.0 add one at
 * each execution.
 */
#define MAX_EXECUTIONS 64

/*
 * Returns the kept plan of a statement on a table, to be executed; NULL if it has to be prepared.
 * shape identifies the statement among those on that table.
 */
StorePlan *
store_find_plan(DynTable *table, int shape)
{
	StorePlan *plan = find_kept(table, shape);

	if (plan != NULL && table->distributed && plan->running == 0 &&
		plan->executions >= MAX_EXECUTIONS)
		free_plan(plan);
	return plan == NULL || plan->plan == NULL ? NULL : plan;
}

/* Returns the place where the plan of a statement is kept. */
static pg_noinline StorePlan *
keep(DynTable *table, int shape)
{
	StorePlan *plan = find_kept(table, shape);

	if (plan != NULL)
		return plan;
	plan = MemoryContextAllocZero(table->context, sizeof(StorePlan));
	plan->shape = shape;
	plan->relid = table->relid;
	plan->cleared = is_cleared(table);
	plan->freed = (MemoryContextCallback){free_plan, plan};
	MemoryContextRegisterResetCallback(table->context, &plan->freed);
	plan->next = table->plans;
	table->plans = plan;
	return plan;
}

static StorePlan *
plan_prepare(DynTable *table, int shape, Oid relid, Oid index, const char *sql, int nargs,
			 Oid *types, int options)
{
	MemoryContext context = CurrentMemoryContext;
	StorePlan *plan = keep(table, shape);
	ClearedBefore before;

	plan->index = index;
	plan->custom = (options & CURSOR_OPT_CUSTOM_PLAN) != 0;
	plan->spread = table->distributed || get_rel_relkind(table->relid) == RELKIND_PARTITIONED_TABLE;
	plan->executions = 0;
	/* the SPI has an error context of its own */
	clear_policies(plan->cleared ? table->relid : InvalidOid, 1, &before);
	PG_TRY();
	{
		plan->plan = SPI_prepare_cursor(sql_on(relid, sql), nargs, types, options);
	}
	PG_FINALLY();
	{
		restore_policies(&before);
	}
	PG_END_TRY();
	if (plan->plan == NULL)
		elog(ERROR, "SPI_prepare_cursor failed: %s", SPI_result_code_string(SPI_result));
	SPI_keepplan(plan->plan);
	/* the SPI leaves its own context behind */
	MemoryContextSwitchTo(context);
	return plan;
}

/*
 * Prepares a statement and keeps its plan for store_find_plan(), as long as the table's schema is
 * cached.  The plan is to use only the given index of the table.  The caller is connected to SPI.
 */
StorePlan *
store_prepare(DynTable *table, int shape, Oid index, const char *sql, int nargs, Oid *types)
{
	if (table->distributed)
		return store_prepare_remote(table, shape, sql, nargs, types, true);
	return plan_prepare(table, shape, table->relid, index, sql, nargs, types,
						CURSOR_OPT_GENERIC_PLAN);
}

/*
 * Prepares one for a distributed table, likewise.  Citus finds the shard of a statement that is
 * routed by a parameter when it executes a generic plan; it has no generic plan over several
 * shards.
 */
StorePlan *
store_prepare_remote(DynTable *table, int shape, const char *sql, int nargs, Oid *types,
					 bool routed)
{
	return store_prepare_on(table, shape, table->relid, sql, nargs, types, routed);
}

/* Does the same for a statement on another relation, which has entries of an index of the table. */
StorePlan *
store_prepare_on(DynTable *table, int shape, Oid relid, const char *sql, int nargs, Oid *types,
				 bool routed)
{
	return plan_prepare(table, shape, relid, InvalidOid, sql, nargs, types,
						routed ? CURSOR_OPT_GENERIC_PLAN : CURSOR_OPT_CUSTOM_PLAN);
}

/*
 * Returns parameters with the types that the statement was prepared with.  None are NULL, as
 * everywhere in the server: planners of other modules do not expect an empty list.
 */
ParamListInfo
store_parameters(int n, const Oid *types, const Datum *values)
{
	ParamListInfo params;

	if (n == 0)
		return NULL;
	params = makeParamList(n);
	for (int i = 0; i < n; i++)
	{
		params->params[i].value = values[i];
		params->params[i].isnull = false;
		params->params[i].pflags = PARAM_FLAG_CONST;
		params->params[i].ptype = types[i];
	}
	return params;
}

/* Raises an error for a NULL: 18 has NOT NULL constraints that rows may break, NOT VALID ones. */
void
store_forbid_null(bool isnull)
{
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION), errmsg("a row has no item or no key")));
}

static relation_hook_type next_relation_hook = NULL;
static Oid planned_index = InvalidOid;

/* Returns whether an index is the one that is wanted, or its part of a partition. */
static bool
is_planned_index(Oid index)
{
	return index == planned_index ||
		   (get_rel_relispartition(index) &&
			list_member_oid(get_partition_ancestors(index), planned_index));
}

/* Keeps the index only.  Relations that do not have it are not ours; they keep theirs. */
static void
keep_planned_index(RELATION_HOOK_DECLARED)
{
	List *kept = NIL;
	ListCell *cell;

	if (next_relation_hook != NULL)
		next_relation_hook(RELATION_HOOK_ARGUMENTS);
	foreach (cell, rel->indexlist)
	{
		if (is_planned_index(((IndexOptInfo *) lfirst(cell))->indexoid))
			kept = lappend(kept, lfirst(cell));
	}
	if (kept != NIL)
		rel->indexlist = kept;
}

/*
 * Makes the generic plan valid.  The planner's switches are set as variables and not as
 * settings: they have to hold for the planning alone, and this is on the path of every call.
 */
static void
ensure_plan(StorePlan *plan)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan->plan));
	bool seqscan = enable_seqscan;
	bool bitmapscan = enable_bitmapscan;
	bool sort = enable_sort;
	bool incremental_sort = enable_incremental_sort;
	bool jit = jit_enabled;
	relation_hook_type hook = relation_hook;
	Oid index = planned_index;
	ClearedBefore before;
	CachedPlan *generic;

	clear_policies(plan->cleared ? plan->relid : InvalidOid, 0, &before);
	PG_TRY();
	{
		/* planning may call functions that plan */
		if (hook != keep_planned_index)
			next_relation_hook = hook;
		relation_hook = keep_planned_index;
		planned_index = plan->index;
		enable_seqscan = enable_bitmapscan = enable_sort = enable_incremental_sort = jit_enabled =
			false;
		generic = GetCachedPlan(source, NULL, CurrentResourceOwner, NULL);
		ReleaseCachedPlan(generic, CurrentResourceOwner);
	}
	PG_FINALLY();
	{
		restore_policies(&before);
		relation_hook = hook;
		planned_index = index;
		enable_seqscan = seqscan;
		enable_bitmapscan = bitmapscan;
		enable_sort = sort;
		enable_incremental_sort = incremental_sort;
		jit_enabled = jit;
	}
	PG_END_TRY();
}

/*
 * Executes a plan as it was prepared.  plan_cache_mode = force_custom_plan would have the statement
 * planned anew for each execution, without the switches above, and force_generic_plan would have
 * Citus fail where there is no generic plan.  If a trigger sets plan_cache_mode meanwhile, its
 * value stays.
 */
static int
execute_as_prepared(StorePlan *plan, const SPIExecuteOptions *options)
{
	int before = plan_cache_mode;
	int result;

	if (before !=
		(plan->custom ? PLAN_CACHE_MODE_FORCE_GENERIC_PLAN : PLAN_CACHE_MODE_FORCE_CUSTOM_PLAN))
		return SPI_execute_plan_extended(plan->plan, options);
	PG_TRY();
	{
		plan_cache_mode = PLAN_CACHE_MODE_AUTO;
		result = SPI_execute_plan_extended(plan->plan, options);
	}
	PG_FINALLY();
	{
		if (plan_cache_mode == PLAN_CACHE_MODE_AUTO)
			plan_cache_mode = before;
	}
	PG_END_TRY();
	return result;
}

static int
run_plan(StorePlan *plan, const SPIExecuteOptions *options)
{
	int result;

	plan->executions++;
	plan->running++;
	PG_TRY();
	{
		result = execute_as_prepared(plan, options);
	}
	PG_FINALLY();
	{
		plan->running--;
	}
	PG_END_TRY();
	return result;
}

/*
 * Runs a statement by its ordered plan.  Since the active snapshot was taken, shards may have been
 * made on this node, or have come here, and partitions may have been rewritten.  That snapshot does
 * not show their rows, and the call may have waited for it.  Other nodes take a snapshot for each
 * statement anyway.
 */
void
store_execute(StorePlan *plan, const SPIExecuteOptions *options)
{
	MemoryContext context = CurrentMemoryContext;
	bool latest = plan->spread && options->read_only && !IsolationUsesXactSnapshot();
	int result;

	if (OidIsValid(plan->index))
		ensure_plan(plan);
	if (latest)
		PushActiveSnapshot(GetLatestSnapshot());
	result = run_plan(plan, options);
	if (latest)
		PopActiveSnapshot();
	/* the SPI leaves its own context behind */
	MemoryContextSwitchTo(context);
	if (result < 0)
		elog(ERROR, "SPI_execute_plan_extended failed: %s", SPI_result_code_string(result));
}

/* Prepares a call.  Its WHERE is there for Citus; HAVING makes it one row. */
static StorePlan *
prepare_call(DynTable *table, int shape, const char *function, ParamListInfo parameters)
{
	Oid types[1 + FUNC_MAX_ARGS];
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT %s(", function);
	for (int i = 0; i < parameters->numParams; i++)
	{
		types[i] = parameters->params[i].ptype;
		if (i > 0)
			appendStringInfo(&sql, "%s$%d", i > 1 ? ", " : "", i + 1);
	}
	appendStringInfo(&sql, ") FROM %s WHERE %s OPERATOR(pg_catalog.=) $1 HAVING true",
					 table->qualified, quote_identifier(table->keys[0].column));
	return store_prepare_remote(table, shape, sql.data, parameters->numParams, types, true);
}

/*
 * Calls a function on the node of the shard of a partition key, which is the first parameter; the
 * others are the arguments.  To Citus that is a query of an item collection, of which it wants no
 * row.  Returns false if the answer is NULL, or sets *answer to a copy of it in the current memory
 * context: a varlena.
 */
bool
store_call(DynTable *table, int shape, const char *function, ParamListInfo parameters,
		   Datum *answer)
{
	SPIExecuteOptions options = {.params = parameters, .read_only = true};
	MemoryContext context = CurrentMemoryContext;
	StorePlan *plan;
	Datum value;
	bool isnull;

	store_connect();
	plan = store_find_plan(table, shape);
	if (plan == NULL)
		plan = prepare_call(table, shape, function, parameters);
	store_execute(plan, &options);
	value = sql_nullable(SPI_tuptable, 0, 1, &isnull);
	MemoryContextSwitchTo(context);
	if (!isnull)
		*answer = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
	SPI_finish();
	return !isnull;
}

/* Returns the plan that store_execute() takes next, as long as the relation stays locked. */
const PlannedStmt *
store_planned(StorePlan *plan)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan->plan));

	ensure_plan(plan);
	return linitial_node(PlannedStmt, source->gplan->stmt_list);
}
