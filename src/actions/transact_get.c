/*
 * transact_get.c
 *	  TransactGetItems.
 *
 * The caller's snapshot is one for all gets, and a transaction shows there as a whole or not at all.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "catalog/expiry.h"
#include "actions/several.h"
#include "ground/errors.h"
#include "ground/settings.h"

static void
check_key(const TransactRequest *request, int number, void *arg)
{
	ItemTarget *target = (ItemTarget *) arg + number;

	dyn_key_exact(target->table, &target->table->primary, request->actions[number].request.item,
				  DYN_KEY_OF_REQUEST, &target->write.key);
}

static ItemTarget *
find_targets(const TransactRequest *request, TargetTables *tables)
{
	ItemTarget *targets = palloc0(request->nactions * sizeof(ItemTarget));

	for (int i = 0; i < request->nactions; i++)
	{
		targets[i].number = targets[i].part = i;
		if (request->actions[i].invalid.code == NULL)
			target_open(tables, request->actions[i].request.table, &targets[i]);
	}
	action_examine(request, check_key, targets);
	return targets;
}

static const Expr **
parse_projections(const TransactRequest *request)
{
	const Expr **projections = palloc0(request->nactions * sizeof(Expr *));

	for (int i = 0; i < request->nactions; i++)
	{
		const ItemRequest *get = &request->actions[i].request;

		projections[i] = get->built.projection;
		if (get->projection != NULL)
			projections[i] = expr_projection(get->expressions, text_span(get->projection));
		expr_request_done(get->expressions);
	}
	return projections;
}

static DynItem *
get_item(StoreReader *reader, const ItemTarget *target, Size *bytes)
{
	ErrorContextCallback callback;
	DynItem *item;

	store_begin(&callback);
	item = store_read(reader, target->table, &target->write.key);
	store_end(&callback);
	if (item != NULL)
		*bytes += item_size(item_root(item));
	if (*bytes > (Size) dyn_max_transaction_size)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("items of a transaction exceed %d bytes", dyn_max_transaction_size)));
	return item;
}

/*
 * Call callback for each action, in the order of the request, with the item that the active
 * snapshot shows, projected.  NULL stands for an item that does not exist, or that has expired and
 * is hidden.  An item lives until the callback returns.  The request is checked before anything is
 * read.
 */
void
action_transact_get(const TransactRequest *request, TransactGetCallback callback, void *arg)
{
	TargetTables *tables = target_tables(AccessShareLock, request->part);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "transaction get", ALLOCSET_DEFAULT_SIZES);
	StoreReader *reader = store_reader();
	const Expr **projections;
	ItemTarget *targets;
	Size bytes = 0;

	transact_check_request(request);
	projections = parse_projections(request);
	targets = find_targets(request, tables);
	(void) target_sort(targets, request->nactions, "the transaction", TRANSACT_TWICE_WORDS);
	for (int i = 0; i < request->nactions; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		DynItem *item;

		CHECK_FOR_INTERRUPTS();
		target_begin(tables, &targets[i]);
		item = get_item(reader, &targets[i], &bytes);
		target_measure(request->meter, &targets[i], item, item);
		item = expiry_visible(targets[i].table, item);
		if (item != NULL && projections[i] != NULL)
			item = expr_project(projections[i], item);
		callback(item, arg);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	store_reader_close(reader);
	target_close(tables);
}
