/*
 * backups.c
 *	  DescribeContinuousBackups, UpdateContinuousBackups.
 *
 * A table has no backups of its own: those of the database have all tables.
 */
#include "postgres.h"

#include "access/relation.h"

#include "catalog/resource.h"
#include "ground/arn.h"
#include "ground/errors.h"
#include "request/request.h"

#define MAX_DAYS 35

typedef struct UpdateBackups
{
	ItemSpan table;
	bool enabled;
	RequestInteger period;
} UpdateBackups;

/* These operations have an exception of their own for a table that does not exist. */
static void
check_table(ItemSpan given)
{
	ItemSpan name = dyn_table_name(given);
	DynTable *table;
	Relation rel = dyn_table_find_state(given, &table);

	if (rel == NULL)
		dyn_error(ERRCODE_DYN_TABLE_NOT_FOUND, "Table not found: %s", item_quoted_words(name));
	relation_close(rel, NoLock);
}

static void
describe(JsonWriter *response)
{
	json_write_raw(response, NULL,
				   "{\"ContinuousBackupsDescription\":{\"ContinuousBackupsStatus\":\"DISABLED\","
				   "\"PointInTimeRecoveryDescription\":{\"PointInTimeRecoveryStatus\":"
				   "\"DISABLED\"}}}");
}

/*
 * Run DescribeContinuousBackups, for which any privilege on the table, or membership in pg_monitor,
 * suffices.
 */
void
request_describe_continuous_backups(JsonReader *reader, JsonWriter *response)
{
	check_table(request_read_table_name(reader));
	describe(response);
}

static void
read_specification(JsonReader *reader, void *to)
{
	static const RequestMember members[] = {
		{"PointInTimeRecoveryEnabled", MEMBER_BOOL, offsetof(UpdateBackups, enabled), true},
		{"RecoveryPeriodInDays", MEMBER_INTEGER, offsetof(UpdateBackups, period), .min = 1,
		 .max = MAX_DAYS}};

	/* the member's offset is 0: all of the request is ours */
	request_read_members(reader, members, lengthof(members), to);
}

/* Run UpdateContinuousBackups, which can only say that there shall be none. */
void
request_update_continuous_backups(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"TableName", MEMBER_STRING, offsetof(UpdateBackups, table), true, .name_of = NAME_TABLE,
		 .missing = REQUIRED_TABLE},
		{"PointInTimeRecoverySpecification", MEMBER_CUSTOM, 0, true, NULL, read_specification}};
	UpdateBackups update = {{0}};

	request_read(reader, members, lengthof(members), &update, NULL);
	request_names(reader, update.table);
	if (!update.enabled && update.period.given)
		dyn_error(
			ERRCODE_DYN_VALIDATION,
			"Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time "
			"recovery.");
	check_table(update.table);
	if (update.enabled)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("member \"PointInTimeRecoveryEnabled\" is not supported: a table has no "
						"backups of its own"),
				 errhint("Archive the WAL of the server, and restore from a base backup. See "
						 "\"Continuous Archiving and Point-in-Time Recovery\" in PostgreSQL's "
						 "documentation.")));
	describe(response);
}
