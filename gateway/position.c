/*
 * position.c
 *	  How far a standby has to be for each key, so that its reads see its own writes.
 *
 * Only keys that signed a write come here, so there are not more than keys.
 */
#include "position.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"

#define BUCKETS 1024

typedef struct Position
{
	struct Position *next;
	uint64_t position; /* of the write-ahead log */
	char key_id[];
} Position;

static struct
{
	pthread_mutex_t lock;
	uint64_t lost; /* that no memory was there for: it is everybody's */
	Position *of[BUCKETS];
} positions = {.lock = PTHREAD_MUTEX_INITIALIZER};

static Position **
find_position(const char *key_id)
{
	Position **link = &positions.of[key_hash(key_id) % BUCKETS];

	while (*link != NULL && strcmp((*link)->key_id, key_id) != 0)
		link = &(*link)->next;
	return link;
}

/* A write of the key is committed, and the log is there or not as far by now. */
void
position_note(const char *key_id, uint64_t position)
{
	Position **link;

	pthread_mutex_lock(&positions.lock);
	link = find_position(key_id);
	if (*link == NULL)
	{
		*link = calloc(1, sizeof(**link) + strlen(key_id) + 1);
		if (*link != NULL)
			strcpy((*link)->key_id, key_id);
	}
	if (*link == NULL)
		positions.lost = POSITION_UNKNOWN;
	else if (position > (*link)->position || (*link)->position == POSITION_UNKNOWN)
		(*link)->position = position;
	pthread_mutex_unlock(&positions.lock);
}

/* Returns where the log was after the last write of the key; 0: there was none. */
uint64_t
position_of(const char *key_id)
{
	const Position *found;
	uint64_t position;

	pthread_mutex_lock(&positions.lock);
	found = *find_position(key_id);
	position = found == NULL || positions.lost != 0 ? positions.lost : found->position;
	pthread_mutex_unlock(&positions.lock);
	return position;
}
