/*
 * ttl.h
 *	  Time to live: which items are due, and how they are removed.
 *
 * The attribute's value, if it is a number, is in the column "~ttl", which dyn_derive() fills like a
 * key's, and a btree over that column has the due items in order.  Sweeps read it from the oldest
 * that counts, or from where the sweeps before have come to.
 *
 * Of a table that Citus distributes each node sweeps its shards, as tables (catalog/local_shards.h).
 *
 * Lock order within a transaction: the extension, the shard's metadata, the table, the btree, then
 * rows, which are never waited for.
 *
 *		enable.c	dyn_enable_ttl(), dyn_disable_ttl(), dyn_ttl_resume()
 *		declare.c	the definition of tables with time to live, and without
 *		targets.c	the tables and shards that this node sweeps
 *		due.c		which items are due, by the btree
 *		sweep.c		removing them from one table
 *		run.c		sweeps that continue where the previous one ended
 *		state.c		what is remembered of them
 *		functions.c	dyn_sweep_ttl(): sweeps on demand
 *		service.c	sweeps of background workers
 *		turns.c		which tables are due, as all workers remember it
 *		status.c	what dyn_ttl_tables shows
 *		settings.c	settings of sweeps
 */
#ifndef DYNAMO_TABLE_SERVICES_TTL_TTL_H
#define DYNAMO_TABLE_SERVICES_TTL_TTL_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/itemptr.h"

#include "catalog/expiry.h"
#include "catalog/local_shards.h"
#include "catalog/table.h"

/* A TtlDue is an item that was due when the index was read. */
typedef struct TtlDue
{
	ItemPointerData tid;
	int64 second; /* of its time, rounded down */
} TtlDue;

/* A TtlLimits says what a sweep may do. */
typedef struct TtlLimits
{
	int batch; /* items that a transaction removes */
	int budget; /* milliseconds; 0: as many as it takes */
	int pause; /* between transactions, as a percentage of the time that they take */
	bool from_start; /* look at all that is due, wherever the last sweep has come to */
	bool background; /* it is a background worker's, see run.c */
	bool nowait; /* leave a table that is locked */
} TtlLimits;

/* A TtlSweep is one sweep of one table. */
typedef struct TtlSweep
{
	Oid relid;
	const DynLocalShard *shard; /* that it is; NULL: it is a table of this node */
	TtlLimits limits;
	int64 from; /* second to begin with; 0: the oldest that counts */

	/* what comes out */
	bool locked; /* the table was skipped, since another session has locked it */
	bool absent; /* it is no table with time to live, or that is in the making, or it was left */
	bool enabling; /* that is in the making */
	int64 deleted;
	int64 next; /* second that the next sweep can begin with */
	int64 dead; /* entries, roughly, that the next sweep meets in vain before that */
	bool finished; /* nothing is left but what others have locked or changed */
	ErrorData *error; /* that has ended it, in context */
	bool crashed; /* the server went down instead */
	TimestampTz retry_at; /* background workers leave the table alone until then; 0: they do not */

	/* for its own use */
	MemoryContext context; /* outlives transactions */
	MemoryContext transient; /* emptied by each transaction */
	TtlDue *due; /* in the order of the table */
	int ndue;
	int done; /* of these, so many */
	int64 last; /* second of the last one, in the order of time */
	int64 missed; /* the earliest that others had locked or changed, or that cannot be removed */
	int batch; /* of the next step */
	int skipped; /* items that cannot be removed */
	ErrorData *problem; /* of the first of them, in context */
	struct _SPI_plan *plan;
	char *planned_for; /* the table's name then */
	TimestampTz start; /* of the sweep */
} TtlSweep;

/* targets.c */
typedef struct TtlTarget
{
	Oid relid;
	const DynLocalShard *shard; /* as in a sweep */
} TtlTarget;

extern List *ttl_targets(List *tables);

/* due.c */
extern bool ttl_has_items(Relation rel, const DynTable *table);
extern int ttl_find_due(Relation rel, const DynTable *table, Datum from, Datum to, TtlDue *due,
						int limit);
extern int ttl_count_never(Relation rel, const DynTable *table, int limit);

/* sweep.c: in a procedure, or what else is connected to SPI so that it may commit */
extern Relation ttl_open(TtlSweep *sweep, LOCKMODE mode, DynTable **table);
extern void ttl_attempt(TtlSweep *sweep, void (*step)(TtlSweep *sweep));
extern void ttl_sweep(TtlSweep *sweep);

/* run.c: a sweep that goes on where the one before it has ended, and is noted */
extern void ttl_run(TtlSweep *sweep);
extern void ttl_note_failure(TtlSweep *sweep);

/* state.c */
typedef struct TtlState
{
	Oid relid;
	int64 next; /* as in a sweep */
	int64 dead;
	TimestampTz from_start; /* when the last sweep that began at the start did so */
	TimestampTz swept;
	int failures; /* sweeps that have ended by an error since one has finished */
	TimestampTz retry_at; /* background workers leave it alone until then; 0: they do not */
} TtlState;

extern void ttl_read_state(Oid relid, TtlState *state);
extern void ttl_write_state(const TtlState *state, const TtlSweep *sweep);
extern void ttl_forget_state(const DynTable *table);

/* declare.c: as work on an index */
struct IndexBuild;

extern void ttl_begin_work(struct IndexBuild *work, const char *procedure);
extern void ttl_check_attribute(const DynTable *table, ItemSpan attribute);
extern void ttl_check_enable(const DynTable *table, ItemSpan attribute);
extern void ttl_check_disable(const DynTable *table);
extern void ttl_check_declaration(Relation rel, const DynTable *table, ItemSpan attribute);
extern bool ttl_declare(struct IndexBuild *work, Relation rel, const DynTable *table,
						ItemSpan attribute, bool hide_expired);
extern void ttl_set_hide(Relation rel, const DynTable *table, bool hide_expired);

/* enable.c */
extern void ttl_enable(ItemSpan name, ItemSpan attribute, bool hide_expired, const char *procedure);
extern void ttl_disable(ItemSpan name, const char *procedure);

/* settings.c */
extern bool dyn_ttl_worker;
extern int dyn_ttl_max_workers;
extern int dyn_ttl_interval; /* seconds */
extern int dyn_ttl_budget; /* milliseconds */
extern int dyn_ttl_batch_size;
extern int dyn_ttl_pause; /* percentage */
extern int dyn_ttl_reread_interval; /* seconds */
extern int dyn_ttl_probe_interval; /* seconds */
extern void dyn_ttl_init(void);

#endif
