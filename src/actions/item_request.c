/*
 * item_request.c
 *	  Conditions of writes.
 */
#include "postgres.h"

#include "actions/actions.h"
#include "ground/errors.h"

/* The condition of a request, or NULL if it has none. */
const Expr *
action_condition(const ItemRequest *request)
{
	if (request->condition == NULL)
		return request->built.condition;
	return expr_condition(request->expressions, EXPR_CONDITION, action_span(request->condition));
}

/*
 * Raise ConditionalCheckFailedException unless the item, NULL if there is none, meets the
 * condition.  DETAIL is the item alone, for programs to read.
 */
void
action_check_condition(const ItemRequest *request, const Expr *condition, const DynItem *item)
{
	StringInfoData old;

	if (condition == NULL || expr_matches(condition, action_shown(request, item)))
		return;
	initStringInfo(&old);
	if (request->measure != NULL)
		request->measure->old = request->measure->new = item;
	if (request->old_on_failure && item != NULL)
		item_print_attributes(&old, item_root(action_returned(request, item)));
	ereport(ERROR, (errcode(ERRCODE_DYN_CONDITIONAL_CHECK_FAILED),
					errmsg("the conditional request failed"),
					old.len > 0 ? errdetail_internal("%s", old.data) : 0));
}
