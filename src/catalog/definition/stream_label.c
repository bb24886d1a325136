/*
 * stream_label.c
 *	  Labels of streams: the times at which they were enabled.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "catalog/definition/stream_label.h"
#include "catalog/definition/table_settings.h"

#define EPOCH_DIFFERENCE ((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * INT64CONST(86400000))

/* Labels are times in milliseconds since 1970. */
int64
stream_milliseconds(TimestampTz time)
{
	return time / 1000 + EPOCH_DIFFERENCE;
}

/*
 * Returns a timestamp from milliseconds since 1970, as labels of streams count them: the reverse of
 * stream_milliseconds().
 */
TimestampTz
stream_time(int64 milliseconds)
{
	return (milliseconds - EPOCH_DIFFERENCE) * 1000;
}

/*
 * Owners of tables can write any label into a trigger's arguments.  The times of gaps, and with
 * them the labels of later streams of all tables, come after existing labels.  A label far in the
 * future does not count for that.
 */
bool
stream_label_is_plausible(int64 label)
{
	return label <= stream_milliseconds(GetCurrentTimestamp()) + SECS_PER_DAY * INT64CONST(1000);
}

/* Prints a label in DynamoDB's form, 2024-05-01T10:00:00.123, in UTC. */
char *
stream_label_print(int64 label, char text[STREAM_LABEL_LENGTH + 1])
{
	Timestamp timestamp = stream_time(label);
	struct pg_tm tm;
	fsec_t fsec;

	if (timestamp2tm(timestamp, NULL, &tm, &fsec, NULL, NULL) != 0 || tm.tm_year > 9999)
		elog(ERROR, "label of a stream out of range: " INT64_FORMAT, label);
	snprintf(text, STREAM_LABEL_LENGTH + 1, "%04d-%02d-%02dT%02d:%02d:%02d.%03d", tm.tm_year,
			 tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int) fsec / 1000);
	return text;
}

/* Parses only what stream_label_print() writes. */
bool
stream_label_parse(ItemSpan text, int64 *label)
{
	char given[STREAM_LABEL_LENGTH + 1];
	char again[STREAM_LABEL_LENGTH + 1];
	struct pg_tm tm = {0};
	int milliseconds;
	Timestamp timestamp;

	if (text.len != STREAM_LABEL_LENGTH)
		return false;
	memcpy(given, text.data, text.len);
	given[text.len] = '\0';
	if (sscanf(given, "%4d-%2d-%2dT%2d:%2d:%2d.%3d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
			   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &milliseconds) != 7 ||
		tm2timestamp(&tm, milliseconds * 1000, NULL, &timestamp) != 0)
		return false;
	*label = stream_milliseconds(timestamp);
	return *label <= DYN_MAX_LABEL && strcmp(stream_label_print(*label, again), given) == 0;
}
