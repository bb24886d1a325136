/*
 * change.c
 *	  Writes that have to look at an item, or at its absence, before they know what to write.
 */
#include "postgres.h"

#include "actions/actions.h"

/*
 * Lock what is there, and replace it with what the change makes of it; or insert what the change
 * makes of nothing, if it makes anything.  The last call of change counts.
 */
void
action_change_locked(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg)
{
	DynItem *old = store_lock(table, key, STORE_LOCK_REPLACE);
	DynItem *new = change(old, arg);

	if (old == NULL)
	{
		if (new == NULL || store_insert(table, key, new))
			return;
		/* Somebody was faster, and we hold a lock on what he inserted. */
		old = store_lock(table, key, STORE_LOCK_REPLACE);
		new = change(old, arg);
	}
	/* Still none if a trigger or policy is in the way: the store says so. */
	if (new != old)
		store_replace(table, key, new);
}
