/*
 * state.c
 *	  What is remembered of sweeps: how far they came, and what they did.
 *
 * It is a row for each table in a table of the extension's, on which nobody has rights but its owner;
 * so these statements run as him, with no way out for what they call, and a search_path of their
 * own.  A transaction of its own writes the row: those of sweeps contain nothing else.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "ttl/ttl.h"

#define STATE_TABLE "dyn_ttl_sweeps"

static Oid
owner_of(Oid namespace)
{
	Oid relid = get_relname_relid(STATE_TABLE, namespace);
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid owner;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("table \"%s\" of the extension is missing", STATE_TABLE)));
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/* The statement has the state table's name where it says %s. */
static void
execute(const TtlState *state, const char *statement, int nargs, Oid *types, Datum *values,
		const char *nulls)
{
	char *name = psprintf("%s.%s", state->extension, STATE_TABLE);
	Oid owner = owner_of(state->extension_namespace);
	int nest = NewGUCNestLevel();
	Oid user;
	int context;
	int result;

	set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
					  GUC_ACTION_SAVE, true, 0, false);
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(owner,
						   context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	/* a background worker has no portal that has one */
	PushActiveSnapshot(GetTransactionSnapshot());
	result =
		SPI_execute_with_args(psprintf(statement, name), nargs, types, values, nulls, false, 0);
	PopActiveSnapshot();
	if (result < 0)
		elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(result));
	SetUserIdAndSecContext(user, context);
	AtEOXact_GUC(true, nest);
}

/* schema: the extension's. */
static TtlState
state_of(Oid schema, Oid relid)
{
	return (TtlState){.relid = relid,
					  .extension_namespace = schema,
					  .extension = quote_identifier(get_namespace_name(schema))};
}

/* 0 for NULL. */
static Datum
column(int i)
{
	bool isnull;

	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i, &isnull);
}

void
ttl_read_state(Oid schema, Oid relid, TtlState *state)
{
	Oid types[] = {OIDOID};
	Datum values[] = {ObjectIdGetDatum(relid)};

	*state = state_of(schema, relid);
	execute(state,
			"SELECT next, dead, from_start, swept, failures, retry_at FROM %s"
			" WHERE relation OPERATOR(pg_catalog.=) $1",
			lengthof(types), types, values, NULL);
	if (SPI_processed > 0)
	{
		state->next = DatumGetInt64(column(1));
		state->dead = DatumGetInt64(column(2));
		state->from_start = DatumGetTimestampTz(column(3));
		state->swept = DatumGetTimestampTz(column(4));
		state->failures = DatumGetInt32(column(5));
		state->retry_at = DatumGetTimestampTz(column(6));
	}
	SPI_freetuptable(SPI_tuptable);
}

/* Add a sweep to what is remembered. */
void
ttl_write_state(const TtlState *state, const TtlSweep *sweep)
{
	Oid types[] = {OIDOID,  INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID,
				   INT8OID, TEXTOID, INT4OID, TIMESTAMPTZOID};
	const char *error = sweep->error == NULL ? "" : sweep->error->message;
	Datum values[] = {ObjectIdGetDatum(state->relid),      Int64GetDatum(state->next),
					  Int64GetDatum(state->dead),          TimestampTzGetDatum(state->from_start),
					  TimestampTzGetDatum(state->swept),   Int64GetDatum(sweep->deleted),
					  CStringGetTextDatum(error),          Int32GetDatum(state->failures),
					  TimestampTzGetDatum(state->retry_at)};
	char nulls[] = {' ',
					' ',
					' ',
					' ',
					' ',
					' ',
					sweep->error == NULL ? 'n' : ' ',
					' ',
					state->retry_at == 0 ? 'n' : ' '};

	execute(state,
			"INSERT INTO %s AS s (relation, next, dead, from_start, swept, deleted, errors,"
			" last_error, failures, retry_at) VALUES ($1, $2, $3, $4, $5, $6,"
			" ($7 IS NOT NULL)::pg_catalog.int4, $7, $8, $9)"
			" ON CONFLICT (relation) DO UPDATE SET next = EXCLUDED.next, dead = EXCLUDED.dead,"
			" from_start = EXCLUDED.from_start, swept = EXCLUDED.swept,"
			" deleted = s.deleted OPERATOR(pg_catalog.+) EXCLUDED.deleted,"
			" errors = s.errors OPERATOR(pg_catalog.+) EXCLUDED.errors,"
			" last_error = EXCLUDED.last_error, failures = EXCLUDED.failures,"
			" retry_at = EXCLUDED.retry_at",
			lengthof(types), types, values, nulls);
}

/*
 * Of a table whose time to live begins, and of those that are gone; these may wait for another
 * such table.  At the higher isolation levels even SKIP LOCKED meets conflicts.
 */
void
ttl_forget_state(const DynTable *table)
{
	TtlState state = state_of(table->extension_namespace, table->relid);
	Oid types[] = {OIDOID};
	Datum values[] = {ObjectIdGetDatum(table->relid)};

	execute(&state, "DELETE FROM %s WHERE relation OPERATOR(pg_catalog.=) $1", lengthof(types),
			types, values, NULL);
	if (IsolationUsesXactSnapshot())
		return;
	execute(&state,
			"DELETE FROM %1$s WHERE relation OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT s.relation"
			" FROM %1$s s WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class c"
			" WHERE c.oid OPERATOR(pg_catalog.=) s.relation) FOR UPDATE SKIP LOCKED))",
			0, NULL, NULL, NULL);
}
