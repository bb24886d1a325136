/*
 * batch.c
 *	  BatchGetItem and BatchWriteItem.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "api/request/meter.h"
#include "api/request/parameters.h"
#include "api/request/request.h"
#include "catalog/definition/settings.h"
#include "item/json_writer.h"
#include "server/arguments.h"
#include "server/errors.h"

/* Adds an item, or key. */
static void
add_item(DynItem ***items, int *n, DynItem *item)
{
	if (*n == 0)
		*items = palloc(16 * sizeof(DynItem *));
	else if (*n >= 16 && (*n & (*n - 1)) == 0)
		*items = repalloc_huge(*items, 2 * (Size) *n * sizeof(DynItem *));
	(*items)[(*n)++] = item;
}

#define GET_WITHOUT_TABLES \
	"1 validation error detected: Value at 'RequestItems' failed to satisfy constraint: " \
	"Member must have length greater than or equal to 1"
#define WRITE_WITHOUT_TABLES "The requestItems parameter is required for BatchWriteItem"

/* Returns the name of a table, which begins with it: the name of a member of RequestItems. */
static ItemSpan
name_of(const ListCell *cell)
{
	return text_span(*(text **) lfirst(cell));
}

/* Checks that names differ.  They are sorted: so many may be sent that pairs are too many. */
static void
check_twofold(const List *tables)
{
	int n = list_length(tables);
	ItemSpan *names = palloc_extended(n * sizeof(ItemSpan), MCXT_ALLOC_HUGE);

	for (int i = 0; i < n; i++)
		names[i] = name_of(list_nth_cell(tables, i));
	qsort(names, n, sizeof(ItemSpan), item_compare_spans);
	for (int i = 1; i < n; i++)
	{
		if (item_compare_bytes(names[i - 1], names[i]) == 0)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("table \"%s\" is given twice", item_quoted(names[i]))));
	}
	pfree(names);
}

#define NAMES_CONSTRAINT \
	"Map keys must satisfy constraint: [Member must have length less than or equal to 255, " \
	"Member must have length greater than or equal to 3, " \
	"Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]"

/* Returns the first table with a name that no table can have, or NULL. */
static const ListCell *
find_misnamed(const List *tables)
{
	ListCell *cell;

	check_twofold(tables);
	foreach (cell, tables)
	{
		if (!request_is_table(name_of(cell)))
			return cell;
	}
	return NULL;
}

/*
 * BatchGetItem
 */

/* Says what is wanted of one table: KeysAndAttributes. */
typedef struct GetTable
{
	text *name; /* as it is given */
	BatchGetTable get;
	Jsonb *names;
	LegacyParameters legacy;
	JsonWriter items; /* that are there */
} GetTable;

typedef struct BatchGetCall
{
	List *tables;
	int capacity;
} BatchGetCall;

/* Reads keys: each table needs one at least, and has not too many (docs/semantics.md, B07). */
static void
read_keys(JsonReader *reader, void *to)
{
	GetTable *table = to;
	int n = 0;

	for (json_read_array(reader); json_read_element(reader); n++)
		add_item(&table->get.keys, &table->get.nkeys, json_read_item(reader, ITEM_SYNTAX_ITEM));
	if (n == 0 || n > dyn_max_batch_get_keys)
		request_invalid_plain(
			reader,
			psprintf("RequestItems.%s.member.Keys", item_quoted_words(text_span(table->name))),
			"length", n == 0 ? "greater" : "less", n == 0 ? 1 : dyn_max_batch_get_keys);
}

static const RequestMember get_table_members[] = {
	{"Keys", MEMBER_CUSTOM, 0, true, .read = read_keys},
	LEGACY_ATTRIBUTES_TO_GET(GetTable, legacy),
	{"ConsistentRead", MEMBER_BOOL, offsetof(GetTable, get.consistent)},
	{"ProjectionExpression", MEMBER_TEXT, offsetof(GetTable, get.projection)},
	{"ExpressionAttributeNames", MEMBER_NAMES, offsetof(GetTable, names)},
};

static void
read_get_tables(JsonReader *reader, void *to)
{
	List **tables = to;
	const char *start = json_reader_at(reader);
	ItemSpan name;

	for (json_read_map(reader); json_read_member(reader, &name);)
	{
		GetTable *table = palloc0(sizeof(GetTable));

		table->name = span_text(name);
		request_read_members(reader, get_table_members, lengthof(get_table_members), table);
		*tables = lappend(*tables, table);
	}
	if (*tables == NIL)
		request_tell_first(reader, GET_WITHOUT_TABLES);
	/* the map is told as it stands in the request */
	if (find_misnamed(*tables) != NULL)
		request_invalid(reader, item_quoted_words(json_read_since(reader, start)),
						NAMES_CONSTRAINT);
}

static const RequestMember batch_get_members[] = {
	{"RequestItems", MEMBER_CUSTOM, offsetof(BatchGetCall, tables), true, .read = read_get_tables,
	 .missing = GET_WITHOUT_TABLES},
	RETURN_CAPACITY(BatchGetCall, capacity),
};

/* Checks that all tables have expressions, or all have legacy parameters. */
static void
check_mixing(const List *tables)
{
	ExpressionParameter projection = {"ProjectionExpression", NULL};
	LegacyParameters legacy = {0};
	ListCell *cell;

	foreach (cell, tables)
	{
		const GetTable *table = lfirst(cell);

		if (table->get.projection != NULL)
			projection.text = table->get.projection;
		if (table->legacy.attributes_to_get.given)
			legacy = table->legacy;
	}
	parameters_check(&projection, 1, &legacy, false, false);
}

static void
check_get(void *read)
{
	const BatchGetCall *call = read;
	int64 n = 0;
	ListCell *cell;

	check_mixing(call->tables);
	foreach (cell, call->tables)
	{
		const GetTable *table = lfirst(cell);
		const ExpressionParameter projection = {"ProjectionExpression", table->get.projection};

		parameters_check(&projection, 1, &table->legacy, table->names != NULL, false);
		n += table->get.nkeys;
	}
	batch_check_keys(n);
}

/* Builds what the tables ask for, beside their keys. */
static void
build_gets(const BatchGetCall *call)
{
	ListCell *cell;

	foreach (cell, call->tables)
	{
		GetTable *table = lfirst(cell);

		table->get.built_projection = legacy_build_projection(&table->legacy);
		table->get.table = table->name;
		table->get.expressions = expr_request_of_api(table->names, NULL);
		table->items = json_writer(JSON_COMPACT);
		json_write_begin_array(&table->items, NULL);
	}
}

static void
add_gotten(int table, Datum item, void *arg)
{
	GetTable *t = list_nth(arg, table);

	json_write_item(&t->items, NULL, DatumGetDynItem(item));
}

static void
print_attributes_to_get(JsonWriter *response, const List *names)
{
	ListCell *cell;

	json_write_begin_array(response, "AttributesToGet");
	foreach (cell, names)
		json_write_span(response, NULL, *(const ItemSpan *) lfirst(cell));
	json_write_end_array(response);
}

/* Prints a table as the request has it, with the keys from first on. */
static void
print_unprocessed_table(JsonWriter *response, const GetTable *table, int first)
{
	json_write_member(response, text_span(table->name));
	json_write_begin(response, NULL);
	json_write_begin_array(response, "Keys");
	for (int i = first; i < table->get.nkeys; i++)
		json_write_item(response, NULL, table->get.keys[i]);
	json_write_end_array(response);
	if (table->get.projection != NULL)
		json_write_span(response, "ProjectionExpression", text_span(table->get.projection));
	if (table->legacy.attributes_to_get.given)
		print_attributes_to_get(response, table->legacy.attributes_to_get.members);
	if (table->names != NULL)
	{
		json_write_name(response, "ExpressionAttributeNames");
		JsonbToCString(response->text, &table->names->root, VARSIZE(table->names));
	}
	json_write_bool(response, "ConsistentRead", table->get.consistent);
	json_write_end(response);
}

/* Prints keys that were not read, in a form that can be sent again (docs/semantics.md, B05). */
static void
print_unprocessed(JsonWriter *response, const List *tables, const BatchGetRest *rest)
{
	json_write_begin(response, "UnprocessedKeys");
	for (int i = rest->table; rest->any && i < list_length(tables); i++)
		print_unprocessed_table(response, list_nth(tables, i), i == rest->table ? rest->key : 0);
	json_write_end(response);
}

static void
print_gotten(JsonWriter *response, const List *tables)
{
	ListCell *cell;

	json_write_begin(response, "Responses");
	foreach (cell, tables)
	{
		GetTable *table = lfirst(cell);

		json_write_end_array(&table->items);
		json_write_member(response, text_span(table->name));
		json_write_raw(response, NULL, table->items.text->data);
	}
	json_write_end(response);
}

static void
prepare_get(const JsonReader *reader, const BatchGetCall *call, BatchGetRequest *request,
			RequestMeter *meter)
{
	int n = list_length(call->tables);

	*request = (BatchGetRequest){n, palloc(n * sizeof(BatchGetTable)), (Size) dyn_max_batch_size};
	meter_init(meter, call->capacity, 0, n);
	for (int i = 0; i < n; i++)
	{
		const GetTable *table = list_nth(call->tables, i);

		request->tables[i] = table->get;
		meter->parts[i] = (MeterPart){table->name, table->get.consistent ? CAPACITY_CONSISTENT_READ
																		 : CAPACITY_READ};
	}
	request->part = request_names_parts(reader, meter->parts, n);
	request->site = reader->site;
	request->meter = meter_wanted(meter);
}

/*
 * Runs BatchGetItem, and appends the response.  Keys are returned as UnprocessedKeys once the items
 * read exceed dyn_max_batch_size bytes.
 */
void
request_batch_get_item(JsonReader *reader, JsonWriter *response)
{
	BatchGetCall call = {0};
	BatchGetRequest request;
	BatchGetRest rest;
	RequestMeter meter;

	request_read(reader, batch_get_members, lengthof(batch_get_members), &call, check_get);
	build_gets(&call);
	prepare_get(reader, &call, &request, &meter);
	action_batch_get(&request, add_gotten, call.tables, &rest);
	print_gotten(response, call.tables);
	print_unprocessed(response, call.tables, &rest);
	meter_print(response, &meter);
}

/*
 * BatchWriteItem
 */

typedef struct WriteTable
{
	text *name; /* as it is given */
	BatchWriteTable write;
} WriteTable;

typedef struct BatchWriteCall
{
	List *tables;
	int capacity;
	int metrics;
} BatchWriteCall;

/* This is a WriteRequest, which has exactly one of both. */
typedef struct WriteCall
{
	DynItem *put;
	DynItem *delete; /* the key */
} WriteCall;

static const RequestMember put_members[] = {{"Item", MEMBER_ITEM, 0, true}};
static const RequestMember delete_members[] = {{"Key", MEMBER_ITEM, 0, true}};
static const RequestType put_request = {put_members, lengthof(put_members)};
static const RequestType delete_request = {delete_members, lengthof(delete_members)};

static const RequestMember write_members[] = {
	{"PutRequest", MEMBER_PART, offsetof(WriteCall, put), .of = &put_request},
	{"DeleteRequest", MEMBER_PART, offsetof(WriteCall, delete), .of = &delete_request}};

/* Checks a WriteRequest, which these words call an AttributeValue. */
static void
check_write(JsonReader *reader, const WriteCall *call)
{
	if ((call->put != NULL) != (call->delete != NULL))
		return;
	request_refuse(reader,
				   call->put != NULL
					   ? "Supplied AttributeValue has more than one datatypes set, must "
						 "contain exactly one of the supported datatypes"
					   : NULL,
				   "a write must have either a PutRequest or a DeleteRequest");
}

static void
read_writes(JsonReader *reader, BatchWriteTable *table)
{
	for (json_read_array(reader); json_read_element(reader);)
	{
		WriteCall call = {NULL};

		request_read_members(reader, write_members, lengthof(write_members), &call);
		check_write(reader, &call);
		if (call.put != NULL)
			add_item(&table->puts, &table->nputs, call.put);
		else
			add_item(&table->deletes, &table->ndeletes, call.delete);
	}
}

/* Checks that a table has a write at least, and not too many (docs/semantics.md, B07). */
static void
check_number(JsonReader *reader, const WriteTable *table)
{
	int64 n = (int64) table->write.nputs + table->write.ndeletes;

	if (n == 0 || n > dyn_max_batch_writes)
		request_invalid(
			reader,
			psprintf("{%s=[%s]}", item_quoted_words(text_span(table->name)), n == 0 ? "" : "..."),
			"Map value must satisfy constraint: [Member must have length less than or "
			"equal to %d, Member must have length greater than or equal to 1]",
			dyn_max_batch_writes);
}

static void
read_write_tables(JsonReader *reader, void *to)
{
	List **tables = to;
	const ListCell *misnamed;
	ListCell *cell;
	ItemSpan name;

	for (json_read_map(reader); json_read_member(reader, &name);)
	{
		WriteTable *table = palloc0(sizeof(WriteTable));

		table->name = span_text(name);
		table->write.table = table->name;
		read_writes(reader, &table->write);
		*tables = lappend(*tables, table);
	}
	if (*tables == NIL)
		request_tell_first(reader, WRITE_WITHOUT_TABLES);
	misnamed = find_misnamed(*tables);
	/* told behind what is wrong with other members */
	if (misnamed != NULL)
	{
		const char *words =
			psprintf("1 validation error detected: Value '{%s=...}' at 'requestItems' "
					 "failed to satisfy constraint: " NAMES_CONSTRAINT,
					 item_quoted_words(name_of(misnamed)));

		request_refuse(reader, words, "%s", words);
	}
	/* told of the map, and not of its members */
	foreach (cell, *tables)
		check_number(reader, lfirst(cell));
}

static const RequestMember batch_write_members[] = {
	{"RequestItems", MEMBER_CUSTOM, offsetof(BatchWriteCall, tables), true,
	 .read = read_write_tables, .missing = WRITE_WITHOUT_TABLES},
	RETURN_CAPACITY(BatchWriteCall, capacity),
	RETURN_METRICS(BatchWriteCall, metrics),
};

static void
check_writes(void *read)
{
	const BatchWriteCall *call = read;
	int64 n = 0;
	ListCell *cell;

	foreach (cell, call->tables)
	{
		const BatchWriteTable *table = &((const WriteTable *) lfirst(cell))->write;

		n += (int64) table->nputs + table->ndeletes;
	}
	batch_check_writes(n);
}

static void
prepare_write(const JsonReader *reader, const BatchWriteCall *call, BatchWriteRequest *request,
			  RequestMeter *meter)
{
	int n = list_length(call->tables);

	*request = (BatchWriteRequest){n, palloc(n * sizeof(BatchWriteTable))};
	meter_init(meter, call->capacity, call->metrics, n);
	for (int i = 0; i < n; i++)
	{
		const WriteTable *table = list_nth(call->tables, i);

		request->tables[i] = table->write;
		meter->parts[i] = (MeterPart){table->name, CAPACITY_WRITE};
	}
	request->part = request_names_parts(reader, meter->parts, n);
	request->site = reader->site;
	request->meter = meter_wanted(meter);
}

/* Writes a batch.  Nothing is ever left unprocessed. */
void
request_batch_write_item(JsonReader *reader, JsonWriter *response)
{
	BatchWriteCall call = {0};
	BatchWriteRequest request;
	RequestMeter meter;

	request_read(reader, batch_write_members, lengthof(batch_write_members), &call, check_writes);
	prepare_write(reader, &call, &request, &meter);
	action_batch_write(&request);
	json_write_begin(response, "UnprocessedItems");
	json_write_end(response);
	meter_print(response, &meter);
}
