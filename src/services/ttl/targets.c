/*
 * targets.c
 *	  The tables and shards that this node sweeps.
 */
#include "postgres.h"

#include "server/citus.h"
#include "services/ttl/ttl.h"

static List *
append_target(List *targets, Oid relid, const DynLocalShard *shard)
{
	TtlTarget *target = palloc(sizeof(TtlTarget));

	*target = (TtlTarget){relid, shard};
	return lappend(targets, target);
}

/*
 * Returns what there is to sweep of tables (TtlTarget *), in the current memory context: those that
 * Citus does not distribute, and the shards on this node of the others.  The caller has an active
 * snapshot.
 */
List *
ttl_targets(List *tables)
{
	List *targets = NIL;
	ListCell *cell;

	foreach (cell, tables)
	{
		if (citus_kind(lfirst_oid(cell)) != CITUS_DISTRIBUTED)
			targets = append_target(targets, lfirst_oid(cell), NULL);
	}
	foreach (cell, dyn_local_shards(tables))
	{
		const DynLocalShard *shard = lfirst(cell);

		targets = append_target(targets, shard->relid, shard);
	}
	return targets;
}
