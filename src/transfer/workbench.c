/*
 * workbench.c
 *	  dyn_import_workbench(): tables, indexes and sample data of a NoSQL Workbench model.
 *
 * What a model says of a table is written as the request that CreateTable takes, so tables are made
 * and checked by the same code, and its data goes the way of imported lines.  Members that say
 * nothing about tables and items are passed over: versions of the file differ in these.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "ground/arguments.h"
#include "ground/errors.h"
#include "item/reader.h"
#include "request/request.h"
#include "transfer/transfer.h"

/* PartitionKey and SortKey; the second one may be missing. */
typedef struct ModelKeys
{
	ItemSpan name[DYN_MAX_KEYS];
	ItemSpan type[DYN_MAX_KEYS];
} ModelKeys;

typedef struct ModelIndex
{
	ItemSpan name;
	ModelKeys keys;
	ItemSpan projection;
	List *included; /* of ItemSpan * */
} ModelIndex;

typedef struct ModelItem
{
	ItemSpan json;
	ItemSpan facet; /* its name; of length 0: the item is the table's */
	int number; /* from 1, there */
} ModelItem;

typedef struct ModelTable
{
	ItemSpan name;
	ModelKeys keys;
	List *global; /* of ModelIndex */
	List *local;
	List *facet_items; /* of ModelItem: facets show items of the table, or all there are */
	List *items;
	StringInfoData facets; /* their names */
	ItemSpan billing;
	int64 read; /* 0: not given */
	int64 write;
} ModelTable;

/*
 * Reading
 */

static void
read_attribute(JsonReader *reader, ModelKeys *keys, int i)
{
	ItemSpan name;

	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		if (item_span_is(name, "AttributeName"))
			keys->name[i] = json_read_string(reader);
		else if (item_span_is(name, "AttributeType"))
			keys->type[i] = json_read_string(reader);
		else
			json_skip(reader);
	}
}

static void
read_keys(JsonReader *reader, ModelKeys *keys)
{
	ItemSpan name;

	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		if (item_span_is(name, "PartitionKey"))
			read_attribute(reader, keys, 0);
		else if (item_span_is(name, "SortKey"))
			read_attribute(reader, keys, 1);
		else
			json_skip(reader);
	}
}

static void
read_projection(JsonReader *reader, ModelIndex *index)
{
	ItemSpan name;

	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		if (item_span_is(name, "ProjectionType"))
			index->projection = json_read_string(reader);
		else if (item_span_is(name, "NonKeyAttributes"))
		{
			for (json_read_array(reader); json_read_element(reader);)
			{
				ItemSpan *included = palloc(sizeof(ItemSpan));

				*included = json_read_string(reader);
				index->included = lappend(index->included, included);
			}
		}
		else
			json_skip(reader);
	}
}

static List *
read_indexes(JsonReader *reader)
{
	List *indexes = NIL;

	for (json_read_array(reader); json_read_element(reader);)
	{
		ModelIndex *index = palloc0(sizeof(ModelIndex));
		ItemSpan name;

		index->projection = (ItemSpan){"ALL", 3};
		for (json_read_object(reader); json_read_member(reader, &name);)
		{
			if (item_span_is(name, "IndexName"))
				index->name = json_read_string(reader);
			else if (item_span_is(name, "KeyAttributes"))
				read_keys(reader, &index->keys);
			else if (item_span_is(name, "Projection"))
				read_projection(reader, index);
			else
				json_skip(reader);
		}
		indexes = lappend(indexes, index);
	}
	return indexes;
}

/* The text of the items, which are read when there is a table to put them in. */
static List *
read_items(JsonReader *reader, ItemSpan facet, List *items)
{
	int number = 0;

	for (json_read_array(reader); json_read_element(reader);)
	{
		ModelItem *item = palloc(sizeof(ModelItem));

		*item = (ModelItem){json_read_raw(reader), facet, ++number};
		items = lappend(items, item);
	}
	return items;
}

/* The name may stand behind the data. */
static void
read_facet(JsonReader *reader, ModelTable *table, bool data)
{
	int before = list_length(table->facet_items);
	ItemSpan facet = {"", 0};
	ItemSpan name;

	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		if (item_span_is(name, "FacetName"))
			facet = json_read_string(reader);
		else if (data && item_span_is(name, "TableData"))
			table->facet_items = read_items(reader, facet, table->facet_items);
		else
			json_skip(reader);
	}
	for (int i = before; i < list_length(table->facet_items); i++)
		((ModelItem *) list_nth(table->facet_items, i))->facet = facet;
	if (facet.len > 0)
		appendStringInfo(&table->facets, "%s\"%s\"", table->facets.len > 0 ? ", " : "",
						 item_quoted(facet));
}

static void
read_facets(JsonReader *reader, ModelTable *table, bool data)
{
	for (json_read_array(reader); json_read_element(reader);)
		read_facet(reader, table, data);
}

/* {"ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":5}, …} */
static void
read_capacity(JsonReader *reader, ModelTable *table)
{
	ItemSpan name;

	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		if (item_span_is(name, "ProvisionedThroughput"))
			read_capacity(reader, table);
		else if (item_span_is(name, "ReadCapacityUnits"))
			table->read = json_read_integer(reader);
		else if (item_span_is(name, "WriteCapacityUnits"))
			table->write = json_read_integer(reader);
		else
			json_skip(reader);
	}
}

static void
read_table_member(JsonReader *reader, ItemSpan name, ModelTable *table, bool data)
{
	if (item_span_is(name, "TableName"))
		table->name = json_read_string(reader);
	else if (item_span_is(name, "KeyAttributes"))
		read_keys(reader, &table->keys);
	else if (item_span_is(name, "GlobalSecondaryIndexes"))
		table->global = read_indexes(reader);
	else if (item_span_is(name, "LocalSecondaryIndexes"))
		table->local = read_indexes(reader);
	else if (item_span_is(name, "TableFacets"))
		read_facets(reader, table, data);
	else if (data && item_span_is(name, "TableData"))
		table->items = read_items(reader, (ItemSpan){"", 0}, table->items);
	else if (item_span_is(name, "BillingMode"))
		table->billing = json_read_string(reader);
	else if (item_span_is(name, "ProvisionedCapacitySettings"))
		read_capacity(reader, table);
	else
		json_skip(reader);
}

static List *
read_tables(JsonReader *reader, bool data)
{
	List *tables = NIL;

	for (json_read_array(reader); json_read_element(reader);)
	{
		ModelTable *table = palloc0(sizeof(ModelTable));
		ItemSpan name;

		initStringInfo(&table->facets);
		for (json_read_object(reader); json_read_member(reader, &name);)
			read_table_member(reader, name, table, data);
		if (table->name.len == 0)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("a table of the model has no \"TableName\"")));
		tables = lappend(tables, table);
	}
	return tables;
}

/* Without data, what holds items is passed over like what is not known. */
static List *
read_model(text *model, bool data)
{
	List *tables = NIL;
	bool found = false;
	JsonReader reader;
	ItemSpan name;

	json_reader_init_argument(&reader, model, "model");
	for (json_read_object(&reader); json_read_member(&reader, &name);)
	{
		found |= item_span_is(name, "DataModel");
		if (item_span_is(name, "DataModel"))
			tables = read_tables(&reader, data);
		else
			json_skip(&reader);
	}
	json_reader_done(&reader);
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("the model has no member \"DataModel\""),
				 errhint("Models are exported from NoSQL Workbench as JSON.")));
	return tables;
}

/*
 * Tables
 */

/* A key that is used for the first time goes into the definitions of attributes. */
static void
define_key(JsonWriter *definitions, ItemSpan name, ItemSpan type)
{
	JsonWriter definition = json_writer(JSON_COMPACT);

	json_write_begin(&definition, NULL);
	json_write_span(&definition, "AttributeName", name);
	json_write_span(&definition, "AttributeType", type);
	json_write_end(&definition);
	if (strstr(definitions->text->data, definition.text->data) == NULL)
		json_write_raw(definitions, NULL, definition.text->data);
}

static void
print_keys(JsonWriter *out, const ModelKeys *keys, JsonWriter *definitions)
{
	static const char *const types[] = {"HASH", "RANGE"};

	json_write_begin_array(out, "KeySchema");
	for (int i = 0; i < DYN_MAX_KEYS; i++)
	{
		if (keys->name[i].len == 0)
			continue;
		json_write_begin(out, NULL);
		json_write_span(out, "AttributeName", keys->name[i]);
		json_write_string(out, "KeyType", types[i]);
		json_write_end(out);
		define_key(definitions, keys->name[i], keys->type[i]);
	}
	json_write_end_array(out);
}

static bool
is_provisioned(const ModelTable *table)
{
	return item_span_is(table->billing, "PROVISIONED") && table->read > 0 && table->write > 0;
}

/* Of indexes a model has none: they get that of their table. */
static void
print_capacity(JsonWriter *out, const ModelTable *table)
{
	if (!is_provisioned(table))
		return;
	json_write_begin(out, "ProvisionedThroughput");
	json_write_integer(out, "ReadCapacityUnits", table->read);
	json_write_integer(out, "WriteCapacityUnits", table->write);
	json_write_end(out);
}

static void
print_projection(JsonWriter *out, const ModelIndex *index)
{
	ListCell *cell;

	json_write_begin(out, "Projection");
	json_write_span(out, "ProjectionType", index->projection);
	if (index->included != NIL)
	{
		json_write_begin_array(out, "NonKeyAttributes");
		foreach (cell, index->included)
			json_write_span(out, NULL, *(ItemSpan *) lfirst(cell));
		json_write_end_array(out);
	}
	json_write_end(out);
}

static void
print_indexes(JsonWriter *out, const ModelTable *table, bool local, JsonWriter *definitions)
{
	List *indexes = local ? table->local : table->global;
	ListCell *cell;

	if (indexes == NIL)
		return;
	json_write_begin_array(out, local ? "LocalSecondaryIndexes" : "GlobalSecondaryIndexes");
	foreach (cell, indexes)
	{
		const ModelIndex *index = lfirst(cell);

		json_write_begin(out, NULL);
		json_write_span(out, "IndexName", index->name);
		print_keys(out, &index->keys, definitions);
		print_projection(out, index);
		if (!local)
			print_capacity(out, table);
		json_write_end(out);
	}
	json_write_end_array(out);
}

static void
create_table(const ModelTable *table, ItemSpan name)
{
	JsonWriter definitions = json_writer(JSON_COMPACT);
	JsonWriter request = json_writer(JSON_COMPACT);
	JsonWriter response = json_writer(JSON_COMPACT);
	JsonReader reader;

	json_write_begin_array(&definitions, NULL);
	json_write_begin(&request, NULL);
	json_write_span(&request, "TableName", name);
	print_keys(&request, &table->keys, &definitions);
	print_indexes(&request, table, false, &definitions);
	print_indexes(&request, table, true, &definitions);
	print_capacity(&request, table);
	json_write_string(&request, "BillingMode",
					  is_provisioned(table) ? "PROVISIONED" : "PAY_PER_REQUEST");
	json_write_end_array(&definitions);
	json_write_raw(&request, "AttributeDefinitions", definitions.text->data);
	json_write_end(&request);
	json_reader_init(&reader, request.text->data, request.text->len);
	request_create_table(&reader, &response);
	CommandCounterIncrement();
}

/*
 * Data
 */

/* The items of a table on their way into it. */
typedef struct Samples
{
	ItemSpan table; /* the model's name of it */
	Transfer transfer;
	List *items; /* of ModelItem; the number of one counts from 1 */
	MemoryContext transient; /* of an item */
} Samples;

static void
warn(void *arg, int64 line, const ErrorData *error)
{
	const Samples *samples = arg;
	const ModelItem *item = list_nth(samples->items, (int) line - 1);
	const char *where = "";
	StringInfoData key;

	initStringInfo(&key);
	transfer_print_sample_key(item->json, samples->transfer.table, &key);
	if (item->facet.len > 0)
		where = psprintf(", facet \"%s\"", item_quoted(item->facet));
	ereport(WARNING,
			(errcode(error->sqlerrcode),
			 errmsg("item %d of table \"%s\"%s, with key {%s}, is skipped: %s", item->number,
					item_quoted(samples->table), where, key.data, error->message),
			 error->detail != NULL ? errdetail_internal("%s", error->detail) : 0));
}

static void
take_sample(Samples *samples, const ModelItem *sample)
{
	MemoryContext old = MemoryContextSwitchTo(samples->transient);
	DynItem *item;
	ErrorData *error = transfer_read_sample(sample->json, &item);

	if (error == NULL)
		transfer_take_item(&samples->transfer, item);
	else
	{
		transfer_blank(&samples->transfer);
		warn(samples, samples->transfer.line, error);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(samples->transient);
}

/* What the table itself has counts more than what a facet shows of it. */
static int64
put_items(const ModelTable *table, ItemSpan name)
{
	Samples samples = {.table = table->name,
					   .items = list_concat_copy(table->facet_items, table->items)};
	Transfer *transfer = &samples.transfer;
	ListCell *cell;

	*transfer = (Transfer){
		.on_conflict = TRANSFER_REPLACE, .skip = true, .report = warn, .report_arg = &samples};
	samples.transient =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table sample", ALLOCSET_DEFAULT_SIZES);
	transfer_begin(transfer, "item", Max(list_length(samples.items), 1));
	transfer->rel = dyn_table_find(name, RowExclusiveLock, &transfer->table);
	foreach (cell, samples.items)
	{
		CHECK_FOR_INTERRUPTS();
		take_sample(&samples, lfirst(cell));
	}
	transfer_write(transfer);
	relation_close(transfer->rel, NoLock);
	return transfer->written - transfer->superseded;
}

/*
 * The function
 */

static void
name_table(void *arg)
{
	ItemSpan *name = arg;

	errcontext("table \"%s\" of the model", item_quoted(*name));
}

static ItemSpan
prefixed(text *prefix, ItemSpan name)
{
	StringInfoData full;

	if (prefix == NULL)
		return name;
	initStringInfo(&full);
	appendBinaryStringInfo(&full, VARDATA_ANY(prefix), VARSIZE_ANY_EXHDR(prefix));
	appendBinaryStringInfo(&full, name.data, name.len);
	return (ItemSpan){full.data, full.len};
}

static void
import_table(const ModelTable *table, ItemSpan name, ReturnSetInfo *result)
{
	ErrorContextCallback callback = {error_context_stack, name_table,
									 unconstify(ItemSpan *, &table->name)};
	Datum values[3];
	bool nulls[3] = {false};

	error_context_stack = &callback;
	create_table(table, name);
	values[0] = PointerGetDatum(cstring_to_text_with_len(name.data, (int) name.len));
	values[1] = Int64GetDatum(list_length(table->global) + list_length(table->local));
	values[2] = Int64GetDatum(put_items(table, name));
	if (table->facets.len > 0)
		ereport(NOTICE, (errmsg("facets of table \"%s\" are not kept: %s", item_quoted(name),
								table->facets.data),
						 errhint("Declare them as entities with dyn_create_entity.")));
	error_context_stack = callback.previous;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* dyn_import_workbench(model, data, prefix) */
PG_FUNCTION_INFO_V1(dyn_import_workbench);
Datum
dyn_import_workbench(PG_FUNCTION_ARGS)
{
	text *prefix = argument_text(fcinfo, 2);
	bool data = PG_ARGISNULL(1) || PG_GETARG_BOOL(1);
	List *tables;
	ListCell *cell;

	argument_require(fcinfo, 0, "model");
	tables = read_model(PG_GETARG_TEXT_PP(0), data);
	InitMaterializedSRF(fcinfo, 0);
	foreach (cell, tables)
	{
		const ModelTable *table = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		import_table(table, prefixed(prefix, table->name), (ReturnSetInfo *) fcinfo->resultinfo);
	}
	return (Datum) 0;
}
