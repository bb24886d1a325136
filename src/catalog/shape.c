/*
 * shape.c
 *	  The DDL of a table of items: columns, constraint, trigger, indexes.
 */
#include "postgres.h"

#include "access/relation.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/carried.h"
#include "catalog/definition/definition.h"
#include "catalog/definition/settings.h"
#include "catalog/definition/vector_spec.h"
#include "catalog/derive.h"
#include "catalog/key.h"
#include "catalog/lookup.h"
#include "catalog/shape.h"
#include "server/citus.h"
#include "server/errors.h"
#include "server/extension.h"

/* Returns the shape that the derive trigger's arguments describe; the table's keys come first. */
DynShape *
dyn_shape_read(List *arguments, int nkeys)
{
	DynShape *shape = palloc0(sizeof(DynShape));

	shape->nkeys = nkeys;
	for (int i = 0; i < list_length(arguments); i++)
	{
		char *argument = list_nth(arguments, i);

		if (i < nkeys)
			shape->keys[i] = item_span(argument);
		else if (dyn_settings_is_argument(argument))
			dyn_settings_parse(argument, &shape->settings);
		else if (dyn_vector_spec_is_argument(argument))
			shape->vectors = lappend(shape->vectors, dyn_vector_spec_parse_argument(argument));
		else
			shape->indexes = lappend(shape->indexes, dyn_index_spec_parse_argument(argument));
	}
	return shape;
}

/* Returns the shape that an open table has. */
DynShape *
dyn_shape_of(Relation rel, const DynTable *table)
{
	DynShape *shape = dyn_shape_read(dyn_derive_arguments(rel), table->nkeys);

	shape->relid = table->relid;
	shape->qualified = pstrdup(table->qualified);
	shape->extension = pstrdup(table->extension);
	return shape;
}

/*
 * Returns whether all rows are known to have all columns.  False while an index is being created,
 * dropped, or was left unfinished by a procedure.
 */
bool
dyn_shape_is_filled(const DynShape *shape)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		if (((const DynIndexSpec *) lfirst(cell))->status != DYN_INDEX_ACTIVE)
			return false;
	}
	return shape->settings.ttl.len == 0 || shape->settings.ttl_status == DYN_INDEX_ACTIVE;
}

/*
 * Returns the index of that name in a shape, which the caller may change there; NULL if there is
 * none.
 */
DynIndexSpec *
dyn_shape_index(const DynShape *shape, ItemSpan name)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		DynIndexSpec *spec = lfirst(cell);

		if (item_compare_bytes(spec->name, name) == 0)
			return spec;
	}
	return NULL;
}

/* Returns the vector index of that name likewise. */
DynVectorSpec *
dyn_shape_vector(const DynShape *shape, ItemSpan name)
{
	ListCell *cell;

	foreach (cell, shape->vectors)
	{
		DynVectorSpec *spec = lfirst(cell);

		if (item_compare_bytes(spec->index.name, name) == 0)
			return spec;
	}
	return NULL;
}

/*
 * Columns
 */

/* Adds a column.  One attribute with two types gives two here; dyn_shape_check() refuses that. */
static List *
add_column(List *columns, ItemSpan spec)
{
	DynShapeColumn *column;
	ItemSpan attribute;
	ListCell *cell;

	foreach (cell, columns)
	{
		column = lfirst(cell);
		if (item_compare_bytes(column->spec, spec) == 0)
			return columns;
	}
	column = palloc(sizeof(DynShapeColumn));
	column->spec = spec;
	dyn_parse_key_spec(spec, &attribute, &column->type);
	column->column = dyn_column_identifier(attribute);
	return lappend(columns, column);
}

/* Returns the columns of keys. */
List *
dyn_shape_keys(const DynShape *shape)
{
	List *columns = NIL;
	ListCell *cell;

	for (int i = 0; i < shape->nkeys; i++)
		columns = add_column(columns, shape->keys[i]);
	foreach (cell, shape->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);

		for (int i = 0; i < spec->nkeys; i++)
			columns = add_column(columns, spec->keys[i]);
	}
	return columns;
}

/* Lists the key specs of an entry: the index's, and those of the table that are not among them. */
static int
entry_specs(const DynShape *shape, const DynIndexSpec *spec, ItemSpan specs[DYN_MAX_INDEX_COLUMNS])
{
	int n = spec->nkeys;

	memcpy(specs, spec->keys, n * sizeof(ItemSpan));
	for (int i = 0; i < shape->nkeys; i++)
	{
		int k = 0;

		while (k < spec->nkeys && item_compare_bytes(spec->keys[k], shape->keys[i]) != 0)
			k++;
		if (k == spec->nkeys)
			specs[n++] = shape->keys[i];
	}
	return n;
}

/* Returns what a covering index carries, as text. */
static char *
carried_spec(const DynShape *shape, const DynIndexSpec *spec)
{
	ItemSpan specs[DYN_MAX_INDEX_COLUMNS];
	int n = entry_specs(shape, spec, specs);

	return dyn_carried_print(dyn_carried_of(spec, specs, n));
}

/* Names the column of what an index carries: a tilde as in time to live's, which no index is. */
char *
dyn_carried_column(ItemSpan index)
{
	char *name = psprintf("~%.*s_item", (int) index.len, index.data);

	return dyn_identifier(item_span(name));
}

static List *
add_shape_column(List *columns, ItemSpan spec, ItemType type, const char *name)
{
	DynShapeColumn *column = palloc(sizeof(DynShapeColumn));

	*column = (DynShapeColumn){spec, type, name};
	return lappend(columns, column);
}

/* Returns all derived columns, in the order of the table's keys. */
List *
dyn_shape_columns(const DynShape *shape)
{
	List *columns = dyn_shape_keys(shape);
	ListCell *cell;

	if (shape->settings.ttl.len > 0)
		columns = add_shape_column(columns, dyn_key_spec(shape->settings.ttl, "N"), ITEM_N,
								   DYN_TTL_COLUMN);
	foreach (cell, shape->indexes)
	{
		const DynIndexSpec *index = lfirst(cell);
		char *spec;

		if (!index->covering)
			continue;
		spec = carried_spec(shape, index);
		columns =
			add_shape_column(columns, item_span(spec), ITEM_M, dyn_carried_column(index->name));
	}
	return columns;
}

/* Returns a type that compresses a value as it is carried, so that it is not tried again. */
static const char *
carried_type(const DynShape *shape, ItemSpan spec)
{
	return psprintf("%s.dyn_item COMPRESSION %s", shape->extension,
					dyn_compression_names[dyn_carried_parse(spec)->compression]);
}

/* Returns the type of a column of keys. */
const char *
dyn_shape_type_sql(ItemType type)
{
	return type == ITEM_S   ? "pg_catalog.text COLLATE pg_catalog.\"C\""
		   : type == ITEM_N ? "pg_catalog.numeric"
							: "pg_catalog.bytea";
}

static const char *
column_type(const DynShape *shape, const DynShapeColumn *column)
{
	return column->type == ITEM_M ? carried_type(shape, column->spec)
								  : dyn_shape_type_sql(column->type);
}

/*
 * Returns the definition of the i-th column of dyn_shape_columns() for CREATE TABLE or ADD COLUMN,
 * palloc'd.
 */
char *
dyn_shape_column_sql(const DynShape *shape, int i)
{
	const DynShapeColumn *column = list_nth(dyn_shape_columns(shape), i);

	return psprintf("%s %s", quote_identifier(column->column), column_type(shape, column));
}

/*
 * Returns the part of ALTER TABLE that keeps values of the i-th column out of the statistics, where
 * they are items and tell nothing; NULL for other columns.
 */
char *
dyn_shape_statistics_sql(const DynShape *shape, int i)
{
	const DynShapeColumn *column = list_nth(dyn_shape_columns(shape), i);

	if (column->type != ITEM_M)
		return NULL;
	return psprintf("ALTER COLUMN %s SET STATISTICS 0", quote_identifier(column->column));
}

/*
 * Constraint and trigger
 */

/*
 * Returns the keys as one array constant.  Each statement reads the constraint's expression tree
 * again, and the tree of an ARRAY[] of constants is half as large again.
 */
static const char *
specs_literal(List *columns)
{
	StringInfoData array;
	ListCell *cell;

	initStringInfo(&array);
	appendStringInfoChar(&array, '{');
	foreach (cell, columns)
	{
		const DynShapeColumn *column = lfirst(cell);

		appendStringInfoString(&array, array.len > 1 ? ",\"" : "\"");
		for (uint32 i = 0; i < column->spec.len; i++)
		{
			if (column->spec.data[i] == '"' || column->spec.data[i] == '\\')
				appendStringInfoChar(&array, '\\');
			appendStringInfoChar(&array, column->spec.data[i]);
		}
		appendStringInfoChar(&array, '"');
	}
	appendStringInfoChar(&array, '}');
	return quote_literal_cstr(array.data);
}

/* Returns the constraint's condition, which queries use as well. */
char *
dyn_shape_match_sql(const DynShape *shape)
{
	List *columns = dyn_shape_columns(shape);
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	appendStringInfo(&sql, DYN_INTERNAL ".keys_match(%s, %s::pg_catalog.text[]",
					 quote_identifier(DYN_ITEM_COLUMN), specs_literal(columns));
	foreach (cell, columns)
	{
		const DynShapeColumn *column = lfirst(cell);

		appendStringInfo(&sql, ", %s", quote_identifier(column->column));
	}
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/*
 * Returns the definition of the constraint that columns match the item, palloc'd: CONSTRAINT …
 * CHECK (…).
 */
char *
dyn_shape_constraint_sql(const DynShape *shape)
{
	return psprintf("CONSTRAINT %s CHECK (%s)", quote_identifier(DYN_KEYS_CONSTRAINT),
					dyn_shape_match_sql(shape));
}

/* Returns the arguments of the derive trigger that describe the shape, as C strings. */
List *
dyn_shape_arguments(const DynShape *shape)
{
	char *settings = dyn_settings_print(&shape->settings);
	List *arguments = NIL;
	ListCell *cell;

	for (int i = 0; i < shape->nkeys; i++)
		arguments = lappend(arguments, span_string(shape->keys[i]));
	foreach (cell, shape->indexes)
		arguments = lappend(arguments, dyn_index_spec_print(lfirst(cell)));
	foreach (cell, shape->vectors)
		arguments = lappend(arguments, dyn_vector_spec_print_argument(lfirst(cell)));
	return settings == NULL ? arguments : lappend(arguments, settings);
}

/* Executes SQL.  The caller is connected to SPI; its memory context stays the current one. */
void
dyn_execute(const char *sql)
{
	MemoryContext context = CurrentMemoryContext;
	int result = SPI_execute(sql, false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	MemoryContextSwitchTo(context);
}

/* Writes the definition.  Citus takes ALTER TABLE of constraints with one command only. */
static void
write_definition(const DynShape *shape)
{
	dyn_execute(
		psprintf("ALTER TABLE %s DROP CONSTRAINT " DEFINITION_CONSTRAINT, shape->qualified));
	dyn_execute(psprintf("ALTER TABLE %s %s", shape->qualified,
						 definition_sql(dyn_shape_arguments(shape))));
}

/*
 * Writes the trigger's arguments, or the definition of a distributed table.  A replaced trigger
 * fires in the default way until ALTER TABLE changes that.
 */
void
dyn_shape_write_trigger(const DynShape *shape)
{
	if (citus_kind(shape->relid) == CITUS_DISTRIBUTED)
	{
		write_definition(shape);
		return;
	}
	dyn_execute(dyn_trigger_sql(DYN_TRIGGER_DERIVE, shape->qualified, dyn_shape_arguments(shape)));
	dyn_triggers_enable(shape->relid, shape->qualified);
}

/*
 * Indexes
 */

static bool
is_table_key(const DynShape *shape, ItemSpan spec)
{
	for (int i = 0; i < shape->nkeys; i++)
	{
		if (item_compare_bytes(shape->keys[i], spec) == 0)
			return true;
	}
	return false;
}

static char *
column_of(ItemSpan spec)
{
	ItemSpan attribute;
	ItemType type;

	dyn_parse_key_spec(spec, &attribute, &type);
	return dyn_column_identifier(attribute);
}

/*
 * Random inserts leave the leaves of any btree some 70 % full.  If a btree of long entries were
 * built fuller, the first inserts would split all of its leaves.
 */
#define COVERING_FILLFACTOR 70

/* Closes the list of columns, with that of what a covering index carries. */
static void
append_carried(StringInfo sql, const DynIndexSpec *spec)
{
	appendStringInfoChar(sql, ')');
	if (spec->covering)
		appendStringInfo(sql, " INCLUDE (%s) WITH (fillfactor = %d)",
						 quote_identifier(dyn_carried_column(spec->name)), COVERING_FILLFACTOR);
}

/* Returns CREATE INDEX for a secondary index, or NULL if the primary key has the same columns. */
char *
dyn_shape_index_sql(const DynShape *shape, const DynIndexSpec *spec, const char *relation,
					bool concurrently)
{
	ItemSpan specs[DYN_MAX_INDEX_COLUMNS];
	int n = entry_specs(shape, spec, specs);
	bool same = n == shape->nkeys;
	const char *word = " WHERE ";
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE INDEX %s%s ON %s (", concurrently ? "CONCURRENTLY " : "",
					 quote_identifier(relation), shape->qualified);
	for (int i = 0; i < n; i++)
	{
		same = same && item_compare_bytes(specs[i], shape->keys[i]) == 0;
		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "", quote_identifier(column_of(specs[i])));
	}
	append_carried(&sql, spec);
	for (int i = 0; i < n; i++)
	{
		if (is_table_key(shape, specs[i]))
			continue;
		appendStringInfo(&sql, "%s%s IS NOT NULL", word, quote_identifier(column_of(specs[i])));
		word = " AND ";
	}
	return same && !spec->covering ? NULL : sql.data;
}

/* Returns CREATE TABLE for the entries of an index, each with what it projects. */
char *
dyn_shape_entries_sql(const DynShape *shape, const DynIndexSpec *spec, const char *qualified)
{
	ItemSpan specs[DYN_MAX_INDEX_COLUMNS];
	int n = entry_specs(shape, spec, specs);
	StringInfoData columns;
	StringInfoData key;

	initStringInfo(&columns);
	initStringInfo(&key);
	for (int i = 0; i < n; i++)
	{
		const char *column = quote_identifier(column_of(specs[i]));
		ItemSpan attribute;
		ItemType type;

		dyn_parse_key_spec(specs[i], &attribute, &type);
		appendStringInfo(&columns, ", %s %s NOT NULL", column, dyn_shape_type_sql(type));
		appendStringInfo(&key, "%s%s", i > 0 ? ", " : "", column);
	}
	return psprintf("CREATE TABLE %s (%s %s.dyn_item NOT NULL%s, PRIMARY KEY (%s)) USING heap",
					qualified, quote_identifier(DYN_ITEM_COLUMN), shape->extension, columns.data,
					key.data);
}

/* Returns CREATE INDEX for time to live. */
char *
dyn_shape_ttl_sql(const DynShape *shape, const char *relation, bool concurrently)
{
	const char *column = quote_identifier(DYN_TTL_COLUMN);

	return psprintf("CREATE INDEX %s%s ON %s (%s) WHERE %s IS NOT NULL",
					concurrently ? "CONCURRENTLY " : "", quote_identifier(relation),
					shape->qualified, column, column);
}

/*
 * Returns a name for the relation of an index that is free at this moment: the table's and the
 * index's, with a number if need be.
 */
char *
dyn_index_relation_name(Oid namespace, const char *table, ItemSpan index)
{
	char *wanted = psprintf("%s_%.*s", table, (int) index.len, index.data);

	for (int i = 1;; i++)
	{
		char *name = dyn_identifier(item_span(wanted));

		if (!OidIsValid(get_relname_relid(name, namespace)))
			return name;
		wanted = psprintf("%s_%.*s_%d", table, (int) index.len, index.data, i);
	}
}

/*
 * Rules
 */

/* Raises an error; words are what DynamoDB says behind DYN_INVALID_WORDS, or NULL. */
pg_noreturn static void
fail_limit(const char *message, const char *words)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("%s", message),
					errwords_if(words == NULL ? NULL : psprintf(DYN_INVALID_WORDS "%s", words))));
}

/* Names are unique, and numbers limited (docs/semantics.md, I25, L07, L08, L09). */
static void
check_counts(const DynShape *shape)
{
	int local = 0;
	int included = 0;
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);

		if (dyn_shape_index(shape, spec->name) != spec)
			fail_limit(psprintf("index \"%s\" is defined twice", item_quoted(spec->name)),
					   psprintf("Duplicate index name: %s", item_quoted_words(spec->name)));
		local += spec->local;
		included += spec->nincluded;
	}
	if (local > 0 && shape->nkeys < 2)
		fail_limit("a local index needs a table with a sort key",
				   "Table KeySchema does not have a range key, which is required when specifying a "
				   "LocalSecondaryIndex");
	if (local > dyn_max_local_indexes)
		fail_limit(psprintf("a table has at most %d local indexes", dyn_max_local_indexes),
				   psprintf("Number of LocalSecondaryIndexes exceeds per-table limit of %d",
							dyn_max_local_indexes));
	if (list_length(shape->indexes) - local > dyn_max_global_indexes)
		fail_limit(psprintf("a table has at most %d global indexes", dyn_max_global_indexes),
				   psprintf("GlobalSecondaryIndex count exceeds the per-table limit of %d",
							dyn_max_global_indexes));
	if (included > dyn_max_projected_attributes)
		fail_limit(psprintf("the indexes of a table have together at most %d non-key attributes",
							dyn_max_projected_attributes),
				   NULL);
}

/* Checks what concerns the indexes of a table together. */
void
dyn_shape_check(const DynShape *shape)
{
	List *columns = dyn_shape_columns(shape);

	check_counts(shape);
	if (list_length(columns) > DYN_MAX_COLUMNS)
		fail_limit(psprintf("the keys of a table and its indexes have together at most %d "
							"attributes",
							DYN_MAX_COLUMNS),
				   NULL);
	for (int i = 0; i < list_length(columns); i++)
	{
		const DynShapeColumn *a = list_nth(columns, i);

		for (int j = 0; j < i; j++)
		{
			const DynShapeColumn *b = list_nth(columns, j);

			if (strcmp(a->column, b->column) != 0)
				continue;
			if (a->type == ITEM_M)
				fail_limit(psprintf("key \"%s\" needs the column of what an index carries",
									item_quoted(b->spec)),
						   NULL);
			else
				fail_limit(psprintf("key \"%s\" does not go with key \"%s\"", item_quoted(a->spec),
									item_quoted(b->spec)),
						   NULL);
		}
	}
}

/*
 * Returns the call that does the rest of what was begun with an index, or, without a name, with
 * time to live.  table is an SQL expression.
 */
char *
dyn_resume_call(const char *table, ItemSpan index)
{
	if (index.len == 0)
		return psprintf("CALL " DYN_INTERNAL ".resume_ttl(%s)", table);
	return psprintf("CALL " DYN_INTERNAL ".resume_index(%s, %s)", table,
					quote_literal_cstr(span_string(index)));
}

/*
 * Triggers
 */

/*
 * Sets how the table's triggers fire back to how they were created: a restore of data may have
 * changed it.  Called where the table is changed anyway.  The relation is locked and not open, as
 * ALTER TABLE wants it, and the caller is connected to SPI.
 */
void
dyn_triggers_enable(Oid relid, const char *qualified)
{
	Relation rel;
	char *sql;

	rel = relation_open(relid, NoLock);
	sql = dyn_trigger_command(rel, qualified);
	relation_close(rel, NoLock);
	if (sql != NULL)
		dyn_execute(sql);
}
