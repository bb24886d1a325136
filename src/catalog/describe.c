/*
 * describe.c
 *	  A table as DynamoDB describes it, for dyn_describe_table() and the requests.
 */
#include "postgres.h"

#include "access/relation.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "catalog/definition/arn.h"
#include "catalog/definition/description.h"
#include "catalog/definition/stream_label.h"
#include "catalog/describe.h"
#include "catalog/listing.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "catalog/shape.h"
#include "catalog/size.h"
#include "catalog/table.h"
#include "catalog/vector.h"
#include "server/arguments.h"
#include "server/citus.h"

/* A table on demand begins with these. */
#define WARM_READ_UNITS 12000
#define WARM_WRITE_UNITS 4000

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
append_attribute(JsonWriter *json, const DynKey *key)
{
	json_write_begin(json, NULL);
	json_write_span(json, "AttributeName", key->attribute);
	json_write_string(json, "AttributeType", item_type_code(key->type));
	json_write_end(json);
}

/* Returns whether an attribute of a vector index has been defined as a key, or for one before it. */
static bool
is_defined(const DynTable *table, int vector, ItemSpan attribute)
{
	for (int i = 0; i < table->nattributes; i++)
	{
		if (item_compare_bytes(table->keys[i].attribute, attribute) == 0)
			return true;
	}
	for (int i = 0; i < vector; i++)
	{
		for (int k = 0; k < table->vectors[i].nschema; k++)
		{
			if (item_compare_bytes(table->vectors[i].schema[k].attribute, attribute) == 0)
				return true;
		}
	}
	return false;
}

static void
append_attributes(JsonWriter *json, const DynTable *table)
{
	json_write_begin_array(json, "AttributeDefinitions");
	for (int i = 0; i < table->nattributes; i++)
		append_attribute(json, &table->keys[i]);
	for (int i = 0; i < table->nvectors; i++)
	{
		for (int k = 0; k < table->vectors[i].nschema; k++)
		{
			if (!is_defined(table, i, table->vectors[i].schema[k].attribute))
				append_attribute(json, &table->vectors[i].schema[k]);
		}
	}
	json_write_end_array(json);
}

static void
append_projection(JsonWriter *json, DynProjection projection, int nincluded,
				  const ItemSpan *included)
{
	json_write_begin(json, "Projection");
	json_write_string(json, "ProjectionType", dyn_projection_names[projection]);
	if (nincluded > 0)
		json_write_spans(json, "NonKeyAttributes", included, nincluded);
	json_write_end(json);
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

static void
append_maximum(JsonWriter *json, const DynCapacity *maximum)
{
	if (maximum->read == 0 && maximum->write == 0)
		return;
	json_write_begin(json, "OnDemandThroughput");
	if (maximum->read != 0)
		json_write_integer(json, "MaxReadRequestUnits", maximum->read);
	if (maximum->write != 0)
		json_write_integer(json, "MaxWriteRequestUnits", maximum->write);
	json_write_end(json);
}

/* Appends what DynamoDB has where nothing is said; programs wait until the status is ACTIVE. */
static void
append_warm(JsonWriter *json, const DynDescription *description, const DynUnits *units,
			const char *status)
{
	bool provisioned = description->billing == DYN_PROVISIONED;
	int64 read = provisioned ? units->provisioned.read : WARM_READ_UNITS;
	int64 write = provisioned ? units->provisioned.write : WARM_WRITE_UNITS;

	json_write_begin(json, "WarmThroughput");
	json_write_integer(json, "ReadUnitsPerSecond", units->warm.read != 0 ? units->warm.read : read);
	json_write_integer(json, "WriteUnitsPerSecond",
					   units->warm.write != 0 ? units->warm.write : write);
	json_write_string(json, "Status", status);
	json_write_end(json);
}

/* Appends members that only global indexes have, which can be created and dropped at any time. */
static void
append_global(JsonWriter *json, const DynIndex *index, const DynDescription *description)
{
	const char *status = dyn_index_status_names[index->status];
	DynUnits units = description_index_units(description, index->name);

	json_write_string(json, "IndexStatus", status);
	if (index->status == DYN_INDEX_CREATING)
		json_write_bool(json, "Backfilling", true);
	append_capacity(json, &units.provisioned);
	append_maximum(json, &units.maximum);
	append_warm(json, description, &units, status);
}

static void
append_index(JsonWriter *json, const DynTable *table, const DynIndex *index, const char *arn,
			 const DynDescription *description, const DynSize *size)
{
	json_write_begin(json, NULL);
	json_write_span(json, "IndexName", index->name);
	append_key_schema(json, table, index);
	append_projection(json, index->projection, index->nincluded, index->included);
	if (!index->local)
		append_global(json, index, description);
	if (index->entries != NULL)
		json_write_string(json, "Distribution", dyn_distribution_names[DYN_DISTRIBUTE_KEY]);
	json_write_integer(json, "IndexSizeBytes", size->bytes);
	json_write_integer(json, "ItemCount", size->items);
	json_write_string(json, "IndexArn", dyn_index_arn(arn, index->name));
	json_write_end(json);
}

/* Appends the indexes of one kind; no member if there are none. */
static void
append_indexes(JsonWriter *json, const DynTable *table, const char *arn, bool local,
			   const DynDescription *description, const DynSize *sizes)
{
	bool any = false;

	for (int i = 0; i < table->nindexes; i++)
	{
		if (table->indexes[i].local != local)
			continue;
		if (!any)
			json_write_begin_array(json,
								   local ? "LocalSecondaryIndexes" : "GlobalSecondaryIndexes");
		append_index(json, table, &table->indexes[i], arn, description, &sizes[1 + i]);
		any = true;
	}
	if (any)
		json_write_end_array(json);
}

static void
append_search_schema(JsonWriter *json, const DynVector *vector)
{
	if (vector->nschema == 0)
		return;
	json_write_begin_array(json, "SearchSchema");
	for (int i = 0; i < vector->nschema; i++)
	{
		json_write_begin(json, NULL);
		json_write_span(json, "AttributeName", vector->schema[i].attribute);
		json_write_string(json, "SearchSchemaElementType",
						  i == 0 && dyn_vector_has_hash(vector) ? "HASH" : "INLINE_FILTER");
		json_write_end(json);
	}
	json_write_end_array(json);
}

/* Sizes are those that VACUUM and ANALYZE have found last, as DynamoDB's are some hours old. */
static void
append_vector(JsonWriter *json, const DynVector *vector, const char *arn)
{
	const DynIndexSpec *index = &vector->spec->index;
	bool built = dyn_vector_is_built(vector);
	DynSize size = dyn_vector_size(vector);

	json_write_begin(json, NULL);
	json_write_span(json, "IndexName", index->name);
	json_write_begin(json, "VectorAttribute");
	json_write_span(json, "AttributeName", vector->spec->attribute);
	json_write_end(json);
	json_write_integer(json, "Dimensions", vector->spec->dimensions);
	json_write_string(json, "DistanceFunction", dyn_distance_names[vector->spec->distance]);
	append_search_schema(json, vector);
	append_projection(json, index->projection, index->nincluded, index->included);
	json_write_string(json, "IndexStatus",
					  dyn_index_status_names[built ? DYN_INDEX_ACTIVE : DYN_INDEX_CREATING]);
	if (!built)
		json_write_bool(json, "Backfilling", true);
	json_write_integer(json, "IndexSizeBytes", size.bytes);
	json_write_integer(json, "ItemCount", size.items);
	json_write_string(json, "IndexArn", dyn_index_arn(arn, index->name));
	json_write_end(json);
}

static void
append_vectors(JsonWriter *json, const DynTable *table, const char *arn)
{
	if (table->nvectors == 0)
		return;
	json_write_begin_array(json, "VectorIndexes");
	for (int i = 0; i < table->nvectors; i++)
		append_vector(json, &table->vectors[i], arn);
	json_write_end_array(json);
}

/* Appends an object with one member. */
static void
append_alone(JsonWriter *json, const char *object, const char *member, const char *value)
{
	json_write_begin(json, object);
	json_write_string(json, member, value);
	json_write_end(json);
}

static void
append_billing(JsonWriter *json, const DynDescription *description)
{
	json_write_begin(json, "BillingModeSummary");
	json_write_string(json, "BillingMode", dyn_billing_names[description->billing]);
	if (description->on_demand_since != 0)
		json_write_raw(json, "LastUpdateToPayPerRequestDateTime",
					   psprintf("%.3f", description->on_demand_since));
	json_write_end(json);
}

static void
append_settings(JsonWriter *json, const DynDescription *description, const char *status)
{
	if (description->created != 0)
		json_write_raw(json, "CreationDateTime", psprintf("%.3f", description->created));
	append_maximum(json, &description->units.maximum);
	append_warm(json, description, &description->units, status);
	if (description->encrypted)
		json_write_raw(json, "SSEDescription", "{\"Status\":\"ENABLED\",\"SSEType\":\"KMS\"}");
	if (description->table_class != DYN_CLASS_UNSAID)
		append_alone(json, "TableClassSummary", "TableClass",
					 dyn_table_class_names[description->table_class]);
}

/* Appends the last stream, which is described even after it was disabled. */
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

/* Appends what DynamoDB says of each table. */
static void
append_common(JsonWriter *json, const DynTable *table, ItemSpan name,
			  const DynDescription *description, const char *status, const DynSize *size)
{
	json_write_span(json, "TableName", name);
	json_write_string(json, "TableArn", dyn_table_arn(name));
	json_write_string(json, "TableStatus", status);
	if (table->settings.id.len > 0)
		json_write_span(json, "TableId", table->settings.id);
	append_billing(json, description);
	append_capacity(json, &description->units.provisioned);
	json_write_bool(json, "DeletionProtectionEnabled", description->deletion_protection);
	json_write_integer(json, "ItemCount", size->items);
	json_write_integer(json, "TableSizeBytes", size->bytes);
}

static void
append_table(JsonWriter *json, Relation rel, const DynTable *table, ItemSpan given,
			 const char *status)
{
	ItemSpan name = dyn_table_name(given);
	char *arn = dyn_table_arn(name);
	const DynDescription *description = description_read(table->relid);
	const DynSize *sizes = dyn_sizes(rel, table);

	append_common(json, table, name, description, status, sizes);
	append_key_schema(json, table, &table->primary);
	append_attributes(json, table);
	append_settings(json, description, status);
	append_stream(json, &table->settings, name);
	append_indexes(json, table, arn, false, description, sizes);
	append_indexes(json, table, arn, true, description, sizes);
	append_vectors(json, table, arn);
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

/* Writes the TableDescription of a table that is being deleted, which says less. */
void
dyn_describe_deleted(JsonWriter *json, const char *member, Relation rel, const DynTable *table,
					 ItemSpan given)
{
	json_write_begin(json, member);
	append_common(json, table, dyn_table_name(given), description_read(table->relid), "DELETING",
				  dyn_sizes(rel, table));
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

/* Appends members that DynamoDB's DescribeTable does not have, after its own. */
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

static Datum
describe_own(Relation rel, const DynTable *table, ItemSpan name)
{
	JsonWriter json = json_writer(JSON_COMPACT);

	json_write_begin(&json, NULL);
	append_table(&json, rel, table, name, "ACTIVE");
	append_own(&json, table);
	json_write_end(&json);
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.text->data));
}

PG_FUNCTION_INFO_V1(dyn_describe_table);
Datum
dyn_describe_table(PG_FUNCTION_ARGS)
{
	text *name = argument_required_text(fcinfo, 0, "table_name");
	DynTable *table;
	Relation rel = dyn_table_open_state(name, &table);
	Datum description = describe_own(rel, table, text_span(name));

	relation_close(rel, NoLock);
	PG_RETURN_DATUM(description);
}

typedef struct ListedDescription
{
	const DynListed *listed;
	Datum description;
} ListedDescription;

static void
describe_listed(void *arg)
{
	ListedDescription *described = arg;
	const DynListed *listed = described->listed;

	described->description =
		describe_own(listed->rel, listed->table,
					 dyn_name_of_relation(RelationGetRelationName(listed->rel), &listed->settings));
}

static void
put_listed(ReturnSetInfo *result, const DynListed *listed, void *arg)
{
	ListedDescription described = {listed};
	Datum values[5] = {ObjectIdGetDatum(listed->relid)};
	bool nulls[5] = {false, true, true, false, true};

	values[3] = BoolGetDatum(citus_kind(listed->relid) == CITUS_DISTRIBUTED);
	if (listed->rel != NULL)
	{
		const DynShape *shape = dyn_shape_of(listed->rel, listed->table);

		for (int i = 0; i < shape->nkeys; i++)
		{
			values[1 + i] = PointerGetDatum(span_text(shape->keys[i]));
			nulls[1 + i] = false;
		}
		nulls[4] = !dyn_try_listed(describe_listed, &described);
		values[4] = described.description;
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* dyn_list_tables(): relation, partition_key, sort_key, distributed, description */
PG_FUNCTION_INFO_V1(dyn_list_tables);
Datum
dyn_list_tables(PG_FUNCTION_ARGS)
{
	dyn_list(fcinfo, dyn_listed_tables(NULL), put_listed, NULL);
	PG_RETURN_NULL();
}
