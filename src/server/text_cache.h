/*
 * text_cache.h
 *	  A backend's cache of parsed texts: the entries that were used last, up to a number and a size.
 *
 *		entry = text_cache_find(&cache, &key);
 *		if (entry == NULL)
 *		{
 *			... make one in a memory context of its own, with a copy of the key ...
 *			text_cache_keep(&cache, entry);
 *		}
 *
 * An entry is the first member of a struct, and both functions pin it: an evicted entry lives until
 * text_cache_unpin() releases the last pin.  The result of parsing depends only on the key, so
 * entries are never invalidated.
 */
#ifndef DYNAMO_TABLE_SERVER_TEXT_CACHE_H
#define DYNAMO_TABLE_SERVER_TEXT_CACHE_H

#include "lib/ilist.h"

#include "server/span.h"

#define TEXT_CACHE_BUCKETS 128
#define TEXT_CACHE_MAX_MEMORY (16 * 1024 * 1024) /* bytes of all entries that are kept */
#define TEXT_CACHE_MAX_ENTRY (TEXT_CACHE_MAX_MEMORY / 16) /* of one: larger ones are not kept */

/* The whole key is compared: two texts may have the same hash. */
typedef struct TextKey
{
	int kind;
	ItemSpan text;
	ItemSpan names; /* beside the text; may be without data */
} TextKey;

typedef struct TextEntry
{
	MemoryContext context; /* of all of it */
	TextKey key;
	uint32 hash;
	Size memory; /* of all of it */
	bool kept;
	int pins;
	dlist_node bucket_node;
	dlist_node lru_node;
} TextEntry;

typedef struct TextCache
{
	const char *name; /* identifies its memory context, which is made when it is needed */
	int max; /* entries */
	uint32 max_key; /* largest size of a key's text and names in bytes; longer ones are not
	                 * cached */
	MemoryContext context;
	int size;
	Size memory;
	dlist_head buckets[TEXT_CACHE_BUCKETS];
	dlist_head lru; /* most recent first */
} TextCache;

extern TextEntry *text_cache_find(TextCache *cache, const TextKey *key);
extern void text_cache_keep(TextCache *cache, TextEntry *entry);
extern void text_cache_unpin(TextEntry *entry);
extern void text_cache_unpin_later(TextEntry *entry, MemoryContextCallback *callback);

#endif
