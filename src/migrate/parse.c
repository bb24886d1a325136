/*
 * parse.c
 *	  The steps of a migration, read from JSON and checked against the table's entities and the
 *	  relations that they read.
 *
 * What is declared and what is kept of it are read by the same code, since whoever may create
 * triggers can write the latter himself.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "ground/errors.h"
#include "migrate/migrate.h"

/* An object in a step. */
typedef struct Object
{
	const char *step; /* for messages: "step "Order"", with more about where in it */
	ItemChildren members;
} Object;

pg_noreturn static void
fail(const char *where, const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid migration: %s: %s", where, message)));
}

static ItemSpan
span(const char *text)
{
	return (ItemSpan){text, (uint32) strlen(text)};
}

static char *
text_of(ItemSpan value)
{
	item_forbid_nul(value);
	return pnstrdup(value.data, value.len);
}

/*
 * Members
 */

/* known ends with NULL. */
static Object
open_object(const char *where, ItemSpan value, const char *const *known)
{
	Object object = {where};
	StringInfoData allowed;

	if (item_type(value) != ITEM_M)
		fail(where, "must be an object");
	object.members = item_children(value);
	if (known == NULL)
		return object;
	for (uint32 i = 0; i < object.members.count; i++)
	{
		ItemSpan name;
		int k = 0;

		item_entry(item_child(&object.members, i), &name);
		while (known[k] != NULL && !item_span_is(name, known[k]))
			k++;
		if (known[k] != NULL)
			continue;
		initStringInfo(&allowed);
		for (k = 0; known[k] != NULL; k++)
			appendStringInfo(&allowed, "%s\"%s\"", k > 0 ? ", " : "", known[k]);
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("invalid migration: %s: unknown member \"%s\"", where, item_quoted(name)),
				 errdetail("There may be %s.", allowed.data)));
	}
	return object;
}

static bool
get_member(const Object *object, const char *name, ItemSpan *value)
{
	return item_find(&object->members, span(name), value) && item_type(*value) != ITEM_NULL;
}

static ItemSpan
string_value(const char *where, const char *name, ItemSpan value)
{
	if (item_type(value) != ITEM_S)
		fail(where, psprintf("\"%s\" must be a string", name));
	value = item_payload(value);
	item_forbid_nul(value);
	if (value.len == 0)
		fail(where, psprintf("\"%s\" must not be empty", name));
	return value;
}

static bool
get_string(const Object *object, const char *name, ItemSpan *string)
{
	ItemSpan value;

	if (!get_member(object, name, &value))
		return false;
	*string = string_value(object->step, name, value);
	return true;
}

static ItemSpan
require_string(const Object *object, const char *name)
{
	ItemSpan string;

	if (!get_string(object, name, &string))
		fail(object->step, psprintf("\"%s\" must be given", name));
	return string;
}

static int
get_choice(const Object *object, const char *name, const char *const *choices, int missing)
{
	ItemSpan string;

	if (!get_string(object, name, &string))
		return missing;
	for (int i = 0; choices[i] != NULL; i++)
	{
		if (item_span_is(string, choices[i]))
			return i;
	}
	fail(object->step, psprintf("\"%s\" cannot be \"%s\"", name, item_quoted(string)));
}

static char *
get_expression(const Object *object, const char *name)
{
	ItemSpan text;

	return get_string(object, name, &text) ? step_expression(text, object->step) : NULL;
}

/*
 * Parts of a step
 */

static AttrNumber
require_column(const char *where, const StepRelation *relation, ItemSpan name)
{
	AttrNumber attnum = step_find_column(relation, name);

	if (attnum == InvalidAttrNumber)
		fail(where,
			 psprintf("%s has no column \"%s\"",
					  relation->name != NULL ? relation->name : "the query", item_quoted(name)));
	return attnum;
}

/* The attribute's SQL: the name of a column, or anything else of the relation's row. */
static void
set_attribute(const char *where, const Entity *entity, const StepRelation *relation, ItemSpan name,
			  ItemSpan value, StepAttribute *attribute)
{
	ItemSpan sql = string_value(where, item_quoted(name), value);

	attribute->attribute = entity_attribute(entity, name);
	if (attribute->attribute == NULL)
		fail(where, psprintf("entity \"%s\" has no attribute \"%s\"", item_quoted(entity->name),
							 item_quoted(name)));
	attribute->column = step_find_column(relation, sql);
	attribute->sql =
		attribute->column != InvalidAttrNumber
			? psprintf("%s.%s", relation->alias, step_column(relation, attribute->column))
			: step_expression(sql, where);
}

/* An attribute is made once. */
static void
claim(const char *where, const Entity *entity, const EntityAttribute *attribute, bool *named)
{
	int place = (int) (attribute - entity->attributes);

	if (named[place])
		fail(where, psprintf("attribute \"%s\" is made twice", item_quoted(attribute->name)));
	named[place] = true;
}

static void
read_attributes(const char *where, const Entity *entity, const StepRelation *relation,
				ItemSpan value, StepAttributes *attributes, bool *named)
{
	Object object = open_object(psprintf("%s: \"attributes\"", where), value, NULL);

	attributes->n = (int) object.members.count;
	attributes->list = palloc0((attributes->n + entity->nattributes) * sizeof(StepAttribute));
	for (int i = 0; i < attributes->n; i++)
	{
		ItemSpan name;
		ItemSpan sql = item_entry(item_child(&object.members, i), &name);

		set_attribute(where, entity, relation, name, sql, &attributes->list[i]);
		claim(where, entity, attributes->list[i].attribute, named);
	}
}

/* "on": columns of a relation, and the columns of the row that refers to it, or is referred to. */
static void
read_pairs(const char *where, StepRelation *relation, ItemSpan value, const StepRelation *other)
{
	Object object = open_object(psprintf("%s: \"on\"", where), value, NULL);

	relation->npairs = (int) object.members.count;
	if (relation->npairs == 0)
		fail(where, "\"on\" must have a column");
	relation->pairs = palloc(relation->npairs * sizeof(StepPair));
	for (int i = 0; i < relation->npairs; i++)
	{
		ItemSpan name;
		ItemSpan column = item_entry(item_child(&object.members, i), &name);

		column = string_value(where, item_quoted(name), column);
		relation->pairs[i].column = require_column(where, relation, name);
		relation->pairs[i].other = require_column(where, other, column);
	}
}

static ItemSpan
require_member(const Object *object, const char *name)
{
	ItemSpan value;

	if (!get_member(object, name, &value))
		fail(object->step, psprintf("\"%s\" must be given", name));
	return value;
}

/*
 * Parents
 */

static void
read_parent(MigrationStep *step, const char *where, ItemSpan name, ItemSpan value,
			StepParent *parent, bool *named)
{
	static const char *const known[] = {"from", "on", "attributes", "orphans", NULL};
	static const char *const choices[] = {"keep", "skip", NULL};
	Object object = open_object(where, value, known);
	ItemSpan attributes;

	step_open_relation(step, &parent->relation, require_string(&object, "from"), where);
	parent->name = name;
	parent->relation.alias = quote_identifier(text_of(name));
	read_pairs(where, &parent->relation, require_member(&object, "on"), &step->source);
	if (!step_pairs_are_unique(&parent->relation))
		fail(where, psprintf("the columns of %s in \"on\" must be its primary key or unique",
							 parent->relation.name));
	if (get_member(&object, "attributes", &attributes))
		read_attributes(where, step->entity, &parent->relation, attributes, &parent->attributes,
						named);
	parent->skip_orphans = get_choice(&object, "orphans", choices, 0) == 1;
}

static void
read_parents(MigrationStep *step, const char *where, const Object *object, bool *named)
{
	ItemSpan value;
	Object parents;

	if (!get_member(object, "parents", &value))
		return;
	parents = open_object(psprintf("%s: \"parents\"", where), value, NULL);
	step->nparents = (int) parents.members.count;
	step->parents = palloc0(step->nparents * sizeof(StepParent));
	for (int i = 0; i < step->nparents; i++)
	{
		ItemSpan name;
		ItemSpan parent = item_entry(item_child(&parents.members, i), &name);

		read_parent(step, psprintf("%s: parent \"%s\"", where, item_quoted(name)), name, parent,
					&step->parents[i], named);
	}
}

/*
 * Children
 */

static void
read_joins(const char *where, const MigrationStep *step, StepChild *child, const Object *object)
{
	ItemSpan value;
	Object joins;

	if (!get_member(object, "join", &value))
		return;
	joins = open_object(psprintf("%s: \"join\"", where), value, NULL);
	child->njoins = (int) joins.members.count;
	child->joins = palloc0(child->njoins * sizeof(StepRelation));
	for (int i = 0; i < child->njoins; i++)
	{
		ItemSpan name;
		ItemSpan on = item_entry(item_child(&joins.members, i), &name);

		step_open_relation(step, &child->joins[i], name, where);
		read_pairs(where, &child->joins[i], on, &child->relation);
		if (!step_pairs_are_unique(&child->joins[i]))
			fail(where, psprintf("the columns of %s in \"join\" must be its primary key or unique",
								 child->joins[i].name));
	}
}

/* One expression, or an object of them. */
static void
read_value(const char *where, StepChild *child, ItemSpan value)
{
	Object object;

	if (item_type(value) == ITEM_S)
	{
		child->value = step_expression(string_value(where, "value", value), where);
		return;
	}
	object = open_object(psprintf("%s: \"value\"", where), value, NULL);
	child->nmembers = (int) object.members.count;
	if (child->nmembers == 0)
		fail(where, "\"value\" must have a member");
	child->members = palloc(child->nmembers * sizeof(StepMember));
	for (int i = 0; i < child->nmembers; i++)
	{
		ItemSpan sql = item_entry(item_child(&object.members, i), &child->members[i].name);

		item_forbid_nul(child->members[i].name);
		sql = string_value(where, item_quoted(child->members[i].name), sql);
		child->members[i].sql = step_expression(sql, where);
	}
}

static void
read_order(const char *where, StepChild *child, const Object *object)
{
	ItemSpan value;
	ItemChildren elements;

	if (!get_member(object, "order", &value))
	{
		if (child->form == CHILD_LIST)
			child->order = step_default_order(&child->relation);
		if (child->form == CHILD_LIST && child->order == NIL)
			fail(where, "a list needs an \"order\"");
		return;
	}
	if (item_type(value) != ITEM_L)
		fail(where, "\"order\" must be an array of strings");
	elements = item_children(value);
	for (uint32 i = 0; i < elements.count; i++)
	{
		ItemSpan text = string_value(where, "order", item_child(&elements, i));
		StepOrder *order;
		bool descending = text.len > 5 && pg_strncasecmp(text.data + text.len - 5, " DESC", 5) == 0;

		if (descending)
			text.len -= 5;
		order = palloc(sizeof(StepOrder));
		*order = (StepOrder){step_expression(text, where), descending};
		child->order = lappend(child->order, order);
	}
}

/* What the form and the attribute's type need. */
static void
check_child(const char *where, const StepChild *child)
{
	Oid type = child->attribute->type.sql;
	bool json = type == JSONOID || type == JSONBOID;
	bool array = OidIsValid(get_element_type(type));

	if (child->form == CHILD_COUNT)
	{
		if (child->value != NULL || child->nmembers > 0 || child->order != NIL)
			fail(where, "a count has neither \"value\" nor \"order\"");
		return;
	}
	if (child->value == NULL && child->nmembers == 0)
		fail(where, "\"value\" must be given");
	if (child->form == CHILD_MAP ? !json : !json && !array)
		fail(where, psprintf("attribute \"%s\" must be declared with %s",
							 item_quoted(child->attribute->name),
							 child->form == CHILD_MAP ? "jsonb" : "jsonb or an array"));
	if (child->nmembers > 0 && !json)
		fail(where,
			 psprintf("attribute \"%s\" must be declared with jsonb, as its \"value\" has members",
					  item_quoted(child->attribute->name)));
	if (child->form == CHILD_SET && !item_type_is_set(child->attribute->type.type))
		fail(where, psprintf("attribute \"%s\" must be declared as SS, NS or BS",
							 item_quoted(child->attribute->name)));
	if (child->form == CHILD_MAP && child->attribute->type.type != ITEM_M)
		fail(where, psprintf("attribute \"%s\" must be declared as M",
							 item_quoted(child->attribute->name)));
	if (child->form == CHILD_LIST && child->attribute->type.type != ITEM_L)
		fail(where, psprintf("attribute \"%s\" must be declared as L",
							 item_quoted(child->attribute->name)));
}

static void
read_child(MigrationStep *step, const char *where, ItemSpan name, ItemSpan value, StepChild *child,
		   bool *named)
{
	static const char *const known[] = {"from", "on",    "join",  "where", "as",
										"key",  "value", "order", NULL};
	static const char *const forms[] = {"list", "set", "map", "count", NULL};
	Object object = open_object(where, value, known);
	ItemSpan member;

	child->attribute = entity_attribute(step->entity, name);
	if (child->attribute == NULL)
		fail(where, psprintf("entity \"%s\" has no attribute \"%s\"",
							 item_quoted(step->entity->name), item_quoted(name)));
	claim(where, step->entity, child->attribute, named);
	step_open_relation(step, &child->relation, require_string(&object, "from"), where);
	read_pairs(where, &child->relation, require_member(&object, "on"), &step->source);
	read_joins(where, step, child, &object);
	child->form = (ChildForm) get_choice(&object, "as", forms, -1);
	if ((int) child->form == -1)
		fail(where, "\"as\" must be given");
	child->where = get_expression(&object, "where");
	child->key = get_expression(&object, "key");
	if ((child->key != NULL) != (child->form == CHILD_MAP))
		fail(where, "\"key\" goes with maps, and with nothing else");
	if (get_member(&object, "value", &member))
		read_value(where, child, member);
	read_order(where, child, &object);
	check_child(where, child);
}

static void
read_children(MigrationStep *step, const char *where, const Object *object, bool *named)
{
	ItemSpan value;
	Object children;

	if (!get_member(object, "children", &value))
		return;
	children = open_object(psprintf("%s: \"children\"", where), value, NULL);
	step->nchildren = (int) children.members.count;
	step->children = palloc0(step->nchildren * sizeof(StepChild));
	for (int i = 0; i < step->nchildren; i++)
	{
		ItemSpan name;
		ItemSpan child = item_entry(item_child(&children.members, i), &name);

		read_child(step, psprintf("%s: children \"%s\"", where, item_quoted(name)), name, child,
				   &step->children[i], named);
	}
}

/*
 * Steps
 */

static void
read_source(MigrationStep *step, const char *where, const Object *object)
{
	ItemSpan from;
	ItemSpan query;
	bool has_from = get_string(object, "from", &from);
	bool has_query = get_string(object, "query", &query);

	if (has_from == has_query)
		fail(where, "either \"from\" or \"query\" must be given");
	if (has_from)
		step_open_relation(step, &step->source, from, where);
	else
	{
		step_open_query(&step->source, query, where);
		step->query = text_of(query);
	}
	step->source.alias = "src";
}

static void
add_key(MigrationStep *step, AttrNumber attnum)
{
	StepKey *key = &step->keys[step->nkeys++];

	key->attnum = attnum;
	key->column = step_column(&step->source, attnum);
	key->type = TupleDescAttr(step->source.desc, attnum - 1)->atttypid;
	key->type_name = step_column_type(&step->source, attnum);
}

static void
read_key(MigrationStep *step, const char *where, const Object *object)
{
	ItemSpan value;
	ItemChildren elements;

	if (!get_member(object, "key", &value))
	{
		List *columns = step_default_key(&step->source);
		ListCell *cell;

		if (columns == NIL)
			fail(where, step->query != NULL
							? "a query needs a \"key\""
							: psprintf("%s has no primary key, so \"key\" must be given",
									   step->source.name));
		step->keys = palloc0(INDEX_MAX_KEYS * sizeof(StepKey));
		foreach (cell, columns)
			add_key(step, (AttrNumber) lfirst_int(cell));
		return;
	}
	if (item_type(value) != ITEM_L || item_children(value).count == 0 ||
		item_children(value).count > INDEX_MAX_KEYS)
		fail(where, "\"key\" must be an array of columns");
	elements = item_children(value);
	step->keys = palloc0(elements.count * sizeof(StepKey));
	for (uint32 i = 0; i < elements.count; i++)
		add_key(step, require_column(where, &step->source,
									 string_value(where, "key", item_child(&elements, i))));
}

/*
 * A default that differs each time would make another item of the same row, and of a row that was
 * migrated already.
 */
static void
check_defaults(const MigrationStep *step, const char *where, const bool *named)
{
	for (int i = 0; i < step->entity->nattributes; i++)
	{
		const EntityAttribute *attribute = &step->entity->attributes[i];

		if (named[i])
			continue;
		if (attribute->missing != ENTITY_NO_DEFAULT)
			fail(where, psprintf("attribute \"%s\" has a default that differs each time, so "
								 "something must make it",
								 item_quoted(attribute->name)));
		if (attribute->required)
			fail(where, psprintf("attribute \"%s\" is required, and nothing makes it",
								 item_quoted(attribute->name)));
	}
}

static void
read_step(Relation rel, const DynTable *table, MigrationStep *step, ItemSpan value)
{
	static const char *const known[] = {"name",  "entity",     "from",    "query",    "key",
										"where", "attributes", "parents", "children", NULL};
	char *where = psprintf("step %d", step->number);
	Object object = open_object(where, value, known);
	ItemSpan entity = require_string(&object, "entity");
	ItemSpan member;
	bool *named;

	step->name = text_of(get_string(&object, "name", &member) ? member : entity);
	where = psprintf("step \"%s\"", step->name);
	object.step = where;
	step->entity = entity_find(rel, table, entity, false);
	named = palloc0((step->entity->nattributes + 1) * sizeof(bool));
	read_source(step, where, &object);
	read_key(step, where, &object);
	step->key_is_given = !step_key_is_unique(step);
	step->where = get_expression(&object, "where");
	if (get_member(&object, "attributes", &member))
		read_attributes(where, step->entity, &step->source, member, &step->attributes, named);
	else
		step->attributes.list = palloc0((step->entity->nattributes + 1) * sizeof(StepAttribute));
	read_parents(step, where, &object, named);
	read_children(step, where, &object, named);
	step_default_attributes(step, named);
	check_defaults(step, where, named);
}

/* The object of a declaration, "migration" being its name. */
Migration *
migration_parse(Relation rel, const DynTable *table, const char *json)
{
	static const char *const known[] = {"migration", "steps", NULL};
	Migration *migration = palloc0(sizeof(Migration));
	DynItem *item = item_parse(json, (int) strlen(json), ITEM_SYNTAX_PLAIN_ITEM, NULL);
	Object object = open_object("it", item_root(item), known);
	ItemSpan steps = require_member(&object, "steps");
	ItemChildren elements;

	migration->name = text_of(require_string(&object, "migration"));
	migration->json = pstrdup(json);
	migration->relid = RelationGetRelid(rel);
	migration->table = pstrdup(RelationGetRelationName(rel));
	if (item_type(steps) != ITEM_L || item_children(steps).count == 0)
		fail("\"steps\"", "must be an array of steps");
	elements = item_children(steps);
	migration->nsteps = (int) elements.count;
	migration->steps = palloc0(migration->nsteps * sizeof(MigrationStep));
	for (int i = 0; i < migration->nsteps; i++)
	{
		MigrationStep *step = &migration->steps[i];

		step->migration = migration;
		step->number = i + 1;
		read_step(rel, table, step, item_child(&elements, i));
		for (int k = 0; k < i; k++)
		{
			if (strcmp(migration->steps[k].name, step->name) == 0)
				fail(psprintf("step %d", step->number),
					 psprintf("there is another step \"%s\"; give them a \"name\"", step->name));
		}
	}
	return migration;
}
