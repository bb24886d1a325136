/*
 * complete.c
 *	  Attributes that an item lacks, made of its keys by the templates of its entity.
 *
 * Items that were written for DynamoDB often have what they are about in their keys alone: a key can be
 * read back in one way only, so this says their attributes.  What is made is right if the templates make
 * the same keys of the item then; otherwise the item stays as it is.
 */
#include "postgres.h"

#include "models/entity/entity.h"

/* Returns whether an item has no type attribute, and keys of the form of the entity's. */
static bool
is_of_form(const Entity *entity, const DynItem *item)
{
	ItemChildren map = item_children(item_root(item));
	ItemSpan type;

	return (entity->type_attribute.len == 0 || !item_find(&map, entity->type_attribute, &type)) &&
		   entity_has_form(entity, item);
}

/*
 * Returns which of the entities an item is: the one of its type attribute, or the only one that its keys
 * have the form of.  NULL: none.
 */
const Entity *
entity_by_keys(const List *entities, const DynItem *item)
{
	const Entity *found = NULL;
	const ListCell *cell;

	foreach (cell, entities)
	{
		const Entity *entity = lfirst(cell);

		if (entity->type_attribute.len > 0 && entity_has(entity, item))
			return entity;
	}
	foreach (cell, entities)
	{
		if (!is_of_form(lfirst(cell), item))
			continue;
		if (found != NULL)
			return NULL;
		found = lfirst(cell);
	}
	return found;
}

/* Returns the only template of a key that a string has the form of, or NULL. */
static const Template *
template_of(const EntityKey *key, ItemSpan string)
{
	const Template *found = NULL;

	for (int i = 0; i < key->ntemplates; i++)
	{
		const Template *t = key->templates[i].template;

		if (!t->whole && !template_fits(t, string))
			continue;
		if (found != NULL)
			return NULL;
		found = t;
	}
	return found;
}

/* Takes a key apart: made has the values of attributes, by their numbers, that the item lacks. */
static void
take_key(const Entity *entity, const Template *t, ItemSpan key, ItemChildren *map, ItemSpan *made)
{
	ItemType *types = palloc0(t->nparts * sizeof(ItemType));
	ItemSpan *values = palloc0(t->nparts * sizeof(ItemSpan));
	const EntityAttribute **attributes = palloc0(t->nparts * sizeof(EntityAttribute *));

	for (int i = 0; i < t->nparts; i++)
	{
		if (t->parts[i].npath == 1)
			attributes[i] = entity_attribute(entity, t->parts[i].path[0]);
		if (attributes[i] != NULL)
			types[i] = attributes[i]->type.type;
	}
	if (!t->whole)
		template_take(t, item_payload(key), types, values);
	else if (types[0] == item_type(key))
		values[0] = key;
	for (int i = 0; i < t->nparts; i++)
	{
		ItemSpan there;

		if (values[i].data != NULL && !item_find(map, attributes[i]->stored, &there))
			made[attributes[i] - entity->attributes] = values[i];
	}
}

static DynItem *
with_attributes(const Entity *entity, const DynItem *item, const ItemSpan *made)
{
	ItemChildren map = item_children(item_root(item));
	ItemSpan type;
	ItemBuilder b;

	item_build_init(&b, item_root(item).len + 64);
	item_build_begin(&b, ITEM_M);
	for (uint32 i = 0; i < map.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&map, i), &name);

		item_build_name(&b, name);
		item_build_value(&b, value);
	}
	for (int i = 0; i < entity->nattributes; i++)
	{
		if (made[i].data == NULL)
			continue;
		item_build_name(&b, entity->attributes[i].stored);
		item_build_value(&b, made[i]);
	}
	if (entity->type_attribute.len > 0 && !item_find(&map, entity->type_attribute, &type))
	{
		item_build_name(&b, entity->type_attribute);
		item_build_scalar(&b, ITEM_S, entity->type);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/*
 * Returns an item of an entity with the attributes that its keys say and that it lacks, and its type
 * attribute; or as it is.
 */
const DynItem *
entity_completed(const Entity *entity, const DynItem *item)
{
	ItemChildren map = item_children(item_root(item));
	ItemSpan *made = palloc0((entity->nattributes + 1) * sizeof(ItemSpan));
	bool *taken = palloc0((entity->nkeys + 1) * sizeof(bool));
	DynItem *completed;

	for (int i = 0; i < entity->nkeys; i++)
	{
		const EntityKey *key = &entity->keys[i];
		const Template *t;
		ItemSpan value;

		if (!item_find(&map, key->attribute, &value) || item_type(value) != key->type)
			continue;
		t = template_of(key, item_payload(value));
		taken[i] = t != NULL;
		if (t != NULL)
			take_key(entity, t, value, &map, made);
	}
	completed = with_attributes(entity, item, made);
	for (int i = 0; i < entity->nkeys; i++)
	{
		if (taken[i] && !entity_makes_key(entity, &entity->keys[i], completed))
			return item;
	}
	return completed;
}

/* Completes an item of any of the entities. */
const DynItem *
entity_completed_of(const List *entities, const DynItem *item)
{
	const Entity *entity = entity_by_keys(entities, item);

	return entity == NULL ? item : entity_completed(entity, item);
}
