/*
 * reader.c
 *	  JSON around items.
 *
 * The lexer is always at the first token of the value that is read next: reading a value advances
 * it to the token behind the value.
 */
#include "postgres.h"

#include "common/jsonapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "item/reader.h"
#include "item/skip.h"
#include "item/token.h"
#include "server/compat.h"
#include "server/errors.h"

static int
character_at(const JsonReader *reader, const char *at)
{
	return pg_mbstrlen_with_len(reader->lex->input, (int) (at - reader->lex->input)) + 1;
}

/* Returns where the reader is, as "TransactItems[].Put.Key". */
char *
json_reader_path(const JsonReader *reader)
{
	StringInfoData path;

	initStringInfo(&path);
	for (int i = 0; i < reader->depth; i++)
	{
		const JsonLevel *level = &reader->levels[i];

		if (level->member.data == NULL)
			continue;
		if (level->kind == JSON_LIST)
		{
			appendStringInfoString(&path, "[]");
			continue;
		}
		if (path.len > 0)
			appendStringInfoChar(&path, '.');
		item_quote(&path, level->member);
	}
	return path.data;
}

/* Does the same as DynamoDB has it, as "transactItems.1.member.put.key". */
char *
json_reader_api_path(const JsonReader *reader)
{
	StringInfoData path;

	initStringInfo(&path);
	for (int i = 0; i < reader->depth; i++)
	{
		const JsonLevel *level = &reader->levels[i];
		int start;

		if (level->member.data == NULL)
			continue;
		if (level->kind == JSON_LIST)
		{
			appendStringInfo(&path, ".%d.member", level->count);
			continue;
		}
		if (path.len > 0)
			appendStringInfoChar(&path, '.');
		start = path.len;
		item_quote_words(&path, level->member);
		if (level->kind == JSON_STRUCTURE)
			path.data[start] = (char) pg_tolower((unsigned char) path.data[start]);
		else
			appendStringInfoString(&path, ".member");
	}
	return path.data;
}

/* The words are those of DynamoDB, or NULL. */
pg_noreturn static void
fail_in_words(const JsonReader *reader, const char *message, const char *words)
{
	const JsonLexContext *lex = reader->lex;
	const char *at = lex->token_start != NULL ? lex->token_start : lex->token_terminator;
	char *path = json_reader_path(reader);

	ereport(ERROR, (errcode(reader->sqlerrcode), errmsg("invalid %s: %s", reader->what, message),
					*path != '\0'
						? errdetail("At character %d, in \"%s\".", character_at(reader, at), path)
						: errdetail("At character %d.", character_at(reader, at)),
					errwords_if(words)));
}

pg_noreturn static void
reader_fail(const JsonReader *reader, const char *message)
{
	fail_in_words(reader, message, NULL);
}

static void
reader_advance(JsonReader *reader)
{
	if (json_lex(reader->lex) != JSON_SUCCESS)
		reader_fail(reader, "malformed JSON");
}

static bool
at(const JsonReader *reader, JsonTokenType type)
{
	return reader->lex->token_type == type;
}

/* Fails unless the current token has the type, since the text is no JSON then. */
static void
reader_expect(JsonReader *reader, JsonTokenType type)
{
	if (!at(reader, type))
		reader_fail(reader, "malformed JSON");
}

/* Fails unless the current token, the first of a value, has the type. */
static void
expect_value(JsonReader *reader, JsonTokenType type, TokenExpected expected, const char *problem)
{
	if (at(reader, JSON_TOKEN_END))
		reader_fail(reader, "malformed JSON");
	if (!at(reader, type))
		fail_in_words(reader, problem, token_words(reader->lex, expected));
}

/* A structure in a list or a map is told apart from one that is a member. */
static TokenExpected
expected_object(const JsonReader *reader)
{
	return reader->depth > 0 && reader->levels[reader->depth - 1].kind != JSON_STRUCTURE
			   ? TOKEN_VALUE
			   : TOKEN_MAP;
}

/*
 * Begins to read JSON of len bytes, in UTF-8.  The text is not copied.  Errors say what it is, and
 * have the SQLSTATE.
 */
void
json_reader_begin(JsonReader *reader, const char *json, int len, const char *what, int sqlerrcode)
{
	reader->lex = make_json_lexer(json, len);
	reader->what = what;
	reader->sqlerrcode = sqlerrcode;
	reader->depth = 0;
	reader->complaint = (ItemComplaint){NULL};
	reader->late = (ItemDepth){{NULL}};
	reader->stored = false;
	reader->problems = NULL;
	reader->strict = false;
	reader->denial = NULL;
	reader_advance(reader);
}

/*
 * Begins to read a request of len bytes, in UTF-8.  The text is not copied.  Raises
 * ERRCODE_DYN_SERIALIZATION if the first token is malformed.
 */
void
json_reader_init(JsonReader *reader, const char *json, int len)
{
	json_reader_begin(reader, json, len, "request", ERRCODE_DYN_SERIALIZATION);
}

/*
 * Begins to read JSON that is an argument of a function.  What is wrong with arguments is
 * ERRCODE_DYN_VALIDATION, be it only the JSON type of a member.  The text is not copied.
 */
void
json_reader_init_argument(JsonReader *reader, const text *json, const char *what)
{
	json_reader_begin(reader, VARDATA_ANY(json), (int) VARSIZE_ANY_EXHDR(json), what,
					  ERRCODE_DYN_VALIDATION);
}

static bool
is_request(const JsonReader *reader)
{
	return reader->sqlerrcode == ERRCODE_DYN_SERIALIZATION;
}

/* Nothing may come any more. */
void
json_reader_done(JsonReader *reader)
{
	reader_expect(reader, JSON_TOKEN_END);
}

/*
 * Objects and arrays
 */

static void
reader_enter(JsonReader *reader, JsonLevelKind kind)
{
	/* callers read known members only, which are never nested that deep */
	if (reader->depth == JSON_READER_DEPTH)
		elog(ERROR, "JSON is read too deep");
	reader->levels[reader->depth++] = (JsonLevel){kind};
	reader_advance(reader);
}

/* Returns whether another member or element comes; the object or array is left if not. */
static bool
more(JsonReader *reader, JsonTokenType end)
{
	JsonLevel *level = &reader->levels[reader->depth - 1];

	CHECK_FOR_INTERRUPTS();
	level->member = (ItemSpan){NULL, 0};
	if (at(reader, end))
	{
		reader->depth--;
		reader_advance(reader);
		return false;
	}
	if (level->count++ == 0)
		return true;
	reader_expect(reader, JSON_TOKEN_COMMA);
	reader_advance(reader);
	return true;
}

/*
 * Enters the object that comes next, whose members have fixed names.  Raises
 * ERRCODE_DYN_SERIALIZATION if another value comes.
 */
void
json_read_object(JsonReader *reader)
{
	expect_value(reader, JSON_TOKEN_OBJECT_START, expected_object(reader), "expected an object");
	reader_enter(reader, JSON_STRUCTURE);
}

/* Enters an object likewise whose members have any names. */
void
json_read_map(JsonReader *reader)
{
	expect_value(reader, JSON_TOKEN_OBJECT_START, TOKEN_MAP, "expected an object");
	reader_enter(reader, JSON_MAP);
}

/*
 * Goes to the next member of the object that was entered.  *name becomes its name, palloc'd, and
 * its value is to be read next.  Returns false, with the object left, if there are no more members.
 */
bool
json_read_member(JsonReader *reader, ItemSpan *name)
{
	if (!more(reader, JSON_TOKEN_OBJECT_END))
		return false;
	reader_expect(reader, JSON_TOKEN_STRING);
	*name = json_read_string(reader);
	reader->levels[reader->depth - 1].member = *name;
	reader_expect(reader, JSON_TOKEN_COLON);
	reader_advance(reader);
	return true;
}

/* Enters the array that comes next.  Raises ERRCODE_DYN_SERIALIZATION if another value comes. */
void
json_read_array(JsonReader *reader)
{
	expect_value(reader, JSON_TOKEN_ARRAY_START, TOKEN_LIST, "expected an array");
	reader_enter(reader, JSON_LIST);
}

/*
 * Goes to the next element of the array that was entered, which is to be read next.  Returns false,
 * with the array left, if there are no more elements.
 */
bool
json_read_element(JsonReader *reader)
{
	if (!more(reader, JSON_TOKEN_ARRAY_END))
		return false;
	reader->levels[reader->depth - 1].member = (ItemSpan){"", 0};
	return true;
}

/*
 * Values
 */

/* Reads a null.  Returns false, with nothing read, if another value comes. */
bool
json_read_null(JsonReader *reader)
{
	if (!at(reader, JSON_TOKEN_NULL))
		return false;
	reader_advance(reader);
	return true;
}

/* Reads a string into palloc'd text with a zero byte behind it. */
ItemSpan
json_read_string(JsonReader *reader)
{
	ItemSpan string;

	expect_value(reader, JSON_TOKEN_STRING, TOKEN_STRING, "expected a string");
	string = item_parse_string(reader->lex);
	reader_advance(reader);
	return string;
}

/* Reads a boolean.  Raises ERRCODE_DYN_SERIALIZATION if another value comes. */
bool
json_read_bool(JsonReader *reader)
{
	bool value = at(reader, JSON_TOKEN_TRUE);

	if (!value)
		expect_value(reader, JSON_TOKEN_FALSE, TOKEN_BOOLEAN, "expected true or false");
	reader_advance(reader);
	return value;
}

static int64
read_integer(JsonReader *reader, TokenExpected expected)
{
	char *token;
	char *end;
	int64 value;

	expect_value(reader, JSON_TOKEN_NUMBER, expected, "expected an integer");
	token = pnstrdup(reader->lex->token_start,
					 reader->lex->token_terminator - reader->lex->token_start);
	errno = 0;
	value = strtoi64(token, &end, 10);
	if (*end != '\0' || errno != 0)
		reader_fail(reader, "expected an integer");
	pfree(token);
	reader_advance(reader);
	return value;
}

/*
 * Reads an integer.  Raises ERRCODE_DYN_SERIALIZATION if another value comes, or a number that has
 * a fraction or exponent or is out of range for int64.
 */
int64
json_read_integer(JsonReader *reader)
{
	return read_integer(reader, TOKEN_INTEGER);
}

/* Reads an integer likewise; only DynamoDB's word for another value differs. */
int64
json_read_long(JsonReader *reader)
{
	return read_integer(reader, TOKEN_LONG);
}

/*
 * Errors in the item are those of dyn_item's input.  In a request the first one about a value is left
 * in the reader, and the result stands for no item then.
 */
DynItem *
json_read_item(JsonReader *reader, ItemSyntax syntax)
{
	DynItem *item;

	/* of what is no request, the parser of values says more */
	if (is_request(reader) || (syntax != ITEM_SYNTAX_VALUE && syntax != ITEM_SYNTAX_PARAMETER &&
							   syntax != ITEM_SYNTAX_PLAIN_VALUE))
		expect_value(reader, JSON_TOKEN_OBJECT_START, expected_object(reader),
					 "expected an object");
	item = item_parse_inside(reader->lex, syntax, !reader->stored,
							 !is_request(reader) && reader->depth <= 1,
							 is_request(reader) ? &reader->complaint : NULL, &reader->late);
	reader_advance(reader);
	return item;
}

/* Reads an object of strings: ExpressionAttributeNames. */
Jsonb *
json_read_names(JsonReader *reader)
{
	JsonbInState state = {0};
	Jsonb *names;
	JsonbValue v;
	ItemSpan name;
	uint32 n = 0;

	push_jsonb(&state, WJB_BEGIN_OBJECT, NULL);
	for (json_read_map(reader); json_read_member(reader, &name);)
	{
		ItemSpan value = json_read_string(reader);

		v.type = jbvString;
		v.val.string.val = (char *) name.data;
		v.val.string.len = (int) name.len;
		push_jsonb(&state, WJB_KEY, &v);
		v.val.string.val = (char *) value.data;
		v.val.string.len = (int) value.len;
		push_jsonb(&state, WJB_VALUE, &v);
		n++;
	}
	push_jsonb(&state, WJB_END_OBJECT, NULL);
	names = JsonbValueToJsonb(state.result);
	/* of equal names jsonb has kept one */
	if (JB_ROOT_COUNT(names) != n)
		reader_fail(reader, "a name is there twice");
	return names;
}

/* Skips any value, as deep as it is; in a request up to JSON_MAX_DEPTH levels. */
void
json_skip(JsonReader *reader)
{
	switch (json_skip_value(reader->lex, is_request(reader) ? JSON_MAX_DEPTH : 0))
	{
		case JSON_SKIPPED_TOO_DEEP:
			reader_fail(reader, psprintf("more than %d levels of nested JSON", JSON_MAX_DEPTH));
		case JSON_SKIPPED_MALFORMED:
			reader_fail(reader, "malformed JSON");
		case JSON_SKIPPED:
			break;
	}
	reader_advance(reader);
}

/* Returns the end of a string whose first character this is, or NULL if it has none. */
static const char *
end_of_string(const char *first, const char *end)
{
	const char *quote = memchr(first, '"', end - first);

	while (quote != NULL)
	{
		const char *p = quote;

		while (p > first && p[-1] == '\\')
			p--;
		if ((quote - p) % 2 == 0)
			return quote + 1;
		quote = memchr(quote + 1, '"', end - quote - 1);
	}
	return NULL;
}

/* Returns the end of the object or array that begins at a place of JSON, or NULL if it has none. */
static const char *
end_of_nested(const char *p, const char *end)
{
	int depth = 0;

	while (p != NULL && p < end)
	{
		switch (*p++)
		{
			case '{':
			case '[':
				depth++;
				break;
			case '}':
			case ']':
				if (--depth == 0)
					return p;
				break;
			case '"':
				p = end_of_string(p, end);
				break;
		}
	}
	return NULL;
}

/*
 * Reads any value as it is written, in the text that is read, which has been found to be JSON before:
 * what is in an object or array is not looked at.
 */
ItemSpan
json_read_raw(JsonReader *reader)
{
	JsonLexContext *lex = reader->lex;
	const char *start = lex->token_start;
	const char *end;

	if (!at(reader, JSON_TOKEN_OBJECT_START) && !at(reader, JSON_TOKEN_ARRAY_START))
		json_skip(reader);
	else
	{
		end = end_of_nested(start, lex->input + lex->input_length);
		if (end == NULL)
			reader_fail(reader, "malformed JSON");
		lex->token_terminator = unconstify(char *, end);
		reader_advance(reader);
	}
	return json_read_since(reader, start);
}

/* Returns the place of the text that the reader stands at. */
const char *
json_reader_at(const JsonReader *reader)
{
	return reader->lex->token_start;
}

/* Returns what was read since the reader stood at that place of the text, as it is written. */
ItemSpan
json_read_since(const JsonReader *reader, const char *start)
{
	return (ItemSpan){start, (uint32) (reader->lex->prev_token_terminator - start)};
}
