/*
 * entity.c
 *	  Declarations of entities: read, checked, printed, found.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "ground/errors.h"
#include "entity/entity.h"

#define MAX_ENTITY_NAME 255

pg_noreturn static void
fail(const Entity *entity, const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid entity \"%s\": %s", item_quoted(entity->name), message)));
}

static ItemSpan
literal(const char *text)
{
	return (ItemSpan){text, (uint32) strlen(text)};
}

static bool
same(ItemSpan a, ItemSpan b)
{
	return item_compare_bytes(a, b) == 0;
}

/*
 * Members of JSON objects
 */

static void
check_members(const Entity *entity, const ItemChildren *members, const char *of,
			  const char *const *known)
{
	for (uint32 i = 0; i < members->count; i++)
	{
		StringInfoData list;
		ItemSpan name;
		int k = 0;

		item_entry(item_child(members, i), &name);
		while (known[k] != NULL && !item_span_is(name, known[k]))
			k++;
		if (known[k] != NULL)
			continue;
		initStringInfo(&list);
		for (k = 0; known[k] != NULL; k++)
			appendStringInfo(&list, "%s\"%s\"", k > 0 ? ", " : "", known[k]);
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid entity \"%s\": unknown member \"%s\" of %s",
							   item_quoted(entity->name), item_quoted(name), of),
						errdetail("Known are %s.", list.data)));
	}
}

/* A member that is a string, if it is there. */
static bool
get_string(const Entity *entity, const ItemChildren *members, const char *name, const char *of,
		   ItemSpan *string)
{
	ItemSpan value;

	if (!item_find(members, literal(name), &value))
		return false;
	if (item_type(value) != ITEM_S || value.len == 1)
		fail(entity, psprintf("\"%s\" of %s must be a string that is not empty", name, of));
	*string = item_payload(value);
	return true;
}

static ItemChildren
get_object(const Entity *entity, const ItemChildren *members, const char *name)
{
	ItemSpan value;

	if (!item_find(members, literal(name), &value) || item_type(value) != ITEM_M)
		fail(entity, psprintf("\"%s\" must be a JSON object", name));
	return item_children(value);
}

static void
check_name(const Entity *entity, const char *what, ItemSpan name)
{
	if (name.len == 0 || name.len > MAX_ENTITY_NAME || memchr(name.data, '\0', name.len) != NULL)
		fail(entity, psprintf("%s has 1 to %d bytes, and no U+0000", what, MAX_ENTITY_NAME));
}

/*
 * Attributes
 */

static void
parse_default(const Entity *entity, EntityAttribute *attribute, ItemSpan value)
{
	Oid sql = getBaseType(attribute->type.sql);

	if (item_span_is(value, "ksuid"))
	{
		attribute->missing = ENTITY_KSUID;
		if (attribute->type.type != ITEM_S || !value_type_is_open(&attribute->type))
			fail(entity, psprintf("the default \"ksuid\" of attribute \"%s\" is for type S",
								  item_quoted(attribute->name)));
	}
	else if (item_span_is(value, "now"))
	{
		attribute->missing = ENTITY_NOW;
		if (sql != TIMESTAMPOID && sql != TIMESTAMPTZOID && sql != DATEOID)
			fail(entity,
				 psprintf("the default \"now\" of attribute \"%s\" is for timestamps and dates",
						  item_quoted(attribute->name)));
	}
	else
		fail(entity, psprintf("attribute \"%s\" cannot have the default \"%s\"",
							  item_quoted(attribute->name), item_quoted(value)));
}

/* {"type": …, "required": …, "stored": …, "default": …} */
static void
parse_long_attribute(const Entity *entity, EntityAttribute *attribute, ItemSpan value)
{
	static const char *const known[] = {"type", "required", "stored", "default", NULL};
	char *of = psprintf("attribute \"%s\"", item_quoted(attribute->name));
	ItemChildren members = item_children(value);
	ItemSpan member;

	check_members(entity, &members, of, known);
	if (!get_string(entity, &members, "type", of, &member))
		fail(entity, psprintf("%s has no \"type\"", of));
	value_type_parse(member, &attribute->type);
	if (item_find(&members, literal("required"), &member))
	{
		if (item_type(member) != ITEM_BOOL)
			fail(entity, psprintf("\"required\" of %s must be true or false", of));
		attribute->required = item_bool(member);
	}
	get_string(entity, &members, "stored", of, &attribute->stored);
	if (get_string(entity, &members, "default", of, &member))
		parse_default(entity, attribute, member);
}

static void
parse_attributes(Entity *entity, const ItemChildren *members)
{
	ItemChildren map = get_object(entity, members, "attributes");

	entity->nattributes = (int) map.count;
	entity->attributes = palloc0(Max(map.count, 1) * sizeof(EntityAttribute));
	for (uint32 i = 0; i < map.count; i++)
	{
		EntityAttribute *attribute = &entity->attributes[i];
		ItemSpan value = item_entry(item_child(&map, i), &attribute->name);

		attribute->stored = attribute->name;
		if (item_type(value) == ITEM_S)
			value_type_parse(item_payload(value), &attribute->type);
		else if (item_type(value) == ITEM_M)
			parse_long_attribute(entity, attribute, value);
		else
			fail(entity, psprintf("attribute \"%s\" must be a type or a JSON object",
								  item_quoted(attribute->name)));
		check_name(entity, "the name of an attribute", attribute->name);
		check_name(entity, "the stored name of an attribute", attribute->stored);
		if (!value_type_is_open(&attribute->type))
			attribute->reader = value_reader(&attribute->type);
	}
}

/* Returns the attribute that is declared by this name, or NULL. */
const EntityAttribute *
entity_attribute(const Entity *entity, ItemSpan name)
{
	for (int i = 0; i < entity->nattributes; i++)
	{
		if (same(entity->attributes[i].name, name))
			return &entity->attributes[i];
	}
	return NULL;
}

/* Returns the attribute that has this name in stored items, or NULL. */
const EntityAttribute *
entity_stored_attribute(const Entity *entity, ItemSpan stored)
{
	for (int i = 0; i < entity->nattributes; i++)
	{
		if (same(entity->attributes[i].stored, stored))
			return &entity->attributes[i];
	}
	return NULL;
}

/*
 * Keys
 */

/* Returns the key whose attribute in stored items has this name, or NULL if there is none. */
const EntityKey *
entity_key(const Entity *entity, ItemSpan attribute)
{
	for (int i = 0; i < entity->nkeys; i++)
	{
		if (same(entity->keys[i].attribute, attribute))
			return &entity->keys[i];
	}
	return NULL;
}

/*
 * Returns the declared attribute that a template consists of, or NULL if the template has anything
 * else in it, or a path.
 */
const EntityAttribute *
entity_whole(const Entity *entity, const Template *t)
{
	return t->whole && t->parts[0].npath == 1 ? entity_attribute(entity, t->parts[0].path[0])
											  : NULL;
}

static void
fail_key(const Entity *entity, const EntityKey *key, const char *message)
{
	fail(entity, psprintf("key \"%s\" %s", item_quoted(key->attribute), message));
}

/* A placeholder must be of an attribute that its format is for. */
static void
check_part(const Entity *entity, const EntityKey *key, const TemplatePart *part)
{
	const EntityAttribute *attribute = entity_attribute(entity, part->path[0]);
	ItemType type;

	if (attribute == NULL)
		fail_key(entity, key,
				 psprintf("is made of attribute \"%s\", which is not declared",
						  item_quoted(part->path[0])));
	type = attribute->type.type;
	/* what is in a map is seen when it is there */
	if (part->npath > 1)
	{
		if (type != ITEM_M)
			fail_key(entity, key,
					 psprintf("is made of what is in attribute \"%s\", which is no map",
							  item_quoted(attribute->name)));
	}
	else if (part->width > 0              ? type != ITEM_N
			 : part->upper || part->lower ? type != ITEM_S
										  : type != ITEM_S && type != ITEM_N)
		fail_key(entity, key,
				 psprintf("cannot have <%s> of an attribute of type %s", item_quoted(part->source),
						  item_type_code(type)));
}

static void
check_template(const Entity *entity, const EntityKey *key, const Template *t)
{
	if (t->whole)
	{
		const EntityAttribute *attribute = entity_attribute(entity, t->parts[0].path[0]);

		if (attribute == NULL)
			check_part(entity, key, &t->parts[0]);
		else if (t->parts[0].npath == 1 && attribute->type.type != key->type && key->place >= 0)
			fail_key(entity, key,
					 psprintf("is of type %s, and attribute \"%s\" of type %s",
							  item_type_code(key->type), item_quoted(attribute->name),
							  item_type_code(attribute->type.type)));
		else if (t->parts[0].npath > 1)
			check_part(entity, key, &t->parts[0]);
		return;
	}
	if (key->type != ITEM_S)
		fail_key(entity, key,
				 psprintf("is of type %s, and must be one attribute as it is, like \"<Name>\"",
						  item_type_code(key->type)));
	for (int i = 0; i < t->nparts; i++)
	{
		if (t->parts[i].npath > 0)
			check_part(entity, key, &t->parts[i]);
	}
}

static void
check_when(const Entity *entity, const EntityKey *key, const DynItem *when)
{
	ItemChildren map = item_children(item_root(when));

	for (uint32 i = 0; i < map.count; i++)
	{
		const EntityAttribute *attribute;
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&map, i), &name);

		attribute = entity_attribute(entity, name);
		if (attribute == NULL)
			fail_key(
				entity, key,
				psprintf("depends on attribute \"%s\", which is not declared", item_quoted(name)));
		if (item_type(value) != ITEM_NULL && item_type(value) != attribute->type.type)
			fail_key(entity, key,
					 psprintf("compares attribute \"%s\" of type %s with a value of type %s",
							  item_quoted(name), item_type_code(attribute->type.type),
							  item_type_code(item_type(value))));
	}
}

/* {"when": {…}, "template": "…"} */
static void
parse_choice(const Entity *entity, const EntityKey *key, ItemSpan value, EntityTemplate *choice)
{
	static const char *const known[] = {"when", "template", NULL};
	char *of = psprintf("key \"%s\"", item_quoted(key->attribute));
	ItemChildren members;
	ItemSpan member;

	if (item_type(value) != ITEM_M)
		fail_key(entity, key, "must be a template or a list of objects with one each");
	members = item_children(value);
	check_members(entity, &members, of, known);
	if (!get_string(entity, &members, "template", of, &member))
		fail_key(entity, key, "has an object without \"template\"");
	choice->template = template_parse(member);
	if (!item_find(&members, literal("when"), &member))
		return;
	if (item_type(member) != ITEM_M || item_children(member).count == 0)
		fail_key(entity, key, "has a \"when\" that is no JSON object with attributes");
	choice->when = item_from_value(member);
	check_when(entity, key, choice->when);
}

static void
parse_templates(const Entity *entity, EntityKey *key, ItemSpan value)
{
	if (item_type(value) == ITEM_S)
	{
		key->ntemplates = 1;
		key->templates = palloc0(sizeof(EntityTemplate));
		key->templates[0].template = template_parse(item_payload(value));
	}
	else if (item_type(value) == ITEM_L && item_children(value).count > 0)
	{
		ItemChildren list = item_children(value);

		key->ntemplates = (int) list.count;
		key->templates = palloc0(list.count * sizeof(EntityTemplate));
		for (uint32 i = 0; i < list.count; i++)
		{
			parse_choice(entity, key, item_child(&list, i), &key->templates[i]);
			if (i > 0 && key->templates[i - 1].when == NULL)
				fail_key(entity, key, "has a template behind the one that is always taken");
		}
	}
	else
		fail_key(entity, key, "must be a template or a list of objects with one each");
	for (int i = 0; i < key->ntemplates; i++)
		check_template(entity, key, key->templates[i].template);
}

static int
place_of(const DynTable *table, ItemSpan attribute)
{
	for (int i = 0; i < table->nattributes; i++)
	{
		if (same(table->keys[i].attribute, attribute))
			return i;
	}
	return -1;
}

static void
parse_key(Entity *entity, const DynTable *table, ItemSpan attribute, ItemSpan value, bool is_new)
{
	EntityKey *key = &entity->keys[entity->nkeys];
	const EntityAttribute *whole;

	/* the schema, which may be where it is, does not live as long */
	key->attribute = (ItemSpan){pnstrdup(attribute.data, attribute.len), attribute.len};
	key->place = place_of(table, attribute);
	if (key->place < 0 && is_new)
		fail_key(entity, key, psprintf("is no key of table \"%s\" or its indexes", table->name));
	key->type = key->place < 0 ? ITEM_S : table->keys[key->place].type;
	key->of_table = key->place >= 0 && key->place < table->nkeys;
	parse_templates(entity, key, value);
	whole = entity_whole(entity, key->templates[0].template);
	if (key->place < 0 && whole != NULL)
		key->type = whole->type.type;
	entity->nkeys++;
}

/* An attribute that all templates of a key are made of. */
static void
require_attributes(Entity *entity, const EntityKey *key)
{
	for (int i = 0; i < entity->nattributes; i++)
	{
		bool in_all = true;

		for (int k = 0; k < key->ntemplates && in_all; k++)
		{
			const Template *t = key->templates[k].template;
			bool found = false;

			for (int p = 0; p < t->nparts; p++)
				found |=
					t->parts[p].npath > 0 && same(t->parts[p].path[0], entity->attributes[i].name);
			in_all = found;
		}
		if (in_all)
			entity->attributes[i].required = true;
	}
}

static void
parse_keys(Entity *entity, const DynTable *table, const ItemChildren *members, bool is_new)
{
	ItemChildren map = get_object(entity, members, "keys");

	entity->keys = palloc0((map.count + table->nkeys) * sizeof(EntityKey));
	for (int i = 0; i < table->nkeys; i++)
	{
		ItemSpan value;

		if (!item_find(&map, table->keys[i].attribute, &value))
			fail(entity, psprintf("key \"%s\" of the table has no template",
								  item_quoted(table->keys[i].attribute)));
		parse_key(entity, table, table->keys[i].attribute, value, is_new);
		require_attributes(entity, &entity->keys[i]);
	}
	for (uint32 i = 0; i < map.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&map, i), &name);

		if (entity_key(entity, name) == NULL)
			parse_key(entity, table, name, value, is_new);
	}
}

/*
 * All together
 */

/* An attribute may have the name of a key only if it is that key. */
static void
check_key_name(const Entity *entity, const EntityAttribute *attribute, ItemSpan name)
{
	const EntityKey *key = entity_key(entity, name);

	if (key == NULL || (key->ntemplates == 1 && key->templates[0].when == NULL &&
						entity_whole(entity, key->templates[0].template) == attribute &&
						same(attribute->stored, name)))
		return;
	fail(entity, psprintf("attribute \"%s\" has the name of key \"%s\", which is made of others",
						  item_quoted(attribute->name), item_quoted(name)));
}

static void
check_names(const Entity *entity)
{
	for (int i = 0; i < entity->nattributes; i++)
	{
		const EntityAttribute *attribute = &entity->attributes[i];

		check_key_name(entity, attribute, attribute->name);
		check_key_name(entity, attribute, attribute->stored);
		if (entity->type_attribute.len > 0 && (same(attribute->name, entity->type_attribute) ||
											   same(attribute->stored, entity->type_attribute)))
			fail(entity,
				 psprintf("attribute \"%s\" is the type attribute", item_quoted(attribute->name)));
		for (int k = 0; k < entity->nattributes; k++)
		{
			const EntityAttribute *other = &entity->attributes[k];

			if (k != i &&
				(same(attribute->stored, other->stored) || same(attribute->stored, other->name)))
				fail(entity, psprintf("attributes \"%s\" and \"%s\" have a name in common",
									  item_quoted(attribute->name), item_quoted(other->name)));
		}
	}
	if (entity->type_attribute.len > 0 && entity_key(entity, entity->type_attribute) != NULL)
		fail(entity,
			 psprintf("the type attribute \"%s\" is a key", item_quoted(entity->type_attribute)));
}

/*
 * Returns the entity that a declaration describes, in the current memory context, or raises
 * ERRCODE_DYN_VALIDATION.  is_new: its keys must be keys of the table or of its indexes now.  Types
 * of SQL are looked up by search_path.
 */
Entity *
entity_parse(const DynTable *table, const DynItem *declaration, bool is_new)
{
	static const char *const known[] = {"entity", "type_attribute", "type",
										"keys",   "attributes",     NULL};
	Entity *entity = palloc0(sizeof(Entity));
	DynItem *copy = item_from_value(item_root(declaration));
	ItemChildren members = item_children(item_root(copy));

	/* all names are in the copy */
	if (!get_string(entity, &members, "entity", "an entity", &entity->name))
		fail(entity, "it has no name");
	check_name(entity, "the name of an entity", entity->name);
	check_members(entity, &members, "an entity", known);
	if (get_string(entity, &members, "type_attribute", "an entity", &entity->type_attribute))
	{
		check_name(entity, "the name of the type attribute", entity->type_attribute);
		entity->type = entity->name;
		get_string(entity, &members, "type", "an entity", &entity->type);
	}
	parse_attributes(entity, &members);
	parse_keys(entity, table, &members, is_new);
	check_names(entity);
	return entity;
}

static void
print_attribute(StringInfo out, const EntityAttribute *attribute)
{
	item_print_string(out, attribute->name);
	appendStringInfoString(out, ": {\"type\": ");
	item_print_string(out, literal(value_type_print(&attribute->type)));
	if (attribute->required)
		appendStringInfoString(out, ", \"required\": true");
	if (!same(attribute->stored, attribute->name))
	{
		appendStringInfoString(out, ", \"stored\": ");
		item_print_string(out, attribute->stored);
	}
	if (attribute->missing != ENTITY_NO_DEFAULT)
		appendStringInfo(out, ", \"default\": \"%s\"",
						 attribute->missing == ENTITY_KSUID ? "ksuid" : "now");
	appendStringInfoChar(out, '}');
}

/* What all declarations of an entity begin with. */
void
entity_print_begin(StringInfo out, const Entity *entity)
{
	appendStringInfoString(out, "{\"entity\": ");
	item_print_string(out, entity->name);
	if (entity->type_attribute.len > 0)
	{
		appendStringInfoString(out, ", \"type_attribute\": ");
		item_print_string(out, entity->type_attribute);
		appendStringInfoString(out, ", \"type\": ");
		item_print_string(out, entity->type);
	}
}

/* As an argument of the model's trigger: types by their schemas, whatever the search_path. */
char *
entity_print(const Entity *entity, const DynItem *declaration)
{
	ItemChildren members = item_children(item_root(declaration));
	ItemSpan keys;
	StringInfoData out;

	initStringInfo(&out);
	entity_print_begin(&out, entity);
	appendStringInfoString(&out, ", \"keys\": ");
	item_find(&members, literal("keys"), &keys);
	item_print_plain(&out, keys);
	appendStringInfoString(&out, ", \"attributes\": {");
	for (int i = 0; i < entity->nattributes; i++)
	{
		if (i > 0)
			appendStringInfoString(&out, ", ");
		print_attribute(&out, &entity->attributes[i]);
	}
	appendStringInfoString(&out, "}}");
	return out.data;
}

/*
 * Those of a table
 */

/* Where a declaration is that cannot be read any more. */
typedef struct ReadContext
{
	const char *table;
	ItemSpan entity;
} ReadContext;

static void
add_context(void *arg)
{
	const ReadContext *context = arg;

	errcontext("entity \"%s\" of table \"%s\"", item_quoted(context->entity), context->table);
}

/*
 * With the rights of the table's owner, who has declared it: whoever writes items need not be allowed to use
 * the schemas of their types, as he need not for the types of columns.
 */
static Entity *
read_entity(Relation rel, const DynTable *table, const ModelDeclaration *declaration)
{
	ReadContext context = {RelationGetRelationName(rel), declaration->name};
	ErrorContextCallback callback = {error_context_stack, add_context, &context};
	Entity *entity;
	Oid user;
	int security;

	error_context_stack = &callback;
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   security | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	entity = entity_parse(table,
						  item_parse(declaration->json, (int) strlen(declaration->json),
									 ITEM_SYNTAX_PLAIN_ITEM, NULL),
						  false);
	SetUserIdAndSecContext(user, security);
	error_context_stack = callback.previous;
	return entity;
}

/*
 * Reads the entities of an open table into the current memory context, in the order in which they
 * were declared; NIL if there are none.  Their types are looked up with the rights of the table's
 * owner.
 */
List *
entities_of(Relation rel, const DynTable *table)
{
	List *entities = NIL;
	ListCell *cell;

	foreach (cell, model_declarations(rel))
	{
		const ModelDeclaration *declaration = lfirst(cell);

		if (declaration->kind == MODEL_ENTITY)
			entities = lappend(entities, read_entity(rel, table, declaration));
	}
	return entities;
}

/*
 * Reads the entity of an open table that has this name into the current memory context, as
 * entities_of() does.  If there is none, returns NULL with missing_ok, and otherwise raises
 * ERRCODE_UNDEFINED_OBJECT.
 */
Entity *
entity_find(Relation rel, const DynTable *table, ItemSpan name, bool missing_ok)
{
	const ModelDeclaration *declaration = model_find(model_declarations(rel), MODEL_ENTITY, name);

	if (declaration != NULL)
		return read_entity(rel, table, declaration);
	if (!missing_ok)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("entity \"%s\" of table \"%s\" does not exist", item_quoted(name),
							   RelationGetRelationName(rel))));
	return NULL;
}
