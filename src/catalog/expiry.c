/*
 * expiry.c
 *	  When items expire.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/expiry.h"

/*
 * These are five years of 365.25 days, in seconds.  An older time is regarded as an error
 * (docs/semantics.md, TT04).
 */
#define OLDEST INT64CONST(157788000)

/* This is in the year 5138.  Later ones are most likely milliseconds, which are more since 1973. */
#define FARTHEST INT64CONST(100000000000)

#define UNIX_EPOCH ((int64) (UNIX_EPOCH_JDATE - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY)

/* Returns a time in Unix seconds, as the column stores it. */
Datum
expiry_number(TimestampTz time)
{
	return NumericGetDatum(int64_div_fast_to_numeric(time - UNIX_EPOCH, 6));
}

/* Returns the time of a second, as the reverse of expiry_number(). */
TimestampTz
expiry_time(int64 second)
{
	return second * USECS_PER_SEC + UNIX_EPOCH;
}

/*
 * Returns the earliest time of an item that can have expired: second 1, or five years ago
 * (docs/semantics.md, TT04).
 */
Datum
expiry_oldest(int64 from, TimestampTz now)
{
	int64 oldest = (now - UNIX_EPOCH) / USECS_PER_SEC - OLDEST;

	if (from > oldest)
		return NumericGetDatum(int64_to_numeric(from));
	return expiry_number(now - OLDEST * USECS_PER_SEC);
}

/* Returns the second of a time in the column, rounded down. */
int64
expiry_second(Datum number)
{
	return DatumGetInt64(
		DirectFunctionCall1(numeric_int8, DirectFunctionCall1(numeric_floor, number)));
}

/* This is the range of the attribute's values for which the item has expired. */
typedef struct Limits
{
	TimestampTz at;
	ItemSpan oldest;
	ItemSpan now;
	char oldest_bytes[ITEM_NUMBER_SIZE];
	char now_bytes[ITEM_NUMBER_SIZE];
} Limits;

/*
 * Returns whether reads leave out expired items of the table.  False while time to live is being
 * disabled.
 */
bool
expiry_hides(const DynTable *table)
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
		limits.oldest.len = (uint32) item_number_from_numeric(DatumGetNumeric(expiry_oldest(0, at)),
															  limits.oldest_bytes);
		limits.now.data = limits.now_bytes;
		limits.now.len =
			(uint32) item_number_from_numeric(DatumGetNumeric(expiry_number(at)), limits.now_bytes);
		limits.at = at;
	}
	return &limits;
}

/*
 * Returns whether an item of a table that hides what has expired is to be hidden: its time is a
 * number that lies in the past, but not more than five years (docs/semantics.md, TT02, TT03, TT04).
 */
bool
expiry_has_passed(const DynTable *table, const DynItem *item)
{
	const Limits *limits;
	ItemSpan value;

	if (!item_lookup(item_root(item), table->settings.ttl, &value) || item_type(value) != ITEM_N)
		return false;
	limits = limits_at(GetCurrentStatementStartTimestamp());
	value = item_payload(value);
	return item_number_compare(value, limits->now) < 0 &&
		   item_number_compare(value, limits->oldest) >= 0;
}

/* Returns the item if readers see it, otherwise NULL. */
DynItem *
expiry_visible(const DynTable *table, DynItem *item)
{
	return item != NULL && expiry_hides(table) && expiry_has_passed(table, item) ? NULL : item;
}

/*
 * Times that will not come: nothing refuses them, as in DynamoDB, and nothing happens at them.
 */

/* Returns the earliest of them, as the column has it. */
Datum
expiry_farthest(void)
{
	return NumericGetDatum(int64_to_numeric(FARTHEST));
}

/* Returns whether a time will not come.  NULL says that the item does not expire, and is none. */
bool
expiry_is_never(ItemSpan value)
{
	static char bytes[ITEM_NUMBER_SIZE];
	static ItemSpan farthest = {bytes, 0};

	if (farthest.len == 0)
		farthest.len = (uint32) item_number_from_int64(FARTHEST, 0, bytes);
	if (item_type(value) != ITEM_N)
		return item_type(value) != ITEM_NULL;
	return item_number_compare(item_payload(value), farthest) >= 0;
}

/* Tells a session of a table's first item that will not expire, or it would not see it at all. */
void
expiry_notice(Relation rel, const DynTable *table, ItemSpan value)
{
	static List *told = NIL;
	MemoryContext old;

	if (!expiry_is_never(value) || list_member_oid(told, RelationGetRelid(rel)))
		return;
	old = MemoryContextSwitchTo(TopMemoryContext);
	told = lappend_oid(told, RelationGetRelid(rel));
	MemoryContextSwitchTo(old);
	ereport(
		NOTICE,
		(errmsg("an item of table \"%s\" will not expire", table->name),
		 item_type(value) == ITEM_N
			 ? errdetail("Attribute \"%s\" is later than the year 5138.",
						 item_quoted(table->settings.ttl))
			 : errdetail("Attribute \"%s\" is of type %s.", item_quoted(table->settings.ttl),
						 item_type_code(item_type(value))),
		 errhint("Times are numbers (N) of seconds since 1970, not milliseconds and not text.")));
}
