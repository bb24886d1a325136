/*
 * comment.c
 *	  Lines of comments.
 *
 * They hold names, which may be any text.  A comment ends at the end of its line, so no character
 * that ends a line may get there.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "models/propose/propose.h"
#include "server/chart.h"

/* Returns the bytes of a character that ends a line, or changes how others are shown, or 0. */
static int
control_length(const char *p)
{
	if (GetDatabaseEncoding() == PG_UTF8)
		return chart_hidden(p);
	return (unsigned char) *p < ' ' || *p == 0x7f;
}

/* Returns a text as comments show it: what controls a terminal or ends a line becomes a "?". */
char *
propose_shown(const char *text)
{
	StringInfoData shown;

	initStringInfo(&shown);
	while (*text != '\0')
	{
		int control = control_length(text);

		appendStringInfoChar(&shown, control > 0 ? '?' : *text);
		text += Max(control, 1);
	}
	return shown.data;
}

/* Appends a line that begins with "-- ". */
void
propose_comment_text(StringInfo out, const char *text)
{
	appendStringInfo(out, "-- %s\n", propose_shown(text));
}

/* Appends remarks as lines. */
void
propose_print_remarks(StringInfo out, const List *remarks)
{
	ListCell *cell;

	foreach (cell, remarks)
		propose_comment_text(out, lfirst(cell));
}

/* Returns names of columns for a comment: "a, b". */
const char *
propose_columns(const ProposeTable *table, const List *columns)
{
	const char *text = "";
	ListCell *cell;

	foreach (cell, columns)
		text = propose_add(text, ", ", table->columns[lfirst_int(cell)].name);
	return text;
}
