/*
 * import.c
 *	  dyn_import_lines(), and dyn_import(), which reads the lines from a table.
 *
 * The procedure reads ranges of blocks.  Each range is one batch and one transaction, since a
 * second batch would lock keys out of order.  The commits do not wait for the disk: what a crash
 * loses is imported by calling the procedure again, which leaves the other items as they are.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "ground/arguments.h"
#include "ground/errors.h"
#include "ground/progress.h"
#include "transfer/transfer.h"
#include "work/procedure.h"
#include "work/tid_plan.h"

#define LINES_BATCH 5000
#define MAX_BATCH 1000000
#define FIRST_RANGE 32 /* blocks */

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static const char *const conflicts[] = {"replace", "keep", "error", NULL};
static const char *const errors[] = {"stop", "skip", NULL};

/* items, written, kept, skipped, errors */
static Datum
make_result(FunctionCallInfo fcinfo, const Transfer *transfer)
{
	char *list = psprintf("[%s]", transfer->errors.text->data);
	Datum values[] = {Int64GetDatum(transfer->items), Int64GetDatum(transfer->written),
					  Int64GetDatum(transfer->kept), Int64GetDatum(transfer->skipped),
					  DirectFunctionCall1(jsonb_in, CStringGetDatum(list))};
	bool nulls[lengthof(values)] = {false};
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

static void
take(Transfer *transfer, const char *line, int len)
{
	if (transfer->line == 0 && len >= 3 && memcmp(line, BYTE_ORDER_MARK, 3) == 0)
	{
		line += 3;
		len -= 3;
	}
	transfer_take(transfer, line, len);
}

/*
 * Lines of a text
 */

static void
take_lines(Transfer *transfer, const char *at, const char *end)
{
	while (at < end)
	{
		const char *newline = memchr(at, '\n', end - at);
		const char *stop = newline == NULL ? end : newline;

		CHECK_FOR_INTERRUPTS();
		take(transfer, at, (int) (stop - at));
		at = stop + 1;
	}
	transfer_write(transfer);
}

/* dyn_import_lines(table_name, lines, on_conflict, on_error) */
PG_FUNCTION_INFO_V1(dyn_import_lines);
Datum
dyn_import_lines(PG_FUNCTION_ARGS)
{
	Transfer transfer = {0};
	text *lines;

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "lines");
	lines = PG_GETARG_TEXT_PP(1);
	transfer.on_conflict = argument_choice(fcinfo, 2, "on_conflict", TRANSFER_REPLACE, conflicts);
	transfer.skip = argument_choice(fcinfo, 3, "on_error", 0, errors) == 1;
	transfer_begin(&transfer, "line", LINES_BATCH);
	transfer.rel = dyn_table_open(PG_GETARG_TEXT_PP(0), RowExclusiveLock, &transfer.table);
	take_lines(&transfer, VARDATA_ANY(lines), VARDATA_ANY(lines) + VARSIZE_ANY_EXHDR(lines));
	relation_close(transfer.rel, NoLock);
	return make_result(fcinfo, &transfer);
}

/*
 * Rows of a table
 */

typedef struct Source
{
	Transfer transfer;
	Oid target;
	const char *table; /* the target's name, for messages */
	Oid relid;
	const char *name; /* of the source, for messages */
	Oid filenode; /* a rewrite puts rows elsewhere */
	const char *column;
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

static void
fail_column(const Source *source, const char *fault)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("table \"%s\" has %s that can hold lines", source->name, fault),
					errhint("Name a column of type text, json or jsonb as column_name.")));
}

/* The column that is named, or else the only one that can hold lines. */
static const char *
choose_column(const Source *source, Relation rel, const char *name)
{
	TupleDesc desc = RelationGetDescr(rel);
	const char *found = NULL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (column->attisdropped || !is_text(getBaseType(column->atttypid)) ||
			(name != NULL && strcmp(name, NameStr(column->attname)) != 0))
			continue;
		if (found != NULL)
			fail_column(source, "several columns");
		found = pstrdup(NameStr(column->attname));
	}
	if (found == NULL)
		fail_column(source, name == NULL ? "no column" : "no such column");
	return found;
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
	if (dyn_is_distributed(rel))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("\"%s\" cannot be imported from", source->name),
						errdetail("It is managed by Citus.")));
	source->column = choose_column(source, rel, column);
	source->filenode = rel->rd_rel->relfilenode;
	source->end = RelationGetNumberOfBlocks(rel);
	source->range = FIRST_RANGE;
	ItemPointerSet(&source->next, 0, 0);
	relation_close(rel, NoLock);
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

/* The statement that reads a range; the names are those of now. */
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
	sql = psprintf(
		"SELECT %s::pg_catalog.text, ctid FROM ONLY %s WHERE ctid OPERATOR(pg_catalog.>=) $1"
		" AND ctid OPERATOR(pg_catalog.<) $2",
		quote_identifier(source->column),
		quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)),
								   RelationGetRelationName(rel)));
	relation_close(rel, NoLock);
	return sql;
}

static void
run(const char *sql, Datum *bounds)
{
	Oid types[] = {TIDOID, TIDOID};
	int result = SPI_execute_with_args(sql, 2, types, bounds, NULL, false, 0);

	if (result != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(result));
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
		run(sql, bounds);
	}
	PG_FINALLY();
	{
		tid_plan_end(&before);
	}
	PG_END_TRY();
}

static void
take_row(Transfer *transfer, HeapTuple row, TupleDesc desc)
{
	bool isnull;
	Datum value = SPI_getbinval(row, desc, 1, &isnull);
	text *line;

	if (isnull)
	{
		transfer_blank(transfer);
		return;
	}
	line = DatumGetTextPP(value);
	take(transfer, VARDATA_ANY(line), (int) VARSIZE_ANY_EXHDR(line));
	if ((Pointer) line != DatumGetPointer(value))
		pfree(line);
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
go_on_behind(Source *source, HeapTuple row, TupleDesc desc)
{
	bool isnull;

	source->next = *(ItemPointer) DatumGetPointer(SPI_getbinval(row, desc, 2, &isnull));
	source->next.ip_posid++;
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

	/* lines may be in TOAST */
	PushActiveSnapshot(GetTransactionSnapshot());
	read_range(source, first + blocks);
	ItemPointerSet(&source->next, first + blocks, 0);
	rows = SPI_tuptable;
	n = SPI_processed;
	for (uint64 i = 0; i < n && source->transfer.batches == batches; i++)
	{
		CHECK_FOR_INTERRUPTS();
		take_row(&source->transfer, rows->vals[i], rows->tupdesc);
		if (source->transfer.batches > batches)
			go_on_behind(source, rows->vals[i], rows->tupdesc);
	}
	if (source->transfer.batches == batches)
		transfer_write(&source->transfer);
	SPI_freetuptable(rows);
	PopActiveSnapshot();
	adapt(source, blocks, n);
}

/* A transaction for a range.  Other writers are no reason to give up: it is READ COMMITTED. */
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
tell(Source *source)
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

static void
import_rows(Source *source)
{
	source->started = source->told = GetCurrentTimestamp();
	while (ItemPointerGetBlockNumberNoCheck(&source->next) < source->end)
	{
		next_transaction(source);
		import_range(source);
		relation_close(source->transfer.rel, NoLock);
		tell(source);
	}
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

/* dyn_import(table_name, source, column_name, batch_size, on_conflict, on_error, INOUT …) */
PG_FUNCTION_INFO_V1(dyn_import);
Datum
dyn_import(PG_FUNCTION_ARGS)
{
	Source source = {.batch = batch_size(fcinfo, 3)};

	procedure_require_commit(fcinfo, "dyn_import");
	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "source");
	PreventCommandIfReadOnly("dyn_import");
	source.transfer.on_conflict =
		argument_choice(fcinfo, 4, "on_conflict", TRANSFER_REPLACE, conflicts);
	source.transfer.skip = argument_choice(fcinfo, 5, "on_error", 0, errors) == 1;
	transfer_begin(&source.transfer, "row", source.batch);
	open_target(&source, PG_GETARG_TEXT_PP(0));
	open_source(&source, PG_GETARG_OID(1),
				PG_ARGISNULL(2) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(2)));
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	import_rows(&source);
	SPI_finish();
	return make_result(fcinfo, &source.transfer);
}
