/*
 * empty.c
 *	  Whether a new view shows nothing of the items whose keys have the form of its entity's.
 *
 * Items that were not written by a declaration may have what they are about in their keys alone, or no type
 * attribute: then they are in no view, and nothing else would say so.  A thousand items that begin as the
 * entity's keys do are looked at, with the rights of maintenance: types of attributes may be domains with
 * checks of the owner's.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/rights.h"
#include "models/view/view.h"
#include "server/errors.h"
#include "server/sql.h"

#define LOOKED_AT 1000

/* Returns what all keys of an entity begin with in the first column of the table, or nothing. */
static ItemSpan
beginning(const Entity *entity)
{
	const EntityKey *key = &entity->keys[0];
	const Template *t = key->templates[0].template;

	return key->ntemplates == 1 && key->type == ITEM_S && t->parts[0].npath == 0
			   ? t->parts[0].literal
			   : (ItemSpan){NULL, 0};
}

/* Returns what a view with these keys knows the items of an entity by: a list of Member. */
List *
entity_view_members(const Entity *entity, List *keys)
{
	List *members = NIL;
	ListCell *cell;

	foreach (cell, keys)
	{
		char *definition = member_definition(entity, lfirst(cell));

		members = lappend(members, (void *) member_parse(item_span(definition)));
	}
	return members;
}

/* Returns whether such a view has an item. */
bool
entity_view_has(List *members, const DynItem *item)
{
	ListCell *cell;

	foreach (cell, members)
	{
		if (!member_matches(lfirst(cell), item_root(item), NULL, member_memory(lfirst(cell))))
			return false;
	}
	return true;
}

/* Returns the first of the items that are of the form of the entity, if none of them is shown. */
static DynItem *
first_hidden(const Entity *entity, List *members, MemoryContext context)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table item of a view",
											   ALLOCSET_DEFAULT_SIZES);
	DynItem *first = NULL;

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(work);
		DynItem *item = DatumGetDynItem(sql_value(SPI_tuptable, i, 1));
		bool has_form = entity_has_form(entity, item);
		bool shown = has_form && entity_view_has(members, item);

		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(context);
		if (has_form && first == NULL)
			first = item_from_value(item_root(item));
		MemoryContextSwitchTo(old);
		MemoryContextReset(work);
		if (shown)
			return NULL;
	}
	return first;
}

static void
tell(const char *view, const Entity *entity, List *members, const DynTable *table,
	 const DynItem *item)
{
	List *problems = entity_problems(entity, item);
	bool can_be_made = entity_view_has(members, entity_completed(entity, item));

	ereport(NOTICE,
			(errmsg("view \"%s\" shows none of the items whose keys have the form of entity \"%s\"",
					view, item_quoted(entity->name)),
			 problems == NIL ? 0 : errdetail("Of the first one %s.", (char *) linitial(problems)),
			 can_be_made ? errhint("Make attributes of the keys by CALL dyn_refresh_entity('%s', "
								   "'%s', from_keys => true).",
								   table->name, item_quoted(entity->name))
						 : errhint("List what is not as declared with dyn_check_entities().")));
}

/* Tells if a view, which has been made by these keys, shows none of the items that look like its own. */
void
entity_view_tell_empty(const char *view, const Entity *entity, List *keys, Relation rel,
					   const DynTable *table)
{
	MemoryContext context = CurrentMemoryContext;
	ItemSpan prefix = beginning(entity);
	const char *column = quote_identifier(table->keys[0].column);
	RightsBefore before;
	Datum end;
	List *members;
	DynItem *item;

	if (prefix.len == 0 || !dyn_key_prefix_end(ITEM_S, prefix, &end) ||
		pg_class_aclcheck(table->relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		return;
	rights_take_for_rows(rel, false, &before);
	SPI_connect();
	sql_execute(
		sql_on(table->relid,
			   psprintf("SELECT item FROM %s WHERE %s >= $1 COLLATE \"C\" AND %s < $2 COLLATE"
						" \"C\" LIMIT %d",
						table->qualified, column, column, LOOKED_AT)),
		true, 0,
		SQL_VALUES(SQL_VALUE(TEXTOID, dyn_key_datum(ITEM_S, prefix)), SQL_VALUE(TEXTOID, end)));
	members = entity_view_members(entity, keys);
	item = first_hidden(entity, members, context);
	if (item != NULL)
		tell(view, entity, members, table, item);
	SPI_finish();
	rights_give_back(&before);
}
