/*
 * key.c
 *	  The keys that a view's items are known by, and whether a view has those of the declaration.
 *
 * The keys of the table are always among them.  A view of what is in an index has those of the index.
 *
 * A view of all items has the keys of an index too if the declaration says that each item has them, or
 * each that has certain attributes: then the planner can use the index, whose btree is restricted to what
 * has them, for queries that require these attributes.  An item that lacks such a key, or has another
 * one, is not as declared, and no view shows it, whatever its plan.  An index counts
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

/* Returns the attribute of a placeholder; NULL: it is in a map, where it may be missing though the map is there. */
static const EntityAttribute *
part_attribute(const Entity *entity, const TemplatePart *part)
{
	return part->npath == 1 ? entity_attribute(entity, part->path[0]) : NULL;
}

static bool
is_among(ItemSpan name, int n, const ItemSpan *names)
{
	for (int i = 0; i < n; i++)
	{
		if (key_same(names[i], name))
			return true;
	}
	return false;
}

/*
 * Collects the names of attributes of a key that an item as declared may lack.  Returns false if such an
 * item may lack the key although it has these.
 */
static bool
collect_given(const Entity *entity, const EntityKey *key, int *n, ItemSpan **names)
{
	const Template *t = key->templates[0].template;

	if (key->ntemplates != 1 || key->templates[0].when != NULL)
		return false;
	for (int i = 0; i < t->nparts; i++)
	{
		const EntityAttribute *attribute = part_attribute(entity, &t->parts[i]);

		if (t->parts[i].npath > 0 && attribute == NULL)
			return false;
		if (attribute == NULL || attribute->required || is_among(attribute->name, *n, *names))
			continue;
		*names = *n == 0 ? palloc(sizeof(ItemSpan)) : repalloc(*names, (*n + 1) * sizeof(ItemSpan));
		(*names)[(*n)++] = attribute->name;
	}
	return true;
}

static int
compare_names(const void *a, const void *b)
{
	return item_compare_bytes(*(const ItemSpan *) a, *(const ItemSpan *) b);
}

/*
 * Returns whether an index, which is filled, has all items of an entity that have certain attributes, whose
 * names it returns: none, if it has all items.
 */
static bool
is_of_entity(const Entity *entity, const DynTable *table, const DynIndex *index, int *n,
			 ItemSpan **names)
{
	*n = 0;
	*names = NULL;
	if (index->status != DYN_INDEX_ACTIVE)
		return false;
	for (int i = 0; i < index->nkeys; i++)
	{
		const DynKey *column = dyn_index_key(table, index, i);
		const EntityKey *key = key_of(entity, column->attribute);

		if (key == NULL || key->type != column->type || !collect_given(entity, key, n, names))
			return false;
	}
	if (*n > 0)
		qsort(*names, *n, sizeof(ItemSpan), compare_names);
	return true;
}

/* Returns whether an item of an entity must be in an index. */
bool
entity_view_needs_index(const Entity *entity, const DynTable *table, const DynIndex *index,
						const DynItem *item)
{
	ItemChildren attributes = item_children(item_root(item));
	ItemSpan *given;
	int n;

	if (!is_of_entity(entity, table, index, &n, &given))
		return false;
	for (int i = 0; i < n; i++)
	{
		const EntityAttribute *attribute = entity_attribute(entity, given[i]);
		ItemSpan value;

		if (!item_find(&attributes, attribute->stored, &value) ||
			item_type(value) != attribute->type.type)
			return false;
	}
	return true;
}

/*
 * Those of a view
 */

static const MemberKey *
find_key(List *keys, ItemSpan attribute)
{
	ListCell *cell;

	foreach (cell, keys)
	{
		if (key_same(((MemberKey *) lfirst(cell))->key->attribute, attribute))
			return lfirst(cell);
	}
	return NULL;
}

/* Returns whether a key is among those of a view. */
bool
entity_view_has_key(List *keys, ItemSpan attribute)
{
	return find_key(keys, attribute) != NULL;
}

static List *
add_key(List *keys, MemberKey key)
{
	if (entity_view_has_key(keys, key.key->attribute))
		return keys;
	return lappend(keys, memcpy(palloc(sizeof(MemberKey)), &key, sizeof(MemberKey)));
}

static List *
add_keys_of_index(List *keys, const Entity *entity, const DynTable *table, const DynIndex *index,
				  MemberKey new)
{
	for (int i = 0; i < index->nkeys; i++)
	{
		ItemSpan attribute = dyn_index_key(table, index, i)->attribute;

		new.key = key_of(entity, attribute);
		if (new.key == NULL && entity_stored_attribute(entity, attribute) == NULL)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("entity \"%s\" has no key \"%s\" of index \"%s\"",
								   item_quoted(entity->name), item_quoted(attribute),
								   item_quoted(index->name)),
							errdetail("None of its items is in that index.")));
		if (new.key != NULL)
			keys = add_key(keys, new);
	}
	return keys;
}

/* Returns whether a key is there already that says something of fewer items. */
static bool
is_in_the_way(List *keys, const DynTable *table, const DynIndex *index)
{
	for (int i = 0; i < index->nkeys; i++)
	{
		const MemberKey *there = find_key(keys, dyn_index_key(table, index, i)->attribute);

		if (there != NULL && there->ngiven > 0)
			return true;
	}
	return false;
}

/* Adds keys of indexes that have all items of the entity, or all that have certain attributes. */
static List *
add_keys_of_indexes(List *keys, const Entity *entity, const DynTable *table, bool all)
{
	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];
		ItemSpan *given;
		int n;

		if (is_of_entity(entity, table, index, &n, &given) && all == (n == 0) &&
			!is_in_the_way(keys, table, index))
			keys = add_keys_of_index(keys, entity, table, index,
									 (MemberKey){.required = true, .ngiven = n, .given = given});
	}
	return keys;
}

/*
 * Returns the keys that the items of a view are known by, as a list of MemberKey *.  The view is of
 * all items of the entity, or of those that are in the index.  use_indexes: the former has keys of
 * indexes.
 */
List *
entity_view_keys(const Entity *entity, const DynTable *table, const DynIndex *index,
				 bool use_indexes)
{
	List *keys = NIL;

	for (int i = 0; i < table->nkeys; i++)
		keys = add_key(keys, (MemberKey){entity_key(entity, table->keys[i].attribute)});
	if (index != NULL)
		return add_keys_of_index(keys, entity, table, index, (MemberKey){NULL});
	if (!use_indexes)
		return keys;
	keys = add_keys_of_indexes(keys, entity, table, true);
	return add_keys_of_indexes(keys, entity, table, false);
}

/*
 * Views that are there
 */

/* Returns whether an item that has the given attributes has the key, as it is declared now. */
static bool
is_required(const Entity *entity, const MemberKey *key)
{
	ItemSpan *needed = NULL;
	int n = 0;

	if (!collect_given(entity, key->key, &n, &needed))
		return false;
	for (int i = 0; i < n; i++)
	{
		if (!is_among(needed[i], key->ngiven, key->given))
			return false;
	}
	return true;
}

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
		MemberKey key = {key_of(entity, member->key->attribute), member->entity->required,
						 member->entity->ngiven, member->entity->given};

		if (key.key == NULL || (key.required && !is_required(entity, &key)) ||
			!item_span_is(view->definitions[i], member_definition(entity, &key)))
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
			(column->type.type == attribute->type.type &&
			 column->type.length == attribute->type.length && entity_view_shows(column, attribute)))
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
