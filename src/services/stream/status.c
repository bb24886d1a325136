/*
 * status.c
 *	  What the views show: dyn_streams, of the tables that the caller may read, and dyn_stream_slots.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "catalog/definition/arn.h"
#include "catalog/listing.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "server/sql.h"
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

	sql_put(result,
			SQL_VALUES(
				SQL_OID(listed->relid), SQL_TEXT(dyn_stream_arn(name, stream->label)),
				SQL_TEXT(stream_label_print(stream->label, label)),
				SQL_TEXT(dyn_stream_view_names[stream->view]), SQL_INT4(stream->shards),
				SQL_TEXT(enabled ? "ENABLED" : "DISABLED"), SQL_TIME(stream_time(stream->label)),
				SQL_NULLABLE(TIMESTAMPTZOID, TimestampTzGetDatum(stream_time(stream->disabled)),
							 enabled),
				SQL_NULLABLE(BOOLOID,
							 BoolGetDatum(enabled && !locked && identity_suffices(listed, stream)),
							 !enabled || locked),
				SQL_BOOL(locked)));
}

static void
put_table(ReturnSetInfo *result, const DynListed *listed, void *arg)
{
	char *relation = get_rel_name(listed->relid);

	for (int i = 0; relation != NULL && i < listed->settings.nstreams; i++)
		put_stream(result, listed, table_name(listed, relation), &listed->settings.streams[i]);
}

/*
 * dyn_stream_tables(): relation, arn, label, view_type, shards, status, enabled_at, disabled_at,
 * identity_suffices, locked
 */
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
 * dyn_stream_progress(): reached, reached_at, trouble, error, failed_at.  What a collector has read
 * and found nothing in is not noted each time, but it is no lag.
 */
PG_FUNCTION_INFO_V1(dyn_stream_progress);
Datum
dyn_stream_progress(PG_FUNCTION_ARGS)
{
	StreamProgress progress;
	bool works = stream_collector_progress(&progress, false);
	bool failed = progress.failed_at != 0;

	/* the error may have what users have written */
	return sql_row(
		fcinfo,
		SQL_VALUES(SQL_NULLABLE(PG_LSNOID, LSNGetDatum(progress.reached), !works),
				   SQL_NULLABLE(TIMESTAMPTZOID, TimestampTzGetDatum(progress.reached_at), !works),
				   SQL_TEXT(progress.waits   ? STREAM_WAITS
							: progress.fails ? STREAM_FAILS
											 : NULL),
				   SQL_TEXT(failed && rights_of_monitor() ? progress.error : NULL),
				   SQL_NULLABLE(TIMESTAMPTZOID, TimestampTzGetDatum(progress.failed_at), !failed)));
}
