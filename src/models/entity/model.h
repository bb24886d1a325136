/*
 * model.h
 *	  What is declared of a table beyond its keys and indexes: entities, access patterns, migrations.
 *
 * Declarations are members of the table's label (catalog/definition/label.h), an array for each
 * kind.  Each is a JSON object that has its kind and name as a member:
 *
 *		{"entity": "Project", "keys": {"pk": "ORG#<OrgId>", …}, "attributes": {…}, …}
 *		{"pattern": "projects_of_org", "operation": "Query", "request": {…}, …}
 *		{"migration": "shop", "steps": […]}
 *
 * Names within a kind are unique.  Declarations are checked whenever they are read: the table's owner
 * may write a label by hand.
 *
 * Where entities are enforced the table has a trigger, "~dynamo_model_check": it fires ALWAYS, after
 * the derive trigger, and refuses items that are none of the declared entities.  Calls enforce them
 * before they write.
 */
#ifndef DYNAMO_TABLE_MODELS_ENTITY_MODEL_H
#define DYNAMO_TABLE_MODELS_ENTITY_MODEL_H

#include "catalog/definition/trigger.h"
#include "catalog/table.h"

typedef enum ModelKind
{
	MODEL_ENTITY,
	MODEL_PATTERN,
	MODEL_MIGRATION
} ModelKind;

extern const char *const model_kind_names[]; /* "entity", "pattern", "migration", NULL */

typedef struct ModelDeclaration
{
	ModelKind kind;
	ItemSpan name;
	const char *json; /* all of it */
	void *parsed; /* in the cache: what it says, once that was asked for */
} ModelDeclaration;

extern List *model_declarations(Relation rel, ModelKind kind); /* of ModelDeclaration */
extern List *model_label_declarations(Oid relid, ModelKind kind);
extern bool model_member(const ModelDeclaration *declaration, const char *name, ItemSpan *json);
extern ModelDeclaration *model_find(List *declarations, ItemSpan name);
extern bool model_enforced(Relation rel);

/* These keep what declarations say and how it was parsed; it is good until the transaction ends. */
typedef void *(*ModelParse)(const ModelDeclaration *declaration, Relation rel,
							const DynTable *table);
extern List *model_cached(Relation rel, ModelKind kind);
extern void *model_parsed(ModelDeclaration *declaration, ModelParse parse, Relation rel,
						  const DynTable *table);

/*
 * These change them: look the table up and lock it, read what is there, and write.  Only the
 * table's owner gets through.
 */
extern Relation model_open(text *name, ModelKind kind, DynTable **table);
extern Relation model_lock_table(Relation rel, ModelKind kind, DynTable **table);
extern void model_set(Relation rel, ModelKind kind, ItemSpan name, const char *json);
extern void model_remove(Relation rel, ModelKind kind, ItemSpan name);

extern Relation model_open_to_enforce(text *name, bool enforced, DynTable **table);
extern void model_enforce(Relation rel, const DynTable *table, bool enforced);

#endif
