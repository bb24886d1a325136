/*
 * fit.c
 *	  Declarations that do not fit their tables any more.
 *
 * A declaration names tables and columns, and nothing keeps these from being renamed, dropped or
 * given another type.  Whoever then writes to a followed table, or calls a function of the
 * migration, gets one error for all such cases, which names the migration and says what to call.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "catalog/follower.h"
#include "models/migrate/migrate.h"
#include "server/attempt.h"
#include "server/errors.h"

/* So many bytes of the original message are shown: it may quote SQL of a declaration. */
#define LONGEST_MESSAGE 500

/*
 * Returns whether reading a declaration or analysing its SQL fails so when a table, column, type,
 * function or entity is not as it was.  That the user lacks a privilege is another matter.
 */
static bool
is_misfit(const ErrorData *error)
{
	if (error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE)
		return false;
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
			   ERRCODE_SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION ||
		   error->sqlerrcode == ERRCODE_INVALID_SCHEMA_NAME ||
		   error->sqlerrcode == ERRCODE_DYN_VALIDATION;
}

/* Raises the error; why is a sentence without a period. */
void
migration_fail_misfit(const char *name, bool followed, const char *why)
{
	const char *literal = dyn_follower_literal(name);
	const char *quoted = item_quoted(item_span(name));

	ereport(
		ERROR,
		(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		 errmsg("migration \"%s\" does not fit its tables any more", quoted), errdetail("%s.", why),
		 followed ? errhint("Undo the change of the tables, or call dyn_follow_migration(%s, "
							"enabled => false), declare "
							"the migration again with dyn_create_migration(), and then call "
							"dyn_follow_migration() and dyn_migrate().",
							literal)
				  : errhint("Undo the change of the tables, or declare the migration again with "
							"dyn_create_migration().")));
}

/*
 * Runs a function that reads the declaration, or that analyses the SQL of a step (NULL: of none).
 * The transaction ends if it fails, so the function may take locks.
 */
void
migration_fit(const char *name, bool followed, const char *step, void (*run)(void *arg), void *arg)
{
	ErrorData *error = attempt_to_compute(run, arg, is_misfit);
	const char *message;
	int len;

	if (error == NULL)
		return;
	len = (int) strlen(error->message);
	message = psprintf("%.*s%s", pg_mbcliplen(error->message, len, LONGEST_MESSAGE), error->message,
					   len > LONGEST_MESSAGE ? "..." : "");
	migration_fail_misfit(
		name, followed,
		step == NULL ? psprintf("It cannot be read: %s", message)
					 : psprintf("Step \"%s\" fails: %s", item_quoted(item_span(step)), message));
}
