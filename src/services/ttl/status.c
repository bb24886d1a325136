/*
 * status.c
 *	  What the view dyn_ttl_tables shows, of the tables that the caller may read.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "catalog/describe.h"
#include "catalog/listing.h"
#include "catalog/rights.h"
#include "server/arguments.h"
#include "server/citus.h"
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
static ArrayType *
parts_of(Oid relid, List *shards)
{
	Datum *parts = palloc((list_length(shards) + 1) * sizeof(Datum));
	int n = 0;
	ListCell *cell;

	foreach (cell, shards)
	{
		const DynLocalShard *shard = lfirst(cell);

		if (shard->table == relid)
			parts[n++] = ObjectIdGetDatum(shard->relid);
	}
	if (citus_kind(relid) != CITUS_DISTRIBUTED)
		parts[n++] = ObjectIdGetDatum(relid);
	return construct_array(parts, n, OIDOID, sizeof(Oid), true, TYPALIGN_INT);
}

static void
put_table(ReturnSetInfo *result, const DynListed *listed, void *shards)
{
	Datum values[6];
	bool nulls[6] = {false};
	ItemSpan attribute = listed->settings.ttl;
	DynIndexStatus status;

	if (!has_ttl(listed))
		return;
	status = listed->rel == NULL ? listed->settings.ttl_status : listed->table->ttl->status;
	values[0] = ObjectIdGetDatum(listed->relid);
	values[1] = PointerGetDatum(span_text(attribute));
	values[2] = CStringGetTextDatum(dyn_ttl_status_names[status]);
	values[3] = BoolGetDatum(listed->settings.hide_expired);
	values[4] = BoolGetDatum(listed->rel == NULL);
	values[5] = PointerGetDatum(parts_of(listed->relid, shards));
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* dyn_ttl_list(): relation, attribute, status, hide_expired, locked, parts */
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
	return rights_of_monitor() ||
		   check_enable_rls(RelationGetRelid(rel), InvalidOid, true) != RLS_ENABLED;
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
	Datum values[3] = {0};
	bool nulls[3] = {true, true, true};
	TupleDesc desc;
	int64 oldest;
	int count;
	int never;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (count_due(PG_GETARG_OID(0), PG_GETARG_INT64(1), &count, &oldest, &never))
	{
		values[0] = Int64GetDatum(count);
		nulls[0] = false;
		nulls[1] = count == 0;
		if (count > 0)
			values[1] = TimestampTzGetDatum(expiry_time(oldest));
		values[2] = Int64GetDatum(never);
		nulls[2] = false;
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
