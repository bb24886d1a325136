/*
 * batch.c
 *	  Batches of statements, each of which succeeds or fails by itself.
 *
 * They are run in the order in which all calls lock items, so that two batches wait for each other in
 * one direction only.  No item is there twice, so the order makes no difference to what they do.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"

#include "api/partiql/compile.h"
#include "api/partiql/plan.h"
#include "api/partiql/several.h"
#include "catalog/lookup.h"
#include "server/arguments.h"
#include "server/attempt.h"
#include "server/errors.h"

/* A Run is a statement that is being run. */
typedef struct Run
{
	PartiqlPart *part;
	ItemTarget *target;
	DynItem *key; /* of the item to read */
	ItemMeasure measure;
} Run;

static PartiqlKind
kind_of(const Run *run)
{
	return run->part->bound->compiled->statement->kind;
}

/*
 * Finding the items
 */

/* Finds the key of a SELECT; if it reads other than one item, that is told first. */
static DynItem *
find_read_key(const PartiqlBound *bound, const DynTable *table)
{
	bool alone = bound->compiled->statement->index.data == NULL;
	PartiqlKey key;

	if (!alone)
		partiql_check_index(bound, table);
	else
	{
		key = partiql_find_key(bound, table, PARTIQL_KEY_READ);
		(void) partiql_plan(bound, table, &table->primary);
		alone = key.missing < 0 && key.others == NIL;
	}
	if (!alone)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("SELECT in a batch reads other than one item by its key"),
						errwords("Select statements within BatchExecuteStatement must specify the "
								 "primary key in the where clause.")));
	return key.item;
}

static void
find_item(Run *run, const DynTable *table)
{
	const PartiqlBound *bound = run->part->bound;
	DynKeyValues *key = &run->target->write.key;

	if (kind_of(run) == PARTIQL_INSERT)
	{
		dyn_key_of_item(table, bound->item, key);
		return;
	}
	if (kind_of(run) == PARTIQL_SELECT)
		run->key = find_read_key(bound, table);
	else
		run->key = partiql_whole_key(bound, table).item;
	dyn_key_exact(table, &table->primary, run->key, DYN_KEY_OF_REQUEST, key);
}

static text *
table_name(const Run *run)
{
	ItemSpan name = run->part->bound->compiled->statement->table;

	return span_text(name);
}

/* Finds the target, whose table stays locked. */
static void
find_target(void *arg)
{
	Run *run = arg;
	LOCKMODE lockmode = kind_of(run) == PARTIQL_SELECT ? AccessShareLock : RowExclusiveLock;
	Relation rel = dyn_table_open(table_name(run), lockmode, &run->target->table);

	find_item(run, run->target->table);
	relation_close(rel, NoLock);
}

/*
 * Running
 */

static void
run_statement(void *arg)
{
	Run *run = arg;
	PartiqlPart *part = run->part;
	PartiqlCall call = {.bound = part->bound,
						.front = {.measure = &run->measure, .statement = true}};
	ItemRequest request;

	if (kind_of(run) != PARTIQL_SELECT)
	{
		part->item = partiql_write(&call);
		return;
	}
	partiql_begin_request(part->bound, &request);
	request.item = run->key;
	request.consistent = part->consistent;
	request.call = &call.front;
	part->item = action_get(&request);
}

/* Returns whether an error is one statement's; others, as those of triggers, end the batch. */
static bool
is_its_own(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_DYN_VALIDATION ||
		   error->sqlerrcode == ERRCODE_DYN_CONDITIONAL_CHECK_FAILED ||
		   error->sqlerrcode == ERRCODE_DYN_DUPLICATE_ITEM ||
		   error->sqlerrcode == ERRCODE_DYN_RESOURCE_NOT_FOUND ||
		   error->sqlerrcode == ERRCODE_DYN_ITEM_COLLECTION_SIZE_LIMIT ||
		   error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE;
}

/* Runs a step; returns false if the statement has failed in it, which is then undone. */
static bool
succeeds(const PartiqlBatch *batch, int number, void (*step)(void *arg), Run *run)
{
	ErrorData *error;

	if (batch->part != NULL)
		*batch->part = (PartUnderWay){.number = number};
	error = attempt(step, run);
	if (error == NULL)
		return true;
	if (!is_its_own(error))
		ReThrowError(error);
	batch->failed(number, error, batch->arg);
	return false;
}

static void
run_one(const PartiqlBatch *batch, int number, Run *run)
{
	if (succeeds(batch, number, run_statement, run) && batch->meter != NULL)
		batch->meter->item(number, &run->measure, batch->meter->arg);
}

/*
 * Runs the statements of a batch, and sets the items that they return.  Each is run in a subtransaction.
 * Raises ERRCODE_DYN_VALIDATION if an item is there twice; what is wrong with one statement is told by
 * batch->failed().
 */
void
partiql_batch(const PartiqlBatch *batch)
{
	Run *runs = palloc0(batch->nparts * sizeof(Run));
	ItemTarget *targets = palloc0(batch->nparts * sizeof(ItemTarget));
	ItemTarget **order;
	int n = 0;

	for (int i = 0; i < batch->nparts; i++)
	{
		Run *run = &runs[i];

		*run = (Run){.part = &batch->parts[i], .target = &targets[n]};
		run->target->number = i;
		if (run->part->bound != NULL && succeeds(batch, i, find_target, run))
			n++;
	}
	order = target_sort(targets, n, "the batch", BATCH_TWICE_WORDS);
	for (int i = 0; i < n; i++)
		run_one(batch, order[i]->number, &runs[order[i]->number]);
}
