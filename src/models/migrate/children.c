/*
 * children.c
 *	  Children of a migration's steps, read and printed: rows that become one attribute of an item.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "models/migrate/parts.h"

/*
 * "join": relations by name, each with its pairs
 */

static void
read_joins(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	const Reading *reading = reader->context;
	StepChild *child = target;
	ItemChildren members = item_children(value);

	child->njoins = (int) members.count;
	child->joins = palloc0(child->njoins * sizeof(StepRelation));
	for (int i = 0; i < child->njoins; i++)
	{
		StepRelation *join = &child->joins[i];
		ItemSpan name;
		ItemSpan on = item_entry(item_child(&members, i), &name);

		step_open_relation(reading->step, join, name, reading->where);
		part_read_pairs(reader, join, &child->relation, on);
		if (!step_pairs_are_unique(join))
			part_fail(reader, psprintf("the columns of %s in \"join\" must be its primary key or "
									   "unique",
									   join->name));
	}
}

static void
print_joins(JsonWriter *json, const Field *field, const void *target)
{
	const StepChild *child = target;

	if (child->njoins == 0)
		return;
	json_write_begin(json, field->name);
	for (int i = 0; i < child->njoins; i++)
	{
		const char *name = child->joins[i].name;

		json_write_member(json, item_span(name));
		part_print_pairs(json, NULL, &child->joins[i]);
	}
	json_write_end(json);
}

/*
 * "value": one expression, or an object of them
 */

static void
read_value(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	const char *where = ((const Reading *) reader->context)->where;
	StepChild *child = target;
	ItemChildren members;

	if (item_type(value) != ITEM_M)
	{
		child->value = step_expression(part_string(reader, field->name, value), where);
		return;
	}
	members = item_children(value);
	child->nmembers = (int) members.count;
	if (child->nmembers == 0)
		part_fail(reader, "\"value\" must have a member");
	child->members = palloc(child->nmembers * sizeof(StepMember));
	for (int i = 0; i < child->nmembers; i++)
	{
		StepMember *member = &child->members[i];
		ItemSpan sql = item_entry(item_child(&members, i), &member->name);

		item_forbid_nul(member->name);
		member->sql = step_expression(part_string(reader, item_quoted(member->name), sql), where);
	}
}

static void
print_value(JsonWriter *json, const Field *field, const void *target)
{
	const StepChild *child = target;

	json_write_string(json, field->name, child->value);
	if (child->nmembers == 0)
		return;
	json_write_begin(json, field->name);
	for (int i = 0; i < child->nmembers; i++)
	{
		json_write_member(json, child->members[i].name);
		json_write_string(json, NULL, child->members[i].sql);
	}
	json_write_end(json);
}

/*
 * "order": expressions, with DESC behind them where it is meant
 */

static void
read_order(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	const char *where = ((const Reading *) reader->context)->where;
	StepChild *child = target;
	ItemChildren elements;

	if (item_type(value) != ITEM_L)
		field_fail(reader, field->name, "an array of strings");
	elements = item_children(value);
	for (uint32 i = 0; i < elements.count; i++)
	{
		ItemSpan text = part_string(reader, field->name, item_child(&elements, i));
		bool descending = text.len > 5 && pg_strncasecmp(text.data + text.len - 5, " DESC", 5) == 0;
		StepOrder *order = palloc(sizeof(StepOrder));

		if (descending)
			text.len -= 5;
		*order = (StepOrder){step_expression(text, where), descending};
		child->order = lappend(child->order, order);
	}
}

static void
default_order(const FieldReader *reader, const Field *field, void *target)
{
	StepChild *child = target;

	if (child->form != CHILD_LIST)
		return;
	child->order = step_default_order(&child->relation);
	if (child->order == NIL)
		part_fail(reader, "a list needs an \"order\"");
}

static void
print_order(JsonWriter *json, const Field *field, const void *target)
{
	const StepChild *child = target;
	ListCell *cell;

	if (child->order == NIL)
		return;
	json_write_begin_array(json, field->name);
	foreach (cell, child->order)
	{
		const StepOrder *order = lfirst(cell);

		json_write_string(json, NULL,
						  psprintf("%s%s", order->sql, order->descending ? " DESC" : ""));
	}
	json_write_end_array(json);
}

/*
 * All of them
 */

static const char *const form_names[] = {"list", "set", "map", "count", NULL}; /* by ChildForm */

static const Field child_fields[] = {
	{"from", FIELD_TEXT, FIELD_AT(StepChild, relation), .required = true,
	 .read = part_read_relation},
	{"on", FIELD_OBJECT, FIELD_AT(StepChild, relation), .required = true, .read = part_read_on,
	 .print = part_print_on},
	{"join", FIELD_OBJECT, .read = read_joins, .print = print_joins},
	{"where", FIELD_TEXT, FIELD_AT(StepChild, where), .read = part_read_expression},
	{"as", FIELD_CHOICE, FIELD_AT(StepChild, form), .required = true, .choices = form_names,
	 .always = true},
	{"key", FIELD_TEXT, FIELD_AT(StepChild, key), .read = part_read_expression},
	{"value", FIELD_OWN, .read = read_value, .print = print_value},
	{"order", FIELD_OWN, .read = read_order, .missing = default_order, .print = print_order},
	{NULL}};

/* Checks what the form and the attribute's type need. */
static void
check_child(const FieldReader *reader, const StepChild *child)
{
	Oid type = child->attribute->type.sql;
	bool json = type == JSONOID || type == JSONBOID;
	bool array = OidIsValid(get_element_type(type));

	if ((child->key != NULL) != (child->form == CHILD_MAP))
		part_fail(reader, "\"key\" goes with maps, and with nothing else");
	if (child->form == CHILD_COUNT)
	{
		if (child->value != NULL || child->nmembers > 0 || child->order != NIL)
			part_fail(reader, "a count has neither \"value\" nor \"order\"");
		return;
	}
	if (child->value == NULL && child->nmembers == 0)
		part_fail(reader, "\"value\" must be given");
	if (child->form == CHILD_MAP ? !json : !json && !array)
		part_fail(reader, psprintf("attribute \"%s\" must be declared with %s",
								   item_quoted(child->attribute->name),
								   child->form == CHILD_MAP ? "jsonb" : "jsonb or an array"));
	if (child->nmembers > 0 && !json)
		part_fail(
			reader,
			psprintf("attribute \"%s\" must be declared with jsonb, as its \"value\" has members",
					 item_quoted(child->attribute->name)));
	if (child->form == CHILD_SET && !item_type_is_set(child->attribute->type.type))
		part_fail(reader, psprintf("attribute \"%s\" must be declared as SS, NS or BS",
								   item_quoted(child->attribute->name)));
	if (child->form == CHILD_MAP && child->attribute->type.type != ITEM_M)
		part_fail(reader, psprintf("attribute \"%s\" must be declared as M",
								   item_quoted(child->attribute->name)));
	if (child->form == CHILD_LIST && child->attribute->type.type != ITEM_L)
		part_fail(reader, psprintf("attribute \"%s\" must be declared as L",
								   item_quoted(child->attribute->name)));
}

/* Reads the children of a step: objects by the names of the attributes that they become. */
void
step_read_children(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	MigrationStep *step = target;
	ItemChildren members = item_children(value);

	step->nchildren = (int) members.count;
	step->children = palloc0(step->nchildren * sizeof(StepChild));
	for (int i = 0; i < step->nchildren; i++)
	{
		StepChild *child = &step->children[i];
		ItemSpan name;
		ItemSpan object = item_entry(item_child(&members, i), &name);
		Reading reading;
		FieldReader inner = part_reader_of(reader, &reading, "children", name);

		child->attribute = part_attribute(&inner, name);
		part_claim(&inner, child->attribute);
		fields_read(&inner, child_fields, child, object);
		check_child(&inner, child);
	}
}

/* Writes the children of a step as a member, if there are any. */
void
step_print_children(JsonWriter *json, const Field *field, const void *target)
{
	const MigrationStep *step = target;

	if (step->nchildren == 0)
		return;
	json_write_begin(json, field->name);
	for (int i = 0; i < step->nchildren; i++)
	{
		json_write_member(json, step->children[i].attribute->name);
		fields_print_object(json, NULL, child_fields, &step->children[i]);
	}
	json_write_end(json);
}
