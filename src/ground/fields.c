/*
 * fields.c
 *	  Tables of fields: reading and printing.
 */
#include "postgres.h"

#include "ground/fields.h"

/*
 * Errors
 */

/* A function pointer has no attribute that says so on every compiler. */
pg_noreturn static void
fail(const FieldReader *reader, const char *message, const char *detail)
{
	reader->fail(reader, message, detail);
	pg_unreachable();
}

/* The member in messages, with its object unless the reader names it by itself. */
static char *
member_of(const FieldReader *reader, const char *name)
{
	return reader->of == NULL ? psprintf("\"%s\"", name)
							  : psprintf("\"%s\" of %s", name, reader->of);
}

/* Raises the reader's error: the member must be what is wanted, such as "a string". */
void
field_fail(const FieldReader *reader, const char *name, const char *wanted)
{
	fail(reader, psprintf("%s must be %s", member_of(reader, name), wanted), NULL);
}

static void
list_name(StringInfo list, const char *name)
{
	if (*name != '\0')
		appendStringInfo(list, "%s\"%s\"", list->len > 0 ? ", " : "", name);
}

static const char *
default_wanted(FieldKind kind)
{
	switch (kind)
	{
		case FIELD_STRING:
		case FIELD_CHOICE:
			return "a string";
		case FIELD_NAME:
		case FIELD_TEXT:
			return "a string that is not empty";
		case FIELD_BOOL:
		case FIELD_NOT:
			return "true or false";
		case FIELD_COUNT:
			return "a count";
		case FIELD_OBJECT:
			return "a JSON object";
		case FIELD_OWN:
			break;
	}
	return "of another type";
}

pg_noreturn static void
fail_kind(const FieldReader *reader, const Field *field)
{
	field_fail(reader, field->name,
			   field->wanted != NULL ? field->wanted : default_wanted(field->kind));
}

/*
 * Reading
 */

/* Returns the string in a member's value.  Raises the reader's error if it is none, or empty. */
ItemSpan
field_string(const FieldReader *reader, const char *name, ItemSpan value)
{
	if (item_type(value) != ITEM_S || value.len == 1)
		field_fail(reader, name, default_wanted(FIELD_NAME));
	return item_payload(value);
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
	fail(reader,
		 psprintf("%s cannot be \"%s\"", member_of(reader, field->name), item_quoted(value)),
		 psprintf("Known values are %s.", list.data));
}

static bool
has_kind(FieldKind kind, ItemSpan value)
{
	int64 count;

	switch (kind)
	{
		case FIELD_STRING:
		case FIELD_CHOICE:
			return item_type(value) == ITEM_S;
		case FIELD_NAME:
		case FIELD_TEXT:
			return item_type(value) == ITEM_S && value.len > 1;
		case FIELD_BOOL:
		case FIELD_NOT:
			return item_type(value) == ITEM_BOOL;
		case FIELD_COUNT:
			return field_count(value, &count);
		case FIELD_OBJECT:
			return item_type(value) == ITEM_M;
		case FIELD_OWN:
			break;
	}
	return true;
}

/* The value has the field's kind. */
static void
store(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
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
			*FIELD_POINTER(field, const char *, target) = pnstrdup(value.data, value.len);
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

	if (!item_find(members, (ItemSpan){field->name, (uint32) strlen(field->name)}, &value) ||
		(reader->null_is_missing && item_type(value) == ITEM_NULL))
	{
		if (field->required)
			fail(reader, psprintf("%s must be given", member_of(reader, field->name)), NULL);
		return;
	}
	if (!has_kind(field->kind, value))
		fail_kind(reader, field);
	if (field->read != NULL)
		field->read(reader, field, target, value);
	else
		store(reader, field, target, value);
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
		fail(reader,
			 psprintf("unknown member \"%s\"%s%s", item_quoted(name),
					  reader->of == NULL ? "" : " of ", reader->of == NULL ? "" : reader->of),
			 psprintf("Known members are %s.", list.data));
	}
}

/*
 * Reads the members of a JSON object into a struct, in the current memory context; spans point into
 * the object.  fields ends with one without a name.  Raises the reader's error if the value is no
 * object, or a member is not known, missing though it is required, or not what its field takes.
 */
void
fields_read(const FieldReader *reader, const Field *fields, void *target, ItemSpan object)
{
	ItemChildren members;

	if (item_type(object) != ITEM_M)
		fail(reader,
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
			Assert(field->print != NULL);
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
