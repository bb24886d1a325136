/*
 * reader.c
 *	  JSON of requests, read in one pass by its tokens.
 *
 * A member that is not known, comes twice, is missing or has a value of another kind is an error:
 * a condition with a misspelled name must not be a write without one.  That the text is JSON has
 * been seen to by the type json.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "request/reader.h"

/* Raise an error unless the reader is at such a token. */
void
request_expect(ItemParser *p, JsonTokenType type, const char *message)
{
	if (item_reader_token(p) != type)
		item_reader_fail(p, message);
}

static char *
quoted(ItemSpan name)
{
	StringInfoData out;

	initStringInfo(&out);
	item_quote(&out, name);
	return out.data;
}

static int
find_member(ItemParser *p, const char *what, const RequestMember *members, int n)
{
	ItemSpan name = item_reader_string(p);

	for (int i = 0; i < n; i++)
	{
		ItemSpan known = {members[i].name, (uint32) strlen(members[i].name)};

		if (item_compare_bytes(name, known) == 0)
			return i;
	}
	item_reader_fail(p, psprintf("%s has no member \"%s\"", what, quoted(name)));
	return -1;
}

/*
 * In an object: from its brace, or from the value of a member, on to the name of the next member;
 * false if that was the last one.
 */
static bool
next_member(ItemParser *p)
{
	JsonTokenType token = item_reader_next(p);

	if (token == JSON_TOKEN_COMMA)
		token = item_reader_next(p);
	return token == JSON_TOKEN_STRING;
}

/* From a name to its value. */
static void
next_value(ItemParser *p)
{
	(void) item_reader_next(p);
	(void) item_reader_next(p);
}

/* The object at whose opening brace the reader is; what names it in messages. */
void
request_object(ItemParser *p, const char *what, const RequestMember *members, int n, void *into)
{
	uint32 seen = 0;

	Assert(n <= REQUEST_MAX_MEMBERS);
	request_expect(p, JSON_TOKEN_OBJECT_START, psprintf("%s must be a JSON object", what));
	while (next_member(p))
	{
		int i = find_member(p, what, members, n);

		if (seen & (1u << i))
			item_reader_fail(p, psprintf("%s has member \"%s\" twice", what, members[i].name));
		seen |= 1u << i;
		next_value(p);
		members[i].read(p, into);
	}
	for (int i = 0; i < n; i++)
	{
		if (members[i].required && !(seen & (1u << i)))
			item_reader_fail(p, psprintf("%s lacks member \"%s\"", what, members[i].name));
	}
}

/* The array at whose opening bracket the reader is: read each element. */
void
request_array(ItemParser *p, const char *what, RequestRead read, void *into)
{
	request_expect(p, JSON_TOKEN_ARRAY_START, psprintf("%s must be a JSON array", what));
	while (item_reader_next(p) != JSON_TOKEN_ARRAY_END)
	{
		CHECK_FOR_INTERRUPTS();
		if (item_reader_token(p) == JSON_TOKEN_COMMA)
			item_reader_next(p);
		read(p, into);
	}
}

/* A string that stands in a request, which text cannot hold with U+0000. */
text *
request_text(ItemParser *p, const char *what)
{
	ItemSpan s;
	text *result;

	request_expect(p, JSON_TOKEN_STRING, psprintf("%s must be a string", what));
	s = item_reader_string(p);
	if (memchr(s.data, '\0', s.len) != NULL)
		item_reader_fail(p, psprintf("%s contains U+0000", what));
	result = palloc(VARHDRSZ + s.len);
	SET_VARSIZE(result, VARHDRSZ + s.len);
	memcpy(VARDATA(result), s.data, s.len);
	return result;
}

DynItem *
request_item(ItemParser *p, const char *what, ItemSyntax syntax)
{
	request_expect(p, JSON_TOKEN_OBJECT_START, psprintf("%s must be a JSON object", what));
	return item_reader_item(p, syntax);
}

static JsonbValue
jsonb_string(ItemSpan s)
{
	JsonbValue v;

	v.type = jbvString;
	v.val.string.val = (char *) s.data;
	v.val.string.len = (int) s.len;
	return v;
}

/* ExpressionAttributeNames, as expressions take them. */
Jsonb *
request_names(ItemParser *p)
{
	JsonbParseState *state = NULL;
	Jsonb *names;
	int n = 0;

	request_expect(p, JSON_TOKEN_OBJECT_START, "ExpressionAttributeNames must be a JSON object");
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	while (next_member(p))
	{
		JsonbValue v = jsonb_string(item_reader_string(p));

		pushJsonbValue(&state, WJB_KEY, &v);
		next_value(p);
		request_expect(p, JSON_TOKEN_STRING,
					   "each value of ExpressionAttributeNames must be a string");
		v = jsonb_string(item_reader_string(p));
		pushJsonbValue(&state, WJB_VALUE, &v);
		n++;
	}
	names = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
	/* jsonb keeps the last one of equal names */
	if (JB_ROOT_COUNT(names) != n)
		item_reader_fail(p, "ExpressionAttributeNames has a name twice");
	return names;
}
