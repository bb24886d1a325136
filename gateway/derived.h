/*
 * derived.h
 *	  A cache of derived keys: what requests of one day and region are signed with.
 *
 * It has a fixed number of places, and holds only keys that a request was really signed with: who
 * does not know a secret can neither fill it nor push others out.  All functions may be called by
 * any thread.
 */
#ifndef GATEWAY_DERIVED_H
#define GATEWAY_DERIVED_H

#include <stdbool.h>
#include <stdint.h>

#include "canonical.h"

typedef struct DerivedKeys DerivedKeys;

/* A DerivedFrom says of which secret, day and region a key is derived. */
typedef struct DerivedFrom
{
	uint64_t version; /* AccessKey's: each secret has its own */
	const char *day; /* YYYYMMDD */
	const char *region;
} DerivedFrom;

/* Makes an empty cache; returns NULL without memory. */
extern DerivedKeys *derived_keys_new(void);

/* Finds the key if it is in the cache. */
extern bool derived_keys_find(DerivedKeys *cache, const DerivedFrom *from,
							  unsigned char key[HASH_SIZE]);

/* Keep a key, in the place of another if need be. */
extern void derived_keys_keep(DerivedKeys *cache, const DerivedFrom *from,
							  const unsigned char key[HASH_SIZE]);

/* Cleanse and free. */
extern void derived_keys_free(DerivedKeys *cache);

#endif
