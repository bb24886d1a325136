/*
 * derived.c
 *	  A cache of derived keys.
 */
#include "derived.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "authorization.h"

#define PLACES 1024
#define DAY_SIZE 9

/* Version 0 is no key's: the place is free. */
typedef struct DerivedKey
{
	uint64_t version;
	char day[DAY_SIZE];
	char region[REGION_SIZE];
	unsigned char key[HASH_SIZE];
} DerivedKey;

struct DerivedKeys
{
	pthread_mutex_t lock;
	DerivedKey places[PLACES];
};

/* Makes an empty cache. */
DerivedKeys *
derived_keys_new(void)
{
	DerivedKeys *cache = calloc(1, sizeof(*cache));

	if (cache != NULL && pthread_mutex_init(&cache->lock, NULL) != 0)
	{
		free(cache);
		return NULL;
	}
	return cache;
}

/* Hashes by FNV-1a.  Collisions cost a derivation, and are made by those who know secrets only. */
static uint64_t
mix(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
	return hash;
}

/* Returns the only place where this key may be. */
static DerivedKey *
place_of(DerivedKeys *cache, const DerivedFrom *from)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	hash = mix(hash, &from->version, sizeof(from->version));
	hash = mix(hash, from->day, strlen(from->day));
	hash = mix(hash, from->region, strlen(from->region));
	return &cache->places[(hash ^ hash >> 32) % PLACES];
}

static bool
fits(const DerivedFrom *from)
{
	return strlen(from->day) < DAY_SIZE && strlen(from->region) < REGION_SIZE;
}

/* Finds the key if it is in the cache. */
bool
derived_keys_find(DerivedKeys *cache, const DerivedFrom *from, unsigned char key[HASH_SIZE])
{
	const DerivedKey *place = place_of(cache, from);
	bool found;

	pthread_mutex_lock(&cache->lock);
	found = place->version == from->version && strcmp(place->day, from->day) == 0 &&
			strcmp(place->region, from->region) == 0;
	if (found)
		memcpy(key, place->key, HASH_SIZE);
	pthread_mutex_unlock(&cache->lock);
	return found;
}

/* Keep a key. */
void
derived_keys_keep(DerivedKeys *cache, const DerivedFrom *from, const unsigned char key[HASH_SIZE])
{
	DerivedKey *place = place_of(cache, from);

	if (!fits(from))
		return;
	pthread_mutex_lock(&cache->lock);
	place->version = from->version;
	strcpy(place->day, from->day);
	strcpy(place->region, from->region);
	memcpy(place->key, key, HASH_SIZE);
	pthread_mutex_unlock(&cache->lock);
}

/* Cleanse and free. */
void
derived_keys_free(DerivedKeys *cache)
{
	if (cache == NULL)
		return;
	pthread_mutex_destroy(&cache->lock);
	OPENSSL_cleanse(cache, sizeof(*cache));
	free(cache);
}
