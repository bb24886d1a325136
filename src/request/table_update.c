/*
 * table_update.c
 *	  UpdateTable: settings, and indexes that come and go.
 *
 * An index is declared or disowned here, with the rest of the request, so that a request that
 * fails has done nothing.  A background worker does the rest after the commit.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/rel.h"

#include "ground/description.h"
#include "ground/errors.h"
#include "ground/name.h"
#include "index/index.h"
#include "request/definitions.h"
#include "request/request.h"
#include "catalog/resource.h"
#include "stream/stream.h"

/* The Update and Delete of an element of GlobalSecondaryIndexUpdates. */
typedef struct IndexChange
{
	ItemSpan name; /* without data: not given */
	Throughput throughput;
} IndexChange;

typedef struct IndexUpdate
{
	IndexDefinition *create;
	IndexChange update;
	IndexChange delete;
} IndexUpdate;

typedef struct UpdateTable
{
	ItemSpan name;
	List *attributes;
	int billing; /* -1: not given */
	Throughput throughput;
	List *updates; /* of IndexUpdate */
	int deletion_protection; /* -1: not given */
	int table_class;
	StreamSpecification stream;
	bool ignored; /* what asks for nothing was given */
} UpdateTable;

static const char *const table_classes[] = {"STANDARD", "STANDARD_INFREQUENT_ACCESS", NULL};

/*
 * Read
 */

static void
read_update(JsonReader *reader, void *change)
{
	static const RequestMember members[] = {
		{"IndexName", MEMBER_STRING, offsetof(IndexChange, name), true},
		{"ProvisionedThroughput", MEMBER_CUSTOM, offsetof(IndexChange, throughput), true, NULL,
		 request_read_throughput}};

	request_read_members(reader, members, lengthof(members), change);
}

static void
read_delete(JsonReader *reader, void *change)
{
	static const RequestMember members[] = {
		{"IndexName", MEMBER_STRING, offsetof(IndexChange, name), true}};

	request_read_members(reader, members, lengthof(members), change);
}

static void
read_updates(JsonReader *reader, void *list)
{
	static const RequestMember members[] = {
		{"Create", MEMBER_CUSTOM, offsetof(IndexUpdate, create), false, NULL,
		 request_read_global_index},
		{"Update", MEMBER_CUSTOM, offsetof(IndexUpdate, update), false, NULL, read_update},
		{"Delete", MEMBER_CUSTOM, offsetof(IndexUpdate, delete), false, NULL, read_delete}};

	for (json_read_array(reader); json_read_element(reader);)
	{
		IndexUpdate *update = palloc0(sizeof(IndexUpdate));

		request_read_members(reader, members, lengthof(members), update);
		if ((update->create != NULL) + (update->update.name.data != NULL) +
				(update->delete.name.data != NULL) !=
			1)
			dyn_error(
				ERRCODE_DYN_VALIDATION,
				"One or more parameter values were invalid: One of GlobalSecondaryIndexUpdate "
				"must be set: Create, Update or Delete");
		*(List **) list = lappend(*(List **) list, update);
	}
}

static void
read_protection(JsonReader *reader, void *protection)
{
	*(int *) protection = json_read_bool(reader);
}

static void
read_encryption(JsonReader *reader, void *ignored)
{
	request_read_encryption(reader, NULL);
	*(bool *) ignored = true;
}

static const RequestMember update_members[] = {
	{"TableName", MEMBER_STRING, offsetof(UpdateTable, name), true},
	{"AttributeDefinitions", MEMBER_CUSTOM, offsetof(UpdateTable, attributes), false, NULL,
	 request_read_attributes},
	{"BillingMode", MEMBER_CHOICE, offsetof(UpdateTable, billing), false, dyn_billing_names},
	{"ProvisionedThroughput", MEMBER_CUSTOM, offsetof(UpdateTable, throughput), false, NULL,
	 request_read_throughput},
	{"GlobalSecondaryIndexUpdates", MEMBER_CUSTOM, offsetof(UpdateTable, updates), false, NULL,
	 read_updates},
	{"DeletionProtectionEnabled", MEMBER_CUSTOM, offsetof(UpdateTable, deletion_protection), false,
	 NULL, read_protection},
	{"TableClass", MEMBER_CHOICE, offsetof(UpdateTable, table_class), false, table_classes},
	{"StreamSpecification", MEMBER_CUSTOM, offsetof(UpdateTable, stream), false, NULL,
	 request_read_stream},
	{"SSESpecification", MEMBER_CUSTOM, offsetof(UpdateTable, ignored), false, NULL,
	 read_encryption}};

/*
 * Check
 */

static ItemSpan
update_name(const IndexUpdate *update)
{
	return update->create != NULL             ? update->create->name
		   : update->update.name.data != NULL ? update->update.name
											  : update->delete.name;
}

pg_noreturn static void
fail_online(void)
{
	dyn_error(ERRCODE_DYN_LIMIT_EXCEEDED,
			  "Subscriber limit exceeded: Only 1 online index can be created or deleted "
			  "simultaneously per table");
}

/* The update that creates or deletes an index; NULL if there is none. */
static const IndexUpdate *
online_update(const UpdateTable *update)
{
	const IndexUpdate *online = NULL;
	ListCell *cell;

	foreach (cell, update->updates)
	{
		const IndexUpdate *one = lfirst(cell);

		if (one->update.name.data != NULL)
			continue;
		if (online != NULL)
			fail_online();
		online = one;
	}
	return online;
}

static void
check_names(const UpdateTable *update)
{
	for (int i = 0; i < list_length(update->updates); i++)
	{
		ItemSpan name = update_name(list_nth(update->updates, i));

		/* messages have it */
		dyn_check_name("index", name);
		for (int j = 0; j < i; j++)
		{
			if (item_compare_bytes(update_name(list_nth(update->updates, j)), name) == 0)
				dyn_error(ERRCODE_DYN_VALIDATION,
						  "One or more parameter values were invalid: Only one global secondary "
						  "index update per index is allowed simultaneously. Index: %.*s",
						  (int) name.len, name.data);
		}
	}
}

static void
check_request(const UpdateTable *update)
{
	if (update->billing < 0 && !update->throughput.read.given && update->updates == NIL &&
		update->deletion_protection < 0 && update->table_class < 0 && !update->stream.given &&
		!update->ignored)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
				  "GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required");
	check_names(update);
}

/* Definitions of attributes may repeat those that the table has. */
static void
check_attributes(const DynShape *shape, List *attributes)
{
	List *columns = dyn_shape_keys(shape);
	ListCell *cell;

	foreach (cell, columns)
		request_use_attribute(((DynShapeColumn *) lfirst(cell))->spec, attributes);
	request_check_used(attributes);
}

/*
 * Settings
 */

static DynIndexSpec *
find_index(const DynShape *shape, ItemSpan name)
{
	DynIndexSpec *spec = dyn_shape_index(shape, name);

	if (spec == NULL || spec->local)
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND, "Index: %.*s not found", (int) name.len,
				  name.data);
	return spec;
}

static void
check_changes(const DynCapacity *old, const DynCapacity *new, const char *what)
{
	if (old->read == new->read && old->write == new->write)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "The provisioned throughput for the %s will not change. The requested value "
				  "equals the current value. Current ReadCapacityUnits: " INT64_FORMAT
				  ". Current WriteCapacityUnits: " INT64_FORMAT ".",
				  what, old->read, old->write);
}

static void
update_billing(DynDescription *description, const UpdateTable *update)
{
	DynBilling billing = update->billing >= 0 ? (DynBilling) update->billing : description->billing;
	bool given = update->throughput.read.given;
	DynCapacity capacity = request_capacity(&update->throughput);

	if (given && billing == description->billing)
		check_changes(&description->capacity, &capacity, "table");
	description_set_billing(description, billing, given ? &capacity : NULL);
}

static void
update_index_capacities(DynDescription *description, const DynShape *shape,
						const UpdateTable *update)
{
	ListCell *cell;

	foreach (cell, update->updates)
	{
		const IndexChange *change = &((IndexUpdate *) lfirst(cell))->update;
		DynCapacity capacity = request_capacity(&change->throughput);
		DynCapacity old = description_capacity(description, change->name);

		if (change->name.data == NULL)
			continue;
		(void) find_index(shape, change->name);
		check_changes(&old, &capacity, "index");
		description_set_capacity(description, change->name, capacity);
		description_check_capacity(description->billing, &capacity, &change->name);
	}
}

static void
update_description(DynDescription *description, const DynShape *shape, const UpdateTable *update)
{
	DynBilling old = description->billing;

	if (update->billing >= 0 || update->throughput.read.given)
		update_billing(description, update);
	update_index_capacities(description, shape, update);
	/* all global indexes have units too if a table begins to */
	if (description->billing != old)
		description_check_indexes(description, shape->indexes);
	if (update->deletion_protection >= 0)
		description->deletion_protection = update->deletion_protection > 0;
	if (update->table_class >= 0)
		description->table_class = (DynTableClass) (DYN_CLASS_STANDARD + update->table_class);
}

/*
 * Indexes
 */

/* Nor may anybody have left an index unfinished but this one. */
static void
check_finished(const DynShape *shape, ItemSpan name)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);

		if (spec->status != DYN_INDEX_ACTIVE && item_compare_bytes(spec->name, name) != 0)
			fail_online();
	}
}

static void
begin_online(GsiWork *work, Relation rel, const DynTable *table, const DynShape *shape,
			 ItemSpan name)
{
	work->procedure.name = "UpdateTable";
	gsi_name(work, name);
	gsi_begin_in_transaction(work, rel, table);
	resource_require_permanent(rel, "Call dyn_create_index or dyn_drop_index.");
	check_finished(shape, name);
}

static void
create_index(Relation rel, const DynTable *table, const UpdateTable *update,
			 const IndexDefinition *definition, DynDescription *description)
{
	GsiWork work = {0};
	DynShape *shape = dyn_shape_of(rel, table);
	DynIndexSpec *spec =
		request_index_spec(definition, false, shape, description, update->attributes);
	const DynIndex *existing = dyn_find_index(table, spec->name);

	check_attributes(shape, update->attributes);
	if (existing != NULL && (existing->local || existing->status == DYN_INDEX_ACTIVE))
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "One or more parameter values were invalid: Attempting to create an index which "
				  "already exists: %.*s",
				  (int) spec->name.len, spec->name.data);
	begin_online(&work, rel, table, shape, spec->name);
	gsi_check_row_security(&work);
	gsi_declare_index(&work, rel, table, spec);
	gsi_resume_later(&work, table);
}

static void
delete_index(Relation rel, const DynTable *table, ItemSpan name)
{
	GsiWork work = {0};
	DynShape *shape = dyn_shape_of(rel, table);

	find_index(shape, name)->status = DYN_INDEX_DELETING;
	begin_online(&work, rel, table, shape, name);
	relation_close(rel, NoLock);
	dyn_shape_write_trigger(shape);
	gsi_resume_later(&work, table);
}

/* Closes the table. */
static void
run(const UpdateTable *update, const IndexUpdate *online, Relation rel, DynTable *table)
{
	DynDescription *description = description_read(table->relid);
	DynShape *shape = dyn_shape_of(rel, table);
	Oid relid = table->relid;

	update_description(description, shape, update);
	if (online == NULL || online->create == NULL)
		check_attributes(shape, update->attributes);
	SPI_connect();
	if (online == NULL)
		relation_close(rel, NoLock);
	else if (online->create != NULL)
		create_index(rel, table, update, online->create, description);
	else
	{
		description_set_capacity(description, online->delete.name, (DynCapacity){0});
		delete_index(rel, table, online->delete.name);
	}
	description_write(relid, description);
	SPI_finish();
}

/* Of all that the request does. */
static LOCKMODE
lock_mode(const UpdateTable *update, const IndexUpdate *online)
{
	if (online != NULL && online->create != NULL)
		return AccessExclusiveLock;
	if (online != NULL)
		return ShareRowExclusiveLock;
	if (!update->stream.given)
		return ShareUpdateExclusiveLock;
	return stream_lock_mode(update->name, update->stream.view);
}

/*
 * Run UpdateTable, which only the table's owner may do.  The creation or deletion of an index is
 * only begun here; a background worker does the rest after the transaction has committed.
 */
void
request_update_table(JsonReader *reader, JsonWriter *response)
{
	UpdateTable update = {.billing = -1, .deletion_protection = -1, .table_class = -1};
	const IndexUpdate *online;
	DynTable *table;
	Relation rel;

	request_read(reader, update_members, lengthof(update_members), &update, NULL);
	request_names(reader, update.name);
	check_request(&update);
	online = online_update(&update);
	if (online != NULL)
		resource_keep_procedures_away(update.name);
	rel = resource_lock(update.name, lock_mode(&update, online), &table);
	run(&update, online, rel, table);
	if (update.stream.enabled)
		stream_enable(update.name, (DynStreamView) update.stream.view, 0);
	else if (update.stream.given)
		stream_disable(update.name);
	rel = resource_open(update.name, &table);
	json_write_begin(response, NULL);
	dyn_describe(response, "TableDescription", rel, table, update.name,
				 online != NULL ? "UPDATING" : "ACTIVE");
	json_write_end(response);
	relation_close(rel, NoLock);
}
