/*
 * status.c
 *	  What the view dyn_ttl_tables shows, of the tables that the caller may read.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/describe.h"
#include "catalog/key_grant.h"
#include "catalog/listing.h"
#include "catalog/rights.h"
#include "server/arguments.h"
#include "server/citus.h"
#include "server/sql.h"
#include "services/ttl/ttl.h"

/* Due items beyond these are not counted. */
#define COUNT_DUE 10000

static bool
has_ttl(const DynListed *listed)
{
	return listed->rel == NULL ? listed->settings.ttl.len > 0 : listed->table->ttl != NULL;
}

/* Privileges are checked first, so that no other role's table can make the list fail. */
static bool
open_readable(Oid relid, DynListed *listed)
{
	if (!rights_to_list(relid) || !dyn_open_listed(relid, listed))
		return false;
	if (has_ttl(listed))
		return true;
	dyn_close_listed(listed);
	return false;
}

/* Returns what holds the items on this node: the table itself, or its shards. */
static Datum
parts_of(Oid relid, List *shards)
{
	List *parts = citus_kind(relid) == CITUS_DISTRIBUTED ? NIL : list_make1_oid(relid);
	ListCell *cell;

	foreach (cell, shards)
	{
		const DynLocalShard *shard = lfirst(cell);

		if (shard->table == relid)
			parts = lappend_oid(parts, shard->relid);
	}
	return sql_oids(parts);
}

static void
put_table(ReturnSetInfo *result, const DynListed *listed, void *shards)
{
	DynIndexStatus status;

	if (!has_ttl(listed))
		return;
	status = listed->rel == NULL ? listed->settings.ttl_status : listed->table->ttl->status;
	sql_put(result,
			SQL_VALUES(SQL_OID(listed->relid), sql_span(listed->settings.ttl),
					   SQL_TEXT(dyn_ttl_status_names[status]),
					   SQL_BOOL(listed->settings.hide_expired), SQL_BOOL(listed->rel == NULL),
					   SQL_BOOL(dyn_reads_all(listed->relid)),
					   SQL_VALUE(OIDARRAYOID, parts_of(listed->relid, shards))));
}

/* dyn_ttl_list(): relation, attribute, status, hide_expired, locked, reads_all, parts */
PG_FUNCTION_INFO_V1(dyn_ttl_list);
Datum
dyn_ttl_list(PG_FUNCTION_ARGS)
{
	List *tables = dyn_listed_tables("ttl_attribute");

	dyn_list(fcinfo, tables, put_table, dyn_local_shards(tables));
	PG_RETURN_NULL();
}

/*
 * Returns whether rows may be counted: for roles that may see the state of all tables policies are
 * not applied, since a count and a time disclose no items.
 */
static bool
may_count(Relation rel)
{
	return rights_of_monitor() || !dyn_policies_hide(RelationGetRelid(rel));
}

/* Counts how many are due, since when the first is, and how many never will be. */
static bool
count_due(Oid relid, int64 from, int *count, int64 *oldest, int *never)
{
	TtlDue *due = palloc(COUNT_DUE * sizeof(TtlDue));
	TimestampTz now = GetCurrentStatementStartTimestamp();
	DynListed listed;
	bool known;

	if (!open_readable(relid, &listed))
		return false;
	known = listed.rel != NULL && ttl_has_items(listed.rel, listed.table) && may_count(listed.rel);
	if (known)
	{
		*count = ttl_find_due(listed.rel, listed.table, expiry_oldest(from, now),
							  expiry_number(now), due, COUNT_DUE);
		*never = ttl_count_never(listed.rel, listed.table, COUNT_DUE);
	}
	if (known && *count > 0)
		*oldest = due[0].second;
	dyn_close_listed(&listed);
	return known;
}

/* dyn_ttl_due(relation, from_second): count, oldest, never */
PG_FUNCTION_INFO_V1(dyn_ttl_due);
Datum
dyn_ttl_due(PG_FUNCTION_ARGS)
{
	int64 oldest = 0;
	int count = 0;
	int never = 0;
	bool known = count_due(PG_GETARG_OID(0), PG_GETARG_INT64(1), &count, &oldest, &never);

	return sql_row(fcinfo,
				   SQL_VALUES(SQL_NULLABLE(INT8OID, Int64GetDatum(count), !known),
							  SQL_NULLABLE(TIMESTAMPTZOID, TimestampTzGetDatum(expiry_time(oldest)),
										   !known || count == 0),
							  SQL_NULLABLE(INT8OID, Int64GetDatum(never), !known)));
}
