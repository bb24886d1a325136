/*
 * trigger.h
 *	  The triggers of a table of items: which there are, how they are created and found.
 *
 *		~dynamo_keys			derives columns from items; its arguments describe the table
 *		~dynamo_model_check		refuses items that belong to no declared entity
 *
 * A trigger is recognized by its name and its function, in whatever schema that is.  The table's
 * owner can disable it, and a restore of data disables and enables all triggers, so the enabled
 * state has no meaning: if the trigger "~dynamo_model_check" exists, calls enforce entities, and
 * the trigger does so for plain SQL.
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_TRIGGER_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_TRIGGER_H

#include "fmgr.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"
#include "utils/reltrigger.h"

#define DYN_DERIVE_TRIGGER "~dynamo_keys"
#define DYN_ENFORCE_TRIGGER "~dynamo_model_check"

/* A DynTriggerState says how a trigger is made, and when it fires in pg_trigger and ALTER TABLE. */
typedef struct DynTriggerState
{
	const char *name;
	const char *function_name; /* in DYN_INTERNAL */
	const char *symbol; /* of the function in the library */
	PGFunction function;
	char enabled;
	const char *command;
} DynTriggerState;

/* These are the places in dyn_triggers. */
typedef enum DynTriggerRole
{
	DYN_TRIGGER_DERIVE,
	DYN_TRIGGER_ENFORCE
} DynTriggerRole;

#define DYN_TRIGGERS (DYN_TRIGGER_ENFORCE + 1)
extern const DynTriggerState dyn_triggers[DYN_TRIGGERS];

/* These results are copied into the current memory context; NULL or NIL if there is none. */
extern const Trigger *dyn_trigger_find(Relation rel, DynTriggerRole role);
extern List *dyn_derive_arguments(Relation rel);
extern char *dyn_trigger_sql(DynTriggerRole role, const char *qualified, List *arguments);
extern char *dyn_trigger_command(Relation rel, const char *qualified);

extern PGDLLEXPORT Datum dyn_derive_keys(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum dyn_model_check(PG_FUNCTION_ARGS);

#endif
