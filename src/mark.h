/*
 * mark.h
 *	  Marks in the WAL by which a reader of changes tells the extension's own from its users'.
 *
 * A mark is a transactional logical message with the prefix "dynamo_table".  Its text is a kind,
 * "start" or "end", and the table's OID, like
 *
 *		expiry start 16403
 *
 * What the same transaction does to that table from a start to its end is
 *
 *		expiry		the removal of expired items: a delete is one only of an item whose time
 *					had passed by the commit.  Triggers may do anything else in between.
 *		backfill	the update of items so that they get columns: the items stay as they are.
 *
 * Anybody can write such a message, so none is more than a hint about changes that look like it.
 * Only logical decoding reads them, so there are none below wal_level = logical.
 */
#ifndef DYNAMO_TABLE_MARK_H
#define DYNAMO_TABLE_MARK_H

#define DYN_MARK_PREFIX "dynamo_table"
#define DYN_MARK_EXPIRY "expiry"
#define DYN_MARK_BACKFILL "backfill"

extern void dyn_mark_start(const char *kind, Oid relid);
extern void dyn_mark_end(const char *kind, Oid relid);

#endif
