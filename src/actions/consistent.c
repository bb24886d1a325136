/*
 * consistent.c
 *	  Consistent reads: what was acknowledged before them, they see.
 */
#include "postgres.h"

#include "access/xlog.h"

#include "actions/actions.h"
#include "ground/errors.h"

/*
 * Raise an error where a consistent read is not to be had.  Of a global index it could be, since
 * indexes are written with their items; but who moves on to DynamoDB shall not rely on it.
 */
void
action_check_consistent(const DynIndex *index)
{
	if (!dyn_index_is_table(index) && !index->local)
	{
		StringInfoData name;

		initStringInfo(&name);
		item_quote(&name, index->name);
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("consistent reads are not supported on global index \"%s\"", name.data)));
	}
	if (RecoveryInProgress())
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("consistent reads are not possible on a standby"),
						errhint("Read from the primary, or not consistently.")));
}
