/*
 * number.c
 *	  N: exact decimal numbers of up to 38 digits, never floats.
 *
 * Packed decimal in base 100, in an order-preserving form:
 *
 *		zero		no bytes
 *		positive	0x80 + (E + 64), then each digit D as D + 1
 *		negative	0x7f - (E + 64), then each digit D as 100 - D
 *
 * The magnitude is 0.D1 D2 ... * 100^E with D1 > 0 and no trailing zero digit, so each
 * number has one form.  DynamoDB's range, 1E-130 to 9.99E+125, is E = -64 to 63.
 */
#include "postgres.h"

#include "common/int.h"

#include "item/item.h"

/* A Decimal is the significant digits of a number and the power of ten of the first one. */
typedef struct Decimal
{
	bool negative;
	int ndigits; /* 0: zero */
	int64 exponent;
	char digits[ITEM_NUMBER_DIGITS];
} Decimal;

/* This stands for all exponents that are too large or too small to be valid. */
#define EXPONENT_CAP INT64CONST(10000000000)

/* A ZeroRule says what is asked of a number that is zero. */
typedef enum ZeroRule
{
	ZERO_ANY,
	ZERO_IN_RANGE /* its exponent is no larger and no smaller than that of other numbers */
} ZeroRule;

/* Read "[+-]digits" behind an E; false if it is not that. */
static bool
scan_exponent(const char *p, const char *end, int64 *exponent)
{
	bool negative = false;
	int64 e = 0;

	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	if (p == end)
		return false;
	for (; p < end; p++)
	{
		if (*p < '0' || *p > '9')
			return false;
		if (e < EXPONENT_CAP)
			e = e * 10 + (*p - '0');
	}
	*exponent = negative ? -e : e;
	return true;
}

/*
 * Read a number; returns 0 or an ItemNumberError.  Zeros at both ends do not count as
 * digits, wherever the point is.
 */
static int
scan_decimal(const char *p, const char *end, ZeroRule zero, Decimal *d)
{
	bool point = false;
	bool any = false;
	int64 seen = 0; /* digits since the first significant one */
	int64 after_point = 0; /* digits after the point */
	int64 exponent = 0;

	memset(d, 0, sizeof(*d));
	if (p < end && (*p == '+' || *p == '-'))
		d->negative = *p++ == '-';
	for (; p < end && *p != 'e' && *p != 'E'; p++)
	{
		if (*p == '.' && !point)
		{
			point = true;
			continue;
		}
		if (*p < '0' || *p > '9')
			return ITEM_NUMBER_SYNTAX;
		any = true;
		after_point += point;
		if (seen == 0 && *p == '0')
			continue;
		if (seen < ITEM_NUMBER_DIGITS)
			d->digits[seen] = *p - '0';
		else if (*p != '0')
			d->ndigits = ITEM_NUMBER_DIGITS + 1;
		seen++;
	}
	if (!any || (p < end && !scan_exponent(p + 1, end, &exponent)))
		return ITEM_NUMBER_SYNTAX;
	if (d->ndigits > ITEM_NUMBER_DIGITS)
		return ITEM_NUMBER_PRECISION;

	d->ndigits = Min(seen, ITEM_NUMBER_DIGITS);
	while (d->ndigits > 0 && d->digits[d->ndigits - 1] == 0)
		d->ndigits--;
	d->exponent = d->ndigits > 0 ? seen - 1 - after_point + exponent : exponent;
	if (d->ndigits == 0 && zero == ZERO_ANY)
		return 0;
	if (d->exponent > ITEM_NUMBER_MAX_EXPONENT)
		return ITEM_NUMBER_OVERFLOW;
	if (d->exponent < ITEM_NUMBER_MIN_EXPONENT)
		return ITEM_NUMBER_UNDERFLOW;
	return 0;
}

static int
pack_decimal(const Decimal *d, char out[ITEM_NUMBER_SIZE])
{
	bool odd = (d->exponent & 1) != 0;
	int biased;
	int len = 1;
	int i = 0;

	if (d->ndigits == 0)
		return 0;
	/* floor(exponent / 2) + 1, biased by 64, without dividing a negative number */
	biased = (int) ((d->exponent + 130) / 2);
	out[0] = (char) (d->negative ? 0x7f - biased : 0x80 + biased);

	/* The first pair lacks its high digit unless the exponent is odd. */
	while (i < d->ndigits)
	{
		int pair = 0;

		if (i > 0 || odd)
			pair = d->digits[i++] * 10;
		if (i < d->ndigits)
			pair += d->digits[i];
		i++;
		out[len++] = (char) (d->negative ? 100 - pair : pair + 1);
	}
	return len;
}

/* Returns the length of the packed number, or an ItemNumberError. */
int
item_number_parse(const char *text, Size len, char out[ITEM_NUMBER_SIZE])
{
	Decimal d;
	int error = scan_decimal(text, text + len, ZERO_ANY, &d);

	return error != 0 ? error : pack_decimal(&d, out);
}

/*
 * Parses a number that a call brings: of a zero the exponent that is written has to be in the range
 * of numbers.
 */
int
item_number_parse_call(const char *text, Size len, char out[ITEM_NUMBER_SIZE])
{
	Decimal d;
	int error = scan_decimal(text, text + len, ZERO_IN_RANGE, &d);

	return error != 0 ? error : pack_decimal(&d, out);
}

/* Returns whether a packed number is below zero. */
bool
item_number_is_negative(ItemSpan number)
{
	return number.len > 0 && (unsigned char) number.data[0] < 0x80;
}

/* Returns the base-100 digit at one place. */
static inline int
packed_digit(ItemSpan number, int place)
{
	int byte = (unsigned char) number.data[1 + place];

	return item_number_is_negative(number) ? 100 - byte : byte - 1;
}

/* Returns the power of a hundred, E above. */
static inline int
packed_exponent(ItemSpan number)
{
	int first = (unsigned char) number.data[0];

	return (first < 0x80 ? 0x7f - first : first - 0x80) - 64;
}

/* Returns the number of significant decimal digits; zero has none. */
int
item_number_digits(ItemSpan number)
{
	int n = (int) number.len - 1;

	if (number.len == 0)
		return 0;
	if (unlikely(n < 1))
		item_fail_invalid();
	return 2 * n - (packed_digit(number, 0) < 10) - (packed_digit(number, n - 1) % 10 == 0);
}

/* Tells how many decimal digits a number has before the point, at most, and how many behind it. */
void
item_number_places(ItemSpan number, int *before, int *behind)
{
	int n = (int) number.len - 1;
	int exponent;

	*before = *behind = 0;
	if (number.len == 0)
		return;
	if (unlikely(n < 1))
		item_fail_invalid();
	exponent = packed_exponent(number);
	*before = Max(2 * exponent, 0);
	*behind = Max(2 * (n - exponent) - (packed_digit(number, n - 1) % 10 == 0), 0);
}

/*
 * Returns the pairs of significant decimal digits, counted from the point: of those before it and
 * of those behind it, each rounded up; zero has none.
 */
int
item_number_pairs_by_point(ItemSpan number)
{
	int n = (int) number.len - 1;
	int before;

	if (number.len == 0)
		return 0;
	if (unlikely(n < 1))
		item_fail_invalid();
	/* packed digits are such pairs, but for a zero at an end where all are on one side */
	before = packed_exponent(number);
	return before > 0 && before < n ? n : (item_number_digits(number) + 1) / 2;
}

/*
 * Returns whether bytes are a packed number in canonical form, with ITEM_NUMBER_DIGITS digits at
 * most.  Zero has no bytes.
 */
bool
item_number_valid(ItemSpan number)
{
	int n = (int) number.len - 1;

	if (number.len == 0)
		return true;
	if (n < 1 || number.len > ITEM_NUMBER_SIZE)
		return false;
	for (int i = 0; i < n; i++)
	{
		int digit = packed_digit(number, i);

		if (digit < 0 || digit > 99)
			return false;
	}
	return packed_digit(number, 0) != 0 && packed_digit(number, n - 1) != 0 &&
		   item_number_digits(number) <= ITEM_NUMBER_DIGITS;
}

/*
 * Compares two numbers by value.  The bytes compare as the numbers do, except that zero is empty
 * and that a negative number is the smaller the more digits follow.
 */
int
item_number_compare(ItemSpan a, ItemSpan b)
{
	if (a.len == 0 || b.len == 0)
	{
		int sign_a = a.len == 0 ? 0 : item_number_is_negative(a) ? -1 : 1;
		int sign_b = b.len == 0 ? 0 : item_number_is_negative(b) ? -1 : 1;

		return sign_a - sign_b;
	}
	if (item_number_is_negative(a) && memcmp(a.data, b.data, Min(a.len, b.len)) == 0)
		return (int) b.len - (int) a.len;
	return item_compare_bytes(a, b);
}

/*
 * Arithmetic
 */

/*
 * Pack base-100 digits, the most significant one first, of which the first is worth
 * 100^(exponent - 1).  Returns the length or an ItemNumberError.
 */
static int
pack_pairs(const int *pairs, int n, int exponent, bool negative, char out[ITEM_NUMBER_SIZE])
{
	int biased;

	while (n > 0 && pairs[0] == 0)
	{
		pairs++;
		n--;
		exponent--;
	}
	while (n > 0 && pairs[n - 1] == 0)
		n--;
	if (n == 0)
		return 0;
	if (2 * n - (pairs[0] < 10) - (pairs[n - 1] % 10 == 0) > ITEM_NUMBER_DIGITS)
		return ITEM_NUMBER_PRECISION;
	if (exponent > 63)
		return ITEM_NUMBER_OVERFLOW;
	if (exponent < -64)
		return ITEM_NUMBER_UNDERFLOW;

	biased = exponent + 64;
	out[0] = (char) (negative ? 0x7f - biased : 0x80 + biased);
	for (int i = 0; i < n; i++)
		out[1 + i] = (char) (negative ? 100 - pairs[i] : pairs[i] + 1);
	return n + 1;
}

/* Packs a number of things, which always fits. */
int
item_number_from_count(uint32 count, char out[ITEM_NUMBER_SIZE])
{
	int pairs[5];

	if (count > 0 && count < 100)
	{
		/* most often, and worth it: size() makes one for each item */
		out[0] = (char) (0x80 + 1 + 64);
		out[1] = (char) (count + 1);
		return 2;
	}
	for (int i = 4; i >= 0; i--)
	{
		pairs[i] = count % 100;
		count /= 100;
	}
	return pack_pairs(pairs, 5, 5, false, out);
}

/* Packs value / 100^places, which always fits. */
int
item_number_from_int64(int64 value, int places, char out[ITEM_NUMBER_SIZE])
{
	uint64 magnitude = value < 0 ? -(uint64) value : (uint64) value;
	int pairs[10];

	for (int i = 9; i >= 0; i--)
	{
		pairs[i] = (int) (magnitude % 100);
		magnitude /= 100;
	}
	return pack_pairs(pairs, 10, 10 - places, value < 0, out);
}

/*
 * Stored numbers may be damaged.  Functions that have a buffer for the digits, or that compute with
 * them, check the form first.
 */
static void
require_valid(ItemSpan number)
{
	if (unlikely(!item_number_valid(number)))
		item_fail_invalid();
}

/* Most numbers are integers above zero of few digits, for which these are enough. */
#define FEW_PAIRS 4

/*
 * Returns whether a number is such an integer, in canonical form, with its pairs and its value.
 * False for others says nothing of their form.
 */
static inline bool
read_few(ItemSpan number, int *npairs, uint32 *value)
{
	const unsigned char *p = (const unsigned char *) number.data;
	int n = (int) number.len - 1;
	uint32 result = 0;

	if (n < 1 || n > FEW_PAIRS || p[0] < 0x80 + 64 + n || p[0] > 0x80 + 64 + FEW_PAIRS ||
		p[1] == 1 || p[n] == 1)
		return false;
	*npairs = p[0] - 0x80 - 64;
	for (int i = 1; i <= *npairs; i++)
	{
		uint32 digit = i <= n ? (uint32) p[i] - 1 : 0;

		/* 0 has become the largest one */
		if (digit > 99)
			return false;
		result = result * 100 + digit;
	}
	*value = result;
	return true;
}

/* Sets *value to number * 100^places; returns false if that is no integer, or too large. */
bool
item_number_to_int64(ItemSpan number, int places, int64 *value)
{
	int n = (int) number.len - 1;
	int exponent;
	int64 result = 0;
	int npairs;
	uint32 few;

	*value = 0;
	if (number.len == 0)
		return true;
	if (places == 0 && read_few(number, &npairs, &few))
	{
		*value = few;
		return true;
	}
	require_valid(number);
	exponent = packed_exponent(number) + places;
	/* the last pair is not 0, and no more than 10 fit */
	if (exponent < n || exponent > 10)
		return false;
	for (int i = 0; i < exponent; i++)
	{
		int digit = i < n ? packed_digit(number, i) : 0;

		/* below zero there is one more */
		if (pg_mul_s64_overflow(result, 100, &result) ||
			pg_sub_s64_overflow(result, digit, &result))
			return false;
	}
	if (item_number_is_negative(number))
		*value = result;
	else if (pg_sub_s64_overflow(0, result, value))
		return false;
	return true;
}

/*
 * Wider sums than this have more than 38 digits: their first digit, or the one after it
 * if the two numbers nearly cancel out, is that far from the last.
 */
#define SUM_PAIRS 24

/* Add a number's digits to a sum whose first place is worth 100^(exponent - 1). */
static void
add_pairs(int *sum, int exponent, ItemSpan number, bool subtract)
{
	bool negative = item_number_is_negative(number) != subtract;
	int place = exponent - (number.len == 0 ? 0 : packed_exponent(number));

	for (int i = 0; i < (int) number.len - 1; i++)
		sum[place + i] += negative ? -packed_digit(number, i) : packed_digit(number, i);
}

/* Make each digit but the first one 0 to 99; the first one then has the sum's sign. */
static void
carry_pairs(int *sum, int n)
{
	for (int i = n - 1; i > 0; i--)
	{
		int digit = sum[i] % 100;

		if (digit < 0)
			digit += 100;
		sum[i - 1] += (sum[i] - digit) / 100;
		sum[i] = digit;
	}
}

/*
 * Computes a + b or a - b exactly.  Returns the length of the packed number, or an ItemNumberError
 * if it is none that an N can be.
 */
int
item_number_add(ItemSpan a, ItemSpan b, bool subtract, char out[ITEM_NUMBER_SIZE])
{
	int sum[SUM_PAIRS + 1] = {0};
	int high = -64;
	int low = 64;
	int n;
	bool negative;
	const ItemSpan numbers[2] = {a, b};

	for (int i = 0; i < 2; i++)
	{
		require_valid(numbers[i]);
		if (numbers[i].len == 0)
			continue;
		high = Max(high, packed_exponent(numbers[i]));
		low = Min(low, packed_exponent(numbers[i]) - (int) numbers[i].len + 1);
	}
	if (high - low > SUM_PAIRS)
		return ITEM_NUMBER_PRECISION;
	/* a place more for the carry */
	n = Max(high - low, 0) + 1;
	add_pairs(sum, high + 1, a, false);
	add_pairs(sum, high + 1, b, subtract);

	carry_pairs(sum, n);
	negative = sum[0] < 0;
	if (negative)
	{
		for (int i = 0; i < n; i++)
			sum[i] = -sum[i];
		carry_pairs(sum, n);
	}
	return pack_pairs(sum, n, high + 1, negative, out);
}

/* Prints plain notation, without an exponent; returns the length and ends it with a NUL. */
int
item_number_print(ItemSpan number, char out[ITEM_NUMBER_TEXT])
{
	char digits[2 * (ITEM_NUMBER_SIZE - 1)];
	int n = 0;
	int point; /* digits before the point */
	int i = 0;
	char *p = out;
	int npairs;
	uint32 few;

	if (number.len == 0)
	{
		strcpy(out, "0");
		return 1;
	}
	if (read_few(number, &npairs, &few))
	{
		n = 2 * npairs - (packed_digit(number, 0) < 10);
		out[n] = '\0';
		for (i = n; i > 0; few /= 10)
			out[--i] = (char) ('0' + few % 10);
		return n;
	}
	require_valid(number);
	for (int place = 0; place < (int) number.len - 1; place++)
	{
		int pair = packed_digit(number, place);

		digits[n++] = '0' + pair / 10;
		digits[n++] = '0' + pair % 10;
	}
	point = 2 * packed_exponent(number);
	if (digits[n - 1] == '0')
		n--;
	if (digits[0] == '0')
		i = 1;

	if (item_number_is_negative(number))
		*p++ = '-';
	if (point <= i)
		*p++ = '0';
	for (; i < point; i++)
		*p++ = i < n ? digits[i] : '0';
	if (point < n)
	{
		*p++ = '.';
		for (int zeros = point; zeros < 0; zeros++)
			*p++ = '0';
		/* a leading zero of the first pair belongs behind the point */
		for (i = Max(point, 0); i < n; i++)
			*p++ = digits[i];
	}
	*p = '\0';
	return (int) (p - out);
}

/* Returns what an error means, as the end of a sentence about the number. */
const char *
item_number_error(ItemNumberError error)
{
	switch (error)
	{
		case ITEM_NUMBER_PRECISION:
			return "has more than 38 significant digits";
		case ITEM_NUMBER_OVERFLOW:
			return "is larger than 9.99...E+125 in magnitude";
		case ITEM_NUMBER_UNDERFLOW:
			return "is smaller than 1E-130 in magnitude";
		case ITEM_NUMBER_SYNTAX:
			break;
	}
	return "is not a number";
}

/* A WrittenNumber holds the digits of a number as it is written, and where they are. */
typedef struct WrittenNumber
{
	int64 precision; /* digits from the first significant one on; at least 1 */
	int64 after_point;
	int64 exponent;
	bool exponent_is_beyond; /* 64 bits */
} WrittenNumber;

static void
read_exponent(const char *p, const char *end, WrittenNumber *number)
{
	bool negative = p < end && *p == '-';
	int64 e = 0;

	if (p < end && (*p == '+' || *p == '-'))
		p++;
	for (; p < end && !number->exponent_is_beyond; p++)
		number->exponent_is_beyond =
			pg_mul_s64_overflow(e, 10, &e) || pg_sub_s64_overflow(e, *p - '0', &e);
	/* below zero there is one more */
	if (!negative && !number->exponent_is_beyond)
		number->exponent_is_beyond = pg_sub_s64_overflow(0, e, &e);
	number->exponent = e;
}

/* Reads a number from text whose form is right. */
static WrittenNumber
read_written(ItemSpan text)
{
	const char *end = text.data + text.len;
	WrittenNumber number = {0};
	bool point = false;

	for (const char *p = text.data; p < end; p++)
	{
		if (*p == 'e' || *p == 'E')
		{
			read_exponent(p + 1, end, &number);
			break;
		}
		if (*p == '.')
			point = true;
		else if (*p >= '0' && *p <= '9')
		{
			number.after_point += point;
			number.precision += number.precision > 0 || *p != '0';
		}
	}
	number.precision = Max(number.precision, 1);
	return number;
}

static bool
is_int32(int64 value)
{
	return value >= PG_INT32_MIN && value <= PG_INT32_MAX;
}

/*
 * Returns what DynamoDB takes an error for in a parameter of PartiQL.  There exponents have 32
 * bits, and so has the place of the first digit, which begins again at the other end of its range.
 */
static ItemNumberError
parameter_error(ItemNumberError error, const WrittenNumber *number)
{
	int64 scale;

	if (number->exponent_is_beyond || !is_int32(number->exponent))
		return ITEM_NUMBER_SYNTAX;
	scale = number->after_point - number->exponent;
	if (!is_int32(scale))
		return ITEM_NUMBER_SYNTAX;
	return number->precision - scale > PG_INT32_MAX ? ITEM_NUMBER_UNDERFLOW : error;
}

static const char *
words_of_error(ItemNumberError error, ItemSpan text)
{
	switch (error)
	{
		case ITEM_NUMBER_PRECISION:
			return "Attempting to store more than 38 significant digits in a Number";
		case ITEM_NUMBER_OVERFLOW:
			return "Number overflow. Attempting to store a number with magnitude larger than "
				   "supported range";
		case ITEM_NUMBER_UNDERFLOW:
			return "Number underflow. Attempting to store a number with magnitude smaller than "
				   "supported range";
		case ITEM_NUMBER_SYNTAX:
			break;
	}
	if (text.len == 0)
		return "The parameter cannot be converted to a numeric value";
	return psprintf("The parameter cannot be converted to a numeric value: %s",
					item_quoted_words(text));
}

/*
 * Returns what DynamoDB says of an error; the text is what it says it of, where that is no number.
 * An exponent that 64 bits cannot hold makes no number.
 */
const char *
item_number_words(ItemNumberError error, ItemSpan text)
{
	if ((error == ITEM_NUMBER_OVERFLOW || error == ITEM_NUMBER_UNDERFLOW) &&
		read_written(text).exponent_is_beyond)
		error = ITEM_NUMBER_SYNTAX;
	return words_of_error(error, text);
}

/* Does the same for a parameter of PartiQL. */
const char *
item_number_words_parameter(ItemNumberError error, ItemSpan text)
{
	if (error == ITEM_NUMBER_OVERFLOW || error == ITEM_NUMBER_UNDERFLOW)
	{
		WrittenNumber number = read_written(text);

		error = parameter_error(error, &number);
	}
	return words_of_error(error, text);
}

/* Does the same for a sum or difference, which has too many digits if it is too large for them. */
const char *
item_number_words_sum(ItemNumberError error)
{
	return words_of_error(error == ITEM_NUMBER_PRECISION ? ITEM_NUMBER_OVERFLOW : error,
						  (ItemSpan){NULL, 0});
}
