/*
 * ksuid.c
 *	  KSUIDs: unique strings that sort by the second in which they were made.
 *
 * 20 bytes, the seconds since 2014-05-13T16:53:20Z (32 bits, most significant first) and 128 random
 * ones, as a number in base 62: 27 characters of 0-9, A-Z and a-z, which sort as the bytes do.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "models/template/template.h"
#include "server/errors.h"

#define KSUID_BYTES 20
#define KSUID_EPOCH INT64CONST(1400000000)
#define UNIX_EPOCH_SECONDS \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY) /* in 2000 */

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* Encodes by long division, a digit from the right at a time. */
static void
encode(const unsigned char bytes[KSUID_BYTES], char out[KSUID_LENGTH])
{
	uint32 words[KSUID_BYTES / 4];

	for (int i = 0; i < lengthof(words); i++)
		words[i] = (uint32) bytes[4 * i] << 24 | (uint32) bytes[4 * i + 1] << 16 |
				   (uint32) bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
	for (int place = KSUID_LENGTH - 1; place >= 0; place--)
	{
		uint64 rest = 0;

		for (int i = 0; i < lengthof(words); i++)
		{
			rest = rest << 32 | words[i];
			words[i] = (uint32) (rest / 62);
			rest %= 62;
		}
		out[place] = digits[rest];
	}
}

/* Decodes a KSUID; returns false if the text is none. */
static bool
decode(ItemSpan text, unsigned char bytes[KSUID_BYTES])
{
	if (text.len != KSUID_LENGTH)
		return false;
	memset(bytes, 0, KSUID_BYTES);
	for (int place = 0; place < KSUID_LENGTH; place++)
	{
		const char *digit = text.data[place] == '\0' ? NULL : strchr(digits, text.data[place]);
		uint32 carry;

		if (digit == NULL)
			return false;
		carry = (uint32) (digit - digits);
		for (int i = KSUID_BYTES - 1; i >= 0; i--)
		{
			carry += (uint32) bytes[i] * 62;
			bytes[i] = (unsigned char) carry;
			carry >>= 8;
		}
		if (carry != 0)
			return false;
	}
	return true;
}

static void
set_time(unsigned char bytes[KSUID_BYTES], TimestampTz at)
{
	int64 seconds =
		at / USECS_PER_SEC - (at % USECS_PER_SEC < 0) + UNIX_EPOCH_SECONDS - KSUID_EPOCH;

	if (TIMESTAMP_NOT_FINITE(at) || seconds < 0 || seconds > PG_UINT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
						errmsg("timestamp out of range for a KSUID"),
						errdetail("KSUIDs are of the years 2014 to 2150.")));
	for (int i = 0; i < 4; i++)
		bytes[i] = (unsigned char) (seconds >> (24 - 8 * i));
}

static void
make(TimestampTz at, char out[KSUID_LENGTH])
{
	unsigned char bytes[KSUID_BYTES];

	set_time(bytes, at);
	if (!pg_strong_random(bytes + 4, KSUID_BYTES - 4))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values")));
	encode(bytes, out);
}

/* Writes a new KSUID of the clock's time: KSUID_LENGTH characters, without a terminating zero. */
void
ksuid_make(char out[KSUID_LENGTH])
{
	make(GetCurrentTimestamp(), out);
}

static Datum
ksuid_datum(const char text[KSUID_LENGTH])
{
	return PointerGetDatum(cstring_to_text_with_len(text, KSUID_LENGTH));
}

/* dyn_ksuid(at): of now, if that is NULL */
PG_FUNCTION_INFO_V1(dyn_ksuid);
Datum
dyn_ksuid(PG_FUNCTION_ARGS)
{
	char text[KSUID_LENGTH];

	make(PG_ARGISNULL(0) ? GetCurrentTimestamp() : PG_GETARG_TIMESTAMPTZ(0), text);
	return ksuid_datum(text);
}

/*
 * dyn_ksuid(at, bytes) returns the KSUID of a second and of the 16 bytes behind it, or of all 20 bytes if
 * the time is NULL.  A single byte stands for all of them, as in the first and the last one of a second.
 */
PG_FUNCTION_INFO_V1(dyn_ksuid_of_bytes);
Datum
dyn_ksuid_of_bytes(PG_FUNCTION_ARGS)
{
	const bytea *given = PG_ARGISNULL(1) ? NULL : PG_GETARG_BYTEA_PP(1);
	int n = given == NULL ? 0 : (int) VARSIZE_ANY_EXHDR(given);
	int wanted = PG_ARGISNULL(0) ? KSUID_BYTES : KSUID_BYTES - 4;
	unsigned char bytes[KSUID_BYTES];
	char text[KSUID_LENGTH];

	if (given == NULL)
		PG_RETURN_NULL();
	if (n == 1)
		memset(bytes, *VARDATA_ANY(given), sizeof(bytes));
	else if (n == wanted)
		memcpy(bytes + KSUID_BYTES - n, VARDATA_ANY(given), n);
	else
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a KSUID is made of %d bytes, not %d", wanted, n)));
	if (!PG_ARGISNULL(0))
		set_time(bytes, PG_GETARG_TIMESTAMPTZ(0));
	encode(bytes, text);
	return ksuid_datum(text);
}

static void
decode_argument(const text *ksuid, unsigned char bytes[KSUID_BYTES])
{
	ItemSpan span = text_span(ksuid);

	if (!decode(span, bytes))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid KSUID \"%s\"", item_quoted(span)),
				 errdetail("It is no number in base 62 of %d digits and %d bytes.", KSUID_LENGTH,
						   KSUID_BYTES)));
}

PG_FUNCTION_INFO_V1(dyn_ksuid_time);
Datum
dyn_ksuid_time(PG_FUNCTION_ARGS)
{
	unsigned char bytes[KSUID_BYTES];
	int64 seconds = 0;

	decode_argument(PG_GETARG_TEXT_PP(0), bytes);
	for (int i = 0; i < 4; i++)
		seconds = seconds << 8 | bytes[i];
	PG_RETURN_TIMESTAMPTZ((seconds + KSUID_EPOCH - UNIX_EPOCH_SECONDS) * USECS_PER_SEC);
}

PG_FUNCTION_INFO_V1(dyn_ksuid_bytes);
Datum
dyn_ksuid_bytes(PG_FUNCTION_ARGS)
{
	bytea *out = palloc(VARHDRSZ + KSUID_BYTES);

	SET_VARSIZE(out, VARHDRSZ + KSUID_BYTES);
	decode_argument(PG_GETARG_TEXT_PP(0), (unsigned char *) VARDATA(out));
	PG_RETURN_BYTEA_P(out);
}
