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

static const char *const key_types[DYN_MAX_KEYS] = {"HASH", "RANGE"};

static void
append_name(StringInfo json, const char *member, ItemSpan name)
{
	appendStringInfo(json, "{\"%s\":", member);
	escape_json(json, pnstrdup(name.data, name.len));
}

static void
append_keys(StringInfo json, const DynTable *table)
{
	appendStringInfoString(json, ",\"KeySchema\":[");
	for (int i = 0; i < table->nkeys; i++)
	{
		appendStringInfoString(json, i > 0 ? "," : "");
		append_name(json, "AttributeName", table->keys[i].attribute);
		appendStringInfo(json, ",\"KeyType\":\"%s\"}", key_types[i]);
	}
	appendStringInfoString(json, "],\"AttributeDefinitions\":[");
	for (int i = 0; i < table->nkeys; i++)
	{
		appendStringInfoString(json, i > 0 ? "," : "");
		append_name(json, "AttributeName", table->keys[i].attribute);
		appendStringInfo(json, ",\"AttributeType\":\"%s\"}", item_type_code(table->keys[i].type));
	}
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

	/* reltuples is -1 until the first VACUUM or ANALYZE */
	initStringInfo(&json);
	append_name(&json, "TableName", (ItemSpan){VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)});
	appendStringInfoString(&json, ",\"TableStatus\":\"ACTIVE\"");
	append_keys(&json, table);
	appendStringInfo(&json, ",\"ItemCount\":%.0f,\"TableSizeBytes\":" INT64_FORMAT "}",
					 Max(rel->rd_rel->reltuples, 0), size);
	relation_close(rel, NoLock);
	PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}
