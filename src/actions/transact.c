/*
 * transact.c
 *	  TransactWriteItems.
 *
 * One pass over the actions in the order of their tables and keys, which is that of all calls: lock
 * the item, judge the action by it, write.  What is found absent and must stay so is held by a
 * placeholder.  So every item that the outcome depends on is locked until the transaction ends,
 * and no session ever waits for a key below one that it holds.
 *
 * After a failure the rest is locked and judged as well, to tell all reasons, but not written.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "actions/authorize.h"
#include "store/token.h"

typedef struct Transact Transact;

/* This is an action on its way. */
typedef struct Step
{
	Transact *transact;
	const TransactAction *action;
	ItemTarget *target;
	const Expr *condition;
	const Expr *update;
	ItemWrite *write; /* the target's: the items as it was judged last */
	bool grows; /* the collection, which has to be looked at */
	bool read_back; /* what is returned: triggers may make another item */
	CancelReason *reason;
} Step;

struct Transact
{
	const TransactRequest *request;
	Step *steps; /* these five by the number of the action */
	ItemTarget *targets;
	CancelReason *reasons;
	uint32 *sizes; /* what is counted of each, which a repetition is; NULL: nothing is counted */
	TargetTables *tables;
	MemoryContext context; /* for what outlives a step */
	bool failed;
	Operation *operation;
};

/*
 * What can be said before anything is read
 */

static void
name_action(void *arg)
{
	errcontext("action %d of the transaction", *(int *) arg + 1);
}

static void
parse_expressions(Step *step)
{
	const ItemRequest *request = &step->action->request;

	step->condition = action_condition(request);
	step->update = action_update_expression(request);
	expr_request_done(request->expressions);
}

/* Returns whether somebody asks for the item that the step writes. */
static bool
returns(const Step *step)
{
	return step->transact->request->returned != NULL &&
		   step->action->request.return_values == RETURN_ALL_NEW;
}

static void
check_target(const TransactRequest *request, int number, void *arg)
{
	Step *step = &((Transact *) arg)->steps[number];
	ItemTarget *target = step->target;
	DynTable *table = target->table;
	const DynItem *item = request->actions[number].request.item;
	Size size;

	if (step->action->kind == TRANSACT_PUT)
		write_prepare_put(target->writer, item, step->write);
	else
		write_prepare_key(target->writer, item, step->write);
	size = dyn_key_entry_too_large(target->rel, table, &table->primary, step->write->key.values);
	if (size > 0)
		dyn_key_fail_too_large(table, size);
	step->write->update = step->update;
	action_check_update(&step->action->request, table, step->update);
	action_check_paths(table, step->condition);
	if (step->update != NULL)
		transact_forbid_empty_index_keys(table, NULL, step->update);
	step->read_back = returns(step) && write_may_differ(target->writer);
}

static void
refuse_target(const TransactRequest *request, int number, void *arg)
{
	const Step *step = &((const Transact *) arg)->steps[number];

	transact_forbid_empty_keys(&request->actions[number], step->target->table, step->update);
}

/* Returns whether an action has a form, which calls functions of types, and those may do anything. */
static bool
has_forms(const TransactRequest *request)
{
	for (int i = 0; i < request->nactions; i++)
	{
		if (request->actions[i].request.form != NULL)
			return true;
	}
	return false;
}

static Transact *
transact_prepare(const TransactRequest *request, Operation *operation)
{
	int n = request->nactions;
	Transact *t = palloc0(sizeof(Transact));
	int number;
	ErrorContextCallback callback = {error_context_stack, name_action, &number};

	/* before functions of types are called, whose errors could not be taken back then */
	PreventCommandIfParallelMode("a transaction that writes items");
	t->request = request;
	t->steps = palloc0(n * sizeof(Step));
	t->targets = palloc0(n * sizeof(ItemTarget));
	t->reasons = palloc0(n * sizeof(CancelReason));
	if (request->meter != NULL)
		t->sizes = palloc0(n * sizeof(uint32));
	t->tables = target_tables(RowExclusiveLock, request->part,
							  has_forms(request) ? NULL : request->site, operation);
	t->operation = operation;
	t->context = CurrentMemoryContext;
	error_context_stack = &callback;
	for (number = 0; number < n; number++)
	{
		Step *step = &t->steps[number];

		step->transact = t;
		step->action = &request->actions[number];
		step->target = &t->targets[number];
		step->target->number = step->target->part = number;
		step->write = &step->target->write;
		step->reason = &t->reasons[number];
		parse_expressions(step);
	}
	for (number = 0; number < n; number++)
	{
		if (request->actions[number].invalid.code == NULL)
			target_open(t->tables, request->actions[number].request.table, &t->targets[number]);
	}
	error_context_stack = callback.previous;
	return t;
}

/*
 * Judging an action by the item that is there
 */

static char *
transact_copy(const char *text)
{
	return text == NULL ? NULL : pstrdup(text);
}

/* Fails the step by a reason, whose texts are copied. */
static void
transact_fail_step(Step *step, CancelReason reason)
{
	MemoryContext old = MemoryContextSwitchTo(step->transact->context);

	reason.message = transact_copy(reason.message);
	reason.detail = transact_copy(reason.detail);
	reason.hint = transact_copy(reason.hint);
	reason.words = transact_copy(reason.words);
	*step->reason = reason;
	MemoryContextSwitchTo(old);
}

static bool
failed(const Step *step)
{
	return step->reason->code != NULL;
}

static void
fail_condition(Step *step)
{
	MemoryContext old = MemoryContextSwitchTo(step->transact->context);

	transact_fail_step(step, (CancelReason){.code = "ConditionalCheckFailed",
											.message = "The conditional request failed"});
	if (step->action->request.old_on_failure && step->write->old != NULL)
		step->reason->item =
			item_from_value(item_root(action_returned(&step->action->request, step->write->old)));
	MemoryContextSwitchTo(old);
}

/* Looks at the item as the form shows it, which may refuse one that is not of its own kind. */
static void
transact_look(void *arg)
{
	Step *step = arg;

	(void) action_shown(&step->action->request, step->write->old);
}

static void
compute_new(void *arg)
{
	Step *step = arg;
	const ItemRequest *request = &step->action->request;
	ItemWrite *write = step->write;

	switch (step->action->kind)
	{
		case TRANSACT_PUT:
			write->new = request->item;
			break;
		case TRANSACT_UPDATE:
			write->new = action_updated(request, step->update, action_shown(request, write->old));
			if (write->new != NULL)
				(void) write_row(step->target->writer, write, write->old, write->new);
			break;
		case TRANSACT_DELETE:
			write->new = NULL;
			break;
		case TRANSACT_CHECK:
		case TRANSACT_GET:
			write->new = write->old;
			break;
	}
}

/* Returns false if the item, or that there is none, fails the step. */
static bool
may_write(Step *step, const DynItem *old)
{
	const ItemRequest *request = &step->action->request;

	if (request->insert && old != NULL)
		transact_fail_step(step, (CancelReason){.code = "DuplicateItem",
												.message = DUPLICATE,
												.words = DUPLICATE_WORDS});
	else if (!action_passes(request, step->condition, old))
		fail_condition(step);
	return !failed(step);
}

/* Returns false if the error, which may be NULL, finds the action invalid. */
static bool
is_valid(Step *step, const ErrorData *error)
{
	if (error != NULL)
		transact_fail_step(step, action_invalid(error));
	return error == NULL;
}

/* Returns whether the step may call functions of types: entities check values by them. */
static bool
calls_types(const Step *step)
{
	return step->action->kind == TRANSACT_UPDATE &&
		   (step->action->request.form != NULL || step->target->table->enforced);
}

/* Judges whether the step may write.  The last judgement counts. */
static void
transact_judge(Step *step, DynItem *old)
{
	bool forms = step->action->request.form != NULL && old != NULL;

	*step->reason = (CancelReason){0};
	step->write->old = old;
	step->write->new = old;
	if (forms && !is_valid(step, action_try(transact_look, step)))
		return;
	if (may_write(step, old) &&
		!is_valid(step, calls_types(step) ? action_attempt(compute_new, step)
										  : action_try(compute_new, step)))
		step->write->new = old;
}

/*
 * Writing
 */

static DynItem *
judged_item(DynItem *old, void *arg)
{
	Step *step = arg;

	transact_judge(step, old);
	/* a write is under way that has to be told an item: it stays as it is */
	return failed(step) ? old : unconstify(DynItem *, step->write->new);
}

/* Returns whether somebody asks for the item that was there. */
static bool
needs_old(const Step *step)
{
	return write_looks(step->target->writer, step->write) || step->transact->request->meter != NULL;
}

/* Returns whether nothing can be said against the step, so that its item need not be looked at. */
static bool
cannot_fail(const Step *step)
{
	const ItemRequest *request = &step->action->request;

	return step->condition == NULL && step->update == NULL && !request->insert &&
		   request->absent != ABSENT_FAILS &&
		   (request->form == NULL || step->action->kind == TRANSACT_PUT);
}

/* Tries to write by one statement.  Returns false if the item has to be locked first. */
static bool
write_at_once(Step *step)
{
	ItemWriter *writer = step->target->writer;
	bool put = step->action->kind == TRANSACT_PUT;

	if (put && cannot_fail(step) && !needs_old(step))
	{
		write_put(writer, step->write);
		return true;
	}
	/* probably a create */
	if (put && !cannot_fail(step) && action_passes(&step->action->request, step->condition, NULL))
		return write_insert(writer, step->write);
	if (put || step->action->kind == TRANSACT_UPDATE)
		return write_change_present(writer, step->write, judged_item, step);
	return false;
}

static StoreLock
lock_kind(const Step *step)
{
	switch (step->action->kind)
	{
		case TRANSACT_DELETE:
			return STORE_LOCK_DELETE;
		case TRANSACT_CHECK:
			return STORE_LOCK_CHECK;
		case TRANSACT_PUT:
		case TRANSACT_UPDATE:
		case TRANSACT_GET:
			break;
	}
	return STORE_LOCK_REPLACE;
}

/* Holds the key by a placeholder of key attributes only: a put has more, and makes an item. */
static bool
hold_absent(const Step *step)
{
	Assert(step->action->kind != TRANSACT_PUT);
	return write_hold_absent(step->target->writer, step->write, step->action->request.item);
}

/* Returns false if there is an item now where there was none. */
static bool
write_absent(const Step *step, int attempt)
{
	if (step->write->new != NULL)
		return write_insert(step->target->writer, step->write);
	/* a role that may not see an item need not keep it absent */
	return hold_absent(step) || (step->target->table->row_security && attempt > 1);
}

static void
write_locked(Step *step)
{
	ItemWriter *writer = step->target->writer;
	ItemWrite *write = step->write;

	for (int attempt = 1;; attempt++)
	{
		transact_judge(step, write_lock(writer, write, lock_kind(step)));
		if (failed(step) || step->transact->failed)
			return;
		if (write->old != NULL)
			break;
		if (write_absent(step, attempt))
			return;
		CHECK_FOR_INTERRUPTS();
	}
	if (write->new == NULL)
		write_delete_locked(writer, write);
	else if (write->new != write->old)
		write_replace(writer, write);
}

/* Keeps what is returned of the step in the memory of the call. */
static void
keep_returned(Step *step)
{
	const Transact *t = step->transact;
	MemoryContext old;

	if (!returns(step) || step->write->new == NULL)
		return;
	if (step->read_back)
		write_read_back(step->target->writer, step->write);
	old = MemoryContextSwitchTo(t->context);
	t->request->returned[step->target->number] =
		item_from_value(item_root(action_returned(&step->action->request, step->write->new)));
	MemoryContextSwitchTo(old);
}

static Size
size_of(const DynItem *item)
{
	return item == NULL ? 0 : item_size(item_root(item));
}

static void
transact_perform(Step *step)
{
	Transact *t = step->transact;
	const ItemTarget *target = step->target;
	ItemWrite *write = step->write;

	if (t->failed && cannot_fail(step))
		return;
	target_begin(t->tables, target);
	if (t->failed || !write_at_once(step))
		write_locked(step);
	t->failed |= failed(step);
	if (t->failed)
		return;
	if (write->watch == COLLECTION_ROOM)
		collection_spend(target->table, &write->key, write->new);
	step->grows =
		write->watch == COLLECTION_LOOK && collection_grows(target->table, write->old, write->new);
	keep_returned(step);
	if (t->sizes != NULL)
		t->sizes[target->number] = (uint32) Max(size_of(write->old), size_of(write->new));
	target_measure(t->request->meter, target, write->old, write->new);
}

/* Checks the limit of each collection after all actions together (docs/semantics.md, L05). */
static void
check_collections(Transact *t)
{
	ErrorContextCallback callback;
	for (int i = 0; i < t->request->nactions; i++)
	{
		Step *step = &t->steps[i];
		Size size;

		if (!step->grows)
			continue;
		target_begin(t->tables, step->target);
		store_begin_cleared(&callback, &step->target->writer->clearance);
		if (collection_is_full(step->target->table, &step->write->key, &size))
			transact_fail_step(step, (CancelReason){.code = "ItemCollectionSizeLimitExceeded",
													.message = COLLECTION_IS_FULL,
													.words = COLLECTION_IS_FULL_WORDS});
		store_end(&callback);
		t->failed |= failed(step);
	}
}

/* Returns how many steps from this one on are puts into one table that cannot fail. */
static int
puts_together(const Transact *t, ItemTarget *const *order, int n)
{
	int i = 0;

	while (i < n)
	{
		const Step *step = &t->steps[order[i]->number];

		if (step->action->kind != TRANSACT_PUT || !cannot_fail(step) || needs_old(step) ||
			order[i]->writer != order[0]->writer)
			break;
		i++;
	}
	return i;
}

/* Does puts in the order of their keys like all others, only in one statement. */
static void
put_together(const Transact *t, ItemTarget *const *order, int n)
{
	ItemWrite **writes = palloc(n * sizeof(ItemWrite *));

	for (int i = 0; i < n; i++)
		writes[i] = &order[i]->write;
	target_begin_several(t->tables, order[0]);
	write_put_many(order[0]->writer, n, writes);
	for (int i = 0; i < n; i++)
		keep_returned(&t->steps[order[i]->number]);
}

/* Returns the number of steps that it has done. */
static int
perform_next(Transact *t, ItemTarget *const *order, int n)
{
	int together = t->failed ? 0 : puts_together(t, order, n);

	if (together <= 1)
	{
		transact_perform(&t->steps[order[0]->number]);
		return 1;
	}
	put_together(t, order, together);
	return together;
}

/* Returns whether a condition has failed, as one that PartiQL's INSERT has: there is no item. */
static bool
any_condition_failed(const Transact *t)
{
	for (int i = 0; i < t->request->nactions; i++)
	{
		const char *code = t->reasons[i].code;

		if (code != NULL &&
			(strcmp(code, "ConditionalCheckFailed") == 0 || strcmp(code, "DuplicateItem") == 0))
			return true;
	}
	return false;
}

static void
perform_all(Transact *t, ItemTarget *const *order)
{
	int n = t->request->nactions;
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "transaction step", ALLOCSET_DEFAULT_SIZES);

	for (int done = 0; done < n;)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		done += perform_next(t, order + done, n - done);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	if (!t->failed)
		check_collections(t);
	if (!t->failed)
		return;
	t->operation->condition_failed = any_condition_failed(t);
	action_cancel(t->request, t->reasons);
}

/* Keeps the targets that were written: a check affects no collection.  Returns their number. */
static int
keep_written(const TransactRequest *request, ItemTarget **order)
{
	int n = 0;

	for (int i = 0; i < request->nactions; i++)
	{
		if (request->actions[order[i]->number].kind != TRANSACT_CHECK)
			order[n++] = order[i];
	}
	return n;
}

/* Returns an item's size now, which stands for what its action was counted by, if nobody asked. */
static Size
size_now(StoreReader *reader, const ItemTarget *target)
{
	ErrorContextCallback callback;
	Size size;

	store_begin_cleared(&callback, &target->writer->clearance);
	size = size_of(store_read(reader, target->table, &target->write.key, NULL));
	store_end(&callback);
	return size;
}

/*
 * Measures a transaction that was done before: as a read of its items, by the sizes that it was
 * counted by.  Where these are not known, the items are read by a new snapshot, since the call may
 * have waited for the one that has just done it.
 */
static void
measure_replay(const Transact *t, const uint32 *sizes)
{
	MemoryContext context;
	StoreReader *reader;

	if (t->request->meter == NULL)
		return;
	context =
		AllocSetContextCreate(CurrentMemoryContext, "transaction replay", ALLOCSET_DEFAULT_SIZES);
	PushActiveSnapshot(GetTransactionSnapshot());
	reader = store_reader();
	for (int i = 0; i < t->request->nactions; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		const ItemTarget *target = &t->targets[i];
		ItemMeasure measure = {.table = target->table, .replayed = true};

		CHECK_FOR_INTERRUPTS();
		measure.replayed_size =
			sizes[i] == TRANSACT_SIZE_UNKNOWN ? size_now(reader, target) : sizes[i];
		t->request->meter->item(target->part, &measure, t->request->meter->arg);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	store_reader_close(reader);
	PopActiveSnapshot();
}

/*
 * Keeps what is returned with the token: it may have values that no other call would make, and
 * sizes of items that are gone.
 */
static void
transact_answer(const Transact *t, const RequestToken *token)
{
	bytea *returned = token->token == NULL ? NULL : transact_pack(t->request, t->sizes);

	if (returned != NULL)
		token_answer(token, returned);
}

static void
count_written(const Transact *t)
{
	for (int i = 0; i < t->request->nactions; i++)
	{
		if (t->request->actions[i].kind != TRANSACT_CHECK)
			t->targets[i].counted->written++;
	}
}

/* Returns what has to be granted for an action of the transaction. */
static DynAction
wanted_action(const Step *step)
{
	bool statement = step->transact->request->statements;

	switch (step->action->kind)
	{
		case TRANSACT_PUT:
			return statement ? ACTION_PARTIQL_INSERT : ACTION_PUT_ITEM;
		case TRANSACT_UPDATE:
			return statement ? ACTION_PARTIQL_UPDATE : ACTION_UPDATE_ITEM;
		case TRANSACT_DELETE:
			return statement ? ACTION_PARTIQL_DELETE : ACTION_DELETE_ITEM;
		case TRANSACT_CHECK:
			return statement ? ACTION_PARTIQL_SELECT : ACTION_CONDITION_CHECK_ITEM;
		case TRANSACT_GET:
			break;
	}
	return statement ? ACTION_PARTIQL_SELECT : ACTION_GET_ITEM;
}

/* Each action is authorized by itself, before the token tells whether all was done before. */
static void
authorize_all(const Transact *t)
{
	for (int i = 0; i < t->request->nactions; i++)
	{
		target_begin(t->tables, &t->targets[i]);
		authorize_write(t->targets[i].writer, wanted_action(&t->steps[i]), &t->targets[i].write);
	}
}

typedef struct TransactCall
{
	const TransactRequest *request;
	bool fresh;
} TransactCall;

static void
run_transact(Operation *operation, void *arg)
{
	TransactCall *call = arg;
	const TransactRequest *request = call->request;
	ItemTarget **order;
	bytea *returned = NULL;
	RequestToken token = {request->token, request->statements, false};
	Transact *t;

	transact_check_request(request);
	t = transact_prepare(request, operation);
	action_examine(request, check_target, refuse_target, t);
	authorize_all(t);
	order = target_sort(t->targets, request->nactions, "the transaction", TRANSACT_TWICE_WORDS);
	target_begin_several(t->tables, &t->targets[0]);
	target_place(t->tables, order, request->nactions, token.token != NULL);
	token.shared = target_any_distributed(t->targets, request->nactions);
	call->fresh = token.token == NULL ||
				  token_claim(&token, transact_request_hash(request, t->targets), &returned);
	if (call->fresh)
	{
		perform_all(t, order);
		target_measure_collections(request->meter, order, keep_written(request, order));
		transact_answer(t, &token);
		count_written(t);
	}
	else
	{
		measure_replay(t, transact_unpack(request, returned));
	}
	target_close(t->tables);
}

/*
 * Runs a transaction.  Returns false if the token says that it was done before: then nothing is
 * done, and what is returned is what the first call has returned.
 */
bool
action_transact(const TransactRequest *request)
{
	Operation operation = {.kind = OPERATION_TRANSACT_WRITE};
	TransactCall call = {request, false};

	operation_run(&operation, run_transact, &call);
	return call.fresh;
}
