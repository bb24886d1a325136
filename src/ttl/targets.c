/*
 * targets.c
 *	  The tables and shards that this node sweeps.
 */
#include "postgres.h"

#include "ground/citus.h"
#include "ttl/ttl.h"

static List *
append_target(List *targets, Oid relid, const DynLocalShard *shard)
{
	TtlTarget *target = palloc(sizeof(TtlTarget));

	*target = (TtlTarget){relid, shard};
	return lappend(targets, target);
}

/*
 * What there is to sweep of tables (TtlTarget *), in the current memory context: those that Citus
 * does not distribute, and the shards on this node of the others.  The caller has an active
 * snapshot.
 */
List *
ttl_targets(List *tables)
{
	List *targets = NIL;
	List *distributed = NIL;
	ListCell *cell;

	foreach (cell, tables)
	{
		Oid relid = lfirst_oid(cell);

		if (citus_kind(relid) == CITUS_DISTRIBUTED)
			distributed = lappend_oid(distributed, relid);
		else
			targets = append_target(targets, relid, NULL);
	}
	foreach (cell, dyn_local_shards(distributed))
	{
		const DynLocalShard *shard = lfirst(cell);

		targets = append_target(targets, shard->relid, shard);
	}
	return targets;
}
