/*
 * model.h
 *	  What is declared of a table beyond its keys and indexes: entities, access patterns, migrations.
 *
 * Declarations are the arguments of a second trigger of the table, "~dynamo_model", one JSON
 * object each, whose first member is its kind and name:
 *
 *		{"entity": "Project", "keys": {"pk": "ORG#<OrgId>", …}, "attributes": {…}, …}
 *		{"pattern": "projects_of_org", "operation": "Query", "request": {…}, …}
 *		{"migration": "shop", "steps": […]}
 *
 * So they are transactional, owned by the table's owner, dumped with the table, and untouched by
 * its renaming.  The trigger is disabled, and does nothing if somebody enables it.  Where entities
 * are enforced there is a third one, "~dynamo_model_check": it fires ALWAYS, after the derive trigger,
 * and refuses items that are none of the declared entities.  Such a table is written by the SPI store.
 *
 * Kinds are told apart by the first member, names within a kind are unique.  Arguments are
 * checked whenever they are read: whoever may create triggers can write them himself.
 */
#ifndef DYNAMO_TABLE_MODEL_MODEL_H
#define DYNAMO_TABLE_MODEL_MODEL_H

#include "catalog/table.h"
#include "ground/trigger.h"

typedef enum ModelKind
{
	MODEL_ENTITY,
	MODEL_PATTERN,
	MODEL_MIGRATION
} ModelKind;

#define MODEL_LAST_KIND MODEL_MIGRATION

extern const char *const model_kind_names[]; /* "entity", "pattern", "migration", NULL */

typedef struct ModelDeclaration
{
	ModelKind kind;
	ItemSpan name;
	const char *json; /* all of it */
} ModelDeclaration;

/* Read by the relation cache, copied into the current memory context, in the order declared. */
extern List *model_declarations(Relation rel); /* of ModelDeclaration */
extern List *
model_listed_declarations(const DynListedTrigger *trigger); /* the same without the table */
extern const ModelDeclaration *model_find(List *declarations, ModelKind kind, ItemSpan name);
extern bool model_enforced(Relation rel);

/*
 * Put a declaration in, or in the place of the one with its kind and name; take one out, which
 * must be there; switch enforcement.  The caller has looked the table up and has locked it with
 * ShareRowExclusiveLock before he read what he changes; only the table's owner gets through, and
 * others get the error of a command of his.  rel is closed, and its lock kept; table is out of date.
 */

/* A table that is so looked up and locked, or locked after it was opened under AccessShareLock. */
extern Relation model_open(text *name, DynTable **table);
extern Relation model_open_to_remove(text *name, DynTable **table);
extern Relation model_open_to_allow(text *name, DynTable **table);
extern Relation model_lock_table(Relation rel, DynTable **table);
extern Relation model_lock_to_remove(Relation rel, DynTable **table);
extern void model_set(Relation rel, const DynTable *table, ModelKind kind, ItemSpan name,
					  const char *json);
extern void model_remove(Relation rel, const DynTable *table, ModelKind kind, ItemSpan name);
extern void model_enforce(Relation rel, const DynTable *table, bool enforced);

#endif
