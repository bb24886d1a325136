/*
 * grid.c
 *	  A table of text for people.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "ground/grid.h"

#define ELLIPSIS "\xe2\x80\xa6"

/*
 * Returns a grid without rows, allocated in the current memory context.  Cells wider than
 * max_width, in columns of the terminal, are cut.
 */
Grid *
grid_create(int ncolumns, int max_width)
{
	Grid *grid = palloc0(sizeof(Grid));

	grid->ncolumns = ncolumns;
	grid->max_width = max_width;
	grid->maxrows = 16;
	grid->widths = palloc0(ncolumns * sizeof(int));
	grid->cells = palloc(grid->maxrows * ncolumns * sizeof(char *));
	grid->rules = palloc(grid->maxrows * sizeof(bool));
	return grid;
}

/* Append an empty row; cells are set in the last row. */
void
grid_add_row(Grid *grid)
{
	if (grid->nrows == grid->maxrows)
	{
		grid->maxrows *= 2;
		grid->cells = repalloc(grid->cells, grid->maxrows * grid->ncolumns * sizeof(char *));
		grid->rules = repalloc(grid->rules, grid->maxrows * sizeof(bool));
	}
	memset(grid->cells + grid->nrows * grid->ncolumns, 0, grid->ncolumns * sizeof(char *));
	grid->rules[grid->nrows++] = false;
}

/* Append a row that is a horizontal line between the rows around it. */
void
grid_add_rule(Grid *grid)
{
	grid_add_row(grid);
	grid->rules[grid->nrows - 1] = true;
}

/* Characters that would move the cursor are escaped as in JSON. */
static int
append_character(StringInfo out, const char *s)
{
	int len = pg_utf_mblen((const unsigned char *) s);

	if (len == 1 && ((unsigned char) *s < ' ' || *s == 0x7f))
	{
		appendStringInfo(out, "\\u%04x", (unsigned char) *s);
		return 6;
	}
	appendBinaryStringInfo(out, s, len);
	return Max(pg_encoding_dsplen(PG_UTF8, s), 0);
}

/*
 * Set a cell of the last row to a copy of a text in UTF-8, allocated in the current memory context.
 * Control characters are escaped; a text that is too wide is cut and ends with an ellipsis.
 */
void
grid_set_text(Grid *grid, int column, ItemSpan text)
{
	StringInfoData out;
	int width = 0;
	int cut = 0; /* end of the text if it has to be cut */
	int cut_width = 0;

	initStringInfo(&out);
	for (uint32 i = 0; i < text.len && width <= grid->max_width;)
	{
		if (width < grid->max_width)
		{
			cut = out.len;
			cut_width = width;
		}
		width += append_character(&out, text.data + i);
		i += pg_utf_mblen((const unsigned char *) text.data + i);
	}
	if (width > grid->max_width)
	{
		out.len = cut;
		appendStringInfoString(&out, ELLIPSIS);
		width = cut_width + 1;
	}
	grid->cells[(grid->nrows - 1) * grid->ncolumns + column] = out.data;
	grid->widths[column] = Max(grid->widths[column], width);
}

/* Strings as they are, bytes in base64, everything else as plain JSON. */
void
grid_set_value(Grid *grid, int column, ItemSpan value)
{
	StringInfoData json;

	if (item_type(value) == ITEM_S)
	{
		grid_set_text(grid, column, item_payload(value));
		return;
	}
	if (item_type(value) == ITEM_B)
	{
		int len;
		char *base64 = item_base64(item_payload(value), &len);

		grid_set_text(grid, column, (ItemSpan){base64, (uint32) len});
		return;
	}
	initStringInfo(&json);
	item_print_plain(&json, value);
	grid_set_text(grid, column, (ItemSpan){json.data, (uint32) json.len});
	pfree(json.data);
}

static int
display_width(const char *s)
{
	int width = 0;

	for (; *s != '\0'; s += pg_utf_mblen((const unsigned char *) s))
		width += Max(pg_encoding_dsplen(PG_UTF8, s), 0);
	return width;
}

/* A row as text, without blanks at its end. */
char *
grid_line(const Grid *grid, int row)
{
	StringInfoData line;

	initStringInfo(&line);
	for (int i = 0; i < grid->ncolumns; i++)
	{
		const char *cell = grid->cells[row * grid->ncolumns + i];

		if (i > 0)
			appendStringInfoString(&line, grid->rules[row] ? "-+-" : " | ");
		if (grid->rules[row])
		{
			for (int k = 0; k < grid->widths[i]; k++)
				appendStringInfoChar(&line, '-');
			continue;
		}
		appendStringInfoString(&line, cell != NULL ? cell : "");
		appendStringInfoSpaces(&line, grid->widths[i] - (cell != NULL ? display_width(cell) : 0));
	}
	while (line.len > 0 && line.data[line.len - 1] == ' ')
		line.data[--line.len] = '\0';
	return line.data;
}
