/*
 * late.c
 *	  Connections to Postgres whose statement has had its time.
 *
 * The server learns by client_connection_check_interval that we send no more, and ends the session,
 * whatever code runs in it.  Until it has, the statement counts among the requests of its key.
 */
#include "late.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "keys.h"
#include "limit.h"

typedef struct Late
{
	struct Late *next;
	PGconn *connection;
	const void *owner; /* whose it was */
	const void *target; /* the server */
	char key_id[KEY_ID_SIZE];
} Late;

static struct
{
	pthread_mutex_t lock;
	Late *first;
} late = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Give up a connection of an owner, which is ours from now on.  The request may be answered: its key
 * counts it until the session has ended. */
void
late_add(PGconn *connection, const void *owner, const void *target, const char *key_id)
{
	Late *new = calloc(1, sizeof(*new));

	if (new == NULL)
	{
		PQfinish(connection);
		return;
	}
	shutdown(PQsocket(connection), SHUT_WR);
	new->connection = connection;
	new->owner = owner;
	new->target = target;
	limit_stay(key_id);
	strcpy(new->key_id, key_id);
	pthread_mutex_lock(&late.lock);
	new->next = late.first;
	late.first = new;
	pthread_mutex_unlock(&late.lock);
}

/* Returns whether the session goes on.  What it sends is not kept, but read: the server does not
 * look for us while it waits to send more. */
static bool
goes_on(const Late *one)
{
	char ignored[65536];
	ssize_t n = recv(PQsocket(one->connection), ignored, sizeof(ignored), MSG_DONTWAIT);

	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Forget those whose session has ended.  Called often. */
void
late_check(void)
{
	Late **link = &late.first;
	Late *one;

	pthread_mutex_lock(&late.lock);
	while ((one = *link) != NULL)
	{
		if (goes_on(one))
		{
			link = &one->next;
			continue;
		}
		*link = one->next;
		PQfinish(one->connection);
		limit_leave(one->key_id);
		free(one);
	}
	pthread_mutex_unlock(&late.lock);
}

/* Returns how many of a server have not ended yet; NULL: of all. */
int
late_count(const void *target)
{
	int n = 0;

	pthread_mutex_lock(&late.lock);
	for (const Late *one = late.first; one != NULL; one = one->next)
		n += target == NULL || one->target == target;
	pthread_mutex_unlock(&late.lock);
	return n;
}

/* Returns how many of these an owner had for a key. */
int
late_count_of(const void *owner, const char *key_id)
{
	int n = 0;

	pthread_mutex_lock(&late.lock);
	for (const Late *one = late.first; one != NULL; one = one->next)
		n += one->owner == owner && strcmp(one->key_id, key_id) == 0;
	pthread_mutex_unlock(&late.lock);
	return n;
}
