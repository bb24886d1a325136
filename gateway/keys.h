/*
 * keys.h
 *	  Access keys in memory: whom a key stands for, and its secret.
 *
 * A thread with a connection of its own loads the keys from dynamo_internal.access_key: at the
 * start, when the server says that they changed (NOTIFY dynamo_access_key; once a second, if it says
 * so all the time), every 60 seconds (a connection pooler in between loses notifications), and when
 * the configuration is read again.  All functions may be called by any thread.
 */
#ifndef GATEWAY_KEYS_H
#define GATEWAY_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_ID_SIZE 129 /* with the NUL */
#define ROLE_NAME_SIZE 64 /* as NAMEDATALEN */
#define MAX_SECRET_SIZE 128 /* in bytes; AWS's have 40 */
#define KEY_FOR_EVER INT64_MAX

/* A Caller is whom a request comes from. */
typedef struct Caller
{
	char key_id[KEY_ID_SIZE];
	uint32_t role; /* OID */
	char role_name[ROLE_NAME_SIZE]; /* for the log */
} Caller;

/* Returns a number for a key's id, by which it is found among others. */
static inline uint32_t
key_hash(const char *key_id)
{
	uint32_t hash = 2166136261u;

	for (; *key_id != '\0'; key_id++)
		hash = (hash ^ (unsigned char) *key_id) * 16777619u;
	return hash;
}

typedef struct AccessKey
{
	Caller caller;
	bool enabled;
	int64_t valid_until; /* seconds since 1970, or KEY_FOR_EVER */
	uint64_t version; /* another secret has another version, also that of a key made anew */
	size_t secret_length; /* in bytes */
	unsigned char secret[MAX_SECRET_SIZE];
} AccessKey;

typedef struct Keys Keys;

/* A KeysSource says where keys come from.  The strings are copied. */
typedef struct KeysSource
{
	const char *connection; /* as libpq's connection strings */
	const char *key_file; /* that secrets are encrypted with */
	int refresh_seconds; /* 0: 60 */
	/* Called with a message for the log: of what failed, or that something works again. */
	void (*report)(bool failed, const char *message);
} KeysSource;

/* Makes an empty set of keys.  NULL without memory. */
extern Keys *keys_new(void);

/*
 * Read the key file and start the thread that loads the keys.  Returns false and a message, to be
 * freed, if the key file is not usable or no thread can be started.  A server that cannot be reached
 * is no failure: the thread tries again, with pauses of 50 ms to 5 s.
 */
extern bool keys_start(Keys *keys, const KeysSource *source, char **failure);

/* Returns whether keys have been loaded since the start: before that every key is unknown. */
extern bool keys_loaded(Keys *keys);

/* Read the key file again, and have the keys loaded soon, over this connection from now on.  On
 * failure as keys_start(), and what was in the key file stays in use. */
extern bool keys_reload(Keys *keys, const char *connection, char **failure);

/* Copy the key with this id; false if there is none.  The caller cleanses the copy. */
extern bool keys_find(Keys *keys, const char *key_id, AccessKey *key);

/* Take these keys in place of all.  Sets the versions.  False without memory: all stays as it is. */
extern bool keys_replace(Keys *keys, const AccessKey *all, size_t count);

/* Stop the thread if there is one, cleanse and free all. */
extern void keys_free(Keys *keys);

#endif
