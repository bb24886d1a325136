/*
 * definitions.c
 *	  How requests define tables and indexes.
 *
 * Only errors that are specific to requests are checked here; the catalog layer checks the rules of
 * tables and indexes.
 */
#include "postgres.h"

#include "nodes/pg_list.h"

#include "api/request/definitions.h"
#include "catalog/definition/key_spec.h"
#include "catalog/definition/settings.h"
#include "server/citus.h"
#include "server/errors.h"
#include "server/pgvector.h"

#define SECOND_NOT_RANGE "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"

#define MAX_ATTRIBUTE 255 /* characters of the name of an attribute that an index has */

static const char *const key_types[] = {"HASH", "RANGE", NULL};
static const char *const attribute_types[] = {"S", "N", "B", NULL};
static const char *const encryption_types[] = {"AES256", "KMS", NULL};
#define TYPE_AES256 0

/*
 * Read
 */

static const RequestMember attribute_members[] = {
	{"AttributeName", MEMBER_STRING, offsetof(AttributeDefinition, name), true, .min = 1,
	 .max = DYN_MAX_KEY_NAME},
	{"AttributeType", MEMBER_CHOICE, offsetof(AttributeDefinition, type), true, attribute_types,
	 .set = "B, N, S"}};
const RequestType request_attribute = {attribute_members, lengthof(attribute_members),
									   sizeof(AttributeDefinition)};

static const RequestMember key_members[] = {
	{"AttributeName", MEMBER_STRING, offsetof(KeyElement, attribute), true, .min = 1,
	 .max = DYN_MAX_KEY_NAME},
	{"KeyType", MEMBER_CHOICE, offsetof(KeyElement, range), true, key_types}};
const RequestType request_key = {key_members, lengthof(key_members), sizeof(KeyElement),
								 .name = "KeySchemaElement"};

static const RequestMember provisioned_members[] = {
	{"WriteCapacityUnits", MEMBER_LONG, offsetof(DynCapacity, write), true, .min = 1},
	{"ReadCapacityUnits", MEMBER_LONG, offsetof(DynCapacity, read), true, .min = 1}};
const RequestType request_provisioned = {provisioned_members, lengthof(provisioned_members)};

static const RequestMember maximum_members[] = {
	{"MaxReadRequestUnits", MEMBER_LONG, offsetof(DynCapacity, read)},
	{"MaxWriteRequestUnits", MEMBER_LONG, offsetof(DynCapacity, write)}};
const RequestType request_maximum = {maximum_members, lengthof(maximum_members)};

static const RequestMember warm_members[] = {
	{"ReadUnitsPerSecond", MEMBER_LONG, offsetof(DynCapacity, read)},
	{"WriteUnitsPerSecond", MEMBER_LONG, offsetof(DynCapacity, write)}};
const RequestType request_warm = {warm_members, lengthof(warm_members)};

static const RequestMember included_attribute = {.min = 1, .max = MAX_ATTRIBUTE};
static const RequestMember projection_members[] = {
	{"ProjectionType", MEMBER_CHOICE, offsetof(IndexDefinition, spec.projection), false,
	 dyn_projection_names, .set = "ALL, INCLUDE, KEYS_ONLY"},
	{"NonKeyAttributes", MEMBER_STRINGS, offsetof(IndexDefinition, included), .min = 1,
	 .each = &included_attribute}};
static const RequestType projection = {projection_members, lengthof(projection_members)};

/* A KeySchema may be too long for an index: that is told later, in other words. */
static const RequestMember global_members[] = {
	{"IndexName", MEMBER_STRING, offsetof(IndexDefinition, spec.name), true,
	 .name_of = NAME_NEW_INDEX},
	{"KeySchema", MEMBER_OBJECTS, offsetof(IndexDefinition, keys), true, .of = &request_key,
	 .min = 1},
	{"Projection", MEMBER_PART, 0, true, .of = &projection},
	UNITS_MEMBERS(IndexDefinition)};
#define LOCAL_MEMBERS 3 /* the first ones */

const RequestType request_global_index = {
	global_members, lengthof(global_members), sizeof(IndexDefinition),
	&(const IndexDefinition){.spec.projection = NO_PROJECTION}};
const RequestType request_local_index = {
	global_members, LOCAL_MEMBERS, sizeof(IndexDefinition),
	&(const IndexDefinition){.spec.local = true, .spec.projection = NO_PROJECTION}};

static const char *const search_types[] = {"HASH", "INLINE_FILTER", NULL};
static const RequestMember search_members[] = {
	{"AttributeName", MEMBER_STRING, offsetof(SearchElement, attribute), true, .min = 1,
	 .max = DYN_MAX_KEY_NAME},
	{"SearchSchemaElementType", MEMBER_CHOICE, offsetof(SearchElement, filter), true,
	 search_types}};
static const RequestType search_element = {search_members, lengthof(search_members),
										   sizeof(SearchElement)};

static const RequestMember vector_attribute_members[] = {
	{"AttributeName", MEMBER_STRING, 0, true, .min = 1, .max = MAX_ATTRIBUTE}};
static const RequestType vector_attribute = {vector_attribute_members,
											 lengthof(vector_attribute_members)};
static const RequestMember vector_members[] = {
	{"IndexName", MEMBER_STRING, offsetof(VectorDefinition, index.spec.name), true,
	 .name_of = NAME_NEW_INDEX},
	{"VectorAttribute", MEMBER_PART, offsetof(VectorDefinition, attribute), true,
	 .of = &vector_attribute},
	{"Projection", MEMBER_PART, offsetof(VectorDefinition, index), true, .of = &projection},
	{"Dimensions", MEMBER_INTEGER, offsetof(VectorDefinition, dimensions), true},
	{"DistanceFunction", MEMBER_CHOICE, offsetof(VectorDefinition, distance), true,
	 dyn_distance_names, .set = "DOT_PRODUCT, COSINE, EUCLIDEAN"},
	{"SearchSchema", MEMBER_OBJECTS, offsetof(VectorDefinition, schema), .of = &search_element}};
const RequestType request_vector_index = {
	vector_members, lengthof(vector_members), sizeof(VectorDefinition),
	&(const VectorDefinition){.index.spec.projection = NO_PROJECTION}};

static const RequestMember stream_members[] = {
	{"StreamEnabled", MEMBER_BOOL, offsetof(StreamSpecification, enabled), true},
	{"StreamViewType", MEMBER_CHOICE, offsetof(StreamSpecification, view), false,
	 dyn_stream_view_names}};
const RequestType request_stream = {stream_members, lengthof(stream_members),
									sizeof(StreamSpecification),
									&(const StreamSpecification){.view = -1}};

static const RequestMember encryption_members[] = {
	{"Enabled", MEMBER_BOOL, offsetof(Encryption, enabled)},
	{"SSEType", MEMBER_CHOICE, offsetof(Encryption, type), false, encryption_types},
	{"KMSMasterKeyId", MEMBER_REFUSED,
	 .hint = "tables have no keys of their own, encrypt the storage of the database"}};
const RequestType request_encryption = {encryption_members, lengthof(encryption_members),
										sizeof(Encryption), &(const Encryption){.type = -1}};

/* Reads TableClass into a DynTableClass. */
void
request_read_table_class(JsonReader *reader, void *class)
{
	ItemSpan name = json_read_string(reader);

	for (int i = DYN_CLASS_STANDARD; dyn_table_class_names[i] != NULL; i++)
	{
		if (!item_span_is(name, dyn_table_class_names[i]))
			continue;
		*(DynTableClass *) class = (DynTableClass) i;
		return;
	}
	request_refuse(reader,
				   "Invalid table-class parameter provided. Please try again with a valid "
				   "table-class value: [STANDARD, STANDARD_INFREQUENT_ACCESS].",
				   "unknown table class \"%s\"", item_quoted(name));
}

/*
 * Raises ERRCODE_DYN_VALIDATION if a stream is enabled without StreamViewType, or if that is given
 * and the stream is not enabled.
 */
void
request_check_stream(const StreamSpecification *stream, bool create)
{
	if (stream == NULL || stream->enabled == (stream->view >= 0))
		return;
	if (create)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "Table is being created with a stream %s, UpdateViewType %s",
				  stream->enabled ? "enabled" : "disabled",
				  stream->enabled ? "is required" : "should not be specified");
	dyn_error(ERRCODE_DYN_VALIDATION, DYN_INVALID_WORDS "If stream is being %s UpdateViewType %s",
			  stream->enabled ? "enabled then" : "disabled, then",
			  stream->enabled ? "is required" : "must not be specified");
}

/* Raises ERRCODE_DYN_VALIDATION if SSEType does not go with Enabled, or is not supported. */
void
request_check_encryption(const Encryption *encryption)
{
	if (encryption == NULL || encryption->type < 0)
		return;
	if (!encryption->enabled)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "SSEType can not be specified if Enabled is false");
	if (encryption->type == TYPE_AES256)
		dyn_error(ERRCODE_DYN_VALIDATION, DYN_INVALID_WORDS "SSEType AES256 is not supported");
}

/*
 * Attributes
 */

/* Raises an error; how DynamoDB prints the two schemas is unknown: the attribute is both here. */
pg_noreturn static void
fail_redefined(const AttributeDefinition *attribute, char type)
{
	const char *name = item_quoted_words(attribute->name);

	ereport(
		ERROR,
		(errcode(ERRCODE_DYN_VALIDATION),
		 errmsg("attribute \"%s\" is of type %c in the table", item_quoted(attribute->name), type),
		 errwords(DYN_INVALID_WORDS
				  "Attributes cannot be redefined. Please check that your attribute has the "
				  "same type as previously defined. Existing schema: "
				  "Schema:[SchemaElement: key{%s:%c}] New schema: "
				  "Schema:[SchemaElement: key{%s:%s}]",
				  name, type, name, attribute_types[attribute->type])));
	pg_unreachable();
}

/* Uses an attribute; that of an existing key may be defined again, with the same type. */
static void
use_attribute(ItemSpan spec, List *attributes)
{
	ItemSpan name = {spec.data, spec.len - 2};
	ListCell *cell;

	foreach (cell, attributes)
	{
		AttributeDefinition *attribute = lfirst(cell);

		if (item_compare_bytes(attribute->name, name) != 0)
			continue;
		attribute->used = true;
		if (*attribute_types[attribute->type] != spec.data[spec.len - 1])
			fail_redefined(attribute, spec.data[spec.len - 1]);
	}
}

/*
 * Raises ERRCODE_DYN_VALIDATION if an attribute is defined otherwise than the table has it, or
 * twice, or is neither a key of the table nor one that has been set.  DynamoDB says less of a table
 * without indexes.
 */
void
request_check_attributes(const DynShape *shape, List *attributes)
{
	bool exists = OidIsValid(shape->relid);
	const ItemSpan *twice;
	List *used = NIL;
	ListCell *cell;

	if (exists)
	{
		foreach (cell, dyn_shape_keys(shape))
			use_attribute(((DynShapeColumn *) lfirst(cell))->spec, attributes);
	}
	twice = request_find_twice(attributes);
	if (twice != NULL)
		dyn_error(ERRCODE_DYN_VALIDATION, "Attribute Name is duplicated: %s",
				  item_quoted_words(*twice));
	foreach (cell, attributes)
	{
		if (((AttributeDefinition *) lfirst(cell))->used)
			used = lappend(used, lfirst(cell));
	}
	if (list_length(used) == list_length(attributes))
		return;
	if (!exists && shape->indexes == NIL)
		dyn_error(ERRCODE_DYN_VALIDATION, DYN_INVALID_WORDS
				  "Number of attributes in KeySchema does not exactly match number of "
				  "attributes defined in AttributeDefinitions");
	dyn_error(ERRCODE_DYN_VALIDATION,
			  DYN_INVALID_WORDS
			  "Some AttributeDefinitions are not used. AttributeDefinitions: %s, keys "
			  "used: %s",
			  request_strings_text(attributes), request_strings_text(used));
}

/*
 * Keys
 */

/* Checks that HASH elements come first, and returns their number. */
static int
count_hash(List *keys)
{
	int n = 0;

	while (n < list_length(keys) && !((KeyElement *) list_nth(keys, n))->range)
		n++;
	if (n == 0)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
	for (int i = n; i < list_length(keys); i++)
	{
		if (!((KeyElement *) list_nth(keys, i))->range)
			dyn_error(ERRCODE_DYN_VALIDATION, DYN_INVALID_WORDS
					  "All HASH key attributes must precede RANGE key attributes in the "
					  "KeySchema");
	}
	return n;
}

/* Returns how many of them are HASH. */
static int
check_keys(List *keys, List *attributes)
{
	ListCell *cell;

	foreach (cell, keys)
	{
		if (request_find_name(attributes, ((KeyElement *) lfirst(cell))->attribute) == NULL)
			dyn_error(ERRCODE_DYN_VALIDATION,
					  DYN_INVALID_WORDS
					  "Some index key attributes are not defined in AttributeDefinitions. "
					  "Keys: %s, AttributeDefinitions: %s",
					  request_strings_text(keys), request_strings_text(attributes));
	}
	if (request_find_twice(keys) != NULL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  list_length(keys) == 2
					  ? "Both the Hash Key and the Range Key element in the KeySchema have the "
						"same name"
					  : "The KeySchema contains multiple key attributes with the same name");
	return count_hash(keys);
}

/* Sets the specs of keys, whose definitions are used; returns their number. */
static int
set_specs(ItemSpan *specs, List *keys, List *attributes)
{
	for (int i = 0; i < list_length(keys); i++)
	{
		AttributeDefinition *attribute =
			request_find_name(attributes, ((KeyElement *) list_nth(keys, i))->attribute);

		attribute->used = true;
		specs[i] = dyn_key_spec(attribute->name, attribute_types[attribute->type]);
	}
	return list_length(keys);
}

/* Sets the table's keys.  DynamoDB says less of one with fewer definitions than keys. */
void
request_set_keys(DynShape *shape, List *keys, List *attributes)
{
	if (list_length(keys) > list_length(attributes))
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Invalid KeySchema: Some index key attribute have no definition");
	if (check_keys(keys, attributes) > 1)
		dyn_error(ERRCODE_DYN_VALIDATION, SECOND_NOT_RANGE);
	shape->nkeys = set_specs(shape->keys, keys, attributes);
}

/*
 * Indexes
 */

static void
check_local_hash(const DynIndexSpec *spec, const DynShape *shape)
{
	if (spec->npartition > 1)
		dyn_error(ERRCODE_DYN_VALIDATION, SECOND_NOT_RANGE);
	if (item_compare_bytes(spec->keys[0], shape->keys[0]) == 0)
		return;
	dyn_error(ERRCODE_DYN_VALIDATION,
			  DYN_INVALID_WORDS
			  "Index KeySchema does not have the same leading hash key as table KeySchema for "
			  "index: %s. index hash key: %.*s, table hash key: %.*s",
			  item_quoted_words(spec->name), (int) spec->keys[0].len - 2, spec->keys[0].data,
			  (int) shape->keys[0].len - 2, shape->keys[0].data);
}

static void
set_index_keys(DynIndexSpec *spec, List *keys, List *attributes)
{
	int nsort;

	if (attributes == NIL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "AttributeDefinitions is not specified for index: %s",
				  item_quoted_words(spec->name));
	spec->npartition = check_keys(keys, attributes);
	nsort = list_length(keys) - spec->npartition;
	if (spec->npartition > DYN_MAX_KEY_PART || nsort > DYN_MAX_KEY_PART)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS
				  "The KeySchema exceeds the maximum allowed number of %s key attributes",
				  spec->npartition > DYN_MAX_KEY_PART ? "HASH" : "RANGE");
	spec->nkeys = set_specs(spec->keys, keys, attributes);
}

static void
set_included(DynIndexSpec *spec, List *included)
{
	if (spec->projection == NO_PROJECTION)
		dyn_error(ERRCODE_DYN_VALIDATION, DYN_INVALID_WORDS "Unknown ProjectionType: null");
	spec->nincluded = list_length(included);
	spec->included = palloc(spec->nincluded * sizeof(ItemSpan));
	for (int i = 0; i < spec->nincluded; i++)
		spec->included[i] = *(ItemSpan *) list_nth(included, i);
}

/* Returns whether a table is distributed, or is going to be if it is new. */
static bool
is_distributed(const DynShape *shape)
{
	return OidIsValid(shape->relid) ? citus_kind(shape->relid) == CITUS_DISTRIBUTED
									: dyn_distribute_new_tables;
}

/* Completes the definition of an index of a table whose keys and settings are known. */
DynIndexSpec *
request_index_spec(IndexDefinition *definition, const DynShape *shape, DynDescription *description,
				   List *attributes)
{
	DynIndexSpec *spec = &definition->spec;
	DynUnits units = {{0}};

	set_index_keys(spec, definition->keys, attributes);
	set_included(spec, definition->included);
	if (!spec->local && is_distributed(shape))
		spec->distribution = (DynIndexDistribution) dyn_distribute_new_indexes;
	spec->covering = dyn_covering_indexes && spec->distribution == DYN_DISTRIBUTE_TABLE;
	if (spec->local)
		check_local_hash(spec, shape);
	dyn_index_spec_check(spec);
	if (spec->local)
		return spec;
	description_change_units(&units, &definition->units, &spec->name);
	if (description->billing == DYN_PROVISIONED && units.provisioned.read == 0)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "ProvisionedThroughput %s specified for index: %s",
				  OidIsValid(shape->relid) ? "must be" : "is not", item_quoted_words(spec->name));
	description_check_units(description->billing, &units, &spec->name);
	description_set_index_units(description, spec->name, &units);
	return spec;
}

/*
 * Vector indexes
 */

/* Adds an attribute of a SearchSchema, whose definition is used. */
static void
add_search_key(DynVectorSpec *spec, const SearchElement *element, List *attributes)
{
	AttributeDefinition *attribute = request_find_name(attributes, element->attribute);
	ItemSpan key;

	if (attribute == NULL)
		dyn_error(ERRCODE_DYN_VALIDATION, DYN_INVALID_WORDS
				  "One element in SearchSchema is not defined in attribute definitions");
	attribute->used = true;
	key = dyn_key_spec(attribute->name, attribute_types[attribute->type]);
	if (element->filter)
		spec->filters[spec->nfilters++] = key;
	else if (spec->hash.len == 0)
		spec->hash = key;
	else
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "SearchSchema can have at most one HASH element");
}

/* Completes the definition of a vector index. */
DynVectorSpec *
request_vector_spec(VectorDefinition *definition, List *attributes)
{
	DynVectorSpec *spec = palloc0(sizeof(DynVectorSpec));
	ListCell *cell;

	spec->index.name = definition->index.spec.name;
	spec->index.projection = definition->index.spec.projection;
	spec->attribute = definition->attribute;
	spec->dimensions = definition->dimensions.value;
	spec->distance = (DynDistance) definition->distance;
	spec->method = spec->dimensions > PGVECTOR_HALF ? DYN_SEARCH_EXACT
													: (DynSearchMethod) dyn_vector_index_method;
	spec->hash = (ItemSpan){"", 0};
	spec->filters = palloc((list_length(definition->schema) + 1) * sizeof(ItemSpan));
	foreach (cell, definition->schema)
		add_search_key(spec, lfirst(cell), attributes);
	set_included(&spec->index, definition->index.included);
	dyn_vector_spec_check(spec, false);
	return spec;
}

/* Refuses vector indexes of a table with provisioned capacity (VS08). */
void
request_check_vector_billing(DynBilling billing, bool any)
{
	if (any && billing == DYN_PROVISIONED)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "Vector indexes are only supported for PAY_PER_REQUEST tables");
}
