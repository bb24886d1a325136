/*
 * ttl.c
 *	  UpdateTimeToLive and DescribeTimeToLive: the setting.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/json.h"
#include "utils/rel.h"

#include "errors.h"
#include "request/request.h"
#include "request/resource.h"

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

static void
check_change(const DynSettings *settings, const Specification *wanted)
{
	bool enabled = settings->ttl.len > 0;

	dyn_settings_check_ttl(wanted->attribute);
	if (enabled && item_compare_bytes(settings->ttl, wanted->attribute) != 0)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "TimeToLive is active on a different AttributeName: current AttributeName is "
				  "%.*s",
				  (int) settings->ttl.len, settings->ttl.data);
	if (enabled == wanted->enabled)
		dyn_error(ERRCODE_DYN_VALIDATION, "TimeToLive is already %s",
				  enabled ? "enabled" : "disabled");
}

static void
append_attribute(StringInfo response, ItemSpan attribute)
{
	appendStringInfoString(response, "\"AttributeName\":");
	escape_json(response, pnstrdup(attribute.data, attribute.len));
}

void
request_update_time_to_live(JsonReader *reader, StringInfo response)
{
	static const RequestMember members[] = {
		{"TableName", MEMBER_STRING, offsetof(UpdateTimeToLive, table), true},
		{"TimeToLiveSpecification", MEMBER_CUSTOM, offsetof(UpdateTimeToLive, specification), true,
		 NULL, read_specification}};
	UpdateTimeToLive update = {0};
	const Specification *wanted = &update.specification;
	DynSettings settings;
	DynTable *table;
	Relation rel;

	request_read_members(reader, members, lengthof(members), &update);
	json_reader_done(reader);
	rel = request_lock_table(update.table, ShareRowExclusiveLock, &table);
	settings = table->settings;
	check_change(&settings, wanted);
	settings.ttl = wanted->enabled ? wanted->attribute : (ItemSpan){NULL, 0};
	request_write_settings(rel, table, &settings);
	appendStringInfo(response, "{\"TimeToLiveSpecification\":{\"Enabled\":%s,",
					 wanted->enabled ? "true" : "false");
	append_attribute(response, wanted->attribute);
	appendStringInfoString(response, "}}");
}

void
request_describe_time_to_live(JsonReader *reader, StringInfo response)
{
	ItemSpan name = request_read_table_name(reader);
	DynTable *table;
	Relation rel = request_open_table(name, &table);
	ItemSpan attribute = table->settings.ttl;

	appendStringInfo(response, "{\"TimeToLiveDescription\":{\"TimeToLiveStatus\":\"%s\"",
					 attribute.len > 0 ? "ENABLED" : "DISABLED");
	if (attribute.len > 0)
	{
		appendStringInfoChar(response, ',');
		append_attribute(response, attribute);
	}
	appendStringInfoString(response, "}}");
	relation_close(rel, NoLock);
}
