/*
 * tables.c
 *	  CreateTable, DescribeTable, DeleteTable.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

#include "api/request/definitions.h"
#include "api/request/request.h"
#include "catalog/create.h"
#include "catalog/definition/settings.h"
#include "catalog/describe.h"
#include "catalog/distribute.h"
#include "catalog/resource.h"
#include "catalog/shape.h"
#include "server/errors.h"
#include "services/index/index.h"
#include "services/stream/stream.h"

typedef struct CreateTable
{
	ItemSpan name;
	List *attributes;
	List *keys;
	List *global;
	List *local;
	List *vectors;
	int billing;
	DynUnits units;
	List *tags;
	bool deletion_protection;
	DynTableClass table_class;
	StreamSpecification *stream;
	Encryption *encryption;
} CreateTable;

/* These are in the order of DynamoDB's errors. */
static const RequestMember create_members[] = {
	{"AttributeDefinitions", MEMBER_OBJECTS, offsetof(CreateTable, attributes), true,
	 .of = &request_attribute},
	{"TableName", MEMBER_STRING, offsetof(CreateTable, name), true, .name_of = NAME_NEW_TABLE,
	 .missing = REQUIRED_TABLE},
	{"BillingMode", MEMBER_CHOICE, offsetof(CreateTable, billing), false, dyn_billing_names,
	 .set = "PROVISIONED, PAY_PER_REQUEST"},
	UNITS_MEMBERS(CreateTable),
	{"KeySchema", MEMBER_OBJECTS, offsetof(CreateTable, keys), true, .of = &request_key, .min = 1,
	 .max = DYN_MAX_KEYS},
	{"GlobalSecondaryIndexes", MEMBER_OBJECTS, offsetof(CreateTable, global),
	 .of = &request_global_index,
	 .empty = DYN_INVALID_WORDS "List of GlobalSecondaryIndexes is empty"},
	{"LocalSecondaryIndexes", MEMBER_OBJECTS, offsetof(CreateTable, local),
	 .of = &request_local_index,
	 .empty = DYN_INVALID_WORDS "List of LocalSecondaryIndexes is empty"},
	{"Tags", MEMBER_OBJECTS, offsetof(CreateTable, tags), .of = &request_tag},
	{"DeletionProtectionEnabled", MEMBER_BOOL, offsetof(CreateTable, deletion_protection)},
	{"TableClass", MEMBER_CUSTOM, offsetof(CreateTable, table_class), false, NULL,
	 request_read_table_class},
	{"StreamSpecification", MEMBER_OBJECT, offsetof(CreateTable, stream), .of = &request_stream},
	{"SSESpecification", MEMBER_OBJECT, offsetof(CreateTable, encryption),
	 .of = &request_encryption},
	{"VectorIndexes", MEMBER_OBJECTS, offsetof(CreateTable, vectors), .of = &request_vector_index},
	{"ResourcePolicy", MEMBER_REFUSED, .hint = "use GRANT"},
	{"GlobalTableSourceArn", MEMBER_REFUSED},
	{"GlobalTableSettingsReplicationMode", MEMBER_REFUSED}};

static ItemSpan
new_id(void)
{
	Datum uuid = DirectFunctionCall1(gen_random_uuid, (Datum) 0);

	return item_span(DatumGetCString(DirectFunctionCall1(uuid_out, uuid)));
}

static void
set_description(DynDescription *description, const CreateTable *create)
{
	ListCell *cell;

	description->created = description_now();
	description->billing = (DynBilling) create->billing;
	if (description->billing == DYN_PAY_PER_REQUEST)
		description->on_demand_since = description->created;
	description_change_units(&description->units, &create->units, NULL);
	description_check_units(description->billing, &description->units, NULL);
	description->deletion_protection = create->deletion_protection;
	description->encrypted = create->encryption != NULL && create->encryption->enabled;
	description->table_class = create->table_class;
	foreach (cell, create->tags)
	{
		const DynTag *tag = lfirst(cell);

		description_set_tag(description, tag->key, tag->value);
	}
}

/* Adds indexes.  One more than there may be is enough to be refused. */
static void
add_indexes(DynShape *shape, DynDescription *description, List *definitions, int max,
			List *attributes)
{
	for (int i = 0; i <= max && i < list_length(definitions); i++)
		shape->indexes = lappend(shape->indexes, request_index_spec(list_nth(definitions, i), shape,
																	description, attributes));
}

static void
distribute(Oid relid)
{
	DynDistribution how = dyn_distribution_default();

	dyn_distribute(relid, &how);
}

/* Returns the definitions of vector indexes.  One more than there may be is enough to be refused. */
static List *
vector_specs(const CreateTable *create)
{
	const ItemSpan *twice = request_find_twice(create->vectors);
	List *specs = NIL;

	request_check_vector_billing((DynBilling) create->billing, create->vectors != NIL);
	if (twice != NULL)
		dyn_error(ERRCODE_DYN_VALIDATION, DYN_INVALID_WORDS "Duplicate index name: %s",
				  item_quoted_words(*twice));
	for (int i = 0; i <= DYN_MAX_VECTORS && i < list_length(create->vectors); i++)
		specs =
			lappend(specs, request_vector_spec(list_nth(create->vectors, i), create->attributes));
	return specs;
}

/* Makes the vector indexes of a table that is new, and so empty. */
static void
create_vectors(ItemSpan name, List *specs)
{
	ListCell *cell;

	SPI_connect();
	foreach (cell, specs)
	{
		const DynVectorSpec *spec = lfirst(cell);
		DynTable *table;
		Relation rel = resource_open(name, &table);

		index_build_declare_vector(rel, table, spec);
		rel = resource_open(name, &table);
		index_build_finish_empty_vector(rel, table, spec->index.name);
	}
	SPI_finish();
}

/* Runs CreateTable.  The table can be used at once, so the response describes it as ACTIVE. */
void
request_create_table(JsonReader *reader, JsonWriter *response)
{
	/* what a request that says nothing means */
	CreateTable create = {.billing = DYN_PROVISIONED};
	DynDescription description = {0};
	DynShape shape = {0};
	DynTable *table;
	List *vectors;
	Relation rel;

	request_read(reader, create_members, lengthof(create_members), &create, NULL);
	request_names(reader, create.name);
	request_check_stream(create.stream, true);
	request_check_encryption(create.encryption);
	request_check_tags(create.tags);
	set_description(&description, &create);
	shape.settings.id = new_id();
	request_set_keys(&shape, create.keys, create.attributes);
	add_indexes(&shape, &description, create.global, dyn_max_global_indexes, create.attributes);
	add_indexes(&shape, &description, create.local, dyn_max_local_indexes, create.attributes);
	vectors = vector_specs(&create);
	request_check_attributes(&shape, create.attributes);
	dyn_create(&shape, create.name, DYN_DEFAULT_FILLFACTOR);
	if (dyn_distribute_new_tables)
		distribute(shape.relid);
	description_write(shape.relid, &description);
	create_vectors(create.name, vectors);
	if (create.stream != NULL && create.stream->enabled)
		stream_enable(create.name, (DynStreamView) create.stream->view, 0, false);

	rel = resource_open(create.name, &table);
	dyn_describe(response, "TableDescription", rel, table, create.name, "ACTIVE");
	relation_close(rel, NoLock);
}

/*
 * Runs DescribeTable, for which any privilege on the table, or membership in pg_monitor, suffices.
 */
void
request_describe_table(JsonReader *reader, JsonWriter *response)
{
	ItemSpan name = request_read_table_name(reader);
	DynTable *table;
	Relation rel = resource_open_state(name, &table);

	dyn_describe(response, "Table", rel, table, name, "ACTIVE");
	relation_close(rel, NoLock);
}

/*
 * Runs DeleteTable.  Raises an error if the current user may not drop the table, or if it has
 * deletion protection.
 */
void
request_delete_table(JsonReader *reader, JsonWriter *response)
{
	ItemSpan name = request_read_table_name(reader);
	DynTable *table;
	Relation rel = resource_open(name, &table);

	dyn_describe_deleted(response, "TableDescription", rel, table, name);
	dyn_drop(rel, table, false);
}
