/*
 * status.c
 *	  What the view dyn_ttl_status shows, of the tables that the caller may read.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/timestamp.h"

#include "ttl/ttl.h"

/* Due items beyond these are not counted. */
#define COUNT_DUE 10000

/* Looks at rights before all else, so that nobody waits for, or fails at, a table of others. */
static Relation
open_readable(Oid relid, DynTable **table)
{
	bool missing = false;
	Relation rel;

	if (pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) != ACLCHECK_OK)
		return NULL;
	rel = dyn_open_listed(relid, table);
	if (rel == NULL || (*table)->ttl != NULL)
		return rel;
	relation_close(rel, AccessShareLock);
	return NULL;
}

static void
put_table(ReturnSetInfo *result, const DynTable *table)
{
	Datum values[4];
	bool nulls[4] = {false};
	ItemSpan attribute = table->ttl->name;

	values[0] = ObjectIdGetDatum(table->relid);
	values[1] = PointerGetDatum(cstring_to_text_with_len(attribute.data, (int) attribute.len));
	values[2] = CStringGetTextDatum(dyn_ttl_status_names[table->ttl->status]);
	values[3] = BoolGetDatum(table->settings.hide_expired);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* dyn_ttl_tables(): relation, attribute, status, hide_expired */
PG_FUNCTION_INFO_V1(dyn_ttl_tables);
Datum
dyn_ttl_tables(PG_FUNCTION_ARGS)
{
	List *tables;
	ListCell *cell;

	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	tables = dyn_tables_with_setting("ttl_attribute");
	foreach (cell, tables)
	{
		DynTable *table;
		Relation rel = open_readable(lfirst_oid(cell), &table);

		CHECK_FOR_INTERRUPTS();
		if (rel == NULL)
			continue;
		put_table((ReturnSetInfo *) fcinfo->resultinfo, table);
		relation_close(rel, AccessShareLock);
	}
	SPI_finish();
	PG_RETURN_NULL();
}

/* How many are due, and since when the first is; false if there is nothing to say. */
static bool
count_due(Oid relid, int64 from, int *count, int64 *oldest)
{
	TtlDue *due = palloc(COUNT_DUE * sizeof(TtlDue));
	TimestampTz now = GetCurrentStatementStartTimestamp();
	DynTable *table;
	Relation rel = open_readable(relid, &table);
	bool known;

	if (rel == NULL)
		return false;
	known = ttl_has_items(rel, table) && check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED;
	if (known)
		*count = ttl_find_due(rel, table, ttl_oldest(from, now), ttl_number(now), due, COUNT_DUE);
	if (known && *count > 0)
		*oldest = due[0].second;
	relation_close(rel, AccessShareLock);
	return known;
}

/* dyn_ttl_due(relation, from_second): count, oldest */
PG_FUNCTION_INFO_V1(dyn_ttl_due);
Datum
dyn_ttl_due(PG_FUNCTION_ARGS)
{
	Datum values[2] = {0};
	bool nulls[2] = {true, true};
	TupleDesc desc;
	int64 oldest;
	int count;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (count_due(PG_GETARG_OID(0), PG_GETARG_INT64(1), &count, &oldest))
	{
		values[0] = Int64GetDatum(count);
		nulls[0] = false;
		nulls[1] = count == 0;
		if (count > 0)
			values[1] = TimestampTzGetDatum(ttl_time(oldest));
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
