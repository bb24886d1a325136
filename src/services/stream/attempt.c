/*
 * attempt.c
 *	  What a collector leaves for the next one in case it dies.
 *
 * Shared memory is initialized again when a process crashes, and a table cannot be written while
 * the past is decoded.  So collectors write a file in the slot's folder, which goes with the slot,
 * and which the server leaves alone.  A collector says in it that it is at work, and at its end
 * that it is not.  A collector that finds that the previous one did not say so also writes down
 * each transaction, and each table in it, before it decodes it.  So the next collector knows where
 * this one died; a place at which several died is skipped.  While all goes well the file is written
 * at the beginning and at the end.
 *
 * A crash of the operating system may lose what was written.  Then the same steps find the place
 * again.
 */
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "access/xlog.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "server/compat.h"
#include "services/stream/attempt.h"
#include "services/stream/stream.h"

#define MAGIC 0x64796e31

/* After so many deaths at one spot the table's changes are passed over, and the transaction. */
#define TRIES_FOR_TABLE 3
#define TRIES_FOR_TRANSACTION 5

/* So many milliseconds at least and at most pass after a death until the next collector begins. */
#define MIN_PAUSE 1000
#define MAX_PAUSE (60 * 1000)

static StreamAttempt *current = NULL; /* of this process */

/*
 * The file
 */

static int
open_file(int flags)
{
	return BasicOpenFile(psprintf("pg_replslot/%s/dynamo_table", stream_slot_name()),
						 flags | PG_BINARY);
}

/* Reads the file, which is ignored if it is incomplete, or has another form. */
static void
read_file(int file, StreamAttemptState *state)
{
	if (pg_pread(file, state, sizeof(*state), 0) != sizeof(*state) || state->magic != MAGIC)
		memset(state, 0, sizeof(*state));
	state->magic = MAGIC;
}

/* If writing fails, less is known about a crash; collected records do not depend on the file. */
static void
write_file(StreamAttempt *attempt)
{
	if (attempt->file >= 0 && pg_pwrite(attempt->file, &attempt->state, sizeof(attempt->state),
										0) != sizeof(attempt->state))
		ereport(DEBUG1, (errcode_for_file_access(),
						 errmsg_internal("could not write down where changes are decoded: %m")));
}

static void
close_file(StreamAttempt *attempt)
{
	if (attempt->file < 0)
		return;
	close(attempt->file);
	attempt->file = -1;
	ReleaseExternalFD();
}

/*
 * Deaths
 */

/* Returns the milliseconds that a worker has to wait, as each crash restarts the whole cluster. */
long
stream_attempt_pause(void)
{
	StreamAttemptState state;
	TimestampTz now = GetCurrentTimestamp();
	int file = open_file(O_RDONLY);
	long pause;

	if (file < 0)
		return 0;
	read_file(file, &state);
	close(file);
	if (!state.at_work)
		return 0;
	pause = Min((long) MIN_PAUSE << Min(Max(state.deaths, 0), 10), MAX_PAUSE);
	return TimestampDifferenceMilliseconds(
		now, TimestampTzPlusMilliseconds(Min(state.began, now), pause));
}

/* Notes that the previous collector did not say that it has ended. */
static void
note_death(StreamAttemptState *state)
{
	if (state->deaths < PG_INT32_MAX)
		state->deaths++;
	if (XLogRecPtrIsInvalid(state->spot.lsn))
		return;
	state->tries = state->spot.lsn == state->blamed.lsn ? state->tries + 1 : 1;
	state->blamed = state->spot;
	ereport(LOG, (errmsg("a collector of changes has died at the transaction committed at " LSN,
						 LSN_FORMAT_ARGS(state->blamed.lsn)),
				  errdetail("Number of them: %d.", state->tries)));
}

static void
end_at_exit(int code, Datum arg)
{
	if (current != NULL)
		stream_attempt_end(current);
}

/*
 * Ends the attempt on an immediate shutdown or after another process has crashed: that is no crash
 * of this collector.  Nothing may be called here that is not safe in a handler of signals.
 */
static void
quit(SIGNAL_ARGS)
{
	if (current != NULL && current->file >= 0)
	{
		ssize_t written;

		current->state.at_work = false;
		written = pg_pwrite(current->file, &current->state, sizeof(current->state), 0);
		/* nothing can be done about a failure, which looks like a death then */
		(void) written;
	}
	_exit(2);
}

/* Serves a background worker; sessions report errors to their clients instead. */
void
stream_attempt_worker_init(void)
{
	pqsignal(SIGQUIT, quit);
}

/* Begins an attempt, with the slot acquired. */
void
stream_attempt_begin(StreamAttempt *attempt)
{
	static bool registered = false;

	memset(attempt, 0, sizeof(*attempt));
	ReserveExternalFD();
	attempt->file = open_file(O_RDWR | O_CREAT);
	if (attempt->file < 0)
	{
		ReleaseExternalFD();
		return;
	}
	if (!registered)
		before_shmem_exit(end_at_exit, 0);
	registered = true;
	current = attempt;
	read_file(attempt->file, &attempt->state);
	if (attempt->state.at_work)
		note_death(&attempt->state);
	attempt->careful = attempt->state.deaths > 0;
	attempt->state.at_work = true;
	attempt->state.spot = (StreamSpot){0};
	attempt->state.began = GetCurrentTimestamp();
	write_file(attempt);
}

/* Notes that what comes is decoded now; InvalidXLogRecPtr: no transaction is. */
void
stream_attempt_at(StreamAttempt *attempt, XLogRecPtr lsn, Oid relid)
{
	if (attempt->spot.lsn == lsn && attempt->spot.relid == relid)
		return;
	attempt->spot = (StreamSpot){lsn, relid};
	if (!attempt->careful)
		return;
	attempt->state.spot = attempt->spot;
	write_file(attempt);
}

/* Returns whether a table's changes are passed over in the transaction that is decoded. */
bool
stream_attempt_passes_table(const StreamAttempt *attempt, Oid relid)
{
	const StreamAttemptState *state = &attempt->state;

	return attempt->spot.lsn == state->blamed.lsn && relid == state->blamed.relid &&
		   OidIsValid(relid) && state->tries >= TRIES_FOR_TABLE;
}

/*
 * Returns whether the transaction whose commit record begins at lsn is passed over, because
 * collectors have died or failed at it too often.
 */
bool
stream_attempt_passes_transaction(const StreamAttempt *attempt, XLogRecPtr lsn)
{
	const StreamAttemptState *state = &attempt->state;

	return lsn == state->blamed.lsn &&
		   state->tries >=
			   (OidIsValid(state->blamed.relid) ? TRIES_FOR_TRANSACTION : TRIES_FOR_TABLE);
}

/* Returns whether another attempt may not meet the error, which is no reason to skip anything. */
static bool
is_of_the_moment(int sqlstate)
{
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_TO_CATEGORY(ERRCODE_TRANSACTION_ROLLBACK):
		case ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES):
		case ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION):
		case ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR):
			return true;
		default:
			return sqlstate == ERRCODE_LOCK_NOT_AVAILABLE;
	}
}

/* Notes that decoding ends with an error. */
void
stream_attempt_fail(StreamAttempt *attempt, int sqlstate)
{
	attempt->failed = !XLogRecPtrIsInvalid(attempt->spot.lsn) && !is_of_the_moment(sqlstate);
}

/* Notes that everything that existed when the collector began has been collected. */
void
stream_attempt_went_well(StreamAttempt *attempt)
{
	if (!attempt->careful)
		return;
	attempt->careful = false;
	attempt->state.deaths = attempt->state.tries = 0;
	attempt->state.spot = attempt->state.blamed = (StreamSpot){0};
	write_file(attempt);
}

/* Ends the attempt, also after an error, and when the process is told to end. */
void
stream_attempt_end(StreamAttempt *attempt)
{
	current = NULL;
	attempt->state.at_work = attempt->failed;
	attempt->state.spot = attempt->failed ? attempt->spot : (StreamSpot){0};
	write_file(attempt);
	close_file(attempt);
}
