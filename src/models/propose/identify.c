/*
 * identify.c
 *	  What identifies the rows of a table without a key: a column whose values all differ.
 *
 * That is a guess.  A run of the migration checks that it holds, and a question asks for it.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "models/propose/propose.h"

/* Returns whether values of a column are of a simple type that tells which of them are equal. */
bool
propose_has_order(const ProposeColumn *column)
{
	ItemType type = value_item_type(column->type);

	return (type == ITEM_S || type == ITEM_N) &&
		   OidIsValid(lookup_type_cache(column->type, TYPECACHE_LT_OPR)->lt_opr);
}

static char *
distinct_sql(const ProposeTable *table)
{
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT count(*)");
	for (int i = 0; i < table->ncolumns; i++)
	{
		const ProposeColumn *column = &table->columns[i];

		if (propose_has_order(column))
			appendStringInfo(&sql, ", count(DISTINCT src.%s)", quote_identifier(column->name));
		else
			appendStringInfoString(&sql, ", 0");
	}
	appendStringInfo(&sql, " FROM %s AS src", table->qualified);
	return sql.data;
}

static void
guess(ProposeTable *table)
{
	double rows;

	propose_execute_on(table, distinct_sql(table), 0, NULL);
	rows = propose_answer(1);
	for (int i = 0; i < table->ncolumns && rows > 0 && table->key == NIL; i++)
	{
		if (propose_answer(i + 2) != rows)
			continue;
		table->key = list_make1_int(i);
		propose_remark(
			&table->remarks, true,
			"Nothing in the catalogs says what identifies its rows.  Column %s has another "
			"value in each of them: is it the key?  Changes can be followed only if a "
			"constraint says so.",
			table->columns[i].name);
	}
	SPI_freetuptable(SPI_tuptable);
}

/* Sets the sizes of all tables, and the keys of those that have none. */
void
propose_identify(Proposal *proposal)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		ProposeTable *table = &proposal->tables[i];

		CHECK_FOR_INTERRUPTS();
		propose_read_size(table);
		if (table->key == NIL && table->ncolumns > 0 && table->sampled == 1 &&
			table->unseen == NULL)
			guess(table);
	}
}
