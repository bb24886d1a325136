/*
 * trigger.c
 *	  The table's triggers: whether they exist, are ours, fire when they should, and can be read.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/check/check.h"
#include "catalog/definition/definition.h"
#include "catalog/definition/trigger.h"
#include "catalog/definition/vector_spec.h"
#include "catalog/key.h"
#include "catalog/shard_guard.h"
#include "server/extension.h"

#define OUR_FORM \
	(TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE)

static char *
object_name(const char *trigger)
{
	return psprintf("trigger \"%s\"", trigger);
}

static const DynTriggerState *
made_of(const char *name)
{
	for (int i = 0; i < DYN_TRIGGERS; i++)
	{
		if (strcmp(dyn_triggers[i].name, name) == 0)
			return &dyn_triggers[i];
	}
	return NULL;
}

/* Returns the statements that create one of the extension's triggers. */
static char *
make_sql(const TableCheck *check, const DynTriggerState *made, List *arguments)
{
	return psprintf(
		"%s; ALTER TABLE %s %s TRIGGER %s;",
		dyn_trigger_sql((DynTriggerRole) (made - dyn_triggers), check->qualified, arguments),
		check->qualified, made->command, quote_identifier(made->name));
}

/*
 * The derive trigger
 */

/* Returns the arguments for the table's keys, as far as they can be told from the primary key. */
static List *
guess_keys(const TableCheck *check)
{
	Oid relid = RelationGetRelid(check->rel);
	List *keys = NIL;
	Relation index;

	if (!OidIsValid(check->primary))
		return NIL;
	index = index_open(check->primary, AccessShareLock);
	for (int i = 0; i < check->nkeys; i++)
	{
		AttrNumber attnum = index->rd_index->indkey.values[i];
		Oid type = get_atttype(relid, attnum);

		keys = lappend(keys, psprintf("%s %s", get_attname(relid, attnum, false),
									  type == NUMERICOID ? "N"
									  : type == BYTEAOID ? "B"
														 : "S"));
	}
	index_close(index, AccessShareLock);
	return keys;
}

static char *
advise_replacing(const TableCheck *check)
{
	if (check->distributed)
		return psprintf(
			"Restore it, the keys, indexes and settings of the table, from a dump. With "
			"the keys alone it is: ALTER TABLE %s %s;",
			check->qualified, definition_sql(guess_keys(check)));
	return psprintf("Restore its arguments, the keys, indexes and settings of the table, from a "
					"dump. With the keys alone it is: %s",
					make_sql(check, made_of(DYN_DERIVE_TRIGGER), guess_keys(check)));
}

/* An Argument is one of the derive trigger's, to be parsed for its errors. */
typedef struct Argument
{
	const char *text;
	bool is_key;
} Argument;

static void
parse_argument(void *arg)
{
	const Argument *argument = arg;
	DynSettings settings;
	ItemSpan attribute;
	ItemType type;

	if (argument->is_key)
		dyn_parse_key_spec(item_span(argument->text), &attribute, &type);
	else if (dyn_settings_is_argument(argument->text))
		dyn_settings_parse(argument->text, &settings);
	else if (dyn_vector_spec_is_argument(argument->text))
		(void) dyn_vector_spec_parse_argument(argument->text);
	else
		(void) dyn_index_spec_parse_argument(argument->text);
}

static void
check_arguments(TableCheck *check, const char *object, List *arguments)
{
	ListCell *cell;

	if (arguments == NIL)
		check_report(check, object, "it has no arguments", advise_replacing(check));
	foreach (cell, arguments)
	{
		Argument argument = {lfirst(cell), foreach_current_index(cell) < check->nkeys};
		const char *problem = check_try(parse_argument, &argument);

		if (problem != NULL)
			check_report(check, object,
						 psprintf("argument %d cannot be read: %s", foreach_current_index(cell) + 1,
								  problem),
						 advise_replacing(check));
	}
}

/*
 * Reports triggers that fire after the derive trigger: they may change the item but not its
 * columns.
 */
static void
check_last(TableCheck *check, const TriggerDesc *triggers)
{
	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (trigger->tgenabled == TRIGGER_DISABLED || made_of(trigger->tgname) != NULL ||
			strcmp(trigger->tgname, DYN_DERIVE_TRIGGER) < 0 || !TRIGGER_FOR_ROW(trigger->tgtype) ||
			!TRIGGER_FOR_BEFORE(trigger->tgtype) ||
			!(TRIGGER_FOR_INSERT(trigger->tgtype) || TRIGGER_FOR_UPDATE(trigger->tgtype)))
			continue;
		check_report(check, object_name(trigger->tgname),
					 "it fires after trigger \"" DYN_DERIVE_TRIGGER
					 "\", and what it changes in an item has no effect on the columns",
					 psprintf("Give it a name that sorts before: ALTER TRIGGER %s ON %s RENAME TO "
							  "…;",
							  quote_identifier(trigger->tgname), check->qualified));
	}
}

/*
 * All of ours
 */

static const char *
describe_state(char enabled)
{
	switch (enabled)
	{
		case TRIGGER_DISABLED:
			return "it is disabled";
		case TRIGGER_FIRES_ON_REPLICA:
			return "it fires for the replica role only";
		case TRIGGER_FIRES_ON_ORIGIN:
			return "it does not fire for the replica role";
		default:
			return "it fires for the replica role";
	}
}

static List *
arguments_of(const Trigger *trigger)
{
	List *arguments = NIL;

	for (int i = 0; i < trigger->tgnargs; i++)
		arguments = lappend(arguments, trigger->tgargs[i]);
	return arguments;
}

static void
check_one(TableCheck *check, const Trigger *trigger)
{
	const DynTriggerState *made = made_of(trigger->tgname);
	const char *object = object_name(trigger->tgname);
	bool derives = strcmp(trigger->tgname, DYN_DERIVE_TRIGGER) == 0;

	if (dyn_trigger_find(check->rel, (DynTriggerRole) (made - dyn_triggers)) == NULL)
	{
		check_report(check, object,
					 psprintf("its function is not " DYN_INTERNAL ".%s()", made->function_name),
					 derives ? advise_replacing(check)
							 : psprintf("DROP TRIGGER %s ON %s; Then declare again what it held.",
										quote_identifier(made->name), check->qualified));
		return;
	}
	if (trigger->tgtype != OUR_FORM || trigger->tgqual != NULL || trigger->tgnattr > 0)
		check_report(check, object,
					 "it does not fire for each INSERT and UPDATE of a row, before it",
					 make_sql(check, made, arguments_of(trigger)));
	if (trigger->tgenabled != made->enabled)
		check_report(check, object,
					 made->enabled == TRIGGER_DISABLED
						 ? "it is enabled, though it has nothing to do"
						 : describe_state(trigger->tgenabled),
					 psprintf("ALTER TABLE %s %s TRIGGER %s;", check->qualified, made->command,
							  quote_identifier(made->name)));
	if (derives)
		check_arguments(check, object, arguments_of(trigger));
}

typedef struct Definition
{
	Relation rel;
	List *arguments;
} Definition;

static void
read_definition(void *arg)
{
	Definition *definition = arg;

	definition->arguments = definition_read(definition->rel);
}

static void
check_guard(TableCheck *check)
{
	TupleDesc desc = CreateTupleDescCopyConstr(RelationGetDescr(check->rel));
	bool found = check->table == NULL;

	for (int i = 0; desc->constr != NULL && i < desc->constr->num_check; i++)
		found = found || shard_guard_is(check->table, desc->constr->check[i].ccbin);
	if (!found)
		check_report(check, "constraint \"" SHARD_CONSTRAINT "\"",
					 "it is missing: nothing keeps items out of shards that they do not belong to",
					 psprintf("ALTER TABLE %s %s;", check->qualified,
							  shard_guard_sql(check->table->keys[0].column)));
}

/* Checks the same arguments of a distributed table, which can have no triggers. */
static void
check_definition(TableCheck *check)
{
	static const char *const object = "constraint \"" DEFINITION_CONSTRAINT "\"";
	Definition definition = {check->rel, NIL};
	const char *problem = check_try(read_definition, &definition);

	if (problem != NULL)
		check_report(check, object, psprintf("it cannot be read: %s", problem),
					 advise_replacing(check));
	else if (!definition_exists(check->rel))
		check_report(check, object, "it is missing", advise_replacing(check));
	else
		check_arguments(check, object, definition.arguments);
	check_guard(check);
}

/*
 * Reports triggers of the extension that call another function, fire at other events, are enabled
 * or disabled wrongly, or have unreadable arguments; a missing derive trigger; and triggers of
 * users that fire after it.  Of a distributed table, reports its definition if that is missing or
 * unreadable.
 */
void
check_triggers(TableCheck *check)
{
	/* a copy: look-ups may rebuild the relation */
	TriggerDesc *triggers = CopyTriggerDesc(check->rel->trigdesc);
	bool derives = false;

	if (check->distributed)
	{
		check_definition(check);
		return;
	}
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		if (made_of(triggers->triggers[i].tgname) == NULL)
			continue;
		derives |= strcmp(triggers->triggers[i].tgname, DYN_DERIVE_TRIGGER) == 0;
		check_one(check, &triggers->triggers[i]);
	}
	if (!derives)
		check_report(check, object_name(DYN_DERIVE_TRIGGER), "it is missing",
					 advise_replacing(check));
	else
		check_last(check, triggers);
}
