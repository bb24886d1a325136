/*
 * parts.c
 *	  Parts of a migration's steps, read and printed: expressions, relations, attributes, parents.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "models/migrate/parts.h"
#include "server/errors.h"

/* A relation is printed as its name. */
StaticAssertDecl(offsetof(StepRelation, name) == 0, "a StepRelation does not begin with its name");

static void
parts_fail(const FieldReader *reader, const char *message, const char *detail)
{
	const char *where = ((const Reading *) reader->context)->where;

	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					where == NULL ? errmsg("invalid migration: %s", message)
								  : errmsg("invalid migration: %s: %s", where, message),
					detail == NULL ? 0 : errdetail("%s", detail)));
}

/* Returns a reader of fields whose errors say where they are. */
FieldReader
part_reader(Reading *reading)
{
	return (FieldReader){.fail = parts_fail, .context = reading, .null_is_missing = true};
}

/* Returns a reader of a part of what outer reads; reading is made its context. */
FieldReader
part_reader_of(const FieldReader *outer, Reading *reading, const char *what, ItemSpan name)
{
	*reading = *(const Reading *) outer->context;
	reading->where = psprintf("%s: %s \"%s\"", reading->where, what, item_quoted(name));
	return part_reader(reading);
}

/* Raises ERRCODE_DYN_VALIDATION with the place that is read before the message. */
void
part_fail(const FieldReader *reader, const char *message)
{
	fields_fail(reader, message, NULL);
}

static const char *
where(const FieldReader *reader)
{
	return ((const Reading *) reader->context)->where;
}

/* Returns the string that a member is.  Raises an error if it is none, empty, or has U+0000. */
ItemSpan
part_string(const FieldReader *reader, const char *name, ItemSpan value)
{
	value = field_string(reader, name, value);
	item_forbid_nul(value);
	return value;
}

/* Reads an expression of SQL into a const char *. */
void
part_read_expression(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	value = item_payload(value);
	item_forbid_nul(value);
	*FIELD_POINTER(field, const char *, target) = step_expression(value, where(reader));
}

/*
 * Relations and their columns
 */

/* Reads the name of a relation into a StepRelation, and opens it. */
void
part_read_relation(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	const Reading *reading = reader->context;

	value = item_payload(value);
	item_forbid_nul(value);
	step_open_relation(reading->step, FIELD_POINTER(field, StepRelation, target), value,
					   reading->where);
}

/* Returns the number of a column.  Raises an error if the relation has none of this name. */
AttrNumber
part_column(const FieldReader *reader, const StepRelation *relation, ItemSpan name)
{
	AttrNumber attnum = step_find_column(relation, name);

	if (attnum == InvalidAttrNumber)
		part_fail(reader, psprintf("%s has no column \"%s\"",
								   relation->name != NULL ? relation->name : "the query",
								   item_quoted(name)));
	return attnum;
}

/* Returns the name of a column as it is, without quotes. */
const char *
part_raw_column(const StepRelation *relation, AttrNumber attnum)
{
	return NameStr(TupleDescAttr(relation->desc, attnum - 1)->attname);
}

/*
 * Reads pairs of columns of a relation and of another one, of the row that refers to it or is
 * referred to.
 */
void
part_read_pairs(const FieldReader *reader, StepRelation *relation, const StepRelation *other,
				ItemSpan value)
{
	ItemChildren members;

	if (item_type(value) != ITEM_M || item_children(value).count == 0)
		field_fail(reader, "on", "a JSON object with columns");
	members = item_children(value);
	relation->other = other;
	relation->npairs = (int) members.count;
	relation->pairs = palloc(relation->npairs * sizeof(StepPair));
	for (int i = 0; i < relation->npairs; i++)
	{
		ItemSpan name;
		ItemSpan column = item_entry(item_child(&members, i), &name);

		column = part_string(reader, item_quoted(name), column);
		relation->pairs[i].column = part_column(reader, relation, name);
		relation->pairs[i].other = part_column(reader, other, column);
	}
}

/* Writes pairs of columns as an object; the name is that of the member, or NULL. */
void
part_print_pairs(JsonWriter *json, const char *name, const StepRelation *relation)
{
	json_write_begin(json, name);
	for (int i = 0; i < relation->npairs; i++)
	{
		const char *column = part_raw_column(relation, relation->pairs[i].column);

		json_write_member(json, item_span(column));
		json_write_string(json, NULL, part_raw_column(relation->other, relation->pairs[i].other));
	}
	json_write_end(json);
}

/* Reads the pairs of a StepRelation that belongs to the rows of the step, as children do. */
void
part_read_on(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	part_read_pairs(reader, FIELD_POINTER(field, StepRelation, target),
					&((const Reading *) reader->context)->step->source, value);
}

/* Writes the pairs of a StepRelation as a member. */
void
part_print_on(JsonWriter *json, const Field *field, const void *target)
{
	part_print_pairs(json, field->name, FIELD_POINTER(field, const StepRelation, target));
}

/*
 * Attributes
 */

/* Returns an attribute of the step's entity.  Raises an error if it has none of this name. */
const EntityAttribute *
part_attribute(const FieldReader *reader, ItemSpan name)
{
	const Entity *entity = ((const Reading *) reader->context)->step->entity;
	const EntityAttribute *attribute = entity_attribute(entity, name);

	if (attribute == NULL)
		part_fail(reader, psprintf("entity \"%s\" has no attribute \"%s\"",
								   item_quoted(entity->name), item_quoted(name)));
	return attribute;
}

/* Claims an attribute, which is made once. */
void
part_claim(const FieldReader *reader, const EntityAttribute *attribute)
{
	const Reading *reading = reader->context;
	bool *named = &reading->named[attribute - reading->step->entity->attributes];

	if (*named)
		part_fail(reader, psprintf("attribute \"%s\" is made twice", item_quoted(attribute->name)));
	*named = true;
}

/* Sets the attribute's SQL: the name of a column, or anything else of the relation's row. */
static void
set_attribute(const FieldReader *reader, const StepRelation *relation, ItemSpan name,
			  ItemSpan value, StepAttribute *attribute)
{
	ItemSpan sql = part_string(reader, item_quoted(name), value);

	attribute->attribute = part_attribute(reader, name);
	attribute->column = step_find_column(relation, sql);
	attribute->sql =
		attribute->column != InvalidAttrNumber
			? psprintf("%s.%s", relation->alias, step_column(relation, attribute->column))
			: step_expression(sql, where(reader));
}

/* Reads what makes attributes of the entity from a relation's row, with room for all others. */
void
part_read_attributes(const FieldReader *reader, const StepRelation *relation,
					 StepAttributes *attributes, ItemSpan value)
{
	const Entity *entity = ((const Reading *) reader->context)->step->entity;
	ItemChildren members = item_children(value);

	attributes->relation = relation;
	attributes->n = (int) members.count;
	attributes->list = palloc0((attributes->n + entity->nattributes) * sizeof(StepAttribute));
	for (int i = 0; i < attributes->n; i++)
	{
		ItemSpan name;
		ItemSpan sql = item_entry(item_child(&members, i), &name);

		set_attribute(reader, relation, name, sql, &attributes->list[i]);
		part_claim(reader, attributes->list[i].attribute);
	}
}

/* Writes StepAttributes as a member. */
void
part_print_attributes(JsonWriter *json, const Field *field, const void *target)
{
	const StepAttributes *attributes = FIELD_POINTER(field, const StepAttributes, target);

	json_write_begin(json, field->name);
	for (int i = 0; i < attributes->n; i++)
	{
		const StepAttribute *attribute = &attributes->list[i];

		json_write_member(json, attribute->attribute->name);
		json_write_string(json, NULL,
						  attribute->column != InvalidAttrNumber
							  ? part_raw_column(attributes->relation, attribute->column)
							  : attribute->sql);
	}
	json_write_end(json);
}

/*
 * Parents
 */

static void
read_parent_attributes(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	StepParent *parent = target;

	part_read_attributes(reader, &parent->relation, &parent->attributes, value);
}

static void
read_parent_relation(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	StepParent *parent = target;

	part_read_relation(reader, field, target, value);
	item_forbid_nul(parent->name);
	parent->relation.alias = quote_identifier(span_string(parent->name));
}

static void
read_parent_on(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	const MigrationStep *step = ((const Reading *) reader->context)->step;
	StepParent *parent = target;
	StepRelation *relation = &parent->relation;

	part_read_pairs(reader, relation,
					parent->of < 0 ? &step->source : &step->parents[parent->of].relation, value);
	if (!step_pairs_are_unique(relation))
		part_fail(reader, psprintf("the columns of %s in \"on\" must be its primary key or unique",
								   relation->name));
}

static const char *const orphan_names[] = {"keep", "skip", NULL}; /* by StepOrphans */

static void read_grandparents(const FieldReader *reader, const Field *field, void *target,
							  ItemSpan value);
static void print_grandparents(JsonWriter *json, const Field *field, const void *target);

static const Field parent_fields[] = {
	{"from", FIELD_TEXT, FIELD_AT(StepParent, relation), .required = true,
	 .read = read_parent_relation},
	{"on", FIELD_OBJECT, FIELD_AT(StepParent, relation), .required = true, .read = read_parent_on,
	 .print = part_print_on},
	{"attributes", FIELD_OBJECT, FIELD_AT(StepParent, attributes), .read = read_parent_attributes,
	 .print = part_print_attributes},
	{"orphans", FIELD_CHOICE, FIELD_AT(StepParent, orphans), .choices = orphan_names,
	 .always = true},
	{"parents", FIELD_OBJECT, .read = read_grandparents, .print = print_grandparents},
	{NULL}};

/* Reads the parents of a parent, or of the source (-1), behind those that were read before. */
static void
read_parents(const FieldReader *reader, MigrationStep *step, int of, ItemSpan value)
{
	for (ItemMembers m = item_members(value); item_next(&m);)
	{
		StepParent *parent = &step->parents[step->nparents++];
		Reading reading;
		FieldReader inner = part_reader_of(reader, &reading, "parent", m.name);

		parent->name = m.name;
		parent->step = step;
		parent->of = of;
		fields_read(&inner, parent_fields, parent, m.value);
	}
}

static void
read_grandparents(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	MigrationStep *step = ((const Reading *) reader->context)->step;

	read_parents(reader, step, (int) ((StepParent *) target - step->parents), value);
}

/* Counts parents, and theirs.  What is no object is refused when it is read. */
static int
count_parents(ItemSpan value)
{
	ItemSpan parents;
	int n = 0;

	if (item_type(value) != ITEM_M)
		return 0;
	for (ItemMembers m = item_members(value); item_next(&m); n++)
	{
		if (item_lookup(m.value, item_span("parents"), &parents))
			n += count_parents(parents);
	}
	return n;
}

/* Reads the parents of a step: objects by their names. */
void
step_read_parents(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	MigrationStep *step = target;

	step->parents = palloc0(Max(count_parents(value), 1) * sizeof(StepParent));
	read_parents(reader, step, -1, value);
}

static void
print_parents(JsonWriter *json, const char *name, const MigrationStep *step, int of)
{
	bool any = false;

	for (int i = of + 1; i < step->nparents; i++)
	{
		if (step->parents[i].of != of)
			continue;
		if (!any)
			json_write_begin(json, name);
		any = true;
		json_write_member(json, step->parents[i].name);
		fields_print_object(json, NULL, parent_fields, &step->parents[i]);
	}
	if (any)
		json_write_end(json);
}

static void
print_grandparents(JsonWriter *json, const Field *field, const void *target)
{
	const StepParent *parent = target;

	print_parents(json, field->name, parent->step, (int) (parent - parent->step->parents));
}

/* Writes the parents of a step as a member, if there are any. */
void
step_print_parents(JsonWriter *json, const Field *field, const void *target)
{
	print_parents(json, field->name, target, -1);
}
