/*
 * check.c
 *	  A step of dyn_check_table(): the declarations of entities in a table's label.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/check/check.h"
#include "models/entity/entity.h"

typedef struct Declared
{
	Relation rel;
	const DynTable *table;
	List *entities;
} Declared;

static void
read_entities(void *arg)
{
	Declared *declared = arg;

	declared->entities = entities_of(declared->rel, declared->table);
}

/* Returns the name of the table as an argument of the functions. */
static char *
table_name(Relation rel)
{
	return psprintf("%s.%s", get_namespace_name(RelationGetNamespace(rel)),
					RelationGetRelationName(rel));
}

/*
 * Reports if the declarations of entities cannot be read, or if entities are enforced and none is
 * declared.
 */
void
entity_check(TableCheck *check)
{
	Declared declared = {check->rel, check->table, NIL};
	const char *problem;

	if (check->table == NULL)
		return;
	problem = check_try(read_entities, &declared);
	check_report_label(
		check, "declarations", problem,
		psprintf("Declare what is wrong again with %s.dyn_create_entity(), or restore the "
				 "label from a dump.",
				 check->extension));
	if (problem == NULL && model_enforced(check->rel) && declared.entities == NIL)
		check_report(check, "trigger \"" DYN_ENFORCE_TRIGGER "\"",
					 "no entity is declared, so it refuses all items",
					 psprintf("Declare entities, or SELECT %s.dyn_enforce_entities(%s, false);",
							  check->extension, quote_literal_cstr(table_name(check->rel))));
}
