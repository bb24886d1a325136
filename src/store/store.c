/*
 * store.c
 *	  The choice between the stores, for each call.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "catalog/entries.h"
#include "server/catalogs.h"
#include "server/citus.h"
#include "server/errors.h"
#include "store/direct.h"
#include "store/entries.h"
#include "store/plan.h"
#include "store/prefetch.h"
#include "store/remote.h"
#include "store/shard.h"
#include "store/spi_store.h"
#include "store/statement.h"

/* Returns the store that serves a table by statements. */
static const StatementStore *
statements(const DynTable *table)
{
	return table->distributed ? &remote_store : &spi_store;
}

/*
 * Names conflicts.  Calls in transactions of their own lock in one order.  Several calls in one
 * transaction may meet others in a deadlock; then the caller begins its transaction again, as after
 * any conflict.  It also does so if a shard was moved or split between two steps of a statement.
 */
static void
name_conflict(void *arg)
{
	if (citus_misses_shard())
	{
		errcode(ERRCODE_T_R_SERIALIZATION_FAILURE);
		errmsg("could not serialize access due to a move or split of a shard");
		return;
	}
	if (geterrcode() != ERRCODE_T_R_DEADLOCK_DETECTED &&
		!(geterrcode() == ERRCODE_QUERY_CANCELED && citus_ends_deadlock()))
		return;
	errcode(ERRCODE_DYN_TRANSACTION_CONFLICT);
	errmsg("transaction conflict: deadlock with another transaction");
	/* errwords() would name this function, but the error is another one's */
	words_set("DeadLockReport", "Transaction is ongoing for the item");
}

/* Names conflicts until store_end().  callback is on the stack; memory may be reset meanwhile. */
void
store_begin(ErrorContextCallback *callback)
{
	*callback = (ErrorContextCallback){error_context_stack, name_conflict, NULL};
	error_context_stack = callback;
}

/*
 * Does so for a request that may be cleared; the clearance outlives store_end().  It is known by
 * the error context, so errors take it back, and calls of triggers have one of their own, or none.
 */
void
store_begin_cleared(ErrorContextCallback *callback, StoreClearance *clearance)
{
	*callback = (ErrorContextCallback){error_context_stack, name_conflict, clearance};
	error_context_stack = callback;
}

static void
name_nothing(void *arg)
{
}

/* Begins something that is not cleared, whose conflicts keep PostgreSQL's error code. */
void
store_begin_plain(ErrorContextCallback *callback)
{
	*callback = (ErrorContextCallback){error_context_stack, name_nothing, NULL};
	error_context_stack = callback;
}

/* Returns whether what the store does just now is cleared for the table, and the current user. */
bool
store_is_cleared(const DynTable *table)
{
	for (const ErrorContextCallback *c = error_context_stack; c != NULL; c = c->previous)
	{
		if (c->callback == name_conflict || c->callback == name_nothing)
		{
			const StoreClearance *clearance = c->arg;

			return clearance != NULL && clearance->relid == table->relid &&
				   clearance->user == GetUserId();
		}
	}
	return false;
}

/* Takes back the error context callback of store_begin(). */
void
store_end(const ErrorContextCallback *callback)
{
	error_context_stack = callback->previous;
}

/* Returns whether the active snapshot shows the table, with the TOAST table that it has now. */
static bool
snapshot_shows(const DynTable *table)
{
	HeapTuple row = catalogs_relation_shown(GetActiveSnapshot(), table->relid);
	bool shows = row != NULL && ((Form_pg_class) GETSTRUCT(row))->reltoastrelid == table->toast;

	if (row != NULL)
		heap_freetuple(row);
	return shows;
}

/*
 * Raises an error if the active snapshot shows no rows of the table because another transaction has
 * rewritten it by ALTER TABLE since, or made another one of its name.  A read may have waited for
 * that: its snapshot is that of the statement, which is older than the lock.  ALTER TABLE replaces
 * the TOAST table, too.  VACUUM FULL and CLUSTER, which keep rows visible, and TRUNCATE do not.
 */
static void
check_snapshot(const DynTable *table)
{
	if (!XidInMVCCSnapshot(table->changed, GetActiveSnapshot()) ||
		TransactionIdIsCurrentTransactionId(table->changed) || snapshot_shows(table))
		return;
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("table \"%s\" was created or rewritten by a concurrent transaction",
						   table->name)));
}

/* Opens a key's shard for a read, with a snapshot that shows it; NULL if it is not for us. */
static Relation
open_shard(DynTable *table, Datum partition, const Node *site, DynTable **shard)
{
	Relation rel = table->distributed && store_call_is_alone(site)
					   ? store_shard_open(table, partition, 0, shard)
					   : NULL;

	if (rel != NULL)
		PushActiveSnapshot(GetLatestSnapshot());
	return rel;
}

static void
close_shard(Relation rel)
{
	PopActiveSnapshot();
	relation_close(rel, NoLock);
}

/*
 * Returns the item of a key that the active snapshot shows, palloc'd; NULL if there is none.  The
 * site is the expression that calls an SQL function, by which its call may turn out to be a
 * transaction by itself, see shard.c; or NULL.
 */
DynItem *
store_get(DynTable *table, const DynKeyValues *key, const Node *site)
{
	DynItem *item = NULL;
	DynTable *shard;
	Relation rel;
	bool done;

	check_snapshot(table);
	rel = open_shard(table, key->values[0], site, &shard);
	done = direct_get(rel != NULL ? shard : table, key, &item);
	if (rel != NULL)
		close_shard(rel);
	return done ? item : spi_get(table, key);
}

/*
 * Returns a reader for store_read() in the current memory context.  The caller closes it with
 * store_reader_close().
 */
StoreReader *
store_reader(void)
{
	return direct_reader();
}

/* Reads as store_get() does. */
DynItem *
store_read(StoreReader *reader, DynTable *table, const DynKeyValues *key, const Node *site)
{
	DynItem *item;

	if (table->distributed)
		return store_get(table, key, site);
	check_snapshot(table);
	return direct_read(reader, table, key, &item) ? item : spi_get(table, key);
}

/* Closes what a reader has open.  Locks stay until the transaction ends. */
void
store_reader_close(StoreReader *reader)
{
	direct_reader_close(reader);
}

/*
 * Reads a range that store_range_narrow() has narrowed, by the direct store if it can, otherwise by
 * the SPI store, and calls back for each entry, in order.
 */
void
store_range_read(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg)
{
	DynTable *shard;
	Relation rel = NULL;
	StoreRange local = *range;
	bool done;

	check_snapshot(table);
	if (dyn_index_is_table(range->index) && range->nequal > 0)
		rel = open_shard(table, range->equal[0], range->site, &shard);
	if (rel == NULL)
	{
		if (!direct_range(table, range, callback, arg))
			statements(table)->range(table, range, callback, arg);
		return;
	}
	local.index = &shard->primary;
	done = direct_range(shard, &local, callback, arg);
	close_shard(rel);
	if (!done)
		statements(table)->range(table, range, callback, arg);
}

/* Returns whether a narrowed range gives the whole key of an item, so that it needs no scan. */
static bool
is_one_item(const DynTable *table, const StoreRange *range)
{
	return dyn_index_is_table(range->index) && range->nequal == table->nkeys &&
		   range->want == STORE_WANT_ITEM;
}

static void
range_of_one(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg)
{
	DynKeyValues key = {range->nequal};
	StoreRow row = {0};
	DynItem *item;

	memcpy(key.values, range->equal, range->nequal * sizeof(Datum));
	item = store_get(table, &key, range->site);
	if (item == NULL)
		return;
	row.item = PointerGetDatum(item);
	(void) callback(&row, arg);
}

/* Calls back for each entry of the range, in order. */
void
store_range(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg)
{
	StoreRange narrowed = *range;

	if (!store_range_narrow(table, &narrowed))
		return;
	if (is_one_item(table, &narrowed))
		range_of_one(table, &narrowed, callback, arg);
	else
		store_range_read(table, &narrowed, callback, arg);
}

/*
 * Writes
 */

struct StoreWriter
{
	DynTable *table;
	Relation rel;
	MemoryContext context;
	struct Writer *direct; /* NULL: it has not been needed */
	bool alone; /* the call may write to shards of a distributed table itself */
	List *shards; /* of ShardWriter: those that it has come to */
	bool after_read;
};

/* This is a shard, and what writes to it: what has begun by statements goes on so. */
typedef struct ShardWriter
{
	int64 number;
	StoreWriter *writer; /* NULL: statements */
} ShardWriter;

/*
 * Returns a writer for the table, in the current memory context.  The caller has the relation open
 * and locked, and closes the writer before it with store_writer_close().  The site is as of
 * store_get(): the call has not written anything.
 */
StoreWriter *
store_writer(Relation rel, DynTable *table, const Node *site)
{
	StoreWriter *writer = palloc(sizeof(StoreWriter));

	*writer = (StoreWriter){.table = table,
							.rel = rel,
							.context = CurrentMemoryContext,
							.alone = table->distributed && store_call_is_alone(site) &&
									 (!dyn_has_entries(table) || citus_can_join())};
	/* what was sent to a shard that is no longer here, or is not the direct store's */
	if (writer->alone && citus_is_calling())
		citus_allow_statements();
	return writer;
}

/* Says that the call also does what may write by statements: it does not write to shards itself. */
void
store_writer_by_statements(StoreWriter *writer)
{
	writer->alone = false;
}

/*
 * Keeps the shard of a key where it is for a call that writes several items, and returns whether
 * the call may write to shards itself: Citus can be told to commit in two phases what is written
 * so, or nothing of the call is on another node.  Asked for each key before the first write.
 */
bool
store_writer_may_write(StoreWriter *writer, const DynKeyValues *key)
{
	return !writer->alone || citus_can_join() ||
		   store_shard_keep_here(writer->table, key->values[0]);
}

/*
 * Says that the statement has mostly just read the row that is to be written, which then is looked
 * for where it was read.  Called before the first write.
 */
void
store_writer_after_read(StoreWriter *writer)
{
	writer->after_read = true;
}

/* Closes what a writer has open.  Locks stay until the transaction ends. */
void
store_writer_close(StoreWriter *writer)
{
	ListCell *cell;

	if (writer->direct != NULL)
		direct_writer_close(writer->direct);
	writer->direct = NULL;
	foreach (cell, writer->shards)
	{
		StoreWriter *shard = ((ShardWriter *) lfirst(cell))->writer;

		if (shard == NULL)
			continue;
		store_writer_close(shard);
		relation_close(shard->rel, NoLock);
	}
	writer->shards = NIL;
}

/* Opens the shard of a key for a call that comes to it. */
static ShardWriter *
come_to_shard(StoreWriter *writer, int64 number, Datum partition, AclMode privileges)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);
	ShardWriter *shard = palloc(sizeof(ShardWriter));
	DynTable *table;
	Relation rel = store_shard_open(writer->table, partition, privileges, &table);

	*shard = (ShardWriter){number, NULL};
	if (rel != NULL)
	{
		shard->writer = store_writer(rel, table, NULL);
		shard->writer->after_read = writer->after_read;
	}
	writer->shards = lappend(writer->shards, shard);
	MemoryContextSwitchTo(old);
	return shard;
}

/* Returns the writer of the key's shard, or NULL if the call does not write to that itself. */
static StoreWriter *
shard_writer(StoreWriter *writer, const DynKeyValues *key, AclMode privileges)
{
	ShardWriter *shard = NULL;
	ListCell *cell;
	int64 number;

	if (!writer->alone)
		return NULL;
	number = store_shard_number(writer->table, key->values[0]);
	foreach (cell, writer->shards)
	{
		shard = lfirst(cell);
		if (shard->number == number)
			return shard->writer != NULL && direct_call_refusal(writer->table, privileges) == NULL
					   ? shard->writer
					   : NULL;
	}
	return come_to_shard(writer, number, key->values[0], privileges)->writer;
}

/* Returns the direct store's part of a writer, or NULL if statements serve the write. */
static struct Writer *
direct(StoreWriter *writer, AclMode privileges)
{
	MemoryContext old;

	if (direct_write_refusal(writer->table, privileges) != NULL)
		return NULL;
	if (writer->direct == NULL)
	{
		old = MemoryContextSwitchTo(writer->context);
		writer->direct = direct_writer(writer->rel, writer->table, writer->after_read);
		MemoryContextSwitchTo(old);
	}
	return writer->direct;
}

/* Returns that part for the item of a key, which may be in a shard. */
static struct Writer *
direct_at(StoreWriter *writer, const DynKeyValues *key, AclMode privileges)
{
	StoreWriter *shard;
	struct Writer *w;

	if (!writer->table->distributed)
		return direct(writer, privileges);
	shard = shard_writer(writer, key, privileges);
	w = shard == NULL ? NULL : direct(shard, privileges);
	if (w == NULL)
		store_shard_keep(writer->table, key->values[0]);
	return w;
}

/*
 * Writes that keep entries of indexes, which need the item that was there
 */

static void
keep(const StoreWriter *writer, const DynItem *old, const DynRow *row)
{
	store_entries_write(writer->table,
						old == NULL ? NULL : dyn_derive(writer->rel, writer->table, old), row);
}

static void
replace_kept(StoreWriter *writer, const DynItem *old, const DynRow *row)
{
	struct Writer *w = direct_at(writer, &row->key, ACL_UPDATE);

	if (w != NULL)
		direct_replace(w, row);
	else
		statements(writer->table)->replace(writer->table, row);
	keep(writer, old, row);
}

static void
put_kept(StoreWriter *writer, const DynRow *row)
{
	const DynItem *old = store_lock(writer, &row->key, STORE_LOCK_REPLACE);

	if (old == NULL && store_insert(writer, row))
		return;
	if (old == NULL)
		old = store_lock(writer, &row->key, STORE_LOCK_REPLACE);
	replace_kept(writer, old, row);
}

typedef struct KeptChange
{
	StoreChange change;
	void *arg;
	const DynItem *old;
	const DynRow *row;
} KeptChange;

static const DynRow *
remember_change(DynItem *old, void *arg)
{
	KeptChange *kept = arg;

	kept->old = old;
	return kept->row = kept->change(old, kept->arg);
}

/* Inserts an item, or replaces the one of its key. */
void
store_put(StoreWriter *writer, const DynRow *row)
{
	struct Writer *w;

	if (dyn_has_entries(writer->table))
	{
		put_kept(writer, row);
		return;
	}
	w = direct_at(writer, &row->key, ACL_INSERT | ACL_UPDATE);

	if (w != NULL)
		direct_put(w, row);
	else
		statements(writer->table)->put(writer->table, row);
}

/*
 * Replaces the item of a key by what change() returns for it.  Returns false if there is no item of
 * that key.
 */
bool
store_change(StoreWriter *writer, const DynKeyValues *key, StoreChange change, void *arg)
{
	struct Writer *w = direct_at(writer, key, ACL_UPDATE);
	KeptChange kept = {change, arg};
	bool keeps = dyn_has_entries(writer->table);
	bool done;

	if (keeps)
	{
		change = remember_change;
		arg = &kept;
	}
	done = w != NULL ? direct_change(w, key, change, arg)
					 : statements(writer->table)->change(writer->table, key, change, arg);
	if (keeps && done)
		keep(writer, kept.old, kept.row);
	return done;
}

/* Locks the item of a key, and returns it, palloc'd; NULL if there is none. */
DynItem *
store_lock(StoreWriter *writer, const DynKeyValues *key, StoreLock lock)
{
	struct Writer *w = direct_at(writer, key, ACL_UPDATE);

	return w != NULL ? direct_lock(w, key, lock) : spi_lock(writer->table, key, lock);
}

/* Returns whether an insert may come to nothing though there is no item of its key. */
static bool
may_suppress(const DynTable *table)
{
	return table->write_refusal != NULL || table->row_security || table->extras.before_insert;
}

/*
 * Raises an error where there is no item to be seen, and none can be inserted.  Where row-level
 * security applies, one that a policy hides has the key: the caller may not write it, in the words
 * of ON CONFLICT.
 */
static void
forbid_hidden_write(const DynTable *table)
{
	if (table->row_security && check_enable_rls(table->relid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("new row violates row-level security policy (USING expression) for "
							   "table \"%s\"",
							   table->name)));
	store_require_writes(table, 0, 1);
}

/*
 * Inserts an item where store_lock() has found none.  Returns false if by now there is an item of
 * its key: that one is then locked for a replacement, so that the next store_lock() finds it, and
 * no call begins again twice.
 */
bool
store_insert(StoreWriter *writer, const DynRow *row)
{
	struct Writer *w = direct_at(writer, &row->key, ACL_INSERT | ACL_UPDATE);
	bool inserted;

	inserted =
		w != NULL ? direct_insert(w, row) : statements(writer->table)->insert(writer->table, row);

	if (!inserted && may_suppress(writer->table) &&
		store_lock(writer, &row->key, STORE_LOCK_REPLACE) == NULL)
		forbid_hidden_write(writer->table);
	if (inserted && dyn_has_entries(writer->table))
		keep(writer, NULL, row);
	return inserted;
}

/* Replaces an item that this transaction has locked. */
void
store_replace(StoreWriter *writer, const DynItem *old, const DynRow *row)
{
	struct Writer *w;

	if (dyn_has_entries(writer->table))
	{
		replace_kept(writer, old, row);
		return;
	}
	w = direct_at(writer, &row->key, ACL_UPDATE);

	if (w != NULL)
		direct_replace(w, row);
	else
		statements(writer->table)->replace(writer->table, row);
}

/* Deletes the item of a key.  Returns the item if want_old and there was one; otherwise NULL. */
DynItem *
store_delete(StoreWriter *writer, const DynKeyValues *key, bool want_old)
{
	struct Writer *w = direct_at(writer, key, ACL_DELETE);
	bool keeps = dyn_has_entries(writer->table);
	DynItem *old = w != NULL ? direct_delete(w, key, want_old || keeps)
							 : spi_delete(writer->table, key, want_old || keeps);

	if (keeps && old != NULL)
		keep(writer, old, NULL);
	return want_old ? old : NULL;
}

/* Does puts in the order of their keys, each directly or by a statement. */
static void
put_one_by_one(StoreWriter *writer, int n, const DynRow *const *rows)
{
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		store_put(writer, rows[i]);
	}
}

/*
 * Inserts items, or replaces those of their keys.  As for all writes of several items, the keys are
 * distinct and in the order of the primary key, so that concurrent calls do not deadlock.
 */
void
store_put_many(StoreWriter *writer, int n, const DynRow *const *rows)
{
	struct Writer *w = direct(writer, ACL_INSERT | ACL_UPDATE);

	if (w != NULL)
		direct_put_many(w, n, rows);
	else if (writer->alone || dyn_has_entries(writer->table))
		put_one_by_one(writer, n, rows);
	else
		statements(writer->table)->put_many(writer->table, n, rows);
}

/* Sets inserted[i] to what store_insert() would return for each item. */
void
store_insert_many(StoreWriter *writer, int n, const DynRow *const *rows, bool *inserted)
{
	struct Writer *w = direct(writer, ACL_INSERT | ACL_UPDATE);

	if (w != NULL && !statement_needed(writer->table, CMD_INSERT))
	{
		direct_insert_many(w, n, rows, inserted);
		return;
	}
	for (int i = 0; i < n; i++)
		inserted[i] = store_insert(writer, rows[i]);
}

/* Deletes the items of keys, as far as there are any. */
void
store_delete_many(StoreWriter *writer, int n, const DynKeyValues *const *keys)
{
	struct Writer *w = direct(writer, ACL_DELETE);

	if (w != NULL && !statement_needed(writer->table, CMD_DELETE))
	{
		direct_delete_many(w, n, keys);
		return;
	}
	for (int i = 0; i < n; i++)
		(void) store_delete(writer, keys[i], false);
}

/*
 * Keeps the item of a key absent until the transaction ends; item has its key attributes.  Returns
 * false if by now there is one.  In a shard that takes the privileges of the remote store.
 */
bool
store_hold_absent(StoreWriter *writer, const DynKeyValues *key, const DynItem *item)
{
	StoreWriter *shard = shard_writer(writer, key, ACL_INSERT | ACL_DELETE);

	return shard != NULL ? placeholder_hold(shard->rel, key, item)
						 : statements(writer->table)->hold_absent(writer->rel, key, item);
}

/* Defines the settings of the stores.  Called once by _PG_init(). */
void
store_init(void)
{
	direct_init();
	prefetch_init();
}
