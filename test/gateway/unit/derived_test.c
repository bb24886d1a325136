/*
 * derived_test.c
 *	  The cache of derived keys: what is found is right, whatever shares its place.
 */
#include "derived.h"
#include "test.h"

#include <stdlib.h>

#define VERSIONS 40
#define DAYS 5
#define REGIONS 40

static DerivedKeys *cache;

/* The key that is kept for such numbers. */
static void
make_key(int version, int day, int region, unsigned char key[HASH_SIZE])
{
	memset(key, 0, HASH_SIZE);
	key[0] = (unsigned char) version;
	key[1] = (unsigned char) day;
	key[2] = (unsigned char) region;
}

/* Of what it is. */
static DerivedFrom
make_from(int version, int day, int region)
{
	static char day_text[32];
	static char region_text[80];

	snprintf(day_text, sizeof(day_text), "201306%02d", day);
	snprintf(region_text, sizeof(region_text), "%0*d", 50 + region % 30, region);
	return (DerivedFrom){(uint64_t) version, day_text, region_text};
}

static void
keep_all(void)
{
	for (int version = 1; version <= VERSIONS; version++)
	{
		for (int day = 0; day < DAYS; day++)
		{
			for (int region = 0; region < REGIONS; region++)
			{
				DerivedFrom from = make_from(version, day, region);
				unsigned char key[HASH_SIZE];

				make_key(version, day, region, key);
				derived_keys_keep(cache, &from, key);
			}
		}
	}
}

/* How many are found; -1 if one of them is another's. */
static int
find_all(void)
{
	int found = 0;

	for (int version = 0; version <= VERSIONS; version++)
	{
		for (int day = 0; day < DAYS; day++)
		{
			for (int region = 0; region < REGIONS; region++)
			{
				DerivedFrom from = make_from(version, day, region);
				unsigned char expected[HASH_SIZE];
				unsigned char key[HASH_SIZE];

				if (!derived_keys_find(cache, &from, key))
					continue;
				make_key(version, day, region, expected);
				if (version == 0 || memcmp(key, expected, HASH_SIZE) != 0)
					return -1;
				found++;
			}
		}
	}
	return found;
}

int
main(void)
{
	const DerivedFrom from = {7, "20130609", "us-east-1"};
	const DerivedFrom others[] = {{8, "20130609", "us-east-1"},
								  {7, "20130608", "us-east-1"},
								  {7, "20130609", "us-east-2"},
								  {7, "20130609", ""}};
	unsigned char key[HASH_SIZE] = {1};
	unsigned char got[HASH_SIZE] = {0};
	int found;

	cache = derived_keys_new();
	ok(find_all() == 0, "nothing is there at first");
	derived_keys_keep(cache, &from, key);
	ok(derived_keys_find(cache, &from, got) && memcmp(key, got, HASH_SIZE) == 0, "a key is found");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		ok(!derived_keys_find(cache, &others[i], got), "others are not, %zu", i);
	keep_all();
	found = find_all();
	ok(found > 100 && found <= 1024, "more keys than there are places");
	derived_keys_free(cache);
	return failures > 0;
}
