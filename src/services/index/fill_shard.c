/*
 * fill_shard.c
 *	  fill_shard(): the columns of an index in some rows of a shard, on the node that has it.
 *
 * Shards have no trigger, so the columns are derived here, from the item of a row that is locked.
 * The call is a transaction of its own, of this node alone.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/derive.h"
#include "catalog/entries.h"
#include "catalog/rights.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/mark.h"
#include "server/sql.h"
#include "server/work/tid_plan.h"
#include "services/index/fill_shard.h"
#include "services/index/index.h"
#include "services/index/lacking.h"
#include "store/vector.h"

typedef struct Fill
{
	IndexBuild work;
	Relation rel;
	DynTable *table;
	Lacking rows;
	SPIPlanPtr update;
	MemoryContext context; /* of a row */
	int updated;
	int64 left_out;
} Fill;

/* Each column has two: whether it stays as it is, and its value. */
#define COLUMN_ARGUMENTS 2

static int
count_columns(const Fill *fill)
{
	return fill->table->ncolumns - fill->table->nkeys;
}

static const DynKey *
fill_column(const Fill *fill, int i)
{
	return &fill->table->keys[fill->table->nkeys + i];
}

static void
prepare_update(Fill *fill)
{
	int n = count_columns(fill);
	Oid *types = palloc((1 + COLUMN_ARGUMENTS * n) * sizeof(Oid));
	int nargs = 0;
	StringInfoData sql;

	types[nargs++] = TIDOID;
	initStringInfo(&sql);
	appendStringInfo(&sql, "UPDATE %s SET ", fill->rows.qualified);
	for (int i = 0; i < n; i++)
	{
		const DynKey *key = fill_column(fill, i);
		const char *name = quote_identifier(key->column);

		appendStringInfo(&sql, "%s%s = CASE WHEN $%d THEN %s ELSE $%d END", i > 0 ? ", " : "", name,
						 nargs + 1, name, nargs + 2);
		types[nargs++] = BOOLOID;
		types[nargs++] =
			key->type == ITEM_M ? fill->table->item_type : dyn_key_column_type(key->type);
	}
	appendStringInfo(&sql, " WHERE ctid OPERATOR(pg_catalog.=) $1 RETURNING %s%s",
					 fill->rows.left_out, dyn_entries_mark(fill->table, ","));
	fill->update = SPI_prepare(sql_on(fill->rows.relid, sql.data), nargs, types);
	if (fill->update == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
}

static void
update_row(Fill *fill, Datum place, const DynItem *item)
{
	const DynRow *row = dyn_derive(fill->rel, fill->table, item);
	int n = count_columns(fill);
	Datum *values = palloc((1 + COLUMN_ARGUMENTS * n) * sizeof(Datum));
	char *nulls = palloc((1 + COLUMN_ARGUMENTS * n) * sizeof(char));
	int nargs = 0;

	values[nargs] = place;
	nulls[nargs++] = ' ';
	for (int i = 0; i < n; i++)
	{
		int k = fill->table->nkeys + i;

		values[nargs] = BoolGetDatum(row->troubled[k]);
		nulls[nargs++] = ' ';
		values[nargs] = row->values[k];
		nulls[nargs++] = row->nulls[k] ? 'n' : ' ';
	}
	if (SPI_execute_plan(fill->update, values, nulls, false, 0) != SPI_OK_UPDATE_RETURNING ||
		SPI_processed != 1)
		elog(ERROR, "a locked row of \"%s\" was not updated", fill->table->name);
	fill->updated++;
	fill->left_out += DatumGetBool(sql_value_or_zero(SPI_tuptable, 0, 1));
	SPI_freetuptable(SPI_tuptable);
}

/* Locks all rows that are not locked by others, or the first, which is waited for. */
static void
lock_rows(Fill *fill, BlockRange range, bool one)
{
	Datum bounds[2] = {lacking_tid(range.from), lacking_tid(range.to)};
	PlanSwitches before;

	tid_plan_begin(&before);
	PG_TRY();
	{
		lacking_run(&fill->rows,
					psprintf("SELECT ctid, %s FROM %s WHERE " LACKING_IN_RANGE
							 " AND %s %sFOR NO KEY UPDATE%s",
							 quote_identifier(DYN_ITEM_COLUMN), fill->rows.qualified,
							 fill->rows.lacking, one ? "LIMIT 1 " : "", one ? "" : " SKIP LOCKED"),
					2, bounds, false);
	}
	PG_FINALLY();
	{
		tid_plan_end(&before);
	}
	PG_END_TRY();
}

static void
fill_rows(Fill *fill, BlockRange range, bool one)
{
	SPITupleTable *locked;
	uint64 n;
	DynMarked marked;
	RightsBefore before;

	lock_rows(fill, range, one);
	locked = SPI_tuptable;
	n = SPI_processed;
	if (n == 0)
		return;
	rights_take_for_rows(fill->rel, true, &before);
	prepare_update(fill);
	dyn_mark_start(&marked, DYN_MARK_BACKFILL, RelationGetRelid(fill->rel));
	for (uint64 i = 0; i < n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(fill->context);

		CHECK_FOR_INTERRUPTS();
		update_row(fill, sql_value(locked, i, 1), DatumGetDynItem(sql_value(locked, i, 2)));
		MemoryContextSwitchTo(old);
		MemoryContextReset(fill->context);
	}
	dyn_mark_end(&marked);
	rights_give_back(&before);
}

static void
open_shard(Fill *fill, FunctionCallInfo fcinfo)
{
	Oid relid = PG_GETARG_OID(0);
	text *index = argument_text(fcinfo, 1);

	fill->work.procedure.name = "fill_shard";
	fill->work.ttl = index == NULL;
	index_build_name(&fill->work, index == NULL ? (ItemSpan){"", 0} : text_span(index));
	fill->rel = rights_open(relid, RowExclusiveLock);
	fill->table = fill->rel == NULL ? NULL : dyn_schema_shard(fill->rel);
	if (fill->table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("relation %u is not a shard of a table of items", relid)));
	index_build_begin_in_transaction(&fill->work, fill->rel, fill->table);
	index_build_check_row_security(&fill->work);
}

/*
 * Makes the entries of a vector index instead.  One row that others have locked is waited for by a call
 * that has locked none: then it is asked again.
 */
static void
fill_vector(Fill *fill, const DynVector *vector, BlockRange range, bool one, FilledShard *done)
{
	StoreVectorFill rows = {CurrentMemoryContext};
	DynVector here;

	store_vector_of_shard(fill->rel, fill->table, vector, &here);
	store_vector_fill(fill->rel, fill->table, &here, range.from, range.to, &rows);
	fill->updated = (int) rows.items;
	fill->left_out = one ? 0 : rows.left_out;
	done->lacking = rows.items + list_length(rows.locked);
	if (!one || rows.items > 0 || rows.locked == NIL)
		return;
	store_vector_fill_row(fill->rel, fill->table, &here, linitial(rows.locked), &rows);
	fill->updated = 1;
}

/*
 * fill_shard(shard, index_name, filenode, from_block, to_block, one)
 *
 * index_name: NULL for time to live.  Nothing is done if the shard has another filenode: its rows are
 * elsewhere.  Of the rows in these blocks those that other sessions have locked are left; or only one
 * row is filled in, which is waited for.
 */
PG_FUNCTION_INFO_V1(dyn_fill_shard);
Datum
dyn_fill_shard(PG_FUNCTION_ARGS)
{
	BlockRange range;
	FilledShard done = {0};
	Fill fill = {0};
	const DynVector *vector;
	bool one;

	argument_require(fcinfo, 0, "shard");
	for (int i = 2; i < 6; i++)
		argument_require(fcinfo, i, "an argument of fill_shard");
	range = (BlockRange){(BlockNumber) PG_GETARG_INT64(3), (BlockNumber) PG_GETARG_INT64(4)};
	one = PG_GETARG_BOOL(5);
	open_shard(&fill, fcinfo);
	vector = fill.work.ttl ? NULL : dyn_find_vector(fill.table, fill.work.name);
	if (vector == NULL)
		lacking_describe(&fill.rows, &fill.work, fill.rel, fill.table);
	done.filenode = fill.rel->rd_rel->relfilenode;
	done.blocks = RelationGetNumberOfBlocks(fill.rel);
	SPI_connect();
	fill.context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table row", ALLOCSET_DEFAULT_SIZES);
	if (done.filenode == PG_GETARG_OID(2) && range.from < range.to && vector != NULL)
		fill_vector(&fill, vector, range, one, &done);
	else if (done.filenode == PG_GETARG_OID(2) && range.from < range.to)
	{
		if (!one)
			done.lacking = lacking_count(&fill.rows, range, InvalidTransactionId, &fill.left_out);
		if (one || done.lacking > 0)
			fill_rows(&fill, range, one);
	}
	SPI_finish();
	relation_close(fill.rel, NoLock);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(FILLED_SHARD_FORMAT, done.filenode, done.blocks,
											  done.lacking, (int64) fill.updated, fill.left_out)));
}
