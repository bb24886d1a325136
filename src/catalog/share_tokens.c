/*
 * share_tokens.c
 *	  Distributing the table of tokens that all nodes of Citus share.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "storage/lmgr.h"

#include "catalog/distribute.h"
#include "catalog/shape.h"
#include "server/citus.h"
#include "server/work/owned.h"

#define TOKEN_TABLE "shared_tokens"

/* Distributes the table, unless it is; whoever is the second to do so waits here. */
void
dyn_share_tokens(void)
{
	Oid relid = owned_table(TOKEN_TABLE);

	LockRelationOid(relid, ShareUpdateExclusiveLock);
	if (citus_kind(relid) != CITUS_NONE)
		return;
	SPI_connect();
	(void) owned_execute(TOKEN_TABLE,
						 "SELECT pg_catalog.create_distributed_table('" DYN_INTERNAL "." TOKEN_TABLE
						 "', 'bucket', colocate_with => 'none')",
						 0, NULL);
	SPI_finish();
}
