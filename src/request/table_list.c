/*
 * table_list.c
 *	  ListTables: the tables of items that their names alone name, and that the caller may use.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/json.h"

#include "catalog/derive.h"
#include "errors.h"
#include "request/request.h"
#include "request/resource.h"

#define MAX_TABLES 100

typedef struct ListTables
{
	RequestInteger limit;
	ItemSpan after;
} ListTables;

/*
 * Whether a trigger's function is ours is asked of its library symbol: who names a trigger like
 * ours need not know.
 */
static const char *const query =
	"SELECT c.relname::pg_catalog.text, t.tgargs, c.oid FROM pg_catalog.pg_trigger t JOIN "
	"pg_catalog.pg_class c ON c.oid = t.tgrelid JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid "
	"WHERE t.tgname = '" DYN_DERIVE_TRIGGER "' AND p.prosrc = 'dyn_derive_keys' AND "
	"p.probin IS NOT NULL AND NOT c.relispartition AND pg_catalog.pg_table_is_visible(c.oid) "
	"AND pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, "
	"REFERENCES, TRIGGER')";

/* Of arguments that end with a zero byte each. */
static void
read_settings(bytea *arguments, DynSettings *settings)
{
	const char *at = VARDATA_ANY(arguments);
	const char *end = at + VARSIZE_ANY_EXHDR(arguments);

	for (; at < end; at += strlen(at) + 1)
	{
		if (dyn_settings_is_argument(at))
			dyn_settings_parse(at, settings);
	}
}

/* Settings matter to a name that may have been too long for a relation. */
static void
read_table(HeapTuple row, bool settings, RequestTable *table)
{
	TupleDesc desc = SPI_tuptable->tupdesc;
	char *relation = SPI_getvalue(row, desc, 1);
	bool isnull;

	memset(table, 0, sizeof(*table));
	table->relid = DatumGetObjectId(SPI_getbinval(row, desc, 3, &isnull));
	if (settings || strlen(relation) == NAMEDATALEN - 1)
		read_settings(DatumGetByteaPP(SPI_getbinval(row, desc, 2, &isnull)), &table->settings);
	table->name = (ItemSpan){relation, (uint32) strlen(relation)};
	/* not if the table was renamed since */
	if (table->settings.name.len > 0 && strcmp(dyn_identifier(table->settings.name), relation) == 0)
		table->name = table->settings.name;
}

static int
compare_names(const void *a, const void *b)
{
	return item_compare_bytes(((const RequestTable *) a)->name, ((const RequestTable *) b)->name);
}

/*
 * All tables, by their names in byte order, with their settings if these are wanted; connected to
 * SPI, and until it is left.
 */
int
request_find_tables(bool settings, RequestTable **tables)
{
	int result = SPI_execute(query, false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	*tables = palloc(SPI_processed * sizeof(RequestTable));
	for (uint64 i = 0; i < SPI_processed; i++)
		read_table(SPI_tuptable->vals[i], settings, &(*tables)[i]);
	qsort(*tables, SPI_processed, sizeof(RequestTable), compare_names);
	return (int) SPI_processed;
}

void
request_check_limit(int64 limit, int max)
{
	if (limit < 1 || limit > max)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "1 validation error detected: Value '" INT64_FORMAT "' at 'limit' failed to "
				  "satisfy constraint: Member must have value between 1 and %d",
				  limit, max);
}

static void
append_page(StringInfo response, const ListTables *list, const RequestTable *tables, int n)
{
	int64 limit = list->limit.given ? list->limit.value : MAX_TABLES;
	int last = -1;
	int i = 0;

	while (i < n && list->after.data != NULL &&
		   item_compare_bytes(tables[i].name, list->after) <= 0)
		i++;
	appendStringInfoString(response, "{\"TableNames\":[");
	for (; i < n && limit > 0; i++, limit--)
	{
		appendStringInfoString(response, last >= 0 ? "," : "");
		escape_json(response, pnstrdup(tables[i].name.data, tables[i].name.len));
		last = i;
	}
	appendStringInfoChar(response, ']');
	if (i < n)
	{
		appendStringInfoString(response, ",\"LastEvaluatedTableName\":");
		escape_json(response, pnstrdup(tables[last].name.data, tables[last].name.len));
	}
	appendStringInfoChar(response, '}');
}

void
request_list_tables(JsonReader *reader, StringInfo response)
{
	static const RequestMember members[] = {
		{"Limit", MEMBER_INTEGER, offsetof(ListTables, limit)},
		{"ExclusiveStartTableName", MEMBER_STRING, offsetof(ListTables, after)}};
	ListTables list = {0};
	StringInfoData page;
	RequestTable *tables;
	int n;

	request_read_members(reader, members, lengthof(members), &list);
	json_reader_done(reader);
	if (list.limit.given)
		request_check_limit(list.limit.value, MAX_TABLES);
	if (list.after.data != NULL)
		dyn_check_name("table", list.after);
	SPI_connect();
	n = request_find_tables(false, &tables);
	initStringInfo(&page);
	append_page(&page, &list, tables, n);
	/* response keeps to its own memory as it grows */
	appendBinaryStringInfo(response, page.data, page.len);
	SPI_finish();
}
