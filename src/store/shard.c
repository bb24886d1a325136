/*
 * shard.c
 *	  Where the shards of a distributed table are, and those of this node as tables.
 *
 * A shard of this node is a table of items that the direct store can serve.  Citus does not know of
 * what is written so, and is told to commit in two phases what the same call writes on other nodes.
 * Where it cannot be told, a call that writes on several nodes opens none.
 * Only a call that is a transaction by itself opens a shard; all others are statements, which Citus
 * sends to the shard.  Such a call has no writes before it, which may have gone by a connection of
 * Citus and would not be seen here, and runs no code of users that may write so.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "catalog/entries.h"
#include "catalog/key.h"
#include "catalog/local_shards.h"
#include "server/citus.h"
#include "server/extension.h"
#include "server/sql.h"
#include "store/direct.h"
#include "store/plan.h"
#include "store/shard.h"

typedef struct Shard
{
	int32 from; /* hashes of partition keys */
	int32 to;
	int64 id;
	int32 node; /* the number of its group */
	Oid relid; /* InvalidOid: another node has it */
	Datum key; /* that is in its range, by which statements reach it; 0: not looked for yet */
} Shard;

struct StoreShards
{
	int32 colocation;
	int32 cells; /* see store_cells() */
	int n;
	Shard shards[FLEXIBLE_ARRAY_MEMBER]; /* in the order of hashes */
};

static Datum
shard_column(int row, int i)
{
	return sql_value(SPI_tuptable, (uint64) row, i);
}

/*
 * Reads what the newest committed catalogs say, as the schema does, in whose memory it is kept.  A
 * table whose shards have copies has none here.
 */
static struct StoreShards *
read_shards(DynTable *table)
{
	struct StoreShards *shards;

	store_connect();
	PushActiveSnapshot(GetLatestSnapshot());
	sql_execute(
		"SELECT s.shardminvalue::pg_catalog.int4, s.shardmaxvalue::pg_catalog.int4, s.shardid,"
		" CASE WHEN p.groupid OPERATOR(pg_catalog.=) l.groupid"
		" THEN pg_catalog.shard_name($1, s.shardid) END,"
		" d.colocationid, c.shardcount, p.groupid"
		" FROM pg_catalog.pg_dist_partition d"
		" JOIN pg_catalog.pg_dist_colocation c"
		" ON c.colocationid OPERATOR(pg_catalog.=) d.colocationid"
		" JOIN pg_catalog.pg_dist_shard s ON s.logicalrelid OPERATOR(pg_catalog.=) d.logicalrelid"
		" JOIN pg_catalog.pg_dist_placement p ON p.shardid OPERATOR(pg_catalog.=) s.shardid"
		" AND p.shardstate OPERATOR(pg_catalog.=) 1, pg_catalog.pg_dist_local_group l"
		" WHERE d.logicalrelid OPERATOR(pg_catalog.=) $1"
		" AND d.partmethod OPERATOR(pg_catalog.=) 'h'::pg_catalog.\"char\""
		" AND d.repmodel OPERATOR(pg_catalog.=) 's'::pg_catalog.\"char\""
		" AND d.colocationid OPERATOR(pg_catalog.>) 0 ORDER BY 1",
		true, 0, SQL_VALUES(SQL_OID(table->relid)));
	shards = MemoryContextAlloc(table->context, offsetof(struct StoreShards, shards) +
													SPI_processed * sizeof(Shard));
	shards->n = (int) SPI_processed;
	shards->colocation = shards->n > 0 ? DatumGetInt32(shard_column(0, 5)) : 0;
	shards->cells = shards->n > 0 ? DatumGetInt32(shard_column(0, 6)) : 0;
	for (int i = 0; i < shards->n; i++)
	{
		bool away;
		Datum name = sql_nullable(SPI_tuptable, (uint64) i, 4, &away);

		shards->shards[i] = (Shard){DatumGetInt32(shard_column(i, 1)),
									DatumGetInt32(shard_column(i, 2)),
									DatumGetInt64(shard_column(i, 3)),
									DatumGetInt32(shard_column(i, 7)),
									InvalidOid,
									(Datum) 0};
		/* it is on another node, or its table was dropped meanwhile */
		if (!away)
			shards->shards[i].relid = citus_shard_relation(table->relid, TextDatumGetCString(name));
	}
	PopActiveSnapshot();
	SPI_finish();
	return shards;
}

/* Returns the hash of a partition key by which Citus finds its shard. */
int32
store_hash(const DynTable *table, Datum partition)
{
	TypeCacheEntry *entry =
		lookup_type_cache(dyn_key_column_type(table->keys[0].type), TYPECACHE_HASH_PROC_FINFO);

	return DatumGetInt32(
		FunctionCall1Coll(&entry->hash_proc_finfo,
						  table->keys[0].type == ITEM_S ? C_COLLATION_OID : InvalidOid, partition));
}

static struct StoreShards *
get_shards(DynTable *table)
{
	if (table->shards == NULL)
		table->shards = read_shards(table);
	return table->shards;
}

static int
compare_hash(const void *key, const void *element)
{
	int32 hash = *(const int32 *) key;
	const Shard *shard = element;

	return hash < shard->from ? -1 : hash > shard->to;
}

static const Shard *
find_hash(DynTable *table, int32 hash)
{
	struct StoreShards *shards = get_shards(table);

	return bsearch(&hash, shards->shards, shards->n, sizeof(Shard), compare_hash);
}

/* Returns the shard of a partition key, or NULL. */
static const Shard *
find_shard(DynTable *table, Datum partition)
{
	return find_hash(table, store_hash(table, partition));
}

/* Returns the shard of this node that has a hash, or InvalidOid. */
Oid
store_shard_of_hash(DynTable *table, int32 hash)
{
	const Shard *shard = find_hash(table, hash);

	return shard == NULL ? InvalidOid : shard->relid;
}

/* Returns the number of the shard of a partition key; 0 if the table has none that is known here. */
int64
store_shard_number(DynTable *table, Datum partition)
{
	const Shard *shard = find_shard(table, partition);

	return shard == NULL ? 0 : shard->id;
}

static int
place_of(const DynTable *table, const Shard *shard)
{
	return (int) (shard - table->shards->shards);
}

/*
 * Keeps the shard of a partition key, which was found, where it is until the transaction ends, and
 * returns it; NULL if the table has none that is known here.  Citus moves and splits shards under a
 * lock on all nodes that conflicts, and its changed catalogs invalidate the table.
 */
static const Shard *
keep_shard(DynTable *table, Datum partition, const Shard *found)
{
	Shard shard;
	int place;

	do
	{
		if (found == NULL)
			return NULL;
		shard = *found;
		place = place_of(table, found);
		(void) dyn_shard_lock(table->shards->colocation, place, true);
		AcceptInvalidationMessages();
		if (table->valid)
			return found;
		/* an invalid one stays so, and is read each time */
		table->shards = NULL;
		found = find_shard(table, partition);
		/* a split of another shard changes the place */
	} while (found == NULL || found->id != shard.id || found->relid != shard.relid ||
			 place_of(table, found) != place);
	return found;
}

/*
 * Keeps the shard of a partition key where it is until the transaction ends.  A write of several
 * statements needs that: Citus keeps the shard where it is only during each statement that writes.
 * A move between them takes locks of rows away, and a statement that has waited for a move has a
 * snapshot that does not show moved rows.
 */
void
store_shard_keep(DynTable *table, Datum partition)
{
	(void) keep_shard(table, partition, find_shard(table, partition));
}

/* Does so, and returns whether the shard is on this node. */
bool
store_shard_keep_here(DynTable *table, Datum partition)
{
	const Shard *shard = keep_shard(table, partition, find_shard(table, partition));

	return shard != NULL && OidIsValid(shard->relid);
}

/* Returns whether rows of the table are the shard's.  What users added to it may call anything. */
static bool
is_alike(const DynTable *table, const DynTable *shard)
{
	if (shard == NULL || shard->unsupported || shard->write_refusal != NULL || shard->extras.any ||
		shard->nkeys != table->nkeys || shard->ncolumns != table->ncolumns)
		return false;
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (strcmp(shard->keys[i].column, table->keys[i].column) != 0 ||
			shard->keys[i].type != table->keys[i].type)
			return false;
	}
	return true;
}

/*
 * Opens and locks the shard of a partition key for a call that is a transaction by itself, if the
 * shard is on this node and the direct store may serve the call; otherwise NULL.  A call that needs
 * no privileges but SELECT reads.  The caller has the distributed table open and locked, closes the
 * shard, and keeps the locks.  A snapshot that is older may not show what has been moved here.
 */
Relation
store_shard_open(DynTable *table, Datum partition, AclMode privileges, DynTable **shard)
{
	const Shard *found;
	Relation rel;
	int32 node;

	if (IsolationUsesXactSnapshot() || table->row_security || table->rules || table->unsupported ||
		direct_call_refusal(table, privileges | ACL_SELECT) != NULL || !citus_executes_locally())
		return NULL;
	found = find_shard(table, partition);
	if (found == NULL || !OidIsValid(found->relid))
		return NULL;
	found = keep_shard(table, partition, found);
	if (found == NULL || !OidIsValid(found->relid))
		return NULL;
	node = found->node;
	rel = try_relation_open(found->relid, privileges != 0 ? RowExclusiveLock : AccessShareLock);
	if (rel == NULL)
		return NULL;
	*shard = dyn_schema_shard(rel);
	if (is_alike(table, *shard) &&
		(privileges == 0 || citus_join_transaction() || citus_name_transaction(node)))
		return rel;
	relation_close(rel, NoLock);
	return NULL;
}

/* Tells where the shard of a partition key is.  False if the table has none that is known here. */
bool
store_shard_place(DynTable *table, Datum partition, StorePlace *place)
{
	const Shard *shard = find_shard(table, partition);

	if (shard == NULL)
		return false;
	*place = (StorePlace){shard->id, shard->node, OidIsValid(shard->relid), shard->relid};
	return true;
}

/* Returns whether another node has the shard of a partition key. */
bool
store_shard_is_away(DynTable *table, Datum partition)
{
	StorePlace place;

	return store_shard_place(table, partition, &place) && !place.here;
}

/*
 * Scans
 */

/*
 * Returns in how many cells scans read a table, one after the other; 0 if it has no shards that are
 * known here.  A cell is a range of hashes: those of one shard when the table was distributed.
 * Shards are split and never joined, so cells stay what they are.
 */
int
store_cells(DynTable *table)
{
	return table->distributed ? get_shards(table)->cells : 0;
}

/* Returns the hashes of a cell, as Citus divides them. */
static CitusRange
cell_range(const struct StoreShards *shards, int cell)
{
	uint32 width = (uint32) ((UINT64CONST(1) << 32) / (uint64) shards->cells);
	int32 from = (int32) (PG_INT32_MIN + (int64) cell * width);

	return (CitusRange){from,
						cell == shards->cells - 1 ? PG_INT32_MAX : from + (int32) (width - 1)};
}

/* Returns the cell of a partition key. */
int
store_cell(DynTable *table, Datum partition)
{
	int cells = get_shards(table)->cells;
	int64 width = (INT64CONST(1) << 32) / cells;

	return (int) Min(((int64) store_hash(table, partition) - PG_INT32_MIN) / width, cells - 1);
}

/*
 * Sets the hashes of a cell, and lists the numbers of the shards that have some of them, in the
 * current memory context.
 */
int
store_cell_shards(DynTable *table, int cell, CitusRange *range, int64 **numbers)
{
	const struct StoreShards *shards = get_shards(table);
	int n = 0;

	*range = cell_range(shards, cell);
	*numbers = palloc(shards->n * sizeof(int64));
	for (int i = 0; i < shards->n; i++)
	{
		if (shards->shards[i].from <= range->to && shards->shards[i].to >= range->from)
			(*numbers)[n++] = shards->shards[i].id;
	}
	return n;
}

static Shard *
find_number(DynTable *table, int64 number)
{
	struct StoreShards *shards = get_shards(table);

	for (int i = 0; i < shards->n; i++)
	{
		if (shards->shards[i].id == number)
			return &shards->shards[i];
	}
	return NULL;
}

/*
 * Opens and locks a shard of this node for a read, and sets the hashes that it has, and its schema
 * unless that is not asked for: one of entries has none.  NULL if there is no such shard here.
 */
Relation
store_shard_find(DynTable *table, int64 number, CitusRange *range, DynTable **shard)
{
	const Shard *found = find_number(table, number);
	Relation rel = found == NULL || !OidIsValid(found->relid)
					   ? NULL
					   : try_relation_open(found->relid, AccessShareLock);

	if (rel == NULL)
		return NULL;
	*range = (CitusRange){found->from, found->to};
	if (shard != NULL)
		*shard = dyn_schema_shard(rel);
	if (shard == NULL || *shard != NULL)
		return rel;
	relation_close(rel, AccessShareLock);
	return NULL;
}

/*
 * Has the shards of a table read from Citus' catalogs again, since they are not where the catalogs
 * said.  No caller holds one of them, so they are freed: the table may stay in the cache, and this
 * is called often.
 */
void
store_shards_forget(DynTable *table)
{
	struct StoreShards *shards = table->shards;

	AcceptInvalidationMessages();
	table->shards = NULL;
	for (int i = 0; shards != NULL && i < shards->n; i++)
	{
		if (shards->shards[i].key != (Datum) 0)
			pfree(DatumGetPointer(shards->shards[i].key));
	}
	if (shards != NULL)
		pfree(shards);
}

/*
 * Keeps a shard where it is until store_shard_unpin(), unless it is being moved, which reads do not
 * wait for; and sets a partition key that would be in it.  False if the table has no such shard.
 */
bool
store_shard_pin(DynTable *table, int64 number, StorePin *pin)
{
	Shard *shard;

	while ((shard = find_number(table, number)) != NULL)
	{
		*pin = (StorePin){.colocation = table->shards->colocation,
						  .place = place_of(table, shard),
						  .key = shard->key};
		pin->locked = dyn_shard_lock(pin->colocation, pin->place, false);
		AcceptInvalidationMessages();
		/* an invalid one stays so, and is read each time */
		if (!table->valid)
			table->shards = NULL;
		if (table->valid ||
			((shard = find_number(table, number)) != NULL && place_of(table, shard) == pin->place))
			break;
		store_shard_unpin(pin);
	}
	if (shard == NULL)
		return false;
	if (shard->key == (Datum) 0)
	{
		MemoryContext old = MemoryContextSwitchTo(table->context);

		shard->key = store_hash_key(table, shard->from, shard->to);
		MemoryContextSwitchTo(old);
	}
	pin->key = shard->key;
	return true;
}

/* Lets a shard be moved again. */
void
store_shard_unpin(const StorePin *pin)
{
	if (pin->locked)
		dyn_shard_unlock(pin->colocation, pin->place);
}

/*
 * Says which shards a read takes, and of which nodes: the one of a partition key, or all if that is
 * NULL.
 */
const char *
store_shards_words(DynTable *table, const Datum *partition)
{
	const Shard *shard = partition != NULL ? find_shard(table, *partition) : NULL;
	MemoryContext context = CurrentMemoryContext;
	const char *words = "it is distributed";
	const char *node;

	if (partition != NULL && shard == NULL)
		return words;
	store_connect();
	sql_execute("SELECT pg_catalog.count(DISTINCT s.shardid), pg_catalog.count(DISTINCT n.groupid),"
				" pg_catalog.min(pg_catalog.format('%s:%s', n.nodename, n.nodeport))"
				" FROM " CITUS_SHARDS_ON_NODES " WHERE s.logicalrelid OPERATOR(pg_catalog.=) $1"
				" AND ($2 IS NULL OR s.shardid OPERATOR(pg_catalog.=) $2)",
				true, 0,
				SQL_VALUES(SQL_OID(table->relid),
						   SQL_NULLABLE(INT8OID, Int64GetDatum(shard == NULL ? 0 : shard->id),
										shard == NULL)));
	MemoryContextSwitchTo(context);
	node = sql_text_or_null(SPI_tuptable, 0, 3);
	if (partition == NULL)
		words = psprintf("it is distributed, " INT64_FORMAT " shards on " INT64_FORMAT
						 " nodes are read",
						 DatumGetInt64(shard_column(0, 1)), DatumGetInt64(shard_column(0, 2)));
	/* the shard may have been split since it was found */
	else if (node != NULL)
		words = psprintf("it is distributed, one shard is read, on node %s", node);
	SPI_finish();
	return words;
}
