/*
 * description.c
 *	  Settings in the label of a table: read, checked, changed, written.
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "mb/pg_wchar.h"
#include "utils/timestamp.h"

#include "catalog/definition/description.h"
#include "catalog/definition/index_spec.h"
#include "catalog/definition/label.h"
#include "item/fields.h"
#include "server/errors.h"

const char *const dyn_billing_names[] = {"PAY_PER_REQUEST", "PROVISIONED", NULL};
const char *const dyn_table_class_names[] = {"", "STANDARD", "STANDARD_INFREQUENT_ACCESS", NULL};

/*
 * Reading and writing
 */

pg_noreturn static void
description_fail(const FieldReader *reader, const char *message, const char *detail)
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

/* These are the members of a DynUnits that is a member of another struct, or alone. */
#define UNITS_FIELDS(type, at) \
	{"read_capacity_units", FIELD_COUNT, FIELD_AT(type, at provisioned.read)}, \
		{"write_capacity_units", FIELD_COUNT, FIELD_AT(type, at provisioned.write)}, \
		{"max_read_request_units", FIELD_COUNT, FIELD_AT(type, at maximum.read)}, \
		{"max_write_request_units", FIELD_COUNT, FIELD_AT(type, at maximum.write)}, \
		{"warm_read_units", FIELD_COUNT, FIELD_AT(type, at warm.read)}, \
	{ \
		"warm_write_units", FIELD_COUNT, FIELD_AT(type, at warm.write) \
	}

static const Field units_fields[] = {UNITS_FIELDS(DynUnits, ), {NULL}};

static void
read_units(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	FieldReader of_index = {description_fail, "an index"};
	DynDescription *description = target;

	if (item_type(value) != ITEM_M)
		field_fail(reader, field->name, "an object");
	for (ItemMembers m = item_members(value); item_next(&m);)
	{
		DynIndexUnits *index = palloc0(sizeof(DynIndexUnits));

		index->index = m.name;
		fields_read(&of_index, units_fields, &index->units, m.value);
		description->indexes = lappend(description->indexes, index);
	}
}

static void
print_units(JsonWriter *json, const Field *field, const void *target)
{
	const DynDescription *description = target;
	ListCell *cell;

	if (description->indexes == NIL)
		return;
	json_write_begin(json, field->name);
	foreach (cell, description->indexes)
	{
		const DynIndexUnits *index = lfirst(cell);

		json_write_member(json, index->index);
		fields_print_object(json, NULL, units_fields, &index->units);
	}
	json_write_end(json);
}

static const Field description_fields[] = {
	{"created", FIELD_OWN, FIELD_AT(DynDescription, created), .read = read_number,
	 .print = print_number},
	{"billing_mode", FIELD_CHOICE, FIELD_AT(DynDescription, billing), .choices = dyn_billing_names},
	{"on_demand_since", FIELD_OWN, FIELD_AT(DynDescription, on_demand_since), .read = read_number,
	 .print = print_number},
	UNITS_FIELDS(DynDescription, units.),
	{"deletion_protection", FIELD_BOOL, FIELD_AT(DynDescription, deletion_protection)},
	{"encrypted", FIELD_BOOL, FIELD_AT(DynDescription, encrypted)},
	{"table_class", FIELD_CHOICE, FIELD_AT(DynDescription, table_class),
	 .choices = dyn_table_class_names},
	{"recovery_days", FIELD_COUNT, FIELD_AT(DynDescription, recovery_days)},
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
	FieldReader reader = {description_fail};

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

/* Returns the current time, as descriptions have it. */
double
description_now(void)
{
	return GetCurrentTimestamp() / (double) USECS_PER_SEC +
		   (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (double) SECS_PER_DAY;
}

static DynIndexUnits *
find_index(const DynDescription *description, ItemSpan name)
{
	ListCell *cell;

	foreach (cell, description->indexes)
	{
		DynIndexUnits *index = lfirst(cell);

		if (item_compare_bytes(index->index, name) == 0)
			return index;
	}
	return NULL;
}

/* Returns the units of an index; zeros if the label has none. */
DynUnits
description_index_units(const DynDescription *description, ItemSpan index)
{
	const DynIndexUnits *found = find_index(description, index);

	return found == NULL ? (DynUnits){{0}} : found->units;
}

/* Whether nothing is said of them. */
bool
description_is_unsaid(const DynUnits *units)
{
	return memcmp(units, &(DynUnits){{0}}, sizeof(DynUnits)) == 0;
}

/* -1 removes a maximum. */
static void
change_maximum(int64 *units, int64 given, const char *member, const ItemSpan *index)
{
	if (given < -1)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS
				  "Requested %s for OnDemandThroughput for %s is outside of valid range",
				  member,
				  index == NULL ? "table" : psprintf("index : %s", item_quoted_words(*index)));
	if (given != 0)
		*units = Max(given, 0);
}

static void
change_warm(int64 *units, int64 given, const char *member)
{
	if (given < 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("%s of WarmThroughput must be at least 1", member)));
	if (given > 0)
		*units = given;
}

/*
 * Sets the units that are given; the others stay as they are.  index is the name of the index whose
 * units they are, or NULL.  A number out of range is ERRCODE_DYN_VALIDATION.
 */
void
description_change_units(DynUnits *units, const DynUnits *given, const ItemSpan *index)
{
	if (given->provisioned.read > 0)
		units->provisioned = given->provisioned;
	change_maximum(&units->maximum.read, given->maximum.read, "MaxReadRequestUnits", index);
	change_maximum(&units->maximum.write, given->maximum.write, "MaxWriteRequestUnits", index);
	change_warm(&units->warm.read, given->warm.read, "ReadUnitsPerSecond");
	change_warm(&units->warm.write, given->warm.write, "WriteUnitsPerSecond");
}

/* Sets the units of an index; with zeros, its entry in the label is removed. */
void
description_set_index_units(DynDescription *description, ItemSpan index, const DynUnits *units)
{
	DynIndexUnits *entry = find_index(description, index);

	if (entry != NULL)
		description->indexes = list_delete_ptr(description->indexes, entry);
	if (description_is_unsaid(units))
		return;
	entry = palloc(sizeof(DynIndexUnits));
	*entry = (DynIndexUnits){index, *units};
	description->indexes = lappend(description->indexes, entry);
}

/* A table with PROVISIONED has none. */
static void
check_maximum(const DynCapacity *maximum, const ItemSpan *index)
{
	if (maximum->read == 0 && maximum->write == 0)
		return;
	if (index != NULL)
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("index \"%s\" with OnDemandThroughput needs the billing mode PAY_PER_REQUEST",
					item_quoted(*index))));
	dyn_error(ERRCODE_DYN_VALIDATION,
			  DYN_INVALID_WORDS "Max%sRequestUnits for OnDemandThroughput "
								"cannot be specified when the table BillingMode is PROVISIONED",
			  maximum->read != 0 ? "Read" : "Write");
}

/*
 * Raises ERRCODE_DYN_VALIDATION if the units of a table or an index do not go with the billing
 * mode.  index is its name, or NULL for the table.
 */
void
description_check_units(DynBilling billing, const DynUnits *units, const ItemSpan *index)
{
	const DynCapacity *capacity = &units->provisioned;
	bool both = capacity->read > 0 && capacity->write > 0;
	bool none = capacity->read == 0 && capacity->write == 0;

	if (billing == DYN_PROVISIONED)
		check_maximum(&units->maximum, index);
	if (billing == DYN_PROVISIONED ? both : none)
		return;
	if (index != NULL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "ProvisionedThroughput %s specified "
									"for index: %.*s%s",
				  billing == DYN_PROVISIONED ? "must be" : "should not be", (int) index->len,
				  index->data,
				  billing == DYN_PROVISIONED ? "" : " when BillingMode is PAY_PER_REQUEST");
	dyn_error(ERRCODE_DYN_VALIDATION, DYN_INVALID_WORDS "%s",
			  billing == DYN_PROVISIONED
				  ? "ReadCapacityUnits and WriteCapacityUnits must both be specified when "
					"BillingMode is PROVISIONED"
				  : "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
					"BillingMode is PAY_PER_REQUEST");
}

static void
description_forget(DynUnits *units, DynBilling billing)
{
	if (billing == DYN_PAY_PER_REQUEST)
		units->provisioned = (DynCapacity){0};
	else
		units->maximum = (DynCapacity){0};
}

/*
 * Sets the billing mode.  What the table and its indexes were declared to have in the other mode is
 * removed.
 */
void
description_set_billing(DynDescription *description, DynBilling billing)
{
	ListCell *cell;

	if (billing == DYN_PAY_PER_REQUEST && description->billing != billing)
		description->on_demand_since = description_now();
	description->billing = billing;
	description_forget(&description->units, billing);
	/* the list is changed below */
	foreach (cell, list_copy(description->indexes))
	{
		DynIndexUnits index = *(DynIndexUnits *) lfirst(cell);

		description_forget(&index.units, billing);
		description_set_index_units(description, index.index, &index.units);
	}
}

/* Raises ERRCODE_DYN_VALIDATION if the units of a global index do not go with the billing mode. */
void
description_check_indexes(const DynDescription *description, List *indexes)
{
	ListCell *cell;

	foreach (cell, indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);
		DynUnits units = description_index_units(description, spec->name);

		if (!spec->local)
			description_check_units(description->billing, &units, &spec->name);
	}
}

/*
 * Tags
 */

/* Returns the position of a tag, or the position where it would be inserted. */
static int
tag_place(const DynDescription *description, ItemSpan key, bool *found)
{
	int i = 0;

	while (i < description->ntags && item_compare_bytes(description->tags[i].key, key) < 0)
		i++;
	*found = i < description->ntags && item_compare_bytes(description->tags[i].key, key) == 0;
	return i;
}

/* A label is a C string; JSON's \u0000 would end it. */
static bool
is_text(ItemSpan span, int max)
{
	return memchr(span.data, '\0', span.len) == NULL &&
		   pg_mbstrlen_with_len(span.data, (int) span.len) <= max;
}

static void
check_tag(ItemSpan key, ItemSpan value)
{
	if (key.len == 0 || !is_text(key, DYN_MAX_TAG_KEY))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("invalid tag key \"%s\"", item_quoted(key)),
				 errdetail("A key has 1 to %d characters, and no U+0000.", DYN_MAX_TAG_KEY),
				 errwords("The Tag Key provided is invalid, Key: %s", item_quoted_words(key))));
	if (key.len >= 4 && pg_strncasecmp(key.data, "aws:", 4) == 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("tag key \"%s\" must not begin with aws:", item_quoted(key)),
						errwords("Tag Key cannot be prefixed with aws:, Key: %s",
								 item_quoted_words(key))));
	if (!is_text(value, DYN_MAX_TAG_VALUE))
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("invalid value of tag \"%s\"", item_quoted(key)),
			 errdetail("A value has at most %d characters, and no U+0000.", DYN_MAX_TAG_VALUE),
			 errwords("The Tag Value provided is invalid, Value: %s", item_quoted_words(value))));
}

/* Makes a copy that the caller may change, with room for one more. */
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
 * ERRCODE_DYN_VALIDATION if the tag is not valid, or there are DYN_MAX_TAGS others.
 */
void
description_set_tag(DynDescription *description, ItemSpan key, ItemSpan value)
{
	bool found;
	int i = tag_place(description, key, &found);

	check_tag(key, value);
	if (!found && description->ntags == DYN_MAX_TAGS)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("a table has at most %d tags", DYN_MAX_TAGS),
				 errwords("Number of Tags exceed the current limit for the provided ResourceArn")));
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
