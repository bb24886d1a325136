/*
 * count.c
 *	  How many rows refer to one row, on average and at most, and what may be a foreign key.
 *
 * A sample of pages would not have all rows that refer to one row, so of a table that is too large
 * to be read the figures are those that ANALYZE has found.
 */
#include "postgres.h"

#include "access/transam.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "models/propose/propose.h"
#include "server/sql.h"

static char *
count_sql(const ProposeTable *table, const ProposeForeignKey *foreign)
{
	const char *columns = "";
	ListCell *cell;

	foreach (cell, foreign->columns)
		columns = propose_add(
			columns, ", ",
			psprintf("src.%s", quote_identifier(table->columns[lfirst_int(cell)].name)));
	return psprintf("SELECT avg(n), max(n) FROM (SELECT count(*) AS n FROM %s AS src"
					" WHERE num_nulls(%s) = 0 GROUP BY %s) AS c",
					table->qualified, columns, columns);
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
				   SQL_TEXT(table->columns[linitial_int(foreign->columns)].name)));
	distinct = propose_answer(1);
	if (distinct < 0)
		distinct = -distinct * table->rows;
	if (distinct > 0 && list_length(foreign->columns) == 1)
	{
		foreign->average = Max(table->rows * (1 - propose_answer(3)) / distinct, 1);
		foreign->most = Max(table->rows * propose_answer(2), foreign->average);
	}
	SPI_freetuptable(SPI_tuptable);
}

static void
count(const ProposeTable *table, ProposeForeignKey *foreign)
{
	if (table->sampled < 1)
	{
		estimate(table, foreign);
		return;
	}
	propose_execute_on(table, count_sql(table, foreign), 0, NULL);
	foreign->average = propose_answer(1);
	foreign->most = propose_answer(2);
	SPI_freetuptable(SPI_tuptable);
}

/* Counts the rows of each value of a column, if its type is none that a user has made. */
static void
count_values(const ProposeTable *table, int position)
{
	ProposeColumn *column = &table->columns[position];
	ProposeForeignKey values = {.columns = list_make1_int(position)};

	if (!column->asked || getBaseType(column->type) >= FirstNormalObjectId ||
		!propose_has_order(column))
		return;
	count(table, &values);
	column->data.most = values.most;
	if (values.average > 0)
		column->data.distinct = table->rows * column->data.filled / values.average;
}

/*
 * Returns whether a name is that of a parent's key and names the parent, like prod_id of products, or is
 * made of both, like customer_id of customers, whose key is id.
 */
static bool
is_named_after(const char *name, const ProposeTable *parent)
{
	const char *key = parent->columns[linitial_int(parent->key)].name;
	int stem = (int) strlen(name);

	if (stem > 2 && pg_strcasecmp(name + stem - 2, "id") == 0)
		stem -= stem > 3 && name[stem - 3] == '_' ? 3 : 2;
	/* category of categories */
	stem -= stem > 1 && name[stem - 1] == 'y' ? 1 : 0;
	return pg_strncasecmp(parent->name, name, stem) == 0 &&
		   (pg_strcasecmp(key, name) == 0 ||
			(pg_strcasecmp(key, "id") == 0 && strlen(parent->name) <= stem + 3));
}

/* Asks whether a column is a foreign key that is not declared, if it has only keys of the parent. */
static void
ask_of_column(ProposeTable *table, const ProposeColumn *column, const ProposeTable *parent)
{
	const ProposeColumn *key = &parent->columns[parent->key == NIL ? 0 : linitial_int(parent->key)];
	SPITupleTable *keys;

	if (table == parent || list_length(parent->key) != 1 || parent->rows < 1 ||
		parent->unseen != NULL || parent->sampled < 1 || column->type != key->type ||
		column->type >= FirstNormalObjectId || !propose_has_order(column) ||
		!is_named_after(column->name, parent))
		return;
	/* a statement names one of the tables only */
	propose_execute_on(parent,
					   psprintf("SELECT array_agg(src.%s) FROM %s AS src",
								quote_identifier(key->name), parent->qualified),
					   0, NULL);
	keys = SPI_tuptable;
	propose_execute_on(
		table,
		psprintf("SELECT count(src.%s), count(*) FILTER (WHERE src.%s <> ALL ($1)) FROM %s AS src",
				 quote_identifier(column->name), quote_identifier(column->name), table->qualified),
		SQL_VALUES(SQL_VALUE(get_array_type(key->type), sql_value(keys, 0, 1))));
	if (propose_answer(1) > 0 && propose_answer(2) == 0)
		propose_remark(&table->remarks, true,
					   "Column %s has only keys of %s: is it a foreign key?  Declare it, and "
					   "propose again.",
					   column->name, parent->name);
	SPI_freetuptable(SPI_tuptable);
	SPI_freetuptable(keys);
}

static void
ask_of_columns(const Proposal *proposal, ProposeTable *table)
{
	for (int i = 0; i < table->ncolumns; i++)
	{
		bool declared = false;

		CHECK_FOR_INTERRUPTS();
		for (int k = 0; k < table->nforeign; k++)
			declared |= list_member_int(table->foreign[k].columns, i);
		for (int k = 0; k < proposal->ntables && !declared; k++)
			ask_of_column(table, &table->columns[i], &proposal->tables[k]);
	}
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
			if (table->foreign[k].parent != NULL && table->unseen == NULL)
				count(table, &table->foreign[k]);
		}
		for (int k = 0; k < table->ncolumns && table->unseen == NULL; k++)
			count_values(table, k);
		if (table->unseen == NULL && table->sampled == 1)
			ask_of_columns(proposal, table);
	}
}
