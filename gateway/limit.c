/*
 * limit.c
 *	  How many requests one key may have: in a second, and at once.
 *
 * Only keys that signed a request come here, so there are not more than keys.  A key may save up
 * the requests of one second.
 */
#include "limit.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "keys.h"

#define BUCKETS 1024

typedef struct Account
{
	struct Account *next;
	int64_t at; /* when credit was right */
	double credit; /* requests that may come at once */
	int running;
	char key_id[];
} Account;

static struct
{
	pthread_mutex_t lock;
	Account *accounts[BUCKETS];
} limits = {.lock = PTHREAD_MUTEX_INITIALIZER};

static Account **
bucket_of(const char *key_id)
{
	return &limits.accounts[key_hash(key_id) % BUCKETS];
}

static Account *
limit_find(const char *key_id)
{
	Account *account = *bucket_of(key_id);

	while (account != NULL && strcmp(account->key_id, key_id) != 0)
		account = account->next;
	return account;
}

static Account *
find_or_add(const char *key_id)
{
	Account *account = limit_find(key_id);
	Account **bucket = bucket_of(key_id);

	if (account != NULL)
		return account;
	account = calloc(1, sizeof(*account) + strlen(key_id) + 1);
	if (account == NULL)
		return NULL;
	strcpy(account->key_id, key_id);
	account->at = clock_now();
	account->credit = config_now()->requests_per_second;
	account->next = *bucket;
	*bucket = account;
	return account;
}

/* Returns whether the rate allows one more, which is then counted. */
static bool
take_credit(Account *account, int rate)
{
	int64_t now = clock_now();

	if (rate == 0)
		return true;
	account->credit += (double) (now - account->at) * rate / 1e6;
	if (account->credit > rate)
		account->credit = rate;
	account->at = now;
	if (account->credit < 1)
		return false;
	account->credit -= 1;
	return true;
}

/*
 * Returns the setting that forbids the key more requests, or NULL, after which limit_leave() is
 * due.
 */
const char *
limit_enter(const char *key_id)
{
	const Config *config = config_now();
	const char *reason = NULL;
	Account *account;

	if (config->requests_per_second == 0 && config->requests_at_once == 0)
		return NULL;
	pthread_mutex_lock(&limits.lock);
	account = find_or_add(key_id);
	if (account == NULL)
		reason = "memory";
	else if (config->requests_at_once > 0 && account->running >= config->requests_at_once)
		reason = "requests_at_once";
	else if (!take_credit(account, config->requests_per_second))
		reason = "requests_per_second";
	else
		account->running++;
	pthread_mutex_unlock(&limits.lock);
	return reason;
}

/* Counts one more that is running, allowed or not, after which limit_leave() is due. */
void
limit_stay(const char *key_id)
{
	Account *account;

	pthread_mutex_lock(&limits.lock);
	account = limit_find(key_id);
	if (account != NULL)
		account->running++;
	pthread_mutex_unlock(&limits.lock);
}

/* Notes that a request of the key has come to its end. */
void
limit_leave(const char *key_id)
{
	Account *account;

	pthread_mutex_lock(&limits.lock);
	account = limit_find(key_id);
	/* limits may have been set meanwhile */
	if (account != NULL && account->running > 0)
		account->running--;
	pthread_mutex_unlock(&limits.lock);
}
