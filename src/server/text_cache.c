/*
 * text_cache.c
 *	  A backend's cache of parsed texts.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "server/text_cache.h"

static void
init_cache(TextCache *cache)
{
	dlist_init(&cache->lru);
	for (int i = 0; i < TEXT_CACHE_BUCKETS; i++)
		dlist_init(&cache->buckets[i]);
	cache->context =
		AllocSetContextCreate(CacheMemoryContext, "dynamo_table parsed", ALLOCSET_SMALL_SIZES);
	MemoryContextSetIdentifier(cache->context, cache->name);
}

static uint32
hash_key(const TextKey *key)
{
	uint32 hash = hash_bytes((const unsigned char *) key->text.data, (int) key->text.len);

	return hash_combine(hash,
						hash_bytes((const unsigned char *) key->names.data, (int) key->names.len));
}

static bool
same(ItemSpan a, ItemSpan b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Returns the entry that has this key, pinned, or NULL if none is kept. */
TextEntry *
text_cache_find(TextCache *cache, const TextKey *key)
{
	uint32 hash = hash_key(key);
	dlist_iter it;

	if (cache->context == NULL)
		init_cache(cache);
	dlist_foreach(it, &cache->buckets[hash % TEXT_CACHE_BUCKETS])
	{
		TextEntry *entry = dlist_container(TextEntry, bucket_node, it.cur);

		if (entry->hash == hash && entry->key.kind == key->kind &&
			same(entry->key.text, key->text) && same(entry->key.names, key->names))
		{
			dlist_move_head(&cache->lru, &entry->lru_node);
			entry->pins++;
			return entry;
		}
	}
	return NULL;
}

/* Evicts an entry; a pinned one is freed with its last pin. */
static void
drop_last(TextCache *cache)
{
	TextEntry *entry = dlist_tail_element(TextEntry, lru_node, &cache->lru);

	dlist_delete(&entry->bucket_node);
	dlist_delete(&entry->lru_node);
	cache->size--;
	cache->memory -= entry->memory;
	entry->kept = false;
	if (entry->pins == 0)
		MemoryContextDelete(entry->context);
}

/*
 * Keeps an entry that text_cache_find() has not found, and pins it.  Its memory context becomes the
 * cache's.  Nothing can fail here, so no incomplete entry is ever seen.
 */
void
text_cache_keep(TextCache *cache, TextEntry *entry)
{
	entry->hash = hash_key(&entry->key);
	entry->pins = 1;
	MemoryContextSetParent(entry->context, cache->context);
	entry->memory = MemoryContextMemAllocated(entry->context, true);
	if (entry->key.text.len + entry->key.names.len > cache->max_key ||
		entry->memory > TEXT_CACHE_MAX_ENTRY)
		return;
	while (cache->size == cache->max || cache->memory + entry->memory > TEXT_CACHE_MAX_MEMORY)
		drop_last(cache);
	dlist_push_head(&cache->buckets[entry->hash % TEXT_CACHE_BUCKETS], &entry->bucket_node);
	dlist_push_head(&cache->lru, &entry->lru_node);
	entry->kept = true;
	cache->size++;
	cache->memory += entry->memory;
}

/* Gives back a pin.  The last one frees an entry that is no longer kept. */
void
text_cache_unpin(TextEntry *entry)
{
	Assert(entry->pins > 0);
	if (--entry->pins == 0 && !entry->kept)
		MemoryContextDelete(entry->context);
}

static void
unpin(void *arg)
{
	text_cache_unpin(arg);
}

/*
 * Gives back a pin when the current memory context is reset.  The caller has allocated the callback
 * there before the entry was pinned, so that nothing can fail while it is.
 */
void
text_cache_unpin_later(TextEntry *entry, MemoryContextCallback *callback)
{
	callback->func = unpin;
	callback->arg = entry;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
}
