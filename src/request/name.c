/*
 * name.c
 *	  Names of tables in requests: as they are, or as ARNs.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "errors.h"
#include "request/request.h"

/* Colons before the last part of arn:aws:dynamodb:region:account:table/name. */
#define ARN_COLONS 5

pg_noreturn static void
fail_arn(text *name)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid table ARN \"%s\"", text_to_cstring(name)),
					errdetail("It is arn:aws:dynamodb:region:account:table/name.")));
}

/* The name by which the actions know the table. */
text *
request_table_name(text *given)
{
	const char *at = VARDATA_ANY(given);
	const char *end = at + VARSIZE_ANY_EXHDR(given);
	int colons = 0;

	/* no name of a table has a colon */
	if (end - at < 4 || memcmp(at, "arn:", 4) != 0)
		return given;
	for (; at < end && colons < ARN_COLONS; at++)
		colons += *at == ':';
	if (end - at <= 6 || memcmp(at, "table/", 6) != 0 || memchr(at + 6, '/', end - at - 6) != NULL)
		fail_arn(given);
	return cstring_to_text_with_len(at + 6, (int) (end - at - 6));
}
