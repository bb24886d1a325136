/*
 * trigger.c
 *	  Finding the triggers of a table of items, and restoring when they fire.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "catalog/definition/definition.h"
#include "catalog/definition/trigger.h"
#include "server/citus.h"
#include "server/extension.h"

const DynTriggerState dyn_triggers[DYN_TRIGGERS] = {
	[DYN_TRIGGER_DERIVE] = {DYN_DERIVE_TRIGGER, "derive_keys", "dyn_derive_keys", dyn_derive_keys,
							TRIGGER_FIRES_ALWAYS, "ENABLE ALWAYS"},
	[DYN_TRIGGER_ENFORCE] = {DYN_ENFORCE_TRIGGER, "model_check", "dyn_model_check", dyn_model_check,
							 TRIGGER_FIRES_ALWAYS, "ENABLE ALWAYS"}};

/* Returns a copy, since the look-up of the function may rebuild rel. */
const Trigger *
dyn_trigger_find(Relation rel, DynTriggerRole role)
{
	const DynTriggerState *made = &dyn_triggers[role];
	TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		FmgrInfo flinfo;

		if (strcmp(triggers->triggers[i].tgname, made->name) != 0)
			continue;
		fmgr_info(triggers->triggers[i].tgfoid, &flinfo);
		return flinfo.fn_addr == made->function ? &triggers->triggers[i] : NULL;
	}
	return NULL;
}

/*
 * Returns whether the definition of a relation without the derive trigger counts: Citus says that
 * it is a distributed table, or a shard of one.  Any role can give such a constraint to a table of
 * its own.  Logical decoding cannot read the catalogs of Citus, and believes it as it believes a
 * trigger.
 */
static bool
is_believed(Relation rel)
{
	return definition_exists(rel) &&
		   (HistoricSnapshotActive() || citus_kind(RelationGetRelid(rel)) == CITUS_DISTRIBUTED ||
			OidIsValid(citus_shard_of(rel)));
}

/*
 * Returns the arguments of the derive trigger, which are the table's keys, indexes and settings; of
 * a distributed table or its shard, those that its definition has in place of the trigger.  They
 * are C strings in the current memory context; NIL if the table has neither.
 */
List *
dyn_derive_arguments(Relation rel)
{
	const Trigger *trigger = dyn_trigger_find(rel, DYN_TRIGGER_DERIVE);
	List *arguments = NIL;

	if (trigger == NULL)
		return is_believed(rel) ? definition_read(rel) : NIL;
	for (int i = 0; i < trigger->tgnargs; i++)
		arguments = lappend(arguments, trigger->tgargs[i]);
	return arguments;
}

/*
 * Returns the statement that creates a trigger with these arguments, C strings, or replaces it.
 * The name of the table is quoted.
 */
char *
dyn_trigger_sql(DynTriggerRole role, const char *qualified, List *arguments)
{
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	appendStringInfo(&sql,
					 "CREATE OR REPLACE TRIGGER %s BEFORE INSERT OR UPDATE ON %s FOR EACH ROW "
					 "EXECUTE FUNCTION " DYN_INTERNAL ".%s(",
					 quote_identifier(dyn_triggers[role].name), qualified,
					 dyn_triggers[role].function_name);
	foreach (cell, arguments)
		appendStringInfo(&sql, "%s%s", foreach_current_index(cell) > 0 ? ", " : "",
						 quote_literal_cstr(lfirst(cell)));
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/*
 * Returns the ALTER TABLE that sets when the existing triggers fire back to how they were created;
 * NULL if nothing differs.  For a partitioned table it covers the partitions too, since a restore
 * changes each by itself.
 */
char *
dyn_trigger_command(Relation rel, const char *qualified)
{
	bool partitioned = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	StringInfoData sql;
	int n = 0;

	initStringInfo(&sql);
	appendStringInfo(&sql, "ALTER TABLE %s", qualified);
	for (int i = 0; i < DYN_TRIGGERS; i++)
	{
		const DynTriggerState *made = &dyn_triggers[i];
		const Trigger *trigger = dyn_trigger_find(rel, (DynTriggerRole) i);

		if (trigger != NULL && (trigger->tgenabled != made->enabled || partitioned))
			appendStringInfo(&sql, "%s %s TRIGGER %s", n++ > 0 ? "," : "", made->command,
							 quote_identifier(made->name));
	}
	return n > 0 ? sql.data : NULL;
}
