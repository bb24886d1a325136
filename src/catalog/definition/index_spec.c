/*
 * index_spec.c
 *	  Definitions of secondary indexes: read, checked, printed.
 *
 * They are JSON in the derive trigger's arguments and in the arguments of dyn_create_table().
 */
#include "postgres.h"

#include "catalog/definition/index_spec.h"
#include "catalog/definition/settings.h"
#include "item/fields.h"
#include "server/errors.h"
#include "server/name.h"

/* Checks an index that is to be made, or is stored as an argument of the trigger. */
static void spec_check(DynIndexSpec *spec, bool stored);

const char *const dyn_projection_names[] = {"ALL", "KEYS_ONLY", "INCLUDE", NULL};
const char *const dyn_compression_names[] = {"", "pglz", "lz4", NULL};
const char *const dyn_distribution_names[] = {"table", "key", NULL};

/* Raises an error.  What DynamoDB says of a new index comes behind DYN_INVALID_WORDS. */
pg_noreturn static void
fail_in_words(const DynIndexSpec *spec, bool stored, const char *message, const char *words)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid index \"%s\": %s", item_quoted(spec->name), message),
					errwords_if(stored ? NULL : psprintf(DYN_INVALID_WORDS "%s", words))));
}

/* Raises an error for what requests check in another way, or DynamoDB does not have. */
pg_noreturn static void
spec_fail(const DynIndexSpec *spec, const char *message)
{
	fail_in_words(spec, true, message, NULL);
}

static void
fail_member(const FieldReader *reader, const char *message, const char *detail)
{
	const DynIndexSpec *spec = reader->context;

	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid index \"%s\": %s", item_quoted(spec->name), message),
					detail == NULL ? 0 : errdetail("%s", detail)));
}

/*
 * Members
 */

static void
fail_type(const FieldReader *reader, const Field *field, void *target)
{
	spec_fail(target, "its type must be global or local");
}

static void
read_type(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynIndexSpec *spec = target;
	ItemSpan type = item_payload(value);

	spec->local = item_span_is(type, "local");
	if (!spec->local && !item_span_is(type, "global"))
		fail_type(reader, field, target);
}

static void
print_type(JsonWriter *json, const Field *field, const void *target)
{
	json_write_string(json, field->name,
					  ((const DynIndexSpec *) target)->local ? "local" : "global");
}

/* Reads a string or an array of strings; returns their number. */
static int
read_strings(const FieldReader *reader, const Field *field, ItemSpan value, ItemSpan **strings)
{
	if (item_type(value) != ITEM_S)
		return field_strings(reader, field, value, "a string or an array of strings", strings);
	*strings = palloc(sizeof(ItemSpan));
	**strings = item_payload(value);
	return 1;
}

static void
print_strings(JsonWriter *json, const char *name, const ItemSpan *strings, int n)
{
	if (n > 0)
		json_write_spans(json, name, strings, n);
}

/* Adds a part of the key, the partition key or, after it, the sort key. */
static void
add_keys(const FieldReader *reader, const Field *field, DynIndexSpec *spec, const char *part,
		 ItemSpan value)
{
	ItemSpan *keys;
	int n = read_strings(reader, field, value, &keys);

	if (n > DYN_MAX_KEY_PART)
		spec_fail(spec, psprintf("a %s has at most %d attributes", part, DYN_MAX_KEY_PART));
	for (int i = 0; i < n; i++)
		spec->keys[spec->nkeys++] = keys[i];
}

static void
read_partition_key(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynIndexSpec *spec = target;

	add_keys(reader, field, spec, "partition key", value);
	spec->npartition = spec->nkeys;
}

static void
print_partition_key(JsonWriter *json, const Field *field, const void *target)
{
	const DynIndexSpec *spec = target;

	print_strings(json, field->name, spec->keys, spec->npartition);
}

static void
read_sort_key(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	add_keys(reader, field, target, "sort key", value);
}

static void
print_sort_key(JsonWriter *json, const Field *field, const void *target)
{
	const DynIndexSpec *spec = target;

	print_strings(json, field->name, spec->keys + spec->npartition, spec->nkeys - spec->npartition);
}

static void
read_included(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynIndexSpec *spec = target;

	spec->nincluded = read_strings(reader, field, value, &spec->included);
}

static void
print_included(JsonWriter *json, const Field *field, const void *target)
{
	const DynIndexSpec *spec = target;

	print_strings(json, field->name, spec->included, spec->nincluded);
}

/*
 * Reads where an index carries what it covers.  Dumps of builds from before 0.2.0 may have
 * "expression": their btree cannot be restored, and the index is taken for one that does not cover.
 */
static void
read_covering(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynIndexSpec *spec = target;
	ItemSpan text = field_string(reader, field->name, value);

	spec->covering = item_span_is(text, "column");
	if (!spec->covering && !item_span_is(text, "expression"))
		field_fail(reader, field->name, "\"column\"");
}

static void
print_covering(JsonWriter *json, const Field *field, const void *target)
{
	if (((const DynIndexSpec *) target)->covering)
		json_write_string(json, field->name, "column");
}

/* Reads the name of the relation of entries; an index has one if these are distributed by its key. */
static void
read_entries(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynIndexSpec *spec = target;

	spec->entries = field_string(reader, field->name, value);
	spec->distribution = DYN_DISTRIBUTE_KEY;
}

static void
print_entries(JsonWriter *json, const Field *field, const void *target)
{
	const DynIndexSpec *spec = target;

	if (spec->distribution == DYN_DISTRIBUTE_KEY)
		json_write_span(json, field->name, spec->entries);
}

/*
 * Definitions
 */

/* These fields users give as well; a local index has the table's partition key, unnamed. */
#define PARTITION_KEY_FIELD \
	{ \
		"partition_key", FIELD_OWN, .read = read_partition_key, .print = print_partition_key \
	}
#define OTHER_FIELDS \
	{"sort_key", FIELD_OWN, .read = read_sort_key, .print = print_sort_key}, \
		{"projection", FIELD_CHOICE, FIELD_AT(DynIndexSpec, projection), .always = true, \
		 .choices = dyn_projection_names}, \
	{ \
		"non_key_attributes", FIELD_OWN, .read = read_included, .print = print_included \
	}
#define COVERING_FIELD \
	{ \
		"covering", FIELD_BOOL, FIELD_AT(DynIndexSpec, covering) \
	}

static const Field global_fields[] = {PARTITION_KEY_FIELD,
									  OTHER_FIELDS,
									  COVERING_FIELD,
									  {"distribution", FIELD_CHOICE,
									   FIELD_AT(DynIndexSpec, distribution),
									   .choices = dyn_distribution_names},
									  {NULL}};
static const Field local_fields[] = {OTHER_FIELDS, COVERING_FIELD, {NULL}};

static const Field argument_fields[] = {
	{"name", FIELD_STRING, FIELD_AT(DynIndexSpec, name)},
	{"type", FIELD_CHOICE, .read = read_type, .missing = fail_type, .print = print_type},
	PARTITION_KEY_FIELD,
	OTHER_FIELDS,
	{"covering", FIELD_OWN, .read = read_covering, .print = print_covering},
	{"entry_limit", FIELD_COUNT, FIELD_AT(DynIndexSpec, entry_limit)},
	{"compression", FIELD_CHOICE, FIELD_AT(DynIndexSpec, compression),
	 .choices = dyn_compression_names},
	{"entries", FIELD_OWN, .read = read_entries, .print = print_entries},
	{"status", FIELD_CHOICE, FIELD_AT(DynIndexSpec, status), .choices = dyn_index_status_names},
	{NULL}};

/*
 * Returns a definition from an argument of the derive trigger.  The table's owner may have written
 * any text there: what is wrong with it is ERRCODE_DYN_VALIDATION.
 */
DynIndexSpec *
dyn_index_spec_parse_argument(const char *json)
{
	ItemSpan root = item_root(item_parse(json, (int) strlen(json), ITEM_SYNTAX_PLAIN_ITEM, NULL));
	ItemChildren members = item_children(root);
	DynIndexSpec *spec = palloc0(sizeof(DynIndexSpec));
	FieldReader reader = {fail_member, .context = spec, .null_is_missing = true};
	ItemSpan name;

	/* for the errors of all other members */
	if (!item_find(&members, (ItemSpan){"name", 4}, &name))
		spec_fail(spec, "it has no name");
	if (item_type(name) == ITEM_S)
		spec->name = item_payload(name);
	fields_read(&reader, argument_fields, spec, root);
	spec_check(spec, true);
	return spec;
}

/*
 * Returns a definition that a user gives with the index's name: the members of a JSON object.
 * table_key is the table's partition key, which a local index has.  What is wrong with it is
 * ERRCODE_DYN_VALIDATION.
 */
DynIndexSpec *
dyn_index_spec_parse(ItemSpan name, ItemSpan definition, bool local, ItemSpan table_key)
{
	DynIndexSpec *spec = palloc0(sizeof(DynIndexSpec));
	FieldReader reader = {fail_member, .context = spec, .null_is_missing = true};

	spec->name = name;
	spec->local = local;
	if (item_type(definition) != ITEM_M)
		fail_member(&reader, "its definition must be a JSON object",
					psprintf("It has the form %s.", local ? LOCAL_INDEX_FORM : GLOBAL_INDEX_FORM));
	if (local)
	{
		spec->keys[0] = table_key;
		spec->npartition = spec->nkeys = 1;
	}
	fields_read(&reader, local ? local_fields : global_fields, spec, definition);
	dyn_index_spec_check(spec);
	return spec;
}

/* Returns a definition as an argument of the derive trigger. */
char *
dyn_index_spec_print(const DynIndexSpec *spec)
{
	JsonWriter json = json_writer(JSON_SPACED);

	fields_print_object(&json, NULL, argument_fields, spec);
	return json.text->data;
}

/*
 * Checks
 */

/*
 * Checks what an index projects, and puts the included attributes in order: non-key attributes go
 * with INCLUDE, each once (docs/semantics.md, I13, I17).
 */
void
dyn_index_spec_check_projection(DynIndexSpec *spec, bool stored)
{
	if (spec->projection != DYN_PROJECT_INCLUDE && spec->nincluded > 0)
		fail_in_words(spec, stored, "non-key attributes go with the projection INCLUDE only",
					  psprintf("ProjectionType is %s, but NonKeyAttributes is specified",
							   dyn_projection_names[spec->projection]));
	if (spec->projection == DYN_PROJECT_INCLUDE && spec->nincluded == 0)
		fail_in_words(spec, stored, "the projection INCLUDE needs non-key attributes",
					  "ProjectionType is INCLUDE, but NonKeyAttributes is not specified");
	for (int i = 0; i < spec->nincluded; i++)
	{
		if (spec->included[i].len == 0 || spec->included[i].len > ITEM_MAX_NAME)
			spec_fail(spec, psprintf("names of attributes have 1 to %d bytes", ITEM_MAX_NAME));
		/* a trigger's argument is a C string */
		if (memchr(spec->included[i].data, '\0', spec->included[i].len) != NULL)
			spec_fail(spec, "a non-key attribute has U+0000 in its name");
	}
	qsort(spec->included, spec->nincluded, sizeof(ItemSpan), item_compare_spans);
	for (int i = 1; i < spec->nincluded; i++)
	{
		if (item_compare_bytes(spec->included[i - 1], spec->included[i]) == 0)
			fail_in_words(spec, stored, "a non-key attribute is named twice",
						  psprintf("Duplicate element in NonKeyAttributes: %s",
								   item_quoted_words(spec->included[i])));
	}
}

/*
 * An index of keys only has all that it projects in its columns, and carries nothing.  The
 * definition of a new index keeps the limit of its entries, which then do not depend on the
 * setting.
 */
static void
check_covering(DynIndexSpec *spec, bool stored)
{
	if (spec->projection == DYN_PROJECT_KEYS_ONLY)
		spec->covering = false;
	if (!spec->covering)
		return;
	if (!stored)
	{
		spec->entry_limit = dyn_covering_entry_limit;
		spec->compression = DYN_COMPRESSION_PGLZ;
#ifdef USE_LZ4
		spec->compression = DYN_COMPRESSION_LZ4;
#endif
	}
	if (spec->compression == DYN_COMPRESSION_NONE)
		spec_fail(spec, "it does not say how it compresses what it carries");
	if (spec->entry_limit < 1 || spec->entry_limit > DYN_MAX_ENTRY_LIMIT)
		spec_fail(spec, psprintf("entry_limit must be from 1 to %d", DYN_MAX_ENTRY_LIMIT));
}

/* Puts the included attributes in order. */
static void
spec_check(DynIndexSpec *spec, bool stored)
{
	ItemSpan attributes[DYN_MAX_INDEX_KEYS];

	dyn_check_name("index", spec->name);
	if (spec->npartition == 0)
		spec_fail(spec, "it has no partition key");
	if (spec->local && spec->nkeys > 2)
		spec_fail(spec, "a local index has one sort key");
	if (spec->local && spec->nkeys < 2)
		fail_in_words(spec, stored, "a local index has one sort key",
					  psprintf("Index KeySchema does not have a range key for index: %s",
							   item_quoted_words(spec->name)));
	for (int i = 0; i < spec->nkeys; i++)
	{
		ItemType type;

		dyn_parse_key_spec(spec->keys[i], &attributes[i], &type);
		for (int j = 0; j < i; j++)
		{
			if (item_compare_bytes(attributes[i], attributes[j]) == 0)
				spec_fail(spec, psprintf("attribute \"%s\" occurs twice in its key",
										 item_quoted(attributes[i])));
		}
	}
	dyn_index_spec_check_projection(spec, stored);
	check_covering(spec, stored);
	if (spec->distribution == DYN_DISTRIBUTE_KEY && (spec->local || spec->covering))
		spec_fail(spec, "an index that is distributed by its key is a global one and has what it "
						"projects without covering it");
}

/* Checks a new index by itself, completes it, and puts the included attributes in order. */
void
dyn_index_spec_check(const DynIndexSpec *given)
{
	spec_check((DynIndexSpec *) given, false);
}

/* Returns whether two definitions say the same, whatever their status. */
bool
dyn_index_spec_equal(const DynIndexSpec *a, const DynIndexSpec *b)
{
	return item_compare_bytes(a->name, b->name) == 0 && a->local == b->local &&
		   a->npartition == b->npartition && a->projection == b->projection &&
		   a->covering == b->covering && a->distribution == b->distribution &&
		   item_spans_equal(a->keys, a->nkeys, b->keys, b->nkeys) &&
		   item_spans_equal(a->included, a->nincluded, b->included, b->nincluded);
}
