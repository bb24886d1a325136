/*
 * covering.c
 *	  How an index of a table that is filled becomes covering, by the share of items that it has.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "catalog/rights.h"
#include "catalog/size.h"
#include "ground/sql.h"
#include "index/index.h"

/* Blocks that are read to see which items an index will have. */
#define SAMPLE_BLOCKS 256

/* "item ? 'a' AND …" */
static void
append_condition(StringInfo sql, const DynTable *table, const DynIndexSpec *spec)
{
	for (int i = 0; i < spec->nkeys; i++)
	{
		ItemSpan attribute;
		ItemType type;

		dyn_parse_key_spec(spec->keys[i], &attribute, &type);
		appendStringInfo(sql, "%s%s OPERATOR(%s.?) %s::pg_catalog.text", i > 0 ? " AND " : "",
						 quote_identifier(DYN_ITEM_COLUMN), table->extension,
						 quote_literal_cstr(pnstrdup(attribute.data, attribute.len)));
	}
}

/* The share of the items of a sample that will be in the index; -1 if there are none. */
static double
measure(Relation rel, const DynTable *table, const DynIndexSpec *spec)
{
	double blocks = dyn_blocks(rel);
	MemoryContext context = CurrentMemoryContext;
	StringInfoData sql;
	RightsBefore before;
	int64 counts[2];

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT pg_catalog.count(*) FILTER (WHERE ");
	append_condition(&sql, table, spec);
	appendStringInfo(&sql, "), pg_catalog.count(*) FROM ONLY %s TABLESAMPLE pg_catalog.system (%g)",
					 table->qualified, Min(100.0, 100.0 * SAMPLE_BLOCKS / Max(blocks, 1)));
	rights_take(rel->rd_rel->relowner, SECURITY_NOFORCE_RLS, &before);
	SPI_connect();
	if (SPI_execute(sql_on(table->relid, sql.data), true, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "sample of table \"%s\" failed", table->name);
	for (int i = 0; i < 2; i++)
		counts[i] = DatumGetInt64(sql_value(SPI_tuptable, 0, i + 1));
	SPI_finish();
	rights_give_back(&before);
	MemoryContextSwitchTo(context);
	return counts[1] == 0 ? -1 : (double) counts[0] / (double) counts[1];
}

/*
 * Settles how an index that is to be covering carries what it projects, and tells it.  Reads a
 * sample of the table, which is open under the lock of a reader at least.
 */
void
gsi_settle_covering(Relation rel, const DynTable *table, DynIndexSpec *spec)
{
	double share = dyn_covering_is_open(spec) ? measure(rel, table, spec) : -1;

	dyn_covering_settle(spec, share);
	dyn_covering_tell(spec, table->name, share);
}
