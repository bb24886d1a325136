/*
 * sequence.c
 *	  Sequence numbers of records, as text.
 *
 * A sequence number is the digit 1, the commit's place in the WAL in 20 digits, and the record's
 * number in the transaction in 12.  All have the same length, so they order as text too.
 */
#include "postgres.h"

#include "stream/record.h"

#define LSN_DIGITS 20
#define ORDINAL_DIGITS 12

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
