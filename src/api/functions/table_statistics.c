/*
 * table_statistics.c
 *	  dyn_table_statistics(): the items of a table by entities, indexes and collections.
 *
 * The items are read by a Scan, in the order of their keys: with the caller's privileges, wherever
 * they are, and one collection after the other, so that only the largest ones are kept.  A sample is
 * a segment of the Scan: whole collections, by a hash of their keys.
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "api/functions/functions.h"
#include "catalog/distribute.h"
#include "catalog/kinds.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "catalog/shape.h"
#include "catalog/size.h"
#include "catalog/vector.h"
#include "server/arguments.h"
#include "server/sql.h"
#include "store/store.h"

#define MAX_COLLECTIONS 10000

typedef struct Amount
{
	int64 items;
	int64 bytes;
} Amount;

typedef struct Collection
{
	DynItem *key; /* the value of the partition key */
	Amount amount;
} Collection;

typedef struct Statistics
{
	const DynTable *table;
	const List *entities;
	int64 total_segments;
	double times; /* so much more is in all of them */
	Amount all;
	Amount *of_entities; /* in their order, and then of those that are none */
	Amount *of_indexes;
	int max_collections;
	int ncollections;
	Collection *collections; /* the largest first */
	Collection current; /* the one that is being read; key is NULL before the first */
	MemoryContext context; /* for the keys */
	MemoryContext item_context;
} Statistics;

/*
 * Reading
 */

static void
statistics_add(Amount *amount, int64 bytes)
{
	amount->items++;
	amount->bytes += bytes;
}

static void
end_collection(Statistics *s)
{
	int i = s->ncollections;

	if (s->current.key == NULL)
		return;
	while (i > 0 && s->collections[i - 1].amount.bytes < s->current.amount.bytes)
		i--;
	if (i == s->max_collections)
	{
		pfree(s->current.key);
		return;
	}
	if (s->ncollections == s->max_collections)
		pfree(s->collections[--s->ncollections].key);
	memmove(&s->collections[i + 1], &s->collections[i], (s->ncollections - i) * sizeof(Collection));
	s->collections[i] = s->current;
	s->ncollections++;
}

static void
begin_collection(Statistics *s, ItemSpan key)
{
	MemoryContext old = MemoryContextSwitchTo(s->context);

	s->current = (Collection){.key = item_from_value(key)};
	MemoryContextSwitchTo(old);
}

static void
add_to_collection(Statistics *s, const DynItem *item, int64 bytes)
{
	ItemSpan key;

	if (!item_lookup(item_root(item), s->table->keys[0].attribute, &key))
		return;
	if (s->current.key == NULL || item_compare_bytes(item_root(s->current.key), key) != 0)
	{
		end_collection(s);
		begin_collection(s, key);
	}
	statistics_add(&s->current.amount, bytes);
}

static void
add_to_entity(Statistics *s, const DynItem *item, int64 bytes)
{
	const Entity *entity = item_kinds->of_item(s->entities, item);
	int i = 0;

	while (i < list_length(s->entities) && list_nth(s->entities, i) != entity)
		i++;
	statistics_add(&s->of_entities[i], bytes);
}

static void
add_to_indexes(Statistics *s, const DynItem *item)
{
	for (int i = 0; i < s->table->nindexes; i++)
	{
		const DynIndex *index = &s->table->indexes[i];

		if (dyn_index_has(s->table, index, item))
			statistics_add(&s->of_indexes[i], (int64) dyn_index_entry_size(s->table, index, item));
	}
	for (int i = 0; i < s->table->nvectors; i++)
	{
		const DynVector *vector = &s->table->vectors[i];

		if (dyn_vector_has(vector, item))
			statistics_add(
				&s->of_indexes[s->table->nindexes + i],
				(int64) item_size(item_root(dyn_vector_part(s->table, vector, item, true))));
	}
}

static void
add_item(Datum datum, void *arg)
{
	Statistics *s = arg;
	MemoryContext old = MemoryContextSwitchTo(s->item_context);
	DynItem *item = DatumGetDynItem(datum);
	int64 bytes = (int64) item_size(item_root(item));

	CHECK_FOR_INTERRUPTS();
	statistics_add(&s->all, bytes);
	add_to_entity(s, item, bytes);
	add_to_indexes(s, item);
	add_to_collection(s, item, bytes);
	MemoryContextSwitchTo(old);
	MemoryContextReset(s->item_context);
}

static void
read_items(Statistics *s, const FrontCall *call)
{
	ScanRequest request = {.read.call = call,
						   .read.expressions = expr_request(NULL, NULL),
						   .segmented = s->total_segments > 1,
						   .total_segments = s->total_segments};
	ReadResult result;

	s->of_entities = palloc0((list_length(s->entities) + 1) * sizeof(Amount));
	s->of_indexes = palloc0((s->table->nindexes + s->table->nvectors + 1) * sizeof(Amount));
	s->collections = palloc(s->max_collections * sizeof(Collection));
	s->item_context = AllocSetContextCreate(CurrentMemoryContext, "statistics of an item",
											ALLOCSET_DEFAULT_SIZES);
	action_scan(&request, add_item, s, &result);
	end_collection(s);
}

/*
 * What the server knows
 */

/* Sums a size of a relation and its partitions. */
static int64
sum_of(Oid relid, PGFunction function)
{
	ListCell *cell;
	int64 sum = 0;

	foreach (cell, find_all_inheritors(relid, AccessShareLock, NULL))
		sum += DatumGetInt64(DirectFunctionCall1(function, ObjectIdGetDatum(lfirst_oid(cell))));
	return sum;
}

/* Returns the scans of an index; of distributed tables, nodes count those of their shards. */
static SqlValue
index_scans(const DynTable *table, Oid btree)
{
	bool counted = OidIsValid(btree) && !table->distributed;

	return SQL_NULLABLE(INT8OID, counted ? Int64GetDatum(sum_of(btree, pg_stat_get_numscans)) : 0,
						!counted);
}

static SqlValue
hot_share(const DynTable *table)
{
	int64 updates = table->distributed ? 0 : sum_of(table->relid, pg_stat_get_tuples_updated);
	double share = 0;

	if (updates > 0)
		share = (double) sum_of(table->relid, pg_stat_get_tuples_hot_updated) / (double) updates;
	return SQL_NULLABLE(FLOAT8OID, Float8GetDatum(share), updates == 0);
}

/* A Spread is how many pages a collection has in the mean, and how many would be enough. */
typedef struct Spread
{
	SqlValue pages;
	SqlValue ideal;
} Spread;

static SqlValue
answered(int column)
{
	bool isnull;
	Datum value = sql_nullable(SPI_tuptable, 0, column, &isnull);

	return SQL_NULLABLE(FLOAT8OID, isnull ? 0 : Float8GetDatum(DatumGetFloat8(value)), isnull);
}

/* Looks at some collections; not of a distributed table, whose pages are on other nodes. */
static Spread
find_spread(const FrontCall *call)
{
	Spread spread = {{.isnull = true}, {.isnull = true}};

	if (call->table->distributed)
		return spread;
	SPI_connect();
	collection_pages_read(call->rel, call->table);
	spread = (Spread){answered(1), answered(2)};
	SPI_finish();
	return spread;
}

/*
 * Rows
 */

static const SqlValue none = {.isnull = true};

typedef struct Row
{
	const char *kind;
	SqlValue name;
	DynItem *key;
	SqlValue disk_bytes;
	SqlValue index_scans;
	SqlValue hot_share;
	Spread spread;
} Row;

/* Puts a row of what was counted in a sample, which is times larger in all. */
static void
put_row(ReturnSetInfo *result, const Row *row, const Amount *amount, double times)
{
	sql_put(result,
			SQL_VALUES(SQL_TEXT(row->kind), row->name, SQL_POINTER(InvalidOid, row->key),
					   SQL_INT8((int64) rint((double) amount->items * times)),
					   SQL_INT8((int64) rint((double) amount->bytes * times)), row->disk_bytes,
					   row->index_scans, row->hot_share, row->spread.pages, row->spread.ideal));
}

static void
return_table(ReturnSetInfo *result, const Statistics *s, const DynSize *sizes, Spread spread)
{
	const DynTable *table = s->table;
	Row row = {"table",
			   SQL_TEXT(table->name),
			   NULL,
			   .index_scans = index_scans(table, table->primary.relid),
			   .hot_share = hot_share(table),
			   .spread = spread};

	row.disk_bytes = SQL_INT8(sizes != NULL ? sizes[0].bytes : sum_of(table->relid, pg_table_size));
	put_row(result, &row, &s->all, s->times);
}

static void
return_indexes(ReturnSetInfo *result, const Statistics *s, const DynSize *sizes)
{
	for (int i = 0; i < s->table->nindexes; i++)
	{
		const DynIndex *index = &s->table->indexes[i];
		Row row = {"index", sql_span(index->name), NULL, none, index_scans(s->table, index->relid),
				   none,    {none, none}};

		if (sizes != NULL)
			row.disk_bytes = SQL_INT8(sizes[1 + i].bytes);
		else if (OidIsValid(index->relid))
			row.disk_bytes = SQL_INT8(sum_of(index->relid, pg_total_relation_size));
		put_row(result, &row, &s->of_indexes[i], s->times);
	}
	for (int i = 0; i < s->table->nvectors; i++)
	{
		const DynVector *vector = &s->table->vectors[i];
		int64 bytes = dyn_vector_is_distributed(vector)
						  ? dyn_entries_size(vector->relid).bytes
						  : sum_of(vector->relid, pg_total_relation_size);
		Row row = {"vector index", sql_span(vector->index.name), NULL, SQL_INT8(bytes), none, none,
				   {none, none}};

		put_row(result, &row, &s->of_indexes[s->table->nindexes + i], s->total_segments);
	}
}

/* Returns rows of entities; where some are declared, all other items have a row without a name. */
static void
return_entities(ReturnSetInfo *result, const Statistics *s)
{
	int n = list_length(s->entities);

	for (int i = 0; i <= n && n > 0; i++)
	{
		Row row = {"entity", none, NULL, none, none, none, {none, none}};

		if (i < n)
			row.name = sql_span(item_kinds->name(list_nth(s->entities, i)));
		else if (s->of_entities[i].items == 0)
			break;
		put_row(result, &row, &s->of_entities[i], s->times);
	}
}

static void
return_collections(ReturnSetInfo *result, const Statistics *s)
{
	for (int i = 0; i < s->ncollections; i++)
		put_row(result,
				&(Row){"collection", none, s->collections[i].key, none, none, none, {none, none}},
				&s->collections[i].amount, 1);
}

/* dyn_table_statistics(table_name, max_collections, total_segments) */
PG_FUNCTION_INFO_V1(dyn_table_statistics);
Datum
dyn_table_statistics(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Statistics s = {.context = CurrentMemoryContext};
	RightsBefore before;
	FrontCall call;
	DynSize *sizes;
	Spread spread;

	s.max_collections = argument_between(fcinfo, 1, "max_collections", 0, MAX_COLLECTIONS);
	s.total_segments = argument_between(fcinfo, 2, "total_segments", 1, DYN_MAX_SEGMENTS);
	action_open(NULL, argument_required_text(fcinfo, 0, "table_name"), AccessShareLock, &call);
	s.table = call.table;
	s.times = store_segment_times(call.table, s.total_segments);
	s.entities = item_kinds->of_table(call.rel, call.table);
	if (call.table->distributed)
		dyn_warn_owners(call.table->relid);
	InitMaterializedSRF(fcinfo, 0);
	sizes = call.table->distributed ? dyn_sizes(call.rel, call.table) : NULL;
	rights_take_for_rows(call.rel, false, &before);
	read_items(&s, &call);
	spread = find_spread(&call);
	rights_give_back(&before);
	return_table(result, &s, sizes, spread);
	return_entities(result, &s);
	return_indexes(result, &s, sizes);
	return_collections(result, &s);
	relation_close(call.rel, NoLock);
	return (Datum) 0;
}
