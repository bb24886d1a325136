/*
 * slot.c
 *	  The replication slot of the database, as dyn_stream_slots describes it.
 *
 * What state it is in is decided by the view alone.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"

#include "server/attempt.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"
#include "server/work/background.h"
#include "server/work/owned.h"
#include "services/stream/stream.h"

/* The view names the states so, by StreamSlotState. */
static const char *const state_names[] = {
	"wal_level too low", "plugin not allowed", "not set up", "standby",
	"slot missing",      "slot lost",          "slot ahead", "ready"};

/*
 * Returns the name of the current database's replication slot, which need not exist, as a new
 * string.
 */
char *
stream_slot_name(void)
{
	return psprintf(STREAM_SLOT, MyDatabaseId);
}

/* Checks the right to use the slot, as the SQL functions for slots do. */
void
stream_require_replication(const char *procedure)
{
	if (!has_rolreplication(GetUserId()))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("permission denied for procedure %s", procedure),
						errdetail("It is for roles with the REPLICATION attribute.")));
}

/* A slot is ready even if no worker collects. */
static StreamSlotState
state_of_name(const char *name)
{
	for (int i = 0; i < lengthof(state_names); i++)
	{
		if (strcmp(state_names[i], name) == 0)
			return (StreamSlotState) i;
	}
	return STREAM_READY;
}

/* Sets *slot to what dyn_stream_slots says of this node.  The caller is connected to SPI. */
void
stream_look(StreamSlot *slot)
{
	owned_execute(STREAM_STATE_TABLE,
				  "SELECT s.state, s.collected_lsn, s.confirmed_lsn, s.failover, EXISTS (SELECT"
				  " FROM pg_catalog.pg_replication_slots r"
				  " WHERE r.slot_name OPERATOR(pg_catalog.=) s.slot_name"
				  " AND r.plugin OPERATOR(pg_catalog.=) '" STREAM_PLUGIN "'"
				  " AND r.database OPERATOR(pg_catalog.=) pg_catalog.current_database())"
				  " FROM " STREAM_SLOT_VIEW " s",
				  0, NULL);
	*slot = (StreamSlot){.state = state_of_name(sql_text(SPI_tuptable, 0, 1)),
						 .collected = DatumGetLSN(owned_value(2)),
						 .confirmed = DatumGetLSN(owned_value(3)),
						 .failover = DatumGetBool(owned_value(4)),
						 .exists = DatumGetBool(owned_value(5))};
	SPI_freetuptable(SPI_tuptable);
}

/* A SlotProblem says what is wrong, and what helps. */
typedef struct SlotProblem
{
	char *message;
	const char *hint;
} SlotProblem;

static SlotProblem
describe_problem(StreamSlotState state)
{
	const char *database = get_database_name(MyDatabaseId);

	if (state == STREAM_STANDBY)
		PreventCommandDuringRecovery("a change of streams");
	if (state == STREAM_WAL_LEVEL)
		return (SlotProblem){psprintf("change streams need \"wal_level\" to be \"%s\"",
									  PG19_GE ? "replica" : "logical"),
							 "Set it in the configuration, and restart the server."};
	if (state == STREAM_PLUGIN_REFUSED)
		return (SlotProblem){
			psprintf("library \"%s\" may not be used as an output plugin", STREAM_PLUGIN),
			"Add it to \"output_plugin_libraries\" in the configuration."};
	return (SlotProblem){
		state == STREAM_NOT_SET_UP
			? psprintf("change streams are not set up in database \"%s\"", database)
			: psprintf("change streams in database \"%s\" are broken: %s", database,
					   state_names[state]),
		"CALL dyn_setup_streams() as a role with the REPLICATION attribute."};
}

/*
 * Raises an error that says why streams do not work in this state, which is not STREAM_READY, and
 * what helps.  Does not return.
 */
void
stream_fail_slot(StreamSlotState state)
{
	SlotProblem problem = describe_problem(state);

	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg_internal("%s", problem.message), errhint("%s", problem.hint)));
}

/*
 * Raises an error unless change streams are ready in the current database.  The caller is connected
 * to SPI.
 */
void
stream_require_slot(void)
{
	StreamSlot slot;

	stream_look(&slot);
	if (slot.state != STREAM_READY)
		stream_fail_slot(slot.state);
}

/*
 * Requires the slot for enabling a stream, perhaps by a request: a client of DynamoDB sees only the
 * message, and would repeat for ever a request that failed with no exception of DynamoDB's.
 */
void
stream_require_slot_to_enable(void)
{
	SlotProblem problem;
	StreamSlot slot;

	stream_look(&slot);
	if (slot.state == STREAM_READY)
		return;
	problem = describe_problem(slot.state);
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("a stream cannot be enabled: %s. %s", problem.message, problem.hint)));
}

/*
 * The end of collecting
 */

/* Returns whether nothing is collected any more until somebody acts; the slot is behind what is not. */
bool
stream_is_broken(const StreamSlot *slot)
{
	return slot->state >= STREAM_SLOT_MISSING && slot->state < STREAM_READY;
}

/* Looks whether that may be, at what costs little. */
static bool
may_be_broken(XLogRecPtr collected)
{
	ReplicationSlot *slot;
	bool broken = true;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	slot = SearchNamedReplicationSlot(stream_slot_name(), false);
	if (slot != NULL)
	{
		SpinLockAcquire(&slot->mutex);
		broken = slot_is_invalid(slot) ||
				 (!slot_is_used(slot) && slot->data.confirmed_flush > collected);
		SpinLockRelease(&slot->mutex);
	}
	LWLockRelease(ReplicationSlotControlLock);
	return broken;
}

/*
 * Raises an error for a reader who has read all that was collected, up to this place, where nothing
 * more will be: a slot that is made now will not have the changes since, so that there will be a gap.
 */
void
stream_require_collecting(XLogRecPtr collected)
{
	StreamSlot slot;
	SlotProblem problem;

	if (RecoveryInProgress() || XLogRecPtrIsInvalid(collected) || !may_be_broken(collected))
		return;
	SPI_connect();
	stream_look(&slot);
	SPI_finish();
	if (!stream_is_broken(&slot))
		return;
	problem = describe_problem(slot.state);
	ereport(ERROR,
			(errcode(ERRCODE_DYN_TRIMMED_DATA_ACCESS),
			 errmsg("changes after the position are not collected: %s", state_names[slot.state]),
			 errhint("%s", problem.hint)));
}

static void
tell_slot(void *arg)
{
	StreamSlot slot;

	SPI_connect();
	stream_look(&slot);
	SPI_finish();
	if (stream_is_broken(&slot))
	{
		SlotProblem problem = describe_problem(slot.state);

		ereport(WARNING, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						  errmsg_internal("%s", problem.message), errhint("%s", problem.hint)));
	}
}

/*
 * Tells the server's log where changes are not collected any more.  Called now and then in a background
 * worker, outside of a transaction: a database without a slot has no collector that could.
 */
void
stream_tell_slot(void)
{
	background_begin();
	if (extension_installed())
		(void) attempt(tell_slot, NULL);
	background_commit();
}
