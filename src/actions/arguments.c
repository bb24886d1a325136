/*
 * arguments.c
 *	  Arguments of the typed SQL functions.
 */
#include "postgres.h"

#include "utils/jsonb.h"

#include "actions/arguments.h"
#include "ground/errors.h"

/* Raise ERRCODE_DYN_VALIDATION if argument i is null.  The message calls the argument by name. */
void
argument_require(FunctionCallInfo fcinfo, int i, const char *name)
{
	if (PG_ARGISNULL(i))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("%s must not be null", name)));
}

/* Returns argument i, detoasted if need be, or NULL if the argument is null. */
text *
argument_text(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_GETARG_TEXT_PP(i);
}

/* Returns argument i, detoasted if need be, or NULL if the argument is null. */
DynItem *
argument_item(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_GETARG_DYN_ITEM(i);
}

/* 0 for none. */
int64
argument_positive(FunctionCallInfo fcinfo, int i, const char *name)
{
	if (PG_ARGISNULL(i))
		return 0;
	return option_positive(name, PG_GETARG_INT64(i));
}

/*
 * Returns the number of the choice that argument i, of type text, names, or missing if the argument
 * is null.  The list of choices ends with NULL.  Any other text is ERRCODE_DYN_VALIDATION.
 */
int
argument_choice(FunctionCallInfo fcinfo, int i, const char *name, int missing,
				const char *const *choices)
{
	if (PG_ARGISNULL(i))
		return missing;
	return option_choice(name, action_span(PG_GETARG_TEXT_PP(i)), choices);
}

/* vals below 0: the function has none. */
ExprRequest *
argument_expressions(FunctionCallInfo fcinfo, int names, int vals)
{
	return expr_request(PG_ARGISNULL(names) ? NULL : PG_GETARG_JSONB_P(names),
						vals < 0 ? NULL : argument_item(fcinfo, vals));
}

/*
 * What the arguments of all writes end with, from i on: condition, names, vals, return_values,
 * return_values_on_condition_check_failure.
 */
void
argument_write(FunctionCallInfo fcinfo, int i, const char *const *choices, ItemRequest *request)
{
	request->condition = argument_text(fcinfo, i);
	request->expressions = argument_expressions(fcinfo, i + 1, i + 2);
	request->return_values =
		(ReturnValues) argument_choice(fcinfo, i + 3, "return_values", RETURN_NONE, choices);
	request->old_on_failure =
		argument_choice(fcinfo, i + 4, "return_values_on_condition_check_failure", RETURN_NONE,
						option_return_old) == RETURN_ALL_OLD;
}
