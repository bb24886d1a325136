/*
 * enforce.c
 *	  Enforcement: items must fit one of the entities of their table.
 */
#include "postgres.h"

#include "utils/rel.h"

#include "actions/write.h"
#include "catalog/definition/label.h"
#include "models/entity/entity.h"
#include "server/errors.h"

static char *
list_problems(const Entity *entity, List *problems)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	appendStringInfo(&out, "As entity \"%s\": ", item_quoted(entity->name));
	foreach (cell, problems)
		appendStringInfo(&out, "%s%s", foreach_current_index(cell) > 0 ? "; " : "",
						 (char *) lfirst(cell));
	appendStringInfoChar(&out, '.');
	return out.data;
}

/* Raises an error for a table without entities, as one restored without security labels. */
pg_noreturn static void
fail_without_entities(Relation rel)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" enforces entities, and none is declared",
					RelationGetRelationName(rel)),
			 errdetail("Entities are declared in the table's security label of provider \"%s\".",
					   LABEL_PROVIDER),
			 errhint("Restore the label, declare the entities with dyn_create_entity(), or call "
					 "dyn_enforce_entities() with enabled => false.")));
}

/*
 * Raises ERRCODE_DYN_VALIDATION unless an item that is to be stored fits one of the entities of the
 * table.
 */
void
entity_enforce(Relation rel, const DynTable *table, const DynItem *item)
{
	List *entities = entities_of(rel, table);
	const char *detail = NULL;
	ListCell *cell;

	if (entities == NIL)
		fail_without_entities(rel);
	foreach (cell, entities)
	{
		const Entity *entity = lfirst(cell);
		List *problems;

		if (!entity_has(entity, item))
			continue;
		problems = entity_problems(entity, item);
		if (problems == NIL)
			return;
		if (detail == NULL)
			detail = list_problems(entity, problems);
	}
	if (detail == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the item is none of the entities of table \"%s\"",
							   RelationGetRelationName(rel))));
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("the item does not fit an entity of table \"%s\"",
						   RelationGetRelationName(rel)),
					errdetail("%s", detail)));
}

/* Checks what calls write, which goes past the trigger where the direct store serves them. */
static void
check_written(Relation rel, const DynTable *table, const DynItem *item)
{
	if (table->enforced)
		entity_enforce(rel, table, item);
}

/* Makes calls enforce entities.  Called once by _PG_init(). */
void
entity_enforce_init(void)
{
	write_add_check(check_written);
}
