/*
 * index.h
 *	  The life of a global secondary index on a table that is filled and in use; time to live is
 *	  made and removed like one.
 *
 * A build is a procedure of many transactions.  Between any two of them it may be cancelled, or the
 * server may crash: the state of the table and its btrees then says what is left to do, so the same
 * call does the rest.  Lock order within a transaction: the table, then rows, one batch at a time;
 * no lock but the turn (see server/work/procedure.h) is held from one transaction to the next.
 *
 *		create.c		dyn_create_index()
 *		drop.c			dyn_drop_index()
 *		target.c		what procedures create or remove: an index, or time to live
 *		work.c			where they begin and end
 *		declare.c		the DDL that changes columns, constraint and trigger
 *		backfill.c		columns of rows that are older than the index
 *		backfill_shards.c	the same in the shards of a distributed table
 *		fill_shard.c	a batch of that, on the node that has the shard
 *		lacking.c		rows that lack columns
 *		btree.c			the btree: found, built, dropped
 *		later.c			procedures that begin when a transaction has committed
 *		queue.c			their requests, which background workers go on with
 *		resume.c		dyn_resume_index(): the rest of what was begun, and the call that does it
 *		progress.c		what dyn_index_builds shows
 *		violations.c	dyn_index_violations(): items that an index leaves out
 */
#ifndef DYNAMO_TABLE_SERVICES_INDEX_INDEX_H
#define DYNAMO_TABLE_SERVICES_INDEX_INDEX_H

#include "fmgr.h"
#include "datatype/timestamp.h"
#include "storage/block.h"

#include "catalog/shape.h"
#include "server/work/service.h"
#include "server/work/statement.h"

/* As dyn_index_builds counts them. */
typedef enum GsiPhase
{
	GSI_DECLARE = 1,
	GSI_BACKFILL,
	GSI_SKIPPED,
	GSI_VACUUM,
	GSI_VALIDATE,
	GSI_BUILD,
	GSI_ACTIVATE,
	GSI_DROP
} GsiPhase;

/* What a procedure knows from one transaction to the next. */
typedef struct GsiWork
{
	Procedure procedure; /* the first member */
	bool temporary; /* no other process can see the table */
	bool distributed; /* its rows are on other nodes */
	bool ttl; /* it is about time to live, not about an index */
	bool cascade; /* what depends on columns that go is dropped too */
	ItemSpan name; /* of the index */
	const char *index; /* the same for messages; procedure.what is "index "GSI1"" */
	Place place; /* of the worker that runs a statement for it */
	GsiPhase phase;
	int64 blocks_done;
	int64 blocks_total;
	int64 items; /* filled in */
	int64 left_out;
} GsiWork;

/* target.c */
extern void gsi_name(GsiWork *work, ItemSpan name);
extern const DynIndex *gsi_find(const GsiWork *work, const DynTable *table);
extern DynIndexStatus *gsi_status(const GsiWork *work, const DynShape *shape);
extern void gsi_forget(const GsiWork *work, DynShape *shape);
extern char *gsi_btree_sql(const GsiWork *work, const DynShape *shape, Relation rel,
						   bool concurrently);
pg_noreturn extern void gsi_fail_dropped(const GsiWork *work);

/* work.c */
typedef void (*GsiBody)(GsiWork *work, FunctionCallInfo fcinfo, Relation rel, DynTable *table);

extern void gsi_run(GsiWork *work, FunctionCallInfo fcinfo, bool by_oid, GsiBody body);
extern void gsi_begin_in_transaction(GsiWork *work, Relation rel, const DynTable *table);
extern Relation gsi_open(GsiWork *work, LOCKMODE mode, DynTable **table);
extern Relation gsi_open_briefly(GsiWork *work, LOCKMODE mode, DynTable **table);

/* create.c, drop.c */
extern void gsi_declare_index(GsiWork *work, Relation rel, const DynTable *table,
							  const DynIndexSpec *spec);
extern void gsi_build_index(GsiWork *work);
extern void gsi_disown_index(GsiWork *work);
extern void gsi_remove_index(GsiWork *work);
extern void gsi_forget_index(const GsiWork *work, Relation rel, const DynTable *table,
							 bool validated);

/*
 * Views that do without the columns of an index that is dropped; the layers above know them.  They are
 * locked before the table, as readers lock them.
 */
typedef struct GsiDependents
{
	List *(*find)(Oid table); /* those of the current user, by their OIDs */
	List *(*find_all)(Oid table);
	/* columns of char *; returns which do without them, or, unless it is now, would do */
	List *(*release)(Oid table, List *columns, bool now);
} GsiDependents;

extern void gsi_set_dependents(const GsiDependents *known);
extern void gsi_check_dependents(const GsiWork *work, Relation rel, const DynTable *table);

/* queue.c */
extern const Service gsi_service;
extern bool gsi_start_waiting(void);

/* later.c */
extern void gsi_resume_later(const GsiWork *work, const DynTable *table);
extern PGDLLEXPORT void dyn_index_later_main(Datum relid);

/* resume.c */
extern void gsi_resume(GsiWork *work, DynIndexStatus status);

/* declare.c */
extern List *gsi_constraint_commands(const DynShape *shape); /* of char * */
extern void gsi_alter(const DynShape *shape, bool distributed, List *commands, bool proven);
extern List *gsi_declaration(Relation rel, const DynTable *table, const DynShape *shape);
extern void gsi_declare(Relation rel, const DynTable *table, DynShape *shape, bool empty);
extern void gsi_validate(GsiWork *work);
extern bool gsi_is_empty(Relation rel, const DynTable *table);

/* backfill.c */
extern void gsi_check_row_security(const GsiWork *work);
extern void gsi_backfill(GsiWork *work);
extern void gsi_tell(const GsiWork *work, TimestampTz *told);

/* backfill_shards.c */
extern void gsi_backfill_shards(GsiWork *work);

/* btree.c */
extern void gsi_build_btree(GsiWork *work);
extern void gsi_drop_btree(GsiWork *work);

/* progress.c */
extern void gsi_progress(GsiWork *work, GsiPhase phase);
extern void gsi_progress_show(const GsiWork *work);

#endif
