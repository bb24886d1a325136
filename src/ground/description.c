/*
 * description.c
 *	  Settings in the label of a table: read, checked, changed, written.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "ground/description.h"
#include "ground/errors.h"
#include "ground/fields.h"
#include "ground/index_spec.h"
#include "ground/label.h"

const char *const dyn_billing_names[] = {"PAY_PER_REQUEST", "PROVISIONED", NULL};
const char *const dyn_table_class_names[] = {"", "STANDARD", "STANDARD_INFREQUENT_ACCESS", NULL};

/*
 * Reading and writing
 */

pg_noreturn static void
fail(const FieldReader *reader, const char *message, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid settings in a security label: %s", message),
					detail == NULL ? 0 : errdetail("%s", detail),
					errhint("Correct the label with SECURITY LABEL, or restore it from a dump.")));
}

static void
read_number(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	char text[ITEM_NUMBER_TEXT];

	if (item_type(value) != ITEM_N)
		field_fail(reader, field->name, "a number");
	item_number_print(item_payload(value), text);
	*FIELD_POINTER(field, double, target) = strtod(text, NULL);
}

static void
print_number(JsonWriter *json, const Field *field, const void *target)
{
	double number = *FIELD_POINTER(field, const double, target);

	if (number != 0)
		json_write_raw(json, field->name, psprintf("%.3f", number));
}

/* The members of an object are in byte order. */
static void
read_tags(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynDescription *description = target;
	ItemChildren children;

	if (item_type(value) != ITEM_M)
		field_fail(reader, field->name, "an object");
	children = item_children(value);
	description->tags = palloc(children.count * sizeof(DynTag));
	for (uint32 i = 0; i < children.count; i++)
	{
		DynTag *tag = &description->tags[description->ntags++];

		value = item_entry(item_child(&children, i), &tag->key);
		if (item_type(value) != ITEM_S)
			field_fail(reader, field->name, "an object of strings");
		tag->value = item_payload(value);
	}
}

static void
print_tags(JsonWriter *json, const Field *field, const void *target)
{
	const DynDescription *description = target;

	if (description->ntags == 0)
		return;
	json_write_begin(json, field->name);
	for (int i = 0; i < description->ntags; i++)
	{
		json_write_member(json, description->tags[i].key);
		json_write_span(json, NULL, description->tags[i].value);
	}
	json_write_end(json);
}

static const Field units_fields[] = {
	{"read_capacity_units", FIELD_COUNT, FIELD_AT(DynCapacity, read)},
	{"write_capacity_units", FIELD_COUNT, FIELD_AT(DynCapacity, write)},
	{NULL}};

static void
read_units(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	FieldReader of_index = {fail, "an index"};
	DynDescription *description = target;
	ItemChildren indexes;

	if (item_type(value) != ITEM_M)
		field_fail(reader, field->name, "an object");
	indexes = item_children(value);
	for (uint32 i = 0; i < indexes.count; i++)
	{
		DynIndexUnits *units = palloc0(sizeof(DynIndexUnits));

		value = item_entry(item_child(&indexes, i), &units->index);
		fields_read(&of_index, units_fields, &units->capacity, value);
		description->units = lappend(description->units, units);
	}
}

static void
print_units(JsonWriter *json, const Field *field, const void *target)
{
	const DynDescription *description = target;
	ListCell *cell;

	if (description->units == NIL)
		return;
	json_write_begin(json, field->name);
	foreach (cell, description->units)
	{
		const DynIndexUnits *units = lfirst(cell);

		json_write_member(json, units->index);
		fields_print_object(json, NULL, units_fields, &units->capacity);
	}
	json_write_end(json);
}

static const Field description_fields[] = {
	{"created", FIELD_OWN, FIELD_AT(DynDescription, created), .read = read_number,
	 .print = print_number},
	{"billing_mode", FIELD_CHOICE, FIELD_AT(DynDescription, billing), .choices = dyn_billing_names},
	{"read_capacity_units", FIELD_COUNT, FIELD_AT(DynDescription, capacity.read)},
	{"write_capacity_units", FIELD_COUNT, FIELD_AT(DynDescription, capacity.write)},
	{"deletion_protection", FIELD_BOOL, FIELD_AT(DynDescription, deletion_protection)},
	{"table_class", FIELD_CHOICE, FIELD_AT(DynDescription, table_class),
	 .choices = dyn_table_class_names},
	{"global_indexes", FIELD_OWN, .read = read_units, .print = print_units},
	{"tags", FIELD_OWN, .read = read_tags, .print = print_tags},
	{NULL}};

/*
 * Reads what is said of a table, into the current memory context.  Raises ERRCODE_DYN_VALIDATION if
 * that part of its label has another form than description.h describes.
 */
DynDescription *
description_read(Oid relid)
{
	DynDescription *description = palloc0(sizeof(DynDescription));
	const char *json = label_member(label_read(relid), LABEL_SETTINGS);
	FieldReader reader = {fail};

	if (json != NULL)
		fields_read(&reader, description_fields, description,
					item_root(item_parse(json, (int) strlen(json), ITEM_SYNTAX_PLAIN_ITEM, NULL)));
	return description;
}

/*
 * Writes the settings to the label of a table.  The caller has taken at least
 * ShareUpdateExclusiveLock before it read them.
 */
void
description_write(Oid relid, const DynDescription *description)
{
	JsonWriter json = json_writer(JSON_SPACED);
	bool any;

	json_write_begin(&json, NULL);
	fields_print(&json, description_fields, description);
	any = json.comma;
	json_write_end(&json);
	label_set_member(relid, LABEL_SETTINGS, any ? json.text->data : NULL);
}

/*
 * Billing and units
 */

static DynIndexUnits *
find_units(const DynDescription *description, ItemSpan index)
{
	ListCell *cell;

	foreach (cell, description->units)
	{
		DynIndexUnits *units = lfirst(cell);

		if (item_compare_bytes(units->index, index) == 0)
			return units;
	}
	return NULL;
}

/* Returns the units of an index; zeros if the label has none. */
DynCapacity
description_capacity(const DynDescription *description, ItemSpan index)
{
	const DynIndexUnits *units = find_units(description, index);

	return units == NULL ? (DynCapacity){0} : units->capacity;
}

/* Sets the units of an index; with zeros, its entry in the label is removed. */
void
description_set_capacity(DynDescription *description, ItemSpan index, DynCapacity capacity)
{
	DynIndexUnits *units = find_units(description, index);

	if (units != NULL)
		description->units = list_delete_ptr(description->units, units);
	if (capacity.read == 0 && capacity.write == 0)
		return;
	units = palloc(sizeof(DynIndexUnits));
	*units = (DynIndexUnits){index, capacity};
	description->units = lappend(description->units, units);
}

/*
 * Raises ERRCODE_DYN_VALIDATION if the units of a table or an index do not go with the billing mode.
 * index is its name, or NULL for the table.
 */
void
description_check_capacity(DynBilling billing, const DynCapacity *capacity, const ItemSpan *index)
{
	bool both = capacity->read > 0 && capacity->write > 0;
	bool none = capacity->read == 0 && capacity->write == 0;

	if (billing == DYN_PROVISIONED ? both : none)
		return;
	if (index != NULL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "One or more parameter values were invalid: ProvisionedThroughput %s specified "
				  "for index: %.*s%s",
				  billing == DYN_PROVISIONED ? "must be" : "should not be", (int) index->len,
				  index->data,
				  billing == DYN_PROVISIONED ? "" : " when BillingMode is PAY_PER_REQUEST");
	dyn_error(ERRCODE_DYN_VALIDATION, "One or more parameter values were invalid: %s",
			  billing == DYN_PROVISIONED
				  ? "ReadCapacityUnits and WriteCapacityUnits must both be specified when "
					"BillingMode is PROVISIONED"
				  : "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
					"BillingMode is PAY_PER_REQUEST");
}

/*
 * Sets the billing mode; capacity is NULL if none is given with it.  A table with PAY_PER_REQUEST
 * has no units, and its indexes lose theirs.  Raises ERRCODE_DYN_VALIDATION if the units do not go
 * with the mode.
 */
void
description_set_billing(DynDescription *description, DynBilling billing,
						const DynCapacity *capacity)
{
	description->billing = billing;
	if (capacity != NULL)
		description->capacity = *capacity;
	else if (billing == DYN_PAY_PER_REQUEST)
		description->capacity = (DynCapacity){0};
	description_check_capacity(billing, &description->capacity, NULL);
	if (billing == DYN_PAY_PER_REQUEST)
		description->units = NIL;
}

/* Raises ERRCODE_DYN_VALIDATION if the units of a global index do not go with the billing mode. */
void
description_check_indexes(const DynDescription *description, List *indexes)
{
	ListCell *cell;

	foreach (cell, indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);
		DynCapacity capacity = description_capacity(description, spec->name);

		if (!spec->local)
			description_check_capacity(description->billing, &capacity, &spec->name);
	}
}

/*
 * Tags
 */

/* A label is a C string; JSON's \u0000 would end it. */
static bool
has_nul(ItemSpan span)
{
	return memchr(span.data, '\0', span.len) != NULL;
}

/* The position of a tag, or the position where it would be inserted. */
static int
tag_place(const DynDescription *description, ItemSpan key, bool *found)
{
	int i = 0;

	while (i < description->ntags && item_compare_bytes(description->tags[i].key, key) < 0)
		i++;
	*found = i < description->ntags && item_compare_bytes(description->tags[i].key, key) == 0;
	return i;
}

static void
check_tag(ItemSpan key, ItemSpan value)
{
	if (key.len == 0 || pg_mbstrlen_with_len(key.data, (int) key.len) > DYN_MAX_TAG_KEY ||
		has_nul(key))
		dyn_error(ERRCODE_DYN_VALIDATION, "Tag keys must have 1 to %d characters, and no U+0000",
				  DYN_MAX_TAG_KEY);
	if (pg_mbstrlen_with_len(value.data, (int) value.len) > DYN_MAX_TAG_VALUE || has_nul(value))
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Tag values must have at most %d characters, and no U+0000", DYN_MAX_TAG_VALUE);
	if (key.len >= 4 && memcmp(key.data, "aws:", 4) == 0)
		dyn_error(ERRCODE_DYN_VALIDATION, "Tag keys must not begin with aws:");
}

/* A copy that the caller may change, with room for one more. */
static void
copy_tags(DynDescription *description)
{
	DynTag *tags = palloc((description->ntags + 1) * sizeof(DynTag));

	if (description->ntags > 0)
		memcpy(tags, description->tags, description->ntags * sizeof(DynTag));
	description->tags = tags;
}

/*
 * Adds a tag, or replaces the one of the same key.  Key and value are not copied.  Raises
 * ERRCODE_DYN_VALIDATION if the tag is not valid, ERRCODE_DYN_LIMIT_EXCEEDED if there are
 * DYN_MAX_TAGS others.
 */
void
description_set_tag(DynDescription *description, ItemSpan key, ItemSpan value)
{
	bool found;
	int i = tag_place(description, key, &found);

	check_tag(key, value);
	if (!found && description->ntags == DYN_MAX_TAGS)
		dyn_error(ERRCODE_DYN_LIMIT_EXCEEDED, "A table has at most %d tags", DYN_MAX_TAGS);
	copy_tags(description);
	if (!found)
	{
		memmove(description->tags + i + 1, description->tags + i,
				(description->ntags - i) * sizeof(DynTag));
		description->ntags++;
	}
	description->tags[i] = (DynTag){key, value};
}

/* Removes the tag of that key.  Does nothing if there is none. */
void
description_remove_tag(DynDescription *description, ItemSpan key)
{
	bool found;
	int i = tag_place(description, key, &found);

	if (!found)
		return;
	copy_tags(description);
	description->ntags--;
	memmove(description->tags + i, description->tags + i + 1,
			(description->ntags - i) * sizeof(DynTag));
}
