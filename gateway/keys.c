/*
 * keys.c
 *	  Access keys in memory: whom a key stands for, and its secret.
 */
#include "keys.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "key_loader.h"

struct Keys
{
	pthread_rwlock_t lock; /* of what follows, but the loader */
	AccessKey *all; /* by id */
	size_t count;
	uint64_t last_version;
	bool loaded;
	KeyLoader *loader; /* or NULL */
};

/*
 * Makes a lock that lets its writer in before readers that come later.  By default readers go
 * first, and threads that look for keys all the time keep a change of the keys out for ever.  No
 * thread takes it twice, which this kind forbids.
 */
static bool
init_lock(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t kind;
	bool done;

	if (pthread_rwlockattr_init(&kind) != 0)
		return false;
	done =
		pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0 &&
		pthread_rwlock_init(lock, &kind) == 0;
	pthread_rwlockattr_destroy(&kind);
	return done;
}

/* Makes an empty set of keys. */
Keys *
keys_new(void)
{
	Keys *keys = calloc(1, sizeof(*keys));

	if (keys != NULL && !init_lock(&keys->lock))
	{
		free(keys);
		return NULL;
	}
	return keys;
}

/* Have the keys loaded from a server. */
bool
keys_start(Keys *keys, const KeysSource *source, char **failure)
{
	keys->loader = key_loader_start(keys, source, failure);
	return keys->loader != NULL;
}

/* Have them loaded again. */
bool
keys_reload(Keys *keys, const char *connection, char **failure)
{
	return keys->loader == NULL || key_loader_reload(keys->loader, connection, failure);
}

/* Returns whether keys have been loaded since the start. */
bool
keys_loaded(Keys *keys)
{
	bool loaded;

	pthread_rwlock_rdlock(&keys->lock);
	loaded = keys->loaded;
	pthread_rwlock_unlock(&keys->lock);
	return loaded;
}

static int
compare_keys(const void *a, const void *b)
{
	return strcmp(((const AccessKey *) a)->caller.key_id, ((const AccessKey *) b)->caller.key_id);
}

static int
compare_id(const void *key_id, const void *key)
{
	return strcmp(key_id, ((const AccessKey *) key)->caller.key_id);
}

/* Returns the key with this id, or NULL. */
static AccessKey *
keys_search(const Keys *keys, const char *key_id)
{
	if (keys->count == 0)
		return NULL;
	return bsearch(key_id, keys->all, keys->count, sizeof(*keys->all), compare_id);
}

/* Copy the key with this id. */
bool
keys_find(Keys *keys, const char *key_id, AccessKey *key)
{
	const AccessKey *found;

	pthread_rwlock_rdlock(&keys->lock);
	found = keys_search(keys, key_id);
	if (found != NULL)
		*key = *found;
	pthread_rwlock_unlock(&keys->lock);
	return found != NULL;
}

/* Returns whether two keys have one secret. */
static bool
same_secret(const AccessKey *a, const AccessKey *b)
{
	return a->secret_length == b->secret_length &&
		   CRYPTO_memcmp(a->secret, b->secret, a->secret_length) == 0;
}

/* Give a key the version of its secret: that which it had, or a new one. */
static void
set_version(Keys *keys, AccessKey *key)
{
	const AccessKey *before = keys_search(keys, key->caller.key_id);

	if (before != NULL && same_secret(before, key))
		key->version = before->version;
	else
		key->version = ++keys->last_version;
}

static void
cleanse(AccessKey *all, size_t count)
{
	if (all != NULL)
		OPENSSL_cleanse(all, count * sizeof(*all));
	free(all);
}

/* Take these keys in place of all. */
bool
keys_replace(Keys *keys, const AccessKey *all, size_t count)
{
	AccessKey *copy = malloc((count + 1) * sizeof(*copy));

	if (copy == NULL)
		return false;
	if (count > 0)
		memcpy(copy, all, count * sizeof(*copy));
	qsort(copy, count, sizeof(*copy), compare_keys);
	pthread_rwlock_wrlock(&keys->lock);
	for (size_t i = 0; i < count; i++)
		set_version(keys, &copy[i]);
	cleanse(keys->all, keys->count);
	keys->all = copy;
	keys->count = count;
	keys->loaded = true;
	pthread_rwlock_unlock(&keys->lock);
	return true;
}

/* Stop the thread, cleanse and free all. */
void
keys_free(Keys *keys)
{
	if (keys == NULL)
		return;
	if (keys->loader != NULL)
		key_loader_stop(keys->loader);
	cleanse(keys->all, keys->count);
	pthread_rwlock_destroy(&keys->lock);
	free(keys);
}
