/*
 * plan.c
 *	  The statements that make a table of items an ordinary table, and notes of what goes.
 *
 * One ALTER TABLE rewrites the table, and with it all its btrees.  What depends on the column of
 * items goes before it; what comes in its place is made after it.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_namespace_d.h"
#include "commands/tablespace.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "detach/detach.h"
#include "ground/compat.h"
#include "ground/label.h"
#include "migrate/migrate.h"

/* Of views that can be written to. */
#define VIEW_TRIGGER "dynamo_entity"

static void
add_statement(Detach *detach, char *sql)
{
	DetachStep *step = palloc(sizeof(DetachStep));

	*step = (DetachStep){true, sql};
	detach->steps = lappend(detach->steps, step);
}

/* A comment of SQL in one line, whatever is in it: people may run the plan as a script. */
char *
detach_note(const char *text)
{
	char *note = psprintf("-- %s", text);

	for (char *c = note; *c != '\0'; c++)
	{
		if ((unsigned char) *c < ' ' || *c == 0x7f)
			*c = ' ';
	}
	return note;
}

static void
add_note(Detach *detach, const char *text)
{
	DetachStep *step = palloc(sizeof(DetachStep));

	*step = (DetachStep){false, detach_note(text)};
	detach->steps = lappend(detach->steps, step);
}

static void
add_problem(Detach *detach, char *problem)
{
	detach->problems = lappend(detach->problems, problem);
}

/*
 * What is in the way
 */

static void
check_indexes(Detach *detach)
{
	ListCell *cell;

	foreach (cell, detach->shape->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);

		if (spec->status != DYN_INDEX_ACTIVE)
			add_problem(detach,
						psprintf("index \"%s\" is %s; finish or drop it", item_quoted(spec->name),
								 dyn_index_status_names[spec->status]));
	}
	if (detach->shape->settings.ttl.len > 0 &&
		detach->shape->settings.ttl_status != DYN_INDEX_ACTIVE)
		add_problem(detach, psprintf("time to live is %s; call dyn_disable_ttl()",
									 dyn_index_status_names[detach->shape->settings.ttl_status]));
}

static void
check_followers(Detach *detach)
{
	ListCell *cell;

	foreach (cell, migration_declarations(detach->relid))
	{
		ItemSpan name = ((const ModelDeclaration *) lfirst(cell))->name;

		if (migration_followers(pnstrdup(name.data, name.len), detach->relid) != NIL)
			add_problem(detach, psprintf("migration \"%s\" is followed; call "
										 "dyn_unfollow_migration()",
										 item_quoted(name)));
	}
}

static void
check_state(Detach *detach)
{
	check_indexes(detach);
	if (dyn_settings_stream(&detach->shape->settings) != NULL)
		add_problem(detach, "a change stream is enabled; call dyn_disable_stream()");
	check_followers(detach);
}

/* Derived columns that show nothing of an item's own. */
List *
detach_lost_columns(const Detach *detach)
{
	List *columns = NIL;

	for (int i = detach->table->nattributes; i < detach->table->ncolumns; i++)
		columns = lappend(columns, (void *) &detach->table->keys[i]);
	return columns;
}

/* Btrees of indexes that carry items, and that of time to live. */
List *
detach_lost_btrees(const Detach *detach)
{
	const DynTable *table = detach->table;
	List *btrees = NIL;

	for (int i = 0; i < table->nindexes; i++)
	{
		if (table->indexes[i].carried != NULL && OidIsValid(table->indexes[i].relid))
			btrees = list_append_unique_oid(btrees, table->indexes[i].relid);
	}
	if (table->ttl != NULL && OidIsValid(table->ttl->relid))
		btrees = list_append_unique_oid(btrees, table->ttl->relid);
	return btrees;
}

/*
 * Notes
 */

static void
note_size(Detach *detach, Relation rel)
{
	int64 bytes = (int64) RelationGetNumberOfBlocks(rel) * BLCKSZ;
	Oid toast = rel->rd_rel->reltoastrelid;

	if (OidIsValid(toast))
		bytes += DatumGetInt64(DirectFunctionCall2(pg_relation_size, ObjectIdGetDatum(toast),
												   CStringGetTextDatum("main")));
	add_note(detach, psprintf("Rewrites table %s, " INT64_FORMAT " bytes, and its indexes.",
							  detach->table->qualified, bytes));
	add_note(detach, "Readers and writers wait until the transaction ends.  A transaction whose "
					 "snapshot is older then sees an empty table.");
}

static void
note_settings(Detach *detach)
{
	const DynSettings *settings = &detach->shape->settings;

	if (settings->ttl.len > 0)
		add_note(detach, psprintf("Time to live ends: nothing deletes items by attribute \"%s\" "
								  "any more, and nothing hides them.",
								  item_quoted(settings->ttl)));
	if (settings->nstreams > 0)
		add_note(detach, "Records of past change streams cannot be read any more.");
	if (detach->table->enforced)
		add_note(detach, "Entities are not enforced any more.");
}

static bool
is_array(const char *json)
{
	while (*json == ' ' || *json == '\t' || *json == '\n' || *json == '\r')
		json++;
	return *json == '[';
}

/* All that was declared is shown, so that it is not lost. */
static void
note_label(Detach *detach, List *members)
{
	ListCell *cell;
	ListCell *element;

	foreach (cell, members)
	{
		const LabelMember *member = lfirst(cell);

		if (!is_array(member->json))
		{
			add_note(detach, psprintf("Goes with the label, %s: %s", item_quoted(member->name),
									  member->json));
			continue;
		}
		foreach (element, label_elements(member->json))
			add_note(detach, psprintf("Goes with the label, %s: %s", item_quoted(member->name),
									  (const char *) lfirst(element)));
	}
}

static void
note_key_columns(Detach *detach)
{
	add_note(detach, "Nothing derives key columns any more: statements that write rows have to "
					 "give them.");
}

/*
 * Statements
 */

static void
free_views(Detach *detach)
{
	ListCell *cell;

	foreach (cell, detach->views)
	{
		const DetachView *view = lfirst(cell);

		if (OidIsValid(get_trigger_oid(view->relid, VIEW_TRIGGER, true)))
			add_statement(detach, psprintf("DROP TRIGGER %s ON %s", quote_identifier(VIEW_TRIGGER),
										   view->qualified));
		add_statement(detach, detach_empty_view_sql(view));
	}
}

static void
drop_triggers(Detach *detach, Relation rel)
{
	for (int role = 0; role < DYN_TRIGGERS; role++)
	{
		const Trigger *trigger = dyn_trigger_find(rel, (DynTriggerRole) role);

		if (trigger != NULL)
			add_statement(detach,
						  psprintf("DROP TRIGGER %s ON %s", quote_identifier(trigger->tgname),
								   detach->table->qualified));
	}
}

static char *
qualified_index(Oid btree)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(btree)),
									  get_rel_name(btree));
}

static void
drop_btrees(Detach *detach)
{
	ListCell *cell;

	foreach (cell, detach_lost_btrees(detach))
		add_statement(detach, psprintf("DROP INDEX %s", qualified_index(lfirst_oid(cell))));
}

/* What an index is made of where it carries nothing. */
static char *
bare_index_sql(const Detach *detach, const DynIndex *index, const char *relation)
{
	DynIndexSpec spec = *dyn_shape_index(detach->shape, index->name);

	spec.covering = DYN_COVERING_NONE;
	return dyn_shape_index_sql(detach->shape, &spec, relation, false);
}

/* What is made again is made by the owner: better refused before the table is rewritten. */
static void
require_create(Detach *detach, Oid schema)
{
	char *problem;
	ListCell *cell;

	if (schema_aclcheck(schema, GetUserId(), ACL_CREATE) == ACLCHECK_OK)
		return;
	problem = psprintf("its owner \"%s\" has no CREATE on schema \"%s\", where views or btrees are "
					   "made again",
					   GetUserNameFromId(GetUserId(), false), get_namespace_name(schema));
	foreach (cell, detach->problems)
	{
		if (strcmp(lfirst(cell), problem) == 0)
			return;
	}
	add_problem(detach, problem);
}

/* A btree that carried items is made without them, under its name. */
static void
add_btree(Detach *detach, const DynIndex *index)
{
	Oid tablespace = get_rel_tablespace(index->relid);

	require_create(detach, get_rel_namespace(index->relid));
	add_statement(detach, bare_index_sql(detach, index, get_rel_name(index->relid)));
	if (OidIsValid(tablespace))
		add_statement(detach,
					  psprintf("ALTER INDEX %s SET TABLESPACE %s", qualified_index(index->relid),
							   quote_identifier(get_tablespace_name(tablespace))));
}

/* Unless another btree has the same columns. */
static void
add_btrees(Detach *detach)
{
	const DynTable *table = detach->table;
	List *there = NIL; /* of String */

	for (int carries = 0; carries < 2; carries++)
	{
		for (int i = 0; i < table->nindexes; i++)
		{
			const DynIndex *index = &table->indexes[i];
			char *bare = bare_index_sql(detach, index, "");

			if (bare == NULL || !OidIsValid(index->relid) ||
				(index->carried != NULL) != (carries != 0) || list_member(there, makeString(bare)))
				continue;
			if (carries)
				add_btree(detach, index);
			there = lappend(there, makeString(bare));
		}
	}
}

/* Without values, which is a change of the catalogs alone. */
static void
add_columns(Detach *detach)
{
	const char *comma = " ";
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	if (detach->entity_column != NULL)
	{
		appendStringInfo(&sql, " ADD COLUMN %s pg_catalog.text",
						 quote_identifier(detach->entity_column));
		comma = ", ";
	}
	foreach (cell, detach->columns)
	{
		const DetachColumn *column = lfirst(cell);

		if (column->is_key)
			continue;
		appendStringInfo(&sql, "%sADD COLUMN %s %s", comma, quote_identifier(column->name),
						 detach_type_sql(column->type.sql));
		comma = ", ";
	}
	if (sql.len > 0)
		add_statement(detach, psprintf("ALTER TABLE %s%s", detach->table->qualified, sql.data));
}

static void
append_value(StringInfo sql, const char *column, const char *type, const char *value)
{
	appendStringInfo(sql, ", ALTER COLUMN %s TYPE %s USING %s", quote_identifier(column), type,
					 value);
}

static void
append_values(StringInfo sql, Detach *detach, Relation rel)
{
	ListCell *cell;

	if (detach->entity_column != NULL)
		append_value(sql, detach->entity_column, "pg_catalog.text",
					 detach_entity_value(detach, rel));
	foreach (cell, detach->columns)
	{
		const DetachColumn *column = lfirst(cell);

		if (!column->is_key)
			append_value(sql, column->name, detach_type_sql(column->type.sql),
						 detach_column_value(detach, column));
	}
}

static void
append_item(StringInfo sql, const Detach *detach)
{
	const char *item =
		psprintf("%s::%s.dyn_item", quote_identifier(DYN_ITEM_COLUMN), detach->table->extension);

	switch (detach->format)
	{
		case DETACH_JSONB:
			append_value(sql, DYN_ITEM_COLUMN, "pg_catalog.jsonb",
						 psprintf("%s::pg_catalog.jsonb", item));
			break;
		case DETACH_DYNAMODB:
			append_value(sql, DYN_ITEM_COLUMN, "pg_catalog.json",
						 psprintf("%s::pg_catalog.text::pg_catalog.json", item));
			break;
		case DETACH_COLUMNS:
			append_value(sql, DYN_ITEM_COLUMN, "pg_catalog.jsonb", detach_rest_value(detach));
			break;
	}
}

static void
rewrite(Detach *detach, Relation rel)
{
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	appendStringInfo(&sql, "ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s", detach->table->qualified,
					 quote_identifier(DYN_KEYS_CONSTRAINT));
	foreach (cell, detach_lost_columns(detach))
		appendStringInfo(&sql, ", DROP COLUMN %s",
						 quote_identifier(((const DynKey *) lfirst(cell))->column));
	if (detach->format == DETACH_COLUMNS)
		append_values(&sql, detach, rel);
	append_item(&sql, detach);
	appendStringInfoString(&sql, ", SET ACCESS METHOD heap");
	add_statement(detach, sql.data);
}

static void
restore_views(Detach *detach)
{
	ListCell *cell;

	foreach (cell, detach->views)
	{
		const DetachView *view = lfirst(cell);

		require_create(detach, get_rel_namespace(view->relid));
		add_statement(detach, detach_view_sql(detach, view));
	}
}

static void
add_statements(Detach *detach, Relation rel, bool has_label)
{
	free_views(detach);
	if (has_label)
		add_statement(detach, psprintf("SECURITY LABEL FOR " LABEL_PROVIDER " ON TABLE %s IS NULL",
									   detach->table->qualified));
	drop_triggers(detach, rel);
	drop_btrees(detach);
	if (detach->format == DETACH_COLUMNS)
		add_columns(detach);
	rewrite(detach, rel);
	add_btrees(detach);
	restore_views(detach);
	add_statement(detach, psprintf("ANALYZE %s", detach->table->qualified));
}

/*
 * Fill in what is to be done with the table, or why it cannot be done.  Connected to SPI, with the
 * rights of the table's owner.
 */
void
detach_plan(Detach *detach, Relation rel)
{
	List *label = label_read(detach->relid);

	check_state(detach);
	if (detach->format == DETACH_COLUMNS)
	{
		detach_choose_columns(detach, rel);
		detach_choose_views(detach, rel);
		detach_name_columns(detach);
		detach_finish_views(detach);
	}
	detach_find_dependents(detach, rel);
	detach_count(detach);
	note_size(detach, rel);
	note_settings(detach);
	note_label(detach, label);
	note_key_columns(detach);
	add_statements(detach, rel, label != NIL);
}
