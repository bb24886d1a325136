/*
 * key.c
 *	  The keys that a view's items are known by, and whether a view has those of the declaration.
 *
 * The keys of the table are always among them.  A view of what is in an index has those of the index.
 *
 * A view of all items has the keys of an index too if the declaration says that each item has them: then
 * the planner can use the index, whose btree is restricted to what has them.  An item that lacks such a
 * key, or has another one, is not as declared, and no view shows it, whatever its plan.  An index counts
 * once it is filled: before that an item may lack its columns although it has the attributes.
 */
#include "postgres.h"

#include "catalog/table.h"
#include "models/view/view.h"
#include "server/errors.h"

static bool
key_same(ItemSpan a, ItemSpan b)
{
	return item_compare_bytes(a, b) == 0;
}

/*
 * Keys
 */

/* Returns an attribute that is an index's key as it is, as a key with a template made for it. */
static EntityKey *
natural_key(const Entity *entity, ItemSpan attribute)
{
	const EntityAttribute *natural = entity_stored_attribute(entity, attribute);
	EntityKey *key;
	char *text;

	/* a name that cannot be in a placeholder: the index is of no use to the planner then */
	if (natural == NULL || strpbrk(span_string(natural->name), "<>:.") != NULL)
		return NULL;
	text = psprintf("<%.*s>", (int) natural->name.len, natural->name.data);
	key = palloc0(sizeof(EntityKey));
	key->attribute = attribute;
	key->type = natural->type.type;
	key->ntemplates = 1;
	key->templates = palloc0(sizeof(EntityTemplate));
	key->templates[0].template = template_parse(item_span(text));
	return key;
}

/* Returns the key, or NULL if the entity has no such key. */
static const EntityKey *
key_of(const Entity *entity, ItemSpan attribute)
{
	const EntityKey *key = entity_key(entity, attribute);

	return key != NULL ? key : natural_key(entity, attribute);
}

/* Returns whether a part is required.  What is in a map may be missing, though the map is there. */
static bool
part_is_required(const Entity *entity, const TemplatePart *part)
{
	const EntityAttribute *attribute;

	if (part->npath == 0)
		return true;
	attribute = entity_attribute(entity, part->path[0]);
	return part->npath == 1 && attribute != NULL && attribute->required;
}

/* Returns whether each item that is as declared has the key. */
static bool
is_required(const Entity *entity, const EntityKey *key)
{
	const Template *t = key->templates[0].template;

	if (key->ntemplates != 1 || key->templates[0].when != NULL)
		return false;
	for (int i = 0; i < t->nparts; i++)
	{
		if (!part_is_required(entity, &t->parts[i]))
			return false;
	}
	return true;
}

/* Returns whether all items of an entity are in an index, which is filled. */
bool
entity_view_needs_index(const Entity *entity, const DynTable *table, const DynIndex *index)
{
	if (index->status != DYN_INDEX_ACTIVE)
		return false;
	for (int i = 0; i < index->nkeys; i++)
	{
		const DynKey *column = dyn_index_key(table, index, i);
		const EntityKey *key = key_of(entity, column->attribute);

		if (key == NULL || key->type != column->type || !is_required(entity, key))
			return false;
	}
	return true;
}

/*
 * Those of a view
 */

/* Returns whether a key is among those of a view. */
bool
entity_view_has_key(List *keys, ItemSpan attribute)
{
	ListCell *cell;

	foreach (cell, keys)
	{
		if (key_same(((EntityViewKey *) lfirst(cell))->key->attribute, attribute))
			return true;
	}
	return false;
}

static List *
add_key(List *keys, const EntityKey *key, bool required)
{
	EntityViewKey *new;

	if (entity_view_has_key(keys, key->attribute))
		return keys;
	new = palloc(sizeof(EntityViewKey));
	*new = (EntityViewKey){key, required};
	return lappend(keys, new);
}

static List *
add_keys_of_index(List *keys, const Entity *entity, const DynTable *table, const DynIndex *index,
				  bool required)
{
	for (int i = 0; i < index->nkeys; i++)
	{
		ItemSpan attribute = dyn_index_key(table, index, i)->attribute;
		const EntityKey *key = key_of(entity, attribute);

		if (key == NULL && entity_stored_attribute(entity, attribute) == NULL)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("entity \"%s\" has no key \"%s\" of index \"%s\"",
								   item_quoted(entity->name), item_quoted(attribute),
								   item_quoted(index->name)),
							errdetail("None of its items is in that index.")));
		if (key != NULL)
			keys = add_key(keys, key, required);
	}
	return keys;
}

/*
 * Returns the keys that the items of a view are known by, as a list of EntityViewKey *.  The view is of
 * all items of the entity, or of those that are in the index.  use_indexes: the former has keys of
 * indexes.
 */
List *
entity_view_keys(const Entity *entity, const DynTable *table, const DynIndex *index,
				 bool use_indexes)
{
	List *keys = NIL;

	for (int i = 0; i < table->nkeys; i++)
		keys = add_key(keys, entity_key(entity, table->keys[i].attribute), false);
	if (index != NULL)
		return add_keys_of_index(keys, entity, table, index, false);
	for (int i = 0; use_indexes && i < table->nindexes; i++)
	{
		if (entity_view_needs_index(entity, table, &table->indexes[i]))
			keys = add_keys_of_index(keys, entity, table, &table->indexes[i], true);
	}
	return keys;
}

/* Returns the definition that a view has for a key. */
char *
entity_view_definition(const Entity *entity, const EntityViewKey *key)
{
	return member_definition(entity, key->key, key->required);
}

/*
 * Views that are there
 */

/*
 * Returns whether a view's definitions are those of the declaration.  Each names the key that it is
 * about.  A view that lacks keys of an index shows the same items, if they are as declared.
 */
static bool
has_keys_of(const Entity *entity, const EntityView *view)
{
	for (int i = 0; i < view->nkeys; i++)
	{
		const Member *member = member_parse(view->definitions[i]);
		const EntityKey *key = key_of(entity, member->key->attribute);
		bool required = member->entity->required;

		if (key == NULL || (required && !is_required(entity, key)) ||
			!item_span_is(view->definitions[i], member_definition(entity, key, required)))
			return false;
	}
	return true;
}

/*
 * Returns whether a view is what it would be made today.  A column whose attribute is not declared
 * any more does no harm: it shows what there is, and cannot be written to.  *changed: the attribute
 * whose type is another one, or NULL.
 */
EntityViewState
entity_view_state(const Entity *entity, const EntityView *view, const EntityAttribute **changed)
{
	EntityViewState state = ENTITY_VIEW_CURRENT;

	*changed = NULL;
	for (int i = 0; i < view->ncolumns; i++)
	{
		const ViewColumn *column = &view->columns[i];
		const EntityAttribute *attribute =
			column->stored.len == 0 ? NULL : entity_stored_attribute(entity, column->stored);

		if (attribute == NULL ||
			(column->type.type == attribute->type.type && entity_view_shows(column, attribute)))
			continue;
		if (!entity_view_shows(column, attribute))
			state = ENTITY_VIEW_OTHER_COLUMN;
		else if (state == ENTITY_VIEW_CURRENT)
			state = ENTITY_VIEW_OTHER_TYPE;
		if (*changed == NULL)
			*changed = attribute;
	}
	if (state == ENTITY_VIEW_CURRENT && !has_keys_of(entity, view))
		return ENTITY_VIEW_OTHER_KEYS;
	return state;
}
