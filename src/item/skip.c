/*
 * skip.c
 *	  JSON that nobody looks at.
 *
 * It must be JSON nevertheless.  Nothing here is recursive, however deep it is.
 */
#include "postgres.h"

#include "common/jsonapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "item/skip.h"

/* Skip holds what is open, from outside to inside. */
typedef struct Skip
{
	JsonLexContext *lex;
	int depth;
	StringInfoData objects; /* for each a byte: 1: an object, 0: an array */
} Skip;

static bool
skip_next(Skip *s)
{
	return json_lex(s->lex) == JSON_SUCCESS;
}

static bool
at(const Skip *s, JsonTokenType type)
{
	return s->lex->token_type == type;
}

/* Goes from the name of a member to its value. */
static bool
pass_name(Skip *s)
{
	return at(s, JSON_TOKEN_STRING) && skip_next(s) && at(s, JSON_TOKEN_COLON) && skip_next(s);
}

static void
skip_enter(Skip *s, bool object)
{
	s->depth++;
	appendStringInfoChar(&s->objects, object ? 1 : 0);
}

static void
skip_leave(Skip *s)
{
	s->objects.len = --s->depth;
}

static JsonTokenType
closing(const Skip *s)
{
	return s->objects.data[s->depth - 1] ? JSON_TOKEN_OBJECT_END : JSON_TOKEN_ARRAY_END;
}

/*
 * Leaves all that ends with a value's last token, and goes to the next value unless nothing is open
 * any more.
 */
static bool
pass_ends(Skip *s)
{
	while (s->depth > 0)
	{
		if (!skip_next(s))
			return false;
		if (at(s, closing(s)))
		{
			skip_leave(s);
			continue;
		}
		return at(s, JSON_TOKEN_COMMA) && skip_next(s) &&
			   (!s->objects.data[s->depth - 1] || pass_name(s));
	}
	return true;
}

static bool
is_scalar(const Skip *s)
{
	return at(s, JSON_TOKEN_STRING) || at(s, JSON_TOKEN_NUMBER) || at(s, JSON_TOKEN_TRUE) ||
		   at(s, JSON_TOKEN_FALSE) || at(s, JSON_TOKEN_NULL);
}

static JsonSkipped
skip_value(Skip *s, int limit)
{
	do
	{
		bool object = at(s, JSON_TOKEN_OBJECT_START);

		CHECK_FOR_INTERRUPTS();
		if (object || at(s, JSON_TOKEN_ARRAY_START))
		{
			if (s->depth == limit && limit > 0)
				return JSON_SKIPPED_TOO_DEEP;
			skip_enter(s, object);
			if (!skip_next(s))
				return JSON_SKIPPED_MALFORMED;
			if (!at(s, closing(s)))
			{
				if (object && !pass_name(s))
					return JSON_SKIPPED_MALFORMED;
				continue;
			}
			skip_leave(s);
		}
		else if (!is_scalar(s))
			return JSON_SKIPPED_MALFORMED;
		if (!pass_ends(s))
			return JSON_SKIPPED_MALFORMED;
	} while (s->depth > 0);
	return JSON_SKIPPED;
}

/*
 * Goes from the first token of a value to its last one.  If it is malformed, the lexer is left where
 * that shows.  At most so many objects and arrays may be open at a time; 0: any number.
 */
JsonSkipped
json_skip_value(struct JsonLexContext *lex, int limit)
{
	Skip s = {.lex = lex};
	JsonSkipped skipped;

	initStringInfo(&s.objects);
	skipped = skip_value(&s, limit);
	pfree(s.objects.data);
	return skipped;
}
