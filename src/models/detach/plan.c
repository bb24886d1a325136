/*
 * plan.c
 *	  The statements that make a table of items an ordinary table, and notes of what goes.
 *
 * One ALTER TABLE rewrites the table, and with it all its btrees.  What depends on the column of
 * items goes before it; what comes in its place is made after it.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "commands/extension.h"
#include "commands/tablespace.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/definition/label.h"
#include "catalog/definition/trigger.h"
#include "catalog/vector.h"
#include "models/detach/detach.h"
#include "models/migrate/migrate.h"
#include "server/catalogs.h"
#include "server/pgvector.h"
#include "server/sql.h"
#include "services/index/index.h"
#include "store/vector.h"

/* Views that can be written to have this trigger. */
#define VIEW_TRIGGER "dynamo_entity"

/* Adds a statement, or a note, which is one line: people may run the plan as a script. */
static void
add_step(Detach *detach, char *step)
{
	for (char *c = step; *step == '-' && *c != '\0'; c++)
	{
		if ((unsigned char) *c < ' ' || *c == 0x7f)
			*c = ' ';
	}
	detach->steps = lappend(detach->steps, *step == '-' ? step : psprintf("%s;", step));
}

#define plan_add(...) add_step(detach, psprintf(__VA_ARGS__))
#define plan_refuse(...) (detach->problems = lappend(detach->problems, psprintf(__VA_ARGS__)))

/* Drops a trigger, if it is there. */
static void
drop_trigger(Detach *detach, Oid relid, const char *name)
{
	Oid oid = get_trigger_oid(relid, name, true);

	if (!OidIsValid(oid))
		return;
	detach->gone = lappend_oid(detach->gone, oid);
	plan_add("DROP TRIGGER %s ON %s", quote_identifier(name), catalogs_qualified(relid));
}

/*
 * What is in the way
 */

static void
check_state(Detach *detach)
{
	const DynSettings *settings = &detach->shape->settings;
	ListCell *cell;

	foreach (cell, detach->shape->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);

		if (spec->status != DYN_INDEX_ACTIVE)
			plan_refuse("index \"%s\" is %s; finish or drop it", item_quoted(spec->name),
						dyn_index_status_names[spec->status]);
	}
	if (settings->ttl.len > 0 && settings->ttl_status != DYN_INDEX_ACTIVE)
		plan_refuse("time to live is %s; call dyn_disable_ttl()",
					dyn_index_status_names[settings->ttl_status]);
	for (int i = 0; i < detach->table->nvectors; i++)
	{
		const DynVector *vector = &detach->table->vectors[i];

		if (!dyn_vector_is_built(vector))
			plan_refuse("vector index \"%s\" is CREATING; finish or drop it",
						item_quoted(vector->index.name));
	}
	if (dyn_settings_stream(settings) != NULL)
		plan_refuse("a change stream is enabled; call dyn_disable_stream()");
	foreach (cell, migration_declarations(detach->relid))
	{
		ItemSpan name = ((const ModelDeclaration *) lfirst(cell))->name;

		if (migration_followers(span_string(name), detach->relid) != NIL)
			plan_refuse(
				"migration \"%s\" is followed; call dyn_follow_migration() with enabled => false",
				item_quoted(name));
	}
}

/*
 * This selects the parts of relation $1, which go with it, that depend on extension $2; and what
 * depends on its columns $3, of which the first is changed, and the others go with their btrees.
 * Left out is what goes, triggers and relations $5, and what is changed: relations $4, and the columns.
 * The rule of a view is told as the view.
 */
static const char dependents_sql[] =
	"WITH part AS (SELECT 'pg_class'::regclass::oid AS classid, $1 AS objid"
	" UNION SELECT classid, objid FROM pg_depend"
	" WHERE refclassid = 'pg_class'::regclass AND refobjid = $1 AND deptype IN ('a', 'i')),"
	" found AS (SELECT d.classid, d.objid, d.objsubid FROM part JOIN pg_depend d"
	" USING (classid, objid) JOIN pg_depend m"
	" ON m.classid = d.refclassid AND m.objid = d.refobjid AND m.deptype = 'e'"
	" AND m.refclassid = 'pg_extension'::regclass AND m.refobjid = $2"
	" UNION SELECT classid, objid, objsubid FROM pg_depend"
	" WHERE refclassid = 'pg_class'::regclass AND refobjid = $1 AND refobjsubid = ANY ($3::int[])"
	" AND (refobjsubid = ($3::int[])[1] OR classid <> 'pg_class'::regclass))"
	" SELECT DISTINCT COALESCE(pg_describe_object('pg_class'::regclass, r.ev_class, 0),"
	" pg_describe_object(classid, objid, objsubid)) COLLATE \"C\""
	" FROM found LEFT JOIN pg_rewrite r ON classid = 'pg_rewrite'::regclass AND r.oid = objid"
	" AND r.rulename = '_RETURN'"
	" LEFT JOIN pg_constraint c ON classid = 'pg_constraint'::regclass AND c.oid = objid"
	" WHERE (classid <> 'pg_class'::regclass OR objsubid <> ALL ($3::int[] || 0)"
	" OR objid <> ALL ($4)) AND (r.oid IS NULL OR ev_class <> ALL ($4))"
	" AND contype IS DISTINCT FROM 'n' AND conname IS DISTINCT FROM '" DYN_KEYS_CONSTRAINT "'"
	" AND (classid NOT IN ('pg_class'::regclass, 'pg_trigger'::regclass) OR objid <> ALL ($5))"
	" ORDER BY 1";

/* Returns descriptions, as a list of char *; connected to SPI. */
List *
detach_dependents(Oid relid, List *attnums, List *changed, List *gone)
{
	List *names = NIL;

	sql_execute(dependents_sql, false, 0,
				SQL_VALUES(SQL_OID(relid), SQL_OID(get_extension_oid("dynamo_table", false)),
						   SQL_VALUE(OIDARRAYOID, sql_oids(attnums)),
						   SQL_VALUE(OIDARRAYOID, sql_oids(changed)),
						   SQL_VALUE(OIDARRAYOID, sql_oids(gone))));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char *name = sql_text_or_null(SPI_tuptable, i, 1);

		/* it has no description if it was dropped meanwhile */
		if (name != NULL)
			names = lappend(names, name);
	}
	SPI_freetuptable(SPI_tuptable);
	return names;
}

static void
check_dependents(Detach *detach)
{
	const DynTable *table = detach->table;
	List *attnums = list_make1_oid(table->item_attnum);
	List *changed = list_make1_oid(detach->relid);
	ListCell *cell;

	for (int i = table->nattributes; i < table->ncolumns; i++)
		attnums = lappend_oid(attnums, table->keys[i].attnum);
	foreach (cell, detach->views)
		changed = lappend_oid(changed, ((const DetachView *) lfirst(cell))->relid);
	foreach (cell, detach_dependents(detach->relid, attnums, changed, detach->gone))
		plan_refuse("%s depends on column item or on the extension", (const char *) lfirst(cell));
}

static void
check_strings(Detach *detach)
{
	char *item = psprintf("item::%s.dyn_item::pg_catalog.text", detach->table->extension);
	/* an odd number of backslashes, so that the last one begins an escape; most items have none */
	static const char condition[] = "pg_catalog.strpos(%s, E'\\\\u0000') > 0 AND %s"
									" ~ E'(^|[^\\\\\\\\])(\\\\\\\\\\\\\\\\)*\\\\\\\\u0000'";
	int64 n = detach->format == DETACH_DYNAMODB
				  ? 0
				  : detach_count(detach->relid, psprintf(condition, item, item));

	if (n > 0)
		plan_refuse("strings with U+0000, which jsonb and text cannot hold, are in " INT64_FORMAT
					" items; format 'dynamodb' can hold them",
					n);
}

/*
 * Notes
 */

/* Adds notes that show all that was declared, so that it is not lost. */
static void
add_notes(Detach *detach)
{
	const DynSettings *settings = &detach->shape->settings;
	ListCell *cell;

	foreach (cell, detach->problems)
		plan_add("-- Refused: %s.", (const char *) lfirst(cell));
	plan_add("-- Rewrites table %s, " INT64_FORMAT " bytes, and its indexes.",
			 detach->table->qualified,
			 DatumGetInt64(DirectFunctionCall1(pg_table_size, ObjectIdGetDatum(detach->relid))));
	plan_add("-- Readers and writers wait until the transaction ends.  A transaction whose "
			 "snapshot is older then sees an empty table.");
	if (settings->ttl.len > 0)
		plan_add("-- Time to live ends: nothing deletes items by attribute \"%s\" any more, and "
				 "nothing hides them.",
				 item_quoted(settings->ttl));
	if (settings->nstreams > 0)
		plan_add("-- Records of past change streams cannot be read any more.");
	if (detach->table->enforced)
		plan_add("-- Entities are not enforced any more.");
	foreach (cell, label_read(detach->relid))
	{
		const LabelMember *member = lfirst(cell);

		plan_add("-- Goes with the label, %s: %s", item_quoted(member->name), member->json);
	}
	plan_add("-- Nothing derives key columns any more: statements that write rows have to give "
			 "them.");
}

/*
 * Btrees
 */

/* Makes a btree that carried items without them, under its name and in its tablespace. */
static void
add_btrees(Detach *detach)
{
	const DynTable *table = detach->table;

	for (int i = 0; i < table->nindexes; i++)
	{
		DynIndexSpec spec = *dyn_shape_index(detach->shape, table->indexes[i].name);
		Oid btree = table->indexes[i].relid;
		Oid tablespace = get_rel_tablespace(btree);
		char *sql;

		if (table->indexes[i].carried == NULL || !OidIsValid(btree))
			continue;
		spec.covering = false;
		sql = dyn_shape_index_sql(detach->shape, &spec, get_rel_name(btree), false);
		if (sql == NULL)
			continue;
		plan_add("%s", sql);
		if (OidIsValid(tablespace))
			plan_add("ALTER INDEX %s SET TABLESPACE %s", catalogs_qualified(btree),
					 quote_identifier(get_tablespace_name(tablespace)));
	}
}

/*
 * Columns
 */

static const char *
item_value(const Detach *detach)
{
	const char *extension = detach->table->extension;

	if (detach->format == DETACH_COLUMNS)
		return psprintf("jsonb USING %s", detach_rest_value(detach));
	return psprintf(detach->format == DETACH_JSONB
						? "jsonb USING item::%s.dyn_item::pg_catalog.jsonb"
						: "json USING item::%s.dyn_item::pg_catalog.text::pg_catalog.json",
					extension);
}

/* New columns come without values, which is a change of the catalogs alone, and get them with the rest. */
static void
add_rewrite(Detach *detach)
{
	const DynTable *table = detach->table;
	StringInfoData columns;
	StringInfoData values;
	ListCell *cell;

	initStringInfo(&columns);
	initStringInfo(&values);
	/* derived columns that show nothing of an item's own; btrees go with them */
	for (int i = table->nattributes; i < table->ncolumns; i++)
		appendStringInfo(&values, "DROP COLUMN %s, ", quote_identifier(table->keys[i].column));
	foreach (cell, detach->columns)
	{
		const DetachColumn *column = lfirst(cell);
		const char *name = quote_identifier(column->name);
		const char *type = value_type_sql(&column->own);

		if (column->is_key)
			continue;
		if (column->own.sql != column->type.sql)
			plan_add("-- Column %s is of type %s, as %s refuses NULL.", name, type,
					 value_type_sql(&column->type));
		appendStringInfo(&columns, "%s ADD COLUMN %s %s", columns.len > 0 ? "," : "", name, type);
		appendStringInfo(&values, "ALTER COLUMN %s TYPE %s USING %s, ", name, type,
						 detach_column_value(detach, column));
	}
	if (columns.len > 0)
		plan_add("ALTER TABLE %s%s", table->qualified, columns.data);
	plan_add("ALTER TABLE %s DROP CONSTRAINT IF EXISTS " DYN_KEYS_CONSTRAINT
			 ", %sALTER COLUMN item TYPE pg_catalog.%s, SET ACCESS METHOD heap",
			 table->qualified, values.data, item_value(detach));
}

/*
 * Vector indexes
 */

/* Returns the vectors of an index as a value that casts to a vector, or NULL: there is none. */
static const char *
vector_value(const Detach *detach, ItemSpan attribute)
{
	ListCell *cell;

	foreach (cell, detach->columns)
	{
		const DetachColumn *column = lfirst(cell);

		if (!column->is_key && column->type.type == ITEM_L &&
			item_compare_bytes(column->stored, attribute) == 0)
			return column->type.length > 0 || OidIsValid(get_element_type(column->own.sql))
					   ? quote_identifier(column->name)
					   : psprintf("%s::pg_catalog.text", quote_identifier(column->name));
	}
	return detach->format == DETACH_DYNAMODB
			   ? NULL
			   : psprintf("(item ->> %s)", quote_literal_cstr(span_string(attribute)));
}

/* Adds notes how to search without an index of ours, and how to make pgvector's. */
static void
note_vector(Detach *detach, const DynVectorSpec *spec)
{
	const char *name = item_quoted(spec->index.name);
	const char *value = vector_value(detach, spec->attribute);
	const char *schema = quote_identifier(get_namespace_name(pgvector_require()));

	if (value == NULL)
	{
		plan_add("-- Vector index \"%s\" goes.", name);
		return;
	}
	value = index_build_hnsw_value(spec, value);
	plan_add("-- Vector index \"%s\" goes.  Order by %s OPERATOR(%s.%s) a vector.", name, value,
			 schema, store_vector_operator(spec));
	if (spec->method == DYN_SEARCH_HNSW)
		plan_add("-- An index for that can be made afterwards: %s;",
				 index_build_hnsw_sql(spec, true, detach->table->qualified, value));
}

static void
add_vectors(Detach *detach)
{
	for (int i = 0; i < detach->table->nvectors; i++)
	{
		const DynVector *vector = &detach->table->vectors[i];

		note_vector(detach, vector->spec);
		drop_trigger(detach, detach->relid, vector->trigger);
		if (!dyn_vector_is_owned(detach->table, vector))
			continue;
		detach->gone = lappend_oid(detach->gone, vector->relid);
		plan_add("DROP MATERIALIZED VIEW %s", catalogs_qualified(vector->relid));
	}
	drop_trigger(detach, detach->relid, DYN_VECTORS_TRUNCATED_TRIGGER);
}

/*
 * The whole
 */

static void
add_statements(Detach *detach)
{
	const char *table = detach->table->qualified;
	ListCell *cell;

	foreach (cell, detach->views)
	{
		const DetachView *view = lfirst(cell);

		drop_trigger(detach, view->relid, VIEW_TRIGGER);
		/* it has its own columns, and needs nothing of the table */
		plan_add("%sSELECT (NULL::%s).*", view->create, catalogs_qualified(view->relid));
	}
	if (label_read(detach->relid) != NIL)
		plan_add("SECURITY LABEL FOR " LABEL_PROVIDER " ON TABLE %s IS NULL", table);
	add_vectors(detach);
	for (int role = 0; role < DYN_TRIGGERS; role++)
		drop_trigger(detach, detach->relid, dyn_triggers[role].name);
	add_rewrite(detach);
	add_btrees(detach);
	plan_add("ANALYZE %s", table);
	foreach (cell, detach->views)
		plan_add("-- View %s becomes one of these columns.",
				 catalogs_qualified(((const DetachView *) lfirst(cell))->relid));
}

/*
 * Fills in what is to be done with the table, or why it cannot be done.  Connected to SPI, with the
 * rights of the table's owner.
 */
void
detach_plan(Detach *detach, Relation rel)
{
	List *statements;

	check_state(detach);
	if (detach->format == DETACH_COLUMNS)
	{
		detach_choose_columns(detach, rel);
		detach_choose_views(detach, rel);
	}
	add_statements(detach);
	statements = detach->steps;
	detach->steps = NIL;
	check_dependents(detach);
	check_strings(detach);
	add_notes(detach);
	detach->steps = list_concat(detach->steps, statements);
}
