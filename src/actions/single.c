/*
 * single.c
 *	  GetItem, PutItem and DeleteItem.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "store/store.h"

/* The item, or NULL if there is none. */
DynItem *
action_get(text *name, const DynItem *key)
{
	DynTable *table;
	Relation rel = dyn_table_open(name, AccessShareLock, &table);
	DynKeyValues values;
	DynItem *item;

	dyn_key_exact(table, key, &values);
	store_begin();
	item = store_get(table, &values);
	store_end();
	relation_close(rel, NoLock);
	return item;
}

/*
 * Replace the item and give back the old one.  An absent item cannot be locked: who finds none
 * inserts, and begins again if somebody else was faster.
 */
static DynItem *
replace_item(DynTable *table, const DynKeyValues *key, const DynItem *item)
{
	for (;;)
	{
		DynItem *old = store_lock(table, key);

		if (old != NULL)
		{
			store_replace(table, key, item);
			return old;
		}
		if (store_insert(table, key, item))
			return NULL;
		CHECK_FOR_INTERRUPTS();
	}
}

/* The old item, if it is wanted and there was one. */
DynItem *
action_put(text *name, const DynItem *item, ReturnValues return_values)
{
	DynTable *table;
	Relation rel = dyn_table_open(name, RowExclusiveLock, &table);
	DynKeyValues key;
	DynItem *old = NULL;

	dyn_key_of_item(table, item, &key);
	store_begin();
	if (return_values == RETURN_ALL_OLD)
		old = replace_item(table, &key, item);
	else
		store_put(table, &key, item);
	store_end();
	relation_close(rel, NoLock);
	return old;
}

DynItem *
action_delete(text *name, const DynItem *given, ReturnValues return_values)
{
	DynTable *table;
	Relation rel = dyn_table_open(name, RowExclusiveLock, &table);
	DynKeyValues key;
	DynItem *old;

	dyn_key_exact(table, given, &key);
	store_begin();
	old = store_delete(table, &key, return_values == RETURN_ALL_OLD);
	store_end();
	relation_close(rel, NoLock);
	return old;
}
