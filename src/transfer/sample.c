/*
 * sample.c
 *	  Items of a NoSQL Workbench model, as Workbench writes them.
 *
 * Workbench writes DynamoDB JSON, but it does not check what was typed in for a map: there may be
 * plain JSON inside M, and a map that was pasted as DynamoDB JSON has M twice.  An item that is
 * right is read as it stands.  Otherwise the text of what is inside M and L is put right, and read
 * again; what may be read as DynamoDB JSON is.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "ground/attempt.h"
#include "transfer/lexer.h"
#include "transfer/transfer.h"

/* Bytes of a key's value that a message has. */
#define SAMPLE_KEY_SHOWN 200

static bool print_value(JsonLexContext *lex, StringInfo out, int depth);
static bool print_map(JsonLexContext *lex, StringInfo out, int depth);

/* Copies a value without the space between its tokens; the lexer is left at its last token. */
static bool
copy_value(JsonLexContext *lex, StringInfo out)
{
	int depth = 0;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		appendBinaryStringInfo(out, lex->token_start,
							   (int) (lex->token_terminator - lex->token_start));
		depth += token_opens(lex) ? 1 : token_closes(lex) ? -1 : 0;
		if (depth <= 0)
			return depth == 0;
		if (!token_next(lex))
			return false;
	}
}

/* Whether the JSON type of what the lexer is at is that of a type code's value. */
static bool
is_payload(const JsonLexContext *lex, ItemType type)
{
	switch (type)
	{
		case ITEM_S:
		case ITEM_N:
		case ITEM_B:
			return token_at(lex, JSON_TOKEN_STRING);
		case ITEM_BOOL:
		case ITEM_NULL:
			return token_at(lex, JSON_TOKEN_TRUE) || token_at(lex, JSON_TOKEN_FALSE);
		case ITEM_M:
			return token_at(lex, JSON_TOKEN_OBJECT_START);
		case ITEM_L:
		case ITEM_SS:
		case ITEM_NS:
		case ITEM_BS:
			return token_at(lex, JSON_TOKEN_ARRAY_START);
	}
	return false;
}

/*
 * The type code if the value that begins here is an object with a type code alone, {"S":…}, or 0.
 * *fits says whether the code's value is of the JSON type that it has in DynamoDB JSON.
 */
static ItemType
type_code(JsonLexContext ahead, bool *fits)
{
	ItemType type;

	*fits = false;
	if (!token_at(&ahead, JSON_TOKEN_OBJECT_START) || !token_next(&ahead) ||
		!token_at(&ahead, JSON_TOKEN_STRING))
		return 0;
	type = item_type_from_code(token_inner(&ahead));
	if (type == 0 || !token_next(&ahead) || !token_next(&ahead))
		return 0;
	*fits = is_payload(&ahead, type);
	if (!token_skip_value(&ahead) || !token_next(&ahead) ||
		!token_at(&ahead, JSON_TOKEN_OBJECT_END))
		return 0;
	return type;
}

/* The type if the value that begins here is one of DynamoDB JSON; 0 if not. */
static ItemType
typed_as(JsonLexContext ahead)
{
	bool fits;
	ItemType type = type_code(ahead, &fits);

	return fits ? type : 0;
}

/* Whether the object that begins here has a map inside M alone, which is no value of M. */
static bool
is_doubled(JsonLexContext ahead)
{
	if (!token_next(&ahead) || !token_is(&ahead, "M") || !token_next(&ahead) ||
		!token_next(&ahead) || !token_at(&ahead, JSON_TOKEN_OBJECT_START) || typed_as(ahead) != 0)
		return false;
	return token_skip_value(&ahead) && token_next(&ahead) &&
		   token_at(&ahead, JSON_TOKEN_OBJECT_END);
}

static bool
print_elements(JsonLexContext *lex, StringInfo out, int depth)
{
	char before = '[';

	if (!token_next(lex))
		return false;
	if (token_at(lex, JSON_TOKEN_ARRAY_END))
		appendStringInfoChar(out, before);
	for (; !token_at(lex, JSON_TOKEN_ARRAY_END); before = ',')
	{
		if (before == ',' && (!token_at(lex, JSON_TOKEN_COMMA) || !token_next(lex)))
			return false;
		appendStringInfoChar(out, before);
		if (!print_value(lex, out, depth) || !token_next(lex))
			return false;
	}
	appendStringInfoChar(out, ']');
	return true;
}

static bool
print_member(JsonLexContext *lex, StringInfo out)
{
	if (!token_at(lex, JSON_TOKEN_STRING))
		return false;
	appendBinaryStringInfo(out, lex->token_start, (int) (lex->token_terminator - lex->token_start));
	appendStringInfoChar(out, ':');
	return token_next(lex) && token_at(lex, JSON_TOKEN_COLON) && token_next(lex);
}

static bool
print_members(JsonLexContext *lex, StringInfo out, int depth,
			  bool (*print)(JsonLexContext *lex, StringInfo out, int depth))
{
	char before = '{';

	if (!token_next(lex))
		return false;
	if (token_at(lex, JSON_TOKEN_OBJECT_END))
		appendStringInfoChar(out, before);
	for (; !token_at(lex, JSON_TOKEN_OBJECT_END); before = ',')
	{
		if (before == ',' && (!token_at(lex, JSON_TOKEN_COMMA) || !token_next(lex)))
			return false;
		appendStringInfoChar(out, before);
		if (!print_member(lex, out) || !print(lex, out, depth) || !token_next(lex))
			return false;
	}
	appendStringInfoChar(out, '}');
	return true;
}

/* {"M":…} or {"L":…} with what is inside put right. */
static bool
print_typed(JsonLexContext *lex, StringInfo out, ItemType type, int depth)
{
	if (type != ITEM_M && type != ITEM_L)
		return copy_value(lex, out);
	appendStringInfo(out, "{\"%s\":", item_type_code(type));
	/* typed_as() has seen these tokens */
	if (!token_next(lex) || !token_next(lex) || !token_next(lex))
		return false;
	if (!(type == ITEM_M ? print_map : print_elements)(lex, out, depth + 1) || !token_next(lex))
		return false;
	appendStringInfoChar(out, '}');
	return token_at(lex, JSON_TOKEN_OBJECT_END);
}

/* Plain JSON as DynamoDB JSON. */
static bool
print_plain(JsonLexContext *lex, StringInfo out, int depth)
{
	const char *code = token_at(lex, JSON_TOKEN_STRING)         ? "S"
					   : token_at(lex, JSON_TOKEN_NUMBER)       ? "N"
					   : token_at(lex, JSON_TOKEN_NULL)         ? "NULL"
					   : token_at(lex, JSON_TOKEN_ARRAY_START)  ? "L"
					   : token_at(lex, JSON_TOKEN_OBJECT_START) ? "M"
																: "BOOL";
	const char *quote = token_at(lex, JSON_TOKEN_NUMBER) ? "\"" : "";
	bool printed = true;

	appendStringInfo(out, "{\"%s\":%s", code, quote);
	if (token_at(lex, JSON_TOKEN_NULL))
		appendStringInfoString(out, "true");
	else if (token_at(lex, JSON_TOKEN_ARRAY_START))
		printed = print_elements(lex, out, depth + 1);
	else if (token_at(lex, JSON_TOKEN_OBJECT_START))
		printed = print_map(lex, out, depth + 1);
	else
		printed = copy_value(lex, out);
	appendStringInfo(out, "%s}", quote);
	return printed;
}

/* A value inside M or L.  A type code with a value that is not its own is left as it is: wrong. */
static bool
print_value(JsonLexContext *lex, StringInfo out, int depth)
{
	bool fits;
	ItemType type = type_code(*lex, &fits);

	CHECK_FOR_INTERRUPTS();
	/* deeper than an item may be */
	if (depth > ITEM_MAX_NESTING + 1)
		return false;
	if (type == 0)
		return print_plain(lex, out, depth);
	return fits ? print_typed(lex, out, type, depth) : copy_value(lex, out);
}

/* What M has as its value. */
static bool
print_map(JsonLexContext *lex, StringInfo out, int depth)
{
	if (!is_doubled(*lex))
		return print_members(lex, out, depth, print_value);
	if (depth > ITEM_MAX_NESTING + 1 || !token_next(lex) || !token_next(lex) || !token_next(lex))
		return false;
	return print_map(lex, out, depth + 1) && token_next(lex);
}

/* An attribute must be of DynamoDB JSON; what is inside it need not. */
static bool
print_attribute(JsonLexContext *lex, StringInfo out, int depth)
{
	ItemType type = typed_as(*lex);

	return type != 0 ? print_typed(lex, out, type, depth) : copy_value(lex, out);
}

typedef struct Reading
{
	const char *json;
	int len;
	DynItem *item;
} Reading;

static void
read_strictly(void *arg)
{
	Reading *reading = arg;

	reading->item = item_parse(reading->json, reading->len, ITEM_SYNTAX_ITEM, NULL);
}

static bool
is_about_item(const ErrorData *error)
{
	return item_is_to_blame(error, false);
}

/* The text with what is inside M and L put right.  False if it is not even JSON, or too deep. */
static bool
put_right(ItemSpan json, StringInfo out)
{
	JsonLexContext *lex = make_json_lexer(json.data, (int) json.len);

	initStringInfo(out);
	return token_next(lex) && token_at(lex, JSON_TOKEN_OBJECT_START) &&
		   print_members(lex, out, 0, print_attribute);
}

/*
 * Read an item of a model, and set *item to it, allocated in the current memory context.  Returns
 * NULL, or what is wrong with it.  A place in the text is told only if it is one of the given text.
 */
ErrorData *
transfer_read_sample(ItemSpan json, DynItem **item)
{
	Reading reading = {json.data, (int) json.len};
	ErrorData *error = attempt_to_compute(read_strictly, &reading, is_about_item);
	StringInfoData right;
	ErrorData *other;

	if (error != NULL)
	{
		if (!put_right(json, &right))
			return error;
		reading = (Reading){right.data, right.len};
		other = attempt_to_compute(read_strictly, &reading, is_about_item);
		if (other != NULL)
		{
			if (strcmp(other->message, error->message) == 0)
				return error;
			other->detail = NULL;
			return other;
		}
	}
	*item = reading.item;
	return NULL;
}

/* "name": value, at most so many bytes of it. */
static bool
print_key(JsonLexContext *lex, ItemSpan name, StringInfo out)
{
	StringInfoData value;
	bool printed;
	int len;

	initStringInfo(&value);
	printed = copy_value(lex, &value);
	len = pg_mbcliplen(value.data, value.len, SAMPLE_KEY_SHOWN);
	appendStringInfo(out, "%s\"%s\": ", out->len > 0 ? ", " : "", item_quoted(name));
	appendBinaryStringInfo(out, value.data, len);
	if (len < value.len)
		appendStringInfoString(out, "...");
	return printed;
}

/*
 * Append the members of an item of a model that its table has as keys, as they are written there,
 * as far as they can be found.
 */
void
transfer_print_sample_key(ItemSpan json, const DynTable *table, StringInfo out)
{
	JsonLexContext *lex = make_json_lexer(json.data, (int) json.len);

	if (!token_next(lex) || !token_at(lex, JSON_TOKEN_OBJECT_START))
		return;
	while (token_next(lex) && token_at(lex, JSON_TOKEN_STRING))
	{
		ItemSpan name = token_inner(lex);

		if (!token_next(lex) || !token_next(lex))
			return;
		if (!(dyn_index_has_key(table, &table->primary, name) ? print_key(lex, name, out)
															  : token_skip_value(lex)))
			return;
		if (!token_next(lex) || !token_at(lex, JSON_TOKEN_COMMA))
			return;
	}
}
