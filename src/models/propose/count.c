/*
 * count.c
 *	  How many rows refer to one row, on average and at most.
 *
 * A sample of pages would not have all rows that refer to one row, so of a table that is too large
 * to be read the figures are those that ANALYZE has found.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "models/propose/propose.h"
#include "server/sql.h"

static char *
count_sql(const ProposeTable *table, const ProposeForeignKey *foreign)
{
	StringInfoData columns;
	StringInfoData filled;

	initStringInfo(&columns);
	initStringInfo(&filled);
	for (int i = 0; i < foreign->ncolumns; i++)
	{
		const char *name = quote_identifier(table->columns[foreign->columns[i]].name);

		appendStringInfo(&columns, "%ssrc.%s", i == 0 ? "" : ", ", name);
		appendStringInfo(&filled, "%ssrc.%s IS NOT NULL", i == 0 ? "" : " AND ", name);
	}
	return psprintf("SELECT avg(n), max(n) FROM (SELECT count(*) AS n FROM %s AS src WHERE %s"
					" GROUP BY %s) AS c",
					table->qualified, filled.data, columns.data);
}

static void
count(const ProposeTable *table, ProposeForeignKey *foreign)
{
	propose_execute_on(table, count_sql(table, foreign));
	foreign->average = propose_answer(1);
	foreign->most = propose_answer(2);
	SPI_freetuptable(SPI_tuptable);
}

/* The view shows only what the caller may read. */
static void
estimate(const ProposeTable *table, ProposeForeignKey *foreign)
{
	double distinct;

	propose_execute(
		"SELECT max(n_distinct), max(most_common_freqs[1]), max(null_frac) FROM pg_stats"
		" WHERE schemaname = $1 AND tablename = $2 AND attname = $3",
		SQL_VALUES(SQL_TEXT(table->schema), SQL_TEXT(table->name),
				   SQL_TEXT(table->columns[foreign->columns[0]].name)));
	distinct = propose_answer(1);
	if (distinct < 0)
		distinct = -distinct * table->rows;
	if (distinct > 0 && foreign->ncolumns == 1)
	{
		foreign->average = Max(table->rows * (1 - propose_answer(3)) / distinct, 1);
		foreign->most = Max(table->rows * propose_answer(2), foreign->average);
	}
	SPI_freetuptable(SPI_tuptable);
}

/* Counts the rows of each foreign key whose parent is a source. */
void
propose_count(Proposal *proposal)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		ProposeTable *table = &proposal->tables[i];

		for (int k = 0; k < table->nforeign; k++)
		{
			CHECK_FOR_INTERRUPTS();
			if (table->foreign[k].parent == NULL || table->unseen != NULL)
				continue;
			if (table->sampled < 1)
				estimate(table, &table->foreign[k]);
			else
				count(table, &table->foreign[k]);
		}
	}
}
