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
 *		entries.c		entries of an index that is distributed by its own key
 *		backfill_shards.c	the same in the shards of a distributed table
 *		fill_shard.c	a batch of that, on the node that has the shard
 *		lacking.c		rows that lack columns
 *		btree.c			the btree: found, built, dropped
 *		later.c			procedures that begin when a transaction has committed
 *		queue.c			their requests, which background workers go on with
 *		resume.c		dyn_resume_index(): the rest of what was begun, and the call that does it
 *		progress.c		what dyn_jobs shows of it
 *		vector.c		dyn_create_vector_index(), and the end of such an index
 *		violations.c	dyn_index_violations(): items that an index leaves out
 */
#ifndef DYNAMO_TABLE_SERVICES_INDEX_INDEX_H
#define DYNAMO_TABLE_SERVICES_INDEX_INDEX_H

#include "fmgr.h"
#include "datatype/timestamp.h"
#include "storage/block.h"

#include "catalog/shape.h"
#include "catalog/vector.h"
#include "server/work/service.h"
#include "server/work/statement.h"

/* Lists phases as dyn_jobs names them. */
typedef enum IndexBuildPhase
{
	INDEX_BUILD_DECLARE = 1,
	INDEX_BUILD_BACKFILL,
	INDEX_BUILD_SKIPPED,
	INDEX_BUILD_VACUUM,
	INDEX_BUILD_VALIDATE,
	INDEX_BUILD_BTREE,
	INDEX_BUILD_ACTIVATE,
	INDEX_BUILD_DROP
} IndexBuildPhase;

/* Holds what a procedure knows from one transaction to the next. */
typedef struct IndexBuild
{
	Procedure procedure; /* the first member */
	bool temporary; /* no other process can see the table */
	bool distributed; /* its rows are on other nodes */
	bool ttl; /* it is about time to live, not about an index */
	bool vector; /* it builds a vector index */
	bool cascade; /* what depends on columns that go is dropped too */
	ItemSpan name; /* of the index */
	const char *index; /* the same for messages; procedure.what is "index "GSI1"" */
	Place place; /* of the worker that runs a statement for it */
	IndexBuildPhase phase;
	int64 blocks_done;
	int64 blocks_total;
	int64 items; /* filled in */
	int64 left_out;
} IndexBuild;

/* target.c */
extern void index_build_name(IndexBuild *work, ItemSpan name);
extern const DynIndex *index_build_find(const IndexBuild *work, const DynTable *table);
extern DynIndexStatus *index_build_status(const IndexBuild *work, const DynShape *shape);
extern void index_build_forget(const IndexBuild *work, DynShape *shape);
extern char *index_build_btree_sql(const IndexBuild *work, const DynShape *shape, Relation rel,
								   bool concurrently);
pg_noreturn extern void index_build_fail_dropped(const IndexBuild *work);

/* work.c */
typedef void (*IndexBuildBody)(IndexBuild *work, FunctionCallInfo fcinfo, Relation rel,
							   DynTable *table);

extern void index_build_run(IndexBuild *work, FunctionCallInfo fcinfo, bool by_oid,
							IndexBuildBody body);
extern void index_build_begin_in_transaction(IndexBuild *work, Relation rel, const DynTable *table);
extern Relation index_build_open(IndexBuild *work, LOCKMODE mode, DynTable **table);
extern Relation index_build_open_briefly(IndexBuild *work, LOCKMODE mode, DynTable **table);

/* create.c, drop.c */
extern void index_build_declare_index(IndexBuild *work, Relation rel, const DynTable *table,
									  const DynIndexSpec *spec);
extern void index_build_fill_once(IndexBuild *work, void (*fill)(IndexBuild *work));
extern void index_build_tell_exists(const IndexBuild *work);
extern void index_build_make(IndexBuild *work);
extern void index_build_declare_status(IndexBuild *work, IndexBuildPhase phase, DynIndexStatus to);
extern void index_build_remove_index(IndexBuild *work);
extern void index_build_forget_index(const IndexBuild *work, Relation rel, const DynTable *table,
									 bool validated);

/*
 * Finds views that do without the columns of an index that is dropped; the layers above know them.
 * They are locked before the table, as readers lock them.
 */
typedef struct IndexBuildDependents
{
	List *(*find)(Oid table); /* those of the current user, by their OIDs */
	List *(*find_all)(Oid table);
	/* columns of char *; returns which do without them, or, unless it is now, would do */
	List *(*release)(Oid table, List *columns, bool now);
} IndexBuildDependents;

extern void index_build_set_dependents(const IndexBuildDependents *known);
extern void index_build_check_dependents(const IndexBuild *work, Relation rel,
										 const DynTable *table);

/* queue.c */
extern const Service index_build_service;
extern bool index_build_start_waiting(void);

/* later.c */
extern void index_build_resume_later(const IndexBuild *work, const DynTable *table);
extern PGDLLEXPORT void dyn_index_later_main(Datum relid);

/* resume.c */
extern void index_build_resume(IndexBuild *work, DynIndexStatus status);

/* declare.c */
extern List *index_build_constraint_commands(const DynShape *shape); /* of char * */
extern void index_build_alter(const DynShape *shape, bool distributed, List *commands, bool proven);
extern List *index_build_declaration(Relation rel, const DynTable *table, const DynShape *shape);
extern void index_build_declare(Relation rel, const DynTable *table, DynShape *shape, bool empty);
extern void index_build_validate(IndexBuild *work);
extern bool index_build_is_empty(Relation rel, const DynTable *table);

/* backfill.c */
extern void index_build_check_row_security(const IndexBuild *work);
extern void index_build_backfill(IndexBuild *work);
extern void index_build_tell(const IndexBuild *work, TimestampTz *told);

/* backfill_shards.c */
extern void index_build_backfill_shards(IndexBuild *work);

/* entries.c */
extern void index_build_entries(IndexBuild *work);

/* btree.c */
extern void index_build_btree(IndexBuild *work);
extern void index_build_drop_btree(IndexBuild *work);
extern void index_build_run_statement(IndexBuild *work, const char *sql);

/* vector.c */
extern void index_build_declare_vector(Relation rel, const DynTable *table,
									   const DynVectorSpec *spec);
extern void index_build_make_vector(IndexBuild *work);
extern void index_build_finish_empty_vector(Relation rel, const DynTable *table, ItemSpan name);
extern void index_build_forget_vector(Relation rel, const DynTable *table, ItemSpan name,
									  bool cascade);
extern void index_build_drop_vector(IndexBuild *work, Relation rel, const DynTable *table);
extern char *index_build_hnsw_sql(const DynVectorSpec *spec, bool concurrently,
								  const char *relation, const char *expression);
extern char *index_build_hnsw_value(const DynVectorSpec *spec, const char *value);

/* progress.c */
extern void index_build_progress(IndexBuild *work, IndexBuildPhase phase);
extern void index_build_progress_show(const IndexBuild *work);

#endif
