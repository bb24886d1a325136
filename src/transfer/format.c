/*
 * format.c
 *	  Which format a file has, by its beginning.
 *
 * Only what cannot be a line of DynamoDB JSON is taken for something else, since a file of these
 * may have wrong lines.  An item of a table has its keys, which are objects in DynamoDB JSON, and
 * strings or numbers in plain JSON; the header of CSV names them.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "transfer/feed.h"
#include "transfer/lexer.h"

/* As much of the beginning is looked at. */
#define FORMAT_BEGINNING (64 * 1024)

/* What answers of Scan and Query have, as the service, the AWS CLI and SDKs write them. */
static const char *const answer_members[] = {
	"Items",     "Count",     "ScannedCount",    "ConsumedCapacity", "LastEvaluatedKey",
	"NextToken", "$metadata", "ResponseMetadata"};

/* Of the members around items those that have one. */
static const char *const wrapping_members[] = {"Item", "Keys", "NewImage"};

/* What an object has shown so far. */
typedef struct Look
{
	const DynTable *table;
	int members;
	bool answer; /* all of them are of an answer */
	bool items; /* one is an array of what may be items */
	bool key; /* one is a key */
	bool plain_key; /* which is no object */
	bool plain; /* one, of any kind, is no object */
	bool wrapped; /* one may be an item that the object has inside it */
} Look;

static bool
is_one_of(ItemSpan name, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (item_span_is(name, names[i]))
			return true;
	}
	return false;
}

/* Whether the array that begins here may be of items. */
static bool
has_items(JsonLexContext ahead)
{
	if (!token_at(&ahead, JSON_TOKEN_ARRAY_START))
		return false;
	return !token_next(&ahead) || token_at(&ahead, JSON_TOKEN_OBJECT_START) ||
		   token_at(&ahead, JSON_TOKEN_ARRAY_END);
}

static void
look_at_member(Look *look, ItemSpan name, const JsonLexContext *lex)
{
	bool object = token_at(lex, JSON_TOKEN_OBJECT_START);
	bool key = dyn_index_has_key(look->table, &look->table->primary, name);

	look->members++;
	look->answer &= !key && is_one_of(name, answer_members, lengthof(answer_members));
	if (item_span_is(name, "Items"))
	{
		look->items |= has_items(*lex);
		look->answer &= look->items;
	}
	look->key |= key;
	look->plain_key |= key && !object;
	look->plain |= !object;
	look->wrapped |= object && is_one_of(name, wrapping_members, lengthof(wrapping_members));
}

/* Looks at the object that begins here.  False if it does not end. */
static bool
look_at_object(Look *look, JsonLexContext *lex)
{
	if (!token_next(lex))
		return false;
	while (!token_at(lex, JSON_TOKEN_OBJECT_END))
	{
		ItemSpan name;

		if (look->members > 0 && (!token_at(lex, JSON_TOKEN_COMMA) || !token_next(lex)))
			return false;
		if (!token_at(lex, JSON_TOKEN_STRING))
			return false;
		name = token_inner(lex);
		if (!token_next(lex) || !token_at(lex, JSON_TOKEN_COLON) || !token_next(lex))
			return false;
		look_at_member(look, name, lex);
		if (!token_skip_value(lex) || !token_next(lex))
			return look->members > 0 && token_at(lex, JSON_TOKEN_OBJECT_END);
	}
	return true;
}

/* Whether an object that has been looked at is an item in plain JSON. */
static bool
is_plain(const Look *look)
{
	return look->key ? look->plain_key : look->plain && !look->wrapped;
}

/* Whether an item is in plain JSON.  What is wrong is not. */
bool
transfer_is_plain(const DynTable *table, const char *json, int len)
{
	JsonLexContext *lex = make_json_lexer(json, len);
	Look look = {.table = table};

	return token_next(lex) && token_at(lex, JSON_TOKEN_OBJECT_START) &&
		   look_at_object(&look, lex) && is_plain(&look);
}

static TransferFormat
format_of_object(const DynTable *table, RecordText text)
{
	JsonLexContext *lex = make_json_lexer(text.data, (int) text.len);
	Look look = {.table = table, .answer = true};
	bool ends = token_next(lex) && look_at_object(&look, lex);

	/* "{" may be the first line of one */
	if (look.answer && (look.items || (!ends && look.members == 0 && text.len == 1)))
		return TRANSFER_SCAN;
	return is_plain(&look) ? TRANSFER_PLAIN : TRANSFER_JSON;
}

/* Whether the line is a header that names all keys. */
static bool
is_header(const DynTable *table, RecordText text)
{
	const char *end = text.data + text.len;
	const char *at = text.data;
	int keys = 0;
	CsvField field;

	do
	{
		field = csv_field(at, end);
		if (!field.closed || field.fault != NULL)
			return false;
		keys += dyn_index_has_key(table, &table->primary,
								  (ItemSpan){field.start, (uint32) (field.end - field.start)});
		at = field.behind + 1;
	} while (field.behind < end && *field.behind == ',');
	return keys >= table->nkeys;
}

/*
 * The format of a file that begins so, with what is no space; TRANSFER_AUTO if more of it is
 * needed.
 */
TransferFormat
transfer_format(const DynTable *table, RecordText text)
{
	if (text.len > FORMAT_BEGINNING)
		text.len = FORMAT_BEGINNING;
	else if (text.len < FORMAT_BEGINNING && !text.whole)
		return TRANSFER_AUTO;
	/* what is no UTF-8 is an error of the line that has it */
	text.len = pg_encoding_verifymbstr(PG_UTF8, text.data, (int) text.len);
	if (text.len == 0)
		return TRANSFER_JSON;
	if (*text.data == '[')
		return TRANSFER_SCAN;
	if (*text.data == '{')
		return format_of_object(table, text);
	return is_header(table, text) ? TRANSFER_CSV : TRANSFER_JSON;
}
