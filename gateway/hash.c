/*
 * hash.c
 *	  Hashes of keys as PostgreSQL has them, by which Citus finds shards.
 *
 * These are hash_bytes() and hash_numeric() of the server, which are Bob Jenkins' lookup3.  Should a server
 * hash otherwise, its shards are not used: it is asked for a hash before they are.
 */
#include "hash.h"

#include <string.h>

#define MAX_DIGITS 128
#define MAX_EXPONENT 1000

static uint32_t
rotate(uint32_t x, int bits)
{
	return x << bits | x >> (32 - bits);
}

/* Returns up to four bytes as a number. */
static uint32_t
read_bytes(const unsigned char *bytes, size_t n)
{
	uint32_t value = 0;

	for (size_t i = 0; i < n && i < 4; i++)
		value |= (uint32_t) bytes[i] << 8 * i;
	return value;
}

/* Adds the last bytes; the lowest byte of the third number is the length's. */
static void
add_tail(uint32_t n[3], const unsigned char *bytes, size_t left)
{
	n[0] += read_bytes(bytes, left);
	n[1] += left > 4 ? read_bytes(bytes + 4, left - 4) : 0;
	n[2] += left > 8 ? read_bytes(bytes + 8, left - 8) << 8 : 0;
}

/* Returns what hashtext() of a collation such as "C", and hashvarlena() of bytea, return on a machine
 * that is little-endian. */
uint32_t
hash_of_bytes(const void *data, size_t length)
{
	static const int mixing[] = {4, 6, 8, 16, 19, 4};
	static const int ending[] = {14, 11, 25, 16, 4, 14, 24};
	const unsigned char *bytes = data;
	uint32_t n[3];

	n[0] = n[1] = n[2] = 0x9e3779b9 + (uint32_t) length + 3923095;
	for (; length >= 12; bytes += 12, length -= 12)
	{
		for (int i = 0; i < 3; i++)
			n[i] += read_bytes(bytes + 4 * i, 4);
		for (int i = 0; i < 6; i++)
		{
			uint32_t *a = &n[i % 3];
			uint32_t *b = &n[(i + 1) % 3];
			uint32_t *c = &n[(i + 2) % 3];

			*a -= *c;
			*a ^= rotate(*c, mixing[i]);
			*c += *b;
		}
	}
	add_tail(n, bytes, length);
	for (int i = 0; i < 7; i++)
	{
		uint32_t *changed = &n[(i + 2) % 3];
		uint32_t *by = &n[(i + 1) % 3];

		*changed ^= *by;
		*changed -= rotate(*by, ending[i]);
	}
	return n[2];
}

/* A Number is 0.d1d2d3... times ten to the power of "places", without zeros at either end. */
typedef struct Number
{
	char digits[MAX_DIGITS];
	int count;
	long places;
} Number;

static bool
read_exponent(const char *text, const char *end, long *exponent)
{
	bool negative = text < end && *text == '-';

	*exponent = 0;
	text += text < end && (*text == '-' || *text == '+');
	if (text == end)
		return false;
	for (; text < end && *text >= '0' && *text <= '9' && *exponent < MAX_EXPONENT; text++)
		*exponent = *exponent * 10 + (*text - '0');
	if (negative)
		*exponent = -*exponent;
	return text == end;
}

/* Reads a number, whose sign does not matter. */
static bool
read_number(const char *text, size_t length, Number *number)
{
	const char *end = text + length;
	bool point = false;
	bool any = false;
	long exponent = 0;

	*number = (Number){.count = 0};
	text += text < end && (*text == '-' || *text == '+');
	for (; text < end && ((*text >= '0' && *text <= '9') || (*text == '.' && !point)); text++)
	{
		if (*text == '.')
		{
			point = true;
			continue;
		}
		any = true;
		if (number->count == 0 && *text == '0')
		{
			number->places -= point;
			continue;
		}
		if (number->count == MAX_DIGITS)
			return false;
		number->digits[number->count++] = *text;
		number->places += !point;
	}
	if (text < end && (*text == 'e' || *text == 'E') && !read_exponent(text + 1, end, &exponent))
		return false;
	number->places += exponent;
	while (number->count > 0 && number->digits[number->count - 1] == '0')
		number->count--;
	return any && (text == end || *text == 'e' || *text == 'E');
}

/* Computes what hash_numeric() returns of a number as JSON has it.  False if the text is none, or a
 * very long one. */
bool
hash_of_number(const char *text, size_t length, uint32_t *hash)
{
	unsigned char groups[2 * (MAX_DIGITS / 4 + 2)] = {0};
	Number number;
	long weight;
	size_t shift;
	size_t last = 0;

	if (!read_number(text, length, &number))
		return false;
	if (number.count == 0)
	{
		*hash = UINT32_MAX;
		return true;
	}
	/* a group of four digits is a digit of numeric; the first one may begin with zeros */
	weight = number.places > 0 ? (number.places - 1) / 4 : (number.places - 4) / 4;
	shift = (size_t) (4 * (weight + 1) - number.places);
	for (size_t i = 0; i < (size_t) number.count; i++)
	{
		static const int powers[] = {1000, 100, 10, 1};
		size_t at = i + shift;
		unsigned group;

		last = at / 4;
		group = groups[2 * last] + 256u * groups[2 * last + 1];
		group += (unsigned) ((number.digits[i] - '0') * powers[at % 4]);
		groups[2 * last] = (unsigned char) group;
		groups[2 * last + 1] = (unsigned char) (group >> 8);
	}
	*hash = hash_of_bytes(groups, 2 * (last + 1)) ^ (uint32_t) weight;
	return true;
}
