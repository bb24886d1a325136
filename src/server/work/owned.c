/*
 * owned.c
 *	  Taking the rights of another role, and using the extension's own tables with those of their owner.
 *
 * Statements run as that role, as a security-restricted operation, with a search_path of their own.
 * An error gives up these rights by ending the transaction or subtransaction.
 *
 * The owner of the tables, on which nobody else has rights, is most often a superuser, so no code of
 * other roles may run with the owner's rights.  Only the owner can create a policy, a rule or an index;
 * but a role that was granted all privileges on all tables of a schema can create a trigger, which
 * owned_refuse_triggers() looks for.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace_d.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "server/sent_settings.h"
#include "server/sql.h"
#include "server/work/owned.h"

/*
 * Returns the OID of a table of the extension in DYN_INTERNAL.  Raises ERRCODE_UNDEFINED_TABLE if it
 * does not exist.  Takes no lock.
 */
Oid
owned_table(const char *name)
{
	Oid relid = get_relname_relid(name, get_namespace_oid(DYN_INTERNAL, false));

	if (!OidIsValid(relid))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("table \"%s.%s\" of the extension is missing", DYN_INTERNAL, name)));
	return relid;
}

/* The extension's own triggers have these; no other role may create triggers with them. */
static const char *const own_functions[] = {"access_key_role", "access_key_changed"};

static bool
is_own_trigger(const Trigger *trigger)
{
	const char *name = get_func_name(trigger->tgfoid);

	if (name == NULL)
		return false;
	/* that of Citus on a table that it distributes; nobody else can create functions there */
	if (get_func_namespace(trigger->tgfoid) == PG_CATALOG_NAMESPACE)
		return strcmp(name, "citus_truncate_trigger") == 0;
	if (get_func_namespace(trigger->tgfoid) != get_namespace_oid(DYN_INTERNAL, true))
		return false;
	for (int i = 0; i < lengthof(own_functions); i++)
	{
		if (strcmp(name, own_functions[i]) == 0)
			return true;
	}
	return false;
}

/*
 * Raises an error if a table has a trigger that is not the extension's own.  The lock, which is held
 * until the transaction ends, keeps sessions from creating one.
 */
void
owned_refuse_triggers(Oid relid)
{
	Relation rel = table_open(relid, RowExclusiveLock);
	/* a copy, since the look-up of functions may rebuild rel */
	TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (is_own_trigger(&triggers->triggers[i]))
			continue;
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("table \"%s.%s\" of the extension has trigger \"%s\"", DYN_INTERNAL,
							   RelationGetRelationName(rel), triggers->triggers[i].tgname),
						errdetail("It would run with the rights of the table's owner."),
						errhint("Drop it, and revoke what others have on the table.")));
	}
	FreeTriggerDesc(triggers);
	table_close(rel, NoLock);
}

/* Returns the owner of a relation, or InvalidOid if the relation is gone.  Takes no lock. */
Oid
rights_owner(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/*
 * Gives the session the rights of a role instead of its own, until rights_give_back().  Code that
 * runs meanwhile cannot change that, as in maintenance commands.  Nor can settings that Citus sends.
 */
void
rights_take(Oid role, int flags, RightsBefore *before)
{
	if (role != GetUserId())
		sent_settings_forbid();
	before->nest = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("plan_cache_mode", "auto", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	GetUserIdAndSecContext(&before->user, &before->context);
	SetUserIdAndSecContext(role, before->context | SECURITY_LOCAL_USERID_CHANGE |
									 SECURITY_RESTRICTED_OPERATION | flags);
}

/*
 * Restores the user, the security context and the settings that rights_take() has saved.  What the
 * role's code has set meanwhile is not kept.
 */
void
rights_give_back(const RightsBefore *before)
{
	if (!OidIsValid(before->user))
		return;
	SetUserIdAndSecContext(before->user, before->context);
	AtEOXact_GUC(false, before->nest);
}

/* Takes the rights of the owner of a table in DYN_INTERNAL, to change that table and no other. */
void
owned_begin(const char *name, RightsBefore *before)
{
	Oid relid = owned_table(name);

	owned_refuse_triggers(relid);
	rights_take(rights_owner(relid), 0, before);
}

/*
 * Executes one statement as the owner of a table, the only one that the statement changes.  The
 * caller is connected to SPI, which has the result.  Returns the number of rows.
 */
uint64
owned_execute(const char *name, const char *sql, int nargs, const SqlValue *arguments)
{
	RightsBefore before;

	owned_begin(name, &before);
	/* in a background worker no portal has a snapshot */
	PushActiveSnapshot(GetTransactionSnapshot());
	sql_execute(sql_on(InvalidOid, sql), false, 0, nargs, arguments);
	PopActiveSnapshot();
	rights_give_back(&before);
	return SPI_processed;
}

/*
 * Returns a column, counted from 1, of the first row that owned_execute() has found; 0 for NULL of a
 * type that is passed by value.
 */
Datum
owned_value(int column)
{
	return sql_value_or_zero(SPI_tuptable, 0, column);
}
