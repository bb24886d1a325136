/*
 * member.c
 *	  dyn_is_entity(): whether an item is one of an entity's; see member.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/memutils.h"

#include "models/view/member.h"
#include "server/arguments.h"
#include "server/call_site.h"
#include "server/errors.h"

static TextCache cache = {.name = "definitions of entities' items", .max = 256, .max_key = 8192};

/*
 * The definition: a declaration with what matters here alone
 */

static bool
member_same(ItemSpan a, ItemSpan b)
{
	return item_compare_bytes(a, b) == 0;
}

static bool
template_uses(const EntityTemplate *choice, ItemSpan name)
{
	ItemChildren when;
	ItemSpan value;

	for (int i = 0; i < choice->template->nparts; i++)
	{
		const TemplatePart *part = &choice->template->parts[i];

		if (part->npath > 0 && member_same(part->path[0], name))
			return true;
	}
	if (choice->when == NULL)
		return false;
	when = item_children(item_root(choice->when));
	return item_find(&when, name, &value);
}

static bool
key_uses(const EntityKey *key, const EntityAttribute *attribute)
{
	for (int i = 0; i < key->ntemplates; i++)
	{
		if (template_uses(&key->templates[i], attribute->name))
			return true;
	}
	return false;
}

/* Prints an attribute.  Types of SQL that do not matter are left out: they may change. */
static void
print_attribute(JsonWriter *json, const EntityAttribute *attribute)
{
	ValueType base = member_base_type(&attribute->type);
	const char *type =
		member_is_canonical(&base) ? value_type_print(&base) : item_type_code(base.type);

	json_write_member(json, attribute->name);
	if (member_same(attribute->name, attribute->stored))
	{
		json_write_string(json, NULL, type);
		return;
	}
	json_write_begin(json, NULL);
	json_write_string(json, "type", type);
	json_write_span(json, "stored", attribute->stored);
	json_write_end(json);
}

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return item_compare_bytes(((const EntityAttribute *) lfirst(a))->name,
							  ((const EntityAttribute *) lfirst(b))->name);
}

static bool
is_given(const MemberKey *key, ItemSpan name)
{
	for (int i = 0; i < key->ngiven; i++)
	{
		if (member_same(key->given[i], name))
			return true;
	}
	return false;
}

/* Prints the attributes of a key by name, so that their order in the entity does not matter. */
static void
print_attributes(JsonWriter *json, const Entity *entity, const MemberKey *key)
{
	List *attributes = NIL;
	ListCell *cell;

	for (int i = 0; i < entity->nattributes; i++)
	{
		if (key_uses(key->key, &entity->attributes[i]) || is_given(key, entity->attributes[i].name))
			attributes = lappend(attributes, &entity->attributes[i]);
	}
	list_sort(attributes, compare_names);
	foreach (cell, attributes)
		print_attribute(json, lfirst(cell));
}

static void
print_key(JsonWriter *json, const EntityKey *key)
{
	json_write_member(json, key->attribute);
	if (key->ntemplates == 1 && key->templates[0].when == NULL)
	{
		json_write_span(json, NULL, key->templates[0].template->text);
		return;
	}
	json_write_begin_array(json, NULL);
	for (int i = 0; i < key->ntemplates; i++)
		entity_print_choice(json, &key->templates[i]);
	json_write_end_array(json);
}

/* Returns the definition that a view by this key has. */
char *
member_definition(const Entity *entity, const MemberKey *key)
{
	JsonWriter json = json_writer(JSON_SPACED);

	json_write_begin(&json, NULL);
	entity_print_names(&json, entity);
	if (key->required)
		json_write_bool(&json, "required", true);
	if (key->ngiven > 0)
		json_write_spans(&json, "given", key->given, key->ngiven);
	json_write_begin(&json, "keys");
	print_key(&json, key->key);
	json_write_end(&json);
	json_write_begin(&json, "attributes");
	print_attributes(&json, entity, key);
	json_write_end(&json);
	json_write_end(&json);
	return json.text->data;
}

/* Replaces names in placeholders by stored ones, which are looked for in items. */
static void
use_stored_names(const Entity *entity, const EntityKey *key)
{
	for (int k = 0; k < key->ntemplates; k++)
	{
		Template *t = key->templates[k].template;

		for (int p = 0; p < t->nparts; p++)
		{
			if (t->parts[p].npath > 0)
				t->parts[p].path[0] = entity_attribute(entity, t->parts[p].path[0])->stored;
		}
	}
}

static void
collect_exact(Member *member)
{
	const Entity *entity = member->entity;

	member->exact = palloc(Max(entity->nattributes, 1) * sizeof(MemberExact));
	for (int i = 0; i < entity->nattributes; i++)
	{
		const EntityAttribute *attribute = &entity->attributes[i];

		if (member_is_canonical(&attribute->type))
			member->exact[member->nexact++] = (MemberExact){
				attribute->stored, value_reader(&attribute->type), value_writer(&attribute->type)};
	}
}

static void
collect_given(Member *member)
{
	const Entity *entity = member->entity;

	member->ngiven = entity->ngiven;
	member->given = palloc(Max(entity->ngiven, 1) * sizeof(EntityAttribute *));
	for (int i = 0; i < entity->ngiven; i++)
	{
		member->given[i] = entity_attribute(entity, entity->given[i]);
		if (member->given[i] == NULL)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("the definition of an entity's items has no attribute \"%s\"",
								   item_quoted(entity->given[i]))));
	}
}

static void
read_definition(Member *member, ItemSpan definition)
{
	DynTable none = {0}; /* its keys are named where they are needed */

	member->entity = entity_parse(
		&none, item_parse(definition.data, (int) definition.len, ITEM_SYNTAX_PLAIN_ITEM, NULL),
		false);
	if (member->entity->nkeys != 1)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the definition of an entity's items must have one key")));
	member->key = &member->entity->keys[0];
}

/*
 * Returns whether it is written as we write it.  Then its types of SQL are of pg_catalog, with
 * their schema, and what is made of it depends on nothing else.
 */
static bool
is_ours(const Member *member, ItemSpan definition)
{
	const Entity *entity = member->entity;
	MemberKey key = {member->key, entity->required, entity->ngiven, entity->given};

	return item_span_is(definition, member_definition(entity, &key));
}

/*
 * Returns what a definition says, from the session's cache if it is one that we write; it is good until
 * the current memory context is reset.  Raises ERRCODE_DYN_VALIDATION if it is no definition.
 */
const Member *
member_parse(ItemSpan definition)
{
	MemoryContextCallback *unpin = palloc(sizeof(MemoryContextCallback));
	TextKey key = {.text = definition};
	Member *member = (Member *) text_cache_find(&cache, &key);
	bool ours = true;

	if (member == NULL)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table member",
													  ALLOCSET_SMALL_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);

		member = palloc0(sizeof(Member));
		member->entry.context = context;
		member->entry.key.text = span_copy(definition);
		read_definition(member, member->entry.key.text);
		ours = is_ours(member, definition);
		use_stored_names(member->entity, member->key);
		collect_given(member);
		collect_exact(member);
		MemoryContextSwitchTo(old);
		if (ours)
			text_cache_keep(&cache, &member->entry);
	}
	if (ours)
		text_cache_unpin_later(&member->entry, unpin);
	return member;
}

/*
 * Items
 */

static bool
has_type(const Entity *entity, const ItemChildren *attributes, MemberMemory *memory)
{
	ItemSpan value;

	if (entity->type_attribute.len == 0)
		return true;
	return item_find_near(attributes, entity->type_attribute, &memory->type, &value) &&
		   item_type(value) == ITEM_S && member_same(item_payload(value), entity->type);
}

static bool
is_exact(const MemberExact *exact, const ItemChildren *attributes, uint32 *place)
{
	ItemSpan stored;

	return !item_find_near(attributes, exact->stored, place, &stored) ||
		   value_is_as_written(exact->writer, exact->reader, stored);
}

/* Returns whether a condition holds.  Null means that the attribute is absent. */
static bool
when_holds(const Entity *entity, const DynItem *when, const ItemChildren *attributes)
{
	if (when == NULL)
		return true;
	for (ItemMembers m = item_members(item_root(when)); item_next(&m);)
	{
		ItemSpan value;
		bool found = item_find(attributes, entity_attribute(entity, m.name)->stored, &value);

		if (item_type(m.value) == ITEM_NULL ? found && item_type(value) != ITEM_NULL
											: !found || !member_same(m.value, value))
			return false;
	}
	return true;
}

static bool
find_part(const TemplatePart *part, ItemSpan root, const ItemChildren *attributes, uint32 *place,
		  ItemSpan *value)
{
	return part->npath == 1 ? item_find_near(attributes, part->path[0], place, value)
							: template_find(part, root, value);
}

/* Returns whether a string begins with another, which is cut off then. */
static bool
member_take(ItemSpan *string, ItemSpan beginning)
{
	if (string->len < beginning.len ||
		(beginning.len > 0 && memcmp(string->data, beginning.data, beginning.len) != 0))
		return false;
	string->data += beginning.len;
	string->len -= beginning.len;
	return true;
}

/* Returns whether a key is what a template makes: each part is compared as soon as it is there. */
static bool
is_rendered(const Template *t, ItemSpan key, ItemSpan root, const ItemChildren *attributes,
			uint32 *places)
{
	for (int i = 0; i < t->nparts; i++)
	{
		const TemplatePart *part = &t->parts[i];
		ItemSpan piece = part->literal;
		char buffer[ITEM_NUMBER_TEXT];

		if (part->npath > 0 && (!find_part(part, root, attributes, &places[i], &piece) ||
								template_render_value(part, piece, buffer, &piece) != NULL))
			return false;
		if (!member_take(&key, piece))
			return false;
	}
	return key.len == 0;
}

/* column: the key, where a column has it; or NULL. */
static bool
key_matches(const Member *member, ItemSpan root, const ItemChildren *attributes,
			const ItemSpan *column, MemberMemory *memory)
{
	const EntityKey *key = member->key;
	const Template *t = NULL;
	ItemSpan value;
	ItemSpan whole;

	for (int i = 0; i < key->ntemplates && t == NULL; i++)
	{
		if (when_holds(member->entity, key->templates[i].when, attributes))
			t = key->templates[i].template;
	}
	if (t == NULL)
		return false;
	if (column != NULL && memory->made.data != NULL)
		return member_same(*column, memory->made);
	if (column != NULL && !t->whole)
		return is_rendered(t, *column, root, attributes, memory->parts);
	if (!item_find_near(attributes, key->attribute, &memory->key, &value))
		return false;
	if (t->whole)
		return find_part(t->parts, root, attributes, &memory->parts[0], &whole) &&
			   member_same(whole, value);
	return item_type(value) == ITEM_S &&
		   is_rendered(t, item_payload(value), root, attributes, memory->parts);
}

static uint32 *
make_places(const EntityKey *key)
{
	int n = 1;

	for (int i = 0; i < key->ntemplates; i++)
		n = Max(n, key->templates[i].template->nparts);
	return palloc0(n * sizeof(uint32));
}

/* Makes what member_matches() keeps, in the current memory context. */
MemberMemory *
member_memory(const Member *member)
{
	MemberMemory *memory = palloc0(sizeof(MemberMemory));

	memory->given = palloc0((member->ngiven + 1) * sizeof(uint32));
	memory->parts = make_places(member->key);
	memory->exact = palloc0((member->nexact + 1) * sizeof(uint32));
	return memory;
}

/* Returns whether the member says something of an item: it has the given attributes. */
static bool
member_applies(const Member *member, const ItemChildren *attributes, MemberMemory *memory)
{
	for (int i = 0; i < member->ngiven; i++)
	{
		const EntityAttribute *given = member->given[i];
		ItemSpan value;

		if (!item_find_near(attributes, given->stored, &memory->given[i], &value) ||
			item_type(value) != given->type.type)
			return false;
	}
	return true;
}

/* Returns whether type, key and what the key is made of are those of the member's entity. */
static bool
is_member(const Member *member, ItemSpan root, const ItemChildren *attributes,
		  const ItemSpan *column, MemberMemory *memory)
{
	/* beside one of an index a view has those of the table */
	if ((!member->entity->required && !memory->typed &&
		 !has_type(member->entity, attributes, memory)) ||
		!key_matches(member, root, attributes, column, memory))
		return false;
	for (int i = 0; i < member->nexact; i++)
	{
		if (!is_exact(&member->exact[i], attributes, &memory->exact[i]))
			return false;
	}
	return true;
}

/*
 * Returns whether a stored item is of the member's entity: by its type attribute, and by the
 * member's key, which must be what its templates make of the item's attributes; or whether the
 * member says nothing of it.  root is the item's root value, column is the key if a column of type text
 * has it, or NULL, and memory is kept by the caller for the next item.
 */
bool
member_matches(const Member *member, ItemSpan root, const ItemSpan *column, MemberMemory *memory)
{
	ItemChildren attributes = item_children(root);

	return is_member(member, root, &attributes, column, memory) ||
		   !member_applies(member, &attributes, memory);
}

/*
 * The function
 */

/* A MemberTest is a definition and the column of a call, of which the planner makes one of several. */
typedef struct MemberTest
{
	const Member *member;
	MemberMemory *memory;
	bool text_column;
	const struct MemberTest *like; /* one before whose column has the same key; or NULL */
	ItemSpan column; /* the last one, if it is the key; or without data */
} MemberTest;

/* Returns whether items that are of one have the type attribute of the other. */
static bool
has_same_type(const Member *a, const Member *b)
{
	return !a->entity->required && a->ngiven == 0 &&
		   member_same(a->entity->type_attribute, b->entity->type_attribute) &&
		   member_same(a->entity->type, b->entity->type);
}

/* Returns whether two definitions have one template each, which makes the same of each item. */
static bool
is_like(const MemberTest *a, const MemberTest *b)
{
	const Template *t = a->member->key->templates[0].template;
	const Template *u = b->member->key->templates[0].template;
	bool like = a->text_column && b->text_column && !t->whole && member_same(t->text, u->text) &&
				a->member->key->ntemplates == 1 && b->member->key->ntemplates == 1;

	/* names are those that items have */
	for (int i = 0; like && i < t->nparts; i++)
		like = t->parts[i].npath == 0 || member_same(t->parts[i].path[0], u->parts[i].path[0]);
	return like;
}

/* Makes the tests of a call, which are kept if the definitions are constants, as they are in views. */
static MemberTest *
get_tests(FunctionCallInfo fcinfo)
{
	bool constant = call_argument_is_constant(fcinfo->flinfo, MEMBER_DEFINITION_ARGUMENT);
	MemoryContext old =
		MemoryContextSwitchTo(constant ? fcinfo->flinfo->fn_mcxt : CurrentMemoryContext);
	MemberTest *tests = palloc0(PG_NARGS() / 2 * sizeof(MemberTest));

	for (int i = MEMBER_DEFINITION_ARGUMENT; i < PG_NARGS(); i += 2)
	{
		MemberTest *test = &tests[i / 2];

		test->member = member_parse(text_span(PG_GETARG_TEXT_PP(i)));
		test->memory = member_memory(test->member);
		test->text_column = get_fn_expr_argtype(fcinfo->flinfo, i + 1) == TEXTOID;
		test->memory->typed = test > tests && has_same_type(tests->member, test->member);
		for (const MemberTest *before = tests; before < test && test->like == NULL; before++)
			test->like = is_like(before, test) ? before : NULL;
	}
	MemoryContextSwitchTo(old);
	if (constant)
		fcinfo->flinfo->fn_extra = tests;
	return tests;
}

static bool
passes(FunctionCallInfo fcinfo, int i, MemberTest *test, ItemSpan root,
	   const ItemChildren *attributes)
{
	test->column = (ItemSpan){NULL, 0};
	if (!PG_ARGISNULL(i))
	{
		ItemSpan column = {NULL, 0};

		if (test->text_column)
			column = text_span(PG_GETARG_TEXT_PP(i));
		if (test->like != NULL)
			test->memory->made = test->like->column;
		if (is_member(test->member, root, attributes, test->text_column ? &column : NULL,
					  test->memory))
		{
			test->column = column;
			return true;
		}
	}
	return !member_applies(test->member, attributes, test->memory);
}

/*
 * dynamo_internal.is_entity(item, definition, key), which is strict, and is_entity_in_index(), which is not:
 * an item that the definition says something of is in the index only if its key is in the column.  In
 * plans more definitions and keys follow (path.c).
 */
PG_FUNCTION_INFO_V1(dyn_is_entity);
Datum
dyn_is_entity(PG_FUNCTION_ARGS)
{
	MemberTest *tests = fcinfo->flinfo->fn_extra;
	ItemSpan root;
	ItemChildren attributes;

	if (PG_ARGISNULL(MEMBER_ITEM_ARGUMENT) || PG_ARGISNULL(MEMBER_DEFINITION_ARGUMENT))
		PG_RETURN_NULL();
	if (tests == NULL)
		tests = get_tests(fcinfo);
	root = item_root(PG_GETARG_DYN_ITEM(MEMBER_ITEM_ARGUMENT));
	attributes = item_children(root);
	for (int i = MEMBER_COLUMN_ARGUMENT; i < PG_NARGS(); i += 2)
	{
		if (!passes(fcinfo, i, &tests[i / 2 - 1], root, &attributes))
			PG_RETURN_BOOL(false);
	}
	PG_RETURN_BOOL(true);
}
