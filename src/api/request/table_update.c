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

#include "api/request/definitions.h"
#include "api/request/request.h"
#include "catalog/definition/arn.h"
#include "catalog/definition/description.h"
#include "catalog/describe.h"
#include "catalog/resource.h"
#include "server/errors.h"
#include "services/index/index.h"
#include "services/stream/stream.h"

/* This is the Update or Delete of an element of GlobalSecondaryIndexUpdates. */
typedef struct IndexChange
{
	ItemSpan name;
	DynUnits units;
} IndexChange;

typedef struct IndexUpdate
{
	ItemSpan name; /* of the one of these that is given */
	IndexDefinition *create;
	IndexChange *update;
	IndexChange *delete;
	VectorDefinition *create_vector;
	bool vector; /* it is an element of VectorIndexUpdates */
} IndexUpdate;

typedef struct UpdateTable
{
	ItemSpan name;
	List *attributes;
	int billing; /* -1: not given */
	DynUnits units;
	List *updates; /* of IndexUpdate */
	int deletion_protection; /* -1: not given */
	DynTableClass table_class;
	StreamSpecification *stream;
	Encryption *encryption;
} UpdateTable;

/*
 * Read
 */

static const RequestMember change_members[] = {
	{"IndexName", MEMBER_STRING, offsetof(IndexChange, name), true, .name_of = NAME_ANY},
	UNITS_MEMBERS(IndexChange)};
static const RequestType update_type = {change_members, lengthof(change_members),
										sizeof(IndexChange)};
static const RequestType delete_type = {change_members, 1, sizeof(IndexChange)};

static const RequestMember index_members[] = {
	{"Update", MEMBER_OBJECT, offsetof(IndexUpdate, update), .of = &update_type},
	{"Create", MEMBER_OBJECT, offsetof(IndexUpdate, create), .of = &request_global_index},
	{"Delete", MEMBER_OBJECT, offsetof(IndexUpdate, delete), .of = &delete_type}};
static const RequestType index_update = {index_members, lengthof(index_members),
										 sizeof(IndexUpdate)};

static const RequestMember vector_members[] = {
	{"Create", MEMBER_OBJECT, offsetof(IndexUpdate, create_vector), .of = &request_vector_index},
	{"Delete", MEMBER_OBJECT, offsetof(IndexUpdate, delete), .of = &delete_type}};
static const RequestType vector_update = {vector_members, lengthof(vector_members),
										  sizeof(IndexUpdate),
										  &(const IndexUpdate){.vector = true}};

static void
check_vector_actions(JsonReader *reader, int n)
{
	if (n != 1)
		request_refuse(reader,
					   DYN_INVALID_WORDS "Exactly one of VectorIndexUpdate.Create, "
										 "VectorIndexUpdate.Delete must be specified",
					   "an update of a vector index has %d actions", n);
}

static void
read_vector_updates(JsonReader *reader, void *list)
{
	for (json_read_array(reader); json_read_element(reader);)
	{
		IndexUpdate *update = request_read_object(reader, &vector_update);

		check_vector_actions(reader, (update->create_vector != NULL) + (update->delete != NULL));
		update->name = update->create_vector != NULL ? update->create_vector->index.spec.name
					   : update->delete != NULL      ? update->delete->name
													 : (ItemSpan){0};
		*(List **) list = lappend(*(List **) list, update);
	}
}

static void
check_actions(JsonReader *reader, int n)
{
	if (n == 0)
		request_refuse(reader,
					   DYN_INVALID_WORDS "One of GlobalSecondaryIndexUpdate.Update, "
										 "GlobalSecondaryIndexUpdate.Create, "
										 "GlobalSecondaryIndexUpdate.Delete must not be null",
					   "an update of an index has no action");
	if (n > 1)
		request_refuse(reader,
					   DYN_INVALID_WORDS "Only one global secondary index action is allowed per "
										 "GlobalSecondaryIndexUpdate object",
					   "an update of an index has several actions");
}

static void
read_updates(JsonReader *reader, void *list)
{
	for (json_read_array(reader); json_read_element(reader);)
	{
		IndexUpdate *update = request_read_object(reader, &index_update);

		check_actions(reader, (update->create != NULL) + (update->update != NULL) +
								  (update->delete != NULL));
		update->name = update->create != NULL   ? update->create->spec.name
					   : update->update != NULL ? update->update->name
					   : update->delete != NULL ? update->delete->name
												: (ItemSpan){0};
		*(List **) list = lappend(*(List **) list, update);
	}
}

/* These are in the order of DynamoDB's errors. */
static const RequestMember update_members[] = {
	{"AttributeDefinitions", MEMBER_OBJECTS, offsetof(UpdateTable, attributes),
	 .of = &request_attribute},
	{"TableName", MEMBER_STRING, offsetof(UpdateTable, name), true, .name_of = NAME_TABLE,
	 .missing = REQUIRED_TABLE},
	{"BillingMode", MEMBER_CHOICE, offsetof(UpdateTable, billing), false, dyn_billing_names,
	 .set = "PROVISIONED, PAY_PER_REQUEST"},
	UNITS_MEMBERS(UpdateTable),
	{"GlobalSecondaryIndexUpdates", MEMBER_CUSTOM, offsetof(UpdateTable, updates), false, NULL,
	 read_updates},
	{"DeletionProtectionEnabled", MEMBER_FLAG, offsetof(UpdateTable, deletion_protection)},
	{"TableClass", MEMBER_CUSTOM, offsetof(UpdateTable, table_class), false, NULL,
	 request_read_table_class},
	{"StreamSpecification", MEMBER_OBJECT, offsetof(UpdateTable, stream), .of = &request_stream},
	{"SSESpecification", MEMBER_OBJECT, offsetof(UpdateTable, encryption),
	 .of = &request_encryption},
	{"ReplicaUpdates", MEMBER_REFUSED, .hint = "use the replication of PostgreSQL"},
	{"MultiRegionConsistency", MEMBER_REFUSED},
	{"GlobalTableWitnessUpdates", MEMBER_REFUSED},
	{"GlobalTableSettingsReplicationMode", MEMBER_REFUSED},
	{"DisassociationProtectionEnabled", MEMBER_REFUSED},
	{"VectorIndexUpdates", MEMBER_CUSTOM, offsetof(UpdateTable, updates), false, NULL,
	 read_vector_updates}};

/*
 * Check
 */

pg_noreturn static void
fail_online(void)
{
	dyn_error(ERRCODE_DYN_LIMIT_EXCEEDED,
			  "Subscriber limit exceeded: Only 1 online index can be created or deleted "
			  "simultaneously per table");
}

/* Returns the update that creates or deletes an index, or NULL if there is none. */
static const IndexUpdate *
online_update(const UpdateTable *update)
{
	const IndexUpdate *online = NULL;
	ListCell *cell;

	foreach (cell, update->updates)
	{
		const IndexUpdate *one = lfirst(cell);

		if (one->update != NULL)
			continue;
		if (online != NULL)
			fail_online();
		online = one;
	}
	return online;
}

static void
check_request(const UpdateTable *update)
{
	const ItemSpan *twice = request_find_twice(update->updates);

	if (update->billing < 0 && description_is_unsaid(&update->units) && update->updates == NIL &&
		update->deletion_protection < 0 && update->table_class == DYN_CLASS_UNSAID &&
		update->stream == NULL && update->encryption == NULL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
				  "GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, "
				  "MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
				  "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is "
				  "required");
	if (update->billing == DYN_PROVISIONED && update->units.provisioned.read == 0)
		dyn_error(ERRCODE_DYN_VALIDATION, DYN_INVALID_WORDS
				  "ProvisionedThroughput must be specified when BillingMode is PROVISIONED");
	request_check_stream(update->stream, false);
	request_check_encryption(update->encryption);
	if (twice != NULL)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "Only one global secondary "
									"index update per index is allowed simultaneously. Index: %.*s",
				  (int) twice->len, twice->data);
}

/*
 * Settings
 */

static DynIndexSpec *
find_index(const DynShape *shape, ItemSpan table, ItemSpan name, const char *what)
{
	DynIndexSpec *spec = dyn_shape_index(shape, name);
	ItemSpan named = dyn_table_name(table);

	if (spec == NULL)
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND,
				  "Requested resource not found: Index %.*s for table %.*s", (int) name.len,
				  name.data, (int) named.len, named.data);
	if (spec->local)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Cannot %s an index that is not a GlobalSecondaryIndex: %.*s", what,
				  (int) name.len, name.data);
	return spec;
}

static void
check_changes(const DynCapacity *old, const DynCapacity *new, const ItemSpan *index)
{
	const char *of = index == NULL ? "table" : "index";
	const char *what = index == NULL ? of : psprintf("index %s", item_quoted_words(*index));

	if (old->read == new->read && old->write == new->write)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "The provisioned throughput for the %s will not change. The requested value "
				  "equals the current value. Current ReadCapacityUnits provisioned for the "
				  "%s: " INT64_FORMAT ". Requested ReadCapacityUnits: " INT64_FORMAT ". Current "
				  "WriteCapacityUnits provisioned for the %s: " INT64_FORMAT
				  ". Requested WriteCapacityUnits: " INT64_FORMAT ". Refer to the Amazon DynamoDB "
				  "Developer Guide for current limits and how to request higher limits.",
				  what, of, old->read, new->read, of, old->write, new->write);
}

static void
update_units(DynDescription *description, const UpdateTable *update)
{
	DynCapacity old = description->units.provisioned;
	DynBilling billing = description->billing;

	if (update->billing >= 0)
		description_set_billing(description, (DynBilling) update->billing);
	description_change_units(&description->units, &update->units, NULL);
	description_check_units(description->billing, &description->units, NULL);
	if (update->units.provisioned.read > 0 && description->billing == billing)
		check_changes(&old, &description->units.provisioned, NULL);
}

static void
check_index_units(DynBilling billing, const IndexChange *change)
{
	const char *name = item_quoted_words(change->name);
	bool provisioned = change->units.provisioned.read > 0;

	if (billing == DYN_PAY_PER_REQUEST && provisioned)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS
				  "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for "
				  "index: %s when BillingMode is PAY_PER_REQUEST",
				  name);
	if (!description_is_unsaid(&change->units))
		return;
	if (billing == DYN_PAY_PER_REQUEST)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  DYN_INVALID_WORDS "The only Updates for index: %s when TableThroughputMode is "
									"PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput",
				  name);
	dyn_error(ERRCODE_DYN_VALIDATION,
			  DYN_INVALID_WORDS
			  "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: %s",
			  name);
}

static void
update_index_units(DynDescription *description, const DynShape *shape, const UpdateTable *update)
{
	ListCell *cell;

	foreach (cell, update->updates)
	{
		const IndexChange *change = ((IndexUpdate *) lfirst(cell))->update;
		DynUnits units;
		DynCapacity old;

		if (change == NULL)
			continue;
		units = description_index_units(description, change->name);
		old = units.provisioned;
		(void) find_index(shape, update->name, change->name, "update");
		check_index_units(description->billing, change);
		description_change_units(&units, &change->units, &change->name);
		description_check_units(description->billing, &units, &change->name);
		if (change->units.provisioned.read > 0)
			check_changes(&old, &units.provisioned, &change->name);
		description_set_index_units(description, change->name, &units);
	}
}

static void
update_description(DynDescription *description, const DynShape *shape, const UpdateTable *update)
{
	DynBilling old = description->billing;

	if (update->billing >= 0 || !description_is_unsaid(&update->units))
		update_units(description, update);
	update_index_units(description, shape, update);
	/* all global indexes have units too if a table begins to */
	if (description->billing != old)
		description_check_indexes(description, shape->indexes);
	if (update->deletion_protection >= 0)
		description->deletion_protection = update->deletion_protection > 0;
	if (update->table_class != DYN_CLASS_UNSAID)
		description->table_class = update->table_class;
	if (update->encryption != NULL)
		description->encrypted = update->encryption->enabled;
}

/*
 * Indexes
 */

/* Checks that nobody has left an index unfinished but this one. */
static void
check_finished(const DynTable *table, const DynShape *shape, ItemSpan name)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);

		if (spec->status != DYN_INDEX_ACTIVE && item_compare_bytes(spec->name, name) != 0)
			fail_online();
	}
	for (int i = 0; i < table->nvectors; i++)
	{
		if (!dyn_vector_is_built(&table->vectors[i]) &&
			item_compare_bytes(table->vectors[i].index.name, name) != 0)
			fail_online();
	}
}

static void
begin_online(IndexBuild *work, Relation rel, const DynTable *table, const DynShape *shape,
			 ItemSpan name)
{
	work->procedure.name = "UpdateTable";
	index_build_name(work, name);
	index_build_begin_in_transaction(work, rel, table);
	resource_require_permanent(rel, "Call dyn_create_index or dyn_drop_index.");
	check_finished(table, shape, name);
}

static void
create_index(Relation rel, const DynTable *table, const UpdateTable *update,
			 IndexDefinition *definition, DynDescription *description)
{
	IndexBuild work = {0};
	DynShape *shape = dyn_shape_of(rel, table);
	DynIndexSpec *spec = request_index_spec(definition, shape, description, update->attributes);
	const DynIndex *existing = dyn_find_index(table, spec->name);

	request_check_attributes(shape, update->attributes);
	if (existing != NULL && (existing->local || existing->status == DYN_INDEX_ACTIVE))
		dyn_error(ERRCODE_DYN_VALIDATION, "Attempting to create an index which already exists");
	begin_online(&work, rel, table, shape, spec->name);
	index_build_check_row_security(&work);
	index_build_declare_index(&work, rel, table, spec);
	index_build_resume_later(&work, table);
}

static void
delete_index(Relation rel, const DynTable *table, ItemSpan given, ItemSpan name)
{
	IndexBuild work = {0};
	DynShape *shape = dyn_shape_of(rel, table);

	find_index(shape, given, name, "delete")->status = DYN_INDEX_DELETING;
	begin_online(&work, rel, table, shape, name);
	index_build_check_dependents(&work, rel, table);
	relation_close(rel, NoLock);
	dyn_shape_write_trigger(shape);
	index_build_resume_later(&work, table);
}

static void
create_vector(Relation rel, const DynTable *table, const UpdateTable *update,
			  VectorDefinition *definition, const DynDescription *description)
{
	IndexBuild work = {0};
	DynShape *shape = dyn_shape_of(rel, table);
	DynVectorSpec *spec = request_vector_spec(definition, update->attributes);

	request_check_vector_billing(description->billing, true);
	request_check_attributes(shape, update->attributes);
	if (dyn_find_vector(table, spec->index.name) != NULL)
		dyn_error(ERRCODE_DYN_VALIDATION, "Attempting to create an index which already exists");
	begin_online(&work, rel, table, shape, spec->index.name);
	index_build_declare_vector(rel, table, spec);
	index_build_resume_later(&work, table);
}

static void
delete_vector(Relation rel, const DynTable *table, ItemSpan given, ItemSpan name)
{
	IndexBuild work = {0};
	ItemSpan named = dyn_table_name(given);

	if (dyn_find_vector(table, name) == NULL)
		dyn_error(ERRCODE_DYN_RESOURCE_NOT_FOUND,
				  "Requested resource not found: Index %.*s for table %.*s", (int) name.len,
				  name.data, (int) named.len, named.data);
	begin_online(&work, rel, table, dyn_shape_of(rel, table), name);
	index_build_forget_vector(rel, table, name, false);
}

/* Closes the table. */
static void
table_update_run(const UpdateTable *update, const IndexUpdate *online, Relation rel,
				 DynTable *table)
{
	DynDescription *description = description_read(table->relid);
	DynShape *shape = dyn_shape_of(rel, table);
	Oid relid = table->relid;

	update_description(description, shape, update);
	request_check_vector_billing(description->billing, update->billing >= 0 && table->nvectors > 0);
	if (online == NULL || (online->create == NULL && online->create_vector == NULL))
		request_check_attributes(shape, update->attributes);
	SPI_connect();
	if (online == NULL)
		relation_close(rel, NoLock);
	else if (online->create_vector != NULL)
		create_vector(rel, table, update, online->create_vector, description);
	else if (online->vector)
		delete_vector(rel, table, update->name, online->name);
	else if (online->create != NULL)
		create_index(rel, table, update, online->create, description);
	else
	{
		description_set_index_units(description, online->name, &(DynUnits){{0}});
		delete_index(rel, table, update->name, online->name);
	}
	description_write(relid, description);
	SPI_finish();
}

/* Returns the lock mode of all that the request does. */
static LOCKMODE
lock_mode(const UpdateTable *update, const IndexUpdate *online)
{
	if (online != NULL && (online->create != NULL || online->vector))
		return AccessExclusiveLock;
	if (online != NULL)
		return ShareRowExclusiveLock;
	if (update->stream == NULL)
		return ShareUpdateExclusiveLock;
	return stream_lock_mode(update->name, update->stream->view);
}

/*
 * Runs UpdateTable, which only the table's owner may do.  The creation or deletion of an index is
 * only begun here; a background worker does the rest after the transaction has committed.
 */
void
request_update_table(JsonReader *reader, JsonWriter *response)
{
	UpdateTable update = {.billing = -1, .deletion_protection = -1};
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
	table_update_run(&update, online, rel, table);
	if (update.stream != NULL && update.stream->enabled)
		stream_enable(update.name, (DynStreamView) update.stream->view, 0, false);
	else if (update.stream != NULL)
		stream_disable(update.name);
	rel = resource_open(update.name, &table);
	dyn_describe(response, "TableDescription", rel, table, update.name,
				 online != NULL ? "UPDATING" : "ACTIVE");
	relation_close(rel, NoLock);
}
