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

#include "ground/errors.h"
#include "item/reader.h"

static int
character_at(const JsonReader *reader, const char *at)
{
	return pg_mbstrlen_with_len(reader->lex->input, (int) (at - reader->lex->input)) + 1;
}

/* Where the reader is, as "TransactItems[].Put.Key". */
char *
json_reader_path(const JsonReader *reader)
{
	StringInfoData path;

	initStringInfo(&path);
	for (int i = 0; i < reader->depth; i++)
	{
		if (reader->members[i].data == NULL)
			continue;
		if (path.len > 0 && reader->members[i].data[0] != '[')
			appendStringInfoChar(&path, '.');
		item_quote(&path, reader->members[i]);
	}
	return path.data;
}

pg_noreturn static void
fail(const JsonReader *reader, const char *message)
{
	const JsonLexContext *lex = reader->lex;
	const char *at = lex->token_start != NULL ? lex->token_start : lex->token_terminator;
	char *path = json_reader_path(reader);

	if (*path != '\0')
		ereport(ERROR,
				(errcode(reader->sqlerrcode), errmsg("invalid %s: %s", reader->what, message),
				 errdetail("At character %d, in \"%s\".", character_at(reader, at), path)));
	ereport(ERROR, (errcode(reader->sqlerrcode), errmsg("invalid %s: %s", reader->what, message),
					errdetail("At character %d.", character_at(reader, at))));
}

static void
advance(JsonReader *reader)
{
	if (json_lex(reader->lex) != JSON_SUCCESS)
		fail(reader, "malformed JSON");
}

static bool
at(const JsonReader *reader, JsonTokenType type)
{
	return reader->lex->token_type == type;
}

static void
expect(JsonReader *reader, JsonTokenType type, const char *what)
{
	if (!at(reader, type))
		fail(reader, at(reader, JSON_TOKEN_END) ? "malformed JSON" : what);
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
	advance(reader);
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

/* Nothing may come any more. */
void
json_reader_done(JsonReader *reader)
{
	expect(reader, JSON_TOKEN_END, "malformed JSON");
}

/*
 * Objects and arrays
 */

static void
enter(JsonReader *reader)
{
	/* callers read known members only, which are never nested that deep */
	if (reader->depth == JSON_READER_DEPTH)
		elog(ERROR, "JSON is read too deep");
	reader->first[reader->depth] = true;
	reader->members[reader->depth++] = (ItemSpan){NULL, 0};
	advance(reader);
}

/* Whether another member or element comes; the object or array is left if not. */
static bool
more(JsonReader *reader, JsonTokenType end)
{
	bool first = reader->first[reader->depth - 1];

	reader->members[reader->depth - 1] = (ItemSpan){NULL, 0};
	reader->first[reader->depth - 1] = false;
	if (at(reader, end))
	{
		reader->depth--;
		advance(reader);
		return false;
	}
	if (first)
		return true;
	expect(reader, JSON_TOKEN_COMMA, "malformed JSON");
	advance(reader);
	return true;
}

/* Enters the object that comes next.  Raises ERRCODE_DYN_SERIALIZATION if another value comes. */
void
json_read_object(JsonReader *reader)
{
	expect(reader, JSON_TOKEN_OBJECT_START, "expected an object");
	enter(reader);
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
	*name = json_read_string(reader);
	reader->members[reader->depth - 1] = *name;
	expect(reader, JSON_TOKEN_COLON, "malformed JSON");
	advance(reader);
	return true;
}

/* Enters the array that comes next.  Raises ERRCODE_DYN_SERIALIZATION if another value comes. */
void
json_read_array(JsonReader *reader)
{
	expect(reader, JSON_TOKEN_ARRAY_START, "expected an array");
	enter(reader);
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
	reader->members[reader->depth - 1] = (ItemSpan){"[]", 2};
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
	advance(reader);
	return true;
}

/* The text, palloc'd, with a zero byte behind it. */
ItemSpan
json_read_string(JsonReader *reader)
{
	ItemSpan string;

	expect(reader, JSON_TOKEN_STRING, "expected a string");
	string = item_parse_string(reader->lex);
	advance(reader);
	return string;
}

/* Reads a boolean.  Raises ERRCODE_DYN_SERIALIZATION if another value comes. */
bool
json_read_bool(JsonReader *reader)
{
	bool value = at(reader, JSON_TOKEN_TRUE);

	if (!value)
		expect(reader, JSON_TOKEN_FALSE, "expected true or false");
	advance(reader);
	return value;
}

/*
 * Reads an integer.  Raises ERRCODE_DYN_SERIALIZATION if another value comes, or a number that has
 * a fraction or exponent or is out of range for int64.
 */
int64
json_read_integer(JsonReader *reader)
{
	char *token;
	char *end;
	int64 value;

	expect(reader, JSON_TOKEN_NUMBER, "expected an integer");
	token = pnstrdup(reader->lex->token_start,
					 reader->lex->token_terminator - reader->lex->token_start);
	errno = 0;
	value = strtoi64(token, &end, 10);
	if (*end != '\0' || errno != 0)
		fail(reader, "expected an integer");
	pfree(token);
	advance(reader);
	return value;
}

/* Errors in the item are those of dyn_item's input. */
DynItem *
json_read_item(JsonReader *reader, ItemSyntax syntax)
{
	DynItem *item;

	expect(reader, JSON_TOKEN_OBJECT_START, "expected an object");
	item = item_parse_here(reader->lex, syntax);
	advance(reader);
	return item;
}

/* An object of strings: ExpressionAttributeNames. */
Jsonb *
json_read_names(JsonReader *reader)
{
	JsonbParseState *state = NULL;
	Jsonb *names;
	JsonbValue v;
	ItemSpan name;
	uint32 n = 0;

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		ItemSpan value = json_read_string(reader);

		v.type = jbvString;
		v.val.string.val = (char *) name.data;
		v.val.string.len = (int) name.len;
		pushJsonbValue(&state, WJB_KEY, &v);
		v.val.string.val = (char *) value.data;
		v.val.string.len = (int) value.len;
		pushJsonbValue(&state, WJB_VALUE, &v);
		n++;
	}
	names = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
	/* of equal names jsonb has kept one */
	if (JB_ROOT_COUNT(names) != n)
		fail(reader, "a name is there twice");
	return names;
}

/* Any value, as deep as it is. */
void
json_skip(JsonReader *reader)
{
	int depth = 0;

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (at(reader, JSON_TOKEN_OBJECT_START) || at(reader, JSON_TOKEN_ARRAY_START))
			depth++;
		else if (at(reader, JSON_TOKEN_OBJECT_END) || at(reader, JSON_TOKEN_ARRAY_END))
			depth--;
		else if (at(reader, JSON_TOKEN_END))
			fail(reader, "malformed JSON");
		advance(reader);
	} while (depth > 0);
}

/* Any value as it is written, in the text that is read. */
ItemSpan
json_read_raw(JsonReader *reader)
{
	const char *start = reader->lex->token_start;

	json_skip(reader);
	return (ItemSpan){start, (uint32) (reader->lex->prev_token_terminator - start)};
}
