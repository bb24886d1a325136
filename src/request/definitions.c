/*
 * definitions.c
 *	  How requests define tables and indexes.
 *
 * Only errors that are specific to requests are checked here; the catalog layer checks the rules of
 * tables and indexes.
 */
#include "postgres.h"

#include "nodes/pg_list.h"

#include "ground/errors.h"
#include "ground/name.h"
#include "request/definitions.h"

#define SECOND_NOT_RANGE "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"
#define INVALID "One or more parameter values were invalid: "

static const char *const key_types[] = {"HASH", "RANGE", NULL};
static const char *const attribute_types[] = {"S", "N", "B", NULL};

/*
 * Read
 */

/* Read AttributeDefinitions: append an AttributeDefinition for each element to a List *. */
void
request_read_attributes(JsonReader *reader, void *list)
{
	static const RequestMember members[] = {
		{"AttributeName", MEMBER_STRING, offsetof(AttributeDefinition, name), true},
		{"AttributeType", MEMBER_CHOICE, offsetof(AttributeDefinition, type), true,
		 attribute_types}};

	for (json_read_array(reader); json_read_element(reader);)
	{
		AttributeDefinition *attribute = palloc0(sizeof(AttributeDefinition));

		request_read_members(reader, members, lengthof(members), attribute);
		*(List **) list = lappend(*(List **) list, attribute);
	}
}

/* Read KeySchema: append a KeyElement for each element to a List *. */
void
request_read_key_schema(JsonReader *reader, void *list)
{
	static const RequestMember members[] = {
		{"AttributeName", MEMBER_STRING, offsetof(KeyElement, attribute), true},
		{"KeyType", MEMBER_CHOICE, offsetof(KeyElement, range), true, key_types}};

	for (json_read_array(reader); json_read_element(reader);)
	{
		KeyElement *key = palloc0(sizeof(KeyElement));

		request_read_members(reader, members, lengthof(members), key);
		*(List **) list = lappend(*(List **) list, key);
	}
}

/* Read ProvisionedThroughput into a Throughput. */
void
request_read_throughput(JsonReader *reader, void *throughput)
{
	static const RequestMember members[] = {
		{"ReadCapacityUnits", MEMBER_LONG, offsetof(Throughput, read), true, .min = 1},
		{"WriteCapacityUnits", MEMBER_LONG, offsetof(Throughput, write), true, .min = 1}};

	request_read_members(reader, members, lengthof(members), throughput);
}

static void
read_projection(JsonReader *reader, void *to)
{
	static const RequestMember members[] = {
		{"ProjectionType", MEMBER_CHOICE, offsetof(IndexDefinition, projection.type), false,
		 dyn_projection_names},
		{"NonKeyAttributes", MEMBER_STRINGS, offsetof(IndexDefinition, projection.included)}};

	/* the member's offset is 0: all of the definition is ours */
	request_read_members(reader, members, lengthof(members), to);
}

/* ProvisionedThroughput comes last: local indexes have none. */
static const RequestMember index_members[] = {
	{"IndexName", MEMBER_STRING, offsetof(IndexDefinition, name), true},
	{"KeySchema", MEMBER_CUSTOM, offsetof(IndexDefinition, keys), true, NULL,
	 request_read_key_schema},
	{"Projection", MEMBER_CUSTOM, 0, true, NULL, read_projection},
	{"ProvisionedThroughput", MEMBER_CUSTOM, offsetof(IndexDefinition, throughput), false, NULL,
	 request_read_throughput}};

static void
read_index(JsonReader *reader, IndexDefinition *definition, bool local)
{
	definition->projection.type = -1;
	request_read_members(reader, index_members, lengthof(index_members) - local, definition);
}

/* Read the definition of one global index; an IndexDefinition * is set to it, newly allocated. */
void
request_read_global_index(JsonReader *reader, void *definition)
{
	*(IndexDefinition **) definition = palloc0(sizeof(IndexDefinition));
	read_index(reader, *(IndexDefinition **) definition, false);
}

static void
read_indexes(JsonReader *reader, List **list, bool local)
{
	for (json_read_array(reader); json_read_element(reader);)
	{
		IndexDefinition *definition = palloc0(sizeof(IndexDefinition));

		read_index(reader, definition, local);
		*list = lappend(*list, definition);
	}
	if (*list == NIL)
		dyn_error(ERRCODE_DYN_VALIDATION, INVALID "List of %sSecondaryIndexes is empty",
				  local ? "Local" : "Global");
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
 * array, or an element with ProvisionedThroughput, is ERRCODE_DYN_VALIDATION.
 */
void
request_read_local_indexes(JsonReader *reader, void *list)
{
	read_indexes(reader, list, true);
}

/*
 * Read StreamSpecification into a StreamSpecification.  Raises ERRCODE_DYN_VALIDATION if the stream
 * is enabled without StreamViewType, or if StreamViewType is given and the stream is not enabled.
 */
void
request_read_stream(JsonReader *reader, void *specification)
{
	static const RequestMember members[] = {
		{"StreamEnabled", MEMBER_BOOL, offsetof(StreamSpecification, enabled), true},
		{"StreamViewType", MEMBER_CHOICE, offsetof(StreamSpecification, view), false,
		 dyn_stream_view_names}};
	StreamSpecification *to = specification;

	*to = (StreamSpecification){.given = true, .view = -1};
	request_read_members(reader, members, lengthof(members), to);
	if (to->enabled && to->view < 0)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  INVALID "If stream is being enabled then UpdateViewType is required");
	if (!to->enabled && to->view >= 0)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  INVALID "If stream is being disabled, then UpdateViewType must not be specified");
}

/*
 * Read SSESpecification, and raise ERRCODE_DYN_VALIDATION if it enables encryption, or names a type
 * or a key: encryption is not supported.  Nothing is stored.
 */
void
request_read_encryption(JsonReader *reader, void *unused)
{
	typedef struct Encryption
	{
		bool enabled;
		ItemSpan type;
		ItemSpan key;
	} Encryption;
	static const RequestMember members[] = {
		{"Enabled", MEMBER_BOOL, offsetof(Encryption, enabled)},
		{"SSEType", MEMBER_STRING, offsetof(Encryption, type)},
		{"KMSMasterKeyId", MEMBER_STRING, offsetof(Encryption, key)}};
	Encryption encryption = {0};

	request_read_members(reader, members, lengthof(members), &encryption);
	if (encryption.enabled || encryption.type.len > 0 || encryption.key.len > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("encryption of tables is not supported"),
				 errhint("Leave SSESpecification out, and encrypt the storage of the database.")));
}

/*
 * Attributes
 */

/* As "[a, b]". */
static char *
names_of(List *attributes, bool only_used)
{
	StringInfoData names;
	ListCell *cell;

	initStringInfo(&names);
	foreach (cell, attributes)
	{
		const AttributeDefinition *attribute = lfirst(cell);

		if (only_used && !attribute->used)
			continue;
		appendStringInfoString(&names, names.len > 0 ? ", " : "");
		item_quote(&names, attribute->name);
	}
	return psprintf("[%s]", names.data);
}

/* "name TYPE" of a key attribute. */
static ItemSpan
key_spec(ItemSpan name, List *attributes)
{
	ListCell *cell;

	foreach (cell, attributes)
	{
		AttributeDefinition *attribute = lfirst(cell);
		char *spec;

		if (item_compare_bytes(attribute->name, name) != 0)
			continue;
		attribute->used = true;
		spec = palloc(name.len + 2);
		memcpy(spec, name.data, name.len);
		spec[name.len] = ' ';
		spec[name.len + 1] = *attribute_types[attribute->type];
		return (ItemSpan){spec, name.len + 2};
	}
	dyn_error(ERRCODE_DYN_VALIDATION,
			  INVALID
			  "Some index key attributes are not defined in AttributeDefinitions. Keys: [%s], "
			  "AttributeDefinitions: %s",
			  item_quoted(name), names_of(attributes, false));
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
			dyn_error(ERRCODE_DYN_VALIDATION,
					  INVALID "Attribute %s is of type %c in the table's AttributeDefinitions",
					  item_quoted(name), spec.data[spec.len - 1]);
	}
}

static void
check_distinct(List *attributes)
{
	for (int i = 0; i < list_length(attributes); i++)
	{
		const AttributeDefinition *a = list_nth(attributes, i);

		for (int j = 0; j < i; j++)
		{
			const AttributeDefinition *b = list_nth(attributes, j);

			if (item_compare_bytes(a->name, b->name) == 0)
				dyn_error(ERRCODE_DYN_VALIDATION,
						  INVALID "Duplicate AttributeName in AttributeDefinitions: %s",
						  item_quoted(a->name));
		}
	}
}

/* Of all that keys could have used; twice the same would be one that is not used. */
void
request_check_used(List *attributes)
{
	ListCell *cell;

	check_distinct(attributes);
	foreach (cell, attributes)
	{
		if (!((AttributeDefinition *) lfirst(cell))->used)
			dyn_error(ERRCODE_DYN_VALIDATION,
					  INVALID
					  "Some AttributeDefinitions are not used. AttributeDefinitions: %s, keys "
					  "used: %s",
					  names_of(attributes, false), names_of(attributes, true));
	}
}

/*
 * Keys
 */

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
			dyn_error(ERRCODE_DYN_VALIDATION,
					  "Invalid KeySchema: KeySchemaElements of type HASH come before those of type "
					  "RANGE");
	}
	return n;
}

/* The table's keys. */
void
request_set_keys(DynShape *shape, List *keys, List *attributes)
{
	if (count_hash(keys) > 1 || list_length(keys) > DYN_MAX_KEYS)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  list_length(keys) > DYN_MAX_KEYS
					  ? "1 validation error detected: Value at 'keySchema' failed to satisfy "
						"constraint: Member must have length less than or equal to 2"
					  : SECOND_NOT_RANGE);
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
			  INVALID
			  "Index KeySchema does not have the same leading hash key as table KeySchema for "
			  "index: %s. index hash key: %.*s, table hash key: %.*s",
			  item_quoted(definition->name), (int) spec->keys[0].len - 2, spec->keys[0].data,
			  (int) shape->keys[0].len - 2, shape->keys[0].data);
}

static void
set_index_keys(DynIndexSpec *spec, const IndexDefinition *definition, List *attributes)
{
	spec->npartition = count_hash(definition->keys);
	spec->nkeys = list_length(definition->keys);
	if (spec->npartition > DYN_MAX_KEY_PART || spec->nkeys - spec->npartition > DYN_MAX_KEY_PART)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Invalid KeySchema: an index has at most %d KeySchemaElements of a type: %s",
				  DYN_MAX_KEY_PART, item_quoted(definition->name));
	for (int i = 0; i < spec->nkeys; i++)
		spec->keys[i] =
			key_spec(((KeyElement *) list_nth(definition->keys, i))->attribute, attributes);
}

static void
set_projection(DynIndexSpec *spec, const IndexDefinition *definition)
{
	List *included = definition->projection.included;

	if (definition->projection.type < 0)
		dyn_error(ERRCODE_DYN_VALIDATION, INVALID "Unknown ProjectionType: null");
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
	DynCapacity capacity = request_capacity(&definition->throughput);

	spec->name = definition->name;
	spec->local = local;
	/* messages have its name */
	dyn_check_request_name("index", spec->name);
	set_index_keys(spec, definition, attributes);
	set_projection(spec, definition);
	if (local)
		check_local_hash(definition, spec, shape);
	dyn_index_spec_check(spec);
	if (local)
		return spec;
	description_check_capacity(description->billing, &capacity, &spec->name);
	description_set_capacity(description, spec->name, capacity);
	return spec;
}

/* Returns the capacity that a ProvisionedThroughput asks for; zero units if it is not given. */
DynCapacity
request_capacity(const Throughput *throughput)
{
	return (DynCapacity){throughput->read.value, throughput->write.value};
}
