/*
 * batch_write.c
 *	  BatchWriteItem.
 *
 * Everything is checked before anything is written; then all is written, or nothing.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "actions/several.h"
#include "catalog/derive.h"
#include "errors.h"
#include "request/limits.h"

/* A put or delete of the batch. */
typedef struct BatchWrite
{
	ItemTarget target;
	bool put;
	DynItem *item; /* or the key */
} BatchWrite;

/* Spec row B07. */
static int
count_writes(const BatchWriteRequest *request)
{
	int64 n = 0;
	Size size = 0;

	for (int i = 0; i < request->ntables; i++)
	{
		const BatchWriteTable *table = &request->tables[i];

		n += (int64) table->nputs + table->ndeletes;
		for (int k = 0; k < table->nputs; k++)
			size += item_size(item_root(table->puts[k]));
		for (int k = 0; k < table->ndeletes; k++)
			size += item_size(item_root(table->deletes[k]));
	}
	if (n == 0 || n > DYN_MAX_BATCH_WRITES)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a batch must have 1 to %d puts and deletes", DYN_MAX_BATCH_WRITES),
						errdetail("It has " INT64_FORMAT ".", n)));
	if (size > DYN_MAX_BATCH_BYTES)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a batch must not exceed %d bytes", DYN_MAX_BATCH_BYTES),
						errdetail("It has %zu bytes.", size)));
	return (int) n;
}

/* Spec row B06: what one of them may not be, none is done for. */
static void
add_write(TargetTables *tables, text *name, bool put, DynItem *item, BatchWrite *write)
{
	ItemTarget *target = &write->target;

	write->put = put;
	write->item = item;
	target_open(tables, name, target);
	if (put)
	{
		dyn_key_of_item(target->table, item, &target->key);
		dyn_check_index_keys(target->rel, target->table, NULL, item);
	}
	else
		dyn_key_exact(target->table, &target->table->primary, item, &target->key);
}

static BatchWrite *
find_writes(const BatchWriteRequest *request, TargetTables *tables, int n)
{
	BatchWrite *writes = palloc0(n * sizeof(BatchWrite));
	BatchWrite *write = writes;

	for (int i = 0; i < request->ntables; i++)
	{
		const BatchWriteTable *table = &request->tables[i];

		for (int k = 0; k < table->nputs; k++)
			add_write(tables, table->table, true, table->puts[k], write++);
		for (int k = 0; k < table->ndeletes; k++)
			add_write(tables, table->table, false, table->deletes[k], write++);
	}
	return writes;
}

/* A stretch of writes, in order, of one kind on one table. */
static void
write_run(BatchWrite *const *run, int n)
{
	DynTable *table = run[0]->target.table;
	const DynKeyValues **keys = palloc(n * sizeof(DynKeyValues *));
	const DynItem **items = palloc(n * sizeof(DynItem *));

	for (int i = 0; i < n; i++)
	{
		keys[i] = &run[i]->target.key;
		items[i] = run[i]->item;
	}
	store_begin();
	if (run[0]->put)
		store_put_many(table, n, keys, items);
	else
	{
		for (int i = 0; i < n; i++)
			store_delete(table, keys[i], false);
	}
	store_end();
}

static bool
same_run(const BatchWrite *a, const BatchWrite *b)
{
	return a->target.table == b->target.table && a->put == b->put;
}

static BatchWrite **
sort_writes(BatchWrite *writes, int n)
{
	ItemTarget *targets = palloc(n * sizeof(ItemTarget));
	BatchWrite **sorted = palloc(n * sizeof(BatchWrite *));
	ItemTarget **order;

	for (int i = 0; i < n; i++)
	{
		writes[i].target.number = i;
		targets[i] = writes[i].target;
	}
	order = target_sort(targets, n, "the batch");
	for (int i = 0; i < n; i++)
		sorted[i] = &writes[order[i]->number];
	return sorted;
}

void
action_batch_write(const BatchWriteRequest *request)
{
	int n = count_writes(request);
	TargetTables *tables = target_tables(RowExclusiveLock);
	BatchWrite **sorted = sort_writes(find_writes(request, tables, n), n);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "batch write", ALLOCSET_DEFAULT_SIZES);

	/* puts and deletes take turns where their keys do: the order is that of all calls */
	for (int first = 0, next; first < n; first = next)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		for (next = first + 1; next < n && same_run(sorted[first], sorted[next]); next++)
			;
		write_run(sorted + first, next - first);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	target_close(tables);
}
