/*
 * call_site.h
 *	  Whether a function may keep something in fn_extra from one call to the next.
 */
#ifndef DYNAMO_TABLE_SERVER_CALL_SITE_H
#define DYNAMO_TABLE_SERVER_CALL_SITE_H

#include "fmgr.h"
#include "nodes/primnodes.h"

/*
 * Returns whether an argument is the same in all calls that share fn_extra.
 * get_fn_expr_arg_stable() is not enough: it is true for parameters, which PL/pgSQL changes between
 * calls of one expression.
 */
static inline bool
call_argument_is_constant(const FmgrInfo *flinfo, int i)
{
	const FuncExpr *call = (const FuncExpr *) flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) && i < list_length(call->args) &&
		   IsA(list_nth(call->args, i), Const);
}

#endif
