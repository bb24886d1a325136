/*
 * write.c
 *	  Writes of items: prepared, run, done.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "utils/rel.h"

#include "actions/write.h"
#include "catalog/key_grant.h"
#include "server/attempt.h"
#include "server/errors.h"

/*
 * Opening
 */

/*
 * Prepares a writer for the table of a call, in the current memory context.  The caller has the
 * relation open and locked, and closes the writer with write_close() before it.
 */
void
write_open(ItemWriter *writer, const FrontCall *call)
{
	*writer = (ItemWriter){.rel = call->rel,
						   .table = call->table,
						   .store = store_writer(call->rel, call->table, call->site),
						   .measure = call->measure};
	if (call->measure != NULL)
		*call->measure =
			(ItemMeasure){.collection = call->measure->collection, .table = call->table};
}

/* Closes what a writer has open.  Locks stay until the transaction ends. */
void
write_close(ItemWriter *writer)
{
	store_writer_close(writer->store);
}

/* Calls of the store are between these two. */
static void
write_begin(ItemWriter *writer, ErrorContextCallback *callback)
{
	if (writer->plain_conflicts)
		store_begin_plain(callback);
	else
		store_begin_cleared(callback, &writer->clearance);
}

/*
 * Prepare
 */

/* There is one layer that has a rule of its own. */
static ItemCheck added_check = NULL;

/* Adds a rule for all writes of items.  Called once by _PG_init(). */
void
write_add_check(ItemCheck check)
{
	Assert(added_check == NULL);
	added_check = check;
}

static void
check_item(const ItemWriter *writer, const DynItem *item)
{
	if (added_check != NULL)
		added_check(writer->rel, writer->table, item);
}

/*
 * Prepares the write of an item that replaces whatever is there.  Raises an error for everything
 * that is wrong with the item by itself.
 */
void
write_prepare(const ItemWriter *writer, const DynItem *item, ItemWrite *write)
{
	DynRow *row = dyn_derive(writer->rel, writer->table, item);

	dyn_row_check(writer->rel, writer->table, NULL, row);
	check_item(writer, item);
	*write = (ItemWrite){.key = row->key, .row = row, .new = item};
}

/*
 * Prepares the put of an item that a call brings: its limits are narrower than those of what is
 * stored, which may have come from a dump of a build from before 0.2.0 (docs/semantics.md, T14,
 * T24).
 */
void
write_prepare_put(const ItemWriter *writer, const DynItem *item, ItemWrite *write)
{
	/* the item itself is a map, too */
	if (item_nesting(item_root(item)) > ITEM_CALL_NESTING + 1)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the item has more than %d levels of nesting", ITEM_CALL_NESTING),
						errwords(ITEM_NESTING_WORDS_LONG)));
	write_prepare(writer, item, write);
	dyn_row_check_call(writer->table, NULL, write->row);
}

/* Prepares the change or the deletion of an item; the key is its key attributes and nothing else. */
void
write_prepare_key(const ItemWriter *writer, const DynItem *key, ItemWrite *write)
{
	*write = (ItemWrite){.new = NULL};
	dyn_key_exact(writer->table, &writer->table->primary, key, DYN_KEY_OF_REQUEST, &write->key);
}

static bool
same_item(const DynItem *a, const DynItem *b)
{
	return a == b || item_compare_bytes(item_root(a), item_root(b)) == 0;
}

/* Returns the keys of indexes that an update sets to what the item may have elsewhere. */
static Bitmapset *
copied_keys(const DynTable *table, const Expr *update)
{
	Bitmapset *copied = NULL;

	for (int i = table->nkeys; i < table->nattributes; i++)
	{
		if (expr_copies(update, table->keys[i].attribute))
			copied = bms_add_member(copied, i);
	}
	return copied;
}

/*
 * Returns what an item becomes by a change, as a row, which is the one that is stored; old is NULL
 * if there is none.  Raises an error if it must not be stored.  A change that handles such errors
 * calls this itself, for the item that it then returns.
 */
const DynRow *
write_row(const ItemWriter *writer, ItemWrite *write, const DynItem *old, const DynItem *new)
{
	DynRow *row = dyn_derive(writer->rel, writer->table, new);

	if (!dyn_row_has_key(writer->table, row, &write->key))
		dyn_fail_key_changed(writer->table);
	if (row->problems != NIL && write->update != NULL)
		row->copied = copied_keys(writer->table, write->update);
	dyn_row_check(writer->rel, writer->table, old, row);
	dyn_row_check_call(writer->table, old, row);
	/* an item that stays is older than its rules */
	if (old == NULL || !same_item(old, new))
		check_item(writer, new);
	return write->row = row;
}

/*
 * Run
 */

/*
 * Asks what the write has to do about its item collection.  Returns whether that needs the item
 * that is replaced.
 */
bool
write_looks(const ItemWriter *writer, ItemWrite *write)
{
	if (write->watch == COLLECTION_UNWATCHED)
		write->watch = collection_watch(writer->rel, writer->table, &write->key,
										write->row == NULL ? NULL : write->row->item);
	return write->watch == COLLECTION_LOOK;
}

/* Inserts an item, or replaces the one of its key, which the caller does not ask for. */
void
write_put(ItemWriter *writer, ItemWrite *write)
{
	ErrorContextCallback callback;

	if (write_looks(writer, write))
	{
		write_change(writer, write, EXPECT_REPLACE, NULL, NULL);
		return;
	}
	write_begin(writer, &callback);
	store_put(writer->store, write->row);
	store_end(&callback);
}

/*
 * Inserts an item.  Returns false if there is an item of its key, which is then locked for a
 * replacement.
 */
bool
write_insert(ItemWriter *writer, ItemWrite *write)
{
	ErrorContextCallback callback;
	bool inserted;

	(void) write_looks(writer, write);
	write_begin(writer, &callback);
	inserted = store_insert(writer->store, write->row);
	store_end(&callback);
	return inserted;
}

/* Measures an item, NULL if there is none, that is about to be judged, and stays if it fails. */
static void
measure_found(const ItemWriter *writer, const DynItem *old)
{
	if (writer->measure != NULL)
		writer->measure->old = writer->measure->new = old;
}

/* This is a change that is under way. */
typedef struct Change
{
	const ItemWriter *writer;
	ItemWrite *write;
	ItemChange change;
	void *arg;
} Change;

/* Returns what an item becomes; NULL means that there was none, and that there is to be none. */
static const DynRow *
changed_row(DynItem *old, void *arg)
{
	Change *c = arg;
	ItemWrite *write = c->write;
	const DynItem *new;

	measure_found(c->writer, old);
	new = c->change == NULL ? write->row->item : c->change(old, c->arg);
	write->old = old;
	write->new = new;
	if (new == NULL)
		return NULL;
	if (new == old)
		return dyn_derive(c->writer->rel, c->writer->table, old);
	if (write->row == NULL || write->row->item != new)
		(void) write_row(c->writer, write, old, new);
	return write->row;
}

/* Locks what is there, and replaces it; or inserts what the change makes of nothing. */
static void
change_locked(ItemWriter *writer, Change *c)
{
	const DynKeyValues *key = &c->write->key;
	DynItem *old = store_lock(writer->store, key, STORE_LOCK_REPLACE);
	const DynRow *row = changed_row(old, c);

	if (old == NULL)
	{
		if (row == NULL || store_insert(writer->store, row))
			return;
		/* another session was faster, and this one holds a lock on the item that it inserted */
		old = store_lock(writer->store, key, STORE_LOCK_REPLACE);
		row = changed_row(old, c);
	}
	/* there is still none if a trigger or policy is in the way: the store says so */
	if (row != NULL && row->item != old)
		store_replace(writer->store, old, row);
}

/*
 * Makes of an item what the change makes of it.  Returns false if there is none, and nothing is
 * done then.
 */
bool
write_change_present(ItemWriter *writer, ItemWrite *write, ItemChange change, void *arg)
{
	Change c = {writer, write, change, arg};
	ErrorContextCallback callback;
	bool done;

	(void) write_looks(writer, write);
	write_begin(writer, &callback);
	done = store_change(writer->store, &write->key, changed_row, &c);
	store_end(&callback);
	return done;
}

/*
 * Makes of an item what the change makes of it, or of nothing if there is none.  Without a change
 * it becomes the item that is prepared.  Sets the old and the new item of the write.
 */
void
write_change(ItemWriter *writer, ItemWrite *write, WriteExpectation expectation, ItemChange change,
			 void *arg)
{
	Change c = {writer, write, change, arg};
	ErrorContextCallback callback;
	bool done = false;

	(void) write_looks(writer, write);
	write_begin(writer, &callback);
	if (expectation == EXPECT_REPLACE)
		done = store_change(writer->store, &write->key, changed_row, &c);
	else if (expectation == EXPECT_INSERT)
		done = store_insert(writer->store, write->row);
	if (!done)
		change_locked(writer, &c);
	store_end(&callback);
}

/* Locks the item of the write's key, and returns it as write->old; NULL if there is none. */
DynItem *
write_lock(ItemWriter *writer, ItemWrite *write, StoreLock lock)
{
	ErrorContextCallback callback;

	write_begin(writer, &callback);
	write->old = store_lock(writer->store, &write->key, lock);
	store_end(&callback);
	return write->old;
}

/* Replaces an item that write_lock() has found. */
void
write_replace(ItemWriter *writer, ItemWrite *write)
{
	ErrorContextCallback callback;

	(void) write_looks(writer, write);
	write_begin(writer, &callback);
	store_replace(writer->store, write->old, write->row);
	store_end(&callback);
}

/* Deletes an item that write_lock() has found. */
void
write_delete_locked(ItemWriter *writer, ItemWrite *write)
{
	ErrorContextCallback callback;

	write_begin(writer, &callback);
	(void) store_delete(writer->store, &write->key, false);
	write->new = NULL;
	store_end(&callback);
}

/* This is an item of key attributes alone, which is not to come until the transaction ends. */
typedef struct Absence
{
	ItemWriter *writer;
	const DynItem *key;
} Absence;

static void
try_insert(void *arg)
{
	const Absence *absence = arg;
	ItemWriter *writer = absence->writer;

	(void) store_insert(writer->store, dyn_derive(writer->rel, writer->table, absence->key));
}

/*
 * Returns whether a role may keep an item absent, for which others wait.  Where policies limit the
 * role they have a say in it, as in an insert, which is tried.
 */
static bool
may_hold(Absence *absence)
{
	const ErrorData *error;

	if (OidIsValid(absence->writer->clearance.relid) ||
		!dyn_policies_hide(absence->writer->table->relid))
		return true;
	error = attempt_and_undo(try_insert, absence);
	return error == NULL || error->sqlerrcode != ERRCODE_INSUFFICIENT_PRIVILEGE;
}

/*
 * Keeps the item of the write's key absent until the transaction ends; key has its attributes.
 * Returns false if by now there is one.  A role that may not insert an item need not keep it
 * absent.
 */
bool
write_hold_absent(ItemWriter *writer, const ItemWrite *write, const DynItem *key)
{
	Absence absence = {writer, key};
	ErrorContextCallback callback;
	bool absent;

	write_begin(writer, &callback);
	absent = !may_hold(&absence) || store_hold_absent(writer->store, &write->key, key);
	store_end(&callback);
	return absent;
}

/*
 * Returns whether the item may become another one than is written: by triggers beside ours, or by
 * those of a partition, which are not seen here.  Asked before the write, whose triggers and checks
 * may drop triggers, ours as well.
 */
bool
write_may_differ(const ItemWriter *writer)
{
	const RelationData *rel = writer->rel;

	return rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ||
		   (rel->trigdesc != NULL && rel->trigdesc->numtriggers > 1);
}

/*
 * Sets write->new to the item as it is after the write, where triggers may have made another one of
 * it.  It stays as it was written if a policy or trigger hides the item.
 */
void
write_read_back(ItemWriter *writer, ItemWrite *write)
{
	ErrorContextCallback callback;
	DynItem *item;

	if (write->new == NULL)
		return;
	write_begin(writer, &callback);
	/* the lock is ours already, and unlike a read it sees our own write */
	item = store_lock(writer->store, &write->key, STORE_LOCK_REPLACE);
	if (item != NULL)
		write->new = item;
	store_end(&callback);
}

/*
 * Deletes the item of the write's key.  With a judge it is locked and shown to it first; otherwise
 * it becomes write->old if want_old is set.
 */
void
write_delete(ItemWriter *writer, ItemWrite *write, bool want_old, ItemJudge judge, void *arg)
{
	ErrorContextCallback callback;

	write_begin(writer, &callback);
	if (judge == NULL)
		write->old = store_delete(writer->store, &write->key, want_old);
	else
	{
		write->old = store_lock(writer->store, &write->key, STORE_LOCK_DELETE);
		measure_found(writer, write->old);
		judge(write->old, arg);
		if (write->old != NULL)
			(void) store_delete(writer->store, &write->key, false);
	}
	write->new = NULL;
	store_end(&callback);
}

/*
 * Done
 */

/* Measures a collection; only tables with local indexes have those (docs/semantics.md, R17). */
static void
measure_collection(const ItemWriter *writer, const ItemWrite *write)
{
	ItemMeasure *measure = writer->measure;

	if (!measure->collection || dyn_local_indexes(writer->table) == 0)
		return;
	measure->collection_key = collection_key(writer->table, &write->key);
	measure->collection_size = collection_size(writer->table, &write->key);
}

/*
 * Ends a write that has been run: raises an error if it has made the item collection too large, and
 * records the items in the measure of the call, if it has one.  These are not copied.
 */
void
write_done(ItemWriter *writer, ItemWrite *write)
{
	ErrorContextCallback callback;

	write_begin(writer, &callback);
	if (write->watch == COLLECTION_ROOM || write->watch == COLLECTION_LOOK)
		collection_written(write->watch, writer->table, &write->key, write->old, write->new);
	if (writer->measure != NULL)
	{
		writer->measure->old = write->old;
		writer->measure->new = write->new;
		measure_collection(writer, write);
	}
	store_end(&callback);
}

/*
 * Many items
 */

static const DynRow **
rows_of(ItemWrite *const *writes, int n)
{
	const DynRow **rows = palloc(n * sizeof(DynRow *));

	for (int i = 0; i < n; i++)
		rows[i] = writes[i]->row;
	return rows;
}

/* Puts items whose collections have to be looked at, and the items that they replace. */
static void
put_each(ItemWriter *writer, int n, ItemWrite *const *writes)
{
	for (int i = 0; i < n; i++)
	{
		write_change(writer, writes[i], EXPECT_REPLACE, NULL, NULL);
		write_done(writer, writes[i]);
	}
}

/*
 * Puts prepared items.  An item collection that becomes too large is
 * ERRCODE_DYN_ITEM_COLLECTION_SIZE_LIMIT.
 */
void
write_put_many(ItemWriter *writer, int n, ItemWrite *const *writes)
{
	ErrorContextCallback callback;
	const DynRow **rows;

	for (int i = 0; i < n; i++)
	{
		if (write_looks(writer, writes[i]))
		{
			put_each(writer, n, writes);
			return;
		}
	}
	rows = rows_of(writes, n);
	write_begin(writer, &callback);
	store_put_many(writer->store, n, rows);
	store_end(&callback);
	for (int i = 0; i < n; i++)
		write_done(writer, writes[i]);
	pfree(rows);
}

/* Inserts prepared items; sets inserted[i] to what write_insert() would return for each. */
void
write_insert_many(ItemWriter *writer, int n, ItemWrite *const *writes, bool *inserted)
{
	const DynRow **rows = rows_of(writes, n);
	ErrorContextCallback callback;

	for (int i = 0; i < n; i++)
		(void) write_looks(writer, writes[i]);
	write_begin(writer, &callback);
	store_insert_many(writer->store, n, rows, inserted);
	store_end(&callback);
	for (int i = 0; i < n; i++)
	{
		if (inserted[i])
			write_done(writer, writes[i]);
	}
	pfree(rows);
}

/* Deletes the items of keys, as far as there are any. */
void
write_delete_many(ItemWriter *writer, int n, ItemWrite *const *writes)
{
	const DynKeyValues **keys = palloc(n * sizeof(DynKeyValues *));
	ErrorContextCallback callback;

	for (int i = 0; i < n; i++)
		keys[i] = &writes[i]->key;
	write_begin(writer, &callback);
	store_delete_many(writer->store, n, keys);
	store_end(&callback);
	pfree(keys);
}
