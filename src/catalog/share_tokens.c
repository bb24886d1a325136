/*
 * share_tokens.c
 *	  Distributing the table of tokens that all nodes of Citus share.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/guc.h"

#include "catalog/distribute.h"
#include "catalog/shape.h"
#include "server/citus.h"
#include "server/work/owned.h"

#define TOKEN_TABLE "shared_tokens"

/* All roles share the table, so the session of the one that makes it has no say in how it is. */
#define TOKEN_SHARDS "32"

/* Distributes the table, unless it is; whoever is the second to do so waits here. */
void
dyn_share_tokens(void)
{
	Oid relid = owned_table(TOKEN_TABLE);
	int nest;

	LockRelationOid(relid, ShareUpdateExclusiveLock);
	if (citus_kind(relid) != CITUS_NONE)
		return;
	SPI_connect();
	nest = NewGUCNestLevel();
	(void) set_config_option("citus.shard_replication_factor", "1", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) owned_execute(TOKEN_TABLE,
						 "SELECT pg_catalog.create_distributed_table('" DYN_INTERNAL "." TOKEN_TABLE
						 "', 'bucket', colocate_with => 'none', shard_count => " TOKEN_SHARDS ")",
						 0, NULL);
	AtEOXact_GUC(true, nest);
	SPI_finish();
}
