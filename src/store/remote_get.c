/*
 * remote_get.c
 *	  Items of many keys of a distributed table, by one statement for each node or shard.
 *
 * dynamo_internal.get_items() reads them on the node of the shards, by store_call().  A call that
 * is all that its transaction does asks each node once.  In others each shard is asked for itself:
 * Citus may have written to the shards of a node by several connections.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "catalog/key.h"
#include "server/arguments.h"
#include "server/extension.h"
#include "store/direct.h"
#include "store/plan.h"
#include "store/shard.h"

/* This shape comes beside that of remote_scan.c. */
#define GET_ITEMS ((1 << 29) + 1)

/*
 * Asking
 */

static ArrayType *
make_array(const DynTable *table, Datum *items, bool *nulls, int n)
{
	int lower = 1;
	int16 len;
	bool byval;
	char align;

	get_typlenbyvalalign(table->item_type, &len, &byval, &align);
	return construct_md_array(items, nulls, 1, &n, &lower, table->item_type, len, byval, align);
}

/* Takes the items that another node has answered for so many keys. */
static void
take_items(const DynTable *table, ArrayType *array, int asked, StoreFetched *const *fetched)
{
	Datum *items;
	bool *nulls;
	int16 len;
	bool byval;
	char align;
	int n;

	get_typlenbyvalalign(table->item_type, &len, &byval, &align);
	deconstruct_array(array, table->item_type, len, byval, align, &items, &nulls, &n);
	for (int i = 0; i < Min(n, asked); i++)
	{
		fetched[i]->known = true;
		fetched[i]->item = nulls[i] ? NULL : DatumGetDynItem(items[i]);
	}
}

/* Asks for the items of a group; the node may no longer have its shards, and then answers nothing. */
static void
ask(DynTable *table, int n, StoreFetched *const *fetched)
{
	Oid types[] = {dyn_key_column_type(table->keys[0].type), TEXTOID,
				   get_array_type(table->item_type)};
	Datum *keys = palloc(n * sizeof(Datum));
	ParamListInfo parameters;
	Datum answer;

	for (int i = 0; i < n; i++)
		keys[i] = PointerGetDatum(fetched[i]->given);
	parameters = store_parameters(lengthof(types), types,
								  (Datum[]){fetched[0]->key->values[0],
											CStringGetTextDatum(table->qualified),
											PointerGetDatum(make_array(table, keys, NULL, n))});
	if (store_call(table, GET_ITEMS, DYN_INTERNAL ".get_items", parameters, &answer))
		take_items(table, DatumGetArrayTypeP(answer), n, fetched);
}

/* Returns what of a table is read together with a key; 0 if the key is better read by itself. */
static int64
group_of(DynTable *table, const DynKeyValues *key, bool alone)
{
	StorePlace place;

	if (!store_shard_place(table, key->values[0], &place) || (alone && place.here))
		return 0;
	return alone ? place.node + INT64CONST(1) : place.number;
}

/*
 * Fetches the items of keys of a distributed table, as far as it is better than to read one after
 * the other.  They are allocated in the current memory context.  The site is as of store_get().
 */
void
store_fetch(DynTable *table, int n, StoreFetched *fetched, const Node *site)
{
	ErrorContextCallback callback;
	StoreFetched **group;
	int64 *groups;
	bool alone;

	if (!table->distributed || direct_call_refusal(table, ACL_SELECT) != NULL)
		return;
	alone = store_call_is_alone(site);
	groups = palloc(n * sizeof(int64));
	group = palloc(n * sizeof(StoreFetched *));
	for (int i = 0; i < n; i++)
		groups[i] = group_of(table, fetched[i].key, alone);
	store_begin(&callback);
	for (int i = 0; i < n; i++)
	{
		int64 number = groups[i];
		int members = 0;

		for (int k = i; number != 0 && k < n; k++)
		{
			if (groups[k] != number)
				continue;
			group[members++] = &fetched[k];
			groups[k] = 0;
		}
		CHECK_FOR_INTERRUPTS();
		if (members > 1)
			ask(table, members, group);
	}
	store_end(&callback);
}

/*
 * Answering
 */

typedef struct OpenShard
{
	Relation rel;
	DynTable *table;
	StoreReader *reader;
} OpenShard;

/* Returns the shard of a partition key, opened once; NULL if it is not on this node. */
static OpenShard *
open_shard(DynTable *table, Datum partition, List **open)
{
	OpenShard *shard;
	StorePlace place;
	CitusRange range;
	ListCell *cell;

	if (!store_shard_place(table, partition, &place) || !place.here)
		return NULL;
	foreach (cell, *open)
	{
		shard = lfirst(cell);
		if (RelationGetRelid(shard->rel) == place.relid)
			return shard;
	}
	shard = palloc(sizeof(OpenShard));
	shard->rel = store_shard_find(table, place.number, &range, &shard->table);
	if (shard->rel == NULL)
		return NULL;
	shard->reader = store_reader();
	*open = lappend(*open, shard);
	return shard;
}

static void
close_shards(const List *open)
{
	ListCell *cell;

	foreach (cell, open)
	{
		OpenShard *shard = lfirst(cell);

		store_reader_close(shard->reader);
		relation_close(shard->rel, NoLock);
	}
}

/*
 * get_items(table_name, keys) returns the items of the keys, and NULL for each that is not there.
 * Returns NULL if a shard of theirs is not on this node, or the table is locked.  Everybody may
 * call it: it reads the shards with the rights of its caller, as plain SQL does.
 */
PG_FUNCTION_INFO_V1(dyn_get_items);
Datum
dyn_get_items(PG_FUNCTION_ARGS)
{
	bool latest = !IsolationUsesXactSnapshot();
	DynTable *table;
	Relation rel = store_open_distributed(argument_required_text(fcinfo, 0, "table_name"), &table);
	List *open = NIL;
	Datum *items;
	bool *nulls;
	bool here = true;
	int n;

	argument_require(fcinfo, 1, "keys");
	if (rel == NULL)
		PG_RETURN_NULL();
	items = argument_elements(PG_GETARG_ARRAYTYPE_P(1), "keys", &n);
	nulls = palloc(n * sizeof(bool));
	/* one that is older does not show what was moved here */
	if (latest)
		PushActiveSnapshot(GetLatestSnapshot());
	for (int i = 0; i < n && here; i++)
	{
		OpenShard *shard;
		DynKeyValues key;
		DynItem *item;

		CHECK_FOR_INTERRUPTS();
		dyn_key_exact(table, &table->primary, DatumGetDynItem(items[i]), DYN_KEY_OF_REQUEST, &key);
		shard = open_shard(table, key.values[0], &open);
		here = shard != NULL;
		/* the shard's owner may have given it other keys */
		if (here)
			dyn_key_exact(shard->table, &shard->table->primary, DatumGetDynItem(items[i]),
						  DYN_KEY_OF_REQUEST, &key);
		item = here ? store_read(shard->reader, shard->table, &key, NULL) : NULL;
		items[i] = PointerGetDatum(item);
		nulls[i] = item == NULL;
	}
	if (latest)
		PopActiveSnapshot();
	close_shards(open);
	relation_close(rel, NoLock);
	if (!here)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(make_array(table, items, nulls, n));
}
