/*
 * table.c
 *	  The table of a request.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "catalog/lookup.h"

/*
 * Sets *call to the front end's, which may be NULL, with the table of the request: the one that the
 * front end has open, or else that of the name, which is locked with this.  In either case it is to
 * be closed with relation_close().
 */
void
action_open(const FrontCall *front, text *name, LOCKMODE lockmode, FrontCall *call)
{
	*call = front != NULL ? *front : (FrontCall){0};
	call->rel = call->rel == NULL ? dyn_table_open(name, lockmode, &call->table)
								  : relation_open(RelationGetRelid(call->rel), NoLock);
}
