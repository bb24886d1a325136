/*
 * owned.h
 *	  The rights of other roles, and tables of the extension's own, on which only their owner has rights.
 */
#ifndef DYNAMO_TABLE_SERVER_WORK_OWNED_H
#define DYNAMO_TABLE_SERVER_WORK_OWNED_H

#include "server/extension.h"
#include "server/sql.h"

/*
 * These let the session act with the rights of a role and no others, so that code of that role does
 * no harm, and with the search_path pg_catalog, pg_temp.  flags: SECURITY_NOFORCE_RLS, or 0.  An
 * error gives the rights back by ending the transaction or subtransaction.
 */
typedef struct RightsBefore
{
	Oid user;
	int context;
	int nest;
} RightsBefore;

extern void rights_take(Oid role, int flags, RightsBefore *before);
extern void rights_give_back(const RightsBefore *before);

/* Returns the owner of a relation; InvalidOid: it is gone. */
extern Oid rights_owner(Oid relid);

extern Oid owned_table(const char *name);
extern void owned_refuse_triggers(Oid relid);
extern void owned_begin(const char *name, RightsBefore *before);
extern uint64 owned_execute(const char *name, const char *sql, int nargs,
							const SqlValue *arguments);
extern Datum owned_value(int column);

#endif
