/*
 * tables.c
 *	  CreateTable, DescribeTable, DeleteTable.
 */
#include "postgres.h"

#include "access/relation.h"
#include "datatype/timestamp.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "catalog/shape.h"
#include "ground/arn.h"
#include "ground/errors.h"
#include "ground/name.h"
#include "request/definitions.h"
#include "request/request.h"
#include "catalog/resource.h"
#include "stream/stream.h"

typedef struct CreateTable
{
	ItemSpan name;
	List *attributes;
	List *keys;
	List *global;
	List *local;
	int billing;
	Throughput throughput;
	List *tags;
	bool deletion_protection;
	int table_class;
	StreamSpecification stream;
} CreateTable;

static const char *const table_classes[] = {"STANDARD", "STANDARD_INFREQUENT_ACCESS", NULL};

static const RequestMember create_members[] = {
	{"TableName", MEMBER_STRING, offsetof(CreateTable, name), true},
	{"AttributeDefinitions", MEMBER_CUSTOM, offsetof(CreateTable, attributes), true, NULL,
	 request_read_attributes},
	{"KeySchema", MEMBER_CUSTOM, offsetof(CreateTable, keys), true, NULL, request_read_key_schema},
	{"GlobalSecondaryIndexes", MEMBER_CUSTOM, offsetof(CreateTable, global), false, NULL,
	 request_read_global_indexes},
	{"LocalSecondaryIndexes", MEMBER_CUSTOM, offsetof(CreateTable, local), false, NULL,
	 request_read_local_indexes},
	{"BillingMode", MEMBER_CHOICE, offsetof(CreateTable, billing), false, dyn_billing_names},
	{"ProvisionedThroughput", MEMBER_CUSTOM, offsetof(CreateTable, throughput), false, NULL,
	 request_read_throughput},
	{"Tags", MEMBER_CUSTOM, offsetof(CreateTable, tags), false, NULL, request_read_tags},
	{"DeletionProtectionEnabled", MEMBER_BOOL, offsetof(CreateTable, deletion_protection)},
	{"TableClass", MEMBER_CHOICE, offsetof(CreateTable, table_class), false, table_classes},
	{"StreamSpecification", MEMBER_CUSTOM, offsetof(CreateTable, stream), false, NULL,
	 request_read_stream},
	{"SSESpecification", MEMBER_CUSTOM, 0, false, NULL, request_read_encryption}};

static double
seconds_since_1970(void)
{
	return GetCurrentTimestamp() / (double) USECS_PER_SEC +
		   (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (double) SECS_PER_DAY;
}

static ItemSpan
new_id(void)
{
	Datum uuid = DirectFunctionCall1(gen_random_uuid, (Datum) 0);
	char *text = DatumGetCString(DirectFunctionCall1(uuid_out, uuid));

	return (ItemSpan){text, (uint32) strlen(text)};
}

static void
set_description(DynDescription *description, const CreateTable *create)
{
	ListCell *cell;

	description->created = seconds_since_1970();
	description->billing = (DynBilling) create->billing;
	description->capacity = request_capacity(&create->throughput);
	description_check_capacity(description->billing, &description->capacity, NULL);
	description->deletion_protection = create->deletion_protection;
	if (create->table_class >= 0)
		description->table_class = (DynTableClass) (DYN_CLASS_STANDARD + create->table_class);
	foreach (cell, create->tags)
	{
		const DynTag *tag = lfirst(cell);

		description_set_tag(description, tag->key, tag->value);
	}
}

static void
add_indexes(DynShape *shape, DynDescription *description, List *definitions, bool local,
			List *attributes)
{
	ListCell *cell;

	foreach (cell, definitions)
		shape->indexes = lappend(shape->indexes, request_index_spec(lfirst(cell), local, shape,
																	description, attributes));
}

/* Run CreateTable.  The table can be used at once, so the response describes it as ACTIVE. */
void
request_create_table(JsonReader *reader, JsonWriter *response)
{
	/* what a request that says nothing means */
	CreateTable create = {.billing = DYN_PROVISIONED, .table_class = -1};
	DynDescription description = {0};
	DynShape shape = {0};
	DynTable *table;
	Relation rel;

	request_read(reader, create_members, lengthof(create_members), &create, NULL);
	request_names(reader, create.name);
	dyn_check_request_name("table", dyn_table_name(create.name));
	set_description(&description, &create);
	shape.settings.id = new_id();
	request_set_keys(&shape, create.keys, create.attributes);
	add_indexes(&shape, &description, create.global, false, create.attributes);
	add_indexes(&shape, &description, create.local, true, create.attributes);
	request_check_used(create.attributes);
	dyn_create(&shape, create.name, DYN_DEFAULT_FILLFACTOR);
	description_write(shape.relid, &description);
	if (create.stream.enabled)
		stream_enable(create.name, (DynStreamView) create.stream.view, 0);

	rel = resource_open(create.name, &table);
	json_write_begin(response, NULL);
	dyn_describe(response, "TableDescription", rel, table, create.name, "ACTIVE");
	json_write_end(response);
	relation_close(rel, NoLock);
}

/*
 * Run DescribeTable, for which any privilege on the table, or membership in pg_monitor, suffices.
 */
void
request_describe_table(JsonReader *reader, JsonWriter *response)
{
	ItemSpan name = request_read_table_name(reader);
	DynTable *table;
	Relation rel = resource_open_state(name, &table);

	json_write_begin(response, NULL);
	dyn_describe(response, "Table", rel, table, name, "ACTIVE");
	json_write_end(response);
	relation_close(rel, NoLock);
}

/*
 * Run DeleteTable.  Raises an error if the current user may not drop the table, or if it has
 * deletion protection.
 */
void
request_delete_table(JsonReader *reader, JsonWriter *response)
{
	ItemSpan name = request_read_table_name(reader);
	DynTable *table;
	Relation rel = resource_open(name, &table);

	json_write_begin(response, NULL);
	dyn_describe(response, "TableDescription", rel, table, name, "DELETING");
	json_write_end(response);
	dyn_drop(rel, table);
}

/* Backups are those of the database. */
void
request_describe_continuous_backups(JsonReader *reader, JsonWriter *response)
{
	ItemSpan name = request_read_table_name(reader);
	DynTable *table;

	relation_close(resource_open_state(name, &table), NoLock);
	json_write_raw(response, NULL,
				   "{\"ContinuousBackupsDescription\":{\"ContinuousBackupsStatus\":\"DISABLED\","
				   "\"PointInTimeRecoveryDescription\":{\"PointInTimeRecoveryStatus\":"
				   "\"DISABLED\"}}}");
}
