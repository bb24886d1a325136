/*
 * expiry.h
 *	  When items expire: their times as numbers, and items that have expired in tables that hide
 *	  them until they are removed.
 *
 * An item's time is the number in the attribute that the table's settings name, in seconds since
 * 1970.  Only reads leave out expired items: for a write and its condition an item exists until it
 * is removed, as in DynamoDB.  Expiry is decided by the time of the statement, so that all reads of
 * one call agree.
 */
#ifndef DYNAMO_TABLE_CATALOG_EXPIRY_H
#define DYNAMO_TABLE_CATALOG_EXPIRY_H

#include "datatype/timestamp.h"

#include "catalog/table.h"

/* These are times as the column "~ttl" has them. */
extern Datum expiry_number(TimestampTz time);
extern int64 expiry_second(Datum number);
extern TimestampTz expiry_time(int64 second);
extern Datum expiry_oldest(int64 from, TimestampTz now);

extern bool expiry_hides(const DynTable *table);
extern bool expiry_has_passed(const DynTable *table, const DynItem *item);
extern DynItem *expiry_visible(const DynTable *table, DynItem *item);

/* These are times that will not come. */
extern Datum expiry_farthest(void);
extern bool expiry_is_never(ItemSpan value);
extern void expiry_notice(Relation rel, const DynTable *table, ItemSpan value);

#endif
