/*
 * remote.c
 *	  The remote store: writes to a table whose rows are in shards, which other nodes may have.
 *
 * Each statement is for one item collection, and Citus routes it to its shard by the partition key.
 * Gets, locks and deletes are those of the SPI store.  Writes give all derived columns, since no
 * trigger derives them on a shard.  A change is a lock and a replacement, since the function of the
 * SPI store's change cannot be called on another node.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "catalog/entries.h"
#include "store/remote.h"

/* These shapes come beside those of the SPI store. */
enum
{
	PUT = 1 << 27, /* and the number of rows */
	INSERT = 1 << 28,
	REPLACE
};

/* A statement has at most so many rows. */
#define MAX_ROWS 32

/*
 * SQL.  A row is the item and the derived columns, in the order of the table's keys.
 */

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

/* Appends the columns that are not the key, with a prefix each. */
static void
append_values(StringInfo sql, const DynTable *table, const char *prefix)
{
	const char *separator = "";

	for (int i = 0; i < row_arguments(table); i++)
	{
		if (i > 0 && i <= table->nkeys)
			continue;
		appendStringInfo(sql, "%s%s%s", separator, prefix, quote_identifier(column_name(table, i)));
		separator = ", ";
	}
}

/* Appends the same columns as parameters of one row. */
static void
append_parameters(StringInfo sql, const DynTable *table)
{
	const char *separator = "";

	for (int i = 0; i < row_arguments(table); i++)
	{
		if (i > 0 && i <= table->nkeys)
			continue;
		appendStringInfo(sql, "%s$%d", separator, i + 1);
		separator = ", ";
	}
}

/*
 * Returns whether each row is written, and counted.  Otherwise a row that would stay as it is, by
 * the bytes of its columns, is only locked, as unchanged.h says.  Policies may check what is
 * written.
 */
static bool
writes_all(const DynTable *table)
{
	return table->row_security || table->rules;
}

/* Appends "UPDATE SET (a, b) = ROW(x, y) WHERE …". */
static void
append_conflict(StringInfo sql, const DynTable *table, bool keep)
{
	appendStringInfoString(sql, " ON CONFLICT (");
	store_append_key_columns(sql, table);
	appendStringInfoString(sql, ") DO UPDATE SET (");
	append_values(sql, table, "");
	appendStringInfoString(sql, ") = ROW(");
	append_values(sql, table, "EXCLUDED.");
	appendStringInfoChar(sql, ')');
	if (keep)
		appendStringInfoString(sql, " WHERE false");
	else if (!writes_all(table))
	{
		appendStringInfoString(sql, " WHERE pg_catalog.record_image_ne(ROW(");
		append_values(sql, table, "old.");
		appendStringInfoString(sql, "), ROW(");
		append_values(sql, table, "EXCLUDED.");
		appendStringInfoString(sql, "))");
	}
}

static void
append_insert(StringInfo sql, const DynTable *table, int nrows)
{
	int parameter = 1;

	appendStringInfo(sql, "INSERT INTO %s AS old (", table->qualified);
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
}

static void
append_replace(StringInfo sql, const DynTable *table)
{
	appendStringInfo(sql, "UPDATE %s SET (", table->qualified);
	append_values(sql, table, "");
	appendStringInfoString(sql, ") = ROW(");
	append_parameters(sql, table);
	appendStringInfoString(sql, ") WHERE ");
	for (int i = 0; i < table->nkeys; i++)
		appendStringInfo(sql, "%s%s OPERATOR(pg_catalog.=) $%d", i == 0 ? "" : " AND ",
						 quote_identifier(table->keys[i].column), i + 2);
	if (writes_all(table))
		return;
	/*
	 * Both sides have something of the row: Citus would compute a row of parameters alone, and
	 * cannot send it.  That is not the partition key, which must be there only once, for Citus to
	 * find one shard by a parameter.
	 */
	appendStringInfo(sql, " AND pg_catalog.record_image_ne(ROW(%s IS NULL, ", DYN_ITEM_COLUMN);
	append_values(sql, table, "");
	appendStringInfo(sql, "), ROW(%s IS NULL, ", DYN_ITEM_COLUMN);
	append_parameters(sql, table);
	appendStringInfoString(sql, "))");
}

static StorePlan *
get_plan(DynTable *table, int shape, int nrows, int nargs, Oid *types)
{
	StorePlan *plan = store_find_plan(table, shape);
	StringInfoData sql;

	if (plan != NULL)
		return plan;
	initStringInfo(&sql);
	if (shape == REPLACE)
		append_replace(&sql, table);
	else
	{
		append_insert(&sql, table, nrows);
		append_conflict(&sql, table, shape == INSERT);
	}
	appendStringInfoString(&sql, dyn_entries_mark(table, " RETURNING"));
	plan = store_prepare_remote(table, shape, sql.data, nargs, types, true);
	pfree(sql.data);
	return plan;
}

static uint64
remote_run(DynTable *table, int shape, int nrows, const DynRow *const *rows)
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

/* Inserts or replaces items of one collection, whatever is there. */
static void
remote_put_rows(DynTable *table, int n, const DynRow *const *rows)
{
	uint64 done = remote_run(table, PUT | n, n, rows);

	if (writes_all(table))
		store_require_writes(table, done, n);
}

static void
remote_put(DynTable *table, const DynRow *row)
{
	remote_put_rows(table, 1, &row);
}

/* Inserts a row as spi_insert() does. */
static bool
remote_insert(DynTable *table, const DynRow *row)
{
	return remote_run(table, INSERT, 1, &row) > 0;
}

/* Replaces an item, which the caller has locked. */
static void
remote_replace(DynTable *table, const DynRow *row)
{
	uint64 done = remote_run(table, REPLACE, 1, &row);

	if (writes_all(table))
		store_require_writes(table, done, 1);
}

static bool
remote_change(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg)
{
	DynItem *old = spi_lock(table, key, STORE_LOCK_REPLACE);

	if (old == NULL)
		return false;
	remote_replace(table, change(old, arg));
	return true;
}

static bool
same_collection(const DynTable *table, const DynRow *a, const DynRow *b)
{
	return store_column_compare(table->keys[0].type, a->key.values[0], b->key.values[0]) == 0;
}

/* Returns how many rows the next statement has: few numbers, since each has a plan of its own. */
static int
rows_together(const DynTable *table, int n, const DynRow *const *rows)
{
	int same = 1;
	int together = 1;

	while (same < Min(n, MAX_ROWS) && same_collection(table, rows[0], rows[same]))
		same++;
	while (2 * together <= same)
		together *= 2;
	return together;
}

/*
 * Puts the collections in their order: Citus runs a statement on several shards at the same time,
 * so calls would wait for each other in a circle.
 */
static void
remote_put_many(DynTable *table, int n, const DynRow *const *rows)
{
	for (int done = 0, next; done < n; done += next)
	{
		CHECK_FOR_INTERRUPTS();
		next = rows_together(table, n - done, rows + done);
		remote_put_rows(table, next, rows + done);
	}
}

/*
 * Keeps a key absent: everyone who inserts it on its shard waits for the distributed transaction,
 * even if the row is gone again.  Unlike placeholder_hold() this takes the privileges to insert and
 * to delete.
 */
static bool
remote_hold_absent(Relation rel, const DynKeyValues *key, const DynItem *item)
{
	DynTable *table = dyn_schema(rel);

	if (!remote_insert(table, dyn_derive(rel, table, item)))
		return false;
	(void) spi_delete(table, key, false);
	return true;
}

const StatementStore remote_store = {remote_put,     remote_change,   remote_insert,
									 remote_replace, remote_put_many, remote_hold_absent,
									 remote_range};
