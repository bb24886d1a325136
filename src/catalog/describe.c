/*
 * describe.c
 *	  dyn_describe_table(): a table as DynamoDB's DescribeTable has it.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/rel.h"

#include "catalog/table.h"

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
	for (int i = 0; i < table->ncolumns; i++)
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
	static const char *const types[] = {"ALL", "KEYS_ONLY", "INCLUDE"};

	appendStringInfo(json, ",\"Projection\":{\"ProjectionType\":\"%s\"", types[index->projection]);
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

/* The indexes of one kind; no member if there are none. */
static void
append_indexes(StringInfo json, const DynTable *table, const char *member, bool local)
{
	bool first = true;

	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];

		if (index->local != local)
			continue;
		if (first)
			appendStringInfo(json, ",\"%s\":[", member);
		else
			appendStringInfoChar(json, ',');
		append_name(json, "IndexName", index->name);
		append_key_schema(json, table, index);
		append_projection(json, index);
		if (!local)
			appendStringInfo(json, ",\"IndexStatus\":\"%s\"", dyn_index_status_name(index->status));
		append_btree(json, index);
		appendStringInfoChar(json, '}');
		first = false;
	}
	if (!first)
		appendStringInfoChar(json, ']');
}

PG_FUNCTION_INFO_V1(dyn_describe_table);
Datum
dyn_describe_table(PG_FUNCTION_ARGS)
{
	text *name = PG_GETARG_TEXT_PP(0);
	DynTable *table;
	Relation rel = dyn_table_open(name, AccessShareLock, &table);
	int64 size = DatumGetInt64(DirectFunctionCall1(pg_table_size, ObjectIdGetDatum(table->relid)));
	StringInfoData json;

	initStringInfo(&json);
	append_name(&json, "TableName", (ItemSpan){VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)});
	appendStringInfoString(&json, ",\"TableStatus\":\"ACTIVE\"");
	append_key_schema(&json, table, &table->primary);
	append_attributes(&json, table);
	append_indexes(&json, table, "GlobalSecondaryIndexes", false);
	append_indexes(&json, table, "LocalSecondaryIndexes", true);
	appendStringInfo(&json, ",\"ItemCount\":%.0f,\"TableSizeBytes\":" INT64_FORMAT "}",
					 row_estimate(rel), size);
	relation_close(rel, NoLock);
	PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}
