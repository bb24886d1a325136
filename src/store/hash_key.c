/*
 * hash_key.c
 *	  A partition key whose hash lies in a range, so that Citus sends a statement with it to a shard.
 *
 * Citus finds the shard of a statement by a value of the distribution column, and by nothing else.
 * Most shards have many hashes, and small numbers soon hit them.  One that was split, or has a
 * single tenant, may have few or one: then twelve bytes are computed from the hash.  PostgreSQL's
 * hash_bytes() can be undone, for it takes twelve bytes as three words into three words of state,
 * by steps that each can be undone.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/builtins.h"

#include "catalog/key.h"
#include "store/shard.h"

#define SMALL_NUMBERS (1 << 14)

/* So many words are tried; of numbers, one in 80,000 will do. */
#define TRIES (1 << 24)

#define WORDS 3
#define BYTES (WORDS * sizeof(uint32))
#define DIGITS (WORDS * sizeof(uint32) / sizeof(int16))

static Datum
number_key(ItemType type, const char *digits)
{
	return type == ITEM_N ? DirectFunctionCall3(numeric_in, CStringGetDatum(digits),
												ObjectIdGetDatum(0), Int32GetDatum(-1))
						  : PointerGetDatum(cstring_to_text(digits));
}

/* Undoes final() of hash_bytes(). */
static void
undo_final(uint32 *a, uint32 *b, uint32 *c)
{
	*c += pg_rotate_left32(*b, 24);
	*c ^= *b;
	*b += pg_rotate_left32(*a, 14);
	*b ^= *a;
	*a += pg_rotate_left32(*c, 4);
	*a ^= *c;
	*c += pg_rotate_left32(*b, 16);
	*c ^= *b;
	*b += pg_rotate_left32(*a, 25);
	*b ^= *a;
	*a += pg_rotate_left32(*c, 11);
	*a ^= *c;
	*c += pg_rotate_left32(*b, 14);
	*c ^= *b;
}

/* Undoes a step of mix(): x -= z; x ^= rot(z, by); z += y. */
static void
undo_step(uint32 *x, const uint32 *y, uint32 *z, int by)
{
	*z -= *y;
	*x ^= pg_rotate_left32(*z, by);
	*x += *z;
}

/* Undoes mix() of hash_bytes(). */
static void
undo_mix(uint32 *a, uint32 *b, uint32 *c)
{
	undo_step(c, a, b, 4);
	undo_step(b, c, a, 19);
	undo_step(a, b, c, 16);
	undo_step(c, a, b, 8);
	undo_step(b, c, a, 6);
	undo_step(a, b, c, 4);
}

/* Sets twelve bytes that have this hash; there are as many as seeds. */
static void
make_words(uint32 hash, uint32 seed, uint32 words[WORDS])
{
	const uint32 start = 0x9e3779b9 + (uint32) BYTES + 3923095;
	uint32 a = seed;
	uint32 b = ~seed;
	uint32 c = hash;

	undo_final(&a, &b, &c);
	undo_mix(&a, &b, &c);
	words[0] = a - start;
	words[1] = b - start;
	words[2] = c - start;
}

static bool
is_ascii(const uint32 words[WORDS])
{
	const unsigned char *bytes = (const unsigned char *) words;

	for (int i = 0; i < (int) BYTES; i++)
	{
		if (bytes[i] == 0 || bytes[i] > 127)
			return false;
	}
	return true;
}

/* Sets the digits of a number if the words are such as numeric has them: base 10000, here without 0. */
static bool
set_digits(const uint32 words[WORDS], char *text)
{
	int16 digits[DIGITS];

	memcpy(digits, words, sizeof(digits));
	for (int i = 0; i < (int) DIGITS; i++)
	{
		if (digits[i] < 1 || digits[i] > 9999)
			return false;
		snprintf(text + 4 * i, 5, "%04d", digits[i]);
	}
	return true;
}

/*
 * Returns a partition key with this hash.  The hash of a number is that of its digits, into which
 * hash_numeric() mixes the power of 10000 of the first one.
 */
static Datum
computed_key(ItemType type, int32 hash)
{
	uint32 target = type == ITEM_N ? (uint32) hash ^ (DIGITS - 1) : (uint32) hash;
	char digits[4 * DIGITS + 1];
	uint32 words[WORDS];

	for (uint32 seed = 0; seed < TRIES; seed++)
	{
		make_words(target, seed, words);
		if (type == ITEM_N && set_digits(words, digits))
			return number_key(type, digits);
		if (type == ITEM_B || (type == ITEM_S && is_ascii(words)))
			return PointerGetDatum(cstring_to_text_with_len((const char *) words, BYTES));
	}
	elog(ERROR, "found no partition key with hash %d", hash);
}

/* Returns a partition key whose hash lies in a range. */
Datum
store_hash_key(const DynTable *table, int32 from, int32 to)
{
	ItemType type = table->keys[0].type;

	for (int i = 0; i < SMALL_NUMBERS; i++)
	{
		char digits[12];
		int32 hash;
		Datum key;

		pg_ltoa(i, digits);
		key = number_key(type, digits);
		hash = store_hash(table, key);
		if (hash >= from && hash <= to)
			return key;
		pfree(DatumGetPointer(key));
	}
	return computed_key(type, from);
}
