/*
 * backups.c
 *	  DescribeContinuousBackups, UpdateContinuousBackups, RestoreTableToPointInTime.
 *
 * A table has no backups of its own: those of the server have all tables.  So point-in-time
 * recovery of a table is a wish, which is kept with the table.  It is described as fulfilled as
 * long as something speaks for that: the server archives its WAL, or the administrator says that
 * all is well.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xlog.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "api/request/request.h"
#include "catalog/definition/arn.h"
#include "catalog/definition/description.h"
#include "catalog/definition/settings.h"
#include "catalog/lookup.h"
#include "catalog/resource.h"
#include "server/errors.h"

#define MAX_DAYS 35

typedef struct UpdateBackups
{
	ItemSpan table;
	bool enabled;
	RequestInteger period;
} UpdateBackups;

/* Returns whether an archiver has something to do its work with; otherwise WAL is kept only. */
static bool
server_archives(void)
{
	return XLogArchivingActive() && (*XLogArchiveCommand != '\0' ||
									 *GetConfigOption("archive_library", false, false) != '\0');
}

/* Returns why there can be no point-in-time recovery, or NULL if there can. */
static const char *
objection(void)
{
	if (dyn_continuous_backups == DYN_BACKUPS_REFUSE)
		return "the setting dynamo_table.continuous_backups is \"refuse\"";
	if (dyn_continuous_backups == DYN_BACKUPS_ARCHIVE && !server_archives())
		return "the server does not archive its WAL: set archive_mode and archive_command, or "
			   "dynamo_table.continuous_backups to \"accept\" if its backups are made otherwise";
	return NULL;
}

/* Opens a table; these operations have an exception of their own for one that does not exist. */
static Relation
open_table(ItemSpan given, DynTable **table)
{
	ItemSpan name = dyn_table_name(given);
	Relation rel = dyn_table_find_state(given, table);

	if (rel == NULL)
		dyn_error(ERRCODE_DYN_TABLE_NOT_FOUND, "Table not found: %s", item_quoted_words(name));
	return rel;
}

/*
 * Describes backups without times: when a restore can go back to depends on the base backups that
 * there are, which the server does not know.
 */
static void
backups_describe(JsonWriter *response, const DynDescription *description)
{
	bool possible = objection() == NULL;
	bool enabled = possible && description->recovery_days > 0;

	json_write_begin(response, "ContinuousBackupsDescription");
	json_write_string(response, "ContinuousBackupsStatus", possible ? "ENABLED" : "DISABLED");
	json_write_begin(response, "PointInTimeRecoveryDescription");
	json_write_string(response, "PointInTimeRecoveryStatus", enabled ? "ENABLED" : "DISABLED");
	if (enabled)
		json_write_integer(response, "RecoveryPeriodInDays", description->recovery_days);
	json_write_end(response);
	json_write_end(response);
}

/*
 * Runs DescribeContinuousBackups, for which any privilege on the table, or membership in pg_monitor,
 * suffices.
 */
void
request_describe_continuous_backups(JsonReader *reader, JsonWriter *response)
{
	DynTable *table;
	Relation rel = open_table(request_read_table_name(reader), &table);

	backups_describe(response, description_read(RelationGetRelid(rel)));
	relation_close(rel, NoLock);
}

static const RequestMember specification_members[] = {
	{"PointInTimeRecoveryEnabled", MEMBER_BOOL, offsetof(UpdateBackups, enabled), true},
	{"RecoveryPeriodInDays", MEMBER_INTEGER, offsetof(UpdateBackups, period), .min = 1,
	 .max = MAX_DAYS}};
static const RequestType specification = {specification_members, lengthof(specification_members)};

/* Runs UpdateContinuousBackups, which only the table's owner may do. */
void
request_update_continuous_backups(JsonReader *reader, JsonWriter *response)
{
	static const RequestMember members[] = {
		{"TableName", MEMBER_STRING, offsetof(UpdateBackups, table), true, .name_of = NAME_TABLE,
		 .missing = REQUIRED_TABLE},
		{"PointInTimeRecoverySpecification", MEMBER_PART, 0, true, .of = &specification}};
	UpdateBackups update = {{0}};
	DynDescription *description;
	DynTable *table;
	Relation rel;
	int64 days;

	request_read(reader, members, lengthof(members), &update, NULL);
	request_names(reader, update.table);
	if (!update.enabled && update.period.given)
		dyn_error(
			ERRCODE_DYN_VALIDATION,
			"Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time "
			"recovery.");
	relation_close(open_table(update.table, &table), AccessShareLock);
	rel = resource_lock(update.table, ShareUpdateExclusiveLock, &table);
	if (update.enabled && objection() != NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("point-in-time recovery cannot be enabled: %s", objection()),
						errhint("See \"Backup and restore\" in the extension's documentation of "
								"operations.")));
	days = update.period.given ? update.period.value : MAX_DAYS;
	description = description_read(RelationGetRelid(rel));
	description->recovery_days = update.enabled ? days : 0;
	description_write(RelationGetRelid(rel), description);
	backups_describe(response, description);
	relation_close(rel, NoLock);
}

/* Says that no request restores a table, and what does. */
void
request_restore_table_to_point_in_time(JsonReader *reader, JsonWriter *response)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_UNKNOWN_OPERATION),
					errmsg("a request cannot restore a table: restore a server from a base backup "
						   "and the archived WAL to the point in time, and take the table from "
						   "there"),
					errhint("See \"Continuous Archiving and Point-in-Time Recovery\" in "
							"PostgreSQL's documentation.")));
}
