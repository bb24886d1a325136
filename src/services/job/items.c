/*
 * items.c
 *	  Jobs that change items of a table, in the order of their keys.
 *
 * Chunks are ranges of the primary key.  The key of an item never changes, so each item is read
 * once, whatever other sessions write meanwhile.  A batch reads the keys of items that are wanted,
 * and then locks these in the order of their keys, as all calls do.  The locked version decides: an
 * item that was deleted is not made again, and one that is not wanted any more is left as it is.
 *
 * An item that the change would make invalid is noted before anything is written.  An error that
 * only the write finds (a constraint or trigger of the user's, an enforced entity, a policy) rolls
 * back the batch, which is a subtransaction; then each of its items is changed in a subtransaction
 * of its own.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/lookup.h"
#include "catalog/size.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "actions/several.h"
#include "catalog/rights.h"
#include "server/arguments.h"
#include "server/attempt.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/work/brief_lock.h"
#include "services/job/items.h"
#include "store/range.h"

#define DEFAULT_BATCH 500
#define LARGEST_BATCH 100000

/*
 * A batch reads LOOK_AT times as many items as it may change, and a chunk has CHUNK_BATCHES
 * batches.
 */
#define LOOK_AT 10
#define CHUNK_BATCHES 20

typedef struct Batch
{
	ItemJob *work;
	JobChunk *chunk;
	Relation rel;
	DynTable *table;
	MemoryContext context; /* of the transaction */
	MemoryContext row; /* emptied for each item */
	bool bounded;
	DynKeyValues upper; /* of the chunk */
	int64 read;
	bool full; /* more of the chunk is left */
	DynKeyValues last; /* that was read */
	int nkeys;
	int max_keys;
	DynKeyValues *keys; /* of items that are wanted */
	int64 changed;
	ItemWriter writer; /* of the attempt that is under way */
} Batch;

/* This is an item that is being changed. */
typedef struct Change
{
	Batch *batch;
	ItemWrite write;
	DynItem *old;
	DynItem *new;
	ErrorData *problem;
} Change;

/*
 * Arguments, rights
 */

/*
 * Sets the batch size, the rate, restart and wait from the arguments from the i-th on; a null one
 * gives its default.  Raises ERRCODE_DYN_VALIDATION if a number is out of range.
 */
void
item_job_arguments(ItemJob *work, FunctionCallInfo fcinfo, int i)
{
	int64 batch = PG_ARGISNULL(i) ? DEFAULT_BATCH : argument_positive(fcinfo, i, "batch_size");

	if (batch > LARGEST_BATCH)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("batch_size must be at most %d", LARGEST_BATCH)));
	work->batch = (int) batch;
	work->max_rate = argument_positive(fcinfo, i + 1, "max_rate");
	work->restart = argument_flag(fcinfo, i + 2, false);
	work->wait = argument_flag(fcinfo, i + 3, true);
}

static void
require_rights(Relation rel)
{
	AclMode needed = ACL_SELECT | ACL_UPDATE;
	AclMode granted = pg_class_aclmask(RelationGetRelid(rel), GetUserId(), needed, ACLMASK_ALL);

	if (granted != needed)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(rel));
}

/*
 * Opens work->table_name under AccessShareLock, and sets the table's OID and name in work.  Raises an
 * error unless the current user has SELECT and UPDATE privileges on the whole table.  The caller
 * closes the relation.
 */
Relation
item_job_open(ItemJob *work, DynTable **table)
{
	Relation rel = dyn_table_open(work->table_name, AccessShareLock, table);

	require_rights(rel);
	work->relid = RelationGetRelid(rel);
	work->table = pstrdup(RelationGetRelationName(rel));
	return rel;
}

/* Opens the table in a new transaction: it may have been changed or dropped since the last one. */
static Relation
open_table(ItemJob *work, LOCKMODE mode, DynTable **table)
{
	Relation rel = try_relation_open(work->relid, mode);

	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("table \"%s\" was dropped meanwhile", work->table)));
	require_rights(rel);
	work->open(work, rel, *table);
	return rel;
}

/*
 * Positions
 */

/* Returns the position of a primary key: its columns as text. */
ArrayType *
item_job_position(const DynTable *table, const DynKeyValues *key)
{
	Datum texts[DYN_MAX_KEYS];

	for (int i = 0; i < table->nkeys; i++)
	{
		Oid output;
		bool is_varlena;

		getTypeOutputInfo(dyn_key_column_type(table->keys[i].type), &output, &is_varlena);
		texts[i] = CStringGetTextDatum(OidOutputFunctionCall(output, key->values[i]));
	}
	return construct_array(texts, table->nkeys, TEXTOID, -1, false, TYPALIGN_INT);
}

/* Sets the primary key of a position, or raises an error if the table has another kind of key now. */
void
item_job_key(const DynTable *table, ArrayType *position, DynKeyValues *key)
{
	Datum *texts;
	int n;

	deconstruct_array(position, TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &n);
	if (n != table->nkeys)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("the primary key of table \"%s\" was changed", table->name),
						errhint("Call the procedure again with restart.")));
	key->nkeys = n;
	for (int i = 0; i < n; i++)
	{
		Oid input;
		Oid parameter;

		getTypeInputInfo(dyn_key_column_type(table->keys[i].type), &input, &parameter);
		key->values[i] = OidInputFunctionCall(input, TextDatumGetCString(texts[i]), parameter, -1);
	}
}

/* Sets the range from after a position (NULL: from the beginning) to the end of the table. */
static void
read_after(const DynTable *table, ArrayType *position, StoreWant want, StoreRange *range)
{
	DynKeyValues key;

	memset(range, 0, sizeof(StoreRange));
	range->index = &table->primary;
	range->want = want;
	range->forward = true;
	if (position == NULL)
		return;
	item_job_key(table, position, &key);
	range->nposition = key.nkeys;
	for (int i = 0; i < key.nkeys; i++)
		range->position[i] = key.values[i];
}

/*
 * Chunks
 */

typedef struct Cut
{
	const DynTable *table;
	MemoryContext row;
	int64 left;
	ArrayType *end;
} Cut;

static bool
count_row(const StoreRow *row, void *arg)
{
	Cut *cut = arg;
	DynKeyValues key;
	MemoryContext old;

	CHECK_FOR_INTERRUPTS();
	if (--cut->left > 0)
		return true;
	old = MemoryContextSwitchTo(cut->row);
	dyn_key_of_item(cut->table, DatumGetDynItem(row->item), &key);
	cut->end = item_job_position(cut->table, &key);
	MemoryContextSwitchTo(old);
	return false;
}

static ArrayType *
cut_chunk(int step, ArrayType *lower, void *arg)
{
	ItemJob *work = arg;
	Cut cut = {.left = (int64) work->batch * CHUNK_BATCHES, .row = CurrentMemoryContext};
	ErrorContextCallback callback;
	StoreRange range;
	DynTable *table;
	RightsBefore before;
	Relation rel = open_table(work, AccessShareLock, &table);

	cut.table = table;
	read_after(table, lower, STORE_WANT_KEYS, &range);
	rights_take_for_rows(rel, false, &before);
	store_begin(&callback);
	store_range(table, &range, count_row, &cut);
	store_end(&callback);
	rights_give_back(&before);
	relation_close(rel, NoLock);
	return cut.end;
}

/*
 * Reading
 */

/* Returns whether to read on: the chunk has not ended, and the batch has room for more. */
static bool
look_at(Batch *batch, DynItem *item)
{
	ItemJob *work = batch->work;
	DynKeyValues key;

	dyn_key_of_item(batch->table, item, &key);
	if (batch->bounded && store_key_compare(batch->table, &key, &batch->upper) > 0)
		return false;
	batch->read++;
	MemoryContextSwitchTo(batch->context);
	for (int i = 0; i < key.nkeys; i++)
		key.values[i] = datumCopy(key.values[i], false, -1);
	batch->last = key;
	if (work->wants(work, item))
	{
		batch->keys[batch->nkeys++] = key;
		if (work->note != NULL)
			work->note(work, item);
	}
	batch->full =
		batch->nkeys == batch->max_keys || batch->read == (int64) batch->max_keys * LOOK_AT;
	return !batch->full;
}

static bool
receive_row(const StoreRow *row, void *arg)
{
	Batch *batch = arg;
	MemoryContext old = MemoryContextSwitchTo(batch->row);
	bool more;

	CHECK_FOR_INTERRUPTS();
	more = look_at(batch, DatumGetDynItem(row->item));
	MemoryContextSwitchTo(old);
	MemoryContextReset(batch->row);
	return more;
}

static void
read_batch(Batch *batch)
{
	ErrorContextCallback callback;
	StoreRange range;

	read_after(batch->table, batch->chunk->lower, STORE_WANT_ITEM, &range);
	batch->bounded = batch->chunk->upper != NULL;
	if (batch->bounded)
		item_job_key(batch->table, batch->chunk->upper, &batch->upper);
	store_begin(&callback);
	store_range(batch->table, &range, receive_row, batch);
	store_end(&callback);
}

/*
 * Changing
 */

static void
items_compute(void *arg)
{
	Change *change = arg;
	Batch *batch = change->batch;
	DynItem *new = batch->work->change(batch->work, change->old);

	item_check_size(item_root(new));
	if (item_compare_bytes(item_root(change->old), item_root(new)) == 0)
		return;
	(void) write_row(&batch->writer, &change->write, change->old, new);
	change->new = new;
}

/* Changes an item; the store calls this again if the item changes before it is replaced. */
static DynItem *
change_item(DynItem *old, void *arg)
{
	Change *change = arg;
	ItemJob *work = change->batch->work;

	change->old = change->new = old;
	change->problem = NULL;
	if (work->wants(work, old))
		change->problem = action_try(items_compute, change);
	return change->new;
}

/*
 * Notes what is wrong with an item, by its detail; that of a constraint is the row, and left out.
 */
static void
note_problem(Batch *batch, const DynKeyValues *key, const ErrorData *problem)
{
	bool more = problem->sqlerrcode == ERRCODE_DYN_VALIDATION && problem->detail != NULL;
	StringInfoData row;

	initStringInfo(&row);
	item_print_attributes(
		&row, item_root(store_range_item(batch->table, &batch->table->primary, key->values)));
	job_problem(batch->chunk->job, batch->chunk->step, "item", row.data,
				more ? psprintf("%s: %s", problem->message, problem->detail) : problem->message);
}

/*
 * Returns whether the item was changed.  An item that was deleted is not made again; but the
 * transaction that deleted it may have put another one in its place, which a new snapshot shows, so
 * the change is tried twice.
 */
static bool
change_one(Batch *batch, const DynKeyValues *key)
{
	Change change = {.batch = batch, .write = {.key = *key}};
	bool there = write_change_present(&batch->writer, &change.write, change_item, &change) ||
				 write_change_present(&batch->writer, &change.write, change_item, &change);
	bool changed = there && change.new != change.old;

	if (changed)
		write_done(&batch->writer, &change.write);
	if (there && change.problem != NULL)
		note_problem(batch, key, change.problem);
	return changed;
}

static void
change_some(Batch *batch, int from, int to)
{
	MemoryContext old;
	int64 changed = 0;

	write_open(&batch->writer, &(FrontCall){.rel = batch->rel, .table = batch->table});
	old = MemoryContextSwitchTo(batch->row);
	for (int i = from; i < to; i++)
	{
		CHECK_FOR_INTERRUPTS();
		changed += change_one(batch, &batch->keys[i]);
		MemoryContextReset(batch->row);
	}
	MemoryContextSwitchTo(old);
	write_close(&batch->writer);
	batch->changed += changed;
}

typedef struct Some
{
	Batch *batch;
	int from;
	int to;
} Some;

static void
try_some(void *arg)
{
	const Some *some = arg;

	PushActiveSnapshot(GetTransactionSnapshot());
	change_some(some->batch, some->from, some->to);
	PopActiveSnapshot();
}

static ErrorData *
try_to_change(Batch *batch, int from, int to)
{
	Some some = {batch, from, to};

	return attempt(try_some, &some);
}

/* Returns whether an error is of other transactions' making, so that another attempt may succeed. */
bool
item_job_is_conflict(int code)
{
	return code == ERRCODE_DYN_TRANSACTION_CONFLICT || code == ERRCODE_LOCK_NOT_AVAILABLE ||
		   ERRCODE_TO_CATEGORY(code) == ERRCODE_TRANSACTION_ROLLBACK;
}

static void
change_batch(Batch *batch)
{
	ErrorData *error = batch->nkeys == 0 ? NULL : try_to_change(batch, 0, batch->nkeys);

	if (error == NULL)
		return;
	if (!item_is_to_blame(error, batch->table->row_security) &&
		!item_job_is_conflict(error->sqlerrcode))
		ReThrowError(error);
	for (int i = 0; i < batch->nkeys; i++)
	{
		error = try_to_change(batch, i, i + 1);
		if (error == NULL)
			continue;
		if (!item_is_to_blame(error, batch->table->row_security))
			ReThrowError(error);
		note_problem(batch, &batch->keys[i], error);
	}
}

/*
 * Batches
 */

/*
 * Does a batch in a transaction of its own, which the caller commits.  Returns whether the chunk
 * has more.
 */
static bool
do_batch(ItemJob *work, JobChunk *chunk, int64 *changed)
{
	Batch batch = {.work = work, .chunk = chunk, .context = CurrentMemoryContext};
	RightsBefore before;

	batch.row =
		AllocSetContextCreate(batch.context, "dynamo_table job item", ALLOCSET_DEFAULT_SIZES);
	batch.max_keys = work->max_rate > 0 ? Min(work->batch, work->max_rate) : work->batch;
	batch.keys = MemoryContextAllocHuge(batch.context, batch.max_keys * sizeof(DynKeyValues));
	(void) extension_lock(true);
	batch.rel = open_table(work, RowExclusiveLock, &batch.table);
	rights_take_for_rows(batch.rel, true, &before);
	PushActiveSnapshot(GetTransactionSnapshot());
	read_batch(&batch);
	if (work->look_up != NULL)
		work->look_up(work);
	PopActiveSnapshot();
	change_batch(&batch);
	rights_give_back(&before);
	if (batch.read > 0)
		job_advance(chunk, item_job_position(batch.table, &batch.last), batch.changed,
					batch.read - batch.changed);
	relation_close(batch.rel, NoLock);
	*changed = batch.changed;
	return batch.full;
}

/* Waits until the rate allows the next batch; nothing is locked meanwhile. */
static void
items_throttle(const ItemJob *work, TimestampTz begin, int64 changed)
{
	int64 due;

	if (work->max_rate == 0)
		return;
	due = changed * 1000 / work->max_rate;
	work_sleep((long) (due - TimestampDifferenceMilliseconds(begin, GetCurrentTimestamp())));
}

static void
do_chunk(ItemJob *work, JobChunk *chunk)
{
	bool more;

	do
	{
		TimestampTz begin = GetCurrentTimestamp();
		int64 changed;

		more = do_batch(work, chunk, &changed);
		job_commit(chunk->job);
		items_throttle(work, begin, changed);
		job_tell(chunk->job);
	} while (more);
	job_complete(chunk);
}

static void
expect_rows(ItemJob *work, Job *job)
{
	DynTable *table;
	Relation rel = open_table(work, AccessShareLock, &table);
	double expected = dyn_expected_items(rel);

	if (expected >= 0)
		job_expect(job, 1, (int64) expected);
	relation_close(rel, NoLock);
}

static void
tell_end(const ItemJob *work, Job *job)
{
	JobTotal total;

	job_total(job, &total);
	ereport(NOTICE, (errmsg("%s of table \"%s\" is finished", work->procedure, work->table),
					 errdetail("Items read: %lld. Items changed: %lld. Items with problems: %lld.",
							   (long long) (total.done + total.skipped), (long long) total.done,
							   (long long) total.problems)));
	if (total.problems > 0)
		ereport(WARNING,
				(errmsg("items of table \"%s\" that could not be changed: %lld", work->table,
						(long long) total.problems),
				 errhint("They are in dyn_job_problems, with job = %lld.", (long long) job->id)));
}

/* Returns what the job is known by: where policies hide rows, nobody else goes on with it. */
static const char *
items_fingerprint(const ItemJob *work)
{
	return check_enable_rls(work->relid, InvalidOid, true) == RLS_ENABLED
			   ? psprintf("%s of role %u", work->fingerprint, GetUserId())
			   : work->fingerprint;
}

static void
items_run(ItemJob *work)
{
	JobChunk chunk;

	work->job =
		job_begin(work->kind, work->relid, work->name, items_fingerprint(work), NIL, work->restart);
	expect_rows(work, work->job);
	while (job_claim(work->job, 1, cut_chunk, work, &chunk))
		do_chunk(work, &chunk);
	while (job_await(work->job, 1, work->wait, &chunk))
		do_chunk(work, &chunk);
	(void) job_end(work->job);
	tell_end(work, work->job);
}

/*
 * Runs the job to its end, in many transactions, and reports its totals as a NOTICE.  The caller is a
 * procedure that may commit, connected to SPI, and has no relation open.  After an error too, the
 * session's locks on the job are released.
 */
void
item_job_run(ItemJob *work)
{
	PG_TRY();
	{
		items_run(work);
	}
	PG_CATCH();
	{
		job_leave(work->job);
		PG_RE_THROW();
	}
	PG_END_TRY();
	job_leave(work->job);
}
