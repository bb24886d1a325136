/*
 * parameters.c
 *	  Parameters of a request that belong together, as far as all operations have them: expressions,
 *	  legacy parameters, and the names and values of expressions.
 *
 * Expressions are only counted here, and not read: what is wrong with their texts comes later.
 */
#include "postgres.h"

#include "api/request/parameters.h"
#include "server/errors.h"

/* Returns the expressions that are given, joined; or those that may have values. */
static char *
list_expressions(const ExpressionParameter *expressions, int n, bool given)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < n; i++)
	{
		const ExpressionParameter *e = &expressions[i];

		if (given && e->text != NULL)
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", e->name);
		if (!given && e->values)
			appendStringInfo(&names, "%s%s is null", names.len > 0 ? " and " : "", e->name);
	}
	return names.data;
}

static bool
is_given(const ExpressionParameter *expressions, int n, const char *name)
{
	for (int i = 0; i < n; i++)
	{
		if (strcmp(expressions[i].name, name) == 0)
			return expressions[i].text != NULL;
	}
	return false;
}

/* Refuses a mixture; KeyConditions may go with other expressions: there was no other way once. */
static void
check_mixing(const ExpressionParameter *expressions, int n, const LegacyParameters *legacy)
{
	const char *names = legacy_names(legacy, is_given(expressions, n, "KeyConditionExpression"));
	const char *given = list_expressions(expressions, n, true);

	if (*given != '\0' && *names != '\0')
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Can not use both expression and non-expression parameters in the same request: "
				  "Non-expression parameters: {%s} Expression parameters: {%s}",
				  names, given);
}

static bool
any_given(const ExpressionParameter *expressions, int n, bool with_values)
{
	for (int i = 0; i < n; i++)
	{
		if (expressions[i].text != NULL && (expressions[i].values || !with_values))
			return true;
	}
	return false;
}

/*
 * Raises ERRCODE_DYN_VALIDATION if expressions stand beside legacy parameters, or names or values
 * without an expression that could use them.
 */
void
parameters_check(const ExpressionParameter *expressions, int n, const LegacyParameters *legacy,
				 bool names, bool values)
{
	if (legacy != NULL)
		check_mixing(expressions, n, legacy);
	if (names && !any_given(expressions, n, false))
		dyn_error_kind(WORDS_NO_EXPRESSION,
					   "ExpressionAttributeNames can only be specified when using expressions");
	if (values && !any_given(expressions, n, true))
		dyn_error_kind(WORDS_NO_EXPRESSION,
					   "ExpressionAttributeValues can only be specified when using expressions: %s",
					   list_expressions(expressions, n, false));
}

/* Checks a request for one item, alone or in a transaction, which has no legacy parameters. */
void
parameters_check_item(TransactKind kind, const ItemRequest *request, const LegacyParameters *legacy,
					  bool names, bool values)
{
	const ExpressionParameter projection = {"ProjectionExpression", request->projection};
	const ExpressionParameter update = {"UpdateExpression", request->update, true};
	const ExpressionParameter condition = {"ConditionExpression", request->condition, true};

	if (kind == TRANSACT_GET)
		parameters_check(&projection, 1, legacy, names, values);
	else if (kind == TRANSACT_UPDATE)
	{
		const ExpressionParameter both[] = {update, condition};

		parameters_check(both, lengthof(both), legacy, names, values);
	}
	else
		parameters_check(&condition, 1, legacy, names, values);
}

/* Checks a Query. */
void
parameters_check_query(const ReadRequest *read, const text *key_condition,
					   const LegacyParameters *legacy, bool names, bool values)
{
	const ExpressionParameter expressions[] = {{"ProjectionExpression", read->projection},
											   {"FilterExpression", read->filter, true},
											   {"KeyConditionExpression", key_condition, true}};

	parameters_check(expressions, lengthof(expressions), legacy, names, values);
}

/* Checks a Scan. */
void
parameters_check_scan(const ReadRequest *read, const LegacyParameters *legacy, bool names,
					  bool values)
{
	const ExpressionParameter expressions[] = {{"ProjectionExpression", read->projection},
											   {"FilterExpression", read->filter, true}};

	parameters_check(expressions, lengthof(expressions), legacy, names, values);
}
