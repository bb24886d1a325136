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

#include "catalog/derive.h"
#include "catalog/key.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "catalog/shape.h"
#include "catalog/vector.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/sql.h"

typedef struct Violations
{
	ReturnSetInfo *result;
	Relation rel;
	DynTable *table;
	ItemSpan name; /* of length 0: of all indexes */
} Violations;

/* Puts the result's rows for one item. */
static bool
put_problems(void *arg, const SPITupleTable *rows, uint64 i)
{
	const Violations *v = arg;
	const DynItem *item = DatumGetDynItem(sql_value(rows, i, 1));
	const DynRow *row = dyn_derive(v->rel, v->table, item);
	ListCell *cell;

	foreach (cell, row->problems)
	{
		const DynProblem *problem = lfirst(cell);

		if (v->name.len > 0 && item_compare_bytes(problem->index->name, v->name) != 0)
			continue;
		sql_put(
			v->result,
			SQL_VALUES(SQL_POINTER(InvalidOid, dyn_key_item(v->table, &v->table->primary, item)),
					   sql_span(problem->index->name),
					   sql_span(problem->vector != NULL ? problem->vector->spec->attribute
								: problem->key == NULL  ? (ItemSpan){NULL, 0}
														: problem->key->attribute),
					   SQL_TEXT(problem->reason)));
	}
	return true;
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
	for (int i = 0; i < table->nvectors; i++)
		appendStringInfo(sql, " OR %s OPERATOR(%s.?) %s::pg_catalog.text",
						 quote_identifier(DYN_ITEM_COLUMN), table->extension,
						 quote_literal_cstr(span_string(table->vectors[i].spec->attribute)));
	return table->ncolumns > table->nkeys || table->nvectors > 0;
}

/* dyn_index_violations(table_name, index_name) */
PG_FUNCTION_INFO_V1(dyn_index_violations);
Datum
dyn_index_violations(PG_FUNCTION_ARGS)
{
	Violations v = {(ReturnSetInfo *) fcinfo->resultinfo};
	RightsBefore before;
	StringInfoData sql;

	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("table name must not be null")));
	InitMaterializedSRF(fcinfo, 0);
	v.rel = dyn_table_open(PG_GETARG_TEXT_PP(0), AccessShareLock, &v.table);
	if (!PG_ARGISNULL(1))
	{
		v.name = text_span(PG_GETARG_TEXT_PP(1));
		if (dyn_find_index(v.table, v.name) == NULL && dyn_find_vector(v.table, v.name) == NULL)
			dyn_fail_no_index(v.table, v.name, ERRCODE_DYN_RESOURCE_NOT_FOUND, NULL);
	}
	rights_take_for_rows(v.rel, false, &before);
	SPI_connect();
	initStringInfo(&sql);
	if (write_query(&sql, v.table))
		sql_scan(sql_on(v.table->relid, sql.data), put_problems, &v);
	SPI_finish();
	rights_give_back(&before);
	relation_close(v.rel, NoLock);
	PG_RETURN_NULL();
}
