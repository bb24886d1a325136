/*
 * literal.c
 *	  Parts of statements: calls of the extension's functions, and literals of JSON.
 *
 * JSON is printed in pieces, one string literal on each line, which SQL puts together.  So a line
 * can be made a comment, or be uncommented, by itself.  The pieces are plain literals: JSON writes
 * a backslash always before a character that is no quote, so no setting changes where one ends.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "item/item.h"
#include "models/propose/propose.h"
#include "server/extension.h"

/* Returns a list of texts with another one. */
char *
propose_add(const char *list, const char *between, const char *text)
{
	return psprintf("%s%s%s", list, *list == '\0' ? "" : between, text);
}

/* Returns a string of JSON. */
char *
propose_string(const char *text)
{
	StringInfo out = makeStringInfo();

	item_print_string(out, item_span(text));
	return out->data;
}

/* Returns the members of an object of JSON with another one, which is a string. */
char *
propose_member(const char *members, const char *name, const char *text)
{
	return propose_add(members, ", ",
					   psprintf("%s: %s", propose_string(name), propose_string(text)));
}

/* Appends one line of a literal of JSON. */
void
propose_piece(StringInfo out, const char *json)
{
	appendStringInfoString(out, "\n\t'");
	for (const char *p = json; *p != '\0'; p++)
	{
		if (*p == '\'')
			appendStringInfoChar(out, '\'');
		appendStringInfoChar(out, *p);
	}
	appendStringInfoChar(out, '\'');
}

/* Appends the same as a comment, which can be uncommented. */
void
propose_option(StringInfo out, const char *json)
{
	StringInfoData piece;

	initStringInfo(&piece);
	propose_piece(&piece, json);
	appendStringInfo(out, "\n--%s", piece.data + 1);
}

/*
 * Appends the beginning of a call with the table as its first argument.  The function has its
 * schema, whatever the search_path is when the text is run.
 */
void
propose_call(StringInfo out, const Proposal *proposal, const char *function)
{
	appendStringInfo(out, "SELECT %s.%s(%s", extension_schema(), function,
					 quote_literal_cstr(proposal->target));
}
