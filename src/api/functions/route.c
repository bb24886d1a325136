/*
 * route.c
 *	  Calls of distributed tables that go to the node of their item.
 *
 * The planner asks the functions' support function to simplify a call.  It makes a call of the
 * routed function out of it, which has the partition key as one more argument and is distributed by
 * it, so Citus sends it to the node of the shard, as it does with functions of users.  It does so
 * with statements that are one call and nothing else.
 *
 * A statement that is sent is a transaction of the other node.  So a call is routed only where it is
 * a transaction here, too.  Nor is a call with a condition routed, which may fail: after an error Citus
 * closes the connection, and a new one takes longer than the statements of the call.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "actions/actions.h"
#include "api/functions/functions.h"
#include "catalog/definition/arn.h"
#include "catalog/key.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "server/citus.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "store/shard.h"

/* A plan with parameters has this cost: more than planning it anew for each call. */
#define GENERIC_PLAN_COST 1000

/*
 * Returns whether a call has been planned on another node, as a transaction, and is executed in a
 * larger one.  That node takes it for a read.
 */
static bool
has_been_planned_alone(void)
{
	return IsTransactionBlock() && application_name != NULL &&
		   strncmp(application_name, "citus_internal", strlen("citus_internal")) == 0;
}

/* Checks the privilege of the call that a routed function stands for: everybody may call that. */
static void
check_privilege(Oid routed, Oid schema)
{
	const char *name = psprintf("dyn_%s", get_func_name(routed) + strlen(DYN_ROUTED_PREFIX));
	Oid *types;
	int n;
	Oid function;

	(void) get_func_signature(routed, &types, &n);
	function =
		GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
						PointerGetDatum(buildoidvector(types, n - 1)), ObjectIdGetDatum(schema));
	if (!OidIsValid(function) ||
		function_aclcheck(function, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, name);
}

/*
 * Begins a call of a function of that many arguments, or of its routed function.  The latter's table
 * is opened here: it has a qualified name, quoted as in SQL, since the nodes' search_paths differ.
 */
void
call_begin(FunctionCallInfo fcinfo, int nargs, LOCKMODE mode, FrontCall *call)
{
	RangeVar *name;
	RightsWanted wanted = {.mode = mode};
	Oid relid;

	*call = (FrontCall){.site = fcinfo->flinfo->fn_expr};
	if (PG_NARGS() == nargs)
		return;
	if (mode == RowExclusiveLock && has_been_planned_alone())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a prepared write of an item on another node cannot be executed in a "
						"transaction block"),
				 errdetail("The statement has no parameters, and was planned outside of a "
						   "transaction block, as a transaction of the other node."),
				 errhint("Give the item as a parameter, or execute the statement without "
						 "preparing it.")));
	name = makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(0)));
	relid = RangeVarGetRelidExtended(name, mode, 0, rights_check_name, &wanted);
	call->rel = relation_open(relid, NoLock);
	call->table = dyn_schema(call->rel);
	if (call->table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table of items", RelationGetRelationName(call->rel))));
	check_privilege(fcinfo->flinfo->fn_oid, dyn_type_schema(call->table->item_type));
}

/* Ends a call.  The lock of its table stays. */
void
call_end(const FrontCall *call)
{
	if (call->rel != NULL)
		relation_close(call->rel, NoLock);
}

/*
 * Routing
 */

/* Returns whether what is planned is a client's statement, and no part of anything else. */
static bool
statement_is_alone(void)
{
	const Node *utility;

	if (ActivePortal == NULL)
		return true;
	if (list_length(ActivePortal->stmts) != 1)
		return false;
	utility = linitial_node(PlannedStmt, ActivePortal->stmts)->utilityStmt;
	if (utility == NULL)
		return false;
	if (IsA(utility, ExplainStmt))
	{
		const Query *query = castNode(Query, ((const ExplainStmt *) utility)->query);

		if (query->commandType == CMD_SELECT)
			return true;
		utility = query->utilityStmt;
	}
	return IsA(utility, ExecuteStmt);
}

/* Opens the table of a call, if that is distributed and the caller may know of it; otherwise NULL. */
static Relation
open_distributed(const Node *argument, DynTable **table)
{
	const Const *name = (const Const *) argument;
	Relation rel;
	Oid relid;

	if (!IsA(name, Const) || name->constisnull)
		return NULL;
	relid = dyn_table_lookup(dyn_table_name(text_span(DatumGetTextPP(name->constvalue))));
	if (!OidIsValid(relid) || get_rel_relkind(relid) != RELKIND_RELATION ||
		!rights_any(relid, GetUserId()))
		return NULL;
	rel = try_relation_open(relid, AccessShareLock);
	if (rel == NULL)
		return NULL;
	*table = dyn_is_distributed(rel) ? dyn_schema(rel) : NULL;
	if (*table != NULL && store_is_routed(*table))
		return rel;
	relation_close(rel, NoLock);
	return NULL;
}

static bool
item_partition(const DynTable *table, const DynItem *item, Datum *partition)
{
	const DynKey *key = &table->keys[0];
	ItemChildren attributes = item_children(item_root(item));
	ItemSpan value;

	if (!item_find(&attributes, key->attribute, &value) ||
		dyn_key_problem(key, true, value) != NULL)
		return false;
	*partition = dyn_key_datum(key->type, item_payload(value));
	return true;
}

/* Finds the partition key of a call whose arguments are constants; false if it has none. */
static bool
call_partition(const FuncExpr *call, const FrontCall *open, Datum *partition)
{
	const Const *second = lsecond(call->args);

	if (second->constisnull)
		return false;
	if (second->consttype == TEXTOID)
		return query_partition(call, open, partition);
	return item_partition(open->table, DatumGetDynItem(second->constvalue), partition);
}

static bool
has_condition(const FuncExpr *call)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(call->funcid));
	Oid *types;
	char **names;
	char *modes;
	int n;
	bool has = false;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", call->funcid);
	n = get_func_arg_info(tuple, &types, &names, &modes);
	ReleaseSysCache(tuple);
	for (int i = 0; names != NULL && i < n && i < list_length(call->args); i++)
	{
		if (strcmp(names[i], "condition") == 0)
			has = !list_nth_node(Const, call->args, i)->constisnull;
	}
	return has;
}

static Oid
routed_function(const FuncExpr *call, Oid partition)
{
	char *name = get_func_name(call->funcid);
	Oid types[FUNC_MAX_ARGS];
	int n = 0;
	ListCell *cell;

	foreach (cell, call->args)
		types[n++] = exprType(lfirst(cell));
	types[n++] = partition;
	name = psprintf("%s%s", DYN_ROUTED_PREFIX, name + strlen("dyn_"));
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(types, n)),
						   ObjectIdGetDatum(get_namespace_oid(DYN_INTERNAL, true)));
}

static Const *
partition_constant(const DynTable *table, Datum partition)
{
	ItemType type = table->keys[0].type;

	return makeConst(dyn_key_column_type(type), -1, type == ITEM_S ? C_COLLATION_OID : InvalidOid,
					 -1, partition, false, false);
}

static Node *
routed_call(const FuncExpr *call, const FrontCall *open)
{
	const DynTable *table = open->table;
	FuncExpr *routed;
	Datum partition;
	Oid function;

	if (has_condition(call) || !call_partition(call, open, &partition) ||
		!store_is_routed_away(open->table, partition))
		return NULL;
	function = routed_function(call, dyn_key_column_type(table->keys[0].type));
	if (!OidIsValid(function) ||
		function_aclcheck(call->funcid, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK)
		return NULL;
	routed = copyObject((FuncExpr *) call);
	routed->funcid = function;
	routed->funcformat = COERCE_EXPLICIT_CALL;
	linitial(routed->args) = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
									   CStringGetTextDatum(table->qualified), false, false);
	routed->args = lappend(routed->args, partition_constant(table, partition));
	return (Node *) routed;
}

static Node *
route_simplify(const SupportRequestSimplify *request)
{
	const FuncExpr *call = request->fcall;
	Node *routed;
	FrontCall open = {0};
	ListCell *cell;

	if (!citus_is_installed() || !store_transaction_is_fresh() || !statement_is_alone() ||
		(XactReadOnly && func_volatile(call->funcid) == PROVOLATILE_VOLATILE))
		return NULL;
	foreach (cell, call->args)
	{
		if (!IsA(lfirst(cell), Const))
			return NULL;
	}
	open.rel = open_distributed(linitial(call->args), &open.table);
	if (open.rel == NULL)
		return NULL;
	routed = routed_call(call, &open);
	/* the lock keeps what has been planned */
	relation_close(open.rel, NoLock);
	return routed;
}

/*
 * Raises the cost of a plan with parameters: only a plan of their values is routed, so the cache of
 * plans is told to prefer those.  It asks for the cost once, and so the state of the transaction
 * does not count.  The table may be a parameter, too.
 */
static bool
route_dissuade(SupportRequestCost *request)
{
	const FuncExpr *call = (const FuncExpr *) request->node;
	bool parameters = false;
	DynTable *table;
	Relation rel;
	ListCell *cell;

	if (call == NULL || !IsA(call, FuncExpr) || !citus_is_installed() || !statement_is_alone())
		return false;
	foreach (cell, call->args)
	{
		if (!store_is_plain_argument(lfirst(cell)))
			return false;
		parameters = parameters || IsA(lfirst(cell), Param);
	}
	if (!parameters)
		return false;
	if (IsA(linitial(call->args), Const))
	{
		rel = open_distributed(linitial(call->args), &table);
		if (rel == NULL)
			return false;
		relation_close(rel, NoLock);
	}
	request->startup = 0;
	request->per_tuple = GENERIC_PLAN_COST;
	return true;
}

/* Supports the planner for dyn_get(), dyn_put(), dyn_update(), dyn_delete() and dyn_query(). */
PG_FUNCTION_INFO_V1(dyn_route_support);
Datum
dyn_route_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(route_simplify((SupportRequestSimplify *) request));
	if (IsA(request, SupportRequestCost) && route_dissuade((SupportRequestCost *) request))
		PG_RETURN_POINTER(request);
	PG_RETURN_POINTER(NULL);
}

/*
 * Supports the planner for the routed functions, which everybody may call.  A null distribution
 * argument makes Citus crash, so the call is refused before Citus plans it.
 */
PG_FUNCTION_INFO_V1(dyn_partition_support);
Datum
dyn_partition_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSimplify))
	{
		const List *arguments = ((SupportRequestSimplify *) request)->fcall->args;
		const Node *partition = strip_implicit_coercions(llast(arguments));

		if (IsA(partition, Const) && ((const Const *) partition)->constisnull)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION), errmsg("partition_key must not be null")));
	}
	PG_RETURN_POINTER(NULL);
}
