/*
 * display.c
 *	  Text on a terminal: how wide it is, and what must not get there.
 */
#include "postgres.h"

#include <limits.h>

#include "mb/pg_wchar.h"

#include "ground/display.h"

/* Lines for boxes are in UTF-8 alone; a client of another encoding could not get them. */
const DisplayMarks *
display_marks(void)
{
	static const DisplayMarks utf8 = {" \xe2\x94\x82 ", "\xe2\x94\x80",
									  "\xe2\x94\x80\xe2\x94\xbc\xe2\x94\x80", "\xe2\x80\xa6"};
	static const DisplayMarks ascii = {" | ", "-", "-+-", "..."};

	return pg_get_client_encoding() == PG_UTF8 ? &utf8 : &ascii;
}

/* Returns how many columns a text in UTF-8 takes: none for accents, two for wide characters. */
int
display_width(const char *text, int len)
{
	int width = 0;

	for (int i = 0; i < len; i += pg_utf_mblen((const unsigned char *) text + i))
		width += Max(pg_encoding_dsplen(PG_UTF8, text + i), 0);
	return width;
}

/*
 * Returns whether a character would do something else than be shown: controls, of which those of
 * the second set (U+0080 to U+009F) begin sequences as the escape character does, marks that turn
 * the direction of what follows, ends of lines, and blanks of no width.  The joiner of emoji,
 * U+200D, is shown.
 */
static bool
is_hidden(pg_wchar c)
{
	return c < ' ' || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c ||
		   (c >= 0x200b && c <= 0x200f && c != 0x200d) || (c >= 0x2028 && c <= 0x202e) ||
		   (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
		   (c >= 0xe0000 && c <= 0xe0fff);
}

/* Escapes are those of JSON. */
static void
append_character(StringInfo out, const char *s, int len)
{
	pg_wchar c = utf8_to_unicode((const unsigned char *) s);

	if (!is_hidden(c))
		appendBinaryStringInfo(out, s, len);
	else if (c <= 0xffff)
		appendStringInfo(out, "\\u%04x", c);
	else
		appendStringInfo(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

/* Appends a text in UTF-8; characters that would do something else than be shown are escaped. */
void
display_append(StringInfo out, ItemSpan text)
{
	display_append_cut(out, text, INT_MAX);
}

/*
 * Appends a text as display_append() does.  If it takes more than max_width columns, it is cut and
 * ends with an ellipsis.
 */
void
display_append_cut(StringInfo out, ItemSpan text, int max_width)
{
	const char *ellipsis = display_marks()->cut;
	int room = max_width - display_width(ellipsis, (int) strlen(ellipsis));
	int width = 0;
	int cut = out->len; /* end of the text if it has to be cut */

	for (uint32 i = 0; i < text.len && width <= max_width;)
	{
		uint32 len = pg_utf_mblen((const unsigned char *) text.data + i);
		int start = out->len;

		if (len > text.len - i)
			break;
		append_character(out, text.data + i, (int) len);
		width += display_width(out->data + start, out->len - start);
		if (width <= room)
			cut = out->len;
		i += len;
	}
	if (width <= max_width)
		return;
	out->len = cut;
	appendStringInfoString(out, ellipsis);
}
