/*
 * spi_range.c
 *	  Ranges of the SPI store.
 *
 * There is one statement for each index and each kind of range, and the plan of each is an ordered
 * index scan.  For that every column of the index is in ORDER BY, whatever the range, so that a
 * sort has nothing to offer; and every column that may be null is required not to be, since the
 * indexes are partial ones.  A position is a comparison of rows, which btree begins at.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "store/entries.h"
#include "store/spi_store.h"

/* A statement is made of these, as bits of its shape.  Shapes below RANGE are of single items. */
enum
{
	FORWARD = 1,
	LOWER = 1 << 1,
	LOWER_INCLUSIVE = 1 << 2,
	UPPER = 1 << 3,
	UPPER_INCLUSIVE = 1 << 4,
	WANT_SHIFT = 5, /* a StoreWant */
	EQUAL_SHIFT = 8, /* numbers of columns */
	POSITION_SHIFT = 12,
	INDEX_SHIFT = 16, /* 0: the table itself */
	RANGE = 1 << 30
};

/* Equality and position take each column once, and a bound at the other end one more. */
#define STORE_MAX_RANGE_ARGS (DYN_MAX_INDEX_COLUMNS + 3)

typedef struct RangeStatement
{
	StorePlan *plan;
	int nargs;
	Oid types[STORE_MAX_RANGE_ARGS];
	Datum values[STORE_MAX_RANGE_ARGS];
} RangeStatement;

static int
range_shape(const DynTable *table, const StoreRange *range)
{
	int shape = RANGE | range->want << WANT_SHIFT | range->nequal << EQUAL_SHIFT |
				range->nposition << POSITION_SHIFT;

	if (!dyn_index_is_table(range->index))
		shape |= (int) (range->index - table->indexes + 1) << INDEX_SHIFT;
	if (range->forward)
		shape |= FORWARD;
	if (range->lower.given)
		shape |= LOWER | (range->lower.inclusive ? LOWER_INCLUSIVE : 0);
	if (range->upper.given)
		shape |= UPPER | (range->upper.inclusive ? UPPER_INCLUSIVE : 0);
	return shape;
}

/*
 * The parameters, in the order in which append_conditions() numbers them.
 */

static void
add_argument(const DynTable *table, const StoreRange *range, RangeStatement *statement, int column,
			 Datum value)
{
	const DynKey *key = dyn_index_key(table, range->index, column);

	statement->types[statement->nargs] = dyn_key_column_type(key->type);
	statement->values[statement->nargs++] = value;
}

static void
add_arguments(const DynTable *table, const StoreRange *range, const RangeChunk *chunk,
			  RangeStatement *statement)
{
	statement->nargs = 0;
	for (int i = 0; i < range->nequal; i++)
		add_argument(table, range, statement, i, range->equal[i]);
	if (range->lower.given)
		add_argument(table, range, statement, range->nequal, range->lower.value);
	if (range->upper.given)
		add_argument(table, range, statement, range->nequal, range->upper.value);
	for (int i = range->nequal; i < range->nposition; i++)
		add_argument(table, range, statement, i, range->position[i]);
	if (chunk != NULL)
	{
		statement->types[statement->nargs] = INT8OID;
		statement->values[statement->nargs++] = Int64GetDatum(chunk->limit);
	}
}

/*
 * SQL
 */

static const char *
column_name(const DynTable *table, const StoreRange *range, int i)
{
	return quote_identifier(dyn_index_key(table, range->index, i)->column);
}

static void
append_columns(StringInfo sql, const DynTable *table, const StoreRange *range, int first, int end,
			   const char *suffix)
{
	for (int i = first; i < end; i++)
		appendStringInfo(sql, "%s%s%s", i > first ? ", " : "", column_name(table, range, i),
						 suffix);
}

/* Appends " WHERE " before the first condition, and " AND " before the others. */
static void
append_and(StringInfo sql, int *conditions)
{
	appendStringInfoString(sql, (*conditions)++ == 0 ? " WHERE " : " AND ");
}

static void
append_comparison(StringInfo sql, const DynTable *table, const StoreRange *range, int column,
				  const char *op, int *conditions, int *parameter)
{
	append_and(sql, conditions);
	appendStringInfo(sql, "%s OPERATOR(pg_catalog.%s) $%d", column_name(table, range, column), op,
					 (*parameter)++);
}

static void
append_position(StringInfo sql, const DynTable *table, const StoreRange *range, int *conditions,
				int *parameter)
{
	append_and(sql, conditions);
	appendStringInfoString(sql, "ROW(");
	append_columns(sql, table, range, range->nequal, range->nposition, "");
	appendStringInfo(sql, ") OPERATOR(pg_catalog.%s) ROW(", range->forward ? ">" : "<");
	for (int i = range->nequal; i < range->nposition; i++)
		appendStringInfo(sql, "%s$%d", i > range->nequal ? ", " : "", (*parameter)++);
	appendStringInfoChar(sql, ')');
}

/* Returns the number of the next parameter. */
static int
append_conditions(StringInfo sql, const DynTable *table, const StoreRange *range)
{
	int conditions = 0;
	int parameter = 1;

	for (int i = 0; i < range->nequal; i++)
		append_comparison(sql, table, range, i, "=", &conditions, &parameter);
	if (range->lower.given)
		append_comparison(sql, table, range, range->nequal, range->lower.inclusive ? ">=" : ">",
						  &conditions, &parameter);
	if (range->upper.given)
		append_comparison(sql, table, range, range->nequal, range->upper.inclusive ? "<=" : "<",
						  &conditions, &parameter);
	if (range->nposition > 0)
		append_position(sql, table, range, &conditions, &parameter);
	/* what the index's predicate says, word for word; columns of entries are never NULL */
	for (int i = 0; i < range->index->ncolumns && range->index->entries == NULL; i++)
	{
		if (range->index->columns[i] < table->nkeys)
			continue;
		append_and(sql, &conditions);
		appendStringInfo(sql, "%s IS NOT NULL", column_name(table, range, i));
	}
	return parameter;
}

/*
 * Appends what an index carries, and the item of the row if that is nothing.  coalesce() of two
 * columns would be no index-only scan any more.
 */
static void
append_part(StringInfo sql, const DynTable *table, const StoreRange *range)
{
	const char *item = quote_identifier(DYN_ITEM_COLUMN);
	const char *carried = quote_identifier(table->keys[range->index->carried_column].column);

	appendStringInfo(sql, "%s, CASE WHEN %s IS NULL THEN (SELECT row.%s FROM %s row WHERE ",
					 carried, carried, item, table->qualified);
	for (int i = 0; i < table->nkeys; i++)
	{
		const char *column = quote_identifier(table->keys[i].column);

		appendStringInfo(sql, "%srow.%s OPERATOR(pg_catalog.=) entry.%s", i > 0 ? " AND " : "",
						 column, column);
	}
	appendStringInfoString(sql, ") END");
}

/* Returns how many of the index's columns are selected.  A chunk's are its position, too. */
static int
selected_columns(const StoreRange *range, const RangeChunk *chunk)
{
	if (chunk != NULL || store_wants_keys(range->want) || store_wants_part(range->want))
		return range->index->ncolumns;
	return range->want == STORE_WANT_ITEM ? 0 : range->index->npartition;
}

/* Appends a SELECT of the item or the two parts of it first, then of columns. */
static void
append_range(StringInfo sql, const DynTable *table, const StoreRange *range,
			 const RangeChunk *chunk)
{
	StoreWant want = range->want;
	int columns = selected_columns(range, chunk);
	int next;

	appendStringInfoString(sql, "SELECT ");
	if (store_wants_part(want))
		append_part(sql, table, range);
	else if (store_wants_item(want))
		appendStringInfoString(sql, quote_identifier(DYN_ITEM_COLUMN));
	if (columns > 0 && !store_wants_keys(want) && want != STORE_WANT_PARTITION)
		appendStringInfoString(sql, ", ");
	append_columns(sql, table, range, 0, columns, "");
	appendStringInfo(sql, " FROM %s%s",
					 range->index->entries != NULL ? range->index->entries : table->qualified,
					 store_wants_part(want) ? " entry" : "");
	next = append_conditions(sql, table, range);
	appendStringInfoString(sql, " ORDER BY ");
	append_columns(sql, table, range, 0, range->index->ncolumns, range->forward ? "" : " DESC");
	if (chunk != NULL)
		appendStringInfo(sql, " LIMIT $%d", next);
}

/* Prepares the statement of a range that is narrowed; of a distributed table, there is a chunk. */
static void
spi_range_prepare(DynTable *table, const StoreRange *range, const RangeChunk *chunk,
				  RangeStatement *statement)
{
	int shape = range_shape(table, range);
	StringInfoData sql;

	add_arguments(table, range, chunk, statement);
	statement->plan = store_find_plan(table, shape);
	if (statement->plan != NULL)
		return;
	initStringInfo(&sql);
	append_range(&sql, table, range, chunk);
	if (range->index->entries != NULL)
		statement->plan = store_prepare_on(table, shape, range->index->relid, sql.data,
										   statement->nargs, statement->types, range->nequal > 0);
	else if (chunk != NULL)
		statement->plan =
			store_prepare_remote(table, shape, sql.data, statement->nargs, statement->types,
								 dyn_index_is_table(range->index) && range->nequal > 0);
	else
		statement->plan = store_prepare(table, shape, range->index->relid, sql.data,
										statement->nargs, statement->types);
	pfree(sql.data);
}

/*
 * Rows
 */

/* Hands each row to the callback instead of keeping it. */
typedef struct RangeReceiver
{
	DestReceiver pub;
	const DynTable *table;
	const StoreRange *range;
	StoreRowCallback callback;
	void *arg;
	MemoryContext context; /* for one row */
	RangeChunk *chunk; /* or NULL: all */
	MemoryContext position; /* of that */
	const RightsBefore *before; /* of the caller, if the session has others; or NULL */
} RangeReceiver;

/* Returns the place of the columns in what a statement returns. */
static int
first_column(StoreWant want)
{
	return store_wants_part(want) ? 2 : store_wants_item(want) ? 1 : 0;
}

static void
read_row(const RangeReceiver *receiver, TupleTableSlot *slot, StoreRow *row)
{
	StoreWant want = receiver->range->want;
	int partition = first_column(want);

	row->projected = store_wants_part(want) && !slot->tts_isnull[0];
	if (row->projected)
		row->item =
			PointerGetDatum(store_range_part(receiver->table, receiver->range->index,
											 slot->tts_values + partition, slot->tts_values[0]));
	else if (store_wants_part(want))
		row->item = slot->tts_values[1];
	else if (store_wants_item(want))
		row->item = slot->tts_values[0];
	else if (store_wants_keys(want))
		row->item = PointerGetDatum(
			store_range_item(receiver->table, receiver->range->index, slot->tts_values));
	else
		row->item = (Datum) 0;
	if (!store_wants_partition(want))
		return;
	for (int i = 0; i < receiver->range->index->npartition; i++)
		row->partition[i] = slot->tts_values[partition + i];
}

/* Counts a row of a chunk; the position of its last one is where the next one begins. */
static void
count_row(const RangeReceiver *receiver, TupleTableSlot *slot)
{
	RangeChunk *chunk = receiver->chunk;
	int first = first_column(receiver->range->want);

	chunk->rows++;
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		if (!slot->tts_isnull[i])
			chunk->bytes += VARSIZE_ANY(DatumGetPointer(slot->tts_values[i]));
	}
	if (chunk->rows < chunk->limit)
		return;
	MemoryContextSwitchTo(receiver->position);
	/* all types of keys are varlena */
	for (int i = 0; i < receiver->range->index->ncolumns; i++)
		chunk->position[i] = datumCopy(slot->tts_values[first + i], false, -1);
}

/* Calls back with the rights of the caller, also where entries are read with those of their owner. */
static bool
call_back(const RangeReceiver *receiver, const StoreRow *row)
{
	int context;
	Oid user;
	bool more;

	if (receiver->before == NULL)
		return receiver->callback(row, receiver->arg);
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(receiver->before->user, receiver->before->context);
	more = receiver->callback(row, receiver->arg);
	SetUserIdAndSecContext(user, context);
	return more;
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	RangeReceiver *receiver = (RangeReceiver *) self;
	MemoryContext old = MemoryContextSwitchTo(receiver->context);
	StoreRow row;
	bool more;

	slot_getallattrs(slot);
	/* one of the two parts of an item is there */
	if (store_wants_part(receiver->range->want))
		store_forbid_null(slot->tts_isnull[0] && slot->tts_isnull[1]);
	for (int i = store_wants_part(receiver->range->want) ? 2 : 0;
		 i < slot->tts_tupleDescriptor->natts; i++)
		store_forbid_null(slot->tts_isnull[i]);
	read_row(receiver, slot, &row);
	more = call_back(receiver, &row);
	if (receiver->chunk != NULL)
	{
		count_row(receiver, slot);
		receiver->chunk->more = more && receiver->chunk->rows == receiver->chunk->limit;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(receiver->context);
	return more;
}

static void
start_receiver(DestReceiver *self, int operation, TupleDesc desc)
{
}

static void
end_receiver(DestReceiver *self)
{
}

static void
spi_range_execute(const DynTable *table, const StoreRange *range, const RangeStatement *statement,
				  StoreRowCallback callback, void *arg, RangeChunk *chunk,
				  const RightsBefore *before)
{
	RangeReceiver receiver = {
		{receive_row, start_receiver, end_receiver, end_receiver, DestNone},
		table,
		range,
		callback,
		arg,
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table row", ALLOCSET_DEFAULT_SIZES),
		chunk,
		CurrentMemoryContext,
		before};
	SPIExecuteOptions options = {0};

	options.params = store_parameters(statement->nargs, statement->types, statement->values);
	options.read_only = true;
	options.dest = &receiver.pub;
	store_execute(statement->plan, &options);
	MemoryContextDelete(receiver.context);
}

/* Tells the index that a plan scans; of a partitioned table there are several. */
static void
look_at_plan(const Plan *plan, StoreExplanation *explanation)
{
	while (plan != NULL && !IsA(plan, IndexScan) && !IsA(plan, IndexOnlyScan))
		plan = plan->lefttree;
	if (plan == NULL)
		return;
	explanation->index_only = IsA(plan, IndexOnlyScan);
	explanation->index = explanation->index_only ? ((const IndexOnlyScan *) plan)->indexid
												 : ((const IndexScan *) plan)->indexid;
}

/* Returns whether the role may read what the index carries; otherwise the row is read. */
static bool
reads_carried(const DynTable *table, const DynIndex *index)
{
	return index->carried != NULL &&
		   (pg_class_aclcheck(table->relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
			pg_attribute_aclcheck(table->relid, table->keys[index->carried_column].attnum,
								  GetUserId(), ACL_SELECT) == ACLCHECK_OK);
}

static StoreRange
with_rows(const DynTable *table, const StoreRange *range)
{
	StoreRange rows = *range;

	if (store_wants_part(range->want) && !reads_carried(table, range->index))
		rows.want = range->want == STORE_WANT_PART ? STORE_WANT_ITEM : STORE_WANT_ITEM_PARTITION;
	return rows;
}

/* Explains how a range is read. */
void
spi_range_plan(DynTable *table, const StoreRange *range, StoreExplanation *explanation)
{
	StoreRange rows = with_rows(table, range);
	RangeChunk chunk = {.limit = 1};
	RangeStatement statement;

	store_connect();
	spi_range_prepare(table, &rows, table->distributed ? &chunk : NULL, &statement);
	if (!table->distributed)
		look_at_plan(store_planned(statement.plan)->planTree, explanation);
	SPI_finish();
}

static void
read_range(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg,
		   RangeChunk *chunk)
{
	StoreRange rows = with_rows(table, range);
	bool entries = range->index->entries != NULL;
	RangeStatement statement;
	RightsBefore before;

	if (entries)
		store_entries_begin(table, range->index, &before);
	store_connect();
	spi_range_prepare(table, &rows, chunk, &statement);
	spi_range_execute(table, &rows, &statement, callback, arg, chunk, entries ? &before : NULL);
	SPI_finish();
	if (entries)
		rights_give_back(&before);
}

/*
 * Reads a narrowed range by a SELECT and calls back for each entry, in a memory context that is
 * reset after each call.
 */
void
spi_range(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg)
{
	read_range(table, range, callback, arg, NULL);
}

/* Reads at most as many entries as the chunk is to have, which is told about them. */
void
spi_range_chunk(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg,
				RangeChunk *chunk)
{
	chunk->rows = 0;
	chunk->bytes = 0;
	chunk->more = false;
	read_range(table, range, callback, arg, chunk);
}
