/*
 * status.c
 *	  What the views show: dyn_streams, of the tables that the caller may read, and dyn_stream_slots.
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
#include "utils/tuplestore.h"

#include "catalog/definition/arn.h"
#include "catalog/listing.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "services/stream/service.h"
#include "services/stream/stream.h"

/* Returns a name that finds the table, whose relation is called so. */
static ItemSpan
table_name(const DynListed *listed, const char *relation)
{
	ItemSpan name = dyn_name_of_relation(relation, &listed->settings);
	char *schema;
	char *qualified;

	if (RelationIsVisible(listed->relid))
		return name;
	schema = get_namespace_name(get_rel_namespace(listed->relid));
	qualified = psprintf("%s.%.*s", schema == NULL ? "?" : schema, (int) name.len, name.data);
	return item_span(qualified);
}

static bool
identity_suffices(const DynListed *listed, const DynStream *stream)
{
	return RelationNeedsWAL(listed->rel) && stream_identity_suffices(listed->rel, stream->view);
}

static void
put_stream(ReturnSetInfo *result, const DynListed *listed, ItemSpan name, const DynStream *stream)
{
	bool enabled = stream->disabled == 0;
	bool locked = listed->rel == NULL;
	char label[STREAM_LABEL_LENGTH + 1];
	bool nulls[10] = {false};
	Datum values[10] = {
		ObjectIdGetDatum(listed->relid),
		CStringGetTextDatum(dyn_stream_arn(name, stream->label)),
		CStringGetTextDatum(stream_label_print(stream->label, label)),
		CStringGetTextDatum(dyn_stream_view_names[stream->view]),
		Int32GetDatum(stream->shards),
		CStringGetTextDatum(enabled ? "ENABLED" : "DISABLED"),
		TimestampTzGetDatum(stream_time(stream->label)),
		TimestampTzGetDatum(stream_time(stream->disabled)),
		BoolGetDatum(enabled && !locked && identity_suffices(listed, stream)),
		BoolGetDatum(locked),
	};

	nulls[7] = enabled;
	nulls[8] = !enabled || locked;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void
put_table(ReturnSetInfo *result, const DynListed *listed, void *arg)
{
	char *relation = get_rel_name(listed->relid);

	for (int i = 0; relation != NULL && i < listed->settings.nstreams; i++)
		put_stream(result, listed, table_name(listed, relation), &listed->settings.streams[i]);
}

/* dyn_stream_tables(): relation, arn, label, view_type, shards, status, enabled_at, disabled_at, identity_suffices, locked */
PG_FUNCTION_INFO_V1(dyn_stream_tables);
Datum
dyn_stream_tables(PG_FUNCTION_ARGS)
{
	SPI_connect();
	dyn_list(fcinfo, dyn_listed_tables("streams"), put_table, NULL);
	SPI_finish();
	PG_RETURN_NULL();
}

/*
 * dyn_stream_progress(): reached, reached_at, trouble, error, failed_at.  What a collector has read and found nothing
 * in is not noted each time, but it is no lag.
 */
PG_FUNCTION_INFO_V1(dyn_stream_progress);
Datum
dyn_stream_progress(PG_FUNCTION_ARGS)
{
	StreamProgress progress;
	TupleDesc desc;
	Datum values[5];
	bool nulls[5];

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	nulls[0] = nulls[1] = !stream_collector_progress(&progress, false);
	nulls[2] = !progress.waits && !progress.fails;
	nulls[4] = progress.failed_at == 0;
	/* it may have what users have written */
	nulls[3] = nulls[4] || !rights_of_monitor();
	values[0] = LSNGetDatum(progress.reached);
	values[1] = TimestampTzGetDatum(progress.reached_at);
	values[2] = CStringGetTextDatum(progress.waits ? STREAM_WAITS : STREAM_FAILS);
	values[3] = CStringGetTextDatum(progress.error);
	values[4] = TimestampTzGetDatum(progress.failed_at);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
