/*
 * alone.c
 *	  Whether a call is all that its transaction does, so that it may work on a shard itself.
 *
 * See shard.c for why only such a call may.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "tcop/pquery.h"
#include "utils/portal.h"

#include "store/shard.h"

/*
 * Returns whether nothing has been done in this transaction, and the client has not begun a block.
 * Several statements in one message are a block, too.
 */
static bool
transaction_is_fresh(void)
{
	return MyBackendType == B_BACKEND && !IsTransactionBlock() &&
		   GetCurrentTransactionNestLevel() == 1 && (MyXactFlags & XACT_FLAGS_PIPELINING) == 0 &&
		   !TransactionIdIsValid(GetTopTransactionIdIfAny());
}

/* Returns whether an argument of a call is a constant or a parameter of the statement. */
static bool
is_plain_argument(const Node *node)
{
	return IsA(node, Const) ||
		   (IsA(node, Param) && ((const Param *) node)->paramkind == PARAM_EXTERN);
}

/* Returns the only expression of a plan that does nothing else, or NULL. */
static const Node *
only_expression(const PlannedStmt *statement)
{
	const Plan *plan = statement->planTree;
	bool set = plan != NULL && IsA(plan, ProjectSet);

	if (statement->commandType != CMD_SELECT || statement->subplans != NIL)
		return NULL;
	if (IsA(plan, FunctionScan))
	{
		const FunctionScan *scan = (const FunctionScan *) plan;

		return plan->qual == NIL && list_length(scan->functions) == 1
				   ? linitial_node(RangeTblFunction, scan->functions)->funcexpr
				   : NULL;
	}
	if (list_length(plan->targetlist) != 1)
		return NULL;
	if (set)
		plan = plan->lefttree;
	if (!IsA(plan, Result) || plan->lefttree != NULL || plan->qual != NIL ||
		((const Result *) plan)->resconstantqual != NULL)
		return NULL;
	return (const Node *) linitial_node(TargetEntry, statement->planTree->targetlist)->expr;
}

/*
 * Returns whether a call of an SQL function is all that its transaction does.  The site is the
 * expression that calls it, or NULL.  Asked before the call has written anything.
 */
bool
store_call_is_alone(const Node *site)
{
	const FuncExpr *call = (const FuncExpr *) site;
	ListCell *cell;

	if (call == NULL || !IsA(call, FuncExpr) || !transaction_is_fresh() || ActivePortal == NULL ||
		ActivePortal->strategy != PORTAL_ONE_SELECT ||
		only_expression(linitial_node(PlannedStmt, ActivePortal->stmts)) != site)
		return false;
	foreach (cell, call->args)
	{
		if (!is_plain_argument(lfirst(cell)))
			return false;
	}
	return true;
}

/*
 * Returns whether the statement returns what its only call does as it is.  A call that is a
 * transaction of another node is not undone if something that is computed from its result fails.
 */
bool
store_result_is_plain(const Node *site)
{
	ListCell *cell;

	foreach (cell, linitial_node(PlannedStmt, ActivePortal->stmts)->planTree->targetlist)
	{
		const Node *expr = (const Node *) lfirst_node(TargetEntry, cell)->expr;

		if (expr != site && !IsA(expr, Var))
			return false;
	}
	return true;
}
