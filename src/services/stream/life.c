/*
 * life.c
 *	  dyn_setup_streams() and dyn_teardown_streams(): the slot's life.
 *
 * Creating and dropping a slot is not transactional, and a transaction that has written cannot
 * create one.  So each step is a transaction of its own, and the state after each of them says what
 * is missing:
 *
 *	 a slot without a state row			setup, which makes another one
 *	 a state row without a slot			the same, or teardown
 *	 a slot ahead of the state row		the same: a new slot is ahead until its gap is written
 *
 * So each change is either collected or in a gap.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/listing.h"
#include "server/arguments.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"
#include "server/work/owned.h"
#include "server/work/procedure.h"
#include "services/stream/service.h"
#include "services/stream/stream.h"

/* A Life is what a procedure knows. */
typedef struct Life
{
	const char *procedure;
	int failover; /* of a slot that it makes; -1: not said */
	bool force; /* tear down although streams are enabled */
	StreamSlot slot;
	volatile bool has_slot; /* its lock */
} Life;

/*
 * Streams of all tables
 */

typedef struct Streams
{
	int64 newest; /* label, of those that can be believed */
	int enabled;
	StringInfoData names; /* of tables with one that is enabled */
	List *closed; /* of ClosedShards */
} Streams;

/* ClosedShards are the generations of a stream's shards up to this one. */
typedef struct ClosedShards
{
	Oid relid;
	int64 label;
	int generation;
} ClosedShards;

static void
add_closed(Streams *streams, const DynListed *table)
{
	for (int i = 0; i < table->settings.nstreams; i++)
	{
		const DynStream *stream = &table->settings.streams[i];
		int last = stream->disabled != 0 ? stream->nearlier : stream->nearlier - 1;
		ClosedShards *closed;

		if (last < 0)
			continue;
		closed = palloc(sizeof(ClosedShards));
		*closed = (ClosedShards){table->relid, stream->label, last};
		streams->closed = lappend(streams->closed, closed);
	}
}

static void
survey_streams(Streams *streams)
{
	List *tables = dyn_listed_tables("streams");
	ListCell *cell;

	*streams = (Streams){0};
	initStringInfo(&streams->names);
	foreach (cell, tables)
	{
		DynListed table;
		int n;

		CHECK_FOR_INTERRUPTS();
		if (!dyn_open_listed(lfirst_oid(cell), &table))
			continue;
		n = table.settings.nstreams;
		if (n > 0 && stream_label_is_plausible(table.settings.streams[n - 1].label))
			streams->newest = Max(streams->newest, table.settings.streams[n - 1].label);
		if (dyn_settings_stream(&table.settings) != NULL)
			appendStringInfo(&streams->names, "%s%s", streams->enabled++ > 0 ? ", " : "",
							 dyn_listed_name(&table));
		add_closed(streams, &table);
		dyn_close_listed(&table);
	}
}

/*
 * The slot
 */

/* Calls one of the server's functions as the caller, who needs REPLICATION for it. */
static Datum
life_call(const char *sql, int nargs)
{
	sql_execute(
		sql, false, 0,
		SQL_VALUES(
			SQL_VALUE(NAMEOID, DirectFunctionCall1(namein, CStringGetDatum(stream_slot_name()))),
			SQL_VALUE(NAMEOID, DirectFunctionCall1(namein, CStringGetDatum(STREAM_PLUGIN)))));
	return sql_value(SPI_tuptable, 0, 1);
}

/* Returns where it begins: all that is committed from there on will be decoded. */
static XLogRecPtr
make_slot(bool failover)
{
	return DatumGetLSN(life_call(failover ? "SELECT lsn FROM "
											"pg_catalog.pg_create_logical_replication_slot($1, $2, "
											"false, false, true)"
										  : "SELECT lsn FROM "
											"pg_catalog.pg_create_logical_replication_slot($1, $2)",
								 2));
}

static void
drop_slot(void)
{
	life_call("SELECT pg_catalog.pg_drop_replication_slot($1)", 1);
}

/*
 * The extension's tables
 */

static void
truncate_records(void)
{
	Oid parent = owned_table(STREAM_RECORDS_TABLE);
	ListCell *cell;

	foreach (cell, find_inheritance_children(parent, NoLock))
		owned_refuse_triggers(lfirst_oid(cell));
	owned_execute(STREAM_RECORDS_TABLE, "TRUNCATE " DYN_INTERNAL "." STREAM_RECORDS_TABLE, 0, NULL);
}

/* Removes all that was collected, also of another database, of which this is a copy. */
static void
clear_tables(void)
{
	static const char *const tables[] = {STREAM_STATE_TABLE, STREAM_GAPS_TABLE,
										 STREAM_TRIMMED_TABLE, STREAM_ENDS_TABLE,
										 STREAM_PLACEMENTS_TABLE};

	truncate_records();
	for (int i = 0; i < lengthof(tables); i++)
		owned_execute(tables[i], psprintf("DELETE FROM " DYN_INTERNAL ".%s", tables[i]), 0, NULL);
}

/*
 * Writes that what was committed from one place to before another one is lost to all streams that
 * there are, and closed shards have no records behind it.
 */
static void
write_gap(XLogRecPtr after, XLogRecPtr before)
{
	TimestampTz noticed;
	Streams streams;
	ListCell *cell;

	stream_watch_note();
	noticed = GetCurrentTimestamp();
	/* later than their labels, even if the clock was set back */
	survey_streams(&streams);
	if (streams.newest > 0)
		noticed = Max(noticed, stream_time(streams.newest + 1));
	stream_gap_write(after, before, noticed, InvalidOid);
	/* closing shards locks the slot's life cycle, so these were closed before the new slot begins */
	foreach (cell, streams.closed)
	{
		const ClosedShards *closed = lfirst(cell);

		stream_end_write(closed->relid, closed->label, closed->generation, (StreamPlace){before, 0},
						 noticed);
	}
}

/* Writes that all before the place was collected, as far as it ever will be. */
static void
write_state(XLogRecPtr collected)
{
	owned_execute(STREAM_STATE_TABLE,
				  "INSERT INTO " DYN_INTERNAL "." STREAM_STATE_TABLE
				  " AS s (database, slot, collected, collected_at, records_at)"
				  " VALUES ($1, $2, $3, $4, $4) ON CONFLICT (database) DO UPDATE"
				  " SET collected = EXCLUDED.collected, collected_at = EXCLUDED.collected_at,"
				  " records_at = greatest(s.records_at, EXCLUDED.records_at)",
				  SQL_VALUES(SQL_OID(MyDatabaseId),
							 SQL_VALUE(NAMEOID, DirectFunctionCall1(
													namein, CStringGetDatum(stream_slot_name()))),
							 SQL_LSN(collected), SQL_TIME(GetCurrentTimestamp())));
}

/*
 * The procedures
 */

static void
check_call(FunctionCallInfo fcinfo, const Life *life)
{
	if (!procedure_can_commit(fcinfo))
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("%s cannot run inside a transaction block", life->procedure),
						errhint("A replication slot is not a transaction's to make or to drop.")));
	PreventCommandDuringRecovery(life->procedure);
	PreventCommandIfReadOnly(life->procedure);
	stream_require_replication(life->procedure);
	if (life->failover > 0 && !PG17_GE)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("failover slots need PostgreSQL 17"),
						errhint("Without one, CALL dyn_setup_streams() after a promotion.")));
}

static void
take_life(void)
{
	if (!stream_try_lock(STREAM_LOCK_LIFE, ExclusiveLock, true))
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("change streams are being set up, enabled or torn down by another "
							   "session")));
}

static void
life_look(Life *life)
{
	procedure_commit(NULL);
	stream_look(&life->slot);
}

/*
 * A collector is stopped only if there is something to do, and the state may have changed
 * meanwhile.  check: whether there is anything to do; act: called with the slot locked.
 */
static void
life_work(Life *life, bool (*check)(Life *life), void (*act)(Life *life))
{
	life_look(life);
	if (!check(life))
		return;
	stream_take_slot();
	life->has_slot = true;
	life_look(life);
	if (check(life))
		act(life);
	procedure_commit(NULL);
}

static Datum
life_run(FunctionCallInfo fcinfo, Life *life, bool (*check)(Life *life), void (*act)(Life *life))
{
	check_call(fcinfo, life);
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	take_life();
	PG_TRY();
	{
		life_work(life, check, act);
	}
	PG_FINALLY();
	{
		if (life->has_slot)
			stream_unlock(STREAM_LOCK_SLOT, ExclusiveLock);
		stream_unlock(STREAM_LOCK_LIFE, ExclusiveLock);
	}
	PG_END_TRY();
	SPI_finish();
	PG_RETURN_VOID();
}

static void
require_failover(const Life *life)
{
	if (life->failover > 0 && !life->slot.failover)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("replication slot \"%s\" is there already, and not for failover",
							   stream_slot_name()),
						errhint("Tear change streams down and set them up again.")));
}

static bool
check_set_up(Life *life)
{
	if (life->slot.state == STREAM_NOT_SET_UP || stream_is_broken(&life->slot))
		return true;
	if (life->slot.state != STREAM_READY)
		stream_fail_slot(life->slot.state);
	require_failover(life);
	ereport(NOTICE, (errmsg("change streams are set up already"),
					 errdetail("All changes are collected, or will be.")));
	return false;
}

/* Makes the first slot, or one in the place of a broken one, after which changes are missing. */
static void
set_up(Life *life)
{
	bool first = life->slot.state == STREAM_NOT_SET_UP;
	XLogRecPtr after = first ? 0 : life->slot.collected;
	bool failover = life->failover < 0 && !first ? life->slot.failover : life->failover > 0;
	XLogRecPtr start;

	/* the first one may be left by a set-up that did not end, or by a dropped extension */
	if (life->slot.exists)
		drop_slot();
	start = make_slot(failover);
	procedure_commit(NULL);
	if (first)
		clear_tables();
	write_gap(after, start);
	write_state(start);
	if (first)
		service_notice(&stream_service,
					   "changes of items are collected by dyn_collect_streams only");
	else
		ereport(WARNING,
				(errmsg("changes committed from " LSN " to before " LSN " are in no stream",
						LSN_FORMAT_ARGS(after), LSN_FORMAT_ARGS(start)),
				 errhint("Readers of streams that were enabled then are told so.")));
}

/* Enabled streams are their owners' to disable; without a slot they are as in a restored database. */
static bool
check_tear_down(Life *life)
{
	Streams streams;

	survey_streams(&streams);
	if (streams.enabled > 0 && !life->force)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg_plural("%d table has an enabled stream", "%d tables have an enabled stream",
							   streams.enabled, streams.enabled),
				 errdetail("Enabled: %s.", streams.names.data),
				 errhint("Disable them by dyn_disable_stream, or call dyn_teardown_streams(force "
						 "=> true).")));
	return true;
}

static void
tell_uncollected(void)
{
	Streams streams;

	survey_streams(&streams);
	if (streams.enabled > 0)
		ereport(WARNING, (errmsg_plural("changes of %d table with an enabled stream are not "
										"collected any more",
										"changes of %d tables with enabled streams are not "
										"collected any more",
										streams.enabled, streams.enabled),
						  errdetail("Enabled: %s.", streams.names.data),
						  errhint("Streams go on, after a gap, with dyn_setup_streams().")));
}

static void
tear_down(Life *life)
{
	tell_uncollected();
	if (life->slot.exists)
		drop_slot();
	clear_tables();
}

/* dyn_setup_streams(failover) */
PG_FUNCTION_INFO_V1(dyn_setup_streams);
Datum
dyn_setup_streams(PG_FUNCTION_ARGS)
{
	Life life = {.procedure = "dyn_setup_streams",
				 .failover = PG_ARGISNULL(0) ? -1 : PG_GETARG_BOOL(0)};

	return life_run(fcinfo, &life, check_set_up, set_up);
}

/* dyn_teardown_streams(force) */
PG_FUNCTION_INFO_V1(dyn_teardown_streams);
Datum
dyn_teardown_streams(PG_FUNCTION_ARGS)
{
	Life life = {.procedure = "dyn_teardown_streams",
				 .failover = -1,
				 .force = argument_flag(fcinfo, 0, false)};

	return life_run(fcinfo, &life, check_tear_down, tear_down);
}
