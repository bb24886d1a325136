/*
 * chart.c
 *	  Charts for people: tables, as text that fits a terminal or in Markdown.
 *
 * A column of text is as wide as its widest cell.  If the table is wider than asked for, its widest
 * columns become narrower, and their cells go on in the lines below.
 */
#include "postgres.h"

#include <limits.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "server/arguments.h"
#include "server/chart.h"

/* No column becomes narrower, so a table of many columns may be wider than asked for. */
#define MIN_COLUMN_WIDTH 4

/*
 * Returns a new chart in the current memory context, as argument i of an SQL function, format, and
 * the one after it, width, ask for.
 */
Chart *
chart_create(FunctionCallInfo fcinfo, int i, int ncolumns)
{
	static const char *const formats[] = {"text", "markdown", NULL};
	Chart *chart = palloc0(sizeof(Chart));

	chart->ncolumns = ncolumns;
	chart->markdown = argument_choice(fcinfo, i, "format", 0, formats) == 1;
	chart->width = argument_between(fcinfo, i + 1, "width", 20, CHART_MAX_WIDTH);
	return chart;
}

/* Adds a row, first of all the header; NULL is an empty cell.  The chart keeps the strings. */
void
chart_add(Chart *chart, char **cells)
{
	char **row = palloc(chart->ncolumns * sizeof(char *));

	for (int i = 0; i < chart->ncolumns; i++)
		row[i] = cells[i] != NULL ? cells[i] : "";
	chart->rows = lappend(chart->rows, row);
}

/*
 * Cells
 */

/* Returns how many columns a text in UTF-8 takes: an accent none, a wide character two. */
static int
text_width(const char *text, int len)
{
	int width = 0;

	for (int i = 0; i < len; i += pg_utf_mblen((const unsigned char *) text + i))
		width += Max(pg_encoding_dsplen(PG_UTF8, text + i), 0);
	return width;
}

/* Returns the length of what fits into so many columns. */
static int
fitting_length(const char *text, int width)
{
	int len = 0;
	int next;

	for (; text[len] != '\0'; len += next)
	{
		next = pg_utf_mblen((const unsigned char *) text + len);
		width -= text_width(text + len, next);
		if (width < 0)
			break;
	}
	return len;
}

/*
 * Returns the length of a character in UTF-8 that would do something else than be shown, or 0:
 * controls, of which those of the second set (U+0080 to U+009F) begin sequences as the escape
 * character does, marks that turn the direction of what follows, ends of lines, and blanks of no
 * width.  The joiner of emoji, U+200D, is shown.
 */
int
chart_hidden(const char *s)
{
	pg_wchar c = utf8_to_unicode((const unsigned char *) s);

	if (c < ' ' || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c ||
		(c >= 0x200b && c <= 0x200f && c != 0x200d) || (c >= 0x2028 && c <= 0x202e) ||
		(c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
		(c >= 0xe0000 && c <= 0xe0fff))
		return pg_utf_mblen((const unsigned char *) s);
	return 0;
}

/* Returns a text with a backslash before some characters, and hidden ones as "\u001b". */
static char *
escape(ItemSpan text, const char *special)
{
	StringInfoData out;
	uint32 len;

	initStringInfo(&out);
	for (uint32 i = 0; i < text.len; i += len)
	{
		const char *c = text.data + i;

		len = (uint32) pg_utf_mblen((const unsigned char *) c);
		if (len > text.len - i)
			break;
		if (chart_hidden(c))
			appendStringInfo(&out, "\\u%04x", utf8_to_unicode((const unsigned char *) c));
		else
			appendStringInfo(&out, "%s%.*s", strchr(special, *c) ? "\\" : "", (int) len, c);
	}
	return out.data;
}

/* Returns names, and what people write, cut to so many columns. */
char *
chart_words(const Chart *chart, ItemSpan text, int max_width)
{
	char *words = escape(text, chart->markdown ? "\\`*_<>[]&|" : "");

	if (words[fitting_length(words, max_width)] == '\0')
		return words;
	return psprintf("%.*s...", fitting_length(words, max_width - 3), words);
}

/* Returns a text whole; NULL is an empty one. */
char *
chart_text(const Chart *chart, const char *text)
{
	return chart_words(chart, item_span(text != NULL ? text : ""), INT_MAX);
}

/* Returns a template, in Markdown as code: there "|" alone is escaped and no backtick can be. */
char *
chart_code(const Chart *chart, const char *text)
{
	if (!chart->markdown || strchr(text, '`') != NULL)
		return chart_text(chart, text);
	return psprintf("`%s`", escape(item_span(text), "|"));
}

/*
 * Printing
 */

/*
 * Gives each column the width its cells need, and the widest ones less if that is too much.  In
 * Markdown, where a row is one line, columns have no width.
 */
static int *
choose_widths(const Chart *chart)
{
	int *widths = palloc0(chart->ncolumns * sizeof(int));
	int excess = 3 * (chart->ncolumns - 1) - chart->width;
	ListCell *cell;

	if (chart->markdown)
		return widths;

	for (int i = 0; i < chart->ncolumns; i++)
	{
		foreach (cell, chart->rows)
		{
			const char *text = ((char **) lfirst(cell))[i];

			CHECK_FOR_INTERRUPTS();
			widths[i] = Max(widths[i], text_width(text, (int) strlen(text)));
		}
		excess += widths[i];
	}
	for (; excess > 0; excess--)
	{
		int widest = 0;

		for (int i = 1; i < chart->ncolumns; i++)
			widest = widths[i] > widths[widest] ? i : widest;
		if (widths[widest] <= MIN_COLUMN_WIDTH)
			break;
		widths[widest]--;
	}
	return widths;
}

/*
 * Takes the next line from a cell: it ends at the last blank that fits, or else in a word.  Without a
 * width it is the whole cell.
 */
static char *
take_line(char **rest, int width)
{
	int len = width == 0 ? (int) strlen(*rest) : fitting_length(*rest, width);
	int blank = len;
	char *line;

	while ((*rest)[len] != '\0' && blank > 0 && (*rest)[blank] != ' ')
		blank--;
	line = pnstrdup(*rest, blank > 0 ? blank : len);
	*rest += strlen(line);
	*rest += strspn(*rest, " ");
	return line;
}

/* The lines of a row are as many as its longest cell needs, and have no blanks at their ends. */
static List *
print_row(const Chart *chart, const int *widths, char **cells, const char *between, List *lines)
{
	const char *edge = chart->markdown ? between + strspn(between, " ") : "";
	bool more = true;

	while (more)
	{
		StringInfoData line;

		CHECK_FOR_INTERRUPTS();
		initStringInfo(&line);
		more = false;
		for (int i = 0; i < chart->ncolumns; i++)
		{
			char *text = take_line(&cells[i], widths[i]);

			appendStringInfo(&line, "%s%s", i > 0 ? between : edge, text);
			appendStringInfoSpaces(&line, widths[i] - text_width(text, (int) strlen(text)));
			more |= *cells[i] != '\0';
		}
		appendStringInfoString(&line, chart->markdown ? between : "");
		while (line.len > 0 && line.data[line.len - 1] == ' ')
			line.data[--line.len] = '\0';
		lines = lappend(lines, line.data);
	}
	return lines;
}

/* Appends the lines of a chart to others.  Its cells are used up. */
List *
chart_lines(const Chart *chart, List *lines)
{
	const int *widths = choose_widths(chart);
	char **dashes = palloc(chart->ncolumns * sizeof(char *));
	ListCell *cell;

	for (int i = 0; i < chart->ncolumns; i++)
	{
		int len = chart->markdown ? 3 : widths[i];

		dashes[i] = memset(palloc0(len + 1), '-', len);
	}
	foreach (cell, chart->rows)
	{
		lines = print_row(chart, widths, lfirst(cell), " | ", lines);
		if (cell == list_head(chart->rows))
			lines = print_row(chart, widths, dashes, chart->markdown ? "|" : "-+-", lines);
	}
	return lines;
}
