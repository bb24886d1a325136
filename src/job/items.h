/*
 * items.h
 *	  Jobs that change items of a table, in the order of their keys.
 */
#ifndef DYNAMO_TABLE_JOB_ITEMS_H
#define DYNAMO_TABLE_JOB_ITEMS_H

#include "actions/actions.h"
#include "work/job.h"

typedef struct ItemJob
{
	const char *procedure; /* for messages */
	const char *kind;
	const char *name; /* what was asked for, for people */
	const char *fingerprint; /* the same, all of it */
	text *table_name;
	const char *table; /* the same for messages */
	Oid relid;
	int batch; /* items that one transaction may change */
	int max_rate; /* items that a session may change in a second; 0: no matter */
	bool restart;
	bool wait; /* for other sessions that are at work on the rest */
	Job *job; /* once it is begun */
	void *arg;

	/* called in each transaction, before the others */
	void (*open)(struct ItemJob *work, Relation rel, DynTable *table);

	/* whether an item is to be changed: of one that was read, and again of its locked version */
	bool (*wants)(struct ItemJob *work, const DynItem *item);

	/* what the locked version becomes; what is wrong with that is ERRCODE_DYN_VALIDATION */
	DynItem *(*change)(struct ItemJob *work, const DynItem *item);
} ItemJob;

/* Arguments that such procedures have in common, from the i-th on: batch_size, max_rate, restart, wait. */
extern void item_job_arguments(ItemJob *work, FunctionCallInfo fcinfo, int i);

/* The table, open under a lock that hinders nobody; the rights of who calls have been looked at. */
extern Relation item_job_open(ItemJob *work, DynTable **table);

/* All of it; connected to SPI.  Commits. */
extern void item_job_run(ItemJob *work);

#endif
