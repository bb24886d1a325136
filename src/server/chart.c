/*
 * chart.c
 *	  Charts for people: tables, as text that fits a terminal or in Markdown.
 *
 * A column of text is as wide as its widest cell.  If the table is wider than asked for, its widest
 * columns become narrower, and their cells go on in the lines below.
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"

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

/*
 * Returns how many bytes of a text in UTF-8 fit into so many columns, which it takes from *width: an
 * accent takes none, a wide character two.
 */
static int
fit(const char *text, int *width)
{
	int len = 0;

	for (; text[len] != '\0'; len += pg_utf_mblen((const unsigned char *) text + len))
	{
		int columns = Max(pg_encoding_dsplen(PG_UTF8, text + len), 0);

		if (columns > *width)
			break;
		*width -= columns;
	}
	return len;
}

static int
text_width(const char *text)
{
	int rest = INT_MAX;

	(void) fit(text, &rest);
	return INT_MAX - rest;
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
	int room = max_width - 3;

	return text_width(words) <= max_width ? words : psprintf("%.*s...", fit(words, &room), words);
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

	for (int i = 0; i < chart->ncolumns && !chart->markdown; i++)
	{
		CHECK_FOR_INTERRUPTS();
		foreach (cell, chart->rows)
			widths[i] = Max(widths[i], text_width(((char **) lfirst(cell))[i]));
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
	int len = width == 0 ? (int) strlen(*rest) : fit(*rest, &width);
	int blank = len;
	char *line;

	while ((*rest)[len] != '\0' && blank > 0 && (*rest)[blank] != ' ')
		blank--;
	line = pnstrdup(*rest, blank > 0 ? blank : len);
	*rest += strlen(line);
	*rest += strspn(*rest, " ");
	return line;
}

/* Appends the lines of a row, as many as its longest cell needs, which have no blanks at their ends. */
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
			appendStringInfoSpaces(&line, widths[i] - text_width(text));
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
		if (foreach_current_index(cell) == 0)
			lines = print_row(chart, widths, dashes, chart->markdown ? "|" : "-+-", lines);
	}
	return lines;
}

/*
 * draw_chart(cells, format, width, title, code): the cells are an array of rows, or of a header alone.
 * With code, Markdown shows the cells below the header and behind the first column as code, in which
 * only "|" is escaped.  A cell that has a backtick is shown as text.
 */
PG_FUNCTION_INFO_V1(dyn_draw_chart);
Datum
dyn_draw_chart(PG_FUNCTION_ARGS)
{
	text *title = argument_text(fcinfo, 3);
	bool code = argument_flag(fcinfo, 4, false);
	List *lines = NIL;
	ArrayType *array;
	int ncolumns;
	Chart *chart;
	Datum *cells;
	bool *nulls;
	int n;

	argument_require(fcinfo, 0, "cells");
	array = PG_GETARG_ARRAYTYPE_P(0);
	ncolumns = ARR_NDIM(array) == 0 ? 1 : ARR_DIMS(array)[ARR_NDIM(array) - 1];
	chart = chart_create(fcinfo, 1, ncolumns);
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &cells, &nulls, &n);
	for (int i = 0; i < n; i += ncolumns)
	{
		char **row = palloc0(ncolumns * sizeof(char *));

		for (int k = 0; k < ncolumns; k++)
		{
			ItemSpan cell = nulls[i + k] ? item_span("") : text_span(DatumGetTextPP(cells[i + k]));

			row[k] = code && i > 0 && k > 0 && chart->markdown &&
							 memchr(cell.data, '`', cell.len) == NULL
						 ? psprintf("`%s`", escape(cell, "|"))
						 : chart_words(chart, cell, INT_MAX);
		}
		chart_add(chart, row);
	}
	if (title != NULL)
		lines = list_make2(psprintf("%s%s", chart->markdown ? "### " : "",
									chart_words(chart, text_span(title), INT_MAX)),
						   "");
	return_texts(fcinfo, chart_lines(chart, lines));
	return (Datum) 0;
}
