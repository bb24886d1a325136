/*
 * shard.c
 *	  The shard of a key, where this node has it.
 *
 * A shard here is a table of items that the direct store can serve.  Citus moves shards under a lock
 * on their metadata, which is taken here as its own executor does.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace_d.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "catalog/key.h"
#include "catalog/local_shards.h"

#include "ground/citus.h"
#include "store/plan.h"
#include "store/shard.h"

typedef struct Shard
{
	int32 from;
	int32 to;
	int64 id;
	Oid relid; /* invalid: another node has it */
} Shard;

struct StoreShards
{
	int32 colocation; /* the group that they are moved with */
	int n;
	Shard shards[FLEXIBLE_ARRAY_MEMBER];
};

static Datum
column(int row, int i)
{
	bool isnull;
	Datum value = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, i, &isnull);

	return isnull ? (Datum) 0 : value;
}

static struct StoreShards *
read_shards(DynTable *table)
{
	struct StoreShards *shards;
	Oid type = OIDOID;
	Datum relid = ObjectIdGetDatum(table->relid);
	int result;

	store_connect();
	result = SPI_execute_with_args(
		"SELECT s.shardminvalue::int4, s.shardmaxvalue::int4, s.shardid,"
		" CASE WHEN p.groupid = l.groupid"
		" THEN pg_catalog.to_regclass(pg_catalog.shard_name($1, s.shardid))::oid END,"
		" t.colocationid"
		" FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement p USING (shardid)"
		" JOIN pg_catalog.pg_dist_partition t USING (logicalrelid),"
		" pg_catalog.pg_dist_local_group l WHERE s.logicalrelid = $1 ORDER BY 1",
		1, &type, &relid, NULL, true, 0);
	if (result != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(result));
	shards = MemoryContextAlloc(table->context, offsetof(struct StoreShards, shards) +
													SPI_processed * sizeof(Shard));
	shards->n = (int) SPI_processed;
	shards->colocation = shards->n > 0 ? DatumGetInt32(column(0, 5)) : 0;
	for (int i = 0; i < shards->n; i++)
		shards->shards[i] = (Shard){DatumGetInt32(column(i, 1)), DatumGetInt32(column(i, 2)),
									DatumGetInt64(column(i, 3)), DatumGetObjectId(column(i, 4))};
	SPI_finish();
	return shards;
}

static int32
hash_of(const DynTable *table, Datum value)
{
	TypeCacheEntry *entry =
		lookup_type_cache(dyn_key_column_type(table->keys[0].type), TYPECACHE_HASH_PROC_FINFO);

	return DatumGetInt32(
		FunctionCall1Coll(&entry->hash_proc_finfo,
						  table->keys[0].type == ITEM_S ? C_COLLATION_OID : InvalidOid, value));
}

/*
 * Opens and locks the shard of a partition key, if it is on this node; NULL otherwise.  The caller
 * closes the relation and keeps the locks.
 */
Relation
store_shard_open(DynTable *table, Datum partition, LOCKMODE mode, DynTable **shard)
{
	int32 hash;
	Relation rel;

	if (!OidIsValid(get_relname_relid("pg_dist_shard", PG_CATALOG_NAMESPACE)))
		return NULL;
	if (table->shards == NULL)
		table->shards = read_shards(table);
	hash = hash_of(table, partition);
	for (int i = 0; i < table->shards->n; i++)
	{
		const Shard *s = &table->shards->shards[i];

		if (hash < s->from || hash > s->to)
			continue;
		if (!OidIsValid(s->relid))
			return NULL;
		if (mode >= RowExclusiveLock)
			citus_join_transaction();
		/* the shards are in the order in which Citus numbers them for its lock */
		(void) dyn_shard_lock(table->shards->colocation, i, true);
		/* the shard has moved away meanwhile */
		if (!table->valid)
			return NULL;
		rel = relation_open(s->relid, mode);
		*shard = dyn_schema_shard(rel);
		if (*shard != NULL)
			return rel;
		relation_close(rel, NoLock);
		return NULL;
	}
	return NULL;
}
