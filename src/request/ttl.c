/*
 * ttl.c
 *	  UpdateTimeToLive and DescribeTimeToLive.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "ground/errors.h"
#include "index/index.h"
#include "request/request.h"
#include "request/resource.h"
#include "ttl/ttl.h"

/* TimeToLiveSpecification */
typedef struct Specification
{
	bool enabled;
	ItemSpan attribute;
} Specification;

typedef struct UpdateTimeToLive
{
	ItemSpan table;
	Specification specification;
} UpdateTimeToLive;

static void
read_specification(JsonReader *reader, void *to)
{
	static const RequestMember members[] = {
		{"Enabled", MEMBER_BOOL, offsetof(Specification, enabled), true},
		{"AttributeName", MEMBER_STRING, offsetof(Specification, attribute), true}};

	request_read_members(reader, members, lengthof(members), to);
}

/*
 * In the caller's transaction, of which the rest of the work has to wait for the end; a table
 * without items has none.  procedure: the caller's name.
 */
void
request_enable_ttl(ItemSpan name, ItemSpan attribute, bool hide_expired, const char *procedure)
{
	GsiWork work = {0};
	DynTable *table;
	Relation rel;

	request_keep_procedures_away(name);
	rel = request_lock_table(name, AccessExclusiveLock, &table);
	ttl_check_enable(table, attribute);
	/* somebody has done the same just now */
	if (table->ttl != NULL && table->ttl->status == DYN_INDEX_CREATING)
		dyn_error(ERRCODE_DYN_VALIDATION, "TimeToLive is already enabled");
	ttl_begin_work(&work, procedure);
	request_begin_work(&work, rel, table);
	gsi_check_row_security(&work);
	if (RelationGetNumberOfBlocks(rel) > 0)
		request_require_permanent(rel, "Call dyn_enable_ttl outside of a transaction.");
	SPI_connect();
	if (!ttl_declare(&work, rel, table, attribute, hide_expired))
		gsi_resume_later(&work, table);
	SPI_finish();
}

/*
 * Disable time to live in the caller's transaction.  Raises an error unless the current user owns
 * the table.  If the table has pages, a background worker does the rest after the commit, so it
 * must not be a temporary table.  procedure is the name of what the user called, for messages.
 */
void
request_disable_ttl(ItemSpan name, const char *procedure)
{
	GsiWork work = {0};
	DynShape *shape;
	DynTable *table;
	Relation rel;

	request_keep_procedures_away(name);
	rel = request_lock_table(name, AccessExclusiveLock, &table);
	ttl_check_disable(table);
	ttl_begin_work(&work, procedure);
	request_begin_work(&work, rel, table);
	SPI_connect();
	if (RelationGetNumberOfBlocks(rel) == 0)
		(void) gsi_forget_index(&work, rel, table, true);
	else
	{
		request_require_permanent(rel, "Call dyn_disable_ttl outside of a transaction.");
		shape = dyn_shape_of(rel, table);
		*gsi_status(&work, shape) = DYN_INDEX_DELETING;
		relation_close(rel, NoLock);
		dyn_shape_write_trigger(shape, true);
		gsi_resume_later(&work, table);
	}
	SPI_finish();
}

/* A request that disables it must name the right attribute (docs/semantics.md, TT13). */
static void
check_disabled(const UpdateTimeToLive *update)
{
	DynTable *table;
	Relation rel = request_open_table(update->table, &table);

	dyn_settings_check_ttl(update->specification.attribute);
	ttl_check_disable(table);
	ttl_check_attribute(table, update->specification.attribute);
	/* held while a stronger lock is waited for, it would be in the way of others who do so too */
	relation_close(rel, AccessShareLock);
}

/* Run UpdateTimeToLive, which only the table's owner may do. */
void
request_update_time_to_live(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"TableName", MEMBER_STRING, offsetof(UpdateTimeToLive, table), true},
		{"TimeToLiveSpecification", MEMBER_CUSTOM, offsetof(UpdateTimeToLive, specification), true,
		 NULL, read_specification}};
	UpdateTimeToLive update = {0};
	const Specification *wanted = &update.specification;

	request_read_members(reader, members, lengthof(members), &update);
	json_reader_done(reader);
	if (wanted->enabled)
		request_enable_ttl(update.table, wanted->attribute, false, "UpdateTimeToLive");
	else
	{
		check_disabled(&update);
		request_disable_ttl(update.table, "UpdateTimeToLive");
	}
	json_write_begin(response, NULL);
	json_write_begin(response, "TimeToLiveSpecification");
	json_write_bool(response, "Enabled", wanted->enabled);
	json_write_span(response, "AttributeName", wanted->attribute);
	json_write_end(response);
	json_write_end(response);
}

/*
 * Run DescribeTimeToLive, for which any privilege on the table, or membership in pg_monitor,
 * suffices.
 */
void
request_describe_time_to_live(JsonReader *reader, JsonWriter *response)
{
	ItemSpan name = request_read_table_name(reader);
	DynTable *table;
	Relation rel = request_open_state(name, &table);

	json_write_begin(response, NULL);
	dyn_describe_ttl(response, "TimeToLiveDescription", table);
	json_write_end(response);
	relation_close(rel, NoLock);
}
