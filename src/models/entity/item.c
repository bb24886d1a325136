/*
 * item.c
 *	  From an application's attributes to stored items and back.
 *
 * Each problem is described by a text: writing raises it as an error, checking lists it.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "models/entity/entity.h"
#include "server/errors.h"

static bool
entity_item_same(ItemSpan a, ItemSpan b)
{
	return item_compare_bytes(a, b) == 0;
}

static ItemChildren
attributes_of(const DynItem *item)
{
	return item_children(item_root(item));
}

/* Raises an error; the hint may be NULL. */
pg_noreturn static void
entity_item_fail(const Entity *entity, const char *problem, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("entity \"%s\": %s", item_quoted(entity->name), problem),
					hint == NULL ? 0 : errhint("%s", hint)));
}

static bool
is_type_attribute(const Entity *entity, ItemSpan name)
{
	return entity->type_attribute.len > 0 && entity_item_same(entity->type_attribute, name);
}

/* Returns a value for a message: strings and numbers as they are. */
static const char *
entity_item_printed(ItemSpan value)
{
	StringInfoData text;

	if (item_type(value) == ITEM_S)
		return psprintf("\"%s\"", item_quoted(item_payload(value)));
	initStringInfo(&text);
	item_print_typed(&text, value);
	return item_quoted((ItemSpan){text.data, (uint32) text.len});
}

/*
 * Attributes
 */

/* Returns why an attribute cannot have a value, or NULL. */
static const char *
value_problem(const EntityAttribute *attribute, ItemSpan value)
{
	Datum ignored;

	if (item_type(value) != attribute->type.type)
		return psprintf("attribute \"%s\" is of type %s, not %s", item_quoted(attribute->name),
						item_type_code(item_type(value)), value_code(&attribute->type));
	if (attribute->reader == NULL || attribute->type.type == ITEM_NULL ||
		value_read(attribute->reader, value, true, &ignored))
		return NULL;
	return psprintf("attribute \"%s\" is %s, which is not of type %s", item_quoted(attribute->name),
					entity_item_printed(value), value_type_print(&attribute->type));
}

/* Returns whether a value counts: a NULL of another type means absent, as in SQL. */
static bool
counts(const EntityAttribute *attribute, ItemSpan value)
{
	return attribute == NULL || item_type(value) != ITEM_NULL || attribute->type.type == ITEM_NULL;
}

static void
check_values(const Entity *entity, ItemChildren *map)
{
	for (uint32 i = 0; i < map->count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(map, i), &name);
		const EntityAttribute *attribute = entity_attribute(entity, name);
		const EntityAttribute *alias = entity_stored_attribute(entity, name);
		const char *problem;

		if (attribute == NULL && alias != NULL)
			entity_item_fail(entity,
							 psprintf("\"%s\" is what attribute \"%s\" is stored as",
									  item_quoted(name), item_quoted(alias->name)),
							 "Use the attribute's declared name.");
		problem = attribute == NULL ? NULL : value_problem(attribute, value);
		if (problem != NULL)
			entity_item_fail(entity, problem, entity_value_hint(attribute, value));
	}
}

/* Raises an error; given has the NULLs that are left out of map. */
pg_noreturn static void
fail_missing(const Entity *entity, const ItemChildren *map, const ItemChildren *given,
			 ItemSpan name)
{
	ItemSpan ignored;
	const char *hint = item_find(given, name, &ignored)
						   ? "It is NULL, which is as if it were absent."
						   : item_case_hint(map, name);

	entity_item_fail(entity, psprintf("attribute \"%s\" is missing", item_quoted(name)), hint);
}

static void
check_required(const Entity *entity, const ItemChildren *map, const DynItem *given)
{
	ItemChildren all = attributes_of(given);

	for (int i = 0; i < entity->nattributes; i++)
	{
		ItemSpan ignored;

		if (entity->attributes[i].required && !item_find(map, entity->attributes[i].name, &ignored))
			fail_missing(entity, map, &all, entity->attributes[i].name);
	}
}

static void
build_now(ItemBuilder *b, const ValueType *type)
{
	TimestampTz now = GetCurrentTransactionStartTimestamp();
	Datum value = TimestampTzGetDatum(now);

	/* UTC, of types without a zone too */
	if (getBaseType(type->sql) == DATEOID)
		value = DateADTGetDatum((DateADT) (now / USECS_PER_DAY - (now % USECS_PER_DAY < 0)));
	value_write(value_writer(type), b, value);
}

static void
build_default(ItemBuilder *b, const EntityAttribute *attribute)
{
	item_build_name(b, attribute->name);
	if (attribute->missing == ENTITY_KSUID)
	{
		char ksuid[KSUID_LENGTH];

		ksuid_make(ksuid);
		item_build_scalar(b, ITEM_S, (ItemSpan){ksuid, KSUID_LENGTH});
	}
	else
		build_now(b, &attribute->type);
}

static bool
needs_default(const EntityAttribute *attribute, ItemChildren *map)
{
	ItemSpan value;

	return attribute->missing != ENTITY_NO_DEFAULT &&
		   (!item_find(map, attribute->name, &value) || !counts(attribute, value));
}

/* Leaves out NULLs, and adds defaults if they are wanted. */
static DynItem *
completed(const Entity *entity, const DynItem *logical, bool defaults)
{
	ItemChildren map = attributes_of(logical);
	bool changes = false;
	ItemBuilder b;

	for (uint32 i = 0; i < map.count && !changes; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&map, i), &name);

		changes = item_type(value) == ITEM_NULL && !counts(entity_attribute(entity, name), value);
	}
	for (int i = 0; i < entity->nattributes && defaults && !changes; i++)
		changes = needs_default(&entity->attributes[i], &map);
	if (!changes)
		return (DynItem *) logical;

	item_build_init(&b, item_root(logical).len + 64);
	item_build_begin(&b, ITEM_M);
	for (uint32 i = 0; i < map.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&map, i), &name);

		if (!counts(entity_attribute(entity, name), value))
			continue;
		item_build_name(&b, name);
		item_build_value(&b, value);
	}
	for (int i = 0; i < entity->nattributes && defaults; i++)
	{
		if (needs_default(&entity->attributes[i], &map))
			build_default(&b, &entity->attributes[i]);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/*
 * Keys
 */

static bool
when_holds(const DynItem *when, ItemChildren *map)
{
	ItemChildren wanted;

	if (when == NULL)
		return true;
	wanted = attributes_of(when);
	for (uint32 i = 0; i < wanted.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&wanted, i), &name);
		ItemSpan found;
		bool there = item_find(map, name, &found) && item_type(found) != ITEM_NULL;

		if (item_type(value) == ITEM_NULL ? there : !there || !entity_item_same(value, found))
			return false;
	}
	return true;
}

/* Appends a key's value with its tag, or nothing if it has none.  Returns the problem, or NULL. */
static const char *
append_key(const EntityKey *key, ItemSpan logical, StringInfo out)
{
	ItemChildren map = item_children(logical);
	const TemplatePart *missing = NULL;
	const Template *t = NULL;
	const char *problem;
	ItemSpan value;

	for (int i = 0; i < key->ntemplates && t == NULL; i++)
	{
		if (when_holds(key->templates[i].when, &map))
			t = key->templates[i].template;
	}
	if (t == NULL)
		return key->of_table ? psprintf("key \"%s\" has no template for such an item",
										item_quoted(key->attribute))
							 : NULL;
	if (t->whole && !template_find(&t->parts[0], logical, &value))
		missing = &t->parts[0];
	else if (t->whole)
	{
		if (item_type(value) != key->type)
			return psprintf("key \"%s\" must be of type %s, and <%s> is of type %s",
							item_quoted(key->attribute), item_type_code(key->type),
							item_quoted(t->parts[0].source), item_type_code(item_type(value)));
		appendBinaryStringInfo(out, value.data, value.len);
	}
	else
	{
		int start = out->len;

		appendStringInfoChar(out, (char) ITEM_S);
		problem = template_try_render(t, logical, out, &missing);
		if (problem != NULL)
			return psprintf("key \"%s\": %s", item_quoted(key->attribute), problem);
		if (missing != NULL)
			out->len = start;
	}
	if (missing != NULL && key->of_table)
		return psprintf("key \"%s\" needs attribute \"%s\", which is missing",
						item_quoted(key->attribute), item_quoted(missing->path[0]));
	return NULL;
}

/* Holds the keys that the templates make of an item's attributes. */
typedef struct MadeKeys
{
	StringInfoData bytes;
	uint32 *ends; /* of each key's value in them */
} MadeKeys;

static const char *
make_keys(const Entity *entity, const DynItem *logical, bool table_only, MadeKeys *made)
{
	initStringInfo(&made->bytes);
	made->ends = palloc0((entity->nkeys + 1) * sizeof(uint32));
	for (int i = 0; i < entity->nkeys; i++)
	{
		if (entity->keys[i].of_table || !table_only)
		{
			const char *problem = append_key(&entity->keys[i], item_root(logical), &made->bytes);

			if (problem != NULL)
				return problem;
		}
		made->ends[i] = (uint32) made->bytes.len;
	}
	return NULL;
}

/* Returns a key that was made; of length 0 it is absent. */
static ItemSpan
made_key(const MadeKeys *made, int i)
{
	uint32 start = i == 0 ? 0 : made->ends[i - 1];

	return (ItemSpan){made->bytes.data + start, made->ends[i] - start};
}

static void
build_keys(const Entity *entity, const MadeKeys *made, ItemBuilder *b)
{
	for (int i = 0; i < entity->nkeys; i++)
	{
		ItemSpan value = made_key(made, i);

		/* a key that is an attribute itself is in the item already */
		if (value.len == 0 || entity_stored_attribute(entity, entity->keys[i].attribute) != NULL)
			continue;
		item_build_name(b, entity->keys[i].attribute);
		item_build_value(b, value);
	}
}

/*
 * To be stored
 */

#define LEAVE_OUT_KEYS "Leave keys out: they are made of the other attributes."

/* Checks that attributes that are given although templates make them equal the result. */
static void
check_given(const Entity *entity, ItemSpan name, ItemSpan value, const MadeKeys *made)
{
	if (is_type_attribute(entity, name))
	{
		if (item_type(value) != ITEM_S || !entity_item_same(item_payload(value), entity->type))
			entity_item_fail(entity,
							 psprintf("the type attribute \"%s\" must be \"%s\", not %s",
									  item_quoted(name), item_quoted(entity->type),
									  entity_item_printed(value)),
							 "Leave it out, or declare the entity with another type_attribute.");
		return;
	}
	for (int i = 0; i < entity->nkeys; i++)
	{
		ItemSpan key = made_key(made, i);

		if (!entity_item_same(entity->keys[i].attribute, name) ||
			(key.len > 0 && entity_item_same(key, value)))
			continue;
		if (key.len == 0)
			entity_item_fail(entity,
							 psprintf("key \"%s\" is given as %s, and its templates make none",
									  item_quoted(name), entity_item_printed(value)),
							 LEAVE_OUT_KEYS);
		entity_item_fail(entity,
						 psprintf("key \"%s\" is given as %s, and its template makes %s",
								  item_quoted(name), entity_item_printed(value),
								  entity_item_printed(key)),
						 LEAVE_OUT_KEYS);
	}
}

static bool
is_made(const Entity *entity, ItemSpan name)
{
	return is_type_attribute(entity, name) ||
		   (entity_key(entity, name) != NULL && entity_stored_attribute(entity, name) == NULL);
}

static DynItem *
build_stored(const Entity *entity, const DynItem *logical, const MadeKeys *made)
{
	ItemChildren map = attributes_of(logical);
	ItemBuilder b;

	item_build_init(&b, item_root(logical).len + made->bytes.len + 64);
	item_build_begin(&b, ITEM_M);
	for (uint32 i = 0; i < map.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&map, i), &name);
		const EntityAttribute *attribute = entity_attribute(entity, name);

		if (is_made(entity, name))
			continue;
		item_build_name(&b, attribute == NULL ? name : attribute->stored);
		item_build_value(&b, value);
	}
	if (entity->type_attribute.len > 0)
	{
		item_build_name(&b, entity->type_attribute);
		item_build_scalar(&b, ITEM_S, entity->type);
	}
	build_keys(entity, made, &b);
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/* Returns the stored item; given is what logical was made of, for messages. */
static DynItem *
stored_item(const Entity *entity, const DynItem *logical, const DynItem *given)
{
	ItemChildren map = attributes_of(logical);
	const char *problem;
	DynItem *item;
	MadeKeys made;

	check_values(entity, &map);
	check_required(entity, &map, given);
	problem = make_keys(entity, logical, false, &made);
	if (problem != NULL)
		entity_item_fail(entity, problem, NULL);
	for (uint32 i = 0; i < map.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&map, i), &name);

		check_given(entity, name, value, &made);
	}
	item = build_stored(entity, logical, &made);
	item_check_size(item_root(item));
	return item;
}

/*
 * Returns the item to be stored for logical attributes: with defaults, the type attribute and all
 * keys.  Raises ERRCODE_DYN_VALIDATION if they do not fit the entity or the item is too large.
 */
DynItem *
entity_item(const Entity *entity, const DynItem *logical)
{
	return stored_item(entity, completed(entity, logical, true), logical);
}

/*
 * Returns an item of the keys that logical attributes make; table_only leaves out those of indexes.
 * Other attributes may be missing, and defaults are not filled in.  Raises ERRCODE_DYN_VALIDATION
 * if a key of the table cannot be made or a value is not of its type.
 */
DynItem *
entity_keys(const Entity *entity, const DynItem *logical, bool table_only)
{
	DynItem *given = completed(entity, logical, false);
	ItemChildren map = attributes_of(given);
	const char *problem;
	ItemBuilder b;
	MadeKeys made;

	check_values(entity, &map);
	problem = make_keys(entity, given, table_only, &made);
	if (problem != NULL)
		entity_item_fail(entity, problem, entity_case_hint(entity, &map));
	item_build_init(&b, made.bytes.len + 64);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < entity->nkeys; i++)
	{
		ItemSpan value = made_key(&made, i);

		if (value.len == 0)
			continue;
		item_build_name(&b, entity->keys[i].attribute);
		item_build_value(&b, value);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/*
 * From what is stored
 */

/* Renames attributes to the names of the declaration; keys and type attribute only if wanted. */
static DynItem *
renamed(const Entity *entity, const DynItem *stored, bool made_too)
{
	ItemChildren map = attributes_of(stored);
	ItemBuilder b;

	item_build_init(&b, item_root(stored).len + 64);
	item_build_begin(&b, ITEM_M);
	for (uint32 i = 0; i < map.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&map, i), &name);
		const EntityAttribute *attribute = entity_stored_attribute(entity, name);
		ItemSpan ignored;

		if (!made_too && is_made(entity, name))
			continue;
		if (attribute != NULL)
			name = attribute->name;
		else
		{
			/* an attribute is read by its declared name only if it is not stored by another one */
			attribute = entity_attribute(entity, name);
			if (attribute != NULL && item_find(&map, attribute->stored, &ignored))
				continue;
		}
		item_build_name(&b, name);
		item_build_value(&b, value);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/*
 * Returns the attributes of a stored item by their declared names, without the type attribute and
 * without keys that are made of other attributes.  The item need not fit the entity.
 */
DynItem *
entity_logical(const Entity *entity, const DynItem *stored)
{
	return renamed(entity, stored, false);
}

/*
 * Returns a stored item with its attributes by their declared names.  Where no attribute is stored
 * by another name, it returns the given item itself, not a copy.
 */
DynItem *
entity_shown(const Entity *entity, const DynItem *stored)
{
	for (int i = 0; i < entity->nattributes; i++)
	{
		if (!entity_item_same(entity->attributes[i].name, entity->attributes[i].stored))
			return renamed(entity, stored, true);
	}
	return (DynItem *) stored;
}

/* Checks that the attributes of an item that keeps its table key make the same key. */
static void
check_place(const Entity *entity, const DynItem *item, const DynItem *key)
{
	ItemChildren map = attributes_of(item);
	ItemChildren wanted = attributes_of(key);

	for (int i = 0; i < entity->nkeys; i++)
	{
		const EntityKey *k = &entity->keys[i];
		ItemSpan now = {NULL, 0};
		ItemSpan before = {NULL, 0};

		if (!k->of_table)
			continue;
		item_find(&map, k->attribute, &now);
		item_find(&wanted, k->attribute, &before);
		if (!entity_item_same(now, before))
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("entity \"%s\": key \"%s\" of the table must not change",
								   item_quoted(entity->name), item_quoted(k->attribute)),
							errdetail("It is %s, and its template makes %s.",
									  before.len == 0 ? "missing" : entity_item_printed(before),
									  entity_item_printed(now)),
							errhint("Delete the item and put it with its new key.")));
	}
}

/* Drops the old keys, which may not be taken for given ones. */
static DynItem *
without_made(const Entity *entity, const DynItem *shown)
{
	ItemChildren map = attributes_of(shown);
	ItemBuilder b;

	item_build_init(&b, item_root(shown).len);
	item_build_begin(&b, ITEM_M);
	for (uint32 i = 0; i < map.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&map, i), &name);

		if (is_made(entity, name))
			continue;
		item_build_name(&b, name);
		item_build_value(&b, value);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}

/*
 * Returns the item to be stored for what entity_shown() has returned and the caller has changed,
 * with keys made again and without defaults.  Raises ERRCODE_DYN_VALIDATION if a key of the table
 * is no longer that of key, or if the item does not fit the entity.
 */
DynItem *
entity_restored(const Entity *entity, const DynItem *shown, const DynItem *key)
{
	DynItem *item =
		stored_item(entity, completed(entity, without_made(entity, shown), false), shown);

	check_place(entity, item, key);
	return item;
}

/*
 * Returns a stored item with keys made again from its attributes.  Raises ERRCODE_DYN_VALIDATION if
 * a key of the table would change, or if the item does not fit the entity.
 */
DynItem *
entity_rekeyed(const Entity *entity, const DynItem *stored)
{
	return entity_restored(entity, entity_shown(entity, stored), stored);
}

/*
 * Checking
 */

/*
 * Returns whether a stored item is of the entity: by its type attribute or, if the entity has none,
 * by the form of the table's keys.  Whether the rest of the item fits is left to entity_problems().
 */
bool
entity_has(const Entity *entity, const DynItem *stored)
{
	ItemChildren map = attributes_of(stored);
	ItemSpan value;

	if (entity->type_attribute.len == 0)
		return entity_has_form(entity, stored);
	return item_find(&map, entity->type_attribute, &value) && item_type(value) == ITEM_S &&
		   entity_item_same(item_payload(value), entity->type);
}

/* Returns whether the keys of the table have the form of the entity's. */
bool
entity_has_form(const Entity *entity, const DynItem *stored)
{
	ItemChildren map = attributes_of(stored);
	ItemSpan value;

	for (int i = 0; i < entity->nkeys; i++)
	{
		const EntityKey *key = &entity->keys[i];
		bool fits = false;

		if (!key->of_table)
			continue;
		if (!item_find(&map, key->attribute, &value) || item_type(value) != key->type)
			return false;
		for (int k = 0; k < key->ntemplates && !fits; k++)
			fits = key->templates[k].template->whole ||
				   template_fits(key->templates[k].template, item_payload(value));
		if (!fits)
			return false;
	}
	return true;
}

/*
 * Returns which of the entities an item is, or NULL.  Its type attribute decides; its key decides
 * only if no type matches.
 */
const Entity *
entity_of_item(const List *entities, const DynItem *item)
{
	for (int typed = 1; typed >= 0; typed--)
	{
		const ListCell *cell;

		foreach (cell, entities)
		{
			const Entity *entity = lfirst(cell);

			if ((entity->type_attribute.len > 0) == typed && entity_has(entity, item))
				return entity;
		}
	}
	return NULL;
}

static List *
attribute_problems(const Entity *entity, ItemChildren *map)
{
	List *problems = NIL;

	for (int i = 0; i < entity->nattributes; i++)
	{
		const EntityAttribute *attribute = &entity->attributes[i];
		const char *problem = NULL;
		ItemSpan value;

		if (item_find(map, attribute->stored, &value))
			problem = value_problem(attribute, value);
		else if (item_find(map, attribute->name, &value))
			problem = psprintf("attribute \"%s\" must be stored as \"%s\"",
							   item_quoted(attribute->name), item_quoted(attribute->stored));
		else if (attribute->required)
			problem = psprintf("attribute \"%s\" is missing", item_quoted(attribute->name));
		if (problem != NULL)
			problems = lappend(problems, (void *) problem);
	}
	return problems;
}

static const char *
key_problem(const EntityKey *key, const DynItem *logical, ItemChildren *map)
{
	const char *name = item_quoted(key->attribute);
	StringInfoData made;
	const char *problem;
	ItemSpan found;
	bool there = item_find(map, key->attribute, &found);
	ItemSpan value;

	initStringInfo(&made);
	problem = append_key(key, item_root(logical), &made);
	if (problem != NULL)
		return problem;
	value = (ItemSpan){made.data, (uint32) made.len};
	if (there && value.len > 0 && !entity_item_same(found, value))
		return psprintf("key \"%s\" is %s, its template makes %s", name, entity_item_printed(found),
						entity_item_printed(value));
	if (there && value.len == 0)
		return psprintf("key \"%s\" is %s, its templates make none", name,
						entity_item_printed(found));
	if (!there && value.len > 0)
		return psprintf("key \"%s\" is missing, its template makes %s", name,
						entity_item_printed(value));
	return NULL;
}

/* Returns whether the entity's templates make a key that an item has. */
bool
entity_makes_key(const Entity *entity, const EntityKey *key, const DynItem *stored)
{
	ItemChildren map = attributes_of(stored);

	return key_problem(key, entity_logical(entity, stored), &map) == NULL;
}

/*
 * Returns what does not fit the entity in a stored item, as a list of messages (char *) in the
 * current memory context; NIL if all fits.
 */
List *
entity_problems(const Entity *entity, const DynItem *stored)
{
	ItemChildren map = attributes_of(stored);
	DynItem *logical = entity_logical(entity, stored);
	List *problems = attribute_problems(entity, &map);
	ItemSpan type;

	if (entity->type_attribute.len > 0 &&
		(!item_find(&map, entity->type_attribute, &type) || item_type(type) != ITEM_S ||
		 !entity_item_same(item_payload(type), entity->type)))
		problems = lappend(problems, psprintf("the type attribute \"%s\" is not \"%s\"",
											  item_quoted(entity->type_attribute),
											  item_quoted(entity->type)));
	for (int i = 0; i < entity->nkeys; i++)
	{
		const char *problem;

		if (entity_stored_attribute(entity, entity->keys[i].attribute) != NULL)
			continue;
		problem = key_problem(&entity->keys[i], logical, &map);
		if (problem != NULL)
			problems = lappend(problems, (void *) problem);
	}
	return problems;
}
