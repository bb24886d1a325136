/*
 * run.c
 *	  Sweeps that continue where the previous one ended.
 *
 * A sweep leaves index entries whose rows are gone.  The next one marks them dead when it passes
 * them, but not while an old snapshot may still see the items; until then each sweep would pass
 * them all.  So where there are many of them a sweep begins where the last one has come to, and
 * only now and then at the start, for items that were written with a time that had passed already.
 *
 * A background worker sweeps again and again.  So it leaves a table that is locked, and one that has
 * failed, for a while; it seldom notes that there was nothing to remove; and it leaves when its
 * database is to be dropped or copied.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "catalog/rights.h"
#include "services/ttl/service.h"
#include "services/ttl/ttl.h"

/* For so few dead entries no place is remembered; dyn_ttl_tables has the number too. */
#define FEW_DEAD 200

/* A sweep that has removed nothing is noted after so many seconds. */
#define NOTE_AFTER 60

static bool
over(TimestampTz since, TimestampTz now, int seconds)
{
	return now - since > seconds * USECS_PER_SEC;
}

/*
 * Returns the size of the next batch: one that was too large, or has an item that cannot be
 * removed, is tried again in smaller batches, until a sweep has finished.
 */
static int
batch_after(int batch, int failures)
{
	while (failures-- > 0 && batch > 1)
		batch /= 10;
	return Max(batch, 1);
}

static void
run_look(TtlSweep *sweep)
{
	DynTable *table;
	Relation rel = ttl_open(sweep, AccessShareLock, &table);

	if (rel == NULL)
		return;
	/* the caller's fault, which is not noted as the table's and delays no background worker */
	rights_check_temporary(rel);
	relation_close(rel, NoLock);
}

/* Begins a sweep; returns false if there is nothing to sweep. */
static bool
run_begin(TtlSweep *sweep, TtlState *state)
{
	TimestampTz now = GetCurrentTimestamp();
	DynTable *table;
	Relation rel = ttl_open(sweep, AccessShareLock, &table);

	if (rel == NULL)
		return false;
	ttl_read_state(sweep->relid, state);
	relation_close(rel, NoLock);
	if (sweep->limits.background)
	{
		sweep->absent = now < state->retry_at;
		sweep->retry_at = state->retry_at;
		sweep->limits.batch = batch_after(sweep->limits.batch, state->failures);
	}
	if (sweep->limits.from_start || state->dead <= FEW_DEAD ||
		over(state->from_start, now, dyn_ttl_reread_interval))
	{
		sweep->from = sweep->dead = 0;
		state->from_start = now;
	}
	else
	{
		sweep->from = state->next;
		sweep->dead = state->dead;
	}
	return !sweep->absent;
}

static void
count_failures(const TtlSweep *sweep, TtlState *state, TimestampTz now)
{
	state->retry_at = 0;
	if (sweep->error != NULL)
	{
		state->failures = Min(state->failures, PG_INT32_MAX - 1) + 1;
		state->retry_at = TimestampTzPlusMilliseconds(
			now, service_back_off(&ttl_service, state->failures, sweep->crashed));
	}
	else if (sweep->finished)
		state->failures = 0;
}

static void
run_note(TtlSweep *sweep, TtlState *state)
{
	TimestampTz now = GetCurrentTimestamp();
	bool reread = sweep->from == 0 && state->dead > FEW_DEAD;
	bool important = sweep->deleted > 0 || sweep->error != NULL || state->failures > 0 || reread;

	if (sweep->limits.background && !important && !over(state->swept, now, NOTE_AFTER))
		return;
	state->next = sweep->next;
	state->dead = sweep->dead;
	state->swept = now;
	count_failures(sweep, state, now);
	sweep->retry_at = state->retry_at;
	ttl_write_state(state, sweep);
}

/* Notes the failure of a sweep that was cut off by its error. */
void
ttl_note_failure(TtlSweep *sweep)
{
	TimestampTz now = GetCurrentTimestamp();
	TtlState state;

	ttl_read_state(sweep->relid, &state);
	state.swept = now;
	count_failures(sweep, &state, now);
	sweep->retry_at = state.retry_at;
	ttl_write_state(&state, sweep);
	/* the next table may crash the server */
	ForceSyncCommit();
}

/*
 * Sweeps a table; the caller has checked that it may.  Like ttl_sweep(), in a transaction that has
 * done nothing.
 */
void
ttl_run(TtlSweep *sweep)
{
	TtlState state = {0};

	sweep->context = CurrentMemoryContext;
	/* a table may be broken; a background worker, which has a back-off for that, goes on by itself */
	if (!sweep->limits.background)
		ttl_attempt(sweep, run_look);
	if (sweep->error != NULL || !run_begin(sweep, &state))
		return;
	ttl_sweep(sweep);
	run_note(sweep, &state);
	SPI_commit();
	MemoryContextSwitchTo(sweep->context);
}
