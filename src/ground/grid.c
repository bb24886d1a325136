/*
 * grid.c
 *	  A table of text for people, no wider than their terminal.
 *
 * A column is as wide as its widest cell.  If the table is wider than asked for, its widest columns
 * become narrower, and their cells go on in the lines below.
 */
#include "postgres.h"

#include <limits.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "ground/display.h"
#include "ground/grid.h"

/* No column becomes narrower, so a table of many columns may be wider than asked for. */
#define MIN_COLUMN_WIDTH 4

typedef struct Grid
{
	const DisplayMarks *marks;
	int ncolumns;
	int *widths;
} Grid;

/* Cells of a row, and of each what has not been printed yet. */
typedef struct Line
{
	const char *from;
	int len;
} Line;

/*
 * Takes the next line of at most width columns from a cell.  It ends at two blanks, which separate
 * what a cell lists, or else at a blank, or else in a word: behind what separates parts of a key or
 * a name, if that leaves no short line.
 */
static Line
take_line(const char **rest, int width)
{
	const char *s = *rest;
	Line line = {s, 0};
	int used = 0;
	int blank = 0; /* length up to the last blank, and up to the last two of them */
	int blanks = 0;
	int part = 0; /* length up to the end of the last part of a word */

	while (*s != '\0')
	{
		int w = Max(pg_encoding_dsplen(PG_UTF8, s), 0);

		if (*s == ' ' && s > line.from && s[-1] != ' ')
		{
			blank = (int) (s - line.from);
			if (s[1] == ' ')
				blanks = blank;
		}
		if (used + w > width && *s != ' ' && s > line.from)
			break;
		used += w;
		if (strchr("#_-/.,", *s) != NULL)
			part = (int) (s + 1 - line.from);
		s += pg_utf_mblen((const unsigned char *) s);
	}
	line.len = (int) (s - line.from);
	if (*s != '\0' && (blanks > 0 || blank > 0))
		line.len = blanks > 0 ? blanks : blank;
	else if (*s != '\0' && part > line.len / 2)
		line.len = part;
	*rest = line.from + line.len;
	*rest += strspn(*rest, " ");
	while (line.len > 0 && line.from[line.len - 1] == ' ')
		line.len--;
	return line;
}

/* The widest line of a column's cells, if these have at most width columns. */
static int
used_width(const List *rows, int column, int width)
{
	const ListCell *cell;
	int used = 0;

	foreach (cell, rows)
	{
		char **cells = lfirst(cell);
		const char *rest = cells == NULL || cells[column] == NULL ? "" : cells[column];

		CHECK_FOR_INTERRUPTS();
		while (*rest != '\0')
		{
			Line line = take_line(&rest, width);

			used = Max(used, display_width(line.from, line.len));
		}
	}
	return used;
}

/* The longest word in a column's cells. */
static int
word_width(const List *rows, int column)
{
	const ListCell *cell;
	int longest = 0;

	foreach (cell, rows)
	{
		char **cells = lfirst(cell);
		const char *word = cells == NULL || cells[column] == NULL ? "" : cells[column];

		CHECK_FOR_INTERRUPTS();
		while (*word != '\0')
		{
			int len = (int) strcspn(word, " ");

			longest = Max(longest, display_width(word, len));
			word += len;
			word += strspn(word, " ");
		}
	}
	return longest;
}

/* Returns the widest column that is wider than its own limit, or else than limit; or -1. */
static int
widest_column(const Grid *grid, const int *limits, int limit)
{
	int widest = -1;

	for (int i = 0; i < grid->ncolumns; i++)
	{
		if (grid->widths[i] > (limits != NULL ? limits[i] : limit) &&
			(widest < 0 || grid->widths[i] > grid->widths[widest]))
			widest = i;
	}
	return widest;
}

/* Columns become narrower as long as no word is broken, and only then beyond that. */
static void
shrink(Grid *grid, const List *rows, int excess)
{
	int *words = palloc(grid->ncolumns * sizeof(int));

	for (int i = 0; i < grid->ncolumns; i++)
		words[i] = Max(word_width(rows, i), MIN_COLUMN_WIDTH);
	for (; excess > 0; excess--)
	{
		int widest = widest_column(grid, words, 0);

		if (widest < 0)
			widest = widest_column(grid, NULL, MIN_COLUMN_WIDTH);
		if (widest < 0)
			break;
		grid->widths[widest]--;
	}
	pfree(words);
}

static void
choose_widths(Grid *grid, const List *rows, int width)
{
	int between = display_width(grid->marks->between, (int) strlen(grid->marks->between));
	int used = between * (grid->ncolumns - 1);

	for (int i = 0; i < grid->ncolumns; i++)
	{
		grid->widths[i] = used_width(rows, i, INT_MAX);
		used += grid->widths[i];
	}
	shrink(grid, rows, used - width);
	for (int i = 0; i < grid->ncolumns; i++)
		grid->widths[i] = used_width(rows, i, Max(grid->widths[i], 1));
}

static void
print_rule(const Grid *grid, StringInfo out)
{
	for (int i = 0; i < grid->ncolumns; i++)
	{
		if (i > 0)
			appendStringInfoString(out, grid->marks->crossing);
		for (int k = 0; k < grid->widths[i]; k++)
			appendStringInfoString(out, grid->marks->rule);
	}
	appendStringInfoChar(out, '\n');
}

/* Prints one line of a row, without blanks at its end, and returns whether there is another one. */
static bool
print_line(const Grid *grid, const char **rests, StringInfo out)
{
	bool more = false;

	for (int i = 0; i < grid->ncolumns; i++)
	{
		Line line = take_line(&rests[i], grid->widths[i]);

		if (i > 0)
			appendStringInfoString(out, grid->marks->between);
		appendBinaryStringInfo(out, line.from, line.len);
		appendStringInfoSpaces(out, grid->widths[i] - display_width(line.from, line.len));
		more |= *rests[i] != '\0';
	}
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	appendStringInfoChar(out, '\n');
	return more;
}

static void
print_row(const Grid *grid, char **cells, StringInfo out)
{
	const char **rests = palloc(grid->ncolumns * sizeof(char *));

	for (int i = 0; i < grid->ncolumns; i++)
		rests[i] = cells[i] != NULL ? cells[i] : "";
	while (print_line(grid, rests, out))
		CHECK_FOR_INTERRUPTS();
	pfree(rests);
}

/*
 * Appends rows as lines of at most width columns.  A row is an array of ncolumns cells, which are
 * text in UTF-8 as display_append() writes it, or NULL if they are empty.  A row that is NULL is a
 * horizontal line.
 */
void
grid_print(const List *rows, int ncolumns, int width, StringInfo out)
{
	Grid grid = {display_marks(), ncolumns, palloc0(ncolumns * sizeof(int))};
	const ListCell *cell;

	choose_widths(&grid, rows, width);
	foreach (cell, rows)
	{
		CHECK_FOR_INTERRUPTS();
		if (lfirst(cell) == NULL)
			print_rule(&grid, out);
		else
			print_row(&grid, lfirst(cell), out);
	}
	pfree(grid.widths);
}
