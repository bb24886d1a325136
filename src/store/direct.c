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

/* This is the setting dynamo_table.direct_store. */
static bool enabled = true;

/* Returns which of the privileges the current user lacks, or has for columns only. */
static const char *
refuse_role(const DynTable *table, AclMode privileges)
{
	AclMode missing =
		privileges & ~pg_class_aclmask(table->relid, GetUserId(), privileges, ACLMASK_ALL);

	if (missing & ACL_SELECT)
		return "the role lacks SELECT on the whole table";
	if (missing & ACL_INSERT)
		return "the role lacks INSERT on the whole table";
	if (missing & ACL_UPDATE)
		return "the role lacks UPDATE on the whole table";
	return missing & ACL_DELETE ? "the role lacks DELETE on the table" : NULL;
}

/* Returns what speaks against a call whatever the table is: its setting, its role, and modules. */
const char *
direct_call_refusal(const DynTable *table, AclMode privileges)
{
	if (!enabled)
		return "\"dynamo_table.direct_store\" is off";
	if (table->row_security && !store_is_cleared(table))
		return "row-level security is enabled";
	if (ExecutorCheckPerms_hook != NULL)
		return "a module checks permissions";
	return refuse_role(table, privileges);
}

/*
 * Returns why the direct store does not read a table for this call, as a phrase, or NULL if it
 * does: dynamo_table.direct_store is on, the current user has SELECT on the whole table, its rows
 * can be read without the executor (see plain.c), and no module has a hook that checks permissions.
 * An index may still be one that the snapshot cannot use.
 */
const char *
direct_read_refusal(const DynTable *table)
{
	return table->read_refusal != NULL ? table->read_refusal
									   : direct_call_refusal(table, ACL_SELECT);
}

/*
 * Returns why the direct store does not write a table for this call, as a phrase, or NULL if it
 * does.
 *
 * Whatever is written is looked for first, by the primary key.  A snapshot of the statement is
 * never older than that index; one of the transaction may be.  Triggers and expressions may change
 * the table while a call goes on, which then is finished by statements that look at it anew.
 */
const char *
direct_write_refusal(const DynTable *table, AclMode privileges)
{
	const char *reason = table->write_refusal;

	if (reason == NULL)
		reason = direct_call_refusal(table, privileges | ACL_SELECT);
	if (reason == NULL && !table->valid)
		reason = "it has been changed during the call";
	if (reason == NULL && IsolationUsesXactSnapshot() &&
		direct_index_refusal(table, &table->primary) != NULL)
		reason = "the transaction's snapshot is older than its primary key";
	return reason;
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
