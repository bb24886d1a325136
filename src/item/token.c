/*
 * token.c
 *	  What DynamoDB says of JSON of another type than it expects.
 */
#include "postgres.h"

#include "common/jsonapi.h"

#include "item/token.h"
#include "server/compat.h"

/* Returns the name of a scalar's token; NULL for other tokens. */
static const char *
scalar_name(const JsonLexContext *lex)
{
	switch (lex->token_type)
	{
		case JSON_TOKEN_STRING:
			return "STRING_VALUE";
		case JSON_TOKEN_TRUE:
			return "TRUE_VALUE";
		case JSON_TOKEN_FALSE:
			return "FALSE_VALUE";
		case JSON_TOKEN_NUMBER:
			for (const char *s = lex->token_start; s < lex->token_terminator; s++)
			{
				if (*s == '.' || *s == 'e' || *s == 'E')
					return "DECIMAL_VALUE";
			}
			return "NUMBER_VALUE";
		default:
			return NULL;
	}
}

static const char *
scalar_words(const char *found, TokenExpected expected)
{
	static const char *const names[] = {[TOKEN_STRING] = "String",
										[TOKEN_BOOLEAN] = "Boolean",
										[TOKEN_INTEGER] = "Integer",
										[TOKEN_LONG] = "Long"};

	switch (expected)
	{
		case TOKEN_BLOB:
			return "only base-64-encoded strings are convertible to bytes";
		case TOKEN_LIST:
		case TOKEN_MAP:
			return "Unexpected field type";
		case TOKEN_VALUE:
			return "Unexpected value type in payload";
		case TOKEN_STRING:
		case TOKEN_BOOLEAN:
		case TOKEN_INTEGER:
		case TOKEN_LONG:
			break;
	}
	if (expected == TOKEN_BOOLEAN && strcmp(found, "STRING_VALUE") == 0)
		return "Unexpected token received from parser";
	return psprintf("%s cannot be converted to %s", found, names[expected]);
}

/*
 * Returns the words for the lexer's current token where another value was expected; NULL where the
 * text ends or is no JSON, and for null, of which nothing is known.
 */
const char *
token_words(const JsonLexContext *lex, TokenExpected expected)
{
	const char *scalar = scalar_name(lex);

	if (scalar != NULL)
		return scalar_words(scalar, expected);
	if (lex->token_type == JSON_TOKEN_OBJECT_START)
		return "Start of structure or map found where not expected";
	if (lex->token_type == JSON_TOKEN_ARRAY_START)
		return "Start of list found where not expected";
	return NULL;
}
