/*
 * sql.c
 *	  Statements of the extension's own, by SPI.
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
