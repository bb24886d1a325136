/*
 * mark.h
 *	  Marks in the WAL, which distinguish the extension's changes from those of users.
 *
 * A mark is a transactional logical message with the prefix "dynamo_table".  Its text is a kind,
 * "start" or "end", the table's OID, and a signature, like
 *
 *		expiry start 16403 5c0f6d0ee2a8e1b1c9f5f0d7a1b4c3d2
 *
 * What the same transaction does to that table between start and end is, by kind,
 *
 *		expiry		the removal of expired items: only a delete of an item whose time had passed
 *					by the commit counts.  Triggers may make any other change in between.
 *		backfill	the update of rows so that they get columns: the items do not change.
 *					Triggers may make any other change here too.
 *		placeholder	the delete of a placeholder row of an absent item: there was no item.
 *		closing		the closing of the shards of the table's stream, which have no records of later
 *					changes: the stream is disabled, or they get children.
 *		unlogged	the end of a time in which the table was unlogged: changes before it are not in
 *					the WAL.
 *
 * Any user can write such a message, so each mark is signed for its transaction with a secret of
 * the database.  A message without a valid signature is ignored.  The secret is a row of a table on
 * which no role has privileges, and which logical decoding can read as of the past.
 *
 * Only logical decoding reads marks, so none are written below wal_level = logical.
 */
#ifndef DYNAMO_TABLE_SERVER_MARK_H
#define DYNAMO_TABLE_SERVER_MARK_H

#define DYN_MARK_PREFIX "dynamo_table"
#define DYN_SECRET_TABLE "stream_secret"

typedef enum DynMarkKind
{
	DYN_MARK_EXPIRY,
	DYN_MARK_BACKFILL,
	DYN_MARK_PLACEHOLDER,
	DYN_MARK_CLOSING,
	DYN_MARK_UNLOGGED
} DynMarkKind;

typedef struct DynMark
{
	DynMarkKind kind;
	bool start;
	Oid relid;
} DynMark;

/* A DynMarked is state from dyn_mark_start() for dyn_mark_end(). */
typedef struct DynMarked
{
	DynMarkKind kind;
	Oid relid;
	bytea *secret; /* NULL: no slot reads marks */
} DynMarked;

extern void dyn_mark_start(DynMarked *marked, DynMarkKind kind, Oid relid);
extern void dyn_mark_end(DynMarked *marked);
extern bytea *dyn_mark_secret(void);
extern bool dyn_mark_read(const char *message, Size size, TransactionId xid, const bytea *secret,
						  DynMark *mark);

#endif
