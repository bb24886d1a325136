/*
 * sequence.c
 *	  Sequence numbers of records, as text.
 *
 * A sequence number is the digit 1, the commit's place in the WAL in 20 digits, and the record's
 * number in the transaction in 12.  All have the same length, so they order as text too.
 *
 * Places of two nodes cannot be compared.  So the numbers of a distributed table's stream are the
 * digit 2, the millisecond since 1970 at which the shard has begun in 13 digits, and then the same in 17
 * and 9 digits.  DynamoDB's have 40 digits at most.
 */
#include "postgres.h"

#include "services/stream/record.h"

#define LSN_DIGITS 20
#define ORDINAL_DIGITS 12

#define EPOCH_DIGITS 13
#define PLACED_LSN_DIGITS 17
#define PLACED_ORDINAL_DIGITS 9

/* Writes digits with zeros in front, for each record: format strings take several times as long. */
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

/* Reads so many digits, all of them. */
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

/* Prints likewise for a shard with an epoch, or, if that is 0, without one. */
char *
stream_sequence_print_in(int64 epoch, StreamPlace place, char text[STREAM_SEQUENCE_MAX + 1])
{
	char *digits = text + 1;

	if (epoch == 0)
		return stream_sequence_print(place, text);
	text[0] = '2';
	write_digits(digits, EPOCH_DIGITS, (uint64) epoch);
	write_digits(digits + EPOCH_DIGITS, PLACED_LSN_DIGITS, place.lsn);
	write_digits(digits + EPOCH_DIGITS + PLACED_LSN_DIGITS, PLACED_ORDINAL_DIGITS, place.ordinal);
	text[STREAM_SEQUENCE_MAX] = '\0';
	return text;
}

/* Reads either; *epoch becomes 0 for one without. */
bool
stream_sequence_parse_in(ItemSpan text, int64 *epoch, StreamPlace *place)
{
	const char *digits = text.data + 1;
	uint64 milliseconds;

	*epoch = 0;
	if (text.len != STREAM_SEQUENCE_MAX || text.data[0] != '2')
		return stream_sequence_parse(text, place);
	if (!read_digits(digits, EPOCH_DIGITS, &milliseconds) ||
		!read_digits(digits + EPOCH_DIGITS, PLACED_LSN_DIGITS, &place->lsn) ||
		!read_digits(digits + EPOCH_DIGITS + PLACED_LSN_DIGITS, PLACED_ORDINAL_DIGITS,
					 &place->ordinal))
		return false;
	*epoch = (int64) milliseconds;
	return milliseconds > 0;
}
