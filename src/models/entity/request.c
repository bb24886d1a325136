/*
 * request.c
 *	  Requests for items of entities: what the actions are asked for, by the attributes of the
 *	  application.
 *
 * A writer holds RowExclusiveLock on the table from before it looks the entity up until its
 * transaction ends.  A declaration that replaces another does not wait for that, unless entities
 * are enforced; dyn_refresh_entity() does, so that it misses no item of the old declaration.
 */
#include "postgres.h"

#include "access/relation.h"

#include "catalog/lookup.h"
#include "models/entity/request.h"
#include "server/errors.h"

/*
 * Returns the entity of a table, both by their names.  The table stays locked in lockmode until the
 * transaction ends.  Raises an error if one of them does not exist.
 */
const Entity *
entity_open(text *table_name, text *name, LOCKMODE lockmode)
{
	DynTable *table;
	Relation rel = dyn_table_open(table_name, lockmode, &table);
	const Entity *entity = entity_find(rel, table, text_span(name));

	relation_close(rel, NoLock);
	return entity;
}

/*
 * Returns whether the type attribute of an item says that it is of another entity.  An item without
 * one is accepted: its key decides.
 */
bool
entity_is_another(const Entity *entity, const DynItem *stored)
{
	ItemChildren map = item_children(item_root(stored));
	ItemSpan value;

	return entity->type_attribute.len > 0 && item_find(&map, entity->type_attribute, &value) &&
		   !entity_has(entity, stored);
}

/*
 * Items in the form of their entity
 */

typedef struct EntityForm
{
	ItemForm form;
	const Entity *entity;
	const DynItem *key; /* of the table */
} EntityForm;

static DynItem *
show_any(const DynItem *stored, void *arg)
{
	const EntityForm *of = arg;

	return entity_shown(of->entity, stored);
}

/* Shows an item that is checked, changed or deleted, which must be of the entity that is named. */
static DynItem *
show_own(const DynItem *stored, void *arg)
{
	const EntityForm *of = arg;

	if (entity_is_another(of->entity, stored))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the item with this key is of another entity than \"%s\"",
							   item_quoted(of->entity->name))));
	return entity_shown(of->entity, stored);
}

static DynItem *
return_logical(const DynItem *stored, void *arg)
{
	const EntityForm *of = arg;

	return entity_logical(of->entity, stored);
}

static DynItem *
store_shown(const DynItem *shown, void *arg)
{
	const EntityForm *of = arg;

	return entity_restored(of->entity, shown, of->key);
}

/* Checks that no attributes are set that templates make: they would be overwritten. */
static void
check_update(const Expr *update, void *arg)
{
	const Entity *entity = ((EntityForm *) arg)->entity;
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

static EntityForm *
set_form(const Entity *entity, ItemRequest *request)
{
	EntityForm *of = palloc0(sizeof(EntityForm));

	of->form.shown = show_own;
	of->form.returned = return_logical;
	of->form.check_update = check_update;
	of->form.stored = store_shown;
	of->form.arg = of;
	of->entity = entity;
	request->form = &of->form;
	return of;
}

/*
 * Sets what is put: the item that the attributes make, with defaults and keys.  It may replace an
 * item of another entity.  Raises ERRCODE_DYN_VALIDATION if the attributes do not fit the entity.
 */
void
entity_request_put(const Entity *entity, const DynItem *attributes, ItemRequest *request)
{
	request->item = entity_item(entity, attributes);
	set_form(entity, request)->form.shown = show_any;
}

/*
 * Sets what is updated: the item with the key that the attributes make.  Where there is none, the
 * update begins with the attributes.  Raises ERRCODE_DYN_VALIDATION if they make no key.
 */
void
entity_request_update(const Entity *entity, DynItem *attributes, ItemRequest *request)
{
	EntityForm *of;

	request->item = entity_keys(entity, attributes, true);
	of = set_form(entity, request);
	of->form.blank = attributes;
	of->key = request->item;
}

/*
 * Sets what is deleted or checked: the item with the key that the attributes make.  Raises
 * ERRCODE_DYN_VALIDATION if they make none.
 */
void
entity_request_key(const Entity *entity, const DynItem *attributes, ItemRequest *request)
{
	request->item = entity_keys(entity, attributes, true);
	set_form(entity, request);
}
