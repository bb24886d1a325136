/*
 * sql.c
 *	  Statements of the extension's own, by SPI, and the rows that they find.
 *
 * A value of a row is read by the functions here only, as test/lint checks: who reads it says whether
 * it may be NULL.  Functions that describe an object return NULL once the object is gone, so NULL can
 * be where the tables have none.
 */
#include "postgres.h"

#include "executor/spi.h"

#include "ground/sql.h"

/*
 * Runs a statement with arguments by SPI, to which the caller is connected and which has the result.
 * Returns the number of rows.  What SPI refuses is a fault of the statement, and so of ours.
 */
uint64
sql_execute(const char *sql, int nargs, Oid *types, Datum *values, const char *nulls,
			bool read_only, long limit)
{
	int result = SPI_execute_with_args(sql, nargs, types, values, nulls, read_only, limit);

	if (result < 0)
		elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(result));
	return SPI_processed;
}

static HeapTuple
get_row(const SPITupleTable *rows, uint64 row)
{
	if (row >= rows->numvals)
		elog(ERROR, "a statement has found " UINT64_FORMAT " rows", rows->numvals);
	return rows->vals[row];
}

static void
forbid_null(const SPITupleTable *rows, int column, bool isnull)
{
	if (isnull)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("column \"%s\" of a row that was read is null",
							   SPI_fname(rows->tupdesc, column))));
}

/* Returns a column, counted from 1, of a row, counted from 0; *isnull tells whether it is NULL. */
Datum
sql_nullable(const SPITupleTable *rows, uint64 row, int column, bool *isnull)
{
	return SPI_getbinval(get_row(rows, row), rows->tupdesc, column, isnull);
}

/* The same where NULL is an error. */
Datum
sql_value(const SPITupleTable *rows, uint64 row, int column)
{
	bool isnull;
	Datum value = sql_nullable(rows, row, column, &isnull);

	forbid_null(rows, column, isnull);
	return value;
}

/* The same, but 0 for NULL of a type that is passed by value.  A pointer that is 0 would be followed. */
Datum
sql_value_or_zero(const SPITupleTable *rows, uint64 row, int column)
{
	bool isnull;
	Datum value = sql_nullable(rows, row, column, &isnull);

	forbid_null(rows, column, isnull && !TupleDescAttr(rows->tupdesc, column - 1)->attbyval);
	return isnull ? (Datum) 0 : value;
}

/* Returns a column as text, by the output function of its type, or NULL for NULL. */
char *
sql_text_or_null(const SPITupleTable *rows, uint64 row, int column)
{
	return SPI_getvalue(get_row(rows, row), rows->tupdesc, column);
}

/* The same where NULL is an error. */
char *
sql_text(const SPITupleTable *rows, uint64 row, int column)
{
	char *text = sql_text_or_null(rows, row, column);

	forbid_null(rows, column, text == NULL);
	return text;
}
