/*
 * chart.c
 *	  Charts of a model: tables of text, plain or in Markdown.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"

#include "ground/arguments.h"
#include "ground/grid.h"
#include "entity/chart.h"

/*
 * Wider than any sensible declaration, so that nothing is cut; but a mistake does not fill the
 * screen.
 */
#define CHART_MAX_WIDTH 1000

static const char *const formats[] = {"text", "markdown", NULL};

/*
 * Returns the format that argument i of an SQL function names, "text" or "markdown"; NULL is text,
 * and any other value raises an error.
 */
ChartFormat
chart_format(FunctionCallInfo fcinfo, int i)
{
	return (ChartFormat) argument_choice(fcinfo, i, "format", CHART_TEXT, formats);
}

/*
 * Returns a new chart in the current memory context.  The strings of the header are not copied, and
 * must live as long as the chart.
 */
Chart *
chart_create(ChartFormat format, int ncolumns, char **header)
{
	Chart *chart = palloc0(sizeof(Chart));

	chart->format = format;
	chart->ncolumns = ncolumns;
	chart_add(chart, header);
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
}

/*
 * Cells: in Markdown "|" ends a cell, even in code, and "<" begins a tag outside of it.
 */

static void
append_character(StringInfo out, char c)
{
	if (c == '|')
		appendStringInfoString(out, "\\|");
	else
		appendStringInfoChar(out, (unsigned char) c < ' ' ? ' ' : c);
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

	if (chart->format == CHART_TEXT)
		return pnstrdup(text.data, text.len);
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

	if (chart->format == CHART_TEXT)
		return pnstrdup(text.data, text.len);
	initStringInfo(&out);
	for (uint32 i = 0; i < text.len; i++)
	{
		if (text.data[i] != '\0' && strchr("\\`*_<>[]", text.data[i]) != NULL)
			appendStringInfoChar(&out, '\\');
		append_character(&out, text.data[i]);
	}
	return out.data;
}

static void
print_text(const Chart *chart, StringInfo out)
{
	Grid *grid = grid_create(chart->ncolumns, CHART_MAX_WIDTH);
	ListCell *cell;

	foreach (cell, chart->rows)
	{
		char **cells = lfirst(cell);

		grid_add_row(grid);
		for (int i = 0; i < chart->ncolumns; i++)
		{
			if (cells[i] != NULL)
				grid_set_text(grid, i, (ItemSpan){cells[i], (uint32) strlen(cells[i])});
		}
		if (cell == list_head(chart->rows))
			grid_add_rule(grid);
	}
	for (int i = 0; i < grid->nrows; i++)
		appendStringInfo(out, "%s\n", grid_line(grid, i));
}

static void
print_markdown(const Chart *chart, StringInfo out)
{
	ListCell *cell;

	foreach (cell, chart->rows)
	{
		char **cells = lfirst(cell);

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
		appendStringInfo(out, chart->format == CHART_TEXT ? "%s\n\n" : "### %s\n\n", title);
	if (chart->format == CHART_TEXT)
		print_text(chart, out);
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
