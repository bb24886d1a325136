/*
 * spi_many.c
 *	  Puts of many items in one statement.
 *
 * The rows come from arrays in the order of the arrays, and each is locked or inserted as it comes.
 * So calls whose keys are in the order of the primary key never wait for each other in a circle.
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "server/errors.h"
#include "store/spi_store.h"

/* This comes beside the shapes of spi_store.c and spi_range.c. */
#define PUT_MANY (1 << 29)

/* These are arrays of items and of each key column. */
#define MAX_ARGS (1 + DYN_MAX_KEYS)

static Oid
column_type(const DynTable *table, int i)
{
	return i == 0 ? table->item_type : dyn_key_column_type(table->keys[i - 1].type);
}

/* Appends the statement; the parser takes several arguments only of a bare "unnest", its own. */
static void
append_statement(StringInfo sql, const DynTable *table)
{
	const char *item = quote_identifier(DYN_ITEM_COLUMN);

	appendStringInfo(sql, "INSERT INTO %s (%s, ", table->qualified, item);
	store_append_key_columns(sql, table);
	appendStringInfoString(sql, ") SELECT * FROM unnest($1");
	for (int i = 0; i < table->nkeys; i++)
		appendStringInfo(sql, ", $%d", i + 2);
	appendStringInfoString(sql, ") AS u ON CONFLICT (");
	store_append_key_columns(sql, table);
	appendStringInfo(sql, ") DO UPDATE SET %s = EXCLUDED.%s", item, item);
}

static StorePlan *
get_plan(DynTable *table, int nargs, Oid *types)
{
	StorePlan *plan = store_find_plan(table, PUT_MANY);
	StringInfoData sql;

	if (plan == NULL)
	{
		initStringInfo(&sql);
		append_statement(&sql, table);
		plan = store_prepare(table, PUT_MANY, table->primary.relid, sql.data, nargs, types);
		pfree(sql.data);
	}
	return plan;
}

static Datum
make_array(Datum *values, int n, Oid type)
{
	int16 len;
	bool byval;
	char align;

	get_typlenbyvalalign(type, &len, &byval, &align);
	return PointerGetDatum(construct_array(values, n, type, len, byval, align));
}

/* Inserts or replaces, whatever is there. */
void
spi_put_many(DynTable *table, int n, const DynRow *const *rows)
{
	SPIExecuteOptions options = {0};
	int nargs = 1 + table->nkeys;
	const DynKeyValues **keys = palloc(n * sizeof(DynKeyValues *));
	Datum *column = palloc(n * sizeof(Datum));
	Datum arrays[MAX_ARGS];
	Oid types[MAX_ARGS];

	for (int i = 0; i < nargs; i++)
	{
		for (int row = 0; row < n; row++)
			column[row] = i == 0 ? PointerGetDatum(rows[row]->item) : rows[row]->key.values[i - 1];
		arrays[i] = make_array(column, n, column_type(table, i));
		types[i] = get_array_type(column_type(table, i));
	}
	for (int row = 0; row < n; row++)
		keys[row] = &rows[row]->key;
	options.params = store_parameters(nargs, types, arrays);
	store_connect();
	store_require_writes(
		table, store_execute_write(table, n, keys, get_plan(table, nargs, types), &options), n);
	SPI_finish();
}
