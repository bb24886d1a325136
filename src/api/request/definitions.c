/*
 * definitions.c
 *	  How requests define tables and indexes.
 *
 * Only errors that are specific to requests are checked here; the catalog layer checks the rules of
 * tables and indexes.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"

#include "api/request/definitions.h"
#include "catalog/definition/key_spec.h"
#include "catalog/definition/settings.h"
#include "server/errors.h"

#define SECOND_NOT_RANGE "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"

#define MAX_ATTRIBUTE 255 /* characters of the name of an attribute that an index has */

static const char *const key_types[] = {"HASH", "RANGE", NULL};
static const char *const attribute_types[] = {"S", "N", "B", NULL};
static const char *const encryption_types[] = {"AES256", "KMS", NULL};
#define TYPE_AES256 0

/*
 * Read
 */

/* Read AttributeDefinitions: append an AttributeDefinition for each element to a List *. */
void
request_read_attributes(JsonReader *reader, void *list)
{
	static const RequestMember members[] = {
		{"AttributeName", MEMBER_STRING, offsetof(AttributeDefinition, name), true, .min = 1,
		 .max = DYN_MAX_KEY_NAME},
		{"AttributeType", MEMBER_CHOICE, offsetof(AttributeDefinition, type), true, attribute_types,
		 .set = "B, N, S"}};

	for (json_read_array(reader); json_read_element(reader);)
	{
		AttributeDefinition *attribute = palloc0(sizeof(AttributeDefinition));

		request_read_members(reader, members, lengthof(members), attribute);
		*(List **) list = lappend(*(List **) list, attribute);
	}
}

/* KeySchema, of max elements at most; 0: no limit. */
static void
read_key_schema(JsonReader *reader, List **list, int max)
{
	static const RequestMember members[] = {
		{"AttributeName", MEMBER_STRING, offsetof(KeyElement, attribute), true, .min = 1,
		 .max = DYN_MAX_KEY_NAME},
		{"KeyType", MEMBER_CHOICE, offsetof(KeyElement, range), true, key_types}};

	for (json_read_array(reader); json_read_element(reader);)
	{
		KeyElement *key = palloc0(sizeof(KeyElement));

		request_read_members(reader, members, lengthof(members), key);
		*list = lappend(*list, key);
	}
	if (*list == NIL || (max > 0 && list_length(*list) > max))
		request_check_length(
			reader, list_length(*list), 1, max,
			request_list_text(*list, "KeySchemaElement", members, lengthof(members)));
}

/* Read KeySchema of a table: append a KeyElement for each element to a List *. */
void
request_read_key_schema(JsonReader *reader, void *list)
{
	read_key_schema(reader, list, DYN_MAX_KEYS);
}

/* An index may have more; what is wrong with them is told by other words. */
static void
read_index_key_schema(JsonReader *reader, void *list)
{
	read_key_schema(reader, list, 0);
}

/* Read ProvisionedThroughput into a Throughput. */
void
request_read_provisioned(JsonReader *reader, void *throughput)
{
	static const RequestMember members[] = {
		{"WriteCapacityUnits", MEMBER_LONG, offsetof(Throughput, write), true, .min = 1},
		{"ReadCapacityUnits", MEMBER_LONG, offsetof(Throughput, read), true, .min = 1}};

	request_read_members(reader, members, lengthof(members), throughput);
}

/* Read OnDemandThroughput into a Throughput. */
void
request_read_on_demand(JsonReader *reader, void *throughput)
{
	static const RequestMember members[] = {
		{"MaxReadRequestUnits", MEMBER_LONG, offsetof(Throughput, read)},
		{"MaxWriteRequestUnits", MEMBER_LONG, offsetof(Throughput, write)}};

	request_read_members(reader, members, lengthof(members), throughput);
}

/* Read WarmThroughput into a Throughput. */
void
request_read_warm(JsonReader *reader, void *throughput)
{
	static const RequestMember members[] = {
		{"ReadUnitsPerSecond", MEMBER_LONG, offsetof(Throughput, read)},
		{"WriteUnitsPerSecond", MEMBER_LONG, offsetof(Throughput, write)}};

	request_read_members(reader, members, lengthof(members), throughput);
}

/* Names of attributes. */
static void
read_included(JsonReader *reader, void *list)
{
	List **names = list;

	for (json_read_array(reader); json_read_element(reader);)
	{
		ItemSpan *name = palloc(sizeof(ItemSpan));

		*name = json_read_string(reader);
		request_check_length(reader, pg_mbstrlen_with_len(name->data, (int) name->len), 1,
							 MAX_ATTRIBUTE, item_quoted_words(*name));
		*names = lappend(*names, name);
	}
	request_check_length(reader, list_length(*names), 1, 0, "[]");
}

static void
read_projection(JsonReader *reader, void *to)
{
	static const RequestMember members[] = {
		{"ProjectionType", MEMBER_CHOICE, offsetof(IndexDefinition, projection.type), false,
		 dyn_projection_names, .set = "ALL, INCLUDE, KEYS_ONLY"},
		{"NonKeyAttributes", MEMBER_CUSTOM, offsetof(IndexDefinition, projection.included), false,
		 NULL, read_included}};

	/* the member's offset is 0: all of the definition is ours */
	request_read_members(reader, members, lengthof(members), to);
}

#define INDEX_MEMBERS \
	{"IndexName", MEMBER_STRING, offsetof(IndexDefinition, name), true, \
	 .name_of = NAME_NEW_INDEX}, \
		{"KeySchema", MEMBER_CUSTOM, offsetof(IndexDefinition, keys), \
		 true,        NULL,          read_index_key_schema}, \
	{ \
		"Projection", MEMBER_CUSTOM, 0, true, NULL, read_projection \
	}

static const RequestMember local_members[] = {INDEX_MEMBERS};

static const RequestMember global_members[] = {
	INDEX_MEMBERS,
	{"ProvisionedThroughput", MEMBER_CUSTOM, offsetof(IndexDefinition, throughputs.provisioned),
	 false, NULL, request_read_provisioned},
	{"OnDemandThroughput", MEMBER_CUSTOM, offsetof(IndexDefinition, throughputs.maximum), false,
	 NULL, request_read_on_demand},
	{"WarmThroughput", MEMBER_CUSTOM, offsetof(IndexDefinition, throughputs.warm), false, NULL,
	 request_read_warm}};

static IndexDefinition *
read_index(JsonReader *reader, bool local)
{
	IndexDefinition *definition = palloc0(sizeof(IndexDefinition));

	definition->projection.type = -1;
	request_read_members(reader, local ? local_members : global_members,
						 local ? lengthof(local_members) : lengthof(global_members), definition);
	return definition;
}

/* Read the definition of one global index; an IndexDefinition * is set to it, newly allocated. */
void
request_read_global_index(JsonReader *reader, void *definition)
{
	*(IndexDefinition **) definition = read_index(reader, false);
}

static void
read_indexes(JsonReader *reader, List **list, bool local)
{
	for (json_read_array(reader); json_read_element(reader);)
		*list = lappend(*list, read_index(reader, local));
	if (*list == NIL)
		request_refuse(reader,
					   local ? DYN_INVALID_WORDS "List of LocalSecondaryIndexes is empty"
							 : DYN_INVALID_WORDS "List of GlobalSecondaryIndexes is empty",
					   "the list of indexes is empty");
}

/*
 * Read GlobalSecondaryIndexes: append an IndexDefinition for each element to a List *.  An empty
 * array is ERRCODE_DYN_VALIDATION.
 */
void
request_read_global_indexes(JsonReader *reader, void *list)
{
	read_indexes(reader, list, false);
}

/*
 * Read LocalSecondaryIndexes: append an IndexDefinition for each element to a List *.  An empty
 * array is ERRCODE_DYN_VALIDATION.
 */
void
request_read_local_indexes(JsonReader *reader, void *list)
{
	read_indexes(reader, list, true);
}

/* Read StreamSpecification into a StreamSpecification. */
void
request_read_stream(JsonReader *reader, void *specification)
{
	static const RequestMember members[] = {
		{"StreamEnabled", MEMBER_BOOL, offsetof(StreamSpecification, enabled), true},
		{"StreamViewType", MEMBER_CHOICE, offsetof(StreamSpecification, view), false,
		 dyn_stream_view_names}};

	*(StreamSpecification *) specification = (StreamSpecification){.given = true, .view = -1};
	request_read_members(reader, members, lengthof(members), specification);
}

/*
 * Raises ERRCODE_DYN_VALIDATION if a stream is enabled without StreamViewType, or if that is given
 * and the stream is not enabled.
 */
void
request_check_stream(const StreamSpecification *stream, bool create)
{
	if (!stream->given || stream->enabled == (stream->view >= 0))
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

/* Read TableClass into a DynTableClass. */
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

/* Read SSESpecification into an Encryption. */
void
request_read_encryption(JsonReader *reader, void *encryption)
{
	static const RequestMember members[] = {
		{"Enabled", MEMBER_BOOL, offsetof(Encryption, enabled)},
		{"SSEType", MEMBER_CHOICE, offsetof(Encryption, type), false, encryption_types},
		{"KMSMasterKeyId", MEMBER_REFUSED,
		 .hint = "tables have no keys of their own, encrypt the storage of the database"}};

	*(Encryption *) encryption = (Encryption){.given = true, .type = -1};
	request_read_members(reader, members, lengthof(members), encryption);
}

/* Raises ERRCODE_DYN_VALIDATION if SSEType does not go with Enabled, or is not supported. */
void
request_check_encryption(const Encryption *encryption)
{
	if (!encryption->given || encryption->type < 0)
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

/*
 * Elements of AttributeDefinitions and of KeySchema begin with a name, so lists of them are lists of names
 * too.
 */

/* The place of the first element with a name; -1: there is none. */
static int
place_of(List *elements, ItemSpan name)
{
	ListCell *cell;

	foreach (cell, elements)
	{
		if (item_compare_bytes(*(const ItemSpan *) lfirst(cell), name) == 0)
			return foreach_current_index(cell);
	}
	return -1;
}

/* The first element whose name another one has before it; NULL: there is none. */
static const ItemSpan *
find_twice(List *elements)
{
	ListCell *cell;

	foreach (cell, elements)
	{
		CHECK_FOR_INTERRUPTS();
		if (place_of(elements, *(const ItemSpan *) lfirst(cell)) < foreach_current_index(cell))
			return lfirst(cell);
	}
	return NULL;
}

/* "name TYPE" of a key attribute, which is defined. */
static ItemSpan
key_spec(ItemSpan name, List *attributes)
{
	AttributeDefinition *attribute = list_nth(attributes, place_of(attributes, name));
	char *spec = palloc(name.len + 2);

	attribute->used = true;
	memcpy(spec, name.data, name.len);
	spec[name.len] = ' ';
	spec[name.len + 1] = *attribute_types[attribute->type];
	return (ItemSpan){spec, name.len + 2};
}

/* DynamoDB says less of a table with fewer definitions than keys. */
static void
check_defined(List *keys, List *attributes, bool of_table)
{
	ListCell *cell;

	if (of_table && list_length(keys) > list_length(attributes))
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Invalid KeySchema: Some index key attribute have no definition");
	foreach (cell, keys)
	{
		CHECK_FOR_INTERRUPTS();
		if (place_of(attributes, ((KeyElement *) lfirst(cell))->attribute) < 0)
			dyn_error(ERRCODE_DYN_VALIDATION,
					  DYN_INVALID_WORDS
					  "Some index key attributes are not defined in AttributeDefinitions. "
					  "Keys: %s, AttributeDefinitions: %s",
					  request_strings_text(keys), request_strings_text(attributes));
	}
}

/* How DynamoDB prints the two schemas is not known: they are the attribute here. */
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

/* The attribute of an existing key may be defined again, with the same type. */
void
request_use_attribute(ItemSpan spec, List *attributes)
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
 * Of all that keys could have used; twice the same would be one that is not used.  DynamoDB says
 * less of a table that has no indexes.
 */
void
request_check_used(List *attributes, bool has_indexes)
{
	const ItemSpan *twice = find_twice(attributes);
	List *used = NIL;
	ListCell *cell;

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
	if (!has_indexes)
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

static void
check_names(List *keys)
{
	if (find_twice(keys) != NULL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  list_length(keys) == 2
					  ? "Both the Hash Key and the Range Key element in the KeySchema have the "
						"same name"
					  : "The KeySchema contains multiple key attributes with the same name");
}

/* HASH elements come first; returns their number. */
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

/* The table's keys. */
void
request_set_keys(DynShape *shape, List *keys, List *attributes)
{
	check_defined(keys, attributes, true);
	check_names(keys);
	if (count_hash(keys) > 1)
		dyn_error(ERRCODE_DYN_VALIDATION, SECOND_NOT_RANGE);
	shape->nkeys = list_length(keys);
	for (int i = 0; i < shape->nkeys; i++)
		shape->keys[i] = key_spec(((KeyElement *) list_nth(keys, i))->attribute, attributes);
}

/*
 * Indexes
 */

static void
check_local_hash(const IndexDefinition *definition, const DynIndexSpec *spec, const DynShape *shape)
{
	if (spec->npartition > 1)
		dyn_error(ERRCODE_DYN_VALIDATION, SECOND_NOT_RANGE);
	if (item_compare_bytes(spec->keys[0], shape->keys[0]) == 0)
		return;
	dyn_error(ERRCODE_DYN_VALIDATION,
			  DYN_INVALID_WORDS
			  "Index KeySchema does not have the same leading hash key as table KeySchema for "
			  "index: %s. index hash key: %.*s, table hash key: %.*s",
			  item_quoted_words(definition->name), (int) spec->keys[0].len - 2, spec->keys[0].data,
			  (int) shape->keys[0].len - 2, shape->keys[0].data);
}

static void
set_index_keys(DynIndexSpec *spec, const IndexDefinition *definition, List *attributes)
{
	if (attributes == NIL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "AttributeDefinitions is not specified for index: %s",
				  item_quoted_words(definition->name));
	check_defined(definition->keys, attributes, false);
	check_names(definition->keys);
	spec->npartition = count_hash(definition->keys);
	spec->nkeys = list_length(definition->keys);
	if (spec->npartition > DYN_MAX_KEY_PART || spec->nkeys - spec->npartition > DYN_MAX_KEY_PART)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS
				  "The KeySchema exceeds the maximum allowed number of %s key attributes",
				  spec->npartition > DYN_MAX_KEY_PART ? "HASH" : "RANGE");
	for (int i = 0; i < spec->nkeys; i++)
		spec->keys[i] =
			key_spec(((KeyElement *) list_nth(definition->keys, i))->attribute, attributes);
}

static void
set_projection(DynIndexSpec *spec, const IndexDefinition *definition)
{
	List *included = definition->projection.included;

	if (definition->projection.type < 0)
		dyn_error(ERRCODE_DYN_VALIDATION, DYN_INVALID_WORDS "Unknown ProjectionType: null");
	spec->projection = (DynProjection) definition->projection.type;
	spec->nincluded = list_length(included);
	spec->included = palloc(spec->nincluded * sizeof(ItemSpan));
	for (int i = 0; i < spec->nincluded; i++)
		spec->included[i] = *(ItemSpan *) list_nth(included, i);
}

/* An index of a table whose keys and settings are known. */
DynIndexSpec *
request_index_spec(const IndexDefinition *definition, bool local, const DynShape *shape,
				   DynDescription *description, List *attributes)
{
	DynIndexSpec *spec = palloc0(sizeof(DynIndexSpec));
	DynUnits units = {{0}};

	spec->name = definition->name;
	spec->local = local;
	set_index_keys(spec, definition, attributes);
	set_projection(spec, definition);
	spec->covering = dyn_covering_indexes;
	if (local)
		check_local_hash(definition, spec, shape);
	dyn_index_spec_check(spec);
	if (local)
		return spec;
	request_set_units(&units, &definition->throughputs, &spec->name);
	if (description->billing == DYN_PROVISIONED && !definition->throughputs.provisioned.read.given)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "ProvisionedThroughput %s specified for index: %s",
				  OidIsValid(shape->relid) ? "must be" : "is not", item_quoted_words(spec->name));
	description_check_units(description->billing, &units, &spec->name);
	description_set_index_units(description, spec->name, &units);
	return spec;
}

/*
 * Throughputs
 */

/* Whether anything is given. */
bool
request_has_units(const Throughputs *given)
{
	return given->provisioned.read.given || given->maximum.read.given ||
		   given->maximum.write.given || given->warm.read.given || given->warm.write.given;
}

/* -1 removes a maximum. */
static void
set_maximum(int64 *units, const RequestInteger *given, const char *member, const ItemSpan *index)
{
	if (!given->given)
		return;
	if (given->value < 1 && given->value != -1)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS
				  "Requested %s for OnDemandThroughput for %s is outside of valid range",
				  member,
				  index == NULL ? "table" : psprintf("index : %s", item_quoted_words(*index)));
	*units = Max(given->value, 0);
}

static void
set_warm(int64 *units, const RequestInteger *given, const char *member)
{
	if (!given->given)
		return;
	if (given->value < 1)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("%s of WarmThroughput must be at least 1", member)));
	*units = given->value;
}

/*
 * Set the units that are given; the others stay as they are.  index is the name of the index whose
 * units they are, or NULL.  A number out of range is ERRCODE_DYN_VALIDATION.
 */
void
request_set_units(DynUnits *units, const Throughputs *given, const ItemSpan *index)
{
	if (given->provisioned.read.given)
		units->provisioned =
			(DynCapacity){given->provisioned.read.value, given->provisioned.write.value};
	set_maximum(&units->maximum.read, &given->maximum.read, "MaxReadRequestUnits", index);
	set_maximum(&units->maximum.write, &given->maximum.write, "MaxWriteRequestUnits", index);
	set_warm(&units->warm.read, &given->warm.read, "ReadUnitsPerSecond");
	set_warm(&units->warm.write, &given->warm.write, "WriteUnitsPerSecond");
}
