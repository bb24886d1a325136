/*
 * read.c
 *	  Rows of a step, range by range in the order of its key.
 *
 * SQL of a migration can fail at one row, and then the whole statement fails.  So each range is
 * read in a subtransaction.  If it fails, the keys of the range are read, and then the rows one by
 * one, to find the row at fault.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "models/migrate/migrate.h"
#include "server/attempt.h"
#include "server/errors.h"
#include "server/sql.h"

#define READ_ROWS 1000

/*
 * Statements
 */

typedef struct Statement
{
	MigrationStep *step;
	const SelectOptions *options;
	Datum *values;
} Statement;

static void
read_run(void *arg)
{
	const Statement *statement = arg;
	MemoryContext context = CurrentMemoryContext;
	int result = SPI_execute_plan(step_plan(statement->step, statement->options), statement->values,
								  NULL, true, 0);

	MemoryContextSwitchTo(context);
	if (result < 0)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
}

/* Returns an error that a row may be to blame for; raises others. */
static ErrorData *
try_run(Statement *statement)
{
	ErrorData *error = attempt(read_run, statement);

	if (error != NULL && !value_is_to_blame(error))
		ReThrowError(error);
	return error;
}

static int
add_bound(Datum *values, int n, ArrayType *bound)
{
	Datum *elements;
	bool *nulls;
	int count;

	if (bound == NULL)
		return n;
	deconstruct_array(bound, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
		values[n++] = elements[i];
	return n;
}

/* Raises an error for a position of a job that was begun when the step had another key. */
static void
check_bound(const MigrationStep *step, ArrayType *bound)
{
	if (bound != NULL && (ARR_NDIM(bound) != 1 || ARR_DIMS(bound)[0] != step->nkeys))
		elog(ERROR, "a position in step \"%s\" has not the form of its key", step->name);
}

static Datum *
bounds(const MigrationStep *step, ArrayType *lower, ArrayType *upper)
{
	Datum *values = palloc(2 * step->nkeys * sizeof(Datum));

	check_bound(step, lower);
	check_bound(step, upper);
	(void) add_bound(values, add_bound(values, 0, lower), upper);
	return values;
}

/*
 * Rows
 */

/* Takes tuples of the last statement, copied. */
static int
take_rows(HeapTuple **tuples, TupleDesc *desc)
{
	int n = (int) SPI_processed;

	*desc = CreateTupleDescCopy(SPI_tuptable->tupdesc);
	*tuples = palloc(Max(n, 1) * sizeof(HeapTuple));
	for (int i = 0; i < n; i++)
		(*tuples)[i] = heap_copytuple(SPI_tuptable->vals[i]);
	SPI_freetuptable(SPI_tuptable);
	return n;
}

static int
build_rows(MigrationStep *step, Relation rel, DynTable *table, MigrationRow **rows)
{
	RowBuilder *builder = row_builder(step, rel, table);
	HeapTuple *tuples;
	TupleDesc desc;
	int n = take_rows(&tuples, &desc);

	*rows = palloc(Max(n, 1) * sizeof(MigrationRow));
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		row_build(builder, tuples[i], desc, &(*rows)[i]);
	}
	return n;
}

/* Reads the row of a key; false: the step does not take it. */
static bool
read_row(MigrationStep *step, Relation rel, DynTable *table, HeapTuple key, TupleDesc desc,
		 MigrationRow *row)
{
	SelectOptions options = {.which = SELECT_KEY};
	Statement statement = {step, &options, bounds(step, row_position(step, key, desc), NULL)};
	ErrorData *error = try_run(&statement);
	MigrationRow *found;

	if (error == NULL)
	{
		if (build_rows(step, rel, table, &found) == 0)
			return false;
		*row = *found;
		return true;
	}
	*row = (MigrationRow){.step = step,
						  .tuple = key,
						  .desc = desc,
						  .problem = ROW_ERROR,
						  .message = pstrdup(error->message)};
	return true;
}

static int
read_one_by_one(MigrationStep *step, Relation rel, DynTable *table, const Statement *range,
				MigrationRow **rows, bool *more)
{
	SelectOptions options = *range->options;
	Statement statement = {step, &options, range->values};
	HeapTuple *keys;
	TupleDesc desc;
	int nkeys;
	int n = 0;

	options.which = SELECT_KEYS;
	read_run(&statement);
	nkeys = take_rows(&keys, &desc);
	*more = nkeys == options.limit;
	*rows = palloc(Max(nkeys, 1) * sizeof(MigrationRow));
	for (int i = 0; i < nkeys; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (read_row(step, rel, table, keys[i], desc, &(*rows)[n]))
			n++;
		else if (i == nkeys - 1)
			(*rows)[n++] = (MigrationRow){.step = step, .tuple = keys[i], .desc = desc};
	}
	return n;
}

/*
 * Reads up to limit rows after lower, up to and with upper.  A row without an item and without a
 * problem only says how far the reading came.  *more: there may be rows after the last one.
 */
int
step_read(MigrationStep *step, Relation rel, DynTable *table, ArrayType *lower, ArrayType *upper,
		  int64 limit, MigrationRow **rows, bool *more)
{
	SelectOptions options = {SELECT_RANGE, lower != NULL, upper != NULL, limit};
	Statement statement = {step, &options, bounds(step, lower, upper)};
	int nest = migration_enter();
	int n;

	if (try_run(&statement) == NULL)
	{
		n = build_rows(step, rel, table, rows);
		*more = n == limit;
	}
	else
		n = read_one_by_one(step, rel, table, &statement, rows, more);
	migration_leave(nest);
	return n;
}

/* Returns how many rows the source has by its statistics, or -1 if they say nothing. */
double
step_expected_rows(const MigrationStep *step)
{
	Relation rel;
	double rows;

	if (!OidIsValid(step->source.relid))
		return -1;
	rel = relation_open(step->source.relid, AccessShareLock);
	rows = rel->rd_rel->reltuples;
	relation_close(rel, NoLock);
	return rows;
}

/* Reads all rows.  The callback runs with the settings of migrations. */
void
step_read_all(MigrationStep *step, Relation rel, DynTable *table, RowCallback callback, void *arg)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "migration rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext position_context =
		AllocSetContextCreate(CurrentMemoryContext, "migration position", ALLOCSET_SMALL_SIZES);
	int64 limit = step->key_is_given ? MIGRATION_QUERY_ROWS : READ_ROWS;
	MemoryContext old = MemoryContextSwitchTo(context);
	ArrayType *position = NULL;
	int nest = migration_enter();
	MigrationRow broken;
	bool more = !step_key_is_broken(step, &broken);

	if (!more)
		(void) callback(&broken, arg);
	while (more)
	{
		MigrationRow *rows;
		int n = step_read(step, rel, table, position, NULL, limit, &rows, &more);
		bool wanted = true;

		for (int i = 0; i < n && wanted; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (rows[i].item != NULL || rows[i].problem != ROW_OK)
				wanted = callback(&rows[i], arg);
		}
		more = more && wanted;
		if (more)
		{
			ArrayType *last = row_position(step, rows[n - 1].tuple, rows[n - 1].desc);

			MemoryContextReset(position_context);
			position = MemoryContextAlloc(position_context, VARSIZE(last));
			memcpy(position, last, VARSIZE(last));
		}
		MemoryContextReset(context);
	}
	migration_leave(nest);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(position_context);
	MemoryContextDelete(context);
}

/*
 * Keys
 */

/* Returns the key after so many rows; NULL: there are not so many. */
ArrayType *
step_cut(MigrationStep *step, ArrayType *lower, int64 rows)
{
	int nest = migration_enter();
	MemoryContext context = CurrentMemoryContext;
	SqlValue *arguments = palloc(step->nkeys * sizeof(SqlValue));
	const Datum *values = bounds(step, lower, NULL);
	int n = lower != NULL ? step->nkeys : 0;
	ArrayType *cut = NULL;

	for (int i = 0; i < n; i++)
		arguments[i] = SQL_VALUE(TEXTOID, values[i]);
	sql_execute(step_select_cut(step, lower != NULL, rows), true, 1, n, arguments);
	MemoryContextSwitchTo(context);
	if (SPI_processed > 0)
		cut = row_position(step, SPI_tuptable->vals[0], SPI_tuptable->tupdesc);
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
	return cut;
}

/*
 * Returns whether a key that no constraint guards is not unique, or NULL: then ranges would leave out
 * rows, so no row of the step is read.  *row: one whose fault it is, as a problem.
 */
bool
step_key_is_broken(MigrationStep *step, MigrationRow *row)
{
	MemoryContext context = CurrentMemoryContext;
	bool broken;
	int nest;

	if (!step->key_is_given)
		return false;
	nest = migration_enter();
	if (SPI_execute(step_select_twice(step), true, 1) < 0)
		elog(ERROR, "the key of step \"%s\" cannot be read", step->name);
	MemoryContextSwitchTo(context);
	broken = SPI_processed > 0;
	if (broken)
		*row = (MigrationRow){
			.step = step,
			.tuple = heap_copytuple(SPI_tuptable->vals[0]),
			.desc = CreateTupleDescCopy(SPI_tuptable->tupdesc),
			.problem = ROW_ERROR,
			.message = "the key of the step is not unique, or NULL, so no row of it is migrated"};
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
	return broken;
}
