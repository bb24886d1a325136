/*
 * create.c
 *	  dyn_create_table() and dyn_drop_table(): plain DDL, written for the caller.
 *
 * What they make can be made by hand, and is nothing but what pg_catalog shows; see
 * docs/reference.md for the DDL.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/key.h"
#include "errors.h"

typedef struct NewTable
{
	const char *qualified;
	const char *extension; /* quoted schema of the extension */
	int nkeys;
	const char *specs[DYN_MAX_KEYS]; /* "name TYPE" */
	const char *columns[DYN_MAX_KEYS];
	ItemType types[DYN_MAX_KEYS];
	int fillfactor;
} NewTable;

static void
execute(const char *sql)
{
	int result = SPI_execute(sql, false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
}

static void
fail_exists(text *name)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
					errmsg("table \"%s\" already exists", text_to_cstring(name))));
}

/* Where a new table goes: into a schema that its name begins with, or where CREATE TABLE would. */
static const char *
creation_name(text *name)
{
	ItemSpan span = {VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)};
	char *schema;
	char *relation;

	dyn_check_table_name(span);
	dyn_split_name(span, &schema, &relation);
	if (schema == NULL || !OidIsValid(get_namespace_oid(schema, true)))
	{
		List *path = fetch_search_path(false);

		if (path == NIL)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
							errmsg("no schema has been selected to create in")));
		schema = get_namespace_name(linitial_oid(path));
		relation = dyn_identifier(span);
	}
	if (OidIsValid(get_relname_relid(relation, get_namespace_oid(schema, false))))
		fail_exists(name);
	return quote_qualified_identifier(schema, relation);
}

static void
add_key(NewTable *table, text *spec)
{
	ItemSpan span = {VARDATA_ANY(spec), VARSIZE_ANY_EXHDR(spec)};
	ItemSpan attribute;
	int i = table->nkeys++;

	dyn_parse_key_spec(span, &attribute, &table->types[i]);
	table->specs[i] = text_to_cstring(spec);
	table->columns[i] = dyn_column_identifier(attribute);
	if (i > 0 && strcmp(table->columns[0], table->columns[1]) == 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("partition key and sort key must be different attributes")));
}

static const char *
column_type(ItemType type)
{
	return type == ITEM_S   ? "pg_catalog.text COLLATE pg_catalog.\"C\""
		   : type == ITEM_N ? "pg_catalog.numeric"
							: "pg_catalog.bytea";
}

static void
append_list(StringInfo sql, const NewTable *table,
			const char *(*part)(const NewTable *table, int i))
{
	for (int i = 0; i < table->nkeys; i++)
		appendStringInfo(sql, "%s%s", i > 0 ? ", " : "", part(table, i));
}

static const char *
column_part(const NewTable *table, int i)
{
	return quote_identifier(table->columns[i]);
}

static const char *
definition_part(const NewTable *table, int i)
{
	return psprintf("%s %s NOT NULL", quote_identifier(table->columns[i]),
					column_type(table->types[i]));
}

static const char *
spec_part(const NewTable *table, int i)
{
	return quote_literal_cstr(table->specs[i]);
}

/*
 * The keys as one array constant.  The executor reads the constraint's tree anew in each statement,
 * and an ARRAY[] of constants is half as large again.
 */
static const char *
specs_literal(const NewTable *table)
{
	StringInfoData array;

	initStringInfo(&array);
	for (int i = 0; i < table->nkeys; i++)
	{
		appendStringInfoString(&array, i > 0 ? ",\"" : "{\"");
		for (const char *p = table->specs[i]; *p != '\0'; p++)
		{
			if (*p == '"' || *p == '\\')
				appendStringInfoChar(&array, '\\');
			appendStringInfoChar(&array, *p);
		}
		appendStringInfoChar(&array, '"');
	}
	appendStringInfoChar(&array, '}');
	return quote_literal_cstr(array.data);
}

static void
create_relation(const NewTable *table)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE TABLE %s (%s %s.dyn_item NOT NULL, ", table->qualified,
					 quote_identifier(DYN_ITEM_COLUMN), table->extension);
	append_list(&sql, table, definition_part);
	appendStringInfoString(&sql, ", PRIMARY KEY (");
	append_list(&sql, table, column_part);
	appendStringInfo(&sql, "), CONSTRAINT %s CHECK (%s.dyn_keys_match(%s, %s::pg_catalog.text[], ",
					 quote_identifier(DYN_KEYS_CONSTRAINT), table->extension,
					 quote_identifier(DYN_ITEM_COLUMN), specs_literal(table));
	append_list(&sql, table, column_part);
	appendStringInfo(&sql, "))) USING dynamo_table WITH (fillfactor = %d)", table->fillfactor);
	execute(sql.data);
}

static void
create_trigger(const NewTable *table)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql,
					 "CREATE TRIGGER %s BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE "
					 "FUNCTION %s.dyn_derive_keys(",
					 quote_identifier(DYN_DERIVE_TRIGGER), table->qualified, table->extension);
	append_list(&sql, table, spec_part);
	appendStringInfoChar(&sql, ')');
	execute(sql.data);
	resetStringInfo(&sql);
	appendStringInfo(&sql, "ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", table->qualified,
					 quote_identifier(DYN_DERIVE_TRIGGER));
	execute(sql.data);
}

/*
 * Who creates a table of the same name at the same time gets past creation_name(), and would see
 * a violation of a catalog's unique index.
 */
static void
create_table(const NewTable *table, text *name)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		create_relation(table);
	}
	PG_CATCH();
	{
		int code = geterrcode();

		if (code != ERRCODE_DUPLICATE_TABLE && code != ERRCODE_DUPLICATE_OBJECT &&
			code != ERRCODE_UNIQUE_VIOLATION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		fail_exists(name);
	}
	PG_END_TRY();
	create_trigger(table);
}

/* dyn_create_table(table_name, partition_key, sort_key, fillfactor) */
PG_FUNCTION_INFO_V1(dyn_create_table);
Datum
dyn_create_table(PG_FUNCTION_ARGS)
{
	NewTable table = {0};

	for (int i = 0; i < 4; i++)
	{
		if (PG_ARGISNULL(i) && i != 2)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("table name, partition key and fillfactor must not be null")));
	}
	table.extension =
		quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));
	table.fillfactor = PG_GETARG_INT32(3);
	add_key(&table, PG_GETARG_TEXT_PP(1));
	if (!PG_ARGISNULL(2))
		add_key(&table, PG_GETARG_TEXT_PP(2));
	table.qualified = creation_name(PG_GETARG_TEXT_PP(0));
	SPI_connect();
	create_table(&table, PG_GETARG_TEXT_PP(0));
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * The name is looked up under a lock that is given back: DROP TABLE takes its own only after it
 * has looked whether the caller may.
 */
PG_FUNCTION_INFO_V1(dyn_drop_table);
Datum
dyn_drop_table(PG_FUNCTION_ARGS)
{
	DynTable *table;
	Relation rel = dyn_table_open(PG_GETARG_TEXT_PP(0), AccessShareLock, &table);
	char *sql = psprintf("DROP TABLE %s", table->qualified);

	relation_close(rel, AccessShareLock);
	SPI_connect();
	execute(sql);
	SPI_finish();
	PG_RETURN_VOID();
}
