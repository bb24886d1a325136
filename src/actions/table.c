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
 * Returns the table of a request: the one that the caller has open, or else that of the name, which
 * is locked with this.  In either case it is to be closed with relation_close().
 */
Relation
action_open(const OpenTable *open, text *name, LOCKMODE lockmode, DynTable **table)
{
	if (open == NULL)
		return dyn_table_open(name, lockmode, table);
	*table = open->table;
	return relation_open(RelationGetRelid(open->rel), NoLock);
}
