/*
 * backfill_shards.c
 *	  The columns of an index, for rows of a distributed table that are older than it.
 *
 * Each batch is a call of fill_shard() on the node that has the shard, which commits there by itself.
 * It is sent by Citus with the caller's role, and under a lock on the shard's metadata, so that no
 * shard moves away meanwhile.  A node that does not answer is asked again for a while.
 *
 * No progress is stored, as for a table of one node.  Shards that come into being meanwhile, by a
 * split, are filled in at the end.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "portability/instr_time.h"
#include "storage/lockdefs.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "server/citus.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"
#include "server/work/brief_lock.h"
#include "services/index/fill_shard.h"
#include "services/index/index.h"
#include "services/index/lacking.h"

#define FIRST_BATCH 16 /* blocks */
#define LONG_BATCH 60.0 /* milliseconds: smaller ones then; a connection is a part of it */
#define SHORT_BATCH 25.0

/* There are so many milliseconds between two attempts at a node, and in all. */
#define NODE_PAUSE 1000
#define NODE_PATIENCE 60000

/* Larger shards are vacuumed after each eighth that was updated. */
#define VACUUM_FROM 1024 /* blocks */
#define VACUUM_PART 8

typedef struct Shard
{
	int64 id;
	bool gone;
	Oid filenode; /* a move or a rewrite puts rows elsewhere */
	BlockNumber next;
	BlockNumber end; /* as of the start: what comes later has its columns */
	BlockNumber changed; /* since the last VACUUM */
	List *skipped; /* of BlockRange * */
} Shard;

typedef struct Backfill
{
	IndexBuild *work;
	List *shards; /* of Shard * */
	BlockNumber batch;
	TimestampTz told;
} Backfill;

/*
 * Statements on nodes
 */

static void
shards_execute(const char *sql, bool read_only, int nargs, const SqlValue *arguments)
{
	MemoryContext context = CurrentMemoryContext;

	sql_execute(sql, read_only, 0, nargs, arguments);
	MemoryContextSwitchTo(context);
}

/* Tells where a shard is, and its qualified name. */
typedef struct ShardPlace
{
	char *node;
	char *port;
	char *shard;
} ShardPlace;

/* Finds where a shard stays until the transaction ends.  Returns false if it is gone. */
static bool
find_place(const Backfill *fill, int64 id, ShardPlace *place)
{
	const SqlValue arguments[] = {SQL_OID(fill->work->procedure.relid), SQL_INT8(id)};

	shards_execute(psprintf("SELECT pg_catalog.lock_shard_metadata(%d, ARRAY[$2]) FROM"
							" pg_catalog.pg_dist_shard WHERE logicalrelid OPERATOR(pg_catalog.=) $1"
							" AND shardid OPERATOR(pg_catalog.=) $2",
							ShareLock),
				   false, lengthof(arguments), arguments);
	/* another statement, which sees what was committed before the lock */
	shards_execute("SELECT n.nodename, n.nodeport, pg_catalog.shard_name($1, s.shardid, false)"
				   " FROM " CITUS_SHARDS_ON_NODES " WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1"
				   " AND s.shardid OPERATOR(pg_catalog.=) $2",
				   false, lengthof(arguments), arguments);
	if (SPI_processed == 0)
		return false;
	*place = (ShardPlace){sql_text(SPI_tuptable, 0, 1), sql_text(SPI_tuptable, 0, 2),
						  sql_text_or_null(SPI_tuptable, 0, 3)};
	SPI_freetuptable(SPI_tuptable);
	/* it has no name if its table was dropped meanwhile */
	return place->shard != NULL;
}

/* Runs a statement of its own on a node.  False: it failed, and the answer says why. */
static bool
run_on_node(const ShardPlace *place, const char *sql, char **answer)
{
	bool success;

	shards_execute("SELECT success, result FROM pg_catalog.master_run_on_worker(ARRAY[$1],"
				   " ARRAY[$2::pg_catalog.int4], ARRAY[$3], false)",
				   false, SQL_VALUES(SQL_TEXT(place->node), SQL_TEXT(place->port), SQL_TEXT(sql)));
	success = DatumGetBool(sql_value_or_zero(SPI_tuptable, 0, 1));
	*answer = sql_text_or_null(SPI_tuptable, 0, 2);
	if (*answer == NULL)
		*answer = "";
	SPI_freetuptable(SPI_tuptable);
	return success;
}

/* Begins a transaction in which the shard stays where it is.  Returns false if it is gone. */
static bool
shards_begin(Backfill *fill, Shard *shard, ShardPlace *place)
{
	DynTable *table;
	Relation rel = index_build_open(fill->work, RowExclusiveLock, &table);

	index_build_check_row_security(fill->work);
	(void) index_build_find(fill->work, table);
	relation_close(rel, NoLock);
	if (find_place(fill, shard->id, place))
		return true;
	shard->gone = true;
	return false;
}

static char *
call_sql(const IndexBuild *work, const Shard *shard, const char *name, BlockRange range, bool one)
{
	return psprintf("SELECT " DYN_INTERNAL
					".fill_shard(%s::pg_catalog.regclass, %s, %u, %u, %u, %s)",
					quote_literal_cstr(name), work->ttl ? "NULL" : quote_literal_cstr(work->index),
					shard->filenode, range.from, range.to, one ? "true" : "false");
}

static void
shards_start(Shard *shard, const FilledShard *done)
{
	shard->filenode = done->filenode;
	shard->next = 0;
	shard->end = done->blocks;
	shard->changed = 0;
	shard->skipped = NIL;
}

static void
wait_for_node(const Backfill *fill, const ShardPlace *place, const char *why, int waited)
{
	if (waited >= NODE_PATIENCE)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("columns of %s cannot be filled in on node %s:%s",
						fill->work->procedure.what, place->node, place->port),
				 errdetail("%s", why), errhint("Call %s again.", fill->work->procedure.name)));
	if (waited == 0)
		ereport(NOTICE, (errmsg("%s: node %s:%s is asked again: %s", fill->work->procedure.what,
								place->node, place->port, why)));
	/* nothing is locked meanwhile */
	procedure_next_transaction(&fill->work->procedure);
	work_sleep(NODE_PAUSE);
}

/* Returns false if nothing was done: the shard is gone, or is to be read from its beginning. */
static bool
shards_call(Backfill *fill, Shard *shard, BlockRange range, bool one, FilledShard *done)
{
	ShardPlace place;
	char *answer;

	for (int waited = 0; shards_begin(fill, shard, &place); waited += NODE_PAUSE)
	{
		if (run_on_node(&place, call_sql(fill->work, shard, place.shard, range, one), &answer))
			break;
		wait_for_node(fill, &place, answer, waited);
	}
	if (shard->gone)
		return false;
	if (sscanf(answer, FILLED_SHARD_FORMAT, &done->filenode, &done->blocks, &done->lacking,
			   &done->updated, &done->left_out) != 5)
		elog(ERROR, "node %s:%s has answered \"%s\"", place.node, place.port, answer);
	if (done->filenode != shard->filenode)
	{
		shards_start(shard, done);
		return false;
	}
	fill->work->items += done->updated;
	fill->work->left_out += done->left_out;
	return true;
}

/*
 * Batches
 */

static void
fill_batch(Backfill *fill, Shard *shard)
{
	BlockRange range = {shard->next, Min(shard->next + fill->batch, shard->end)};
	FilledShard done;
	instr_time begin;

	INSTR_TIME_SET_CURRENT(begin);
	if (!shards_call(fill, shard, range, false, &done))
		return;
	shard->next = range.to;
	/* entries of vectors are somewhere else */
	if (!fill->work->vector)
		shard->changed += (BlockNumber) Min(done.updated, range.to - range.from);
	if (done.updated < done.lacking)
		shard->skipped = lacking_keep(shard->skipped, range, fill->work);
	fill->batch = lacking_next_batch(fill->batch, begin, SHORT_BATCH, LONG_BATCH);
}

/* Fills in one row of what was skipped. */
static void
fill_skipped(Backfill *fill, Shard *shard)
{
	FilledShard done;

	if (shards_call(fill, shard, *(BlockRange *) linitial(shard->skipped), true, &done) &&
		done.updated == 0)
		shard->skipped = list_delete_first(shard->skipped);
}

static void
shards_vacuum(Backfill *fill, Shard *shard)
{
	ShardPlace place;
	char *answer;

	if (shard->end < VACUUM_FROM || shard->changed < shard->end / VACUUM_PART)
		return;
	shard->changed = 0;
	index_build_progress(fill->work, INDEX_BUILD_VACUUM);
	if (shards_begin(fill, shard, &place) &&
		!run_on_node(
			&place,
			psprintf("VACUUM (TRUNCATE false, PROCESS_TOAST false, SKIP_LOCKED) %s", place.shard),
			&answer))
		ereport(DEBUG1, (errmsg("a shard was not vacuumed: %s", answer)));
	index_build_progress(fill->work, INDEX_BUILD_BACKFILL);
}

static void
shards_tell(Backfill *fill)
{
	IndexBuild *work = fill->work;
	ListCell *cell;

	work->blocks_total = work->blocks_done = 0;
	foreach (cell, fill->shards)
	{
		const Shard *shard = lfirst(cell);

		work->blocks_total += shard->end;
		work->blocks_done += shard->next;
	}
	index_build_tell(work, &fill->told);
}

static void
fill_shard(Backfill *fill, Shard *shard)
{
	while (!shard->gone && (shard->next < shard->end || shard->skipped != NIL))
	{
		if (shard->next < shard->end)
			fill_batch(fill, shard);
		else
			fill_skipped(fill, shard);
		shards_vacuum(fill, shard);
		shards_tell(fill);
	}
}

/* Finds shards that are not known yet, and asks for their sizes.  Returns false without any. */
static bool
find_shards(Backfill *fill)
{
	int known = list_length(fill->shards);
	MemoryContext old;
	FilledShard done;

	procedure_next_transaction(&fill->work->procedure);
	shards_execute("SELECT shardid FROM pg_catalog.pg_dist_shard"
				   " WHERE logicalrelid OPERATOR(pg_catalog.=) $1 ORDER BY 1",
				   true, SQL_VALUES(SQL_OID(fill->work->procedure.relid)));
	old = MemoryContextSwitchTo(fill->work->procedure.context);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Shard *shard = palloc0(sizeof(Shard));
		bool is_known = false;

		shard->id = DatumGetInt64(sql_value(SPI_tuptable, i, 1));
		for (int k = 0; k < known; k++)
			is_known |= ((const Shard *) list_nth(fill->shards, k))->id == shard->id;
		if (!is_known)
			fill->shards = lappend(fill->shards, shard);
	}
	MemoryContextSwitchTo(old);
	for (int i = known; i < list_length(fill->shards); i++)
		(void) shards_call(fill, list_nth(fill->shards, i), (BlockRange){0, 0}, false, &done);
	return list_length(fill->shards) > known;
}

/* Fills in the index's columns in all shards, as index_build_backfill() does in a table of one node. */
void
index_build_backfill_shards(IndexBuild *work)
{
	Backfill fill = {.work = work, .batch = FIRST_BATCH, .told = GetCurrentTimestamp()};

	for (int first = 0; find_shards(&fill);)
	{
		for (; first < list_length(fill.shards); first++)
			fill_shard(&fill, list_nth(fill.shards, first));
	}
}
