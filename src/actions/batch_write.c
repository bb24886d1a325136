/*
 * batch_write.c
 *	  BatchWriteItem.
 *
 * Everything is checked before anything is written; then all is written, or nothing.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "actions/authorize.h"
#include "catalog/definition/settings.h"
#include "server/errors.h"

/* This is a put or delete of the batch. */
typedef struct BatchWrite
{
	ItemTarget target;
	bool put;
	const ItemForm *form; /* of a delete, which may refuse it; or NULL */
} BatchWrite;

/* Raises ERRCODE_DYN_VALIDATION unless a batch may have so many writes (docs/semantics.md, B07). */
void
batch_check_writes(int64 n)
{
	if (n == 0 || n > dyn_max_batch_writes)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a batch must have 1 to %d puts and deletes", dyn_max_batch_writes),
						errdetail("It has %lld.", (long long) n),
						errwords("Too many items requested for the BatchWriteItem call")));
}

/* An item that is there twice is told before its table is looked up. */
static void
check_distinct(const BatchWriteRequest *request, int n)
{
	DistinctItem *items = palloc(n * sizeof(DistinctItem));
	int number = 0;

	for (int i = 0; i < request->ntables; i++)
	{
		const BatchWriteTable *table = &request->tables[i];

		for (int k = 0; k < table->nputs; k++, number++)
			items[number] = (DistinctItem){table->table, table->puts[k], number};
		for (int k = 0; k < table->ndeletes; k++, number++)
			items[number] = (DistinctItem){table->table, table->deletes[k], number};
	}
	distinct_check(items, n, "the batch", BATCH_TWICE_WORDS);
}

static Size
bound(const DynItem *item)
{
	return item_size_bound(item);
}

static Size
exact(const DynItem *item)
{
	return item_size(item_root(item));
}

/* Returns the size of all items of a batch together. */
static Size
batch_size(const BatchWriteRequest *request, Size (*size_of)(const DynItem *item))
{
	Size size = 0;

	for (int i = 0; i < request->ntables; i++)
	{
		const BatchWriteTable *table = &request->tables[i];

		for (int k = 0; k < table->nputs; k++)
			size += size_of(table->puts[k]);
		for (int k = 0; k < table->ndeletes; k++)
			size += size_of(table->deletes[k]);
	}
	return size;
}

/* Checks what needs no table, and counts the writes, whose number and size are limited. */
static int
check_writes(const BatchWriteRequest *request)
{
	int64 n = 0;
	Size size;

	for (int i = 0; i < request->ntables; i++)
		n += (int64) request->tables[i].nputs + request->tables[i].ndeletes;
	batch_check_writes(n);
	size = batch_size(request, bound);
	if (size > (Size) dyn_max_batch_size)
		size = batch_size(request, exact);
	if (size > (Size) dyn_max_batch_size)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a batch must not exceed %d bytes", dyn_max_batch_size),
						errdetail("It has %zu bytes.", size)));
	check_distinct(request, (int) n);
	return (int) n;
}

/* Adds a write to the batch.  If one of them is refused, none is done (docs/semantics.md, B06). */
static void
add_write(TargetTables *tables, int part, text *name, bool put, DynItem *item, BatchWrite *write)
{
	ItemTarget *target = &write->target;

	target->part = part;
	write->put = put;
	target_open(tables, name, target);
	if (put)
		write_prepare_put(target->writer, item, &target->write);
	else
		write_prepare_key(target->writer, item, &target->write);
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
			add_write(tables, i, table->table, true, table->puts[k], write++);
		for (int k = 0; k < table->ndeletes; k++)
		{
			write->form = table->forms == NULL ? NULL : table->forms[k];
			add_write(tables, i, table->table, false, table->deletes[k], write++);
		}
	}
	return writes;
}

/* Does a stretch of writes whose old items nobody asks for. */
static void
write_together(BatchWrite *const *run, int n)
{
	ItemWriter *writer = run[0]->target.writer;
	ItemWrite **writes = palloc(n * sizeof(ItemWrite *));

	for (int i = 0; i < n; i++)
		writes[i] = &run[i]->target.write;
	if (run[0]->put)
		write_put_many(writer, n, writes);
	else
		write_delete_many(writer, n, writes);
}

static void
judge_delete(const DynItem *old, void *arg)
{
	const ItemForm *form = ((BatchWrite *) arg)->form;

	if (form != NULL && old != NULL)
		(void) form->shown(old, form->arg);
}

static void
write_measured(BatchWrite *one, const ItemMeter *meter)
{
	ItemTarget *target = &one->target;
	ItemWrite *write = &target->write;

	if (one->put)
		write_change(target->writer, write, EXPECT_REPLACE, NULL, NULL);
	else
		write_delete(target->writer, write, true, one->form == NULL ? NULL : judge_delete, one);
	write_done(target->writer, write);
	target_measure(meter, target, write->old, write->new);
}

/* Does a stretch of writes, in order, of one kind on one table. */
static void
write_run(BatchWrite *const *run, int n, const ItemMeter *meter)
{
	if (meter == NULL && run[0]->form == NULL)
		write_together(run, n);
	else
	{
		for (int i = 0; i < n; i++)
			write_measured(run[i], meter);
	}
}

static bool
same_run(const BatchWrite *a, const BatchWrite *b)
{
	return a->target.table == b->target.table && a->put == b->put &&
		   (a->form == NULL) == (b->form == NULL);
}

/* Returns the writes in the order of their targets. */
static BatchWrite **
sort_writes(BatchWrite *writes, int n, ItemTarget ***order)
{
	ItemTarget *targets = palloc(n * sizeof(ItemTarget));
	BatchWrite **sorted = palloc(n * sizeof(BatchWrite *));

	for (int i = 0; i < n; i++)
	{
		writes[i].target.number = i;
		targets[i] = writes[i].target;
	}
	*order = target_sort(targets, n, "the batch", BATCH_TWICE_WORDS);
	for (int i = 0; i < n; i++)
		sorted[i] = &writes[(*order)[i]->number];
	return sorted;
}

static void
run_batch_write(Operation *operation, void *arg)
{
	const BatchWriteRequest *request = arg;
	int n = check_writes(request);
	TargetTables *tables = target_tables(RowExclusiveLock, request->part, request->site, operation);
	ItemTarget **order;
	BatchWrite **sorted = sort_writes(find_writes(request, tables, n), n, &order);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "batch write", ALLOCSET_DEFAULT_SIZES);

	authorize_batch(order, n, ACTION_BATCH_WRITE_ITEM);
	target_place(tables, order, n, false);
	/* puts and deletes take turns where their keys do: the order is that of all calls */
	for (int first = 0, next; first < n; first = next)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		for (next = first + 1; next < n && same_run(sorted[first], sorted[next]); next++)
			;
		target_begin(tables, &sorted[first]->target);
		write_run(sorted + first, next - first, request->meter);
		sorted[first]->target.counted->written += next - first;
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	target_measure_collections(request->meter, order, n);
	target_close(tables);
}

/*
 * Does all puts and deletes of a batch.  Before anything is written, ERRCODE_DYN_VALIDATION is
 * raised for a batch that is empty or too large, has an invalid item or key, or names an item
 * twice.  An error of a single write fails the whole batch.
 */
void
action_batch_write(const BatchWriteRequest *request)
{
	Operation operation = {.kind = OPERATION_BATCH_WRITE};

	operation_run(&operation, run_batch_write, unconstify(BatchWriteRequest *, request));
}
