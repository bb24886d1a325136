/*
 * transact_get.c
 *	  TransactGetItems.
 *
 * The caller's snapshot is one for all gets, and a transaction shows there as a whole or not at
 * all.  Nodes have no snapshot in common.  So if there are several items and any of a distributed
 * table, they are locked as by checks of a transaction, those that are not there too: a transaction
 * that writes them comes before all of the locks, or after them.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/memutils.h"

#include "actions/authorize.h"
#include "catalog/definition/settings.h"
#include "catalog/expiry.h"
#include "catalog/rights.h"
#include "server/errors.h"

/* These are the gets of a request. */
typedef struct Gets
{
	ItemTarget *targets;
	const Expr **projections; /* or NULL */
} Gets;

static void
check_get(const TransactRequest *request, int number, void *arg)
{
	const Gets *gets = arg;
	ItemTarget *target = &gets->targets[number];

	dyn_key_exact(target->table, &target->table->primary, request->actions[number].request.item,
				  DYN_KEY_OF_REQUEST, &target->write.key);
	action_check_paths(target->table, gets->projections[number]);
}

static void
refuse_get(const TransactRequest *request, int number, void *arg)
{
	const ItemTarget *target = &((const Gets *) arg)->targets[number];

	transact_forbid_empty_keys(&request->actions[number], target->table, NULL);
}

static ItemTarget *
find_targets(const TransactRequest *request, const Expr **projections, TargetTables *tables)
{
	ItemTarget *targets = palloc0(request->nactions * sizeof(ItemTarget));
	Gets gets = {targets, projections};

	for (int i = 0; i < request->nactions; i++)
	{
		targets[i].number = targets[i].part = i;
		if (request->actions[i].invalid.code == NULL)
			target_open(tables, request->actions[i].request.table, &targets[i]);
	}
	action_examine(request, check_get, refuse_get, &gets);
	return targets;
}

static const Expr **
parse_projections(const TransactRequest *request)
{
	const Expr **projections = palloc0(request->nactions * sizeof(Expr *));

	for (int i = 0; i < request->nactions; i++)
	{
		const ItemRequest *get = &request->actions[i].request;

		projections[i] = action_projection(get);
		expr_request_done(get->expressions);
	}
	return projections;
}

static DynItem *
get_item(StoreReader *reader, const ItemTarget *target, const Node *site)
{
	ErrorContextCallback callback;
	DynItem *item;

	store_begin_cleared(&callback, &target->writer->clearance);
	item = store_read(reader, target->table, &target->write.key, site);
	store_end(&callback);
	return item;
}

static void
add_bytes(Size *bytes, const DynItem *item)
{
	if (item != NULL)
		*bytes += item_size(item_root(item));
	if (*bytes > (Size) dyn_max_transaction_size)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("items of a transaction exceed %d bytes", dyn_max_transaction_size)));
}

/*
 * Locks
 */

#define LOCK_HINT "dyn_batch_get() and BatchGetItem read items one by one, without locks."

static void
require_right_to_lock(const ItemTarget *target)
{
	const DynTable *table = target->table;

	if (table->distributed &&
		pg_class_aclmask(table->relid, GetUserId(),
						 ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE,
						 ACLMASK_ALL) != (ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for table %s", table->name),
				 errdetail("A transaction that reads several items of distributed tables locks "
						   "them, which takes SELECT, INSERT, UPDATE and DELETE."),
				 errhint(LOCK_HINT)));
}

/* Locks an item, or keeps it absent.  One that a policy hides is there each time. */
static DynItem *
lock_item(const TransactRequest *request, ItemTarget *target)
{
	for (int round = 1;; round++)
	{
		DynItem *item = write_lock(target->writer, &target->write, STORE_LOCK_CHECK);

		if (item != NULL || (target->table->row_security && round > 1) ||
			write_hold_absent(target->writer, &target->write,
							  request->actions[target->number].request.item))
			return item;
		CHECK_FOR_INTERRUPTS();
	}
}

/* Returns the items by their number, locked in the order of all calls, or NULL without locks. */
static DynItem **
lock_items(const TransactRequest *request, const TargetTables *tables, ItemTarget *targets,
		   ItemTarget *const *order)
{
	int n = request->nactions;
	DynItem **items;
	Size bytes = 0;

	if (n == 1 || !target_any_distributed(targets, n))
		return NULL;
	if (XactReadOnly)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot lock items of distributed tables in a read-only transaction"),
				 errdetail("A transaction that reads several items of distributed tables "
						   "locks them."),
				 errhint(LOCK_HINT)));
	for (int i = 0; i < n; i++)
		require_right_to_lock(&targets[i]);
	/* they are open as for a read; rows are locked, and inserted to keep items absent */
	for (int i = 0; i < n; i++)
		relation_close(rights_open(order[i]->table->relid, RowExclusiveLock), NoLock);
	target_place(tables, order, n, false);
	items = palloc(n * sizeof(DynItem *));
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		target_begin(tables, order[i]);
		items[order[i]->number] = lock_item(request, order[i]);
		add_bytes(&bytes, items[order[i]->number]);
	}
	return items;
}

typedef struct TransactGetCall
{
	const TransactRequest *request;
	TransactGetCallback callback;
	void *arg;
} TransactGetCall;

static void
run_transact_get(Operation *operation, void *arg)
{
	const TransactGetCall *call = arg;
	const TransactRequest *request = call->request;
	TargetTables *tables = target_tables(AccessShareLock, request->part, request->site, operation);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "transaction get", ALLOCSET_DEFAULT_SIZES);
	StoreReader *reader = store_reader();
	const Expr **projections;
	ItemTarget *targets;
	ItemTarget **order;
	DynItem **locked;
	Size bytes = 0;

	transact_check_request(request);
	projections = parse_projections(request);
	targets = find_targets(request, projections, tables);
	for (int i = 0; i < request->nactions; i++)
	{
		target_begin(tables, &targets[i]);
		authorize_write(targets[i].writer,
						request->statements ? ACTION_PARTIQL_SELECT : ACTION_GET_ITEM,
						&targets[i].write);
	}
	order = target_sort(targets, request->nactions, "the transaction", TRANSACT_TWICE_WORDS);
	locked = lock_items(request, tables, targets, order);
	for (int i = 0; i < request->nactions; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		DynItem *item;

		CHECK_FOR_INTERRUPTS();
		target_begin(tables, &targets[i]);
		item = locked != NULL ? locked[i] : get_item(reader, &targets[i], request->site);
		add_bytes(&bytes, item);
		target_measure(request->meter, &targets[i], item, item);
		targets[i].counted->read += item != NULL;
		item = expiry_visible(targets[i].table, item);
		targets[i].counted->returned += item != NULL;
		if (item != NULL && projections[i] != NULL)
			item = expr_project(projections[i], item);
		call->callback(item, call->arg);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	store_reader_close(reader);
	target_close(tables);
}

/*
 * Calls callback for each action, in the order of the request, with the item that the active
 * snapshot shows, projected.  NULL stands for an item that does not exist, or that has expired and
 * is hidden.  An item lives until the callback returns.  The request is checked before anything is
 * read.
 */
void
action_transact_get(const TransactRequest *request, TransactGetCallback callback, void *arg)
{
	Operation operation = {.kind = OPERATION_TRANSACT_GET};
	TransactGetCall call = {request, callback, arg};

	operation_run(&operation, run_transact_get, &call);
}
