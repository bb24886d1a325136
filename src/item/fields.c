/*
 * fields.c
 *	  Tables of fields: reading and printing.
 */
#include "postgres.h"

#include "item/fields.h"

/*
 * Errors
 */

/* Raises the reader's error.  detail may be NULL. */
void
fields_fail(const FieldReader *reader, const char *message, const char *detail)
{
	reader->fail(reader, message, detail);
	pg_unreachable();
}

/* Returns the member as messages name it, with its object unless the reader's fail adds that. */
static char *
member_of(const FieldReader *reader, const char *name)
{
	return reader->of == NULL ? psprintf("\"%s\"", name)
							  : psprintf("\"%s\" of %s", name, reader->of);
}

/* Raises the reader's error: the member must be of the wanted kind, such as "a string". */
void
field_fail(const FieldReader *reader, const char *name, const char *wanted)
{
	fields_fail(reader, psprintf("%s must be %s", member_of(reader, name), wanted), NULL);
}

static void
list_name(StringInfo list, const char *name)
{
	if (*name != '\0')
		appendStringInfo(list, "%s\"%s\"", list->len > 0 ? ", " : "", name);
}

/*
 * Reading
 */

/* This is the JSON type of each kind's values; 0 stands for any type. */
static const struct
{
	ItemType type;
	bool empty; /* it may be */
	const char *wanted;
} kinds[] = {
	[FIELD_STRING] = {ITEM_S, true, "a string"},
	[FIELD_NAME] = {ITEM_S, false, "a string that is not empty"},
	[FIELD_TEXT] = {ITEM_S, false, "a string that is not empty"},
	[FIELD_BOOL] = {ITEM_BOOL, true, "true or false"},
	[FIELD_NOT] = {ITEM_BOOL, true, "true or false"},
	[FIELD_COUNT] = {ITEM_N, true, "a count"},
	[FIELD_CHOICE] = {ITEM_S, true, "a string"},
	[FIELD_OBJECT] = {ITEM_M, true, "a JSON object"},
	[FIELD_OWN] = {0, true, NULL},
};

static void
require_kind(const FieldReader *reader, const Field *field, ItemSpan value)
{
	ItemType type = item_type(value);
	int64 count;

	if ((kinds[field->kind].type != 0 && type != kinds[field->kind].type) ||
		(!kinds[field->kind].empty && value.len == 1) ||
		(field->kind == FIELD_COUNT && !field_count(value, &count)))
		field_fail(reader, field->name,
				   field->wanted != NULL ? field->wanted : kinds[field->kind].wanted);
}

/*
 * Returns the string in a member's value.  Raises the reader's error if the value is no string or
 * is empty.
 */
ItemSpan
field_string(const FieldReader *reader, const char *name, ItemSpan value)
{
	if (item_type(value) != ITEM_S || value.len == 1)
		field_fail(reader, name, kinds[FIELD_NAME].wanted);
	return item_payload(value);
}

/*
 * Allocates the strings in an array; returns their number.  Raises the reader's error if the value
 * is something else than what is wanted.
 */
int
field_strings(const FieldReader *reader, const Field *field, ItemSpan value, const char *wanted,
			  ItemSpan **strings)
{
	ItemChildren elements;

	if (item_type(value) != ITEM_L)
		field_fail(reader, field->name, wanted);
	elements = item_children(value);
	*strings = palloc(elements.count * sizeof(ItemSpan));
	for (uint32 i = 0; i < elements.count; i++)
	{
		ItemSpan element = item_child(&elements, i);

		if (item_type(element) != ITEM_S)
			field_fail(reader, field->name, wanted);
		(*strings)[i] = item_payload(element);
	}
	return (int) elements.count;
}

/* Returns whether a value is an integer that is not negative. */
bool
field_count(ItemSpan value, int64 *count)
{
	return item_type(value) == ITEM_N && item_number_to_int64(item_payload(value), 0, count) &&
		   *count >= 0;
}

static int
read_choice(const FieldReader *reader, const Field *field, ItemSpan value)
{
	StringInfoData list;

	for (int i = 0; field->choices[i] != NULL; i++)
	{
		if (field->choices[i][0] != '\0' && item_span_is(value, field->choices[i]))
			return i;
	}
	initStringInfo(&list);
	for (int i = 0; field->choices[i] != NULL; i++)
		list_name(&list, field->choices[i]);
	fields_fail(reader,
				psprintf("%s cannot be \"%s\"", member_of(reader, field->name), item_quoted(value)),
				psprintf("Known values are %s.", list.data));
}

/* The value has the field's kind. */
static void
field_store(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	switch (field->kind)
	{
		case FIELD_STRING:
		case FIELD_NAME:
			*FIELD_POINTER(field, ItemSpan, target) = item_payload(value);
			break;
		case FIELD_TEXT:
			value = item_payload(value);
			item_forbid_nul(value);
			*FIELD_POINTER(field, const char *, target) = span_string(value);
			break;
		case FIELD_BOOL:
		case FIELD_NOT:
			*FIELD_POINTER(field, bool, target) = item_bool(value) == (field->kind == FIELD_BOOL);
			break;
		case FIELD_COUNT:
			(void) field_count(value, FIELD_POINTER(field, int64, target));
			break;
		case FIELD_CHOICE:
			*FIELD_POINTER(field, int, target) = read_choice(reader, field, item_payload(value));
			break;
		case FIELD_OBJECT:
			*FIELD_POINTER(field, ItemSpan, target) = value;
			break;
		case FIELD_OWN:
			Assert(field->read != NULL);
			break;
	}
}

static void
read_field(const FieldReader *reader, const Field *field, void *target, const ItemChildren *members)
{
	ItemSpan value;

	if (!item_find(members, item_span(field->name), &value) ||
		(reader->null_is_missing && item_type(value) == ITEM_NULL))
	{
		if (field->required)
			fields_fail(reader, psprintf("%s must be given", member_of(reader, field->name)), NULL);
		if (field->missing != NULL)
			field->missing(reader, field, target);
		return;
	}
	require_kind(reader, field, value);
	if (field->read != NULL)
		field->read(reader, field, target, value);
	else
		field_store(reader, field, target, value);
}

static void
check_members(const FieldReader *reader, const Field *fields, const ItemChildren *members)
{
	for (uint32 i = 0; i < members->count; i++)
	{
		const Field *field = fields;
		StringInfoData list;
		ItemSpan name;

		item_entry(item_child(members, i), &name);
		while (field->name != NULL && !item_span_is(name, field->name))
			field++;
		if (field->name != NULL)
			continue;
		initStringInfo(&list);
		for (field = fields; field->name != NULL; field++)
			list_name(&list, field->name);
		fields_fail(reader,
					psprintf("unknown member \"%s\"%s%s", item_quoted(name),
							 reader->of == NULL ? "" : " of ",
							 reader->of == NULL ? "" : reader->of),
					psprintf("Known members are %s.", list.data));
	}
}

/*
 * Reads the members of a JSON object into a struct, in the current memory context; spans point into
 * the object. fields ends with an entry without a name.  Raises the reader's error if the value is
 * no object, or a member is not known, missing though it is required, or not what its field takes.
 */
void
fields_read(const FieldReader *reader, const Field *fields, void *target, ItemSpan object)
{
	ItemChildren members;

	if (item_type(object) != ITEM_M)
		fields_fail(reader,
					reader->of == NULL ? "must be an object"
									   : psprintf("%s must be an object", reader->of),
					NULL);
	members = item_children(object);
	check_members(reader, fields, &members);
	for (; fields->name != NULL; fields++)
		read_field(reader, fields, target, &members);
}

/*
 * Printing
 */

static void
print_field(JsonWriter *json, const Field *field, const void *target)
{
	ItemSpan span;
	bool is_true;
	int64 count;
	int choice;

	switch (field->kind)
	{
		case FIELD_STRING:
		case FIELD_NAME:
			span = *FIELD_POINTER(field, const ItemSpan, target);
			if (span.len > 0 || field->always)
				json_write_span(json, field->name, span);
			break;
		case FIELD_TEXT:
			json_write_string(json, field->name, *FIELD_POINTER(field, const char *const, target));
			break;
		case FIELD_BOOL:
		case FIELD_NOT:
			is_true = *FIELD_POINTER(field, const bool, target);
			if (is_true || field->always)
				json_write_bool(json, field->name, is_true == (field->kind == FIELD_BOOL));
			break;
		case FIELD_COUNT:
			count = *FIELD_POINTER(field, const int64, target);
			if (count != 0 || field->always)
				json_write_integer(json, field->name, count);
			break;
		case FIELD_CHOICE:
			choice = *FIELD_POINTER(field, const int, target);
			if (choice != 0 || field->always)
				json_write_string(json, field->name, field->choices[choice]);
			break;
		case FIELD_OBJECT:
			span = *FIELD_POINTER(field, const ItemSpan, target);
			if (span.len == 0)
				break;
			json_write_name(json, field->name);
			item_print_plain(json->text, span);
			break;
		case FIELD_OWN:
			break;
	}
}

/* Writes the fields of a struct as members of the object that was begun last. */
void
fields_print(JsonWriter *json, const Field *fields, const void *target)
{
	for (; fields->name != NULL; fields++)
	{
		if (fields->print != NULL)
			fields->print(json, fields, target);
		else
			print_field(json, fields, target);
	}
}

/* Writes an object with the fields of a struct; the name is that of the member, or NULL. */
void
fields_print_object(JsonWriter *json, const char *name, const Field *fields, const void *target)
{
	json_write_begin(json, name);
	fields_print(json, fields, target);
	json_write_end(json);
}
