/*
 * follower.c
 *	  Triggers of other tables that write to a table of items.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/follower.h"
#include "item/item.h"
#include "server/catalogs.h"
#include "server/errors.h"
#include "server/extension.h"

/* An error lists at most so many followers. */
#define MOST_LISTED 100

#define CONTROL_CHARACTERS \
	"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f" \
	"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f"

/* Returns the condition of the triggers that write to a table, whose name is quoted. */
char *
dyn_follower_condition(const char *qualified)
{
	return psprintf("%s::pg_catalog.regclass IS NOT NULL", quote_literal_cstr(qualified));
}

/*
 * Returns the name of a migration as an SQL literal for a hint.  Any text may be a name, so control
 * characters are escaped.
 */
char *
dyn_follower_literal(const char *migration)
{
	const char *quoted = quote_literal_cstr(migration);
	bool escape = *quoted != 'E';
	StringInfoData out;

	if (strpbrk(migration, CONTROL_CHARACTERS) == NULL)
		return pstrdup(quoted);
	initStringInfo(&out);
	if (escape)
		appendStringInfoChar(&out, 'E');
	for (const char *c = quoted; *c != '\0'; c++)
	{
		if (strchr(CONTROL_CHARACTERS, *c) != NULL)
			appendStringInfo(&out, "\\x%02x", (unsigned char) *c);
		else
			appendStringInfoChar(&out, *c);
	}
	return out.data;
}

/* Returns a copy of a trigger's row of pg_trigger, or NULL if the trigger is gone. */
HeapTuple
dyn_follower_trigger(Oid oid)
{
	return catalogs_row(TriggerRelationId, TriggerOidIndexId, Anum_pg_trigger_oid, oid);
}

/* Returns the name of a migration, which a trigger of the follower's has as its only argument. */
static ItemSpan
migration_of(HeapTuple tuple)
{
	Relation rel = table_open(TriggerRelationId, AccessShareLock);
	bool isnull;
	bytea *arguments = DatumGetByteaPP(
		heap_getattr(tuple, Anum_pg_trigger_tgargs, RelationGetDescr(rel), &isnull));

	table_close(rel, AccessShareLock);
	return (ItemSpan){VARDATA_ANY(arguments), (uint32) VARSIZE_ANY_EXHDR(arguments) - 1};
}

/* Returns whether a trigger follows: any role can name one so, but its function must be ours. */
static bool
is_follower(const FormData_pg_trigger *form)
{
	return form->tgnargs == 1 &&
		   strncmp(NameStr(form->tgname), DYN_FOLLOW_TRIGGER, strlen(DYN_FOLLOW_TRIGGER)) == 0 &&
		   get_func_namespace(form->tgfoid) == get_namespace_oid(DYN_INTERNAL, true);
}

/*
 * Returns the name of a migration that follows a partition by a trigger which the partition has
 * from its table, or NULL.  If the partition has a trigger for TRUNCATE of its own, that is NULL
 * too.  Takes no lock on the partition.
 */
char *
dyn_follower_of_partition(Oid relid)
{
	char *migration = NULL;
	bool guarded = false;
	ListCell *cell;

	foreach (cell, catalogs_rows(TriggerRelationId, TriggerRelidNameIndexId,
								 Anum_pg_trigger_tgrelid, relid))
	{
		HeapTuple tuple = lfirst(cell);
		const FormData_pg_trigger *form = (const FormData_pg_trigger *) GETSTRUCT(tuple);
		ItemSpan name;

		if (!is_follower(form))
			continue;
		guarded = guarded || TRIGGER_FOR_TRUNCATE(form->tgtype);
		if (!OidIsValid(form->tgparentid) || form->tgenabled == TRIGGER_DISABLED)
			continue;
		name = migration_of(tuple);
		migration = span_string(name);
	}
	return guarded ? NULL : migration;
}

/* Returns a line on a trigger of another table, or NULL if that is no follower. */
static char *
line_on(Oid oid, Oid relid, char **migration)
{
	HeapTuple tuple = dyn_follower_trigger(oid);
	Form_pg_trigger form;
	char *source;
	ItemSpan name;

	if (tuple == NULL)
		return NULL;
	form = (Form_pg_trigger) GETSTRUCT(tuple);
	source = form->tgrelid == relid ? NULL : catalogs_qualified(form->tgrelid);
	if (source == NULL || !is_follower(form))
		return NULL;
	name = migration_of(tuple);
	*migration = span_string(name);
	return psprintf("Migration \"%s\" follows table %s.", item_quoted(name), source);
}

static int
compare_lines(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

/* Adds a line, unless it is there: a table has several triggers. */
static List *
add_line(List *lines, char *line)
{
	ListCell *cell;

	foreach (cell, lines)
	{
		if (strcmp(lfirst(cell), line) == 0)
			return lines;
	}
	return lappend(lines, line);
}

static char *
join_lines(List *lines)
{
	StringInfoData text;
	ListCell *cell;

	initStringInfo(&text);
	list_sort(lines, compare_lines);
	foreach (cell, lines)
		appendStringInfo(&text, "%s%s", foreach_current_index(cell) > 0 ? "\n" : "",
						 (char *) lfirst(cell));
	if (list_length(lines) == MOST_LISTED)
		appendStringInfoString(&text, "\nThere may be more.");
	return text.data;
}

/*
 * Raises ERRCODE_DYN_RESOURCE_IN_USE, with a list of them, if a table of items has followers.  done
 * says what would happen to the table.
 */
void
dyn_follower_refuse(Relation rel, const char *done)
{
	Oid relid = RelationGetRelid(rel);
	char *migration = NULL;
	List *lines = NIL;
	ListCell *cell;

	foreach (cell, catalogs_dependents(relid, TriggerRelationId))
	{
		char *line =
			list_length(lines) < MOST_LISTED ? line_on(lfirst_oid(cell), relid, &migration) : NULL;

		if (line != NULL)
			lines = add_line(lines, line);
	}
	if (lines != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_RESOURCE_IN_USE),
				 errmsg("table \"%s\" cannot be %s while other tables are followed into it",
						RelationGetRelationName(rel), done),
				 errdetail("%s", join_lines(lines)),
				 errhint("Call dyn_follow_migration(%s, enabled => false) first.",
						 dyn_follower_literal(migration)),
				 errwords("Attempt to change a resource which is still in use: Table is the target "
						  "of a migration: %s",
						  RelationGetRelationName(rel))));
}
