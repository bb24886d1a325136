/*
 * violations.c
 *	  dyn_index_violations(): items that an index leaves out although they have its attributes.
 *
 * They are older than the index (a write of such an item is refused).  They are found by scanning
 * the table: there is no list that could become outdated.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "catalog/derive.h"
#include "catalog/key.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "catalog/shape.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/sql.h"

#define ROWS_AT_ONCE 1000

/* Puts the result's rows for one item.  No index has a name of length 0, so that stands for all. */
static void
put_problems(ReturnSetInfo *result, Relation rel, const DynTable *table, ItemSpan name,
			 const DynItem *item)
{
	const DynRow *row = dyn_derive(rel, table, item);
	ListCell *cell;

	foreach (cell, row->problems)
	{
		const DynProblem *problem = lfirst(cell);
		Datum values[4];
		bool nulls[4] = {false};

		if (name.len > 0 && item_compare_bytes(problem->index->name, name) != 0)
			continue;
		values[0] = PointerGetDatum(dyn_key_item(table, &table->primary, item));
		values[1] = PointerGetDatum(span_text(problem->index->name));
		nulls[2] = problem->key == NULL;
		if (problem->key != NULL)
			values[2] = PointerGetDatum(span_text(problem->key->attribute));
		values[3] = CStringGetTextDatum(problem->reason);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

/* Selects items with attributes that are no columns; false if the indexes have no columns. */
static bool
write_query(StringInfo sql, const DynTable *table)
{
	appendStringInfo(sql, "SELECT %s FROM %s WHERE false", quote_identifier(DYN_ITEM_COLUMN),
					 table->qualified);
	for (int i = table->nkeys; i < table->ncolumns; i++)
	{
		const DynKey *key = &table->keys[i];

		if (key->carried != NULL)
			continue;
		appendStringInfo(sql, " OR %s IS NULL AND %s OPERATOR(%s.?) %s::pg_catalog.text",
						 quote_identifier(key->column), quote_identifier(DYN_ITEM_COLUMN),
						 table->extension, quote_literal_cstr(span_string(key->attribute)));
	}
	return table->ncolumns > table->nkeys;
}

static void
violations_scan(ReturnSetInfo *result, Relation rel, const DynTable *table, ItemSpan name)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dyn_index_violations", ALLOCSET_DEFAULT_SIZES);
	StringInfoData sql;
	Portal cursor;

	initStringInfo(&sql);
	if (!write_query(&sql, table))
		return;
	cursor = SPI_cursor_open_with_args(NULL, sql_on(table->relid, sql.data), 0, NULL, NULL, NULL,
									   true, 0);
	for (;;)
	{
		SPI_cursor_fetch(cursor, true, ROWS_AT_ONCE);
		if (SPI_processed == 0)
			break;
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			put_problems(result, rel, table, name, DatumGetDynItem(sql_value(SPI_tuptable, i, 1)));
			MemoryContextSwitchTo(old);
			MemoryContextReset(context);
		}
		SPI_freetuptable(SPI_tuptable);
	}
	SPI_cursor_close(cursor);
}

/* dyn_index_violations(table_name, index_name) */
PG_FUNCTION_INFO_V1(dyn_index_violations);
Datum
dyn_index_violations(PG_FUNCTION_ARGS)
{
	ItemSpan name = {NULL, 0};
	DynTable *table;
	RightsBefore before;
	Relation rel;

	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("table name must not be null")));
	InitMaterializedSRF(fcinfo, 0);
	rel = dyn_table_open(PG_GETARG_TEXT_PP(0), AccessShareLock, &table);
	if (!PG_ARGISNULL(1))
	{
		name = text_span(PG_GETARG_TEXT_PP(1));
		if (dyn_find_index(table, name) == NULL)
			dyn_fail_no_index(table, name, ERRCODE_DYN_RESOURCE_NOT_FOUND, NULL);
	}
	rights_take_for_rows(rel, false, &before);
	SPI_connect();
	violations_scan((ReturnSetInfo *) fcinfo->resultinfo, rel, table, name);
	SPI_finish();
	rights_give_back(&before);
	relation_close(rel, NoLock);
	PG_RETURN_NULL();
}
