/*
 * items.h
 *	  Jobs that change items of a table, in the order of their keys.
 *
 *		items.c		reading the items of a chunk, and changing them batch by batch
 *		backfill.c	dyn_backfill(): an update of all items that a filter takes
 *		regroup.c	dyn_regroup(): moving items together, see regroup.h
 *		regroup_choose.c	what of it is moved
 *		regroup_move.c		where that goes
 */
#ifndef DYNAMO_TABLE_SERVICES_JOB_ITEMS_H
#define DYNAMO_TABLE_SERVICES_JOB_ITEMS_H

#include "actions/actions.h"
#include "server/work/job.h"

typedef struct ItemJob
{
	const char *procedure; /* for messages */
	const char *kind;
	const char *name; /* what was asked for, as users are shown it */
	const char *fingerprint; /* all that was asked for: what the job is known by */
	text *table_name;
	const char *table; /* the same for messages */
	Oid relid;
	int batch; /* items that one transaction may change */
	int64 max_rate; /* items that a session may change in a second; 0: any number */
	bool restart;
	bool wait; /* for other sessions that work on the rest */
	Job *job; /* NULL until it is begun */
	void *arg;

	/* called in each transaction, before the others */
	void (*open)(struct ItemJob *work, Relation rel, DynTable *table);

	/*
	 * whether an item is to be changed; called for an item that was read, and for its locked
	 * version
	 */
	bool (*wants)(struct ItemJob *work, const DynItem *item);

	/*
	 * are told of each item of a batch that is to be changed, in the batch's memory context; and that
	 * it is all, under the snapshot that they were read under.  Or NULL.
	 */
	void (*note)(struct ItemJob *work, const DynItem *item);
	void (*look_up)(struct ItemJob *work);

	/* returns what the locked version becomes, or raises ERRCODE_DYN_VALIDATION */
	DynItem *(*change)(struct ItemJob *work, const DynItem *item);
} ItemJob;

/*
 * Reads the arguments that such procedures share, from the i-th on: batch_size, max_rate, restart,
 * wait.
 */
extern void item_job_arguments(ItemJob *work, FunctionCallInfo fcinfo, int i);

/* Opens the table under AccessShareLock, and checks the user's rights. */
extern Relation item_job_open(ItemJob *work, DynTable **table);

/* The position of a primary key in a job: its columns as text. */
extern ArrayType *item_job_position(const DynTable *table, const DynKeyValues *key);
extern void item_job_key(const DynTable *table, ArrayType *position, DynKeyValues *key);

/* Returns whether an error is of other transactions' making, so that another attempt may succeed. */
extern bool item_job_is_conflict(int code);

/* Runs the job to its end.  Connected to SPI.  Commits. */
extern void item_job_run(ItemJob *work);

#endif
