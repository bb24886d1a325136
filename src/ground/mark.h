/*
 * mark.h
 *	  Marks in the WAL by which a reader of changes tells the extension's own from its users'.
 *
 * A mark is a transactional logical message with the prefix "dynamo_table".  Its text is a kind,
 * "start" or "end", the table's OID, and a signature, like
 *
 *		expiry start 16403 5c0f6d0ee2a8e1b1c9f5f0d7a1b4c3d2
 *
 * What the same transaction does to that table from a start to its end is
 *
 *		expiry		the removal of expired items: a delete is one only of an item whose time
 *					had passed by the commit.  Triggers may do anything else in between.
 *		backfill	the update of items so that they get columns: the items stay as they are.
 *					Triggers may do anything else here too.
 *		placeholder	the delete of what has kept an item absent: there was no item.
 *		closing		the disabling of the table's stream, which has no records of later transactions.
 *
 * Anybody can write a message, so marks are signed: with a secret of the database's, for one
 * transaction.  A mark that is not, or not rightly, is none.  The secret is a row of a table that
 * nobody has rights on, and that logical decoding can read as it was.
 *
 * Only logical decoding reads marks, so there are none below wal_level = logical.
 */
#ifndef DYNAMO_TABLE_MARK_H
#define DYNAMO_TABLE_MARK_H

#define DYN_MARK_PREFIX "dynamo_table"
#define DYN_SECRET_TABLE "dyn_stream_secret"

typedef enum DynMarkKind
{
	DYN_MARK_EXPIRY,
	DYN_MARK_BACKFILL,
	DYN_MARK_PLACEHOLDER,
	DYN_MARK_CLOSING
} DynMarkKind;

typedef struct DynMark
{
	DynMarkKind kind;
	bool start;
	Oid relid;
} DynMark;

/* Between start and end: what the end has to know. */
typedef struct DynMarked
{
	DynMarkKind kind;
	Oid relid;
	bytea *secret; /* NULL: nobody reads marks */
} DynMarked;

extern void dyn_mark_start(DynMarked *marked, DynMarkKind kind, Oid relid);
extern void dyn_mark_end(DynMarked *marked);
extern bytea *dyn_mark_secret(void);
extern bool dyn_mark_read(const char *message, Size size, TransactionId xid, const bytea *secret,
						  DynMark *mark);

#endif
