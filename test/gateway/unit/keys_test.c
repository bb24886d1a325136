/*
 * keys_test.c
 *	  The set of keys: who is found, versions of secrets, and many threads.
 */
#include "keys.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 2000

static Keys *keys;
static atomic_bool stop;
static atomic_long torn;
static atomic_long found;
static char reported[256];

static AccessKey
make_key(int number, char secret)
{
	AccessKey key = {.enabled = true, .valid_until = KEY_FOR_EVER};

	snprintf(key.caller.key_id, KEY_ID_SIZE, "AKID%04d", number);
	snprintf(key.caller.role_name, ROLE_NAME_SIZE, "role %d", number);
	key.caller.role = (uint32_t) number;
	key.secret_length = 40;
	memset(key.secret, secret, key.secret_length);
	return key;
}

static uint64_t
version_of(const char *key_id)
{
	AccessKey key;

	return keys_find(keys, key_id, &key) ? key.version : 0;
}

static void
test_find(void)
{
	AccessKey all[] = {make_key(3, 'c'), make_key(1, 'a'), make_key(2, 'b')};
	AccessKey key;

	ok(!keys_loaded(keys) && !keys_find(keys, "AKID0001", &key), "nothing is there at first");
	ok(keys_replace(keys, all, 3) && keys_loaded(keys), "keys are taken");
	ok(keys_find(keys, "AKID0002", &key) && key.caller.role == 2 && key.secret[0] == 'b' &&
		   strcmp(key.caller.role_name, "role 2") == 0,
	   "a key is found");
	ok(!keys_find(keys, "AKID0004", &key) && !keys_find(keys, "", &key) &&
		   !keys_find(keys, "AKID000", &key),
	   "others are not");
	ok(keys_replace(keys, NULL, 0) && keys_loaded(keys) && !keys_find(keys, "AKID0002", &key),
	   "all keys are gone");
}

static void
test_versions(void)
{
	AccessKey all[] = {make_key(1, 'a'), make_key(2, 'a')};
	uint64_t first;
	uint64_t second;

	keys_replace(keys, all, 2);
	first = version_of("AKID0001");
	second = version_of("AKID0002");
	ok(first != 0 && second != 0 && first != second, "keys of the same secret have two versions");
	all[0].enabled = false;
	all[0].caller.role = 7;
	keys_replace(keys, all, 2);
	ok(version_of("AKID0001") == first, "the version is the secret's alone");
	all[0].secret[39] = 'b';
	keys_replace(keys, all, 2);
	ok(version_of("AKID0001") > second && version_of("AKID0002") == second, "another secret");
	all[0].secret[39] = 'a';
	keys_replace(keys, all, 2);
	ok(version_of("AKID0001") > second + 1, "the first secret again is another version");
	all[0].secret_length = 39;
	first = version_of("AKID0001");
	keys_replace(keys, all, 2);
	ok(version_of("AKID0001") > first, "a shorter secret");
}

/* Look for keys, which are always whole. */
static void *
find_keys(void *argument)
{
	AccessKey key;

	(void) argument;
	while (!atomic_load(&stop))
	{
		if (!keys_find(keys, "AKID0005", &key))
			continue;
		atomic_fetch_add(&found, 1);
		for (size_t i = 1; i < key.secret_length; i++)
		{
			if (key.secret[i] != key.secret[0])
				atomic_fetch_add(&torn, 1);
		}
	}
	return NULL;
}

static void
test_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, find_keys, NULL);
	for (int round = 0; round < ROUNDS; round++)
	{
		AccessKey all[10];
		size_t count = (size_t) (round % 10) + 1;

		for (size_t i = 0; i < count; i++)
			all[i] = make_key((int) i, (char) ('a' + round % 26));
		keys_replace(keys, all, count);
	}
	while (atomic_load(&found) == 0)
	{
		AccessKey key = make_key(5, 'x');

		keys_replace(keys, &key, 1);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ok(atomic_load(&torn) == 0, "%d threads see whole keys only", THREADS);
}

static void
report(bool failed, const char *message)
{
	(void) failed;
	snprintf(reported, sizeof(reported), "%s", message);
}

/* What can be said of a loader without a server. */
static void
test_start(void)
{
	char path[] = "/tmp/gateway-keys-XXXXXX";
	int file = mkstemp(path);
	KeysSource source = {.connection = "host=/nowhere", .key_file = path, .report = report};
	Keys *loaded = keys_new();
	char *failure = NULL;

	ok(!keys_start(loaded, &source, &failure) && strstr(failure, "must have 32 bytes") != NULL,
	   "a key file that is no key file");
	free(failure);
	failure = NULL;
	ok(write(file, "0123456789abcdef0123456789abcdef", 32) == 32 &&
		   keys_start(loaded, &source, &failure),
	   "a server that is not there is no failure");
	ok(keys_reload(loaded, "host=/elsewhere", &failure), "reload");
	ok(truncate(path, 5) == 0 && !keys_reload(loaded, "host=/elsewhere", &failure),
	   "reload with a broken key file");
	free(failure);
	ok(!keys_loaded(loaded), "nothing is loaded");
	keys_free(loaded);
	close(file);
	unlink(path);
}

int
main(void)
{
	keys = keys_new();
	if (keys == NULL)
		return 1;
	test_find();
	test_versions();
	test_threads();
	test_start();
	keys_free(keys);
	return failures > 0;
}
