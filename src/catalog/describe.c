/*
 * describe.c
 *	  A table as DynamoDB describes it, for dyn_describe_table() and the requests.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/rel.h"

#include "catalog/table.h"
#include "stream/record.h"

static void
append_name(StringInfo json, const char *member, ItemSpan name)
{
	appendStringInfo(json, "{\"%s\":", member);
	escape_json(json, pnstrdup(name.data, name.len));
}

static void
append_key_schema(StringInfo json, const DynTable *table, const DynIndex *index)
{
	appendStringInfoString(json, ",\"KeySchema\":[");
	for (int i = 0; i < index->nkeys; i++)
	{
		appendStringInfoString(json, i > 0 ? "," : "");
		append_name(json, "AttributeName", dyn_index_key(table, index, i)->attribute);
		appendStringInfo(json, ",\"KeyType\":\"%s\"}", i < index->npartition ? "HASH" : "RANGE");
	}
	appendStringInfoChar(json, ']');
}

static void
append_attributes(StringInfo json, const DynTable *table)
{
	appendStringInfoString(json, ",\"AttributeDefinitions\":[");
	for (int i = 0; i < table->nattributes; i++)
	{
		appendStringInfoString(json, i > 0 ? "," : "");
		append_name(json, "AttributeName", table->keys[i].attribute);
		appendStringInfo(json, ",\"AttributeType\":\"%s\"}", item_type_code(table->keys[i].type));
	}
	appendStringInfoChar(json, ']');
}

static void
append_projection(StringInfo json, const DynIndex *index)
{
	appendStringInfo(json, ",\"Projection\":{\"ProjectionType\":\"%s\"",
					 dyn_projection_names[index->projection]);
	for (int i = 0; i < index->nincluded; i++)
	{
		appendStringInfoString(json, i > 0 ? "," : ",\"NonKeyAttributes\":[");
		escape_json(json, pnstrdup(index->included[i].data, index->included[i].len));
	}
	appendStringInfoString(json, index->nincluded > 0 ? "]}" : "}");
}

static double
row_estimate(Relation rel)
{
	/* -1 until the first VACUUM or ANALYZE */
	return Max(rel->rd_rel->reltuples, 0);
}

/* What only a btree that is there has. */
static void
append_btree(StringInfo json, const DynIndex *index)
{
	int64 size = 0;
	double items = 0;

	if (OidIsValid(index->relid))
	{
		Relation btree = relation_open(index->relid, AccessShareLock);

		size = DatumGetInt64(
			DirectFunctionCall1(pg_total_relation_size, ObjectIdGetDatum(index->relid)));
		items = row_estimate(btree);
		relation_close(btree, NoLock);
	}
	appendStringInfo(json, ",\"IndexSizeBytes\":" INT64_FORMAT ",\"ItemCount\":%.0f", size, items);
}

static void
append_capacity(StringInfo json, const DynCapacity *capacity)
{
	appendStringInfo(json,
					 ",\"ProvisionedThroughput\":{\"NumberOfDecreasesToday\":0,"
					 "\"ReadCapacityUnits\":" INT64_FORMAT ",\"WriteCapacityUnits\":" INT64_FORMAT
					 "}",
					 capacity->read, capacity->write);
}

/* What only global indexes have: they come and go. */
static void
append_global(StringInfo json, const DynIndex *index)
{
	appendStringInfo(json, ",\"IndexStatus\":\"%s\"", dyn_index_status_names[index->status]);
	if (index->status == DYN_INDEX_CREATING)
		appendStringInfoString(json, ",\"Backfilling\":true");
	append_capacity(json, &index->capacity);
}

static void
append_index(StringInfo json, const DynTable *table, const DynIndex *index, const char *arn)
{
	append_name(json, "IndexName", index->name);
	append_key_schema(json, table, index);
	append_projection(json, index);
	if (!index->local)
		append_global(json, index);
	append_btree(json, index);
	appendStringInfoString(json, ",\"IndexArn\":");
	escape_json(json, dyn_index_arn(arn, index->name));
	appendStringInfoChar(json, '}');
}

/* The indexes of one kind; no member if there are none. */
static void
append_indexes(StringInfo json, const DynTable *table, const char *arn, bool local)
{
	bool first = true;

	for (int i = 0; i < table->nindexes; i++)
	{
		if (table->indexes[i].local != local)
			continue;
		if (first)
			appendStringInfo(json, ",\"%sSecondaryIndexes\":[", local ? "Local" : "Global");
		else
			appendStringInfoChar(json, ',');
		append_index(json, table, &table->indexes[i], arn);
		first = false;
	}
	if (!first)
		appendStringInfoChar(json, ']');
}

static void
append_settings(StringInfo json, const DynSettings *settings)
{
	if (settings->id.len > 0)
	{
		appendStringInfoString(json, ",\"TableId\":");
		escape_json(json, pnstrdup(settings->id.data, settings->id.len));
	}
	if (settings->created != 0)
		appendStringInfo(json, ",\"CreationDateTime\":%.3f", settings->created);
	appendStringInfo(json, ",\"BillingModeSummary\":{\"BillingMode\":\"%s\"}",
					 dyn_billing_names[settings->billing]);
	append_capacity(json, &settings->capacity);
	if (settings->table_class != DYN_CLASS_UNSAID)
		appendStringInfo(json, ",\"TableClassSummary\":{\"TableClass\":\"%s\"}",
						 dyn_table_class_names[settings->table_class]);
	appendStringInfo(json, ",\"DeletionProtectionEnabled\":%s",
					 settings->deletion_protection ? "true" : "false");
}

/* What the last stream was stays when it is disabled. */
static void
append_stream(StringInfo json, const DynSettings *settings, ItemSpan name)
{
	const DynStream *enabled = dyn_settings_stream(settings);
	char label[STREAM_LABEL_LENGTH + 1];

	if (settings->nstreams == 0)
		return;
	if (enabled != NULL)
		appendStringInfo(
			json, ",\"StreamSpecification\":{\"StreamEnabled\":true,\"StreamViewType\":\"%s\"}",
			dyn_stream_view_names[enabled->view]);
	stream_label_print(settings->streams[settings->nstreams - 1].label, label);
	appendStringInfo(json, ",\"LatestStreamLabel\":\"%s\",\"LatestStreamArn\":", label);
	escape_json(json, dyn_stream_arn(name, settings->streams[settings->nstreams - 1].label));
}

/* TableDescription, of a table that was asked for by that name or ARN. */
void
dyn_describe(StringInfo json, Relation rel, const DynTable *table, ItemSpan given,
			 const char *status)
{
	ItemSpan name = dyn_table_name(given);
	char *arn = dyn_table_arn(name);
	int64 size = DatumGetInt64(DirectFunctionCall1(pg_table_size, ObjectIdGetDatum(table->relid)));

	append_name(json, "TableName", name);
	appendStringInfoString(json, ",\"TableArn\":");
	escape_json(json, arn);
	appendStringInfo(json, ",\"TableStatus\":\"%s\"", status);
	append_key_schema(json, table, &table->primary);
	append_attributes(json, table);
	append_settings(json, &table->settings);
	append_stream(json, &table->settings, name);
	append_indexes(json, table, arn, false);
	append_indexes(json, table, arn, true);
	appendStringInfo(json, ",\"ItemCount\":%.0f,\"TableSizeBytes\":" INT64_FORMAT "}",
					 row_estimate(rel), size);
}

const char *const dyn_ttl_status_names[] = {"ENABLED", "ENABLING", "DISABLING"};

/* TimeToLiveDescription. */
void
dyn_describe_ttl(StringInfo json, const DynTable *table)
{
	appendStringInfo(json, "{\"TimeToLiveStatus\":\"%s\"",
					 table->ttl == NULL ? "DISABLED" : dyn_ttl_status_names[table->ttl->status]);
	if (table->ttl != NULL)
	{
		appendStringInfoString(json, ",\"AttributeName\":");
		escape_json(json, pnstrdup(table->ttl->name.data, table->ttl->name.len));
	}
	appendStringInfoChar(json, '}');
}

/* Members that DynamoDB's DescribeTable knows nothing of come behind its own. */
static void
reopen(StringInfo json)
{
	json->data[--json->len] = '\0';
}

/* DynamoDB describes time to live elsewhere, and hides nothing. */
static void
append_ttl(StringInfo json, const DynTable *table)
{
	if (table->ttl == NULL)
		return;
	reopen(json);
	appendStringInfoString(json, ",\"TimeToLiveDescription\":");
	dyn_describe_ttl(json, table);
	appendStringInfo(json, ",\"HideExpired\":%s}", table->settings.hide_expired ? "true" : "false");
}

PG_FUNCTION_INFO_V1(dyn_describe_table);
Datum
dyn_describe_table(PG_FUNCTION_ARGS)
{
	text *name = PG_GETARG_TEXT_PP(0);
	DynTable *table;
	Relation rel = dyn_table_open_state(name, &table);
	StringInfoData json;

	initStringInfo(&json);
	dyn_describe(&json, rel, table, text_span(name), "ACTIVE");
	append_ttl(&json, table);
	if (table->settings.no_placement)
	{
		reopen(&json);
		appendStringInfoString(&json, ",\"Placement\":false}");
	}
	relation_close(rel, NoLock);
	PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}
