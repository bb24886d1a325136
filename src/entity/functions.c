/*
 * functions.c
 *	  Items of entities by the attributes of the application: a front end over the actions.
 *
 * A writer holds RowExclusiveLock on the table from before it looks the entity up until its
 * transaction ends.  A declaration that replaces another does not wait for that, unless entities
 * are enforced; dyn_refresh_entity() does, so that it misses no item of the old declaration.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "ground/arguments.h"
#include "ground/errors.h"
#include "entity/entity.h"

/*
 * Entities by name
 */

/*
 * Reads the first two arguments of nearly all functions here, and checks that the third one is
 * given.
 */
static const Entity *
entity_argument(FunctionCallInfo fcinfo, LOCKMODE lockmode, const char *third)
{
	const Entity *entity;
	DynTable *table;
	Relation rel;

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "entity");
	argument_require(fcinfo, 2, third);
	rel = dyn_table_open(PG_GETARG_TEXT_PP(0), lockmode, &table);
	entity = entity_find(rel, table, text_span(PG_GETARG_TEXT_PP(1)));
	relation_close(rel, NoLock);
	return entity;
}

/*
 * Whether the type attribute of an item says that it is of another entity.  An item without one is
 * accepted: its key decides.
 */
static bool
is_another(const Entity *entity, const DynItem *stored)
{
	ItemChildren map = item_children(item_root(stored));
	ItemSpan value;

	return entity->type_attribute.len > 0 && item_find(&map, entity->type_attribute, &value) &&
		   !entity_has(entity, stored);
}

static Datum
return_item(FunctionCallInfo fcinfo, DynItem *item)
{
	if (item == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(item);
}

/*
 * Rendering
 */

/* dyn_render(template, vals) */
PG_FUNCTION_INFO_V1(dyn_render);
Datum
dyn_render(PG_FUNCTION_ARGS)
{
	Template *t = template_parse(text_span(PG_GETARG_TEXT_PP(0)));
	const TemplatePart *missing;
	StringInfoData out;

	initStringInfo(&out);
	if (!template_render(t, item_root(PG_GETARG_DYN_ITEM(1)), &out, &missing))
		PG_RETURN_NULL();
	item_forbid_nul((ItemSpan){out.data, (uint32) out.len});
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

/* dyn_entity_keys(table_name, entity, attributes) */
PG_FUNCTION_INFO_V1(dyn_entity_keys);
Datum
dyn_entity_keys(PG_FUNCTION_ARGS)
{
	const Entity *entity = entity_argument(fcinfo, AccessShareLock, "attributes");

	PG_RETURN_POINTER(entity_keys(entity, PG_GETARG_DYN_ITEM(2), false));
}

/* dyn_entity_item(table_name, entity, attributes) */
PG_FUNCTION_INFO_V1(dyn_entity_item);
Datum
dyn_entity_item(PG_FUNCTION_ARGS)
{
	const Entity *entity = entity_argument(fcinfo, AccessShareLock, "attributes");

	PG_RETURN_POINTER(entity_item(entity, PG_GETARG_DYN_ITEM(2)));
}

/* An item's type attribute decides which entity it is; its key decides only if no type matches. */
static const Entity *
entity_of(List *entities, const DynItem *item)
{
	for (int typed = 1; typed >= 0; typed--)
	{
		ListCell *cell;

		foreach (cell, entities)
		{
			const Entity *entity = lfirst(cell);

			if ((entity->type_attribute.len > 0) == typed && entity_has(entity, item))
				return entity;
		}
	}
	return NULL;
}

/* dyn_entity_attributes(table_name, item): without what templates make (docs/semantics.md, M10) */
PG_FUNCTION_INFO_V1(dyn_entity_attributes);
Datum
dyn_entity_attributes(PG_FUNCTION_ARGS)
{
	DynItem *item = argument_item(fcinfo, 1);
	const Entity *entity;
	DynTable *table;
	Relation rel =
		dyn_table_open(argument_required_text(fcinfo, 0, "table_name"), AccessShareLock, &table);

	entity = item == NULL ? NULL : entity_of(entities_of(rel, table), item);
	relation_close(rel, NoLock);
	return return_item(fcinfo, entity == NULL ? NULL : entity_logical(entity, item));
}

/*
 * Items in the form of their entity
 */

typedef struct EntityWrite
{
	const Entity *entity;
	const DynItem *key; /* of the table */
} EntityWrite;

static DynItem *
show_any(const DynItem *stored, void *arg)
{
	const EntityWrite *write = arg;

	return entity_shown(write->entity, stored);
}

/* An item that is changed or deleted must be of the entity that the caller names. */
static DynItem *
show_own(const DynItem *stored, void *arg)
{
	const EntityWrite *write = arg;

	if (is_another(write->entity, stored))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the item with this key is of another entity than \"%s\"",
							   item_quoted(write->entity->name))));
	return entity_shown(write->entity, stored);
}

static DynItem *
return_logical(const DynItem *stored, void *arg)
{
	const EntityWrite *write = arg;

	return entity_logical(write->entity, stored);
}

static DynItem *
store_shown(const DynItem *shown, void *arg)
{
	const EntityWrite *write = arg;

	return entity_restored(write->entity, shown, write->key);
}

/* Attributes that templates make cannot be set: they would be overwritten. */
static void
check_update(const Expr *update, void *arg)
{
	const Entity *entity = ((EntityWrite *) arg)->entity;
	int count;
	const ItemSpan *written = expr_attributes(update, &count);

	for (int i = 0; i < count; i++)
	{
		bool is_type = entity->type_attribute.len > 0 &&
					   item_compare_bytes(written[i], entity->type_attribute) == 0;
		bool is_key = entity_key(entity, written[i]) != NULL &&
					  entity_stored_attribute(entity, written[i]) == NULL;

		if (is_type || is_key)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("invalid %s: \"%s\" is made by entity \"%s\"", expr_parameter(update),
							item_quoted(written[i]), item_quoted(entity->name)),
					 errhint("Update the attributes that it is made of.")));
	}
}

static void
set_form(ItemForm *form, EntityWrite *write, ItemRequest *request)
{
	form->shown = show_own;
	form->returned = return_logical;
	form->check_update = check_update;
	form->stored = store_shown;
	form->arg = write;
	request->form = form;
}

/* dyn_put_entity(table_name, entity, attributes, condition, …) */
PG_FUNCTION_INFO_V1(dyn_put_entity);
Datum
dyn_put_entity(PG_FUNCTION_ARGS)
{
	EntityWrite write = {.entity = entity_argument(fcinfo, RowExclusiveLock, "attributes")};
	ItemRequest request = {0};
	ItemForm form = {0};

	set_form(&form, &write, &request);
	form.shown = show_any;
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = entity_item(write.entity, PG_GETARG_DYN_ITEM(2));
	action_write_arguments(fcinfo, 3, option_return_old, &request);
	return return_item(fcinfo, action_put(&request));
}

/* dyn_get_entity(table_name, entity, attributes, consistent_read) */
PG_FUNCTION_INFO_V1(dyn_get_entity);
Datum
dyn_get_entity(PG_FUNCTION_ARGS)
{
	const Entity *entity = entity_argument(fcinfo, AccessShareLock, "attributes");
	ItemRequest request = {0};
	DynItem *item;

	request.table = PG_GETARG_TEXT_PP(0);
	request.item = entity_keys(entity, PG_GETARG_DYN_ITEM(2), true);
	request.expressions = expr_request(NULL, NULL);
	request.consistent = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3);
	item = action_get(&request);
	if (item == NULL || is_another(entity, item))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(entity_logical(entity, item));
}

/* dyn_update_entity(table_name, entity, attributes, update, condition, …) */
PG_FUNCTION_INFO_V1(dyn_update_entity);
Datum
dyn_update_entity(PG_FUNCTION_ARGS)
{
	EntityWrite write = {.entity = entity_argument(fcinfo, RowExclusiveLock, "attributes")};
	ItemRequest request = {0};
	ItemForm form = {0};

	set_form(&form, &write, &request);
	form.blank = PG_GETARG_DYN_ITEM(2);
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = entity_keys(write.entity, form.blank, true);
	write.key = request.item;
	request.update = argument_text(fcinfo, 3);
	action_write_arguments(fcinfo, 4, option_return_any, &request);
	return return_item(fcinfo, action_update(&request));
}

/* dyn_delete_entity(table_name, entity, attributes, condition, …) */
PG_FUNCTION_INFO_V1(dyn_delete_entity);
Datum
dyn_delete_entity(PG_FUNCTION_ARGS)
{
	EntityWrite write = {.entity = entity_argument(fcinfo, RowExclusiveLock, "attributes")};
	ItemRequest request = {0};
	ItemForm form = {0};

	set_form(&form, &write, &request);
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = entity_keys(write.entity, PG_GETARG_DYN_ITEM(2), true);
	action_write_arguments(fcinfo, 3, option_return_old, &request);
	return return_item(fcinfo, action_delete(&request));
}
