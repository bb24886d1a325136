/*
 * parse.c
 *	  From JSON text to the binary form, in one pass.
 *
 * Postgres' lexer finds the tokens; strings are decoded here, because the lexer's own
 * decoding stops at U+0000.  The recursion is at most ITEM_MAX_NESTING deep: deeper
 * input is refused before it is entered.
 *
 * What a call brings has narrower limits than what may be stored: earlier versions have taken more,
 * and their dumps have it (docs/semantics.md, T14, T24, T05).
 *
 * DynamoDB tells what is wrong with a request's JSON before what is wrong with the values in it.  So
 * the first problem with a value of a request is only noted: nothing is built any more, but the JSON
 * is checked up to its end.
 */
#include "postgres.h"

#include "common/base64.h"
#include "common/jsonapi.h"
#include "mb/pg_wchar.h"

#include "item/build.h"
#include "item/skip.h"
#include "item/token.h"
#include "server/errors.h"

#define TYPED_HINT "Write values like {\"S\": \"text\"} or {\"N\": \"1\"}"

typedef struct ItemParser
{
	JsonLexContext *lex;
	ItemBuilder b;
	ItemSyntax syntax;
	StringInfoData scratch; /* a string with its escapes decoded */
	struct Node *escontext;
	bool of_call; /* with the limits of what a call brings, and not only those of what is stored */
	ItemDepth *late; /* of values whose depth is judged later, or NULL */
	ItemComplaint *complaint; /* of the request that the item is in; NULL: it is in none */
	bool castable; /* as jsonb, the text would be plain JSON */
	bool broken; /* nothing is built any more */
	int depth; /* of maps, lists and sets that are open, which the builder knows if it builds */
} ItemParser;

static bool parse_typed(ItemParser *p);
static bool parse_plain(ItemParser *p);

/* Requests and files take no plain JSON, whatever type they have.  No cast makes one value of it. */
static const char *
typed_hint(const ItemParser *p)
{
	if (!p->castable)
		return TYPED_HINT ".";
	return p->syntax == ITEM_SYNTAX_VALUE ? TYPED_HINT ", or compare the text that ->> returns."
										  : TYPED_HINT "; cast plain JSON to jsonb first.";
}

/* Returns whether one value is read. */
static bool
is_value(const ItemParser *p)
{
	return p->syntax == ITEM_SYNTAX_VALUE || p->syntax == ITEM_SYNTAX_PARAMETER ||
		   p->syntax == ITEM_SYNTAX_PLAIN_VALUE;
}

/* Returns whether the values of an expression are read. */
static bool
is_values(const ItemParser *p)
{
	return p->syntax == ITEM_SYNTAX_VALUES || p->syntax == ITEM_SYNTAX_LATE_VALUES;
}

static bool
is_plain(const ItemParser *p)
{
	return p->syntax == ITEM_SYNTAX_PLAIN_ITEM || p->syntax == ITEM_SYNTAX_PLAIN_VALUE;
}

/*
 * Reporting.  All of these return whether to go on, so that callers end with "return fail(…)": under
 * a soft error context the error has only been noted, and they return false.  They return true of a
 * value of a request, whose complaint has been noted.
 */

/* Trouble says what an error is about. */
typedef enum Trouble
{
	TROUBLE_JSON, /* the JSON, or its types */
	TROUBLE_VALUE
} Trouble;

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

/* Returns whether something is wrong with a value already: no more than that is told. */
static bool
has_complaint(const ItemParser *p)
{
	return p->complaint != NULL && p->complaint->message != NULL;
}

/* Returns the layer whose words are told: those of no request are looked at by nobody. */
static ItemLayer
layer_of(const ItemParser *p)
{
	return p->complaint == NULL ? ITEM_LAYER_OLDER : p->complaint->layer;
}

/* Adds the value's name to what is said of a value that an expression has. */
static const char *
value_words(ItemParser *p, const char *words)
{
	StringInfoData name;

	if (words == NULL || !is_values(p))
		return words;
	initStringInfo(&name);
	item_build_path(&p->b, 1, &name);
	return psprintf("ExpressionAttributeValues contains invalid value: %s for key %s", words,
					name.data);
}

/* Does the same where the current layer does not name the value. */
static const char *
unnamed_words(ItemParser *p, const char *words)
{
	return layer_of(p) == ITEM_LAYER_CURRENT ? words : value_words(p, words);
}

/* The words are those of DynamoDB, or NULL. */
static bool
parse_report(ItemParser *p, Trouble trouble, const ItemComplaint *c)
{
	bool json = trouble == TROUBLE_JSON && p->complaint != NULL;
	ItemLayer layer;

	if (trouble != TROUBLE_VALUE || p->complaint == NULL)
	{
		errsave(p->escontext,
				(errcode(json ? ERRCODE_DYN_SERIALIZATION : ERRCODE_DYN_VALIDATION),
				 errmsg("%s", c->message), errdetail("%s", c->detail),
				 c->hint != NULL ? errhint("%s", c->hint) : 0, errwords_if(c->words)));
		return false;
	}
	layer = p->complaint->layer;
	*p->complaint = *c;
	p->complaint->layer = layer;
	p->broken = true;
	return true;
}

static bool
fail_at(ItemParser *p, Trouble trouble, const char *at, int depth, const char *message,
		const char *hint, const char *words)
{
	ItemComplaint c = {.hint = hint, .words = words};
	StringInfoData path;

	if (trouble == TROUBLE_VALUE && has_complaint(p))
		return true;
	initStringInfo(&path);
	item_build_path(&p->b, depth, &path);
	c.message = psprintf("invalid %s: %s", is_value(p) ? "value" : "item", message);
	c.detail = path.len > 0 ? psprintf("At character %d, in attribute \"%s\".", character_at(p, at),
									   path.data)
							: psprintf("At character %d.", character_at(p, at));
	return parse_report(p, trouble, &c);
}

/* Tells what an argument of SQL is that does not even begin as JSON. */
static const char *
begin_hint(const ItemParser *p)
{
	return is_value(p) ? typed_hint(p) : "Write an item like {\"pk\": {\"S\": \"text\"}}.";
}

/* Fails since the text is no JSON; the lexer has the message. */
static bool
fail_syntax(ItemParser *p, JsonParseErrorType error)
{
	char *detail;
	const char *at = token_start(p);

	/* These speak of a token, which the end of the input is not. */
	if (p->lex->token_type == JSON_TOKEN_END && error != JSON_INVALID_TOKEN)
		error = JSON_EXPECTED_MORE;
	detail = json_errdetail(error, p->lex);
	return parse_report(
		p, TROUBLE_JSON,
		&(ItemComplaint){is_value(p) ? "invalid value: malformed JSON"
									 : "invalid item: malformed JSON",
						 psprintf("At character %d: %s", character_at(p, at), detail),
						 at == p->lex->input && p->castable ? begin_hint(p) : NULL});
}

/* Fails since the value at the current token is wrong, unless the input just ends here. */
static bool
parse_fail(ItemParser *p, Trouble trouble, const char *message, const char *words)
{
	if (p->lex->token_type == JSON_TOKEN_END)
		return fail_syntax(p, JSON_EXPECTED_MORE);
	return fail_at(p, trouble, token_start(p), p->b.depth, message, NULL, words);
}

static bool
fail_value(ItemParser *p, const char *message, const char *words)
{
	return parse_fail(p, TROUBLE_VALUE, message, unnamed_words(p, words));
}

/* Fails since JSON of another type is at the current token. */
static bool
fail_type(ItemParser *p, TokenExpected expected, const char *message)
{
	return parse_fail(p, TROUBLE_JSON, message, token_words(p->lex, expected));
}

static bool
fail_build(ItemParser *p, ItemBuildError error)
{
	StringInfoData message;
	const char *at = token_start(p);
	const char *words = item_build_words(&p->b, error, layer_of(p));

	initStringInfo(&message);
	item_build_describe(&p->b, error, &message);
	if (error != ITEM_BUILD_EMPTY_SET)
		at = p->lex->input + p->b.duplicate.source;
	return fail_at(p, TROUBLE_VALUE, at, p->b.depth - 1, message.data, NULL,
				   unnamed_words(p, words));
}

static bool
fail_size(ItemParser *p, Size size)
{
	ItemComplaint c = {psprintf("item size exceeds %d bytes", ITEM_MAX_SIZE), .of_size = true};

	if (has_complaint(p))
		return true;
	c.detail = size > 0 ? psprintf("The item has %zu bytes, names and values together.", size)
						: psprintf("The limit was passed at character %d.",
								   character_at(p, token_start(p)));
	c.words = is_values(p) ? NULL : ITEM_SIZE_WORDS;
	return parse_report(p, TROUBLE_VALUE, &c);
}

/*
 * Tokens
 */

static bool
parse_next(ItemParser *p)
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
parse_expect(ItemParser *p, JsonTokenType type, JsonParseErrorType error)
{
	if (!parse_next(p))
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
		return parse_fail(p, TROUBLE_VALUE, "string contains a lone surrogate", NULL);
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

/* Decodes a string token, which the lexer has checked but for surrogates. */
static bool
token_string(ItemParser *p, ItemSpan *out)
{
	const char *s = p->lex->token_start + 1;
	const char *end = p->lex->token_terminator - 1;
	const char *escape = memchr(s, '\\', end - s);

	*out = (ItemSpan){"", 0};
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

/* Returns where to put a scalar of at most that many bytes, which fill_room() completes. */
static char *
scalar_room(ItemParser *p, ItemType type, int size)
{
	return p->broken ? palloc(size) : item_build_reserve(&p->b, type, (uint32) size);
}

static bool
fill_room(ItemParser *p, char *room, int len)
{
	if (p->broken)
		pfree(room);
	else
		item_build_reserved(&p->b, (uint32) len);
	return true;
}

/* The current layer has a colon also where nothing stands behind it. */
static const char *
number_words(const ItemParser *p, ItemNumberError error, ItemSpan text)
{
	if (text.len == 0 && layer_of(p) == ITEM_LAYER_CURRENT)
		return "The parameter cannot be converted to a numeric value: ";
	return p->syntax == ITEM_SYNTAX_PARAMETER ? item_number_words_parameter(error, text)
											  : item_number_words(error, text);
}

static bool
build_number(ItemParser *p, ItemSpan text)
{
	char *to;
	int len;

	if (has_complaint(p))
		return true;
	to = scalar_room(p, ITEM_N, ITEM_NUMBER_SIZE);
	len = p->of_call ? item_number_parse_call(text.data, text.len, to)
					 : item_number_parse(text.data, text.len, to);
	if (len >= 0)
		return fill_room(p, to, len);
	return fail_value(p, psprintf("\"%s\" %s", item_quoted(text), item_number_error(len)),
					  number_words(p, len, text));
}

/* Returns what DynamoDB says of text that is no base64; NULL: nothing that is known. */
static const char *
base64_words(ItemSpan text, bool padded)
{
	if (text.len % 4 != 0)
		return psprintf("Base64 encoded length is expected a multiple of 4 bytes but found: %u",
						text.len);
	return padded ? NULL : "Invalid last non-pad Base64 character dectected";
}

/* Takes padding only at the end, and whole groups of four: pg_b64_decode() lets more pass. */
static bool
build_base64(ItemParser *p, ItemSpan text)
{
	int size = pg_b64_dec_len(text.len);
	char *to = scalar_room(p, ITEM_B, size);
	const char *padding = memchr(text.data, '=', text.len);
	const char *end = text.data + text.len;
	bool padded = padding == NULL || padding == end - 1 || (padding == end - 2 && end[-1] == '=');
	int len = -1;

	if (text.len % 4 == 0 && padded)
		len = pg_b64_decode(text.data, text.len, (void *) to, size);
	if (len < 0)
		return parse_fail(p, TROUBLE_JSON, "invalid base64", base64_words(text, padded));
	return fill_room(p, to, len);
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
	if (!p->broken)
		item_build_scalar(&p->b, ITEM_S, text);
	return true;
}

static bool
build_bool(ItemParser *p, bool value)
{
	if (!p->broken)
		item_build_bool(&p->b, value);
	return true;
}

static bool
build_null(ItemParser *p)
{
	if (!p->broken)
		item_build_null(&p->b);
	return true;
}

/*
 * Maps, lists and sets, shared by both syntaxes
 */

/* Pass over a value, and leave the lexer at its last token. */
static bool
parse_skip(ItemParser *p)
{
	switch (json_skip_value(p->lex, JSON_MAX_DEPTH))
	{
		case JSON_SKIPPED_TOO_DEEP:
			return parse_fail(p, TROUBLE_JSON,
							  psprintf("more than %d levels of nested JSON", JSON_MAX_DEPTH), NULL);
		case JSON_SKIPPED_MALFORMED:
			return fail_syntax(p, at_token(p, JSON_TOKEN_END) ? JSON_EXPECTED_MORE
															  : JSON_INVALID_TOKEN);
		case JSON_SKIPPED:
			break;
	}
	return true;
}

/* Returns the levels of nesting that may be in an attribute. */
static int
max_nesting(const ItemParser *p)
{
	return p->of_call ? ITEM_CALL_NESTING : ITEM_MAX_NESTING;
}

/*
 * The depth of such values is not judged here: it is noted.  What is deeper than any value can be is
 * left out.  Returns whether the value was passed over.
 */
static bool
note_depth(ItemParser *p, bool *ok)
{
	bool beyond = p->depth > ITEM_MAX_NESTING;

	if (p->late->complaint.message == NULL)
		p->late->complaint = (ItemComplaint){
			psprintf("invalid item: more than %d levels of nesting", max_nesting(p)),
			psprintf("At character %d.", character_at(p, token_start(p))), NULL,
			ITEM_NESTING_WORDS_LONG};
	p->late->beyond |= beyond;
	if (beyond)
		*ok = build_null(p) && parse_skip(p);
	return beyond;
}

/*
 * Returns whether a map or list stands too deep.  Then it was passed over, and *ok says whether to
 * go on.
 */
static bool
too_deep(ItemParser *p, ItemType type, bool *ok)
{
	if (p->depth <= max_nesting(p) || item_type_is_set(type))
		return false;
	if (p->late != NULL)
		return note_depth(p, ok);
	*ok = parse_fail(p, TROUBLE_VALUE, psprintf("more than %d levels of nesting", max_nesting(p)),
					 is_values(p) ? ITEM_NESTING_WORDS : ITEM_NESTING_WORDS_LONG) &&
		  parse_skip(p);
	return true;
}

static void
parse_begin(ItemParser *p, ItemType type)
{
	if (!p->broken)
		item_build_begin(&p->b, type);
	p->depth++;
}

/* Checks the size of what is built, which may become larger than any item, but not any larger. */
static bool
check_encoded(ItemParser *p)
{
	return p->broken || p->b.len <= ITEM_MAX_ENCODED || fail_size(p, 0);
}

static bool
parse_end(ItemParser *p)
{
	ItemBuildError error;

	p->depth--;
	if (p->broken)
		return true;
	error = item_build_end(&p->b);
	return error == ITEM_BUILD_OK ? check_encoded(p) : fail_build(p, error);
}

static bool
fail_name(ItemParser *p, const char *message, const char *words)
{
	return fail_at(p, TROUBLE_VALUE, token_start(p), p->b.depth - 1, message, NULL, words);
}

/* DynamoDB's words for long names are known of transactions only. */
static bool
check_name(ItemParser *p, ItemSpan name)
{
	if (name.len == 0)
		return fail_name(p, "empty attribute name", "Empty attribute name");
	if (name.len > ITEM_MAX_NAME)
		return fail_name(p, psprintf("attribute name is longer than %d bytes", ITEM_MAX_NAME),
						 layer_of(p) == ITEM_LAYER_TRANSACTION ? ITEM_LONG_NAME_WORDS : NULL);
	return true;
}

/* Parses a value in the way in which all values of the text are written. */
static bool
parse_value(ItemParser *p)
{
	return is_plain(p) ? parse_plain(p) : parse_typed(p);
}

static bool
parse_name(ItemParser *p)
{
	ItemSpan name;

	if (!token_string(p, &name))
		return false;
	if (!p->broken && !check_name(p, name))
		return false;
	p->b.source = (int) (p->lex->token_start - p->lex->input);
	if (!p->broken)
		item_build_name(&p->b, name);
	return parse_expect(p, JSON_TOKEN_COLON, JSON_EXPECTED_COLON) && parse_next(p);
}

/* Parses names with values, from the opening brace up to the closing one. */
static bool
parse_attributes(ItemParser *p)
{
	bool ok;

	if (too_deep(p, ITEM_M, &ok))
		return ok;
	parse_begin(p, ITEM_M);
	if (!parse_next(p))
		return false;
	if (at_token(p, JSON_TOKEN_OBJECT_END))
		return parse_end(p);
	for (;;)
	{
		if (!at_token(p, JSON_TOKEN_STRING))
			return fail_syntax(p, JSON_EXPECTED_STRING);
		if (!parse_name(p))
			return false;
		if (!parse_value(p) || !parse_next(p))
			return false;
		if (at_token(p, JSON_TOKEN_OBJECT_END))
			return parse_end(p);
		if (!at_token(p, JSON_TOKEN_COMMA))
			return fail_syntax(p, JSON_EXPECTED_OBJECT_NEXT);
		if (!parse_next(p))
			return false;
		if (!check_encoded(p))
			return false;
	}
}

static bool
parse_set_element(ItemParser *p, ItemType type)
{
	if (!at_token(p, JSON_TOKEN_STRING))
		return fail_type(p, type == ITEM_BS ? TOKEN_BLOB : TOKEN_STRING,
						 psprintf("each element of %s must be a string", item_type_code(type)));
	return build_scalar(p, item_element_type(type));
}

/* Parses values or set elements, from the opening bracket up to the closing one. */
static bool
parse_elements(ItemParser *p, ItemType type)
{
	bool ok;

	if (too_deep(p, type, &ok))
		return ok;
	parse_begin(p, type);
	if (!parse_next(p))
		return false;
	if (at_token(p, JSON_TOKEN_ARRAY_END))
		return parse_end(p);
	for (;;)
	{
		p->b.source = (int) (token_start(p) - p->lex->input);
		if (!p->broken)
			item_build_element(&p->b);
		if (type != ITEM_L)
			ok = parse_set_element(p, type);
		else
			ok = parse_value(p);
		if (!ok || !parse_next(p))
			return false;
		if (at_token(p, JSON_TOKEN_ARRAY_END))
			return parse_end(p);
		if (!at_token(p, JSON_TOKEN_COMMA))
			return fail_syntax(p, JSON_EXPECTED_ARRAY_NEXT);
		if (!parse_next(p))
			return false;
		if (!check_encoded(p))
			return false;
	}
}

/*
 * DynamoDB JSON
 */

/* Parses what stands behind a type code. */
static bool
parse_payload(ItemParser *p, ItemType type)
{
	switch (type)
	{
		case ITEM_S:
		case ITEM_N:
		case ITEM_B:
			if (type == ITEM_N && at_token(p, JSON_TOKEN_NUMBER))
				return fail_at(p, TROUBLE_JSON, token_start(p), p->b.depth,
							   "the value of N must be a JSON string",
							   "Write numbers as strings, like {\"N\": \"1\"}.",
							   token_words(p->lex, TOKEN_STRING));
			if (!at_token(p, JSON_TOKEN_STRING))
				return fail_type(
					p, type == ITEM_B ? TOKEN_BLOB : TOKEN_STRING,
					psprintf("the value of %s must be a JSON string", item_type_code(type)));
			return build_scalar(p, type);
		case ITEM_BOOL:
			if (!at_token(p, JSON_TOKEN_TRUE) && !at_token(p, JSON_TOKEN_FALSE))
				return fail_type(p, TOKEN_BOOLEAN, "the value of BOOL must be true or false");
			return build_bool(p, at_token(p, JSON_TOKEN_TRUE));
		case ITEM_NULL:
			if (at_token(p, JSON_TOKEN_FALSE))
				return fail_value(p, "the value of NULL must be true",
								  DYN_INVALID_WORDS
								  "Null attribute value types must have the value of true");
			if (!at_token(p, JSON_TOKEN_TRUE))
				return fail_type(p, TOKEN_BOOLEAN, "the value of NULL must be true");
			return build_null(p);
		case ITEM_M:
			if (!at_token(p, JSON_TOKEN_OBJECT_START))
				return fail_type(p, TOKEN_MAP, "the value of M must be a JSON object");
			return parse_attributes(p);
		case ITEM_L:
		case ITEM_SS:
		case ITEM_NS:
		case ITEM_BS:
			break;
	}
	if (!at_token(p, JSON_TOKEN_ARRAY_START))
		return fail_type(p, TOKEN_LIST,
						 psprintf("the value of %s must be a JSON array", item_type_code(type)));
	return parse_elements(p, type);
}

/* TypeCodes counts how many types a value has, as it is being read. */
typedef struct TypeCodes
{
	int known;
	const char *unknown_at; /* the first one that is none; NULL: there is none such */
	const char *unknown; /* what is to be said of it */
} TypeCodes;

/* Complains of a value that was read without a type, or with more than one. */
static bool
check_types(ItemParser *p, const TypeCodes *codes)
{
	if (has_complaint(p))
		return true;
	if (codes->known > 1)
		return parse_fail(
			p, TROUBLE_VALUE, "a value must have one type code only",
			value_words(p, "Supplied AttributeValue has more than one datatypes set, must "
						   "contain exactly one of the supported datatypes"));
	if (codes->known == 1)
		return true;
	return fail_at(p, TROUBLE_VALUE, codes->unknown != NULL ? codes->unknown_at : token_start(p),
				   p->b.depth,
				   codes->unknown != NULL ? codes->unknown : "a value must have a type code",
				   codes->unknown != NULL ? typed_hint(p) : NULL,
				   value_words(p, "Supplied AttributeValue is empty, must contain exactly one of "
								  "the supported datatypes"));
}

/*
 * Parses a type code and what stands behind it.  Requests ignore members that the API does not
 * have, and null.
 */
static bool
parse_type(ItemParser *p, TypeCodes *codes)
{
	const char *at = p->lex->token_start;
	ItemSpan code;
	ItemType type;

	if (!token_string(p, &code))
		return false;
	type = item_type_from_code(code);
	if (type == 0 && codes->unknown == NULL && !has_complaint(p))
	{
		codes->unknown = psprintf("unknown type code \"%s\"", item_quoted(code));
		codes->unknown_at = at;
		if (p->complaint == NULL)
			return check_types(p, codes);
	}
	if (!parse_expect(p, JSON_TOKEN_COLON, JSON_EXPECTED_COLON) || !parse_next(p))
		return false;
	if (p->complaint != NULL && (type == 0 || at_token(p, JSON_TOKEN_NULL)))
		return parse_skip(p);
	/* of a second value only what is wrong with it counts */
	if (codes->known++ > 0)
		p->broken = true;
	return parse_payload(p, type);
}

/* Parses a value from its first token on, {"S":"a"}. */
static bool
parse_typed(ItemParser *p)
{
	TypeCodes codes = {0};

	if (at_token(p, JSON_TOKEN_END))
		return fail_syntax(p, JSON_EXPECTED_JSON);
	if (p->complaint != NULL && at_token(p, JSON_TOKEN_NULL))
		return check_types(p, &codes);
	if (!at_token(p, JSON_TOKEN_OBJECT_START))
		return fail_at(p, TROUBLE_JSON, token_start(p), p->b.depth,
					   "a value must be an object with a type code", typed_hint(p),
					   token_words(p->lex, TOKEN_VALUE));
	if (!parse_next(p))
		return false;
	if (at_token(p, JSON_TOKEN_OBJECT_END))
		return check_types(p, &codes);
	for (;;)
	{
		if (!at_token(p, JSON_TOKEN_STRING))
			return fail_syntax(p, JSON_EXPECTED_STRING);
		if (!parse_type(p, &codes) || !parse_next(p))
			return false;
		if (at_token(p, JSON_TOKEN_OBJECT_END))
			return check_types(p, &codes);
		if (!at_token(p, JSON_TOKEN_COMMA))
			return fail_syntax(p, JSON_EXPECTED_OBJECT_NEXT);
		if (p->complaint == NULL)
			return check_types(p, &(TypeCodes){.known = 2});
		if (!parse_next(p))
			return false;
	}
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
			return build_bool(p, at_token(p, JSON_TOKEN_TRUE));
		case JSON_TOKEN_NULL:
			return build_null(p);
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

/* Parses what the syntax says, from its first token on. */
static bool
parse_root(ItemParser *p)
{
	if (is_value(p))
		return parse_value(p);
	if (at_token(p, JSON_TOKEN_END))
		return fail_syntax(p, JSON_EXPECTED_JSON);
	if (!at_token(p, JSON_TOKEN_OBJECT_START))
		return fail_type(p, TOKEN_MAP, "an item must be a JSON object");
	return parse_attributes(p);
}

static void
init_parser(ItemParser *p, JsonLexContext *lex, ItemSyntax syntax, Size hint, bool of_call,
			struct Node *escontext)
{
	require_utf8();
	p->lex = lex;
	p->syntax = syntax;
	p->escontext = escontext;
	p->of_call = of_call;
	p->late = NULL;
	p->complaint = NULL;
	p->castable = false;
	p->broken = false;
	p->depth = 0;
	initStringInfo(&p->scratch);
	item_build_init(&p->b, Min(hint, ITEM_MAX_ENCODED));
}

/* Returns what stands for an item of a request that something is wrong with. */
static DynItem *
blank_item(ItemParser *p)
{
	ItemSyntax syntax = p->syntax;
	ItemBuilder *b = &p->b;

	item_build_free(b);
	item_build_init(b, 0);
	if (syntax == ITEM_SYNTAX_VALUE || syntax == ITEM_SYNTAX_PARAMETER)
		item_build_null(b);
	else
	{
		item_build_begin(b, ITEM_M);
		/* values that were given are not none */
		if (syntax == ITEM_SYNTAX_VALUES || syntax == ITEM_SYNTAX_LATE_VALUES)
		{
			item_build_name(b, (ItemSpan){":", 1});
			item_build_null(b);
		}
		(void) item_build_end(b);
	}
	return item_build_finish(b);
}

static DynItem *
finish_item(ItemParser *p)
{
	DynItem *item;
	Size size;

	if (p->broken)
		return blank_item(p);
	item = item_build_finish(&p->b);
	if (item_size_bound(item) <= ITEM_MAX_SIZE)
		return item;
	size = item_size_by(item_root(item), p->of_call ? ITEM_SIZE_NOW : ITEM_SIZE_STORED);
	if (size <= ITEM_MAX_SIZE || is_values(p) || fail_size(p, size))
		return item;
	return NULL;
}

static DynItem *
parse_text(const char *json, int len, ItemSyntax syntax, bool of_call, struct Node *escontext)
{
	ItemParser p;

	init_parser(&p, make_json_lexer(json, len), syntax, len, of_call, escontext);
	p.castable = true;
	if (!parse_next(&p) || !parse_root(&p) || !parse_expect(&p, JSON_TOKEN_END, JSON_EXPECTED_END))
		return NULL;
	return finish_item(&p);
}

/* Read an item or a value; NULL if there was an error and escontext has noted it. */
DynItem *
item_parse(const char *json, int len, ItemSyntax syntax, struct Node *escontext)
{
	return parse_text(json, len, syntax, false, escontext);
}

/* Read an item or a value that a call brings, whose limits are narrower. */
DynItem *
item_parse_call(const char *json, int len, ItemSyntax syntax)
{
	return parse_text(json, len, syntax, true, NULL);
}

/*
 * Read an item or a value inside other JSON, which is of a call or has what was stored.  The lexer
 * must be at its first token, and is left at its last one.  In a request, ERRCODE_DYN_SERIALIZATION
 * is raised for what is wrong with the JSON or its types.  What is wrong with the values is left in
 * *complaint, unless something is there already, to be raised by item_complain(); then the result
 * stands for no item.  If complaint is NULL, all errors are ERRCODE_DYN_VALIDATION.  How deep late
 * values are is left in *late.  castable: cast to jsonb, that JSON has values of plain JSON.
 */
DynItem *
item_parse_inside(struct JsonLexContext *lex, ItemSyntax syntax, bool of_call, bool castable,
				  ItemComplaint *complaint, ItemDepth *late)
{
	ItemParser p;
	DynItem *item;

	init_parser(&p, lex, syntax, 512, of_call, NULL);
	p.complaint = complaint;
	p.castable = castable;
	p.broken = has_complaint(&p);
	p.late = syntax == ITEM_SYNTAX_LATE_VALUES ? late : NULL;
	/* a value of a request is one of an attribute, and not a whole item */
	p.depth = syntax == ITEM_SYNTAX_VALUE || syntax == ITEM_SYNTAX_PARAMETER;
	(void) parse_root(&p);
	item = finish_item(&p);
	/* there may be a million values in a request: each keeps no more than it needs */
	item = memcpy(palloc(VARSIZE(item)), item, VARSIZE(item));
	item_build_free(&p.b);
	pfree(p.scratch.data);
	return item;
}

/* Raises ERRCODE_DYN_VALIDATION if there is something to complain of. */
void
item_complain(const ItemComplaint *c)
{
	if (c->message != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("%s", c->message),
				 errdetail("%s", c->detail), c->hint != NULL ? errhint("%s", c->hint) : 0,
				 errwords_if(c->words), errwords_kind(c->of_size ? WORDS_OTHER : WORDS_VALUE)));
}

/* Returns the text of the lexer's current token, a string, palloc'd. */
ItemSpan
item_parse_string(struct JsonLexContext *lex)
{
	ItemParser p;
	ItemSpan string;

	p.lex = lex;
	p.escontext = NULL;
	p.complaint = NULL;
	p.syntax = ITEM_SYNTAX_ITEM;
	/* errors look where in an item they are */
	p.b.depth = 0;
	initStringInfo(&p.scratch);
	(void) token_string(&p, &string);
	string = span_copy(string);
	pfree(p.scratch.data);
	return string;
}
