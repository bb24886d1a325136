/*
 * table_list.c
 *	  ListTables: the tables of items that their names alone name, and that the caller may use.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "api/request/request.h"
#include "catalog/listing.h"
#include "catalog/lookup.h"
#include "catalog/resource.h"
#include "catalog/rights.h"
#include "server/errors.h"
#include "server/name.h"

#define MAX_TABLES 100

typedef struct ListTables
{
	RequestInteger limit;
	ItemSpan after;
} ListTables;

/* Returns whether a table is listed, and by which name. */
static bool
find_name(Oid relid, ItemSpan *name)
{
	DynSettings settings;
	char *relation;
	bool known;

	if (!dyn_is_named_alone(relid) || !rights_to_see(relid))
		return false;
	relation = get_rel_name(relid);
	if (relation == NULL)
		return false;
	/*
	 * Names that are too long for relations are in the settings.  If the owner of the table has
	 * replaced these by something else, the relation's name is used.
	 */
	known = strlen(relation) == NAMEDATALEN - 1 && dyn_listed_settings(relid, &settings);
	*name = dyn_name_of_relation(relation, known ? &settings : NULL);
	return true;
}

/* Lists all names, in byte order. */
static int
find_names(ItemSpan **names)
{
	List *tables = dyn_listed_tables(NULL);
	ListCell *cell;
	int n = 0;

	*names = palloc(list_length(tables) * sizeof(ItemSpan));
	foreach (cell, tables)
	{
		CHECK_FOR_INTERRUPTS();
		n += find_name(lfirst_oid(cell), &(*names)[n]);
	}
	qsort(*names, n, sizeof(ItemSpan), item_compare_spans);
	return n;
}

static void
append_page(JsonWriter *response, const ListTables *list, const ItemSpan *names, int n)
{
	int64 limit = list->limit.given ? list->limit.value : MAX_TABLES;
	int last = -1;
	int i = 0;

	while (i < n && list->after.data != NULL && item_compare_bytes(names[i], list->after) <= 0)
		i++;
	json_write_begin_array(response, "TableNames");
	for (; i < n && limit > 0; i++, limit--)
	{
		json_write_span(response, NULL, names[i]);
		last = i;
	}
	json_write_end_array(response);
	if (i < n)
		json_write_span(response, "LastEvaluatedTableName", names[last]);
}

/*
 * Runs ListTables: lists the tables that are visible in the search_path and that the current user has
 * a privilege on, by name in byte order.  Members of pg_monitor see all visible tables.
 */
void
request_list_tables(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"Limit", MEMBER_INTEGER, offsetof(ListTables, limit), .min = 1, .max = MAX_TABLES},
		/* it need not exist */
		{"ExclusiveStartTableName", MEMBER_STRING, offsetof(ListTables, after),
		 .name_of = NAME_ANY}};
	ListTables list = {0};
	ItemSpan *names;
	int n;

	request_read(reader, members, lengthof(members), &list, NULL);
	n = find_names(&names);
	append_page(response, &list, names, n);
}
