/*
 * state.c
 *	  What is remembered of sweeps: how far they came, and what they did.
 *
 * It is a row for each table in a table of the extension's own (server/work/owned.c).  A transaction of its
 * own writes the row: those of sweeps contain nothing else.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "server/sql.h"
#include "server/work/owned.h"
#include "services/ttl/ttl.h"

#define STATE_TABLE "ttl_sweeps"

/*
 * Sets *state to what is remembered of a table's sweeps; zeros if there is nothing.  The caller is
 * connected to SPI.
 */
void
ttl_read_state(Oid relid, TtlState *state)
{
	*state = (TtlState){.relid = relid};
	owned_execute(STATE_TABLE,
				  "SELECT next, dead, from_start, swept, failures, retry_at FROM " DYN_INTERNAL
				  "." STATE_TABLE " WHERE relation OPERATOR(pg_catalog.=) $1",
				  SQL_VALUES(SQL_OID(relid)));
	if (SPI_processed > 0)
	{
		state->next = DatumGetInt64(owned_value(1));
		state->dead = DatumGetInt64(owned_value(2));
		state->from_start = DatumGetTimestampTz(owned_value(3));
		state->swept = DatumGetTimestampTz(owned_value(4));
		state->failures = DatumGetInt32(owned_value(5));
		state->retry_at = DatumGetTimestampTz(owned_value(6));
	}
	SPI_freetuptable(SPI_tuptable);
}

/* Adds a sweep to what is remembered. */
void
ttl_write_state(const TtlState *state, const TtlSweep *sweep)
{
	owned_execute(
		STATE_TABLE,
		"INSERT INTO " DYN_INTERNAL "." STATE_TABLE
		" AS s (relation, next, dead, from_start, swept, deleted, errors,"
		" last_error, failures, retry_at) VALUES ($1, $2, $3, $4, $5, $6,"
		" ($7 IS NOT NULL)::pg_catalog.int4, $7, $8, $9)"
		" ON CONFLICT (relation) DO UPDATE SET next = EXCLUDED.next, dead = EXCLUDED.dead,"
		" from_start = EXCLUDED.from_start, swept = EXCLUDED.swept,"
		" deleted = s.deleted OPERATOR(pg_catalog.+) EXCLUDED.deleted,"
		" errors = s.errors OPERATOR(pg_catalog.+) EXCLUDED.errors,"
		" last_error = EXCLUDED.last_error, failures = EXCLUDED.failures,"
		" retry_at = EXCLUDED.retry_at",
		SQL_VALUES(SQL_OID(state->relid), SQL_INT8(state->next), SQL_INT8(state->dead),
				   SQL_TIME(state->from_start), SQL_TIME(state->swept), SQL_INT8(sweep->deleted),
				   SQL_TEXT(sweep->error == NULL ? NULL : sweep->error->message),
				   SQL_INT4(state->failures),
				   SQL_NULLABLE(TIMESTAMPTZOID, TimestampTzGetDatum(state->retry_at),
								state->retry_at == 0)));
}

/*
 * Removes the state of a table whose time to live begins, and of those that are gone; these may
 * wait for another such table.  At the higher isolation levels even SKIP LOCKED meets conflicts.
 */
void
ttl_forget_state(const DynTable *table)
{
	owned_execute(STATE_TABLE,
				  "DELETE FROM " DYN_INTERNAL "." STATE_TABLE
				  " WHERE relation OPERATOR(pg_catalog.=) $1",
				  SQL_VALUES(SQL_OID(table->relid)));
	if (IsolationUsesXactSnapshot())
		return;
	owned_execute(STATE_TABLE,
				  "DELETE FROM " DYN_INTERNAL "." STATE_TABLE
				  " WHERE relation OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT s.relation"
				  " FROM " DYN_INTERNAL "." STATE_TABLE
				  " s WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class c"
				  " WHERE c.oid OPERATOR(pg_catalog.=) s.relation) FOR UPDATE SKIP LOCKED))",
				  0, NULL);
}
