/*
 * import.c
 *	  dyn_import_lines(), and dyn_import(), which reads the lines from a table.
 *
 * The procedure reads ranges of blocks.  Each range is one batch and one transaction, since a
 * second batch would lock keys out of order.  The commits do not wait for the disk: what a crash
 * loses is imported by calling the procedure again, which leaves the other items as they are.
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "api/transfer/feed.h"
#include "catalog/lookup.h"
#include "server/arguments.h"
#include "server/catalogs.h"
#include "server/citus.h"
#include "server/errors.h"
#include "server/progress.h"
#include "server/sql.h"
#include "server/work/procedure.h"
#include "server/work/tid_plan.h"

#define LINES_BATCH 5000
#define MAX_BATCH 1000000
#define FIRST_RANGE 32 /* blocks */
#define MAX_PIECES 1024 /* blocks, of pieces of files */

static const char *const conflicts[] = {"replace", "keep", "error", NULL};
static const char *const errors[] = {"stop", "skip", NULL};
static const char *const formats[] = {"auto", "json", "plain", "csv", "document", NULL};

/* Makes the row of items, written, kept, skipped and errors. */
static Datum
make_result(FunctionCallInfo fcinfo, const Transfer *transfer)
{
	char *list = psprintf("[%s]", transfer->errors.text->data);

	return sql_row(
		fcinfo,
		SQL_VALUES(SQL_INT8(transfer->items), SQL_INT8(transfer->written), SQL_INT8(transfer->kept),
				   SQL_INT8(transfer->skipped),
				   SQL_VALUE(JSONBOID, DirectFunctionCall1(jsonb_in, CStringGetDatum(list)))));
}

/* Returns NULL, or a copy of the argument. */
static void *
argument_copy(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(i));
}

/* Returns the types of columns, or NULL. */
static const Jsonb *
argument_types(FunctionCallInfo fcinfo, int i)
{
	Jsonb *types = argument_copy(fcinfo, i);

	if (types != NULL && !JB_ROOT_IS_OBJECT(types))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("types must be an object"),
						errhint("Write them as {\"Age\": \"N\", \"Open\": \"BOOL\"}.")));
	return types;
}

/*
 * Begins what both functions have: condition, names and vals from argument i on, and from k on
 * on_conflict, on_error, format, types, delimiter, header, from_table.  They are copied, since
 * those of the statement may be gone behind a commit.
 */
static TransferForm
begin_import(FunctionCallInfo fcinfo, int i, int k, Transfer *transfer, const char *unit, int max)
{
	text *condition = argument_text(fcinfo, i);
	ExprRequest *expressions;

	transfer->on_conflict = argument_choice(fcinfo, k, "on_conflict", TRANSFER_REPLACE, conflicts);
	transfer->skip = argument_choice(fcinfo, k + 1, "on_error", 0, errors) == 1;
	if (condition != NULL && transfer->on_conflict != TRANSFER_REPLACE)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a condition needs on_conflict \"replace\"")));
	expressions = expr_request(argument_copy(fcinfo, i + 1), argument_copy(fcinfo, i + 2));
	if (condition != NULL)
		transfer->condition = expr_condition(expressions, EXPR_CONDITION, text_span(condition));
	expr_request_done(expressions);
	transfer_begin(transfer, unit, max);
	return (TransferForm){.format =
							  argument_choice(fcinfo, k + 2, "format", TRANSFER_AUTO, formats),
						  .types = argument_types(fcinfo, k + 3),
						  .delimiter = argument_copy(fcinfo, k + 4),
						  .header = argument_copy(fcinfo, k + 5),
						  .from_table = argument_copy(fcinfo, k + 6)};
}

/*
 * dyn_import_lines(table_name, lines, condition, names, vals, on_conflict, on_error, format, types,
 * delimiter, header, from_table, from_keys)
 */
PG_FUNCTION_INFO_V1(dyn_import_lines);
Datum
dyn_import_lines(PG_FUNCTION_ARGS)
{
	Transfer transfer = {0};
	TransferForm form;
	TransferFeed feed;
	text *lines;

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "lines");
	lines = PG_GETARG_TEXT_PP(1);
	form = begin_import(fcinfo, 2, 5, &transfer, "line", LINES_BATCH);
	argument_require(fcinfo, 12, "from_keys");
	transfer.from_keys = PG_GETARG_BOOL(12);
	transfer_feed_begin(&feed, &transfer, &form);
	transfer.rel = dyn_table_open(PG_GETARG_TEXT_PP(0), RowExclusiveLock, &transfer.table);
	do
	{
		transfer_feed_whole(&feed, VARDATA_ANY(lines), VARSIZE_ANY_EXHDR(lines));
		while (transfer_feed_take(&feed))
			;
	} while (transfer_feed_again(&feed));
	transfer_write(&transfer);
	relation_close(transfer.rel, NoLock);
	return make_result(fcinfo, &transfer);
}

/*
 * Rows of a table: lines, or pieces of a file
 */

typedef struct Source
{
	Transfer transfer;
	TransferFeed feed;
	Oid target;
	const char *table; /* the target's name, for messages */
	Oid relid;
	const char *name; /* of the source, for messages */
	Oid filenode; /* a rewrite puts rows elsewhere */
	const char *column;
	bool pieces; /* it has */
	Oid refused; /* the table for what is not written, or InvalidOid */
	const char *refused_column;
	ItemPointerData next;
	BlockNumber end; /* as of the start */
	BlockNumber range;
	int batch; /* rows that a range should have */
	TimestampTz started;
	TimestampTz told;
} Source;

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == JSONOID || type == JSONBOID;
}

static bool
is_string(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

static bool
is_bytes(Oid type)
{
	return type == BYTEAOID;
}

static void
fail_column(Relation rel, const char *fault)
{
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("table \"%s\" has %s that can hold lines", RelationGetRelationName(rel), fault),
			 errhint("Name a column of type text, json, jsonb or bytea as column_name.")));
}

/* Returns the column that is named, or else the only one of its kind; NULL if there is none. */
static const char *
find_column(Relation rel, const char *name, bool (*is_kind)(Oid type))
{
	TupleDesc desc = RelationGetDescr(rel);
	const char *found = NULL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (column->attisdropped || !is_kind(getBaseType(column->atttypid)) ||
			(name != NULL && strcmp(name, NameStr(column->attname)) != 0))
			continue;
		if (found != NULL)
			fail_column(rel, "several columns");
		found = pstrdup(NameStr(column->attname));
	}
	return found;
}

/* Chooses a column of lines, or else one of pieces. */
static void
choose_column(Source *source, Relation rel, const char *name)
{
	source->column = find_column(rel, name, is_text);
	if (source->column != NULL)
		return;
	source->column = find_column(rel, name, is_bytes);
	if (source->column == NULL)
		fail_column(rel, name == NULL ? "no column" : "no such column");
	source->pieces = true;
	source->transfer.unit = "line";
	source->transfer.verify = true;
}

static void
open_source(Source *source, Oid relid, const char *column)
{
	Relation rel = dyn_open_given(relid);

	source->relid = relid;
	source->name = pstrdup(RelationGetRelationName(rel));
	if (rel->rd_rel->relkind != RELKIND_RELATION && rel->rd_rel->relkind != RELKIND_MATVIEW)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" cannot be imported from", source->name),
						errdetail("It is no table that has rows of its own.")));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("\"%s\" cannot be imported from", source->name),
						errdetail("It is a temporary table of another session.")));
	if (citus_kind(relid) != CITUS_NONE)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("\"%s\" cannot be imported from", source->name),
						errdetail("It is managed by Citus.")));
	choose_column(source, rel, column);
	source->filenode = rel->rd_rel->relfilenode;
	source->end = RelationGetNumberOfBlocks(rel);
	source->range = FIRST_RANGE;
	relation_close(rel, NoLock);
}

/* Opens the table for lines that are not written, which has one column of text. */
static void
open_refused(Source *source, Oid relid)
{
	Relation rel = dyn_open_given(relid);

	source->refused = relid;
	source->refused_column = find_column(rel, NULL, is_string);
	if (source->refused_column == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("table \"%s\" has no column of type text for refused lines",
							   RelationGetRelationName(rel))));
	source->transfer.keep_refused = true;
	relation_close(rel, NoLock);
}

/* Puts what was refused where the caller wants it, in the same transaction. */
static void
write_refused(Source *source)
{
	ArrayType *lines = transfer_take_refused(&source->transfer);
	Relation rel;
	char *sql;

	if (lines == NULL)
		return;
	rel = try_relation_open(source->refused, RowExclusiveLock);
	if (rel == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("the table for refused lines was dropped meanwhile")));
	sql = psprintf("INSERT INTO %s (%s) SELECT pg_catalog.unnest($1)",
				   catalogs_qualified(RelationGetRelid(rel)),
				   quote_identifier(source->refused_column));
	relation_close(rel, NoLock);
	PushActiveSnapshot(GetTransactionSnapshot());
	sql_execute(sql_on(source->refused, sql), false, 0,
				SQL_VALUES(SQL_VALUE(TEXTARRAYOID, PointerGetDatum(lines))));
	PopActiveSnapshot();
	pfree(lines);
	pfree(sql);
}

static void
open_target(Source *source, text *name)
{
	DynTable *table;
	Relation rel = dyn_table_open(name, AccessShareLock, &table);

	source->target = table->relid;
	source->table = pstrdup(RelationGetRelationName(rel));
	relation_close(rel, NoLock);
}

/* Returns the statement that reads a range; the names are those of now. */
static char *
source_sql(const Source *source)
{
	Relation rel = try_relation_open(source->relid, AccessShareLock);
	char *sql;

	if (rel == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("table \"%s\" was dropped meanwhile", source->name)));
	if (rel->rd_rel->relfilenode != source->filenode)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("table \"%s\" was rewritten meanwhile", source->name),
						errhint("Begin the import again.")));
	sql =
		psprintf("SELECT %s::pg_catalog.%s, ctid FROM ONLY %s WHERE ctid OPERATOR(pg_catalog.>=) $1"
				 " AND ctid OPERATOR(pg_catalog.<) $2",
				 quote_identifier(source->column), source->pieces ? "bytea" : "text",
				 catalogs_qualified(RelationGetRelid(rel)));
	relation_close(rel, NoLock);
	return sql;
}

static void
import_run(const Source *source, const char *sql, Datum *bounds)
{
	sql_execute(sql_on(source->relid, sql), false, 0,
				SQL_VALUES(SQL_VALUE(TIDOID, bounds[0]), SQL_VALUE(TIDOID, bounds[1])));
}

/* Reads the rows of a range of blocks, in their order; SPI has the result. */
static void
read_range(Source *source, BlockNumber to)
{
	ItemPointerData end;
	Datum bounds[] = {PointerGetDatum(&source->next), PointerGetDatum(&end)};
	char *sql = source_sql(source);
	PlanSwitches before;

	ItemPointerSet(&end, to, 0);
	tid_plan_begin(&before);
	PG_TRY();
	{
		import_run(source, sql, bounds);
	}
	PG_FINALLY();
	{
		tid_plan_end(&before);
	}
	PG_END_TRY();
}

/* Returns whether that has written a batch. */
static bool
take_row(Source *source, const SPITupleTable *rows, uint64 row)
{
	bool isnull;
	Datum value = sql_nullable(rows, row, 1, &isnull);
	struct varlena *data;
	bool written;

	if (isnull)
		return !source->pieces && transfer_feed_row(&source->feed, "", 0);
	data = PG_DETOAST_DATUM_PACKED(value);
	if (source->pieces)
	{
		transfer_feed_piece(&source->feed, VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data));
		written = transfer_feed_take(&source->feed);
	}
	else
		written = transfer_feed_row(&source->feed, VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data));
	if ((Pointer) data != DatumGetPointer(value))
		pfree(data);
	return written;
}

/*
 * Adapts the range so that it has about as many rows as a batch, however many fit into a block.
 * Where there are hardly any rows, a range grows to as many blocks as a batch has rows, and no
 * further: all of it is read at once, and the blocks that follow may be full.
 */
static void
adapt(Source *source, BlockNumber blocks, uint64 rows)
{
	double fits = (double) blocks * source->batch / Max(rows, 1);
	double most = Min((double) blocks * 4, Max(source->batch, FIRST_RANGE));

	source->range = (BlockNumber) Max(Min(fits, most), 1);
}

/* The next range begins after this row. */
static void
go_on_behind(Source *source, const SPITupleTable *rows, uint64 row)
{
	source->next = *(ItemPointer) DatumGetPointer(sql_value(rows, row, 2));
	source->next.ip_posid++;
}

/* Takes the rows of a range until a batch is written, and returns how many these are. */
static uint64
take_rows(Source *source, SPITupleTable *rows, uint64 n)
{
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (take_row(source, rows, i))
		{
			go_on_behind(source, rows, i);
			return i + 1;
		}
	}
	return n;
}

/*
 * A batch has more than one record of a piece, so the range is as long as the last batch was, or
 * longer if that has not sufficed for one.
 */
static void
adapt_to_pieces(Source *source, BlockNumber blocks, uint64 rows, uint64 taken)
{
	double most = Max(source->batch, FIRST_RANGE);

	if (taken < rows)
		source->range = (BlockNumber) Max(ceil((double) blocks * taken / rows), 1);
	else
		source->range = (BlockNumber) Min((double) blocks * 2, Min(most, MAX_PIECES));
}

/* Imports the rows of a range, or as many as a batch can have, in the current transaction. */
static void
import_range(Source *source)
{
	BlockNumber first = ItemPointerGetBlockNumberNoCheck(&source->next);
	BlockNumber blocks = Min(source->range, source->end - first);
	int64 batches = source->transfer.batches;
	SPITupleTable *rows;
	uint64 n;
	uint64 taken;

	/* lines may be in TOAST */
	PushActiveSnapshot(GetTransactionSnapshot());
	read_range(source, first + blocks);
	ItemPointerSet(&source->next, first + blocks, 0);
	rows = SPI_tuptable;
	n = SPI_processed;
	taken = take_rows(source, rows, n);
	if (source->transfer.batches == batches)
		transfer_write(&source->transfer);
	SPI_freetuptable(rows);
	PopActiveSnapshot();
	if (source->pieces)
		adapt_to_pieces(source, blocks, n, taken);
	else
		adapt(source, blocks, n);
}

/* Imports what rows that were read have left, as much of it as a batch can have. */
static bool
import_rest(Source *source)
{
	bool written;

	PushActiveSnapshot(GetTransactionSnapshot());
	written = transfer_feed_take(&source->feed);
	if (!written && source->feed.text.whole)
		transfer_write(&source->transfer);
	PopActiveSnapshot();
	return written;
}

/* Begins a transaction for a range, at READ COMMITTED, in which other writers are no obstacle. */
static void
next_transaction(Source *source)
{
	Transfer *transfer = &source->transfer;

	procedure_commit(NULL);
	procedure_commit_lazily();
	transfer->rel = try_relation_open(source->target, RowExclusiveLock);
	transfer->table = transfer->rel == NULL ? NULL : dyn_schema(transfer->rel);
	if (transfer->table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("table \"%s\" was dropped meanwhile", source->table)));
}

static void
import_tell(Source *source)
{
	long ms = TimestampDifferenceMilliseconds(source->started, GetCurrentTimestamp());

	if (!progress_is_due(&source->told))
		return;
	ereport(NOTICE, (errmsg("import into table \"%s\": " INT64_FORMAT " items, %d %% of table "
							"\"%s\", %.0f items/s",
							source->table, source->transfer.items,
							(int) (100.0 * ItemPointerGetBlockNumberNoCheck(&source->next) /
								   Max(source->end, 1)),
							source->name, source->transfer.items * 1000.0 / Max(ms, 1))));
}

/* Imports in one transaction.  Returns whether there may be more. */
static bool
import_some(Source *source)
{
	bool more = true;

	next_transaction(source);
	if (!import_rest(source))
	{
		if (ItemPointerGetBlockNumberNoCheck(&source->next) < source->end)
			import_range(source);
		else
		{
			transfer_feed_end(&source->feed);
			more = import_rest(source);
		}
	}
	write_refused(source);
	relation_close(source->transfer.rel, NoLock);
	return more;
}

static void
import_rows(Source *source)
{
	source->started = source->told = GetCurrentTimestamp();
	do
	{
		ItemPointerSet(&source->next, 0, 0);
		while (import_some(source))
			import_tell(source);
	} while (transfer_feed_again(&source->feed));
}

static int
batch_size(FunctionCallInfo fcinfo, int i)
{
	int64 size = PG_ARGISNULL(i) ? LINES_BATCH : PG_GETARG_INT64(i);

	if (size < 1 || size > MAX_BATCH)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("batch_size must be between 1 and %d", MAX_BATCH)));
	return (int) size;
}

/*
 * dyn_import(table_name, source, column_name, condition, names, vals, batch_size, on_conflict,
 * on_error, format, types, delimiter, header, from_table, refused, from_keys, INOUT …)
 */
PG_FUNCTION_INFO_V1(dyn_import);
Datum
dyn_import(PG_FUNCTION_ARGS)
{
	Source source = {.batch = batch_size(fcinfo, 6)};
	TransferForm form;

	procedure_require_commit(fcinfo, "dyn_import");
	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "source");
	PreventCommandIfReadOnly("dyn_import");
	form = begin_import(fcinfo, 3, 7, &source.transfer, "row", source.batch);
	open_target(&source, PG_GETARG_TEXT_PP(0));
	open_source(&source, PG_GETARG_OID(1),
				PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2)));
	if (!PG_ARGISNULL(14))
		open_refused(&source, PG_GETARG_OID(14));
	argument_require(fcinfo, 15, "from_keys");
	source.transfer.from_keys = PG_GETARG_BOOL(15);
	transfer_feed_begin(&source.feed, &source.transfer, &form);
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	import_rows(&source);
	SPI_finish();
	return make_result(fcinfo, &source.transfer);
}
