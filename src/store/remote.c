/*
 * remote.c
 *	  The remote store: writes to a table whose rows are in shards on other nodes.
 *
 * Reads, locks and deletes are the SPI store's statements, which Citus routes by the partition key.
 * Writes give all derived columns, since no trigger derives them there; a change is a lock and a
 * replacement, since our function cannot be called on another node.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "store/remote.h"
#include "store/spi_store.h"

/* Beside the shapes of the SPI store. */
enum
{
	PUT = 1 << 28,
	INSERT,
	REPLACE,
	PUT_MANY = 1 << 27 /* and the number of rows */
};

/* Rows of a statement. */
#define MAX_ROWS 32

static int
row_arguments(const DynTable *table)
{
	return 1 + table->ncolumns;
}

static const char *
column_name(const DynTable *table, int i)
{
	return i == 0 ? DYN_ITEM_COLUMN : table->keys[i - 1].column;
}

static Oid
column_type(const DynTable *table, int i)
{
	return i == 0 || table->keys[i - 1].type == ITEM_M
			   ? table->item_type
			   : dyn_key_column_type(table->keys[i - 1].type);
}

/* The columns that an update sets. */
static void
append_assignments(StringInfo sql, const DynTable *table, bool excluded)
{
	const char *separator = "";

	for (int i = 0; i < row_arguments(table); i++)
	{
		const char *column = quote_identifier(column_name(table, i));

		if (i > 0 && i <= table->nkeys)
			continue;
		appendStringInfo(sql, "%s%s = ", separator, column);
		if (excluded)
			appendStringInfo(sql, "EXCLUDED.%s", column);
		else
			appendStringInfo(sql, "$%d", i + 1);
		separator = ", ";
	}
}

static void
append_insert(StringInfo sql, const DynTable *table, int nrows)
{
	int parameter = 1;

	appendStringInfo(sql, "INSERT INTO %s (", table->qualified);
	for (int i = 0; i < row_arguments(table); i++)
		appendStringInfo(sql, "%s%s", i > 0 ? ", " : "", quote_identifier(column_name(table, i)));
	appendStringInfoString(sql, ") VALUES ");
	for (int row = 0; row < nrows; row++)
	{
		appendStringInfoString(sql, row > 0 ? ", (" : "(");
		for (int i = 0; i < row_arguments(table); i++)
			appendStringInfo(sql, "%s$%d", i > 0 ? ", " : "", parameter++);
		appendStringInfoChar(sql, ')');
	}
	appendStringInfoString(sql, " ON CONFLICT (");
	store_append_key_columns(sql, table);
	appendStringInfoString(sql, ") DO UPDATE SET ");
	append_assignments(sql, table, true);
}

static StorePlan *
get_plan(DynTable *table, int shape, int nrows, int nargs, Oid *types)
{
	StorePlan *plan = store_find_plan(table, shape);
	StringInfoData sql;

	if (plan != NULL)
		return plan;
	initStringInfo(&sql);
	if (shape != REPLACE)
		append_insert(&sql, table, nrows);
	if (shape == INSERT)
		appendStringInfoString(&sql, " WHERE false");
	if (shape == REPLACE)
	{
		appendStringInfo(&sql, "UPDATE %s SET ", table->qualified);
		append_assignments(&sql, table, false);
		for (int i = 0; i < table->nkeys; i++)
			appendStringInfo(&sql, "%s%s OPERATOR(pg_catalog.=) $%d", i == 0 ? " WHERE " : " AND ",
							 quote_identifier(table->keys[i].column), i + 2);
	}
	plan = store_prepare_remote(table, shape, sql.data, nargs, types, true);
	pfree(sql.data);
	return plan;
}

static uint64
run(DynTable *table, int shape, int nrows, const DynRow *const *rows)
{
	int width = row_arguments(table);
	int nargs = nrows * width;
	Oid *types = palloc(nargs * sizeof(Oid));
	Datum *values = palloc(nargs * sizeof(Datum));
	SPIExecuteOptions options = {0};
	uint64 done;

	for (int i = 0; i < nargs; i++)
	{
		const DynRow *row = rows[i / width];

		types[i] = column_type(table, i % width);
		values[i] = i % width == 0 ? PointerGetDatum(row->item) : row->values[i % width - 1];
	}
	options.params = store_parameters(nargs, types, values);
	for (int i = 0; i < nargs; i++)
		options.params->params[i].isnull = i % width > 0 && rows[i / width]->nulls[i % width - 1];
	store_connect();
	store_execute(get_plan(table, shape, nrows, nargs, types), &options);
	done = SPI_processed;
	SPI_finish();
	return done;
}

/* Insert or replace, whatever is there. */
void
remote_put(DynTable *table, const DynRow *row)
{
	store_require_writes(table, run(table, PUT, 1, &row), 1);
}

/* As spi_insert(). */
bool
remote_insert(DynTable *table, const DynRow *row)
{
	return run(table, INSERT, 1, &row) > 0;
}

/* The caller has the item locked. */
void
remote_replace(DynTable *table, const DynRow *row)
{
	store_require_writes(table, run(table, REPLACE, 1, &row), 1);
}

bool
remote_change(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg)
{
	DynItem *old = spi_lock(table, key, STORE_LOCK_REPLACE);

	if (old == NULL)
		return false;
	remote_replace(table, change(old, arg));
	return true;
}

/*
 * A statement for each item collection, in their order: Citus runs a statement on several shards at
 * the same time, so calls would wait for each other in a circle.
 */
void
remote_put_many(DynTable *table, int n, const DynRow *const *rows)
{
	for (int first = 0, end; first < n; first = end)
	{
		for (end = first + 1; end < n && end - first < MAX_ROWS; end++)
		{
			if (store_column_compare(table->keys[0].type, rows[end]->key.values[0],
									 rows[first]->key.values[0]) != 0)
				break;
		}
		store_require_writes(table,
							 run(table, PUT_MANY | (end - first), end - first, rows + first),
							 end - first);
	}
}

/*
 * Keep the item of a key absent until the transaction ends.  Everyone who inserts the key on its
 * shard waits for the distributed transaction, even if the row is gone again.
 */
bool
remote_hold_absent(Relation rel, DynTable *table, const DynKeyValues *key, const DynItem *item)
{
	if (!remote_insert(table, dyn_derive(rel, table, item)))
		return false;
	(void) spi_delete(table, key, false);
	return true;
}
