/*
 * late.c
 *	  Connections to Postgres whose statement has had its time.
 *
 * The server learns by client_connection_check_interval that we send no more, and ends the session,
 * whatever code runs in it.  Until it has, the statement counts among the requests of its key.
 */
#include "late.h"

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
	bool counted; /* among the requests of its key */
	char key_id[KEY_ID_SIZE];
} Late;

static struct
{
	pthread_mutex_t lock;
	Late *first;
} late = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Give up a connection, which is ours from now on.  The request of the key may have its answer. */
void
late_add(PGconn *connection, const char *key_id)
{
	Late *new = calloc(1, sizeof(*new));

	if (new == NULL)
	{
		PQfinish(connection);
		return;
	}
	shutdown(PQsocket(connection), SHUT_WR);
	new->connection = connection;
	new->counted = limit_stay(key_id);
	strcpy(new->key_id, key_id);
	pthread_mutex_lock(&late.lock);
	new->next = late.first;
	late.first = new;
	pthread_mutex_unlock(&late.lock);
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
		if (PQconsumeInput(one->connection))
		{
			link = &one->next;
			continue;
		}
		*link = one->next;
		PQfinish(one->connection);
		if (one->counted)
			limit_leave(one->key_id);
		free(one);
	}
	pthread_mutex_unlock(&late.lock);
}

/* How many have not ended yet. */
int
late_count(void)
{
	int n = 0;

	pthread_mutex_lock(&late.lock);
	for (const Late *one = late.first; one != NULL; one = one->next)
		n++;
	pthread_mutex_unlock(&late.lock);
	return n;
}
