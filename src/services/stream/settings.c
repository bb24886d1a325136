/*
 * settings.c
 *	  Settings of change streams.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "services/stream/stream.h"

bool dyn_stream_collector;
int dyn_stream_poll_interval;
int dyn_stream_retention;
int dyn_stream_shards;

/* Defines the settings of change streams.  To be called once, when the library is loaded. */
void
dyn_stream_init(void)
{
	DefineCustomBoolVariable("dynamo_table.stream_collector",
							 "Sets whether background workers collect changes of items.",
							 "They run only if the library is in shared_preload_libraries.",
							 &dyn_stream_collector, true, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"dynamo_table.stream_poll_interval",
		"Sets the longest time between two looks of a collector at an idle WAL.", NULL,
		&dyn_stream_poll_interval, 100, 1, 60 * 1000, PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("dynamo_table.stream_retention",
							"Sets how long records of streams are kept at least.", NULL,
							&dyn_stream_retention, 24 * 60 * 60, 1, 10 * 365 * 24 * 60 * 60,
							PGC_SIGHUP, GUC_UNIT_S, NULL, NULL, NULL);
	DefineCustomIntVariable("dynamo_table.stream_shards",
							"Sets how many shards a stream gets that is enabled.",
							"Items of one partition key are in one shard.", &dyn_stream_shards, 4,
							1, DYN_MAX_SHARDS, PGC_USERSET, 0, NULL, NULL, NULL);
}
