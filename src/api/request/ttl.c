/*
 * ttl.c
 *	  UpdateTimeToLive and DescribeTimeToLive.
 */
#include "postgres.h"

#include "access/relation.h"

#include "api/request/request.h"
#include "catalog/describe.h"
#include "catalog/resource.h"
#include "server/errors.h"
#include "services/ttl/ttl.h"

/* This is TimeToLiveSpecification. */
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

static const RequestMember specification_members[] = {
	{"Enabled", MEMBER_BOOL, offsetof(Specification, enabled), true},
	{"AttributeName", MEMBER_STRING, offsetof(Specification, attribute), true, .min = 1,
	 .max = DYN_MAX_TTL_ATTRIBUTE}};
static const RequestType specification = {specification_members, lengthof(specification_members)};

/* Checks that a request that disables it names the right attribute (docs/semantics.md, TT13). */
static void
check_disabled(const UpdateTimeToLive *update)
{
	DynTable *table;
	Relation rel = resource_open(update->table, &table);

	dyn_settings_check_ttl(update->specification.attribute);
	ttl_check_disable(table);
	ttl_check_attribute(table, update->specification.attribute);
	/* two sessions that kept this lock while they wait for a stronger one would wait for each other */
	relation_close(rel, AccessShareLock);
}

/* Runs UpdateTimeToLive, which only the table's owner may do. */
void
request_update_time_to_live(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"TableName", MEMBER_STRING, offsetof(UpdateTimeToLive, table), true, .name_of = NAME_TABLE,
		 .missing = REQUIRED_TABLE},
		{"TimeToLiveSpecification", MEMBER_PART, offsetof(UpdateTimeToLive, specification), true,
		 .of = &specification}};
	UpdateTimeToLive update = {0};
	const Specification *wanted = &update.specification;

	request_read(reader, members, lengthof(members), &update, NULL);
	request_names(reader, update.table);
	if (wanted->enabled)
		ttl_enable(update.table, wanted->attribute, false, "UpdateTimeToLive");
	else
	{
		check_disabled(&update);
		ttl_disable(update.table, "UpdateTimeToLive");
	}
	json_write_begin(response, "TimeToLiveSpecification");
	json_write_bool(response, "Enabled", wanted->enabled);
	json_write_span(response, "AttributeName", wanted->attribute);
	json_write_end(response);
}

/*
 * Runs DescribeTimeToLive, for which any privilege on the table, or membership in pg_monitor,
 * suffices.
 */
void
request_describe_time_to_live(JsonReader *reader, JsonWriter *response)
{
	ItemSpan name = request_read_table_name(reader);
	DynTable *table;
	Relation rel = resource_open_state(name, &table);

	dyn_describe_ttl(response, "TimeToLiveDescription", table);
	relation_close(rel, NoLock);
}
