/*
 * capacity.c
 *	  ConsumedCapacity and ItemCollectionMetrics: the arithmetic of units.
 *
 * A read unit is 4 kB read consistently, half of one 4 kB read otherwise; a write unit is 1 kB
 * written.  Each item and each entry of an index counts for itself, but a stretch that a query or a
 * scan reads is counted as one.  Transactions take twice as much in the table, and in its indexes what
 * other writes take.
 */
#include "postgres.h"

#include "api/request/capacity.h"
#include "catalog/vector.h"

#define READ_BLOCK 4096
#define WRITE_BLOCK 1024

const char *const capacity_details[] = {"NONE", "TOTAL", "INDEXES", NULL};

/*
 * Sets all counters to zero.  They are allocated in the current memory context; the table must
 * outlive them.
 */
void
capacity_init(Capacity *capacity, const DynTable *table)
{
	capacity->table = table;
	capacity->of_table = 0;
	capacity->direction = NULL;
	capacity->of_indexes = palloc0((table->nindexes + 1) * sizeof(int64));
	capacity->of_vectors = palloc0((table->nvectors + 1) * sizeof(int64));
}

/* Returns a number of blocks.  A missing item counts as the smallest possible one. */
static int64
blocks(Size bytes, Size block)
{
	return Max((int64) ((bytes + block - 1) / block), 1);
}

static int64
read_blocks(Size bytes)
{
	return blocks(bytes, READ_BLOCK);
}

/* One block takes so many half units. */
static const int halves[] = {[CAPACITY_READ] = 1,
							 [CAPACITY_CONSISTENT_READ] = 2,
							 [CAPACITY_TRANSACTION_READ] = 4,
							 [CAPACITY_WRITE] = 2,
							 [CAPACITY_TRANSACTION_WRITE] = 4};

/* Transactions alone tell reads and writes apart. */
static const char *const directions[] = {[CAPACITY_TRANSACTION_READ] = "ReadCapacityUnits",
										 [CAPACITY_TRANSACTION_WRITE] = "WriteCapacityUnits"};

/*
 * Adds a read: a consistent one counts twice what another one does, and one in a transaction four
 * times (docs/semantics.md, R03, R14, X16).
 */
static void
add_read(Capacity *capacity, const DynIndex *index, int64 blocks, CapacityKind kind)
{
	int64 *counter = dyn_index_is_table(index)
						 ? &capacity->of_table
						 : &capacity->of_indexes[index - capacity->table->indexes];

	*counter += blocks * halves[kind];
}

/*
 * What a Query, a Scan or a SELECT reads
 */

static void
count_read(int64 bytes, void *arg)
{
	ReadCapacity *capacity = arg;

	capacity->blocks += read_blocks((Size) bytes);
}

static void
count_fetched(Size size, void *arg)
{
	ReadCapacity *capacity = arg;

	capacity->fetched += read_blocks(size);
}

/* Makes the meter for a ReadRequest. */
void
read_capacity_begin(ReadCapacity *capacity)
{
	*capacity = (ReadCapacity){{count_read, count_fetched, capacity}};
}

/*
 * Prints what a read took.  Each stretch that was read counts for itself, and so does each item
 * that a local index has fetched from the table (docs/semantics.md, I16).  A read of nothing counts
 * as one of the smallest item.
 */
void
read_capacity_print(JsonWriter *out, ItemSpan table, CapacityDetail detail,
					const ReadCapacity *capacity, const ReadResult *result, bool consistent)
{
	CapacityKind kind = consistent ? CAPACITY_CONSISTENT_READ : CAPACITY_READ;
	Capacity sum;

	if (detail == CAPACITY_NONE)
		return;
	capacity_init(&sum, result->table);
	add_read(&sum, result->index, Max(capacity->blocks, 1), kind);
	add_read(&sum, &result->table->primary, capacity->fetched, kind);
	capacity_print(out, "ConsumedCapacity", table, detail, &sum);
}

/*
 * Single items
 */

static int64
write_blocks(const DynItem *item)
{
	return item == NULL ? 1 : blocks(item_size(item_root(item)), WRITE_BLOCK);
}

/* Returns whether two items have the same keys in an index that both are in. */
static bool
same_keys(const DynTable *table, const DynIndex *index, const DynItem *a, const DynItem *b)
{
	ItemChildren as = item_children(item_root(a));
	ItemChildren bs = item_children(item_root(b));

	for (int i = 0; i < index->nkeys; i++)
	{
		ItemSpan attribute = dyn_index_key(table, index, i)->attribute;
		ItemSpan x;
		ItemSpan y;

		if (!item_find(&as, attribute, &x) || !item_find(&bs, attribute, &y) ||
			item_compare_bytes(x, y) != 0)
			return false;
	}
	return true;
}

/* Counts an index; an entry with another key is deleted and written (docs/semantics.md, R16). */
static int64
index_blocks(const DynTable *table, const DynIndex *index, const DynItem *old, const DynItem *new)
{
	DynItem *before = NULL;
	DynItem *after = NULL;

	if (old != NULL && dyn_index_has(table, index, old))
		before = dyn_index_part(table, index, old);
	if (new != NULL && dyn_index_has(table, index, new))
		after = dyn_index_part(table, index, new);
	if (before == NULL && after == NULL)
		return 0;
	if (before == NULL)
		return write_blocks(after);
	if (after == NULL)
		return write_blocks(before);
	if (!same_keys(table, index, before, after))
		return write_blocks(before) + write_blocks(after);
	if (item_compare_bytes(item_root(before), item_root(after)) == 0)
		return 0;
	return Max(write_blocks(before), write_blocks(after));
}

/* Returns what of an item is in a vector index, as an item; NULL if nothing is. */
static DynItem *
vector_part(const DynTable *table, const DynVector *vector, const DynItem *item)
{
	if (item == NULL || !dyn_vector_has(vector, item))
		return NULL;
	return dyn_vector_part(table, vector, item, true);
}

/* The vector counts four bytes for each dimension. */
static int64
vector_size(const DynVector *vector, const DynItem *part)
{
	ItemSpan value;

	if (part == NULL)
		return 0;
	(void) item_lookup(item_root(part), vector->spec->attribute, &value);
	return Max((int64) (item_size(item_root(part)) - item_value_size_by(value, ITEM_SIZE_NOW)) +
				   4 * vector->spec->dimensions,
			   WRITE_BLOCK);
}

/* Returns the bytes that a write takes in a vector index (docs/semantics.md, VS28). */
static int64
vector_bytes(const DynTable *table, const DynVector *vector, const DynItem *old, const DynItem *new)
{
	DynItem *before = vector_part(table, vector, old);
	DynItem *after = vector_part(table, vector, new);

	if (before != NULL && after != NULL &&
		item_compare_bytes(item_root(before), item_root(after)) == 0)
		return 0;
	return Max(vector_size(vector, before), vector_size(vector, after));
}

/*
 * Adds a write.  The larger one of old and new item counts, and so in each index
 * (docs/semantics.md, R15, R16), where a transaction takes no more than another write
 * (docs/semantics.md, X16).
 */
static void
add_write(Capacity *capacity, const DynItem *old, const DynItem *new, CapacityKind kind)
{
	const DynTable *table = capacity->table;

	capacity->of_table += Max(write_blocks(old), write_blocks(new)) * halves[kind];
	for (int i = 0; i < table->nindexes; i++)
	{
		if (table->indexes[i].status != DYN_INDEX_DELETING)
			capacity->of_indexes[i] +=
				index_blocks(table, &table->indexes[i], old, new) * halves[CAPACITY_WRITE];
	}
	for (int i = 0; i < table->nvectors; i++)
		capacity->of_vectors[i] += vector_bytes(table, &table->vectors[i], old, new);
}

/*
 * Counts the read or the write of one item in the table, and a write in the table's indexes too.
 * old and new are the item before and after it; NULL means that there is none.  For a read, only
 * old counts.
 */
void
capacity_add_item(Capacity *capacity, const DynItem *old, const DynItem *new, CapacityKind kind)
{
	Size size = old == NULL ? 0 : item_size(item_root(old));

	capacity->direction = directions[kind];
	if (kind >= CAPACITY_WRITE)
		add_write(capacity, old, new, kind);
	else
		add_read(capacity, &capacity->table->primary, read_blocks(size), kind);
}

/*
 * Counts a write of a transaction that was done before.  It is read by the size of what it found or
 * left, whichever is larger (docs/semantics.md, X16).
 */
void
capacity_add_replay(Capacity *capacity, Size size)
{
	capacity->direction = directions[CAPACITY_TRANSACTION_READ];
	add_read(capacity, &capacity->table->primary, read_blocks(size), CAPACITY_TRANSACTION_READ);
}

static void
print_units(JsonWriter *out, const Capacity *capacity, int64 n)
{
	char *units = psprintf(INT64_FORMAT ".%d", n / 2, n % 2 == 0 ? 0 : 5);

	json_write_raw(out, "CapacityUnits", units);
	if (capacity->direction != NULL)
		json_write_raw(out, capacity->direction, units);
}

/* Prints the indexes of one kind that were touched (docs/semantics.md, R19). */
static void
print_indexes(JsonWriter *out, const char *name, bool local, const Capacity *capacity)
{
	bool any = false;

	for (int i = 0; i < capacity->table->nindexes; i++)
	{
		const DynIndex *index = &capacity->table->indexes[i];

		if (index->local != local || capacity->of_indexes[i] == 0)
			continue;
		if (!any)
			json_write_begin(out, name);
		any = true;
		json_write_member(out, index->name);
		json_write_begin(out, NULL);
		print_units(out, capacity, capacity->of_indexes[i]);
		json_write_end(out);
	}
	if (any)
		json_write_end(out);
}

static void
print_vectors(JsonWriter *out, const Capacity *capacity)
{
	bool any = false;

	for (int i = 0; i < capacity->table->nvectors; i++)
	{
		if (capacity->of_vectors[i] == 0)
			continue;
		if (!any)
			json_write_begin(out, "VectorIndexes");
		any = true;
		json_write_member(out, capacity->table->vectors[i].index.name);
		json_write_begin(out, NULL);
		json_write_integer(out, "VectorWriteRequestBytes", capacity->of_vectors[i]);
		json_write_end(out);
	}
	if (any)
		json_write_end(out);
}

/* Prints the sum, or also table and index for each touched one (docs/semantics.md, R13). */
void
capacity_print(JsonWriter *out, const char *name, ItemSpan table, CapacityDetail detail,
			   const Capacity *capacity)
{
	int64 total = capacity->of_table;

	for (int i = 0; i < capacity->table->nindexes; i++)
		total += capacity->of_indexes[i];
	json_write_begin(out, name);
	json_write_span(out, "TableName", table);
	print_units(out, capacity, total);
	if (detail == CAPACITY_INDEXES)
	{
		json_write_begin(out, "Table");
		print_units(out, capacity, capacity->of_table);
		json_write_end(out);
		print_indexes(out, "LocalSecondaryIndexes", true, capacity);
		print_indexes(out, "GlobalSecondaryIndexes", false, capacity);
		print_vectors(out, capacity);
	}
	json_write_end(out);
}

/* Prints what was done with one item. */
void
item_capacity_print(JsonWriter *out, ItemSpan table, CapacityDetail detail,
					const ItemMeasure *measure, CapacityKind kind)
{
	Capacity capacity;

	if (detail == CAPACITY_NONE)
		return;
	capacity_init(&capacity, measure->table);
	capacity_add_item(&capacity, measure->old, measure->new, kind);
	capacity_print(out, "ConsumedCapacity", table, detail, &capacity);
}

const char *const metrics_choices[] = {"NONE", "SIZE", NULL};

/*
 * Prints the collection.  Its size lies between two numbers of GB (docs/semantics.md, R17, R18).
 * DynamoDB estimates: it counts in the background.
 */
void
metrics_print(JsonWriter *out, const char *name, const ItemMeasure *measure)
{
	int64 gigabytes = measure->collection_size >> 30;

	if (measure->collection_key == NULL)
		return;
	json_write_begin(out, name);
	json_write_item(out, "ItemCollectionKey", measure->collection_key);
	json_write_raw(out, "SizeEstimateRangeGB",
				   psprintf("[" INT64_FORMAT ".0," INT64_FORMAT ".0]", gigabytes, gigabytes + 1));
	json_write_end(out);
}
