/*
 * permissions.c
 *	  Another extension's library that has a say in permissions, as modules have that audit or label:
 *	  it tells what it is asked for.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static ExecutorCheckPerms_hook_type next = NULL;

static void
tell(Oid relid, AclMode required)
{
	if (required != 0)
		ereport(NOTICE, (errmsg("permission on %s:%s%s%s%s", get_rel_name(relid),
								required & ACL_SELECT ? " SELECT" : "",
								required & ACL_INSERT ? " INSERT" : "",
								required & ACL_UPDATE ? " UPDATE" : "",
								required & ACL_DELETE ? " DELETE" : "")));
}

#if PG_VERSION_NUM >= 160000
static bool
check(List *range_table, List *permissions, bool ereport_on_violation)
{
	ListCell *cell;

	foreach (cell, permissions)
		tell(lfirst_node(RTEPermissionInfo, cell)->relid,
			 lfirst_node(RTEPermissionInfo, cell)->requiredPerms);
	return next == NULL || next(range_table, permissions, ereport_on_violation);
}
#else
static bool
check(List *range_table, bool ereport_on_violation)
{
	ListCell *cell;

	foreach (cell, range_table)
		tell(lfirst_node(RangeTblEntry, cell)->relid,
			 lfirst_node(RangeTblEntry, cell)->requiredPerms);
	return next == NULL || next(range_table, ereport_on_violation);
}
#endif

void
_PG_init(void)
{
	next = ExecutorCheckPerms_hook;
	ExecutorCheckPerms_hook = check;
}
