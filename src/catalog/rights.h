/*
 * rights.h
 *	  Which roles may know of a relation, and lock it.
 *
 * A role without a privilege on a relation gets no lock on it and no information about it: a lock
 * that is waited for, or held until the transaction ends, blocks other sessions.  So wherever a
 * caller names a relation, by name or OID, privileges are checked first.
 */
#ifndef DYNAMO_TABLE_CATALOG_RIGHTS_H
#define DYNAMO_TABLE_CATALOG_RIGHTS_H

#include "nodes/primnodes.h"
#include "storage/lock.h"
#include "utils/relcache.h"

#include "server/work/owned.h"

/* Returns whether the caller has a privilege on the relation, or may see all tables' states. */
extern bool rights_to_see(Oid relid);

/* Returns whether the caller may see the state of all tables, as members of pg_monitor may. */
extern bool rights_of_monitor(void);

/* Returns whether lists show it: the caller may read it, or see the state of all tables. */
extern bool rights_to_list(Oid relid);

/* Returns whether a role may read all columns of a relation; false if it is gone. */
extern bool rights_to_read(Oid relid, Oid role);

/* Says what a relation is locked for. */
typedef struct RightsWanted
{
	LOCKMODE mode; /* RowExclusiveLock and stronger need a privilege to write */
	bool state; /* members of pg_monitor may, too */
	Oid owner; /* a role whose privileges count too; InvalidOid: only the caller's */
	bool at_once; /* a relation that is locked otherwise is not found */
} RightsWanted;

/* Takes a RightsWanted as its argument, as a RangeVarGetRelidCallback. */
extern void rights_check_name(const RangeVar *name, Oid relid, Oid before, void *wanted);

/* Returns whether a role has the rights of that owner; false also if it is gone. */
extern bool rights_owns(Oid relid, Oid role);

/* Opens a relation that the caller has named by its OID; NULL if there is none. */
extern Relation rights_open(Oid relid, LOCKMODE mode);

/*
 * Gives the session the rights of a relation's owner, to read or change its rows, in a transaction
 * of ours.  Deferred triggers fire with the statement: at the commit they would have the caller's
 * rights.
 */
extern void rights_take_owner(Relation rel, int flags, RightsBefore *before);

/* Does so if the caller has the owner's rights and is not the owner. */
extern void rights_take_for_rows(Relation rel, bool write, RightsBefore *before);

extern bool rights_have_temporary(void);

/* Raises an error if the owner's code would find temporary tables of a caller who has not the owner's rights. */
extern void rights_check_temporary(Relation rel);

/* Raises an error unless the caller has the rights of the relation's owner. */
extern void rights_require_owner(Relation rel);

/*
 * Raises an error unless the caller owns the table, and it is neither partitioned nor a partition.
 * what is the part to be changed, for the message.
 */
extern void rights_require_plain_table(Relation rel, const char *what);

#endif
