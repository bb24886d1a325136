/*
 * span.h
 *	  Bytes that belong to something else: their order, and how messages show them.
 */
#ifndef DYNAMO_TABLE_SERVER_SPAN_H
#define DYNAMO_TABLE_SERVER_SPAN_H

#include "lib/stringinfo.h"

#include "server/compat.h"

/* An ItemSpan is bytes in an item, a text or a request: a value with its tag, or a name. */
typedef struct ItemSpan
{
	const char *data;
	uint32 len;
} ItemSpan;

static inline int
item_compare_bytes(ItemSpan a, ItemSpan b)
{
	uint32 len = Min(a.len, b.len);
	/* nothing may be at NULL, which memcmp() must not be given */
	int cmp = len == 0 ? 0 : memcmp(a.data, b.data, len);

	if (cmp != 0)
		return cmp;
	return a.len < b.len ? -1 : a.len > b.len ? 1 : 0;
}

/* Does the same for qsort(). */
static inline int
item_compare_spans(const void *a, const void *b)
{
	return item_compare_bytes(*(const ItemSpan *) a, *(const ItemSpan *) b);
}

/* Returns the bytes of a text or bytea, which is not compressed or out of line. */
static inline ItemSpan
text_span(const void *t)
{
	return (ItemSpan){VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t)};
}

static inline ItemSpan
item_span(const char *text)
{
	return (ItemSpan){text, (uint32) strlen(text)};
}

/* Returns a copy in the current memory context, with a zero byte behind it. */
static inline ItemSpan
span_copy(ItemSpan span)
{
	char *copy;

	if (span.data == NULL)
		return span;
	copy = palloc(span.len + 1);
	memcpy(copy, span.data, span.len);
	copy[span.len] = '\0';
	return (ItemSpan){copy, span.len};
}

/* Returns a copy up to the first zero byte, and ends it with one. */
static inline char *
span_string(ItemSpan span)
{
	return pnstrdup(span.data, span.len);
}

static inline bool
item_span_is(ItemSpan span, const char *text)
{
	return span.len == strlen(text) && memcmp(span.data, text, span.len) == 0;
}

#define ITEM_WORDS_TEXT 1024 /* bytes of a name or value in DynamoDB's words */

extern int item_characters(ItemSpan text);
extern uint32 item_utf16_units(ItemSpan text);
extern void item_quote(StringInfo out, ItemSpan text);
extern char *item_quoted(ItemSpan text);
extern void item_quote_words(StringInfo out, ItemSpan text);
extern char *item_quoted_words(ItemSpan text);

#endif
