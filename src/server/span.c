/*
 * span.c
 *	  The length of text in characters, and text in messages.
 */
#include "postgres.h"

#include "server/span.h"

/* Counts the characters of a text, U+0000 among them, unlike pg_mbstrlen_with_len(). */
int
item_characters(ItemSpan text)
{
	int n = 0;

	for (uint32 i = 0; i < text.len; i++)
		n += ((unsigned char) text.data[i] & 0xc0) != 0x80;
	return n;
}

/*
 * Returns the length of a text as size() counts it, in code units of UTF-16.  A character has one,
 * or two if it has four bytes.
 */
uint32
item_utf16_units(ItemSpan text)
{
	uint32 n = 0;

	for (uint32 i = 0; i < text.len; i++)
	{
		unsigned char byte = (unsigned char) text.data[i];

		n += (byte & 0xc0) != 0x80;
		n += byte >= 0xf0;
	}
	return n;
}

static void
quote(StringInfo out, ItemSpan text, uint32 most, bool control)
{
	uint32 len = Min(text.len, most);

	/* not within a character: pg_mbcliplen() would stop at U+0000 */
	while (len > 0 && len < text.len && ((unsigned char) text.data[len] & 0xc0) == 0x80)
		len--;
	for (uint32 i = 0; i < len; i++)
	{
		unsigned char c = text.data[i];

		if (c == '\0' || (!control && (c < 0x20 || c == 0x7f)))
			appendStringInfo(out, "\\u%04x", c);
		else
			appendStringInfoChar(out, text.data[i]);
	}
	if (len < text.len)
		appendStringInfoString(out, "...");
}

/*
 * Append text from an item to a message: at most 64 bytes, and with control characters escaped,
 * since messages are shown on terminals.
 */
void
item_quote(StringInfo out, ItemSpan text)
{
	quote(out, text, 64, false);
}

/*
 * Does the same for DynamoDB's words: as it stands there, but for U+0000, since a message is a C
 * string.  Values of a reasonable length are told in full.
 */
void
item_quote_words(StringInfo out, ItemSpan text)
{
	quote(out, text, ITEM_WORDS_TEXT, true);
}

/* Returns the same as a string of its own. */
char *
item_quoted_words(ItemSpan text)
{
	StringInfoData out;

	initStringInfo(&out);
	item_quote_words(&out, text);
	return out.data;
}

/* Returns text as item_quote() has it, as a string of its own. */
char *
item_quoted(ItemSpan text)
{
	StringInfoData out;

	initStringInfo(&out);
	item_quote(&out, text);
	return out.data;
}
