/*
 * entity.c
 *	  Declarations of entities: read, checked, printed, found.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/rights.h"
#include "item/fields.h"
#include "item/reader.h"
#include "models/entity/entity.h"
#include "server/errors.h"

#define MAX_ENTITY_NAME 255

pg_noreturn static void
entity_fail(const Entity *entity, const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid entity \"%s\": %s", item_quoted(entity->name), message)));
}

static bool
entity_same(ItemSpan a, ItemSpan b)
{
	return item_compare_bytes(a, b) == 0;
}

/* Raises the error of a table of fields: context is the entity. */
static void
fail_fields(const FieldReader *reader, const char *message, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid entity \"%s\": %s",
						   item_quoted(((const Entity *) reader->context)->name), message),
					detail == NULL ? 0 : errdetail("%s", detail)));
}

static void
check_name(const Entity *entity, const char *what, ItemSpan name)
{
	if (name.len == 0 || name.len > MAX_ENTITY_NAME || memchr(name.data, '\0', name.len) != NULL)
		entity_fail(entity, psprintf("%s has 1 to %d bytes, and no U+0000", what, MAX_ENTITY_NAME));
}

/*
 * Attributes
 */

static void
check_default(const Entity *entity, const EntityAttribute *attribute)
{
	Oid sql = getBaseType(attribute->type.sql);

	if (attribute->missing == ENTITY_KSUID &&
		(attribute->type.type != ITEM_S || !value_type_is_open(&attribute->type)))
		entity_fail(entity, psprintf("the default \"ksuid\" of attribute \"%s\" is for type S",
									 item_quoted(attribute->name)));
	if (attribute->missing == ENTITY_NOW && sql != TIMESTAMPOID && sql != TIMESTAMPTZOID &&
		sql != DATEOID)
		entity_fail(entity,
					psprintf("the default \"now\" of attribute \"%s\" is for timestamps and dates",
							 item_quoted(attribute->name)));
}

static void
read_type(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	value_type_parse(item_payload(value), FIELD_POINTER(field, ValueType, target));
}

/* Prints a type's name with its schema, whatever the search_path is. */
static void
print_type(JsonWriter *json, const Field *field, const void *target)
{
	json_write_string(json, field->name,
					  value_type_print(FIELD_POINTER(field, const ValueType, target)));
}

static void
print_stored(JsonWriter *json, const Field *field, const void *target)
{
	const EntityAttribute *attribute = target;

	if (!entity_same(attribute->stored, attribute->name))
		json_write_span(json, field->name, attribute->stored);
}

static const Field copy_fields[] = {
	{"entity", FIELD_NAME, FIELD_AT(EntityCopy, entity), .required = true},
	{"attribute", FIELD_NAME, FIELD_AT(EntityCopy, attribute), .required = true},
	{"by", FIELD_OBJECT, FIELD_AT(EntityCopy, by), .required = true},
	{NULL}};

static void
read_copy(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	EntityCopy *copy = palloc0(sizeof(EntityCopy));
	FieldReader members = *reader;
	ItemChildren by;

	if (item_type(value) != ITEM_M)
		field_fail(reader, field->name, "a JSON object");
	members.of = psprintf("\"copy\" of %s", reader->of);
	fields_read(&members, copy_fields, copy, value);
	by = item_children(copy->by);
	for (uint32 i = 0; i < by.count; i++)
	{
		ItemSpan name;

		if (item_type(item_entry(item_child(&by, i), &name)) != ITEM_S)
			field_fail(&members, "by", "a JSON object with names of attributes");
	}
	((EntityAttribute *) target)->copy = copy;
}

static void
print_copy(JsonWriter *json, const Field *field, const void *target)
{
	const EntityAttribute *attribute = target;

	if (attribute->copy != NULL)
		fields_print_object(json, field->name, copy_fields, attribute->copy);
}

static const char *const default_names[] = {"", "ksuid", "now", NULL}; /* by EntityDefault */

static const Field attribute_fields[] = {
	{"type", FIELD_NAME, FIELD_AT(EntityAttribute, type), .required = true, .read = read_type,
	 .print = print_type},
	{"required", FIELD_BOOL, FIELD_AT(EntityAttribute, required)},
	{"stored", FIELD_NAME, FIELD_AT(EntityAttribute, stored), .print = print_stored},
	{"default", FIELD_CHOICE, FIELD_AT(EntityAttribute, missing), .choices = default_names},
	{"copy", FIELD_OWN, .read = read_copy, .print = print_copy},
	{NULL}};

/* Reads an attribute: a type, or an object. */
static void
read_attribute(const FieldReader *reader, EntityAttribute *attribute, ItemSpan value)
{
	const Entity *entity = reader->context;
	FieldReader members = *reader;

	attribute->stored = attribute->name;
	members.of = psprintf("attribute \"%s\"", item_quoted(attribute->name));
	if (item_type(value) == ITEM_S)
		value_type_parse(item_payload(value), &attribute->type);
	else if (item_type(value) == ITEM_M)
		fields_read(&members, attribute_fields, attribute, value);
	else
		entity_fail(entity, psprintf("%s must be a type or a JSON object", members.of));
	check_default(entity, attribute);
	check_name(entity, "the name of an attribute", attribute->name);
	check_name(entity, "the stored name of an attribute", attribute->stored);
	if (!value_type_is_open(&attribute->type))
		attribute->reader = value_reader(&attribute->type);
}

static void
read_attributes(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	Entity *entity = target;
	ItemChildren map = item_children(value);

	entity->nattributes = (int) map.count;
	entity->attributes = palloc0(Max(map.count, 1) * sizeof(EntityAttribute));
	for (uint32 i = 0; i < map.count; i++)
	{
		ItemSpan attribute = item_entry(item_child(&map, i), &entity->attributes[i].name);

		read_attribute(reader, &entity->attributes[i], attribute);
	}
}

static void
print_attributes(JsonWriter *json, const Field *field, const void *target)
{
	const Entity *entity = target;

	if (entity->attributes == NULL)
		return;
	json_write_begin(json, field->name);
	for (int i = 0; i < entity->nattributes; i++)
	{
		json_write_member(json, entity->attributes[i].name);
		fields_print_object(json, NULL, attribute_fields, &entity->attributes[i]);
	}
	json_write_end(json);
}

/* Returns the attribute that is declared by this name, or NULL. */
const EntityAttribute *
entity_attribute(const Entity *entity, ItemSpan name)
{
	for (int i = 0; i < entity->nattributes; i++)
	{
		if (entity_same(entity->attributes[i].name, name))
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
		if (entity_same(entity->attributes[i].stored, stored))
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
		if (entity_same(entity->keys[i].attribute, attribute))
			return &entity->keys[i];
	}
	return NULL;
}

/*
 * Returns the declared attribute that a template consists of, or NULL if the template contains
 * anything else, or a path.
 */
static const EntityAttribute *
entity_whole(const Entity *entity, const Template *t)
{
	return t->whole && t->parts[0].npath == 1 ? entity_attribute(entity, t->parts[0].path[0])
											  : NULL;
}

static void
fail_key(const Entity *entity, const EntityKey *key, const char *message)
{
	entity_fail(entity, psprintf("key \"%s\" %s", item_quoted(key->attribute), message));
}

/* Checks that the format of a placeholder suits the type of its attribute. */
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
	/* the type of a value in a map is known only with the item */
	if (part->npath > 1)
	{
		if (type != ITEM_M)
			fail_key(entity, key,
					 psprintf("is made of what is in attribute \"%s\", which is no map",
							  item_quoted(attribute->name)));
	}
	else if (part->width > 0              ? type != ITEM_N
			 : part->upper || part->lower ? type != ITEM_S
										  : type != ITEM_S && type != ITEM_N &&
												(type != ITEM_BOOL || part->unit != TEMPLATE_WHOLE))
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

static void
read_when(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	if (item_children(value).count == 0)
		field_fail(reader, field->name, field->wanted);
	*FIELD_POINTER(field, const DynItem *, target) = item_from_value(value);
}

static void
print_when(JsonWriter *json, const Field *field, const void *target)
{
	const DynItem *when = *FIELD_POINTER(field, const DynItem *const, target);

	if (when == NULL)
		return;
	json_write_name(json, field->name);
	item_print_plain(json->text, item_root(when));
}

static void
read_template(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	*FIELD_POINTER(field, Template *, target) = template_parse(item_payload(value));
}

static void
print_template(JsonWriter *json, const Field *field, const void *target)
{
	json_write_span(json, field->name, (*FIELD_POINTER(field, Template *const, target))->text);
}

static const Field choice_fields[] = {
	{"when", FIELD_OBJECT, FIELD_AT(EntityTemplate, when), .read = read_when, .print = print_when,
	 .wanted = "a JSON object with attributes"},
	{"template", FIELD_NAME, FIELD_AT(EntityTemplate, template), .required = true,
	 .read = read_template, .print = print_template},
	{NULL}};

/* Parses {"when": {…}, "template": "…"}. */
static void
parse_choice(const Entity *entity, const EntityKey *key, ItemSpan value, EntityTemplate *choice)
{
	FieldReader reader = {fail_fields, psprintf("key \"%s\"", item_quoted(key->attribute)),
						  (void *) entity};

	if (item_type(value) != ITEM_M)
		fail_key(entity, key, "must be a template or a list of objects with one each");
	fields_read(&reader, choice_fields, choice, value);
	if (choice->when != NULL)
		check_when(entity, key, choice->when);
}

/* Writes one of the templates of a key as an object. */
void
entity_print_choice(JsonWriter *json, const EntityTemplate *choice)
{
	fields_print_object(json, NULL, choice_fields, choice);
}

/* A key of type S takes a number or a boolean that is all of it as it takes one beside a literal. */
static void
take_text(const Entity *entity, const EntityKey *key, EntityTemplate *choice)
{
	const EntityAttribute *whole = entity_whole(entity, choice->template);
	const char *text;

	if (whole == NULL || key->place < 0 || key->type != ITEM_S ||
		(whole->type.type != ITEM_N && whole->type.type != ITEM_BOOL))
		return;
	text = psprintf("<%s:text>", span_string(choice->template->parts[0].source));
	choice->template = template_parse(item_span(text));
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
	{
		take_text(entity, key, &key->templates[i]);
		check_template(entity, key, key->templates[i].template);
	}
}

static int
place_of(const DynTable *table, ItemSpan attribute)
{
	for (int i = 0; i < table->nattributes; i++)
	{
		if (entity_same(table->keys[i].attribute, attribute))
			return i;
	}
	return -1;
}

static void
parse_key(Entity *entity, const DynTable *table, ItemSpan attribute, ItemSpan value, bool is_new)
{
	EntityKey *key = &entity->keys[entity->nkeys];
	const EntityAttribute *whole;

	/* the name may point into the schema, which does not live as long */
	key->attribute = span_copy(attribute);
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

/* Returns an attribute that all templates of a key consist of. */
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
				found |= t->parts[p].npath > 0 &&
						 entity_same(t->parts[p].path[0], entity->attributes[i].name);
			in_all = found;
		}
		if (in_all)
			entity->attributes[i].required = true;
	}
}

static void
parse_keys(Entity *entity, const DynTable *table, bool is_new)
{
	ItemChildren map = item_children(entity->declared_keys);

	entity->keys = palloc0((map.count + table->nkeys) * sizeof(EntityKey));
	for (int i = 0; i < table->nkeys; i++)
	{
		ItemSpan value;

		if (!item_find(&map, table->keys[i].attribute, &value))
			entity_fail(entity, psprintf("key \"%s\" of the table has no template",
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

/* Checks that an attribute has the name of a key only if it is that key. */
static void
check_key_name(const Entity *entity, const EntityAttribute *attribute, ItemSpan name)
{
	const EntityKey *key = entity_key(entity, name);

	if (key == NULL || (key->ntemplates == 1 && key->templates[0].when == NULL &&
						entity_whole(entity, key->templates[0].template) == attribute &&
						entity_same(attribute->stored, name)))
		return;
	entity_fail(entity,
				psprintf("attribute \"%s\" has the name of key \"%s\", which is made of others",
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
		if (entity->type_attribute.len > 0 &&
			(entity_same(attribute->name, entity->type_attribute) ||
			 entity_same(attribute->stored, entity->type_attribute)))
			entity_fail(entity, psprintf("attribute \"%s\" is the type attribute",
										 item_quoted(attribute->name)));
		for (int k = 0; k < entity->nattributes; k++)
		{
			const EntityAttribute *other = &entity->attributes[k];

			if (k != i && (entity_same(attribute->stored, other->stored) ||
						   entity_same(attribute->stored, other->name)))
				entity_fail(entity,
							psprintf("attributes \"%s\" and \"%s\" have a name in common",
									 item_quoted(attribute->name), item_quoted(other->name)));
		}
	}
	if (entity->type_attribute.len > 0 && entity_key(entity, entity->type_attribute) != NULL)
		entity_fail(entity, psprintf("the type attribute \"%s\" is a key",
									 item_quoted(entity->type_attribute)));
}

static Oid
type_owner(Oid type)
{
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Oid owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	owner = ((Form_pg_type) GETSTRUCT(tuple))->typowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * Checks who owns types.  A type is known by its name, which the owner of its schema can give to
 * another type.  What that one checks would run as whoever reads or writes an item.  So its owner
 * must be somebody who could hang code on the table anyway.
 */
static void
check_type_owners(const Entity *entity, const DynTable *table)
{
	Oid owner = rights_owner(table->relid);

	for (int i = 0; i < entity->nattributes; i++)
	{
		Oid type = entity->attributes[i].type.sql;
		Oid other = type_owner(type);

		if (type >= FirstNormalObjectId && !has_privs_of_role(other, owner))
			entity_fail(entity,
						psprintf("the owner of type %s, \"%s\", has not the rights of the owner "
								 "of the table",
								 format_type_be_qualified(type), GetUserNameFromId(other, false)));
	}
}

static void
read_given(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	Entity *entity = target;

	entity->ngiven =
		field_strings(reader, field, value, "an array of names of attributes", &entity->given);
}

static void
print_given(JsonWriter *json, const Field *field, const void *target)
{
	const Entity *entity = target;

	if (entity->ngiven > 0)
		json_write_spans(json, field->name, entity->given, entity->ngiven);
}

static const Field entity_fields[] = {
	{"entity", FIELD_NAME, FIELD_AT(Entity, name), .required = true},
	{"type_attribute", FIELD_NAME, FIELD_AT(Entity, type_attribute)},
	{"type", FIELD_NAME, FIELD_AT(Entity, type)},
	{"required", FIELD_BOOL, FIELD_AT(Entity, required)},
	{"given", FIELD_OWN, .read = read_given, .print = print_given},
	{"keys", FIELD_OBJECT, FIELD_AT(Entity, declared_keys), .required = true},
	{"attributes", FIELD_OBJECT, .required = true, .read = read_attributes,
	 .print = print_attributes},
	{NULL}};

/* Checks that copies have what they are found by. */
static void
check_copies(const Entity *entity)
{
	for (int i = 0; i < entity->nattributes; i++)
	{
		const EntityAttribute *attribute = &entity->attributes[i];
		ItemChildren by;

		if (attribute->copy == NULL)
			continue;
		by = item_children(attribute->copy->by);
		for (uint32 k = 0; k < by.count; k++)
		{
			ItemSpan name;
			ItemSpan value = item_payload(item_entry(item_child(&by, k), &name));

			if (entity_attribute(entity, value) == NULL)
				entity_fail(entity,
							psprintf("attribute \"%s\" is copied by attribute \"%s\", which is not "
									 "declared",
									 item_quoted(attribute->name), item_quoted(value)));
		}
	}
}

/*
 * Returns the entity that a declaration describes, in the current memory context, or raises
 * ERRCODE_DYN_VALIDATION.  is_new: its keys must be keys of the table or of its indexes now.  Types
 * of SQL are looked up by search_path.
 */
Entity *
entity_parse(const DynTable *table, const DynItem *declaration, bool is_new)
{
	Entity *entity = palloc0(sizeof(Entity));
	FieldReader reader = {fail_fields, "an entity", entity};
	/* all names are in the copy */
	ItemSpan root = item_root(item_from_value(item_root(declaration)));
	ItemChildren members = item_children(root);
	ItemSpan name;

	/* first, as all errors name the entity */
	if (!item_find(&members, item_span("entity"), &name))
		entity_fail(entity, "it has no name");
	entity->name = field_string(&reader, "entity", name);
	check_name(entity, "the name of an entity", entity->name);
	fields_read(&reader, entity_fields, entity, root);
	/* a view names types of pg_catalog alone, see models/view/member.c */
	if (OidIsValid(table->relid))
		check_type_owners(entity, table);
	if (entity->type_attribute.len == 0)
		entity->type = entity->type_attribute;
	else
	{
		check_name(entity, "the name of the type attribute", entity->type_attribute);
		if (entity->type.len == 0)
			entity->type = entity->name;
	}
	parse_keys(entity, table, is_new);
	check_names(entity);
	check_copies(entity);
	return entity;
}

static int
compare_attributes(const void *a, const void *b)
{
	return item_compare_bytes(((const EntityAttribute *) a)->name,
							  ((const EntityAttribute *) b)->name);
}

/*
 * Brings the attributes of an entity, which entity_parse() has sorted by their names, into the order
 * of their declaration: attributes is the JSON text of the object that they were read from.
 */
void
entity_order(Entity *entity, ItemSpan attributes)
{
	int n = entity->nattributes;
	EntityAttribute *ordered = palloc((n + 1) * sizeof(EntityAttribute));
	bool *taken = palloc0((n + 1) * sizeof(bool));
	EntityAttribute key;
	JsonReader reader;
	int next = 0;

	json_reader_begin(&reader, attributes.data, (int) attributes.len, "declaration",
					  ERRCODE_INVALID_TABLE_DEFINITION);
	for (json_read_map(&reader); json_read_member(&reader, &key.name); json_skip(&reader))
	{
		const EntityAttribute *found =
			bsearch(&key, entity->attributes, n, sizeof(EntityAttribute), compare_attributes);

		CHECK_FOR_INTERRUPTS();
		/* a name that is there twice stands where it is first */
		if (found == NULL || taken[found - entity->attributes])
			continue;
		taken[found - entity->attributes] = true;
		ordered[next++] = *found;
	}
	for (int i = 0; i < n; i++)
	{
		if (!taken[i])
			ordered[next++] = entity->attributes[i];
	}
	entity->attributes = ordered;
}

/* Writes the members that all declarations of an entity begin with: all but keys and attributes. */
void
entity_print_names(JsonWriter *json, const Entity *entity)
{
	Entity names = {
		.name = entity->name, .type_attribute = entity->type_attribute, .type = entity->type};

	fields_print(json, entity_fields, &names);
}

/*
 * Returns an entity as the JSON text of its declaration in the table's label: types with their
 * schemas, whatever the search_path.
 */
char *
entity_print(const Entity *entity)
{
	JsonWriter json = json_writer(JSON_SPACED);

	fields_print_object(&json, NULL, entity_fields, entity);
	return json.text->data;
}

/*
 * Those of a table
 */

/* This is of an error context that names the declaration that cannot be read. */
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

static Entity *
parse_declaration(const ModelDeclaration *declaration, const DynTable *table)
{
	ItemSpan attributes;
	Entity *entity = entity_parse(table,
								  item_parse(declaration->json, (int) strlen(declaration->json),
											 ITEM_SYNTAX_PLAIN_ITEM, NULL),
								  false);

	if (model_member(declaration, "attributes", &attributes))
		entity_order(entity, attributes);
	return entity;
}

/*
 * Parses a declaration with the rights of the table's owner, who has declared it: a role that
 * writes items needs no USAGE on the schemas of their types, as it needs none for the types of
 * columns.  Some callers go on after an error, and must not have these rights then.
 */
static void *
read_entity(const ModelDeclaration *declaration, Relation rel, const DynTable *table)
{
	ReadContext context = {RelationGetRelationName(rel), declaration->name};
	ErrorContextCallback callback = {error_context_stack, add_context, &context};
	Entity *volatile entity = NULL;
	Oid user;
	int security;

	error_context_stack = &callback;
	GetUserIdAndSecContext(&user, &security);
	PG_TRY();
	{
		SetUserIdAndSecContext(rel->rd_rel->relowner, security | SECURITY_LOCAL_USERID_CHANGE |
														  SECURITY_RESTRICTED_OPERATION);
		entity = parse_declaration(declaration, table);
	}
	PG_FINALLY();
	{
		SetUserIdAndSecContext(user, security);
	}
	PG_END_TRY();
	error_context_stack = callback.previous;
	return entity;
}

/*
 * Returns the entities of an open table, in the order in which they were declared; NIL if there are
 * none.  They belong to the session's cache, and are valid until the transaction ends.
 */
List *
entities_of(Relation rel, const DynTable *table)
{
	List *entities = NIL;
	ListCell *cell;

	foreach (cell, model_cached(rel, MODEL_ENTITY))
		entities = lappend(entities, model_parsed(lfirst(cell), read_entity, rel, table));
	return entities;
}

/* Returns what to do where a table has no entity of that name. */
static const char *
missing_hint(List *declarations, ItemSpan name)
{
	ListCell *cell;

	foreach (cell, declarations)
	{
		ItemSpan here = ((const ModelDeclaration *) lfirst(cell))->name;

		if (here.len == name.len && pg_strncasecmp(here.data, name.data, name.len) == 0)
			return psprintf("Names of entities are case-sensitive, and there is \"%s\".",
							item_quoted(here));
	}
	return declarations == NIL ? "Declare it with dyn_create_entity()."
							   : "dyn_entities() lists the entities of a table.";
}

static ModelDeclaration *
find_declaration(Relation rel, ItemSpan name)
{
	List *declarations = model_cached(rel, MODEL_ENTITY);
	ModelDeclaration *declaration = model_find(declarations, name);

	if (declaration == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("entity \"%s\" of table \"%s\" does not exist", item_quoted(name),
							   RelationGetRelationName(rel)),
						errhint("%s", missing_hint(declarations, name))));
	return declaration;
}

/*
 * Returns the entity of an open table that has this name, as entities_of() does.  Raises
 * ERRCODE_UNDEFINED_OBJECT if there is none.
 */
const Entity *
entity_find(Relation rel, const DynTable *table, ItemSpan name)
{
	return model_parsed(find_declaration(rel, name), read_entity, rel, table);
}

/* Reads the same into the current memory context. */
const Entity *
entity_read(Relation rel, const DynTable *table, ItemSpan name)
{
	return read_entity(find_declaration(rel, name), rel, table);
}

static ItemSpan
name_of(const Entity *entity)
{
	return entity->name;
}

const ItemKinds entity_kinds = {entities_of, entity_find,    name_of,
								entity_has,  entity_of_item, entity_completed_of};
