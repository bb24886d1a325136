/*
 * vector_spec.c
 *	  Definitions of vector indexes: read, checked, printed.
 */
#include "postgres.h"

#include "catalog/definition/table_settings.h"
#include "catalog/definition/vector_spec.h"
#include "item/fields.h"
#include "server/errors.h"
#include "server/name.h"
#include "server/pgvector.h"

const char *const dyn_distance_names[] = {"COSINE", "EUCLIDEAN", "DOT_PRODUCT", NULL};
const char *const dyn_search_method_names[] = {"exact", "hnsw", NULL};

/* Raises an error; words are what DynamoDB says of a new index behind DYN_INVALID_WORDS, or NULL. */
pg_noreturn static void
spec_fail(const DynVectorSpec *spec, const char *message, const char *words)
{
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("invalid vector index \"%s\": %s", item_quoted(spec->index.name), message),
			 errwords_if(words == NULL ? NULL : psprintf(DYN_INVALID_WORDS "%s", words))));
}

static void
fail_member(const FieldReader *reader, const char *message, const char *detail)
{
	spec_fail(reader->context, message, NULL);
}

static void
read_filters(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynVectorSpec *spec = target;

	spec->nfilters = field_strings(reader, field, value, "an array of strings", &spec->filters);
}

static void
print_filters(JsonWriter *json, const Field *field, const void *target)
{
	const DynVectorSpec *spec = target;

	if (spec->nfilters > 0)
		json_write_spans(json, field->name, spec->filters, spec->nfilters);
}

static void
read_included(const FieldReader *reader, const Field *field, void *target, ItemSpan value)
{
	DynVectorSpec *spec = target;

	spec->index.nincluded =
		field_strings(reader, field, value, "an array of strings", &spec->index.included);
}

static void
print_included(JsonWriter *json, const Field *field, const void *target)
{
	const DynVectorSpec *spec = target;

	if (spec->index.nincluded > 0)
		json_write_spans(json, field->name, spec->index.included, spec->index.nincluded);
}

static const Field fields[] = {
	{"name", FIELD_NAME, FIELD_AT(DynVectorSpec, index.name), .required = true},
	{"attribute", FIELD_NAME, FIELD_AT(DynVectorSpec, attribute), .required = true},
	{"dimensions", FIELD_COUNT, FIELD_AT(DynVectorSpec, dimensions), .required = true},
	{"distance", FIELD_CHOICE, FIELD_AT(DynVectorSpec, distance), .choices = dyn_distance_names,
	 .always = true},
	{"method", FIELD_CHOICE, FIELD_AT(DynVectorSpec, method), .choices = dyn_search_method_names,
	 .always = true},
	{"hash_key", FIELD_STRING, FIELD_AT(DynVectorSpec, hash)},
	{"filters", FIELD_OWN, .read = read_filters, .print = print_filters},
	{"projection", FIELD_CHOICE, FIELD_AT(DynVectorSpec, index.projection), .always = true,
	 .choices = dyn_projection_names},
	{"non_key_attributes", FIELD_OWN, .read = read_included, .print = print_included},
	{"entries", FIELD_STRING, FIELD_AT(DynVectorSpec, index.entries)},
	{"status", FIELD_CHOICE, FIELD_AT(DynVectorSpec, index.status),
	 .choices = dyn_index_status_names},
	{NULL}};

/* An argument of a table's definition begins so, and no index's, which begins with its name. */
#define ARGUMENT_START "{\"vector\": "

/*
 * Returns a definition from the argument of a trigger.  The table's owner may have written any text
 * there: what is wrong with it is ERRCODE_DYN_VALIDATION.
 */
DynVectorSpec *
dyn_vector_spec_parse(const char *json)
{
	ItemSpan root = item_root(item_parse(json, (int) strlen(json), ITEM_SYNTAX_PLAIN_ITEM, NULL));
	DynVectorSpec *spec = palloc0(sizeof(DynVectorSpec));
	FieldReader reader = {fail_member, .context = spec, .null_is_missing = true};

	fields_read(&reader, fields, spec, root);
	dyn_vector_spec_check(spec, true);
	return spec;
}

/* Returns a definition as that argument. */
char *
dyn_vector_spec_print(const DynVectorSpec *spec)
{
	JsonWriter json = json_writer(JSON_SPACED);

	fields_print_object(&json, NULL, fields, spec);
	return json.text->data;
}

/* Returns whether an argument of a table's definition is that of a vector index. */
bool
dyn_vector_spec_is_argument(const char *argument)
{
	return dyn_argument_is_json(argument) &&
		   strncmp(argument, ARGUMENT_START, strlen(ARGUMENT_START)) == 0;
}

/* Returns the definition in such an argument. */
DynVectorSpec *
dyn_vector_spec_parse_argument(const char *argument)
{
	const char *json = argument + strlen(ARGUMENT_START);

	return dyn_vector_spec_parse(pnstrdup(json, strlen(json) - 1));
}

/* Returns a definition as such an argument. */
char *
dyn_vector_spec_print_argument(const DynVectorSpec *spec)
{
	return psprintf(ARGUMENT_START "%s}", dyn_vector_spec_print(spec));
}

/* Returns what a definition says beside where its entries are, and whether all are there. */
char *
dyn_vector_spec_words(const DynVectorSpec *spec)
{
	DynVectorSpec said = *spec;

	said.index.entries = (ItemSpan){NULL, 0};
	said.index.status = DYN_INDEX_ACTIVE;
	return dyn_vector_spec_print(&said);
}

/* Returns the attribute of a key or filter; it is an error if another one before it is the same. */
static ItemSpan
schema_attribute(const DynVectorSpec *spec, ItemSpan key, const ItemSpan *before, int n)
{
	ItemSpan attribute;
	ItemType type;

	dyn_parse_key_spec(key, &attribute, &type);
	for (int i = 0; i < n; i++)
	{
		if (item_compare_bytes(before[i], attribute) == 0)
			spec_fail(spec,
					  psprintf("attribute \"%s\" is named twice in its hash key and its filters",
							   item_quoted(attribute)),
					  NULL);
	}
	return attribute;
}

/* Checks a definition by itself, one that is to be made or is stored, and puts it in order. */
void
dyn_vector_spec_check(DynVectorSpec *spec, bool stored)
{
	ItemSpan attributes[1 + DYN_MAX_FILTERS + 1];
	int n = 0;

	dyn_check_name("index", spec->index.name);
	if (spec->dimensions < 1 || spec->dimensions > DYN_MAX_DIMENSIONS)
		spec_fail(spec, psprintf("a vector has 1 to %d dimensions", DYN_MAX_DIMENSIONS),
				  psprintf("Number of dimensions must be between 1 and %d inclusive.",
						   DYN_MAX_DIMENSIONS));
	if (spec->attribute.len == 0 || spec->attribute.len > ITEM_MAX_NAME)
		spec_fail(spec, "it names no attribute", NULL);
	/* a trigger's argument is a C string */
	if (memchr(spec->attribute.data, '\0', spec->attribute.len) != NULL)
		spec_fail(spec, "its attribute has U+0000 in its name", NULL);
	if (spec->method == DYN_SEARCH_HNSW && spec->dimensions > PGVECTOR_HALF)
		spec_fail(spec,
				  psprintf("the method hnsw is for up to %d dimensions, and exact for more",
						   PGVECTOR_HALF),
				  NULL);
	if (spec->nfilters > DYN_MAX_FILTERS)
		spec_fail(spec, psprintf("it has at most %d filters", DYN_MAX_FILTERS), NULL);
	attributes[n++] = spec->attribute;
	if (spec->hash.len > 0)
	{
		attributes[n] = schema_attribute(spec, spec->hash, attributes, n);
		n++;
	}
	for (int i = 0; i < spec->nfilters; i++)
	{
		attributes[n] = schema_attribute(spec, spec->filters[i], attributes, n);
		n++;
	}
	dyn_index_spec_check_projection(&spec->index, stored);
}
