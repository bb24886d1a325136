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

#include "api/transfer/feed.h"
#include "api/transfer/lexer.h"

/* The format is found by so much of the beginning. */
#define FORMAT_BEGINNING (64 * 1024)

/* Answers of Scan and Query have these, as the service, the AWS CLI and SDKs write them. */
static const char *const answer_members[] = {
	"Items",     "Count",     "ScannedCount",    "ConsumedCapacity", "LastEvaluatedKey",
	"NextToken", "$metadata", "ResponseMetadata"};

/* Of the members around items these have one. */
static const char *const wrapping_members[] = {"Item", "Keys", "NewImage"};

/* Amazon Ion begins so, as text and as binary. */
#define ION_TEXT "$ion_1_"
#define ION_BINARY "\xe0\x01\x00\xea"

/* A Look is what an object has shown so far. */
typedef struct Look
{
	const DynTable *table;
	int members;
	bool answer; /* all of them are of an answer */
	bool items; /* one is an array of what may be items */
	bool batch; /* one is of BatchWriteItem */
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

/* Returns whether the array that begins here may be of items. */
static bool
has_items(JsonLexContext ahead)
{
	if (!token_at(&ahead, JSON_TOKEN_ARRAY_START))
		return false;
	return !token_next(&ahead) || token_at(&ahead, JSON_TOKEN_OBJECT_START) ||
		   token_at(&ahead, JSON_TOKEN_ARRAY_END);
}

/* Returns whether the array that begins here is of requests of BatchWriteItem. */
static bool
has_requests(JsonLexContext ahead)
{
	return token_at(&ahead, JSON_TOKEN_ARRAY_START) && token_next(&ahead) &&
		   token_at(&ahead, JSON_TOKEN_OBJECT_START) && token_next(&ahead) &&
		   (token_is(&ahead, "PutRequest") || token_is(&ahead, "DeleteRequest"));
}

/* Returns whether the object that begins here has them in the array of its first member. */
static bool
has_tables(JsonLexContext ahead)
{
	return token_at(&ahead, JSON_TOKEN_OBJECT_START) && token_next(&ahead) &&
		   token_at(&ahead, JSON_TOKEN_STRING) && token_next(&ahead) &&
		   token_at(&ahead, JSON_TOKEN_COLON) && token_next(&ahead) && has_requests(ahead);
}

static void
look_at_member(Look *look, ItemSpan name, const JsonLexContext *lex)
{
	bool object = token_at(lex, JSON_TOKEN_OBJECT_START);
	bool batch = has_requests(*lex) || (item_span_is(name, "RequestItems") && has_tables(*lex));
	bool key = !batch && dyn_index_has_key(look->table, &look->table->primary, name);

	look->members++;
	look->batch |= batch;
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

/* Returns whether an object that has been looked at is an item in plain JSON. */
static bool
is_plain(const Look *look)
{
	return look->key ? look->plain_key : look->plain && !look->wrapped;
}

/* Returns whether an item is in plain JSON.  What is wrong is not. */
bool
transfer_is_plain(const DynTable *table, const char *json, int len)
{
	JsonLexContext *lex = make_json_lexer(json, len);
	Look look = {.table = table};

	return token_next(lex) && token_at(lex, JSON_TOKEN_OBJECT_START) &&
		   look_at_object(&look, lex) && is_plain(&look);
}

/*
 * Returns whether the first line of a text is well-formed as far as it goes, and the next line goes
 * on with the value that it has begun.  A next line that begins with "{" does not go on with it: it
 * may follow a line of DynamoDB JSON that was cut off.
 */
static bool
goes_on(RecordText text)
{
	const char *end = text.data + text.len;
	const char *at = memchr(text.data, '\n', text.len);
	JsonLexContext *lex;

	if (at == NULL)
		return false;
	lex = make_json_lexer(text.data, (int) (at - text.data));
	if (token_next(lex) && token_skip_value(lex))
		return false;
	while (at < end && (*at == '\n' || *at == '\r' || *at == ' ' || *at == '\t'))
		at++;
	return token_at(lex, JSON_TOKEN_END) && at < end && *at != '{';
}

static TransferFormat
format_of_object(const DynTable *table, RecordText text, DocumentKind *kind)
{
	JsonLexContext *lex = make_json_lexer(text.data, (int) text.len);
	Look look = {.table = table, .answer = true};
	bool ends = token_next(lex) && look_at_object(&look, lex);
	bool lines =
		ends ? memchr(text.data, '\n', lex->token_terminator - text.data) == NULL : !goes_on(text);

	if (look.batch && !look.key)
		*kind = DOCUMENT_OF_BATCH;
	else if ((look.answer || look.items) && !look.key && look.members > 0)
		*kind = DOCUMENT_OF_ANSWER;
	if (*kind == DOCUMENT_OF_BATCH || (look.answer && look.items) || !lines)
		return TRANSFER_DOCUMENT;
	/* "{" may be the first line of one */
	if (!ends && look.members == 0 && text.len == 1)
		return TRANSFER_DOCUMENT;
	return is_plain(&look) ? TRANSFER_PLAIN : TRANSFER_JSON;
}

/* Returns whether the line is a header that names all keys. */
static bool
is_header(const DynTable *table, RecordText text)
{
	const char *end = text.data + text.len;
	const char *at = text.data;
	int keys = 0;
	CsvField field;

	do
	{
		field = csv_field(at, end, ',');
		if (!field.closed || field.fault != NULL)
			return false;
		keys += dyn_index_has_key(table, &table->primary,
								  (ItemSpan){field.start, (uint32) (field.end - field.start)});
		at = field.behind + 1;
	} while (field.behind < end && *field.behind == ',');
	return keys >= table->nkeys;
}

static bool
begins_with(RecordText text, const char *marker, Size len)
{
	return text.len >= len && memcmp(text.data, marker, len) == 0;
}

/*
 * Returns the format of a file that begins so, with what is no space; TRANSFER_AUTO if more of it
 * is needed.  *kind is what it is if it is a document.
 */
TransferFormat
transfer_format(const DynTable *table, RecordText text, DocumentKind *kind)
{
	if (text.len > FORMAT_BEGINNING)
		text.len = FORMAT_BEGINNING;
	else if (text.len < FORMAT_BEGINNING && !text.whole)
		return TRANSFER_AUTO;
	*kind = DOCUMENT_OF_ITEMS;
	if (begins_with(text, ION_TEXT, strlen(ION_TEXT)) ||
		begins_with(text, ION_BINARY, sizeof(ION_BINARY) - 1))
		return TRANSFER_ION;
	/* what is no UTF-8 is an error of the line that has it */
	text.len = pg_encoding_verifymbstr(PG_UTF8, text.data, (int) text.len);
	if (text.len == 0)
		return TRANSFER_JSON;
	if (*text.data == '[')
		return TRANSFER_DOCUMENT;
	if (*text.data == '{')
		return format_of_object(table, text, kind);
	return is_header(table, text) ? TRANSFER_CSV : TRANSFER_JSON;
}
