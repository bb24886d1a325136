/*
 * collection_pages.c
 *	  How many pages the items of a collection are spread over, for dyn_table_statistics().
 *
 * Collections are sampled by pages, so a large one is seen as often as a reader would meet it.
 * All by plain queries with the caller's privileges: row-level security says what is counted.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"

#include "api/functions/functions.h"
#include "catalog/table.h"
#include "server/sql.h"

#define COLLECTIONS_TO_SAMPLE 100

/* Sampling leaves pages out, and pages have collections in common. */
#define PAGES_PER_COLLECTION 2

/* Counts blocks of a table and its partitions; 0 without files: unlogged ones on a standby. */
static int64
count_blocks(Oid relid)
{
	Datum fork = CStringGetTextDatum("main");
	int64 bytes = 0;
	ListCell *cell;

	foreach (cell, find_all_inheritors(relid, AccessShareLock, NULL))
		bytes += DatumGetInt64(
			DirectFunctionCall2(pg_relation_size, ObjectIdGetDatum(lfirst_oid(cell)), fork));
	return bytes / BLCKSZ;
}

/* Appends what a row takes of its page; an item that fits none is out of line. */
static void
append_row_size(StringInfo sql, Relation rel)
{
	TupleDesc desc = RelationGetDescr(rel);

	appendStringInfo(sql, "(%zu", MAXALIGN(SizeofHeapTupleHeader) + sizeof(ItemIdData));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);
		const char *name = quote_identifier(NameStr(column->attname));

		if (column->attisdropped)
			continue;
		appendStringInfo(sql,
						 " OPERATOR(pg_catalog.+) CASE WHEN pg_catalog.pg_column_size(%s) "
						 "OPERATOR(pg_catalog.>) %zu "
						 "THEN %zu ELSE COALESCE(pg_catalog.pg_column_size(%s), 0) END",
						 name, MaxHeapTupleSize, sizeof(varatt_external) + VARHDRSZ_EXTERNAL, name);
	}
	appendStringInfoString(sql, ")");
}

/* Returns a query; $1: per cent of the pages, $2: collections, $3: usable bytes of a page. */
static char *
write_query(Relation rel, const DynTable *table)
{
	const char *key = quote_identifier(table->keys[0].column);
	const char *block = "(ctid::pg_catalog.text::pg_catalog.point)[0]";
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(
		&sql,
		"SELECT pg_catalog.avg(c.pages)::pg_catalog.float8, "
		"pg_catalog.avg(pg_catalog.ceil(c.bytes OPERATOR(pg_catalog./) $3)) "
		"FROM (SELECT key FROM (SELECT DISTINCT %s AS key FROM %s TABLESAMPLE SYSTEM ($1)) p "
		"ORDER BY pg_catalog.random() LIMIT $2) k CROSS JOIN LATERAL "
		"(SELECT pg_catalog.count(DISTINCT ROW(tableoid, %s)) AS pages, pg_catalog.sum(",
		key, table->qualified, block);
	append_row_size(&sql, rel);
	appendStringInfo(
		&sql, ")::pg_catalog.float8 AS bytes FROM %s t WHERE %s OPERATOR(pg_catalog.=) k.key) c",
		table->qualified, key);
	return sql.data;
}

/*
 * Reads how many pages some collections at random have in the mean, and how many would be enough,
 * into SPI's result: NULL if there are none.  The caller is connected to SPI, and reads with the
 * rights that the current user has.
 */
void
collection_pages_read(Relation rel, const DynTable *table)
{
	float4 per_cent = Min(100.0f, 100.0f * PAGES_PER_COLLECTION * COLLECTIONS_TO_SAMPLE /
									  Max(count_blocks(table->relid), 1));
	float8 room =
		(double) (MaxHeapTupleSize - RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR));

	sql_execute(sql_on(table->relid, write_query(rel, table)), true, 0,
				SQL_VALUES(SQL_VALUE(FLOAT4OID, Float4GetDatum(per_cent)),
						   SQL_INT8(COLLECTIONS_TO_SAMPLE),
						   SQL_VALUE(FLOAT8OID, Float8GetDatum(room))));
}
