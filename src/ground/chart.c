/*
 * chart.c
 *	  Charts for people: tables, as text that fits a terminal or in Markdown.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "ground/arguments.h"
#include "ground/chart.h"
#include "ground/display.h"
#include "ground/grid.h"

static const char *const formats[] = {"text", "markdown", NULL};

/*
 * Returns what argument i of an SQL function, format, and the one after it, width, ask for.  The
 * format is "text" or "markdown"; NULL is text, and any other value raises an error.
 */
ChartStyle
chart_style(FunctionCallInfo fcinfo, int i)
{
	ChartStyle style;

	style.format = (ChartFormat) argument_choice(fcinfo, i, "format", CHART_TEXT, formats);
	style.width = argument_between(fcinfo, i + 1, "width", 20, CHART_MAX_WIDTH);
	return style;
}

/* Returns a new chart in the current memory context.  Its first row is the header. */
Chart *
chart_create(ChartStyle style, int ncolumns)
{
	Chart *chart = palloc0(sizeof(Chart));

	chart->style = style;
	chart->ncolumns = ncolumns;
	return chart;
}

/*
 * Adds a row of as many cells as the chart has columns; NULL is an empty cell.  The strings are not
 * copied, and must live as long as the chart.
 */
void
chart_add(Chart *chart, char **cells)
{
	char **row = palloc(chart->ncolumns * sizeof(char *));

	memcpy(row, cells, chart->ncolumns * sizeof(char *));
	chart->rows = lappend(chart->rows, row);
	if (list_length(chart->rows) == 1)
		chart_add_rule(chart);
}

/* Adds a line between rows, which Markdown has none of. */
void
chart_add_rule(Chart *chart)
{
	chart->rows = lappend(chart->rows, NULL);
}

/*
 * Cells: whatever does something on a terminal is escaped.  In Markdown "|" ends a cell, even in
 * code, and "<" begins a tag outside of it.
 */

static ItemSpan
displayed(ItemSpan text)
{
	StringInfoData out;

	initStringInfo(&out);
	display_append(&out, text);
	return (ItemSpan){out.data, (uint32) out.len};
}

static void
append_character(StringInfo out, char c)
{
	if (c == '|')
		appendStringInfoChar(out, '\\');
	appendStringInfoChar(out, c);
}

/* The longest run of backticks: code is enclosed in a longer one. */
static int
longest_run(ItemSpan text)
{
	int longest = 0;
	int run = 0;

	for (uint32 i = 0; i < text.len; i++)
	{
		run = text.data[i] == '`' ? run + 1 : 0;
		longest = Max(longest, run);
	}
	return longest;
}

static void
append_ticks(StringInfo out, int n)
{
	for (int i = 0; i < n; i++)
		appendStringInfoChar(out, '`');
}

/* Cells in code format: templates. */
char *
chart_code(const Chart *chart, ItemSpan text)
{
	int ticks = longest_run(text) + 1;
	StringInfoData out;

	text = displayed(text);
	if (chart->style.format == CHART_TEXT)
		return (char *) text.data;
	initStringInfo(&out);
	append_ticks(&out, ticks);
	if (ticks > 1)
		appendStringInfoChar(&out, ' ');
	for (uint32 i = 0; i < text.len; i++)
		append_character(&out, text.data[i]);
	if (ticks > 1)
		appendStringInfoChar(&out, ' ');
	append_ticks(&out, ticks);
	return out.data;
}

/* Names, and what people write. */
char *
chart_words(const Chart *chart, ItemSpan text)
{
	StringInfoData out;

	text = displayed(text);
	if (chart->style.format == CHART_TEXT)
		return (char *) text.data;
	initStringInfo(&out);
	for (uint32 i = 0; i < text.len; i++)
	{
		if (strchr("\\`*_<>[]&", text.data[i]) != NULL)
			appendStringInfoChar(&out, '\\');
		append_character(&out, text.data[i]);
	}
	return out.data;
}

static void
print_markdown(const Chart *chart, StringInfo out)
{
	ListCell *cell;

	foreach (cell, chart->rows)
	{
		char **cells = lfirst(cell);

		if (cells == NULL)
			continue;
		appendStringInfoChar(out, '|');
		for (int i = 0; i < chart->ncolumns; i++)
			appendStringInfo(out, " %s |", cells[i] != NULL ? cells[i] : "");
		appendStringInfoChar(out, '\n');
		if (cell != list_head(chart->rows))
			continue;
		appendStringInfoChar(out, '|');
		for (int i = 0; i < chart->ncolumns; i++)
			appendStringInfoString(out, "---|");
		appendStringInfoChar(out, '\n');
	}
}

/* Appends the chart to out, after an empty line if out is not empty.  A title may be NULL. */
void
chart_print(const Chart *chart, const char *title, StringInfo out)
{
	if (out->len > 0)
		appendStringInfoChar(out, '\n');
	if (title != NULL)
		appendStringInfo(out, chart->style.format == CHART_TEXT ? "%s\n\n" : "### %s\n\n", title);
	if (chart->style.format == CHART_TEXT)
		grid_print(chart->rows, chart->ncolumns, chart->style.width, out);
	else
		print_markdown(chart, out);
}

/* Returns the printed lines from a function that returns SETOF text. */
void
chart_return(FunctionCallInfo fcinfo, const char *printed)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	while (*printed != '\0')
	{
		int len = (int) strcspn(printed, "\n");
		Datum line = PointerGetDatum(cstring_to_text_with_len(printed, len));
		bool isnull = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &line, &isnull);
		printed += len + (printed[len] == '\n');
	}
}
