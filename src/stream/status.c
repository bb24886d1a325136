/*
 * status.c
 *	  What the views show: dyn_streams, of the tables that the caller may read, and dyn_stream_status.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "stream/background.h"
#include "stream/stream.h"

/* A name that finds the table. */
static ItemSpan
table_name(Relation rel, const DynTable *table)
{
	ItemSpan name = dyn_name_of_relation(RelationGetRelationName(rel), &table->settings);
	char *qualified;

	if (RelationIsVisible(table->relid))
		return name;
	qualified = psprintf("%s.%.*s", get_namespace_name(RelationGetNamespace(rel)), (int) name.len,
						 name.data);
	return (ItemSpan){qualified, (uint32) strlen(qualified)};
}

static void
put_stream(ReturnSetInfo *result, Relation rel, const DynTable *table, const DynStream *stream)
{
	bool enabled = stream->disabled == 0;
	char label[STREAM_LABEL_LENGTH + 1];
	bool nulls[9] = {false};
	Datum values[9] = {
		ObjectIdGetDatum(table->relid),
		CStringGetTextDatum(dyn_stream_arn(table_name(rel, table), stream->label)),
		CStringGetTextDatum(stream_label_print(stream->label, label)),
		CStringGetTextDatum(dyn_stream_view_names[stream->view]),
		Int32GetDatum(stream->shards),
		CStringGetTextDatum(enabled ? "ENABLED" : "DISABLED"),
		TimestampTzGetDatum(stream_time(stream->label)),
		TimestampTzGetDatum(stream_time(stream->disabled)),
		BoolGetDatum(enabled && RelationNeedsWAL(rel) &&
					 stream_identity_suffices(rel, stream->view)),
	};

	nulls[7] = enabled;
	nulls[8] = !enabled;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Looks at rights before all else, so that nobody waits for, or fails at, a table of others. */
static void
put_table(ReturnSetInfo *result, Oid relid)
{
	bool missing = false;
	DynTable *table;
	Relation rel;

	if (pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) != ACLCHECK_OK)
		return;
	rel = dyn_open_listed(relid, &table);
	if (rel == NULL)
		return;
	for (int i = 0; i < table->settings.nstreams; i++)
		put_stream(result, rel, table, &table->settings.streams[i]);
	relation_close(rel, AccessShareLock);
}

/* dyn_stream_tables(): relation, arn, label, view_type, shards, status, enabled_at, disabled_at, identity_suffices */
PG_FUNCTION_INFO_V1(dyn_stream_tables);
Datum
dyn_stream_tables(PG_FUNCTION_ARGS)
{
	List *tables;
	ListCell *cell;

	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	tables = dyn_tables_with_setting("streams");
	foreach (cell, tables)
	{
		CHECK_FOR_INTERRUPTS();
		put_table((ReturnSetInfo *) fcinfo->resultinfo, lfirst_oid(cell));
	}
	SPI_finish();
	PG_RETURN_NULL();
}

/*
 * dyn_stream_progress(): reached, reached_at.  What a collector has read and found nothing in is not noted
 * each time, but it is no lag.
 */
PG_FUNCTION_INFO_V1(dyn_stream_progress);
Datum
dyn_stream_progress(PG_FUNCTION_ARGS)
{
	StreamProgress progress;
	TupleDesc desc;
	Datum values[2];
	bool nulls[2] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (!stream_collector_progress(&progress, false))
		PG_RETURN_NULL();
	values[0] = LSNGetDatum(progress.reached);
	values[1] = TimestampTzGetDatum(progress.reached_at);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
