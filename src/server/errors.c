/*
 * errors.c
 *	  dyn_error_name(): from an SQLSTATE to the name of its DynamoDB exception; raising one.
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "server/errors.h"

#define LONGEST_KEPT 2000 /* bytes */

typedef struct ErrorName
{
	const char *sqlstate;
	const char *name;
} ErrorName;

#define DYN_ERROR_ROW(symbol, a, b, c, name) {(const char[]){'Y', 'D', a, b, c, '\0'}, name},
static const ErrorName error_names[] = {DYN_ERROR_LIST(DYN_ERROR_ROW)};

/*
 * Raises an error in DynamoDB's own words, which clients may compare, so the message is not
 * translated.  sqlstate is one of ERRCODE_DYN_*.
 */
void
dyn_raise(int sqlstate, WordsKind kind, const char *words)
{
	ereport(ERROR, (errcode(sqlstate), errmsg_internal("%s", words), errwords("%s", words),
					errwords_kind(kind)));
	pg_unreachable();
}

PG_FUNCTION_INFO_V1(dyn_error_name);
Datum
dyn_error_name(PG_FUNCTION_ARGS)
{
	char *sqlstate = text_to_cstring(PG_GETARG_TEXT_PP(0));

	for (int i = 0; i < lengthof(error_names); i++)
	{
		if (strcmp(error_names[i].sqlstate, sqlstate) == 0)
			PG_RETURN_TEXT_P(cstring_to_text(error_names[i].name));
	}
	PG_RETURN_NULL();
}

/* Returns a message, or a copy that is cut: it may quote large values, where many are kept. */
const char *
message_shortened(const char *text)
{
	int len = (int) strlen(text);

	if (len <= LONGEST_KEPT)
		return text;
	return psprintf("%.*s...", pg_mbcliplen(text, len, LONGEST_KEPT - 3), text);
}
