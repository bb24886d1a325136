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

static void
append_line(StringInfo out, const char *begin, const char *text)
{
	appendStringInfo(out, "%s%s\n", begin, propose_shown(text));
}

/* Appends a line that begins with "-- ". */
void
propose_comment_text(StringInfo out, const char *text)
{
	append_line(out, "-- ", text);
}

/* Adds a remark to a list of them; a question is one that a person has to answer. */
void
propose_remark_text(List **remarks, bool question, char *text)
{
	ProposeRemark *remark = palloc(sizeof(ProposeRemark));

	*remark = (ProposeRemark){question, text};
	*remarks = lappend(*remarks, remark);
}

/* Appends remarks as lines; those of questions begin with "-- ? ". */
void
propose_print_remarks(StringInfo out, const List *remarks)
{
	ListCell *cell;

	foreach (cell, remarks)
	{
		const ProposeRemark *remark = lfirst(cell);

		append_line(out, remark->question ? "-- ? " : "-- ", remark->text);
	}
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
