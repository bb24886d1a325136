/*
 * turns.c
 *	  Which tables are due, as the workers of all databases remember it in shared memory.
 *
 * It is remembered in sets of some entries, by a hash.  Where there are more tables than that, some
 * are looked at more often than they would have to be.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/shmem.h"

#include "services/ttl/service.h"

#define DUE_SETS 2048
#define DUE_ENTRIES 4

typedef struct Due
{
	Oid database;
	Oid relid;
	TimestampTz due;
} Due;

/* All workers share it, by the lock of services. */
static Due (*dues)[DUE_ENTRIES] = NULL;

/* Returns what it takes of shared memory. */
Size
ttl_turns_size(void)
{
	return DUE_SETS * sizeof(*dues);
}

/* Finds or makes it in shared memory. */
void
ttl_turns_start(void)
{
	bool found;

	dues = ShmemInitStruct("dynamo_table turns", ttl_turns_size(), &found);
	if (!found)
		memset(dues, 0, ttl_turns_size());
}

static Due *
due_set(Oid relid)
{
	return dues[murmurhash32(MyDatabaseId ^ murmurhash32(relid)) % DUE_SETS];
}

/* Returns what is remembered of the table, or NULL if nothing is. */
static Due *
find_due(Oid relid)
{
	Due *set = due_set(relid);

	for (int i = 0; i < DUE_ENTRIES; i++)
		if (set[i].relid == relid && set[i].database == MyDatabaseId)
			return &set[i];
	return NULL;
}

/* Remembers a table, in the place of the one that is due first, if need be. */
static void
remember_due(Oid relid, TimestampTz time)
{
	Due *set = due_set(relid);
	Due *due = find_due(relid);

	for (int i = 0; due == NULL && i < DUE_ENTRIES; i++)
		if (!OidIsValid(set[i].relid))
			due = &set[i];
	if (due == NULL)
	{
		due = set;
		for (int i = 1; i < DUE_ENTRIES; i++)
			if (set[i].due < due->due)
				due = &set[i];
	}
	*due = (Due){MyDatabaseId, relid, time};
}

/* Returns when the table is due, or 0 if nothing is remembered of it. */
TimestampTz
ttl_due_time(Oid relid)
{
	TimestampTz time;
	Due *due;

	shared_lock(LW_SHARED);
	due = find_due(relid);
	time = due == NULL ? 0 : due->due;
	shared_unlock();
	return time;
}

/* Takes a table that is due, so that it is not for a while; false if another worker was faster. */
bool
ttl_claim(Oid relid, TimestampTz now, TimestampTz until)
{
	bool claimed;
	Due *due;

	shared_lock(LW_EXCLUSIVE);
	due = find_due(relid);
	claimed = due == NULL || due->due <= now;
	if (claimed)
		remember_due(relid, until);
	shared_unlock();
	return claimed;
}

/*
 * Remembers when a table of this database is due for its next sweep.  This may be forgotten if there
 * are many tables.  The library must be preloaded.
 */
void
ttl_set_due(Oid relid, TimestampTz due)
{
	shared_lock(LW_EXCLUSIVE);
	remember_due(relid, due);
	shared_unlock();
}
