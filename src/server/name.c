/*
 * name.c
 *	  Rules of names.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "server/errors.h"
#include "server/name.h"

pg_noreturn static void
fail_name(const char *kind, ItemSpan name, const char *rule)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid %s name \"%.*s\"", kind,
						   pg_mbcliplen(name.data, name.len, DYN_MAX_TABLE_NAME), name.data),
					errdetail("%s", rule)));
}

/*
 * Checks the name of a table or an index that an SQL call creates: any identifier, also one that is
 * too long for PostgreSQL.
 */
void
dyn_check_name(const char *kind, ItemSpan name)
{
	if (name.len == 0 || name.len > DYN_MAX_TABLE_NAME || memchr(name.data, '\0', name.len) != NULL)
		fail_name(kind, name, "A name has 1 to 255 bytes, and no U+0000.");
}

/* Returns whether a table's name may have the character; an ARN has it without an escape. */
bool
dyn_is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
		   c == '-' || c == '.';
}

/* Returns whether DynamoDB's tables and indexes can have the name (docs/semantics.md, K22). */
bool
dyn_is_request_name(ItemSpan name)
{
	bool ok = name.len >= 3 && name.len <= DYN_MAX_TABLE_NAME;

	for (uint32 i = 0; i < name.len && ok; i++)
		ok = dyn_is_name_character(name.data[i]);
	return ok;
}

/* Raise an error if they cannot. */
void
dyn_check_request_name(const char *kind, ItemSpan name)
{
	if (!dyn_is_request_name(name))
		fail_name(kind, name, DYN_REQUEST_NAME_RULE);
}
