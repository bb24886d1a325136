/*
 * batch_get.c
 *	  BatchGetItem.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "actions/authorize.h"
#include "catalog/definition/settings.h"
#include "catalog/expiry.h"
#include "server/errors.h"

/* Raises ERRCODE_DYN_VALIDATION unless a batch may have so many keys (docs/semantics.md, B07). */
void
batch_check_keys(int64 n)
{
	if (n == 0 || n > dyn_max_batch_get_keys)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a batch must have 1 to %d keys", dyn_max_batch_get_keys),
						errdetail("It has %lld.", (long long) n),
						errwords("Too many items requested for the BatchGetItem call")));
}

/* A key that is there twice is told before its table is looked up. */
static void
check_distinct(const BatchGetRequest *request, int n)
{
	DistinctItem *items = palloc(n * sizeof(DistinctItem));
	int number = 0;

	for (int i = 0; i < request->ntables; i++)
	{
		const BatchGetTable *table = &request->tables[i];

		for (int k = 0; k < table->nkeys; k++, number++)
			items[number] = (DistinctItem){table->table, table->keys[k], number};
	}
	distinct_check(items, n, "the batch", BATCH_TWICE_WORDS);
}

/* Checks what needs no table, and counts the keys. */
static int
check_keys(const BatchGetRequest *request)
{
	int64 n = 0;

	for (int i = 0; i < request->ntables; i++)
		n += request->tables[i].nkeys;
	batch_check_keys(n);
	check_distinct(request, (int) n);
	return (int) n;
}

/* Returns the keys in order, as targets. */
static ItemTarget *
find_targets(const BatchGetRequest *request, const Expr **projections, TargetTables *tables, int n)
{
	ItemTarget *targets = palloc0(n * sizeof(ItemTarget));
	int number = 0;

	for (int i = 0; i < request->ntables; i++)
	{
		const BatchGetTable *table = &request->tables[i];

		for (int k = 0; k < table->nkeys; k++)
		{
			ItemTarget *target = &targets[number];

			target->number = number++;
			target->part = i;
			target_open(tables, table->table, target);
			if (table->consistent)
				action_check_consistent(&target->table->primary);
			dyn_key_exact(target->table, &target->table->primary, table->keys[k],
						  DYN_KEY_OF_REQUEST, &target->write.key);
			action_check_paths(target->table, projections[i]);
		}
	}
	return targets;
}

static const Expr **
parse_projections(const BatchGetRequest *request)
{
	const Expr **projections = palloc(request->ntables * sizeof(Expr *));

	for (int i = 0; i < request->ntables; i++)
	{
		const BatchGetTable *table = &request->tables[i];

		projections[i] = table->built_projection;
		if (table->projection != NULL)
			projections[i] = expr_projection(table->expressions, text_span(table->projection));
		expr_request_done(table->expressions);
	}
	return projections;
}

typedef struct BatchGet
{
	const BatchGetRequest *request;
	const Expr **projections;
	BatchGetCallback callback;
	void *arg;
	Size bytes;
	StoreReader *reader;
} BatchGet;

/* So many items at most are fetched together. */
#define MAX_FETCHED 100

/* Fetches the next items of a table, where that is better than to read each when its turn comes. */
static void
fetch_items(const BatchGetTable *table, int first, const ItemTarget *targets, const Node *site,
			MemoryContext context, StoreFetched *fetched)
{
	int n = Min(table->nkeys - first, MAX_FETCHED);
	MemoryContext old;

	for (int i = 0; i < n; i++)
		fetched[i] = (StoreFetched){.given = table->keys[first + i], .key = &targets[i].write.key};
	MemoryContextReset(context);
	old = MemoryContextSwitchTo(context);
	store_fetch(targets[0].table, n, fetched, site);
	MemoryContextSwitchTo(old);
}

/* Returns false if the item would be too much. */
static bool
get_item(BatchGet *get, int table, const ItemTarget *target, const StoreFetched *fetched)
{
	ErrorContextCallback callback;
	DynItem *item = fetched->item;

	if (!fetched->known)
	{
		store_begin_cleared(&callback, &target->writer->clearance);
		item = store_read(get->reader, target->table, &target->write.key, get->request->site);
		store_end(&callback);
	}
	if (item != NULL && get->request->max_bytes > 0)
	{
		get->bytes += item_size(item_root(item));
		if (get->bytes > get->request->max_bytes)
			return false;
	}
	target_measure(get->request->meter, target, item, item);
	target->counted->read += item != NULL;
	item = expiry_visible(target->table, item);
	target->counted->returned += item != NULL;
	if (item == NULL)
		return true;
	if (get->projections[table] != NULL)
		item = expr_project(get->projections[table], item);
	get->callback(table, PointerGetDatum(item), get->arg);
	return true;
}

typedef struct BatchGetCall
{
	const BatchGetRequest *request;
	BatchGetCallback callback;
	void *arg;
	BatchGetRest *rest;
} BatchGetCall;

static void
run_batch_get(Operation *operation, void *arg)
{
	const BatchGetCall *call = arg;
	const BatchGetRequest *request = call->request;
	BatchGetRest *rest = call->rest;
	int n = check_keys(request);
	BatchGet get = {request,       parse_projections(request), call->callback, call->arg, 0,
					store_reader()};
	TargetTables *tables = target_tables(AccessShareLock, request->part, request->site, operation);
	ItemTarget *targets = find_targets(request, get.projections, tables, n);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "batch get", ALLOCSET_DEFAULT_SIZES);
	MemoryContext together =
		AllocSetContextCreate(CurrentMemoryContext, "batch get", ALLOCSET_DEFAULT_SIZES);
	StoreFetched fetched[MAX_FETCHED];

	*rest = (BatchGetRest){0};
	authorize_batch(target_sort(targets, n, "the batch", BATCH_TWICE_WORDS), n,
					ACTION_BATCH_GET_ITEM);
	for (int i = 0; i < request->ntables && !rest->any; i++)
	{
		for (int k = 0; k < request->tables[i].nkeys && !rest->any; k++, targets++)
		{
			MemoryContext old = MemoryContextSwitchTo(context);

			CHECK_FOR_INTERRUPTS();
			target_begin(tables, targets);
			if (k % MAX_FETCHED == 0)
				fetch_items(&request->tables[i], k, targets, request->site, together, fetched);
			if (!get_item(&get, i, targets, &fetched[k % MAX_FETCHED]))
				*rest = (BatchGetRest){i, k, true};
			MemoryContextSwitchTo(old);
			MemoryContextReset(context);
		}
	}
	store_reader_close(get.reader);
	target_close(tables);
}

/* Gives items in the order of their keys; what is not there is left out. */
void
action_batch_get(const BatchGetRequest *request, BatchGetCallback callback, void *arg,
				 BatchGetRest *rest)
{
	Operation operation = {.kind = OPERATION_BATCH_GET};
	BatchGetCall call = {request, callback, arg, rest};

	operation_run(&operation, run_batch_get, &call);
}
