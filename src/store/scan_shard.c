/*
 * scan_shard.c
 *	  dynamo_internal.scan_shard(): entries of a shard of this node, for a scan at any node.
 *
 * Everybody may call it: it reads the shard with the rights of its caller, as plain SQL does.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"

#include "catalog/entries.h"
#include "catalog/key.h"
#include "catalog/rights.h"
#include "server/arguments.h"
#include "server/catalogs.h"
#include "server/errors.h"
#include "store/range.h"
#include "store/remote.h"
#include "store/shard.h"

/* This is the place of an argument that may be null. */
#define START 5

typedef struct ShardRows
{
	const DynTable *table; /* the shard */
	const DynTable *placed; /* what is divided by hashes of its first key */
	const StoreRange *range;
	CitusRange hashes;
	bool all; /* rows of the shard have one of these hashes */
	int64 max_items;
	int64 max_bytes;
	int64 items;
	int64 bytes;
	ArrayBuildState *array;
} ShardRows;

static bool
add_row(const StoreRow *row, void *arg)
{
	ShardRows *rows = arg;
	DynItem *item = DatumGetDynItem(row->item);

	if (!rows->all)
	{
		DynKeyValues key;
		int32 hash;

		if (rows->placed->entries)
			dyn_key_exact(rows->table, rows->range->index,
						  dyn_key_item(rows->table, rows->range->index, item),
						  DYN_KEY_OF_SCAN_START, &key);
		else
			dyn_key_of_item(rows->table, item, &key);
		hash = store_hash(rows->placed, key.values[0]);
		if (hash < rows->hashes.from || hash > rows->hashes.to)
			return true;
	}
	if (store_wants_part(rows->range->want) && !row->projected)
		item = dyn_index_part(rows->table, rows->range->index, item);
	(void) accumArrayResult(rows->array, PointerGetDatum(item), false, rows->table->item_type,
							rows->array->mcontext);
	rows->items++;
	rows->bytes += (int64) dyn_index_entry_size(rows->table, rows->range->index, item);
	return rows->items < rows->max_items && rows->bytes < rows->max_bytes;
}

/*
 * Opens a distributed table by the name that another node has for it, and raises an error if it is
 * none.  Returns NULL if it would have to wait for the table; store_was_sent() says what is wrong
 * with that.
 */
Relation
store_open_distributed(text *name, DynTable **table)
{
	RangeVar *range = makeRangeVarFromNameList(textToQualifiedNameList(name));
	RightsWanted wanted = {.mode = AccessShareLock};
	Oid relid =
		RangeVarGetRelidExtended(range, wanted.mode, RVR_SKIP_LOCKED, rights_check_name, &wanted);
	Relation rel;

	if (!OidIsValid(relid))
		return NULL;
	rel = relation_open(relid, NoLock);
	*table = dyn_schema(rel);
	if (*table == NULL || !(*table)->distributed)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("\"%s\" is not a distributed table of items", range->relname)));
	return rel;
}

/* Returns what is wanted of the entries of an index; anybody may ask for anything. */
static StoreWant
get_want(const DynIndex *index, int32 want)
{
	if (want != STORE_WANT_ITEM && want != STORE_WANT_KEYS &&
		(want != STORE_WANT_PART || index->carried == NULL))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid argument want")));
	return (StoreWant) want;
}

static void
set_start(const DynTable *shard, const DynItem *start, StoreRange *range)
{
	DynKeyValues key;

	dyn_key_exact(shard, range->index, start, DYN_KEY_OF_SCAN_START, &key);
	range->nposition = key.nkeys;
	memcpy(range->position, key.values, key.nkeys * sizeof(Datum));
}

/*
 * Opens the shard of entries of an index, as store_shard_find() does.  *like becomes a copy of the
 * table whose index has the shard as its relation, by which the entries are read.
 */
static Relation
open_entries(const DynTable *table, int index, int64 number, CitusRange *hashes, ShardRows *rows,
			 DynTable **like)
{
	DynTable *placed = dyn_entries_schema(table, &table->indexes[index]);
	Relation rel = store_shard_find(placed, number, hashes, NULL);
	DynIndex *own;

	if (rel == NULL)
		return NULL;
	rows->placed = placed;
	*like = palloc(sizeof(DynTable));
	**like = *table;
	(*like)->distributed = false;
	(*like)->plans = NULL;
	(*like)->context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table entries", ALLOCSET_SMALL_SIZES);
	(*like)->indexes = palloc(table->nindexes * sizeof(DynIndex));
	memcpy((*like)->indexes, table->indexes, table->nindexes * sizeof(DynIndex));
	own = &(*like)->indexes[index];
	own->relid = RelationGetRelid(rel);
	own->entries = catalogs_qualified(own->relid);
	return rel;
}

/*
 * scan_shard(table_name, shard, from_hash, to_hash, index_name, start_key, want, max_items,
 * max_bytes) returns the entries of an index of a shard behind a start key that have hashes in a
 * range: so many, or so many bytes, and a NULL if there are no more.  Returns NULL if the shard is
 * not on this node, or the table is locked.
 */
PG_FUNCTION_INFO_V1(dyn_scan_shard);
Datum
dyn_scan_shard(PG_FUNCTION_ARGS)
{
	StoreRange range = {.forward = true};
	ShardRows rows = {.range = &range};
	bool latest = !IsolationUsesXactSnapshot();
	ItemSpan index = text_span(argument_required_text(fcinfo, 4, "index_name"));
	DynTable *table;
	Relation rel = store_open_distributed(argument_required_text(fcinfo, 0, "table_name"), &table);
	DynTable *shard;
	const DynIndex *of_entries;
	Relation shard_rel;
	CitusRange hashes;

	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (i != START && PG_ARGISNULL(i))
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("arguments other than start_key must not be null")));
	}
	if (rel == NULL)
		PG_RETURN_NULL();
	of_entries = index.len == 0 ? NULL : dyn_active_index(table, index);
	if (of_entries != NULL && of_entries->entries != NULL)
		shard_rel = open_entries(table, (int) (of_entries - table->indexes), PG_GETARG_INT64(1),
								 &hashes, &rows, &shard);
	else
	{
		shard_rel = store_shard_find(table, PG_GETARG_INT64(1), &hashes, &shard);
		rows.placed = shard;
	}
	relation_close(rel, NoLock);
	if (shard_rel == NULL)
		PG_RETURN_NULL();
	rows.table = shard;
	rows.hashes = (CitusRange){PG_GETARG_INT32(2), PG_GETARG_INT32(3)};
	rows.all = hashes.from >= rows.hashes.from && hashes.to <= rows.hashes.to;
	rows.max_items = range.likely = PG_GETARG_INT64(7);
	rows.max_bytes = PG_GETARG_INT64(8);
	rows.array = initArrayResult(shard->item_type, CurrentMemoryContext, true);
	range.index = index.len == 0 ? &shard->primary : dyn_active_index(shard, index);
	range.want = get_want(range.index, PG_GETARG_INT32(6));
	if (!PG_ARGISNULL(START))
		set_start(shard, DatumGetDynItem(PG_GETARG_DATUM(START)), &range);
	/* one that is older does not show what was moved here */
	if (latest)
		PushActiveSnapshot(GetLatestSnapshot());
	/* entries are read by statements with limits, so that their plans are ordered */
	if (range.index->entries != NULL)
		remote_range(shard, &range, add_row, &rows);
	else
		store_range(shard, &range, add_row, &rows);
	if (latest)
		PopActiveSnapshot();
	if (rows.items < rows.max_items && rows.bytes < rows.max_bytes)
		(void) accumArrayResult(rows.array, (Datum) 0, true, shard->item_type,
								rows.array->mcontext);
	relation_close(shard_rel, NoLock);
	PG_RETURN_DATUM(makeArrayResult(rows.array, CurrentMemoryContext));
}
