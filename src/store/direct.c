/*
 * direct.c
 *	  Which calls the direct store may serve.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "store/direct.h"

/* dynamo_table.direct_store */
static bool enabled = true;

static bool
may(const DynTable *table, AclMode privileges)
{
	return enabled && ExecutorCheckPerms_hook == NULL &&
		   pg_class_aclmask(table->relid, GetUserId(), privileges, ACLMASK_ALL) == privileges;
}

/*
 * Returns whether the direct store may read a table: dynamo_table.direct_store is on, the current
 * user has SELECT on the whole table, reads of it are plain (see plain.c), and no module has a hook
 * that checks permissions.
 */
bool
direct_may_read(const DynTable *table)
{
	return table->plain && may(table, ACL_SELECT);
}

/*
 * Whatever is written is looked for first.  A statement's own snapshot sees nothing older than the
 * primary key; that of a transaction may.
 */
bool
direct_may_write(const DynTable *table, AclMode privileges)
{
	return table->bare && may(table, privileges | ACL_SELECT) &&
		   (!IsolationUsesXactSnapshot() || direct_reads(table, &table->primary));
}

/* Defines the setting dynamo_table.direct_store.  Called once by store_init(). */
void
direct_init(void)
{
	DefineCustomBoolVariable(
		"dynamo_table.direct_store",
		"Reads and writes tables of items without the executor, where nothing speaks against it.",
		"Off: all reads and writes are SQL statements.", &enabled, true, PGC_USERSET, 0, NULL, NULL,
		NULL);
}
