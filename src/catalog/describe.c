/*
 * describe.c
 *	  A table as DynamoDB describes it, for dyn_describe_table() and the requests.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/rel.h"

#include "catalog/table.h"
#include "ground/arguments.h"
#include "ground/arn.h"
#include "ground/description.h"
#include "ground/stream_label.h"

static void
append_key_schema(JsonWriter *json, const DynTable *table, const DynIndex *index)
{
	json_write_begin_array(json, "KeySchema");
	for (int i = 0; i < index->nkeys; i++)
	{
		json_write_begin(json, NULL);
		json_write_span(json, "AttributeName", dyn_index_key(table, index, i)->attribute);
		json_write_string(json, "KeyType", i < index->npartition ? "HASH" : "RANGE");
		json_write_end(json);
	}
	json_write_end_array(json);
}

static void
append_attributes(JsonWriter *json, const DynTable *table)
{
	json_write_begin_array(json, "AttributeDefinitions");
	for (int i = 0; i < table->nattributes; i++)
	{
		json_write_begin(json, NULL);
		json_write_span(json, "AttributeName", table->keys[i].attribute);
		json_write_string(json, "AttributeType", item_type_code(table->keys[i].type));
		json_write_end(json);
	}
	json_write_end_array(json);
}

static void
append_projection(JsonWriter *json, const DynIndex *index)
{
	json_write_begin(json, "Projection");
	json_write_string(json, "ProjectionType", dyn_projection_names[index->projection]);
	if (index->nincluded > 0)
	{
		json_write_begin_array(json, "NonKeyAttributes");
		for (int i = 0; i < index->nincluded; i++)
			json_write_span(json, NULL, index->included[i]);
		json_write_end_array(json);
	}
	json_write_end(json);
}

/* Counts are those of the last VACUUM or ANALYZE. */
static void
append_count(JsonWriter *json, Relation rel)
{
	/* -1 until the first one */
	json_write_integer(json, "ItemCount", (int64) Max(rel->rd_rel->reltuples, 0));
}

/* What only a btree that is there has. */
static void
append_btree(JsonWriter *json, const DynIndex *index)
{
	Relation btree;

	if (!OidIsValid(index->relid))
	{
		json_write_integer(json, "IndexSizeBytes", 0);
		json_write_integer(json, "ItemCount", 0);
		return;
	}
	btree = relation_open(index->relid, AccessShareLock);
	json_write_integer(
		json, "IndexSizeBytes",
		DatumGetInt64(DirectFunctionCall1(pg_total_relation_size, ObjectIdGetDatum(index->relid))));
	append_count(json, btree);
	relation_close(btree, NoLock);
}

static void
append_capacity(JsonWriter *json, const DynCapacity *capacity)
{
	json_write_begin(json, "ProvisionedThroughput");
	json_write_integer(json, "NumberOfDecreasesToday", 0);
	json_write_integer(json, "ReadCapacityUnits", capacity->read);
	json_write_integer(json, "WriteCapacityUnits", capacity->write);
	json_write_end(json);
}

/* Members that only global indexes have, which can be created and dropped at any time. */
static void
append_global(JsonWriter *json, const DynIndex *index, const DynDescription *description)
{
	DynCapacity capacity = description_capacity(description, index->name);

	json_write_string(json, "IndexStatus", dyn_index_status_names[index->status]);
	if (index->status == DYN_INDEX_CREATING)
		json_write_bool(json, "Backfilling", true);
	append_capacity(json, &capacity);
}

static void
append_index(JsonWriter *json, const DynTable *table, const DynIndex *index, const char *arn,
			 const DynDescription *description)
{
	json_write_begin(json, NULL);
	json_write_span(json, "IndexName", index->name);
	append_key_schema(json, table, index);
	append_projection(json, index);
	if (!index->local)
		append_global(json, index, description);
	append_btree(json, index);
	json_write_string(json, "IndexArn", dyn_index_arn(arn, index->name));
	json_write_end(json);
}

/* The indexes of one kind; no member if there are none. */
static void
append_indexes(JsonWriter *json, const DynTable *table, const char *arn, bool local,
			   const DynDescription *description)
{
	bool any = false;

	for (int i = 0; i < table->nindexes; i++)
	{
		if (table->indexes[i].local != local)
			continue;
		if (!any)
			json_write_begin_array(json,
								   local ? "LocalSecondaryIndexes" : "GlobalSecondaryIndexes");
		append_index(json, table, &table->indexes[i], arn, description);
		any = true;
	}
	if (any)
		json_write_end_array(json);
}

/* An object with one member. */
static void
append_alone(JsonWriter *json, const char *object, const char *member, const char *value)
{
	json_write_begin(json, object);
	json_write_string(json, member, value);
	json_write_end(json);
}

static void
append_settings(JsonWriter *json, const DynSettings *settings, const DynDescription *description)
{
	if (settings->id.len > 0)
		json_write_span(json, "TableId", settings->id);
	if (description->created != 0)
		json_write_raw(json, "CreationDateTime", psprintf("%.3f", description->created));
	append_alone(json, "BillingModeSummary", "BillingMode",
				 dyn_billing_names[description->billing]);
	append_capacity(json, &description->capacity);
	if (description->table_class != DYN_CLASS_UNSAID)
		append_alone(json, "TableClassSummary", "TableClass",
					 dyn_table_class_names[description->table_class]);
	json_write_bool(json, "DeletionProtectionEnabled", description->deletion_protection);
}

/* The last stream is described even after it was disabled. */
static void
append_stream(JsonWriter *json, const DynSettings *settings, ItemSpan name)
{
	const DynStream *enabled = dyn_settings_stream(settings);
	char label[STREAM_LABEL_LENGTH + 1];
	int64 latest;

	if (settings->nstreams == 0)
		return;
	if (enabled != NULL)
	{
		json_write_begin(json, "StreamSpecification");
		json_write_bool(json, "StreamEnabled", true);
		json_write_string(json, "StreamViewType", dyn_stream_view_names[enabled->view]);
		json_write_end(json);
	}
	latest = settings->streams[settings->nstreams - 1].label;
	json_write_string(json, "LatestStreamLabel", stream_label_print(latest, label));
	json_write_string(json, "LatestStreamArn", dyn_stream_arn(name, latest));
}

static void
append_table(JsonWriter *json, Relation rel, const DynTable *table, ItemSpan given,
			 const char *status)
{
	ItemSpan name = dyn_table_name(given);
	char *arn = dyn_table_arn(name);
	const DynDescription *description = description_read(table->relid);

	json_write_span(json, "TableName", name);
	json_write_string(json, "TableArn", arn);
	json_write_string(json, "TableStatus", status);
	append_key_schema(json, table, &table->primary);
	append_attributes(json, table);
	append_settings(json, &table->settings, description);
	append_stream(json, &table->settings, name);
	append_indexes(json, table, arn, false, description);
	append_indexes(json, table, arn, true, description);
	append_count(json, rel);
	json_write_integer(
		json, "TableSizeBytes",
		DatumGetInt64(DirectFunctionCall1(pg_table_size, ObjectIdGetDatum(table->relid))));
}

/* Writes a TableDescription; name is the name or ARN by which the table was requested. */
void
dyn_describe(JsonWriter *json, const char *member, Relation rel, const DynTable *table,
			 ItemSpan given, const char *status)
{
	json_write_begin(json, member);
	append_table(json, rel, table, given, status);
	json_write_end(json);
}

const char *const dyn_ttl_status_names[] = {"ENABLED", "ENABLING", "DISABLING"};

/* Writes a TimeToLiveDescription. */
void
dyn_describe_ttl(JsonWriter *json, const char *member, const DynTable *table)
{
	json_write_begin(json, member);
	json_write_string(json, "TimeToLiveStatus",
					  table->ttl == NULL ? "DISABLED" : dyn_ttl_status_names[table->ttl->status]);
	if (table->ttl != NULL)
		json_write_span(json, "AttributeName", table->ttl->name);
	json_write_end(json);
}

/* Members that DynamoDB's DescribeTable does not have follow its own. */
static void
append_own(JsonWriter *json, const DynTable *table)
{
	/* DynamoDB describes time to live by another operation, and hides no items */
	if (table->ttl != NULL)
	{
		dyn_describe_ttl(json, "TimeToLiveDescription", table);
		json_write_bool(json, "HideExpired", table->settings.hide_expired);
	}
	if (table->settings.no_placement)
		json_write_bool(json, "Placement", false);
}

PG_FUNCTION_INFO_V1(dyn_describe_table);
Datum
dyn_describe_table(PG_FUNCTION_ARGS)
{
	text *name = argument_required_text(fcinfo, 0, "table_name");
	DynTable *table;
	Relation rel = dyn_table_open_state(name, &table);
	JsonWriter json = json_writer(JSON_COMPACT);

	json_write_begin(&json, NULL);
	append_table(&json, rel, table, text_span(name), "ACTIVE");
	append_own(&json, table);
	json_write_end(&json);
	relation_close(rel, NoLock);
	PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.text->data)));
}
