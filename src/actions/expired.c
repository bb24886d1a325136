/*
 * expired.c
 *	  Items that have expired, in tables that hide them until they are removed.
 *
 * Only reads are so: for a write and its condition an item is there until it is removed, as in
 * DynamoDB.  What a table hides it hides at the statement's time, so that one call has one answer.
 */
#include "postgres.h"

#include "access/xact.h"

#include "actions/actions.h"
#include "ttl/ttl.h"

/* The times between which an attribute must be for its item to have expired. */
typedef struct Limits
{
	TimestampTz at;
	ItemSpan oldest;
	ItemSpan now;
	char oldest_bytes[ITEM_NUMBER_SIZE];
	char now_bytes[ITEM_NUMBER_SIZE];
} Limits;

/*
 * Returns whether reads leave out expired items of the table.  They no longer do while time to live
 * is being disabled.
 */
bool
action_hides(const DynTable *table)
{
	return table->settings.hide_expired && table->settings.ttl_status != DYN_INDEX_DELETING;
}

static const Limits *
limits_at(TimestampTz at)
{
	static Limits limits;

	if (limits.at != at)
	{
		limits.oldest.data = limits.oldest_bytes;
		limits.oldest.len = (uint32) item_number_from_numeric(DatumGetNumeric(ttl_oldest(0, at)),
															  limits.oldest_bytes);
		limits.now.data = limits.now_bytes;
		limits.now.len =
			(uint32) item_number_from_numeric(DatumGetNumeric(ttl_number(at)), limits.now_bytes);
		limits.at = at;
	}
	return &limits;
}

/*
 * Whether an item of a table that hides what has expired is to be hidden: its time is a number that
 * has passed, and not by five years (docs/semantics.md, TT02, TT03, TT04).
 */
bool
action_expired(const DynTable *table, const DynItem *item)
{
	ItemChildren attributes = item_children(item_root(item));
	const Limits *limits;
	ItemSpan value;

	if (!item_find(&attributes, table->settings.ttl, &value) || item_type(value) != ITEM_N)
		return false;
	limits = limits_at(GetCurrentStatementStartTimestamp());
	value = item_payload(value);
	return item_number_compare(value, limits->now) < 0 &&
		   item_number_compare(value, limits->oldest) >= 0;
}

/* The item if readers are to see it; otherwise NULL. */
DynItem *
action_visible(const DynTable *table, DynItem *item)
{
	return item != NULL && action_hides(table) && action_expired(table, item) ? NULL : item;
}
