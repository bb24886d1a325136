/*
 * spi_store.c
 *	  The item store over SPI: works wherever SQL does, and is the reference for other stores.
 *
 * Statements name relations and operators with their schemas, since the caller's search_path
 * is not ours.  Each connects to the SPI for itself, and what it returns is copied into the
 * caller's memory context.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "catalog/entries.h"
#include "catalog/unchanged.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"
#include "store/spi_store.h"

/* Statements have these shapes; those of ranges are in spi_range.c. */
typedef enum Shape
{
	GET,
	LOOK,
	LOCK_REPLACE, /* in the order of StoreLock */
	LOCK_DELETE,
	LOCK_CHECK,
	PUT,
	CHANGE,
	INSERT,
	REPLACE,
	DELETE,
	DELETE_RETURNING
} Shape;

/* These are the item and the keys. */
#define MAX_ARGS (1 + DYN_MAX_KEYS)

/*
 * SQL
 */

/* Appends the columns of the primary key, separated by commas. */
void
store_append_key_columns(StringInfo sql, const DynTable *table)
{
	for (int i = 0; i < table->nkeys; i++)
		appendStringInfo(sql, "%s%s", i > 0 ? ", " : "", quote_identifier(table->keys[i].column));
}

/* Appends "a = $1 AND b = $2", with parameters numbered from first. */
static void
append_key_condition(StringInfo sql, const DynTable *table, int first)
{
	for (int i = 0; i < table->nkeys; i++)
		appendStringInfo(sql, "%s%s OPERATOR(pg_catalog.=) $%d", i > 0 ? " AND " : "",
						 quote_identifier(table->keys[i].column), first + i);
}

static void
append_insert(StringInfo sql, const DynTable *table)
{
	appendStringInfo(sql, "INSERT INTO %s (%s, ", table->qualified,
					 quote_identifier(DYN_ITEM_COLUMN));
	store_append_key_columns(sql, table);
	appendStringInfoString(sql, ") VALUES ($1");
	for (int i = 0; i < table->nkeys; i++)
		appendStringInfo(sql, ", $%d", i + 2);
	appendStringInfoString(sql, ") ON CONFLICT (");
	store_append_key_columns(sql, table);
	appendStringInfoString(sql, ") DO ");
}

static void
append_select(StringInfo sql, const DynTable *table, const char *what, const char *lock)
{
	appendStringInfo(sql, "SELECT %s FROM %s WHERE ", what, table->qualified);
	append_key_condition(sql, table, 1);
	appendStringInfoString(sql, lock);
}

static void
append_update(StringInfo sql, const DynTable *table, const char *value)
{
	appendStringInfo(sql, "UPDATE %s SET %s = %s WHERE ", table->qualified,
					 quote_identifier(DYN_ITEM_COLUMN), value);
	append_key_condition(sql, table, 2);
}

static void
append_delete(StringInfo sql, const DynTable *table)
{
	appendStringInfo(sql, "DELETE FROM %s WHERE ", table->qualified);
	append_key_condition(sql, table, 1);
}

static void
append_statement(StringInfo sql, const DynTable *table, Shape shape)
{
	const char *item = quote_identifier(DYN_ITEM_COLUMN);

	switch (shape)
	{
		case GET:
			append_select(sql, table, item, "");
			break;
		case LOOK:
			append_select(sql, table, "true", "");
			break;
		case LOCK_REPLACE:
			append_select(sql, table, item, " FOR NO KEY UPDATE");
			break;
		case LOCK_DELETE:
			append_select(sql, table, item, " FOR UPDATE");
			break;
		case LOCK_CHECK:
			append_select(sql, table, item, " FOR SHARE");
			break;
		case PUT:
			append_insert(sql, table);
			appendStringInfo(sql, "UPDATE SET %s = EXCLUDED.%s", item, item);
			break;
		case INSERT:
			append_insert(sql, table);
			appendStringInfo(sql, "UPDATE SET %s = EXCLUDED.%s WHERE false", item, item);
			break;
		case CHANGE:
			append_update(sql, table, psprintf(DYN_INTERNAL ".store_change($1, %s)", item));
			break;
		case REPLACE:
			append_update(sql, table, "$1");
			break;
		case DELETE:
			append_delete(sql, table);
			appendStringInfoString(sql, dyn_entries_mark(table, " RETURNING"));
			break;
		case DELETE_RETURNING:
			append_delete(sql, table);
			appendStringInfo(sql, " RETURNING %s%s", item, dyn_entries_mark(table, ","));
			break;
	}
}

/*
 * Plans
 */

static Oid
key_type(const DynTable *table, int i)
{
	return dyn_key_column_type(table->keys[i].type);
}

/* Lists the parameters' types: the item or the change first, where there is one, then the keys. */
static int
statement_types(const DynTable *table, Shape shape, Oid types[MAX_ARGS])
{
	int n = 0;

	if (shape == PUT || shape == INSERT || shape == REPLACE)
		types[n++] = table->item_type;
	if (shape == CHANGE)
		types[n++] = INT8OID;
	for (int i = 0; i < table->nkeys; i++)
		types[n++] = key_type(table, i);
	return n;
}

static StorePlan *
get_plan(DynTable *table, Shape shape)
{
	StorePlan *plan = store_find_plan(table, shape);
	StringInfoData sql;
	Oid types[MAX_ARGS];
	int n;

	if (plan == NULL)
	{
		initStringInfo(&sql);
		append_statement(&sql, table, shape);
		n = statement_types(table, shape, types);
		plan = store_prepare(table, shape, table->primary.relid, sql.data, n, types);
		pfree(sql.data);
	}
	return plan;
}

/* Returns a copy of the last statement's item, fetched from TOAST, or NULL for no row. */
static DynItem *
returned_item(MemoryContext context)
{
	struct varlena *item;
	DynItem *copy;
	Datum datum;
	bool isnull;

	if (SPI_processed == 0)
		return NULL;
	datum = sql_nullable(SPI_tuptable, 0, 1, &isnull);
	store_forbid_null(isnull);
	item = PG_DETOAST_DATUM_PACKED(datum);
	copy = MemoryContextAlloc(context, VARSIZE_ANY(item));
	memcpy(copy, item, VARSIZE_ANY(item));
	return copy;
}

static bool
may_insert(Shape shape)
{
	return shape == PUT || shape == INSERT;
}

static bool
may_update(Shape shape)
{
	return shape == PUT || shape == CHANGE || shape == REPLACE;
}

/*
 * Runs a statement that inserts items of these keys, in their order, or may find rows to be already
 * what it would make of them.  Returns how many rows it has written or left as they are.
 */
uint64
store_execute_write(const DynTable *table, int nkeys, const DynKeyValues *const *keys,
					StorePlan *plan, const SPIExecuteOptions *options)
{
	DynStatement statement;

	/* as the SPI does before each statement that writes: the command that the statement will be */
	CommandCounterIncrement();
	dyn_statement_begin(&statement, table, GetCurrentCommandId(false), nkeys, keys);
	PG_TRY();
	{
		store_execute(plan, options);
	}
	PG_FINALLY();
	{
		dyn_statement_end(&statement);
	}
	PG_END_TRY();
	return SPI_processed + statement.kept;
}

/*
 * Runs a statement on the item of a key; first is its first parameter, if that is no key.  The item
 * is what the statement returns, if that is wanted.
 */
static uint64
spi_run(DynTable *table, Shape shape, Datum first, const DynKeyValues *key, DynItem **item)
{
	MemoryContext context = CurrentMemoryContext;
	SPIExecuteOptions options = {0};
	Datum values[MAX_ARGS];
	Oid types[MAX_ARGS];
	int n = statement_types(table, shape, types);
	uint64 rows;

	values[0] = first;
	memcpy(values + (n - key->nkeys), key->values, key->nkeys * sizeof(Datum));
	store_connect();
	options.params = store_parameters(n, types, values);
	options.read_only = shape == GET;
	if (may_insert(shape) || may_update(shape))
		rows = store_execute_write(table, may_insert(shape) ? 1 : 0, &key, get_plan(table, shape),
								   &options);
	else
	{
		store_execute(get_plan(table, shape), &options);
		rows = SPI_processed;
	}
	if (item != NULL)
		*item = returned_item(context);
	SPI_finish();
	return rows;
}

/*
 * Single items
 */

/*
 * Returns the item of a key by a SELECT, palloc'd; NULL if there is none that the current user may
 * see.
 */
DynItem *
spi_get(DynTable *table, const DynKeyValues *key)
{
	DynItem *item;

	spi_run(table, GET, (Datum) 0, key, &item);
	return item;
}

/*
 * Raises an error for a write that came to nothing: a trigger or a rule took it back, or the item
 * that is there is hidden by a policy of row-level security.  An answer would say that it was done.
 */
void
store_require_writes(const DynTable *table, uint64 rows, uint64 expected)
{
	if (rows < expected)
		ereport(ERROR, (errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
						errmsg("a trigger, rule or policy of table \"%s\" suppressed the write",
							   table->name)));
}

/* Inserts or replaces, whatever is there. */
static void
spi_put(DynTable *table, const DynRow *row)
{
	store_require_writes(table, spi_run(table, PUT, PointerGetDatum(row->item), &row->key, NULL),
						 1);
}

/*
 * This is a change that an UPDATE of ours is carrying out.  SQL names it by a number: it may not
 * call functions that take a pointer, and a number that somebody makes up finds nothing.
 */
typedef struct Change
{
	uint64 number;
	StoreChange change;
	void *arg;
	MemoryContext context;
	struct Change *outer; /* triggers may make calls of their own */
} Change;

static Change *changes = NULL;
static uint64 last_change = 0;

/* Returns the new item in the UPDATE of spi_change(). */
PG_FUNCTION_INFO_V1(dyn_store_change);
Datum
dyn_store_change(PG_FUNCTION_ARGS)
{
	Change *change = changes;
	MemoryContext old;
	const DynRow *row;

	while (change != NULL && change->number != (uint64) PG_GETARG_INT64(0))
		change = change->outer;
	if (change == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"" DYN_INTERNAL ".store_change\" is called by dynamo_table alone")));
	old = MemoryContextSwitchTo(change->context);
	row = change->change(PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(1)), change->arg);
	MemoryContextSwitchTo(old);
	PG_RETURN_POINTER(row->item);
}

/*
 * Changes the item in one statement; false if there is none.  The executor evaluates the change on
 * the version that it replaces, whoever was faster: that makes it atomic.
 */
static bool
spi_change(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg)
{
	Change state = {0, change, arg, CurrentMemoryContext, changes};
	uint64 rows;

	/* begins anywhere, so that a trigger cannot guess it */
	if (last_change == 0 && !pg_strong_random(&last_change, sizeof(last_change)))
		elog(ERROR, "could not draw a random number");
	state.number = ++last_change;
	changes = &state;
	PG_TRY();
	{
		rows = spi_run(table, CHANGE, Int64GetDatum((int64) state.number), key, NULL);
	}
	PG_FINALLY();
	{
		changes = state.outer;
	}
	PG_END_TRY();
	return rows > 0;
}

/*
 * Locks the item of that key; NULL if there is none.
 *
 * At READ COMMITTED the statement's snapshot may see an item that another transaction deletes and
 * inserts anew while we wait for it: then nothing is found, though there was an item at every
 * moment.  A new snapshot tells.  Under row-level security it may show what may not be locked, so
 * there the second attempt decides.
 */
DynItem *
spi_lock(DynTable *table, const DynKeyValues *key, StoreLock lock)
{
	for (int attempt = 1;; attempt++)
	{
		DynItem *item;

		spi_run(table, LOCK_REPLACE + (lock - STORE_LOCK_REPLACE), (Datum) 0, key, &item);
		if (item != NULL)
			return item;
		if (table->row_security ? attempt == 2 : spi_run(table, LOOK, (Datum) 0, key, NULL) == 0)
			return NULL;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Inserts where spi_lock() found nothing.  False if by now there is an item of that key: then it
 * is locked for a replacement, so the next spi_lock() finds it, and nobody begins again
 * twice.  (ON CONFLICT DO NOTHING would not lock it.)
 */
static bool
spi_insert(DynTable *table, const DynRow *row)
{
	return spi_run(table, INSERT, PointerGetDatum(row->item), &row->key, NULL) > 0;
}

/* Replaces an item, which the caller has locked. */
static void
spi_replace(DynTable *table, const DynRow *row)
{
	store_require_writes(table,
						 spi_run(table, REPLACE, PointerGetDatum(row->item), &row->key, NULL), 1);
}

/*
 * Returns the item that was there, if that is wanted and there was one.  An item that is not
 * deleted may have been inserted anew, as in spi_lock().
 */
DynItem *
spi_delete(DynTable *table, const DynKeyValues *key, bool want_old)
{
	Shape shape = want_old ? DELETE_RETURNING : DELETE;
	DynItem *old = NULL;
	DynItem **returned = want_old ? &old : NULL;

	if (spi_run(table, shape, (Datum) 0, key, returned) == 0)
	{
		/* who may delete need not have the privilege to lock what is not there */
		if (spi_run(table, LOOK, (Datum) 0, key, NULL) == 0 ||
			spi_lock(table, key, STORE_LOCK_DELETE) == NULL)
			return NULL;
		store_require_writes(table, spi_run(table, shape, (Datum) 0, key, returned), 1);
	}
	return old;
}

const StatementStore spi_store = {spi_put,      spi_change,       spi_insert, spi_replace,
								  spi_put_many, placeholder_hold, spi_range};
