/*
 * record.c
 *	  Where records begin and end: lines, records of CSV, items of a document.
 */
#include "postgres.h"

#include "api/transfer/record.h"

static Record
found(Size start, Size len, Size next)
{
	return (Record){RECORD_FOUND, start, len, next};
}

static Record
faulty(const char *fault)
{
	return (Record){RECORD_FAULT, .fault = fault};
}

/* Returns what is found at the end of what is there, in the middle of something. */
static Record
unfinished(RecordText text, const char *fault)
{
	return text.whole ? faulty(fault) : (Record){RECORD_MORE};
}

/*
 * Lines
 */

/* Returns the next line, without the character that ends it. */
Record
record_of_lines(RecordText text)
{
	const char *newline = memchr(text.data, '\n', text.len);

	if (newline != NULL)
		return found(0, newline - text.data, newline - text.data + 1);
	if (!text.whole)
		return (Record){RECORD_MORE};
	return text.len > 0 ? found(0, text.len, text.len) : (Record){RECORD_END};
}

/*
 * CSV, by RFC 4180: records end with CR LF or LF
 */

static const char *
record_find(const char *at, const char *end, char a, char b)
{
	while (at < end && *at != a && *at != b)
		at++;
	return at;
}

static bool
ends_record(const char *at, const char *end)
{
	return at == end || *at == '\n' || (*at == '\r' && (at + 1 == end || at[1] == '\n'));
}

static CsvField
quoted_field(const char *at, const char *end, char delimiter)
{
	CsvField field = {.start = at + 1, .quoted = true};

	for (at++;; at += 2)
	{
		at = at < end ? memchr(at, '"', end - at) : NULL;
		if (at == NULL)
		{
			field.end = field.behind = end;
			return field;
		}
		if (at + 1 == end || at[1] != '"')
			break;
		field.doubled = true;
	}
	field.closed = true;
	field.end = at++;
	field.behind = record_find(at, end, delimiter, '\n');
	if (!ends_record(at, end) && *at != delimiter)
		field.fault = "there is text behind the quote that ends a field";
	return field;
}

/* Returns the field that begins at a place, in a text that may go on behind the record. */
CsvField
csv_field(const char *at, const char *end, char delimiter)
{
	CsvField field = {.start = at, .closed = true};

	if (at < end && *at == '"')
		return quoted_field(at, end, delimiter);
	field.end = field.behind = record_find(at, end, delimiter, '\n');
	if (field.end > at && field.end[-1] == '\r' && ends_record(field.end - 1, end))
		field.end--;
	if (memchr(at, '"', field.end - at) != NULL)
		field.fault = "a field that has a quote must be quoted";
	return field;
}

/* Returns the next record, without what ends it. */
Record
record_of_csv(RecordText text, char delimiter)
{
	const char *end = text.data + text.len;
	const char *at = text.data;
	CsvField field;

	if (text.len == 0)
		return (Record){text.whole ? RECORD_END : RECORD_MORE};
	for (;; at = field.behind + 1)
	{
		field = csv_field(at, end, delimiter);
		if (!field.closed)
			return unfinished(text, "a quoted field has no end");
		if (field.behind == end)
			return text.whole ? found(0, text.len, text.len) : (Record){RECORD_MORE};
		if (*field.behind == '\n')
			return found(0, field.behind - text.data, field.behind - text.data + 1);
	}
}

/*
 * Documents
 */

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *
skip_space(const char *at, const char *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

/* Returns the place behind the string that begins at a place; NULL if it does not end. */
static const char *
skip_string(const char *at, const char *end)
{
	for (at++; at < end; at++)
	{
		if (*at == '"')
			return at + 1;
		if (*at == '\\' && ++at == end)
			break;
	}
	return NULL;
}

static const char *
skip_scalar(const char *at, const char *end)
{
	while (at < end && !is_space(*at) && strchr(",:]}[{\"", *at) == NULL)
		at++;
	return at;
}

/* Returns the place behind a value, however deep it is; NULL if it does not end. */
static const char *
skip_value(const char *at, const char *end)
{
	int64 depth = 0;

	do
	{
		if (at == end)
			return NULL;
		if (*at == '"')
		{
			at = skip_string(at, end);
			if (at == NULL)
				return NULL;
			continue;
		}
		if (*at == '{' || *at == '[')
			depth++;
		else if (*at == '}' || *at == ']')
			depth--;
		else if (depth == 0)
			return skip_scalar(at, end);
		at++;
	} while (depth > 0);
	return at;
}

/*
 * Returns the place behind the value at a place, which is the same place if there is no value.
 * NULL: not all of it may be there, as a number may go on with what comes.
 */
static const char *
value_end(RecordText text, const char *at)
{
	const char *end = text.data + text.len;
	const char *behind = at < end && (*at == '}' || *at == ']') ? at : skip_value(at, end);

	if (behind == end && !text.whole && at < end && strchr("{[\"", *at) == NULL)
		return NULL;
	return behind;
}

/* Goes on in another state, with nothing found. */
static Record
go_on(Document *document, DocumentState state, const RecordText *text, const char *at)
{
	document->state = state;
	return found(at - text->data, 0, at - text->data);
}

static Record
read_item(Document *document, RecordText text, const char *at, DocumentState next)
{
	const char *behind = value_end(text, at);

	if (behind == NULL)
		return unfinished(text, "it ends in the middle");
	if (behind == at)
		return faulty("malformed JSON");
	document->state = next;
	return found(at - text.data, document->wanted ? behind - at : 0, behind - text.data);
}

static Record
open_document(Document *document, RecordText text, const char *at)
{
	if (*at != '{' && *at != '[')
		return faulty("it must be an object or an array");
	document->any = document->wanted = true;
	document->items = document->requests = false;
	document->object = *at == '{';
	if (!document->object)
		return go_on(document, DOCUMENT_ITEM, &text, at + 1);
	if (document->kind == DOCUMENT_OF_ITEMS)
		return read_item(document, text, at, DOCUMENT_OUTSIDE);
	return go_on(document, DOCUMENT_MEMBER, &text, at + 1);
}

static Record
close_object(Document *document, RecordText text, const char *at)
{
	if (document->requests)
	{
		document->requests = false;
		return go_on(document, DOCUMENT_COMMA, &text, at + 1);
	}
	if (document->kind == DOCUMENT_OF_ANSWER && !document->items)
		return faulty("it has no member \"Items\" that is an array");
	return go_on(document, DOCUMENT_OUTSIDE, &text, at + 1);
}

/* Opens the array of a member. */
static Record
open_items(Document *document, RecordText text, const char *at, ItemSpan name)
{
	bool batch = document->kind == DOCUMENT_OF_BATCH;
	Record record;

	document->wanted =
		batch ? document->table.data == NULL || item_compare_bytes(document->table, name) == 0
			  : item_span_is(name, "Items");
	if (document->wanted && !batch && document->items)
		return faulty("it has \"Items\" twice");
	document->items |= document->wanted;
	record = go_on(document, DOCUMENT_ITEM, &text, at + 1);
	if (batch)
		record.table = name;
	return record;
}

/* Goes from a name's quote into an array or the object of requests, or behind the value. */
static Record
read_member(Document *document, RecordText text, const char *at)
{
	const char *end = text.data + text.len;
	const char *behind = skip_string(at, end);
	ItemSpan name;

	if (behind == NULL)
		return unfinished(text, "it ends in the middle");
	name = (ItemSpan){at + 1, (uint32) (behind - at - 2)};
	at = skip_space(behind, end);
	if (at == end)
		return unfinished(text, "it ends in the middle");
	if (*at != ':')
		return faulty("malformed JSON");
	at = skip_space(at + 1, end);
	if (at == end)
		return unfinished(text, "it ends in the middle");
	if (*at == '[')
		return open_items(document, text, at, name);
	if (*at == '{' && document->kind == DOCUMENT_OF_BATCH && !document->requests &&
		item_span_is(name, "RequestItems"))
	{
		document->requests = true;
		return go_on(document, DOCUMENT_MEMBER, &text, at + 1);
	}
	behind = value_end(text, at);
	if (behind == NULL)
		return unfinished(text, "it ends in the middle");
	if (behind == at)
		return faulty("malformed JSON");
	return go_on(document, DOCUMENT_COMMA, &text, behind);
}

static Record
close_items(Document *document, RecordText text, const char *at)
{
	return go_on(document, document->object ? DOCUMENT_COMMA : DOCUMENT_OUTSIDE, &text, at + 1);
}

/* Takes one step of record_of_document(), at a character that is no space. */
static Record
record_step(Document *document, RecordText text, const char *at)
{
	switch (document->state)
	{
		case DOCUMENT_OUTSIDE:
			return open_document(document, text, at);
		case DOCUMENT_MEMBER:
		case DOCUMENT_NAME:
			if (document->state == DOCUMENT_MEMBER && *at == '}')
				return close_object(document, text, at);
			return *at == '"' ? read_member(document, text, at) : faulty("malformed JSON");
		case DOCUMENT_COMMA:
			if (*at == '}')
				return close_object(document, text, at);
			return *at == ',' ? go_on(document, DOCUMENT_NAME, &text, at + 1)
							  : faulty("malformed JSON");
		case DOCUMENT_ITEM:
		case DOCUMENT_NEXT_ITEM:
			if (document->state == DOCUMENT_ITEM && *at == ']')
				return close_items(document, text, at);
			return read_item(document, text, at, DOCUMENT_ITEM_COMMA);
		case DOCUMENT_ITEM_COMMA:
			if (*at == ']')
				return close_items(document, text, at);
			return *at == ',' ? go_on(document, DOCUMENT_NEXT_ITEM, &text, at + 1)
							  : faulty("malformed JSON");
	}
	return faulty("malformed JSON");
}

/*
 * Returns the next item of a document, as it is written.  One document may follow another.  A
 * record of length 0 is no item, only progress.
 */
Record
record_of_document(Document *document, RecordText text)
{
	const char *end = text.data + text.len;
	const char *at = skip_space(text.data, end);
	Record record;

	if (at < end)
		record = record_step(document, text, at);
	else if (!text.whole)
		return at > text.data ? found(text.len, 0, text.len) : (Record){RECORD_MORE};
	else if (document->state != DOCUMENT_OUTSIDE)
		record = faulty("it ends in the middle");
	else
		return document->any ? (Record){RECORD_END} : faulty("it is empty");
	if (record.step == RECORD_FAULT)
		record.start = at - text.data;
	return record;
}
