/*
 * read.c
 *	  Statements about sources, and what they answer.
 *
 * To read rows of a table can run code of its owner: functions of views, of indexes and constraints
 * that the planner looks at.  So rows are read with the rights of the owner, as maintenance commands
 * read them; source.c has found that the caller may see them.  Catalogs are read with the caller's
 * rights.  All statements have the settings of migrations, so that names in them mean what is in
 * pg_catalog.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "miscadmin.h"

#include "catalog/rights.h"
#include "models/propose/propose.h"
#include "server/sql.h"

/* So many pages are read of a table: 32 MB. */
#define SAMPLE_PAGES 4096

/* Runs a statement that returns one row, which stays in SPI_tuptable. */
void
propose_execute(const char *sql, int nargs, const SqlValue *arguments)
{
	MemoryContext context = CurrentMemoryContext;
	uint64 rows = sql_execute(sql, true, 0, nargs, arguments);

	/* the SPI leaves its own context behind */
	MemoryContextSwitchTo(context);
	if (rows != 1)
		elog(ERROR, "a statement about a source has " UINT64_FORMAT " rows", rows);
}

/* Does the same with a statement about the rows of a table. */
void
propose_execute_on(const ProposeTable *table, const char *sql, int nargs, const SqlValue *arguments)
{
	RightsBefore before;

	/* the caller sees all rows of the table itself, and so must the owner */
	rights_take(table->owner, table->relkind == RELKIND_VIEW ? 0 : SECURITY_NOFORCE_RLS, &before);
	propose_execute(sql_on_rows(table->relid, sql), nargs, arguments);
	rights_give_back(&before);
}

/* Returns a column of that row as a number, 0 if it is NULL. */
double
propose_answer(int column)
{
	char *text = sql_text_or_null(SPI_tuptable, 0, column);

	return text == NULL ? 0 : strtod(text, NULL);
}

/* Sets the size of a table, and which part of it is to be read. */
void
propose_read_size(ProposeTable *table)
{
	double pages;

	table->sampled = 1;
	if (table->relkind == RELKIND_VIEW || table->relkind == RELKIND_FOREIGN_TABLE)
		return;
	propose_execute("SELECT sum(pg_total_relation_size(relid)), sum(pg_relation_size(relid)) FROM"
					" (SELECT $1::regclass AS relid UNION SELECT relid FROM pg_partition_tree($1))"
					" AS t",
					SQL_VALUES(SQL_OID(table->relid)));
	table->bytes = propose_answer(1);
	pages = propose_answer(2) / BLCKSZ;
	SPI_freetuptable(SPI_tuptable);
	if (pages > SAMPLE_PAGES)
		table->sampled = SAMPLE_PAGES / pages;
}
