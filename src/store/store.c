/*
 * store.c
 *	  The choice between the stores, for each call.
 */
#include "postgres.h"

#include "ground/errors.h"
#include "store/direct.h"
#include "store/spi_store.h"

/*
 * Two calls in transactions of their own lock in one order.  Several calls in one transaction may
 * meet others in a deadlock; then the caller begins his transaction again, as after any conflict.
 */
static void
name_conflict(void *arg)
{
	if (geterrcode() != ERRCODE_T_R_DEADLOCK_DETECTED)
		return;
	errcode(ERRCODE_DYN_TRANSACTION_CONFLICT);
	errmsg("transaction conflict: deadlock with another transaction");
}

/* The callback is on the stack of the caller: he may reset his memory context before store_end(). */
void
store_begin(ErrorContextCallback *callback)
{
	*callback = (ErrorContextCallback){error_context_stack, name_conflict, NULL};
	error_context_stack = callback;
}

/* Takes back the error context callback of store_begin(). */
void
store_end(const ErrorContextCallback *callback)
{
	error_context_stack = callback->previous;
}

/* Returns the item of a key that the active snapshot shows, palloc'd; NULL if there is none. */
DynItem *
store_get(DynTable *table, const DynKeyValues *key)
{
	DynItem *item;

	return direct_get(table, key, &item) ? item : spi_get(table, key);
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

/* As store_get(). */
DynItem *
store_read(StoreReader *reader, DynTable *table, const DynKeyValues *key)
{
	DynItem *item;

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
	if (!direct_range(table, range, callback, arg))
		spi_range(table, range, callback, arg);
}

/* Call back for each entry of the range, in order. */
void
store_range(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg)
{
	StoreRange narrowed = *range;

	if (store_range_narrow(table, &narrowed))
		store_range_read(table, &narrowed, callback, arg);
}

/* Insert or replace, whatever is there. */
void
store_put(DynTable *table, const DynKeyValues *key, const DynItem *item)
{
	if (direct_may_write(table, ACL_INSERT | ACL_UPDATE))
		direct_put(table, key, item);
	else
		spi_put(table, key, item);
}

/* Change the item; false if there is none. */
bool
store_change(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg)
{
	if (direct_may_write(table, ACL_UPDATE))
		return direct_change(table, key, change, arg);
	return spi_change(table, key, change, arg);
}

/* Lock the item of that key; NULL if there is none. */
DynItem *
store_lock(DynTable *table, const DynKeyValues *key, StoreLock lock)
{
	if (direct_may_write(table, ACL_UPDATE))
		return direct_lock(table, key, lock);
	return spi_lock(table, key, lock);
}

/*
 * Insert where store_lock() found nothing.  False if by now there is an item of that key: then it
 * is locked for a replacement, so the next store_lock() finds it, and nobody begins again twice.
 */
bool
store_insert(DynTable *table, const DynKeyValues *key, const DynItem *item)
{
	if (direct_may_write(table, ACL_INSERT | ACL_UPDATE))
		return direct_insert(table, key, item);
	return spi_insert(table, key, item);
}

/* The caller has the item locked. */
void
store_replace(DynTable *table, const DynKeyValues *key, const DynItem *item)
{
	if (direct_may_write(table, ACL_UPDATE))
		direct_replace(table, key, item);
	else
		spi_replace(table, key, item);
}

/* Returns the item that was there, if that is wanted and there was one. */
DynItem *
store_delete(DynTable *table, const DynKeyValues *key, bool want_old)
{
	if (direct_may_write(table, ACL_DELETE))
		return direct_delete(table, key, want_old);
	return spi_delete(table, key, want_old);
}

/* Insert or replace, whatever is there. */
void
store_put_many(DynTable *table, int n, const DynKeyValues *const *keys, const DynItem *const *items)
{
	if (direct_may_write(table, ACL_INSERT | ACL_UPDATE))
		direct_put_many(table, n, keys, items);
	else
		spi_put_many(table, n, keys, items);
}

/* The same as store_insert() for each, of which it says what came of it. */
void
store_insert_many(DynTable *table, int n, const DynKeyValues *const *keys,
				  const DynItem *const *items, bool *inserted)
{
	if (direct_may_write(table, ACL_INSERT | ACL_UPDATE))
		direct_insert_many(table, n, keys, items, inserted);
	else
	{
		for (int i = 0; i < n; i++)
			inserted[i] = spi_insert(table, keys[i], items[i]);
	}
}

/* Defines the settings of the stores.  Called once by _PG_init(). */
void
store_init(void)
{
	direct_init();
}
