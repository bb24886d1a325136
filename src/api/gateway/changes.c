/*
 * changes.c
 *	  dynamo_internal.gateway_changes(): whether a gateway's map of shards is still that of the catalogs.
 *
 * Citus sends invalidations of relations for each change of shards, of where they are, and of
 * nodes.  To count those that a session receives costs nothing, while to compare catalogs would
 * cost more the more shards there are.
 */
#include "postgres.h"

#include "utils/inval.h"

#include "api/gateway/gateway.h"
#include "server/invalidate.h"

static int64 changes = 0;

static void
count_change(Oid relid)
{
	changes++;
}

PG_FUNCTION_INFO_V1(dyn_gateway_changes);
Datum
dyn_gateway_changes(PG_FUNCTION_ARGS)
{
	static Subscriber subscriber = {
		.relation_changed = count_change, .schemas = true, .roles = true};

	invalidation_subscribe(&subscriber);
	AcceptInvalidationMessages();
	PG_RETURN_INT64(changes);
}
