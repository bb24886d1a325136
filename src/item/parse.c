/*
 * parse.c
 *	  From JSON text to the binary form, in one pass.
 *
 * Postgres' lexer finds the tokens; strings are decoded here, because the lexer's own
 * decoding stops at U+0000.  The recursion is at most ITEM_MAX_NESTING deep: deeper
 * input is refused before it is entered.
 */
#include "postgres.h"

#include "common/base64.h"
#include "common/jsonapi.h"
#include "mb/pg_wchar.h"

#include "ground/errors.h"
#include "item/build.h"

#define PLAIN_JSON_HINT \
	"Write values like {\"S\": \"text\"} or {\"N\": \"1\"}; cast plain JSON to jsonb first."

typedef struct ItemParser
{
	JsonLexContext *lex;
	ItemBuilder b;
	ItemSyntax syntax;
	StringInfoData scratch; /* a string with its escapes decoded */
	struct Node *escontext;
} ItemParser;

static bool parse_typed(ItemParser *p);
static bool parse_plain(ItemParser *p);

/*
 * Reporting.  All of these return false, so that callers end with "return fail(…)":
 * under a soft error context the error has only been noted.
 */

static int
character_at(ItemParser *p, const char *at)
{
	return pg_mbstrlen_with_len(p->lex->input, (int) (at - p->lex->input)) + 1;
}

static const char *
token_start(ItemParser *p)
{
	return p->lex->token_start != NULL ? p->lex->token_start : p->lex->token_terminator;
}

static bool
fail_at(ItemParser *p, const char *at, int depth, const char *message, const char *hint)
{
	StringInfoData path;

	initStringInfo(&path);
	item_build_path(&p->b, depth, &path);
	if (path.len > 0)
		errsave(p->escontext,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid item: %s", message),
				 errdetail("At character %d, in attribute \"%s\".", character_at(p, at), path.data),
				 hint != NULL ? errhint("%s", hint) : 0));
	else
		errsave(p->escontext, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid item: %s", message),
							   errdetail("At character %d.", character_at(p, at)),
							   hint != NULL ? errhint("%s", hint) : 0));
	return false;
}

/* The text is no JSON; the lexer has the message. */
static bool
fail_syntax(ItemParser *p, JsonParseErrorType error)
{
	char *detail;
	const char *at = token_start(p);

	/* These speak of a token, which the end of the input is not. */
	if (p->lex->token_type == JSON_TOKEN_END && error != JSON_INVALID_TOKEN)
		error = JSON_EXPECTED_MORE;
	detail = json_errdetail(error, p->lex);
	errsave(p->escontext, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid item: malformed JSON"),
						   errdetail("At character %d: %s", character_at(p, at), detail)));
	return false;
}

/* The value at the current token is wrong, unless the input just ends here. */
static bool
fail(ItemParser *p, const char *message)
{
	if (p->lex->token_type == JSON_TOKEN_END)
		return fail_syntax(p, JSON_EXPECTED_MORE);
	return fail_at(p, token_start(p), p->b.depth, message, NULL);
}

static bool
fail_build(ItemParser *p, ItemBuildError error)
{
	StringInfoData message;
	const char *at = token_start(p);

	initStringInfo(&message);
	item_build_describe(&p->b, error, &message);
	if (error != ITEM_BUILD_EMPTY_SET)
		at = p->lex->input + p->b.duplicate.source;
	return fail_at(p, at, p->b.depth - 1, message.data, NULL);
}

static bool
fail_size(ItemParser *p, Size size)
{
	errsave(p->escontext,
			(errcode(ERRCODE_DYN_VALIDATION), errmsg("item size exceeds %d bytes", ITEM_MAX_SIZE),
			 size > 0 ? errdetail("The item has %zu bytes, names and values together.", size)
					  : errdetail("The limit was passed at character %d.",
								  character_at(p, token_start(p)))));
	return false;
}

/*
 * Tokens
 */

static bool
next(ItemParser *p)
{
	JsonParseErrorType error = json_lex(p->lex);

	return error == JSON_SUCCESS ? true : fail_syntax(p, error);
}

static inline bool
at_token(ItemParser *p, JsonTokenType type)
{
	return p->lex->token_type == type;
}

/* Advance, and demand one kind of token. */
static bool
expect(ItemParser *p, JsonTokenType type, JsonParseErrorType error)
{
	if (!next(p))
		return false;
	return at_token(p, type) ? true : fail_syntax(p, error);
}

static int
hex4(const char *s)
{
	int code = 0;

	for (int i = 0; i < 4; i++)
	{
		int c = (unsigned char) s[i];

		code = code << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return code;
}

/* Decode \uXXXX or a pair of them; *s is at the first digit and is left after the last. */
static bool
decode_unicode(ItemParser *p, const char **s, const char *end)
{
	pg_wchar code = hex4(*s);
	unsigned char utf8[MAX_MULTIBYTE_CHAR_LEN];

	*s += 4;
	if (is_utf16_surrogate_first(code) && end - *s >= 6 && (*s)[0] == '\\' && (*s)[1] == 'u')
	{
		pg_wchar second = hex4(*s + 2);

		if (is_utf16_surrogate_second(second))
		{
			code = surrogate_pair_to_codepoint(code, second);
			*s += 6;
		}
	}
	if (is_utf16_surrogate_first(code) || is_utf16_surrogate_second(code))
		return fail(p, "string contains a lone surrogate");
	unicode_to_utf8(code, utf8);
	appendBinaryStringInfo(&p->scratch, (char *) utf8, pg_utf_mblen(utf8));
	return true;
}

static char
decode_escape(char c)
{
	switch (c)
	{
		case 'b':
			return '\b';
		case 'f':
			return '\f';
		case 'n':
			return '\n';
		case 'r':
			return '\r';
		case 't':
			return '\t';
		default:
			return c;
	}
}

/* The text of a string token, which the lexer has checked but for surrogates. */
static bool
token_string(ItemParser *p, ItemSpan *out)
{
	const char *s = p->lex->token_start + 1;
	const char *end = p->lex->token_terminator - 1;
	const char *escape = memchr(s, '\\', end - s);

	/* An escape is at most six characters for a byte, which that limit allows for. */
	if (end - s > ITEM_MAX_ENCODED)
		return fail_size(p, 0);
	if (escape == NULL)
	{
		*out = (ItemSpan){s, (uint32) (end - s)};
		return true;
	}
	resetStringInfo(&p->scratch);
	for (; escape != NULL; escape = memchr(s, '\\', end - s))
	{
		appendBinaryStringInfo(&p->scratch, s, escape - s);
		s = escape + 2;
		if (escape[1] != 'u')
			appendStringInfoChar(&p->scratch, decode_escape(escape[1]));
		else if (!decode_unicode(p, &s, end))
			return false;
	}
	appendBinaryStringInfo(&p->scratch, s, end - s);
	*out = (ItemSpan){p->scratch.data, p->scratch.len};
	return true;
}

/*
 * Scalars, shared by both syntaxes
 */

static bool
build_number(ItemParser *p, ItemSpan text)
{
	char *to = item_build_reserve(&p->b, ITEM_N, ITEM_NUMBER_SIZE);
	int len = item_number_parse(text.data, text.len, to);
	StringInfoData message;

	if (len >= 0)
	{
		item_build_reserved(&p->b, len);
		return true;
	}
	initStringInfo(&message);
	appendStringInfoChar(&message, '"');
	item_quote(&message, text);
	appendStringInfo(&message, "\" %s", item_number_error(len));
	return fail(p, message.data);
}

/* Padding only at the end, and whole groups of four: pg_b64_decode() lets more pass. */
static bool
build_base64(ItemParser *p, ItemSpan text)
{
	int size = pg_b64_dec_len(text.len);
	char *to = item_build_reserve(&p->b, ITEM_B, size);
	const char *padding = memchr(text.data, '=', text.len);
	const char *end = text.data + text.len;
	bool padded = padding == NULL || padding == end - 1 || (padding == end - 2 && end[-1] == '=');
	int len = -1;

	if (text.len % 4 == 0 && padded)
		len = pg_b64_decode(text.data, text.len, (void *) to, size);
	if (len < 0)
		return fail(p, "invalid base64");
	item_build_reserved(&p->b, len);
	return true;
}

static bool
build_scalar(ItemParser *p, ItemType type)
{
	ItemSpan text;

	if (!token_string(p, &text))
		return false;
	if (type == ITEM_N)
		return build_number(p, text);
	if (type == ITEM_B)
		return build_base64(p, text);
	item_build_scalar(&p->b, ITEM_S, text);
	return true;
}

/*
 * Maps, lists and sets, shared by both syntaxes
 */

static bool
begin(ItemParser *p, ItemType type)
{
	if (!item_build_may_begin(&p->b, type))
		return fail(p, psprintf("more than %d levels of nesting", ITEM_MAX_NESTING));
	item_build_begin(&p->b, type);
	return true;
}

static bool
end(ItemParser *p)
{
	ItemBuildError error = item_build_end(&p->b);

	if (error != ITEM_BUILD_OK)
		return fail_build(p, error);
	return p->b.len > ITEM_MAX_ENCODED ? fail_size(p, 0) : true;
}

static bool
parse_name(ItemParser *p)
{
	ItemSpan name;

	if (!token_string(p, &name))
		return false;
	if (name.len == 0)
		return fail_at(p, token_start(p), p->b.depth - 1, "empty attribute name", NULL);
	if (name.len > ITEM_MAX_NAME)
		return fail_at(p, token_start(p), p->b.depth - 1,
					   psprintf("attribute name is longer than %d bytes", ITEM_MAX_NAME), NULL);
	p->b.source = (int) (p->lex->token_start - p->lex->input);
	item_build_name(&p->b, name);
	return expect(p, JSON_TOKEN_COLON, JSON_EXPECTED_COLON) && next(p);
}

/* At an opening brace: names with values up to the closing brace. */
static bool
parse_attributes(ItemParser *p)
{
	if (!begin(p, ITEM_M) || !next(p))
		return false;
	if (at_token(p, JSON_TOKEN_OBJECT_END))
		return end(p);
	for (;;)
	{
		if (!at_token(p, JSON_TOKEN_STRING))
			return fail_syntax(p, JSON_EXPECTED_STRING);
		if (!parse_name(p))
			return false;
		if (!(p->syntax == ITEM_SYNTAX_PLAIN_ITEM ? parse_plain(p) : parse_typed(p)) || !next(p))
			return false;
		if (at_token(p, JSON_TOKEN_OBJECT_END))
			return end(p);
		if (!at_token(p, JSON_TOKEN_COMMA))
			return fail_syntax(p, JSON_EXPECTED_OBJECT_NEXT);
		if (!next(p))
			return false;
		if (p->b.len > ITEM_MAX_ENCODED)
			return fail_size(p, 0);
	}
}

static bool
parse_set_element(ItemParser *p, ItemType type)
{
	if (!at_token(p, JSON_TOKEN_STRING))
		return fail(p, psprintf("each element of %s must be a string", item_type_code(type)));
	return build_scalar(p, item_element_type(type));
}

/* At an opening bracket: values or set elements up to the closing bracket. */
static bool
parse_elements(ItemParser *p, ItemType type)
{
	if (!begin(p, type) || !next(p))
		return false;
	if (at_token(p, JSON_TOKEN_ARRAY_END))
		return end(p);
	for (;;)
	{
		bool ok;

		p->b.source = (int) (token_start(p) - p->lex->input);
		item_build_element(&p->b);
		if (type != ITEM_L)
			ok = parse_set_element(p, type);
		else
			ok = p->syntax == ITEM_SYNTAX_PLAIN_ITEM ? parse_plain(p) : parse_typed(p);
		if (!ok || !next(p))
			return false;
		if (at_token(p, JSON_TOKEN_ARRAY_END))
			return end(p);
		if (!at_token(p, JSON_TOKEN_COMMA))
			return fail_syntax(p, JSON_EXPECTED_ARRAY_NEXT);
		if (!next(p))
			return false;
		if (p->b.len > ITEM_MAX_ENCODED)
			return fail_size(p, 0);
	}
}

/*
 * DynamoDB JSON
 */

/* What stands behind a type code. */
static bool
parse_payload(ItemParser *p, ItemType type)
{
	switch (type)
	{
		case ITEM_S:
		case ITEM_N:
		case ITEM_B:
			if (!at_token(p, JSON_TOKEN_STRING))
				return fail(
					p, psprintf("the value of %s must be a JSON string", item_type_code(type)));
			return build_scalar(p, type);
		case ITEM_BOOL:
			if (!at_token(p, JSON_TOKEN_TRUE) && !at_token(p, JSON_TOKEN_FALSE))
				return fail(p, "the value of BOOL must be true or false");
			item_build_bool(&p->b, at_token(p, JSON_TOKEN_TRUE));
			return true;
		case ITEM_NULL:
			if (!at_token(p, JSON_TOKEN_TRUE))
				return fail(p, "the value of NULL must be true");
			item_build_null(&p->b);
			return true;
		case ITEM_M:
			if (!at_token(p, JSON_TOKEN_OBJECT_START))
				return fail(p, "the value of M must be a JSON object");
			return parse_attributes(p);
		case ITEM_L:
		case ITEM_SS:
		case ITEM_NS:
		case ITEM_BS:
			break;
	}
	if (!at_token(p, JSON_TOKEN_ARRAY_START))
		return fail(p, psprintf("the value of %s must be a JSON array", item_type_code(type)));
	return parse_elements(p, type);
}

static bool
parse_type_code(ItemParser *p, ItemType *type)
{
	ItemSpan code;
	StringInfoData message;

	if (!token_string(p, &code))
		return false;
	*type = item_type_from_code(code);
	if (*type != 0)
		return expect(p, JSON_TOKEN_COLON, JSON_EXPECTED_COLON) && next(p);
	initStringInfo(&message);
	appendStringInfoString(&message, "unknown type code \"");
	item_quote(&message, code);
	appendStringInfoChar(&message, '"');
	return fail_at(p, token_start(p), p->b.depth, message.data, PLAIN_JSON_HINT);
}

/* At the first token of a value, {"S":"a"}. */
static bool
parse_typed(ItemParser *p)
{
	ItemType type;

	if (at_token(p, JSON_TOKEN_END))
		return fail_syntax(p, JSON_EXPECTED_JSON);
	if (!at_token(p, JSON_TOKEN_OBJECT_START))
		return fail_at(p, token_start(p), p->b.depth, "a value must be an object with a type code",
					   PLAIN_JSON_HINT);
	if (!next(p))
		return false;
	if (at_token(p, JSON_TOKEN_OBJECT_END))
		return fail(p, "a value must have a type code");
	if (!at_token(p, JSON_TOKEN_STRING))
		return fail_syntax(p, JSON_EXPECTED_STRING);
	if (!parse_type_code(p, &type) || !parse_payload(p, type) || !next(p))
		return false;
	if (at_token(p, JSON_TOKEN_OBJECT_END))
		return true;
	if (at_token(p, JSON_TOKEN_COMMA))
		return fail(p, "a value must have one type code only");
	return fail_syntax(p, JSON_EXPECTED_OBJECT_NEXT);
}

/*
 * Plain JSON
 */

static bool
parse_plain(ItemParser *p)
{
	JsonLexContext *lex = p->lex;

	switch (lex->token_type)
	{
		case JSON_TOKEN_STRING:
			return build_scalar(p, ITEM_S);
		case JSON_TOKEN_NUMBER:
			return build_number(p, (ItemSpan){lex->token_start,
											  (uint32) (lex->token_terminator - lex->token_start)});
		case JSON_TOKEN_TRUE:
		case JSON_TOKEN_FALSE:
			item_build_bool(&p->b, at_token(p, JSON_TOKEN_TRUE));
			return true;
		case JSON_TOKEN_NULL:
			item_build_null(&p->b);
			return true;
		case JSON_TOKEN_OBJECT_START:
			return parse_attributes(p);
		case JSON_TOKEN_ARRAY_START:
			return parse_elements(p, ITEM_L);
		default:
			return fail_syntax(p, JSON_EXPECTED_JSON);
	}
}

/*
 * The whole input
 */

/* DynamoDB has UTF-8 strings ordered by their bytes, and so have key columns. */
static void
require_utf8(void)
{
	if (GetDatabaseEncoding() != PG_UTF8)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("dynamo_table needs a database with encoding UTF8"),
						errdetail("This database has encoding %s.", GetDatabaseEncodingName())));
}

/* At the first token of what the syntax says. */
static bool
parse_root(ItemParser *p)
{
	if (p->syntax == ITEM_SYNTAX_VALUE)
		return parse_typed(p);
	if (at_token(p, JSON_TOKEN_END))
		return fail_syntax(p, JSON_EXPECTED_JSON);
	if (!at_token(p, JSON_TOKEN_OBJECT_START))
		return fail(p, "an item must be a JSON object");
	return parse_attributes(p);
}

static void
init_parser(ItemParser *p, JsonLexContext *lex, ItemSyntax syntax, Size hint,
			struct Node *escontext)
{
	require_utf8();
	p->lex = lex;
	p->syntax = syntax;
	p->escontext = escontext;
	initStringInfo(&p->scratch);
	item_build_init(&p->b, Min(hint, ITEM_MAX_ENCODED));
}

static DynItem *
finish_item(ItemParser *p)
{
	DynItem *item = item_build_finish(&p->b);
	Size size = item_size(item_root(item));

	if (size <= ITEM_MAX_SIZE || p->syntax == ITEM_SYNTAX_VALUES)
		return item;
	fail_size(p, size);
	return NULL;
}

/* Read an item or a value; NULL if there was an error and escontext has noted it. */
DynItem *
item_parse(const char *json, int len, ItemSyntax syntax, struct Node *escontext)
{
	ItemParser p;

	init_parser(&p, make_json_lexer(json, len), syntax, len, escontext);
	if (!next(&p) || !parse_root(&p) || !expect(&p, JSON_TOKEN_END, JSON_EXPECTED_END))
		return NULL;
	return finish_item(&p);
}

/*
 * Read an item or a value inside other JSON.  The lexer must be at its first token, and is left at
 * its last one.
 */
DynItem *
item_parse_here(struct JsonLexContext *lex, ItemSyntax syntax)
{
	ItemParser p;
	DynItem *item;

	init_parser(&p, lex, syntax, 512, NULL);
	(void) parse_root(&p);
	item = finish_item(&p);
	pfree(p.scratch.data);
	return item;
}

/* The text of the lexer's current token, a string, palloc'd. */
ItemSpan
item_parse_string(struct JsonLexContext *lex)
{
	ItemParser p;
	ItemSpan string;
	char *copy;

	p.lex = lex;
	p.escontext = NULL;
	/* errors look where in an item they are */
	p.b.depth = 0;
	initStringInfo(&p.scratch);
	(void) token_string(&p, &string);
	copy = palloc(string.len + 1);
	memcpy(copy, string.data, string.len);
	copy[string.len] = '\0';
	pfree(p.scratch.data);
	return (ItemSpan){copy, string.len};
}
