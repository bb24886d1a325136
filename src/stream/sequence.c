/*
 * sequence.c
 *	  Sequence numbers of records, and labels of streams, as text.
 *
 * A sequence number is the digit 1, the commit's place in the WAL in 20 digits, and the record's
 * number in the transaction in 12.  All have the same length, so they order as text too.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "stream/record.h"

#define LSN_DIGITS 20
#define ORDINAL_DIGITS 12
#define EPOCH_DIFFERENCE ((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * INT64CONST(86400000))

/* With zeros in front.  Each record is printed by this, and format strings take a multiple of its time. */
static void
write_digits(char *digits, int n, uint64 value)
{
	while (n > 0)
	{
		digits[--n] = (char) ('0' + value % 10);
		value /= 10;
	}
}

/* Writes the sequence number of a place into text, with a terminating zero, and returns text. */
char *
stream_sequence_print(StreamPlace place, char text[STREAM_SEQUENCE_LENGTH + 1])
{
	text[0] = '1';
	write_digits(text + 1, LSN_DIGITS, place.lsn);
	write_digits(text + 1 + LSN_DIGITS, ORDINAL_DIGITS, place.ordinal);
	text[STREAM_SEQUENCE_LENGTH] = '\0';
	return text;
}

/* So many digits, all of them. */
static bool
read_digits(const char *digits, int n, uint64 *value)
{
	*value = 0;
	for (int i = 0; i < n; i++)
	{
		uint64 digit = (uint64) (digits[i] - '0');

		if (digit > 9 || *value > (PG_UINT64_MAX - digit) / 10)
			return false;
		*value = *value * 10 + digit;
	}
	return true;
}

/* Reads a sequence number.  False if the text is none; *place may have been changed even so. */
bool
stream_sequence_parse(ItemSpan text, StreamPlace *place)
{
	return text.len == STREAM_SEQUENCE_LENGTH && text.data[0] == '1' &&
		   read_digits(text.data + 1, LSN_DIGITS, &place->lsn) &&
		   read_digits(text.data + 1 + LSN_DIGITS, ORDINAL_DIGITS, &place->ordinal);
}

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
 * Owners of tables may write any label into a trigger's arguments.  One that is far ahead must not
 * have the times of gaps, and so the labels of all tables to come, be ahead of it.
 */
bool
stream_label_is_plausible(int64 label)
{
	return label <= stream_milliseconds(GetCurrentTimestamp()) + SECS_PER_DAY * INT64CONST(1000);
}

/* As DynamoDB has it, 2024-05-01T10:00:00.123, in UTC. */
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

/* Only what stream_label_print() writes. */
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
