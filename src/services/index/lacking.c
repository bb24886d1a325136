/*
 * lacking.c
 *	  Rows of a table, or of a shard on this node, that lack columns of indexes.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "catalog/rights.h"
#include "server/extension.h"
#include "server/sql.h"
#include "server/work/tid_plan.h"
#include "services/index/lacking.h"

/*
 * Describes what to look for.  dyn_keys_missing() is exact, and dear; an attribute that is there
 * and has no column is cheap to see.
 */
void
lacking_describe(Lacking *rows, const IndexBuild *work, Relation rel, const DynTable *table)
{
	const DynShape *shape = dyn_shape_of(rel, table);
	List *columns = dyn_shape_columns(shape);
	const DynIndex *index = index_build_find(work, table);
	StringInfoData sql;

	rows->relid = table->relid;
	rows->qualified = table->qualified;
	rows->match = dyn_shape_match_sql(shape);
	initStringInfo(&sql);
	appendStringInfo(&sql, "(NOT %s", rows->match);
	if (list_length(columns) > shape->nkeys)
		appendStringInfo(&sql, " OR " DYN_INTERNAL ".keys_missing(%u, %s", table->relid,
						 quote_identifier(DYN_ITEM_COLUMN));
	for (int i = shape->nkeys; i < list_length(columns); i++)
		appendStringInfo(&sql, ", %s",
						 quote_identifier(((DynShapeColumn *) list_nth(columns, i))->column));
	appendStringInfoString(&sql, list_length(columns) > shape->nkeys ? "))" : ")");
	rows->lacking = pstrdup(sql.data);

	resetStringInfo(&sql);
	appendStringInfoString(&sql, "(false");
	for (int i = 0; i < index->nkeys; i++)
	{
		const DynKey *key = dyn_index_key(table, index, i);

		if (index->columns[i] >= table->nkeys)
			appendStringInfo(&sql, " OR %s IS NULL AND %s OPERATOR(%s.?) %s::pg_catalog.text",
							 quote_identifier(key->column), quote_identifier(DYN_ITEM_COLUMN),
							 shape->extension, quote_literal_cstr(span_string(key->attribute)));
	}
	appendStringInfoChar(&sql, ')');
	rows->left_out = pstrdup(sql.data);

	resetStringInfo(&sql);
	appendStringInfo(&sql, "(NOT %s OR %s", rows->match, rows->left_out);
	if (index->carried != NULL)
		appendStringInfo(&sql, " OR %s IS NULL",
						 quote_identifier(table->keys[index->carried_column].column));
	appendStringInfoChar(&sql, ')');
	rows->candidates = sql.data;
}

/* Runs a statement on the table, whose owner's code may run; all parameters are places of rows. */
void
lacking_run(const Lacking *rows, const char *sql, int nargs, const Datum *values, bool read_only)
{
	MemoryContext context = CurrentMemoryContext;
	const SqlValue arguments[] = {SQL_VALUE(TIDOID, values[0]),
								  SQL_VALUE(TIDOID, nargs > 1 ? values[1] : 0)};
	Relation rel = relation_open(rows->relid, NoLock);
	RightsBefore before;

	rights_take_for_rows(rel, !read_only, &before);
	sql_execute(sql_on(rows->relid, sql), read_only, 0, nargs, arguments);
	rights_give_back(&before);
	relation_close(rel, NoLock);
	MemoryContextSwitchTo(context);
}

/* Runs a statement that only reads, by a scan of the blocks that it names. */
void
lacking_run_tid_scan(const Lacking *rows, const char *sql, int nargs, const Datum *values)
{
	PlanSwitches before;

	tid_plan_begin(&before);
	PG_TRY();
	{
		lacking_run(rows, sql, nargs, values, true);
	}
	PG_FINALLY();
	{
		tid_plan_end(&before);
	}
	PG_END_TRY();
}

/* Returns the place before the first row of a block. */
Datum
lacking_tid(BlockNumber block)
{
	ItemPointer pointer = palloc(sizeof(ItemPointerData));

	ItemPointerSet(pointer, block, 0);
	return PointerGetDatum(pointer);
}

static int64
result(int column)
{
	return DatumGetInt64(sql_value(SPI_tuptable, 0, column));
}

/*
 * Returns how many rows in a range of blocks lack columns, and in *left_out how many never get
 * them.  If begin is valid, the latter are counted without versions that this transaction and later
 * ones have written: such rows have been counted before, and may have moved into the range.
 */
int64
lacking_count(const Lacking *rows, BlockRange range, TransactionId begin, int64 *left_out)
{
	Datum bounds[2] = {lacking_tid(range.from), lacking_tid(range.to)};
	const char *earlier = "true";
	int64 lacking;

	if (TransactionIdIsValid(begin))
		earlier = psprintf("pg_catalog.age(xmin) OPERATOR(pg_catalog.>)"
						   " pg_catalog.age('%u'::pg_catalog.xid)",
						   begin);
	lacking_run_tid_scan(
		rows,
		psprintf("SELECT pg_catalog.count(*) FILTER (WHERE lacking),"
				 " pg_catalog.count(*) FILTER (WHERE NOT lacking AND left_out AND earlier)"
				 " FROM (SELECT %s AS lacking, %s AS left_out, %s AS earlier FROM %s"
				 " WHERE " LACKING_IN_RANGE " AND %s) rows",
				 rows->lacking, rows->left_out, earlier, rows->qualified, rows->candidates),
		2, bounds);
	lacking = result(1);
	*left_out = result(2);
	SPI_freetuptable(SPI_tuptable);
	return lacking;
}

/*
 * Returns how many blocks the batch after this one has, which began at "begin": twice as many if it
 * took less than "less" milliseconds, and half as many if it took more than "more".
 */
BlockNumber
lacking_next_batch(BlockNumber batch, instr_time begin, double less, double more)
{
	instr_time time;

	INSTR_TIME_SET_CURRENT(time);
	INSTR_TIME_SUBTRACT(time, begin);
	if (INSTR_TIME_GET_MILLISEC(time) > more)
		return Max(batch / 2, 1);
	if (INSTR_TIME_GET_MILLISEC(time) < less)
		return Min(batch * 2, LACKING_LARGEST_BATCH);
	return batch;
}

/* Adds a range that was skipped to a list, which lives as long as the build. */
List *
lacking_keep(List *skipped, BlockRange range, const IndexBuild *work)
{
	MemoryContext old = MemoryContextSwitchTo(work->procedure.context);
	BlockRange *kept = palloc(sizeof(BlockRange));

	*kept = range;
	skipped = lappend(skipped, kept);
	MemoryContextSwitchTo(old);
	return skipped;
}
