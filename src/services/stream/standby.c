/*
 * standby.c
 *	  Letting standbys take the slot over although this server is idle.
 *
 * A standby that synchronizes a failover slot reserves catalogs as of the moment at which it begins, and
 * takes the slot over when that has come as far.  What the slot needs of the catalogs moves on
 * where a record of the running transactions has been decoded and confirmed, which on an idle server
 * does not happen.  Its physical slot tells what a standby has reserved, by hot_standby_feedback,
 * which synchronizing takes.  So such a record is written while one has reserved more than the slot still
 * needs, and how far collecting has come is noted behind it.
 *
 * A standby that has logical slots of its own, and does not synchronize this one, may look the same
 * for ever; so the pause between two such records grows while no other session writes.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "replication/slot.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "storage/standby.h"
#include "utils/timestamp.h"

#include "server/compat.h"
#include "services/stream/collect.h"

/* These are milliseconds. */
#define MIN_PAUSE 2000
#define MAX_PAUSE (60 * 60 * 1000)

static bool
has_reserved_more(ReplicationSlot *slot, TransactionId ours)
{
	TransactionId reserved;

	SpinLockAcquire(&slot->mutex);
	reserved = slot->data.database == InvalidOid ? slot->data.catalog_xmin : InvalidTransactionId;
	SpinLockRelease(&slot->mutex);
	return TransactionIdIsValid(reserved) && TransactionIdFollows(reserved, ours);
}

static bool
a_standby_waits(void)
{
	TransactionId ours = MyReplicationSlot->data.catalog_xmin;
	bool found = false;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots && !found; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		found = slot->in_use && has_reserved_more(slot, ours);
	}
	LWLockRelease(ReplicationSlotControlLock);
	return found;
}

/* Resets the help, as other sessions write and the slot moves on anyway. */
void
stream_help_reset(StreamHelp *help)
{
	help->pause = MIN_PAUSE;
}

/* Helps standbys, with the slot acquired. */
void
stream_help_standbys(StreamHelp *help)
{
	TimestampTz now = GetCurrentTimestamp();

	help->given = Min(help->given, now);
	if (!slot_is_failover(MyReplicationSlot) || !XLogRecPtrIsInvalid(help->running) ||
		!TimestampDifferenceExceeds(help->given, now, help->pause) || !a_standby_waits())
		return;
	help->running = LogStandbySnapshot();
	XLogFlush(help->running);
	help->given = now;
	help->pause = Min(Max(help->pause, MIN_PAUSE) * 2, MAX_PAUSE);
}
