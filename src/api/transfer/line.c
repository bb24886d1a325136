/*
 * line.c
 *	  A line of an import: an item to put, or a key to delete.
 *
 * An item may have an attribute named like one of the members that exports put around items, so the
 * first name does not tell the two apart.  The names below it do: names of attributes and type
 * codes alternate.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "api/transfer/lexer.h"
#include "api/transfer/transfer.h"
#include "server/errors.h"

/* These members are around items. */
static const char *const members[] = {"Item",     "Metadata",   "Keys",         "NewImage",
									  "OldImage", "PutRequest", "DeleteRequest"};

pg_noreturn static void
line_fail(const JsonLexContext *lex, const char *message)
{
	const char *at = lex->token_start != NULL ? lex->token_start : lex->token_terminator;

	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid line: %s", message),
					errdetail("At character %d.",
							  pg_mbstrlen_with_len(lex->input, (int) (at - lex->input)) + 1)));
}

static void
line_advance(JsonLexContext *lex)
{
	if (json_lex(lex) != JSON_SUCCESS)
		line_fail(lex, "malformed JSON");
}

static void
line_expect(JsonLexContext *lex, JsonTokenType type)
{
	if (!token_at(lex, type))
		line_fail(lex, "malformed JSON");
	line_advance(lex);
}

/*
 * Which of the two
 */

static bool
is_member(const JsonLexContext *lex)
{
	for (int i = 0; i < lengthof(members); i++)
	{
		if (token_is(lex, members[i]))
			return true;
	}
	return false;
}

/*
 * Returns whether the line has an item inside it, rather than being one.  Below the first name,
 * names are attributes and type codes alternately.  The first name that can be only one of these
 * decides: of the type codes only M has an object as its value, and an attribute always has one
 * that is not empty.
 */
static bool
has_item_inside(const char *line, int len)
{
	JsonLexContext *lex = make_json_lexer(line, len);
	bool inside = true;

	if (!token_next(lex) || !token_at(lex, JSON_TOKEN_OBJECT_START) || !token_next(lex) ||
		!is_member(lex))
		return false;
	if (!token_next(lex) || !token_at(lex, JSON_TOKEN_COLON) || !token_next(lex))
		return false;
	/* the value in "Metadata" and what is malformed may be anything */
	for (; token_at(lex, JSON_TOKEN_OBJECT_START); inside = !inside)
	{
		ItemSpan name;
		bool map;

		if (!token_next(lex) || !token_at(lex, JSON_TOKEN_STRING))
			return inside;
		map = token_is(lex, "M");
		name = token_inner(lex);
		if (!token_next(lex) || !token_at(lex, JSON_TOKEN_COLON) || !token_next(lex))
			return inside;
		if (!token_at(lex, JSON_TOKEN_OBJECT_START))
			return item_type_from_code(name) != 0 ? !inside : inside;
		if (!map)
			return inside;
	}
	return inside;
}

/*
 * What is inside
 */

static void
skip_value(JsonLexContext *lex)
{
	if (!token_skip_value(lex))
		line_fail(lex, "malformed JSON");
	line_advance(lex);
}

static DynItem *
read_item(JsonLexContext *lex)
{
	DynItem *item;

	if (!token_at(lex, JSON_TOKEN_OBJECT_START))
		line_fail(lex, "an item must be a JSON object");
	item = item_parse_inside(lex, ITEM_SYNTAX_ITEM, false, false, NULL, NULL);
	line_advance(lex);
	return item;
}

typedef struct Inside
{
	DynItem *item;
	DynItem *keys;
	DynItem *new;
} Inside;

/* Reads a member that may hold an item, or metadata. */
static void
read_part(JsonLexContext *lex, Inside *inside)
{
	DynItem **item = token_is(lex, "Item")       ? &inside->item
					 : token_is(lex, "Keys")     ? &inside->keys
					 : token_is(lex, "NewImage") ? &inside->new
												 : NULL;

	if (!is_member(lex))
		line_fail(lex, "only \"Item\", or the members of a change, may stand here");
	if (item != NULL && *item != NULL)
		line_fail(lex, "a member is there twice");
	line_advance(lex);
	line_expect(lex, JSON_TOKEN_COLON);
	if (item != NULL)
		*item = read_item(lex);
	else
		skip_value(lex);
}

/* Reads one, or a request of BatchWriteItem: one to put has a part inside it. */
static void
read_member(JsonLexContext *lex, Inside *inside)
{
	if (token_is(lex, "DeleteRequest"))
		line_fail(lex, "a \"DeleteRequest\" cannot be imported");
	if (!token_is(lex, "PutRequest"))
	{
		read_part(lex, inside);
		return;
	}
	line_advance(lex);
	line_expect(lex, JSON_TOKEN_COLON);
	line_expect(lex, JSON_TOKEN_OBJECT_START);
	if (!token_is(lex, "Item"))
		line_fail(lex, "a \"PutRequest\" must have an \"Item\" and nothing else");
	read_part(lex, inside);
	if (!token_at(lex, JSON_TOKEN_OBJECT_END))
		line_fail(lex, "a \"PutRequest\" must have an \"Item\" and nothing else");
	line_advance(lex);
}

static TransferKind
read_inside(const char *line, int len, DynItem **item)
{
	JsonLexContext *lex = make_json_lexer(line, len);
	Inside inside = {NULL};

	line_advance(lex);
	line_advance(lex);
	for (;;)
	{
		read_member(lex, &inside);
		if (!token_at(lex, JSON_TOKEN_COMMA))
			break;
		line_advance(lex);
	}
	line_expect(lex, JSON_TOKEN_OBJECT_END);
	if (!token_at(lex, JSON_TOKEN_END))
		line_fail(lex, "malformed JSON");
	if (inside.item != NULL && (inside.keys != NULL || inside.new != NULL))
		line_fail(lex, "it has both an item and a change");
	*item = inside.item;
	if (*item != NULL)
		return TRANSFER_ITEM;
	*item = inside.new;
	if (*item != NULL)
		return TRANSFER_PUT;
	*item = inside.keys;
	if (*item == NULL)
		line_fail(lex, "a change must have \"Keys\" or \"NewImage\"");
	return TRANSFER_DELETE;
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/*
 * Parses a line, and sets *item to the item, allocated in the current memory context; for
 * TRANSFER_DELETE it is the key, and for TRANSFER_BLANK it is not set.  Raises an error if the line
 * is malformed.
 */
TransferKind
transfer_parse_line(const char *line, int len, DynItem **item)
{
	while (len > 0 && is_space(line[len - 1]))
		len--;
	while (len > 0 && is_space(*line))
	{
		line++;
		len--;
	}
	if (len == 0)
		return TRANSFER_BLANK;
	if (has_item_inside(line, len))
		return read_inside(line, len, item);
	*item = item_parse(line, len, ITEM_SYNTAX_ITEM, NULL);
	return TRANSFER_ITEM;
}
