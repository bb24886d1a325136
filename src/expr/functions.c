/*
 * functions.c
 *	  dyn_matches(), dyn_project() and dyn_apply(): expressions without a table.
 *
 * A query calls them once a row, mostly with the same expression, names and values: what
 * was made of these stays in fn_extra until one of them changes.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "expr/expr.h"
#include "server/call_site.h"
#include "server/errors.h"

/* Bound holds the arguments as they were in the last call, and what was made of them. */
typedef struct Bound
{
	MemoryContext cxt; /* holds all of this but the struct */
	text *expression;
	Jsonb *names;
	DynItem *vals;
	bool constant; /* they are constants of the query */
	Expr *expr; /* NULL: nothing yet */
} Bound;

/* Compares values by their contents: the same address may hold another row's value. */
static bool
same_bytes(const void *a, const void *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		   memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

static void *
copy_datum(const void *datum)
{
	return datum == NULL ? NULL : memcpy(palloc(VARSIZE_ANY(datum)), datum, VARSIZE_ANY(datum));
}

/* Returns whether all arguments but the first are constants. */
static bool
arguments_are_constant(FunctionCallInfo fcinfo)
{
	for (int i = 1; i < PG_NARGS(); i++)
	{
		if (!call_argument_is_constant(fcinfo->flinfo, i))
			return false;
	}
	return true;
}

static Expr *
bind(Bound *bound, ExprKind kind)
{
	ExprRequest *request = expr_request(bound->names, bound->vals);
	ItemSpan span = text_span(bound->expression);
	Expr *expr;

	if (kind == EXPR_PROJECTION)
		expr = expr_projection(request, span);
	else if (kind == EXPR_UPDATE)
		expr = expr_update(request, span);
	else
		expr = expr_condition(request, kind, span);
	expr_request_done(request);
	return expr;
}

/* Returns the expression of arguments 1 to 3: text, names and, but for a projection, values. */
static Expr *
bound_expr(FunctionCallInfo fcinfo, ExprKind kind)
{
	Bound *bound = fcinfo->flinfo->fn_extra;
	text *expression;
	Jsonb *names;
	DynItem *vals;
	MemoryContext old;

	if (bound != NULL && bound->constant && bound->expr != NULL)
		return bound->expr;
	expression = PG_GETARG_TEXT_PP(1);
	names = PG_ARGISNULL(2) ? NULL : PG_GETARG_JSONB_P(2);
	vals = kind == EXPR_PROJECTION || PG_ARGISNULL(3) ? NULL : PG_GETARG_DYN_ITEM(3);
	if (bound == NULL)
	{
		bound = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Bound));
		bound->cxt = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "dynamo_table arguments",
										   ALLOCSET_SMALL_SIZES);
		bound->constant = arguments_are_constant(fcinfo);
		fcinfo->flinfo->fn_extra = bound;
	}
	if (bound->expr != NULL && same_bytes(bound->expression, expression) &&
		same_bytes(bound->names, names) && same_bytes(bound->vals, vals))
		return bound->expr;

	bound->expr = NULL;
	MemoryContextReset(bound->cxt);
	old = MemoryContextSwitchTo(bound->cxt);
	bound->expression = copy_datum(expression);
	bound->names = copy_datum(names);
	bound->vals = copy_datum(vals);
	bound->expr = bind(bound, kind);
	MemoryContextSwitchTo(old);
	return bound->expr;
}

static DynItem *
item_argument(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) ? NULL : PG_GETARG_DYN_ITEM(0);
}

PG_FUNCTION_INFO_V1(dyn_matches);
Datum
dyn_matches(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	PG_RETURN_BOOL(expr_matches(bound_expr(fcinfo, EXPR_CONDITION), item_argument(fcinfo)));
}

PG_FUNCTION_INFO_V1(dyn_project);
Datum
dyn_project(PG_FUNCTION_ARGS)
{
	Expr *projection;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	projection = bound_expr(fcinfo, EXPR_PROJECTION);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(expr_project(projection, PG_GETARG_DYN_ITEM(0)));
}

/* Returns what UpdateItem returns for a ReturnValues; NULL for nothing. */
static DynItem *
returned(const Expr *update, DynItem *old, const char *values)
{
	/* the update must be possible, whatever is asked for */
	DynItem *new = expr_apply(update, old, NULL);

	if (strcmp(values, "ALL_NEW") == 0)
		return new;
	if (strcmp(values, "ALL_OLD") == 0)
		return old;
	if (strcmp(values, "UPDATED_NEW") == 0)
		return expr_updated_new(update, old, NULL);
	if (strcmp(values, "UPDATED_OLD") == 0)
		return expr_updated_old(update, old);
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid ReturnValues: \"%s\"", values),
					errhint("It is ALL_NEW, ALL_OLD, UPDATED_NEW or UPDATED_OLD.")));
}

PG_FUNCTION_INFO_V1(dyn_apply);
Datum
dyn_apply(PG_FUNCTION_ARGS)
{
	DynItem *result;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(4))
		PG_RETURN_NULL();
	result = returned(bound_expr(fcinfo, EXPR_UPDATE), item_argument(fcinfo),
					  text_to_cstring(PG_GETARG_TEXT_PP(4)));
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(result);
}
