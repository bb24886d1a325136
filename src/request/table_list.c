/*
 * table_list.c
 *	  ListTables: the tables of items that their names alone name, and that the caller may use.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/builtins.h"

#include "catalog/derive.h"
#include "catalog/rights.h"
#include "ground/errors.h"
#include "ground/name.h"
#include "request/request.h"
#include "catalog/resource.h"

#define MAX_TABLES 100

typedef struct ListTables
{
	RequestInteger limit;
	ItemSpan after;
} ListTables;

/*
 * Whether a trigger's function is ours is asked of its library symbol: who names a trigger like
 * ours need not know.  Arguments matter where a name may have been too long for a relation.
 */
static const char *const query =
	"SELECT c.oid, c.relname::pg_catalog.text, "
	"CASE WHEN pg_catalog.octet_length(c.relname::pg_catalog.text) OPERATOR(pg_catalog.=) 63 "
	"THEN t.tgargs END FROM pg_catalog.pg_trigger t "
	"JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.tgrelid "
	"JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) t.tgfoid "
	"WHERE t.tgname OPERATOR(pg_catalog.=) '" DYN_DERIVE_TRIGGER "' "
	"AND p.prosrc OPERATOR(pg_catalog.=) 'dyn_derive_keys' AND p.probin IS NOT NULL "
	"AND NOT c.relispartition AND pg_catalog.pg_table_is_visible(c.oid)";

/* All names, in byte order; they live until SPI is left. */
static int
find_names(ItemSpan **names)
{
	int result = SPI_execute(query, false, 0);
	int n = 0;

	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	*names = palloc(SPI_processed * sizeof(ItemSpan));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple row = SPI_tuptable->vals[i];
		bool isnull;
		Oid relid = DatumGetObjectId(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &isnull));
		char *name = SPI_getvalue(row, SPI_tuptable->tupdesc, 2);
		Datum arguments = SPI_getbinval(row, SPI_tuptable->tupdesc, 3, &isnull);
		DynSettings settings;

		if (!rights_to_see(relid))
			continue;
		/* somebody may have written what is no settings: then the relation's name has to do */
		if (isnull || !dyn_listed_settings(DatumGetByteaPP(arguments), &settings))
			(*names)[n++] = dyn_name_of_relation(name, NULL);
		else
			(*names)[n++] = dyn_name_of_relation(name, &settings);
	}
	qsort(*names, n, sizeof(ItemSpan), item_compare_spans);
	return n;
}

/* Raise ERRCODE_DYN_VALIDATION unless limit is between 1 and max. */
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
append_page(JsonWriter *response, const ListTables *list, const ItemSpan *names, int n)
{
	int64 limit = list->limit.given ? list->limit.value : MAX_TABLES;
	int last = -1;
	int i = 0;

	while (i < n && list->after.data != NULL && item_compare_bytes(names[i], list->after) <= 0)
		i++;
	json_write_begin(response, NULL);
	json_write_begin_array(response, "TableNames");
	for (; i < n && limit > 0; i++, limit--)
	{
		json_write_span(response, NULL, names[i]);
		last = i;
	}
	json_write_end_array(response);
	if (i < n)
		json_write_span(response, "LastEvaluatedTableName", names[last]);
	json_write_end(response);
}

/*
 * Run ListTables: list the tables that are visible in the search_path and that the current user has
 * a privilege on, by name in byte order.  Members of pg_monitor see all visible tables.
 */
void
request_list_tables(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"Limit", MEMBER_INTEGER, offsetof(ListTables, limit)},
		{"ExclusiveStartTableName", MEMBER_STRING, offsetof(ListTables, after)}};
	ListTables list = {0};
	ItemSpan *names;
	int n;

	request_read_members(reader, members, lengthof(members), &list);
	json_reader_done(reader);
	if (list.limit.given)
		request_check_limit(list.limit.value, MAX_TABLES);
	if (list.after.data != NULL)
		dyn_check_name("table", list.after);
	SPI_connect();
	n = find_names(&names);
	append_page(response, &list, names, n);
	SPI_finish();
}
