/*
 * progress.c
 *	  When a NOTICE about progress is due, and how it prints counts.
 */
#include "postgres.h"

#include "utils/guc.h"
#include "utils/timestamp.h"

#include "server/progress.h"

static int progress_interval;

/* Defines the setting.  Called once by _PG_init(). */
void
progress_init(void)
{
	DefineCustomIntVariable("dynamo_table.progress_interval",
							"Sets the time between two notices about the progress of long work.",
							"0 has one at every opportunity, -1 none.", &progress_interval, 10000,
							-1, PG_INT32_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
}

/*
 * Returns whether the next NOTICE is due. *told is the time of the last one, and is set to now if
 * one is due; zero begins the interval.
 */
bool
progress_is_due(TimestampTz *told)
{
	TimestampTz now;

	if (progress_interval < 0)
		return false;
	now = GetCurrentTimestamp();
	if (progress_interval > 0 &&
		(*told == 0 || !TimestampDifferenceExceeds(*told, now, progress_interval)))
	{
		if (*told == 0)
			*told = now;
		return false;
	}
	*told = now;
	return true;
}

/*
 * Returns the count for a message, with the number that statistics expect unless the count exceeds
 * it: "1200 of about 5000".  A negative number means unknown.
 */
const char *
progress_count(int64 done, double expected)
{
	if (expected < (double) done)
		return psprintf(INT64_FORMAT, done);
	return psprintf(INT64_FORMAT " of about %.0f", done, expected);
}
