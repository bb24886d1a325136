/*
 * local_shards.c
 *	  Shards that this node has of tables that Citus distributes.
 *
 * Work on a shard itself, instead of on its table through Citus, is a transaction of one shard.  It
 * takes the lock under which Citus' own statements use a shard: whoever moves or splits the shard
 * takes it exclusively on all nodes, until the catalogs of Citus say where the shard is from then
 * on.  So under that lock the catalogs are asked again.  A shard that they do not have here is a
 * copy that is being made, or one that is left to be dropped, and must not be touched.
 *
 * Only shards of which there is one placement are listed, by Citus' model of replication: what is
 * done to one of several would make them different.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "catalog/local_shards.h"
#include "server/attempt.h"
#include "server/citus.h"
#include "server/sql.h"

/* Citus takes its advisory locks on metadata of shards that are moved together in this class. */
#define COLOCATED_SHARDS_LOCK 8

#define TABLES "pg_dist_partition"
#define TABLES_INDEX "pg_dist_partition_logical_relid_index"
#define SHARDS "pg_dist_shard"
#define SHARDS_INDEX "pg_dist_shard_logical_relid_index"
#define PLACEMENTS "pg_dist_placement"
#define LOCAL_GROUP "pg_dist_local_group"

/* Holds what list_shards() is asked, and answers. */
typedef struct ShardList
{
	List *tables;
	List *shards; /* of DynLocalShard */
} ShardList;

/* Lists shards, as a step for attempt(). */
static void
list_shards(void *arg)
{
	ShardList *list = arg;
	MemoryContext context = CurrentMemoryContext;

	SPI_connect();
	sql_execute(
		"SELECT s.logicalrelid::pg_catalog.oid, s.shardid,"
		" pg_catalog.shard_name(s.logicalrelid, s.shardid)"
		" FROM pg_catalog." TABLES " t, pg_catalog." SHARDS " s,"
		" pg_catalog." PLACEMENTS " p, pg_catalog." LOCAL_GROUP " g"
		" WHERE t.logicalrelid::pg_catalog.oid OPERATOR(pg_catalog.=) ANY ($1)"
		" AND t.partmethod OPERATOR(pg_catalog.=) 'h' AND t.repmodel OPERATOR(pg_catalog.=) 's'"
		" AND t.colocationid OPERATOR(pg_catalog.>) 0"
		" AND s.logicalrelid::pg_catalog.oid OPERATOR(pg_catalog.=) t.logicalrelid::pg_catalog.oid"
		" AND p.shardid OPERATOR(pg_catalog.=) s.shardid"
		" AND p.groupid OPERATOR(pg_catalog.=) g.groupid"
		" ORDER BY 1, 2",
		false, 0, SQL_VALUES(SQL_VALUE(OIDARRAYOID, sql_oids(list->tables))));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		DynLocalShard *shard = palloc(sizeof(DynLocalShard));
		bool gone;
		Datum name = sql_nullable(SPI_tuptable, i, 3, &gone);

		shard->table = DatumGetObjectId(sql_value(SPI_tuptable, i, 1));
		shard->id = DatumGetInt64(sql_value(SPI_tuptable, i, 2));
		/* it has no name if its table was dropped meanwhile */
		shard->relid =
			gone ? InvalidOid : citus_shard_relation(shard->table, TextDatumGetCString(name));
		if (OidIsValid(shard->relid))
			list->shards = lappend(list->shards, shard);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
}

/*
 * Lists the shards on this node (DynLocalShard *) of those of the tables that Citus distributes by
 * hash, in the current memory context.  The caller has an active snapshot.
 *
 * Where Citus does not work, as while its library is of another version than its catalogs, a
 * WARNING says so, and there are none: what is done to other tables goes on.
 */
List *
dyn_local_shards(List *tables)
{
	ShardList list = {NIL, NIL};
	ErrorData *error;
	ListCell *cell;

	foreach (cell, tables)
	{
		if (citus_kind(lfirst_oid(cell)) == CITUS_DISTRIBUTED)
			list.tables = lappend_oid(list.tables, lfirst_oid(cell));
	}
	if (list.tables == NIL)
		return NIL;
	error = attempt(list_shards, &list);
	if (error == NULL)
		return list.shards;
	ereport(WARNING, (errcode(error->sqlerrcode),
					  errmsg("shards of distributed tables cannot be listed: %s", error->message)));
	return NIL;
}

/*
 * Reading Citus' catalogs, as they are now
 */

/* Returns the colocation group of a table, or -1 if Citus does not know the table. */
static int32
colocation_of(Oid table)
{
	int32 colocation = -1;
	CitusScan scan;

	if (!citus_scan_begin(&scan, TABLES, TABLES_INDEX, "logicalrelid", F_OIDEQ,
						  ObjectIdGetDatum(table)))
		return colocation;
	if (citus_scan_next(&scan))
		colocation = DatumGetInt32(citus_scan_value(&scan, "colocationid"));
	citus_scan_end(&scan);
	return colocation;
}

/* Returns how many shards of the table are before this one, by ranges of hashes; -1: it is none. */
static int
place_of(const DynLocalShard *shard)
{
	int32 from = 0;
	int before = 0;
	bool found = false;
	CitusScan scan;

	if (!citus_scan_begin(&scan, SHARDS, SHARDS_INDEX, "logicalrelid", F_OIDEQ,
						  ObjectIdGetDatum(shard->table)))
		return -1;
	while (!found && citus_scan_next(&scan))
	{
		found = DatumGetInt64(citus_scan_value(&scan, "shardid")) == shard->id;
		from = citus_scan_bound(&scan, "shardminvalue");
	}
	citus_scan_end(&scan);
	if (!citus_scan_begin(&scan, SHARDS, SHARDS_INDEX, "logicalrelid", F_OIDEQ,
						  ObjectIdGetDatum(shard->table)))
		return -1;
	while (found && citus_scan_next(&scan))
		before += citus_scan_bound(&scan, "shardminvalue") < from;
	citus_scan_end(&scan);
	return found ? before : -1;
}

/*
 * Returns the oldest shard of a table, or 0 if Citus knows none.  Unlike an OID it is the same on
 * all nodes, and it is given out once; only a split of that shard changes it.
 */
int64
dyn_oldest_shard(Oid table)
{
	int64 oldest = 0;
	CitusScan scan;

	if (!citus_scan_begin(&scan, SHARDS, SHARDS_INDEX, "logicalrelid", F_OIDEQ,
						  ObjectIdGetDatum(table)))
		return oldest;
	while (citus_scan_next(&scan))
	{
		int64 id = DatumGetInt64(citus_scan_value(&scan, "shardid"));

		oldest = oldest == 0 ? id : Min(oldest, id);
	}
	citus_scan_end(&scan);
	return oldest;
}

/*
 * Locks
 */

static LOCKTAG
shard_tag(int32 colocation, int place)
{
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) place, (uint32) colocation,
						 COLOCATED_SHARDS_LOCK);
	return tag;
}

/*
 * Takes the lock that keeps shards of a colocation group where they are until the transaction ends:
 * those that have this place, from 0 on, in the order of the ranges of hashes.  It comes before any
 * lock of a shard's relation.  Returns false if another session has it and wait is false.
 */
bool
dyn_shard_lock(int32 colocation, int place, bool wait)
{
	LOCKTAG tag = shard_tag(colocation, place);

	return LockAcquire(&tag, ShareLock, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

/* Gives it back, as often as it was taken, before the transaction ends. */
void
dyn_shard_unlock(int32 colocation, int place)
{
	LOCKTAG tag = shard_tag(colocation, place);

	(void) LockRelease(&tag, ShareLock, false);
}

/*
 * Keeps a shard that was listed on this node until the transaction ends.  Returns DYN_SHARD_MOVES
 * if another session has its lock and wait is false, and DYN_SHARD_GONE if the shard is not here
 * any more; with the lock, or a split that changed the order, it is looked for again.
 */
DynShardState
dyn_local_shard_keep(const DynLocalShard *shard, bool wait)
{
	int32 colocation = colocation_of(shard->table);
	int place = place_of(shard);

	if (place < 0)
		return DYN_SHARD_GONE;
	if (!dyn_shard_lock(colocation, place, wait))
		return DYN_SHARD_MOVES;
	return citus_shard_is_here(shard->id) && place_of(shard) == place &&
				   colocation_of(shard->table) == colocation
			   ? DYN_SHARD_HERE
			   : DYN_SHARD_GONE;
}
