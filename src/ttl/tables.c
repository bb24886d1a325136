/*
 * tables.c
 *	  The tables of the database that have time to live.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/builtins.h"

#include "catalog/table.h"
#include "ttl/ttl.h"

/*
 * OIDs of all that may have it, as far as a trigger's name and arguments tell; connected to SPI, in
 * the current memory context.
 */
List *
ttl_tables(void)
{
	MemoryContext context = CurrentMemoryContext;
	List *tables = NIL;
	bool isnull;
	int result = SPI_execute(
		psprintf("SELECT tgrelid FROM pg_catalog.pg_trigger WHERE tgname OPERATOR(pg_catalog.=) %s"
				 " AND pg_catalog.\"position\"(tgargs, '\"ttl_attribute\"'::pg_catalog.bytea)"
				 " OPERATOR(pg_catalog.>) 0 ORDER BY tgrelid",
				 quote_literal_cstr(DYN_DERIVE_TRIGGER)),
		true, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	MemoryContextSwitchTo(context);
	for (uint64 i = 0; i < SPI_processed; i++)
		tables =
			lappend_oid(tables, DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[i],
															   SPI_tuptable->tupdesc, 1, &isnull)));
	SPI_freetuptable(SPI_tuptable);
	return tables;
}
