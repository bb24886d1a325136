/*
 * words.c
 *	  What DynamoDB says of an error in an expression.
 *
 * All of these are called only when an error is raised.
 */
#include "postgres.h"

#include "expr/tree.h"
#include "server/words.h"

/* Returns words for what is wrong with an expression by itself, behind its name. */
char *
expr_words(const ExprCompiled *compiled, const char *format, ...)
{
	va_list args;
	char *words;

	va_start(args, format);
	words = words_format(format, args);
	va_end(args);
	if (compiled->bare)
		return words;
	return psprintf("Invalid %s: %s", compiled->parameter, words);
}

/*
 * Returns words for a token that cannot stand at its place, with the tokens before and behind it as
 * they stand in the text.
 */
char *
expr_words_syntax(const ExprCompiled *compiled, int location)
{
	ItemSpan token;
	ItemSpan near;

	expr_find_token(compiled, location, &token, &near);
	if (token.len == 0)
		token = (ItemSpan){"<EOF>", 5};
	return expr_words(compiled, "Syntax error; token: \"%.*s\", near: \"%.*s\"", (int) token.len,
					  token.data, (int) near.len, near.data);
}

/* A value of the request has a type that an operator or function never takes. */
char *
expr_words_type(const ExprCompiled *compiled, const ExprRule *rule, const char *type)
{
	return expr_words(compiled,
					  "Incorrect operand type for operator or function; operator or function: %s, "
					  "operand type: %s",
					  rule->name, type);
}

/* The request does not define a placeholder. */
char *
expr_words_undefined(const ExprCompiled *compiled, ItemSpan placeholder)
{
	const char *problem =
		placeholder.data[0] == '#'
			? "An expression attribute name used in the document path is not defined; attribute "
			  "name"
			: "An expression attribute value used in expression is not defined; attribute value";

	return expr_words(compiled, "%s: %s", problem, item_quoted_words(placeholder));
}

/* A function stands where it cannot. */
char *
expr_words_misused(const ExprCompiled *compiled, const ExprRule *rule)
{
	return expr_words(compiled,
					  "The function is not allowed to be used this way in an expression; "
					  "function: %s",
					  rule->name);
}

/* Returns a path with its placeholders replaced: [a, [0], b]. */
char *
expr_words_path(const ExprPath *path)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoChar(&out, '[');
	for (int i = 0; i < path->nsteps; i++)
	{
		const ExprStep *step = &path->steps[i];

		if (i > 0)
			appendStringInfoString(&out, ", ");
		if (step->name.data == NULL)
			appendStringInfo(&out, "[%u]", step->index);
		else
			item_quote_words(&out, step->name);
	}
	appendStringInfoChar(&out, ']');
	return out.data;
}

/* Returns a value of type S, N or B as messages have it. */
static char *
value_text(ItemSpan value)
{
	ItemType type = item_type(value);
	ItemSpan payload = item_payload(value);
	char number[ITEM_NUMBER_TEXT];

	if (type == ITEM_N)
	{
		payload.len = (uint32) item_number_print(payload, number);
		payload.data = number;
	}
	else if (type == ITEM_B)
	{
		int len;

		payload.data = item_base64(payload, &len);
		payload.len = (uint32) len;
	}
	return psprintf("AttributeValue: {%s:%s}", item_type_code(type), item_quoted_words(payload));
}

/* Returns words for two bounds. */
char *
expr_words_bounds(const ExprCompiled *compiled, const char *problem, ItemSpan lower, ItemSpan upper)
{
	return expr_words(compiled,
					  "The BETWEEN operator requires %s; lower bound operand: %s, upper bound "
					  "operand: %s",
					  problem, value_text(lower), value_text(upper));
}
