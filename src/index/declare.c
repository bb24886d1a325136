/*
 * declare.c
 *	  The DDL that changes what a table of ours is: its columns, constraint and trigger.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "index/index.h"

/*
 * Commands of an ALTER TABLE that replace the constraint.  It holds for all rows to come at once;
 * whether the others obey it is found out later, without a lock in the way of writers.
 */
void
gsi_append_constraint(StringInfo sql, const DynShape *shape)
{
	appendStringInfo(sql, "DROP CONSTRAINT IF EXISTS %s, ADD %s NOT VALID",
					 quote_identifier(DYN_KEYS_CONSTRAINT), dyn_shape_constraint_sql(shape));
}

/* The proof that all rows have their columns. */
void
gsi_validate(GsiWork *work)
{
	DynTable *table;
	Relation rel = gsi_open(work, ShareUpdateExclusiveLock, &table);

	gsi_progress(work, GSI_VALIDATE);
	relation_close(rel, NoLock);
	dyn_execute(psprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", table->qualified,
						 quote_identifier(DYN_KEYS_CONSTRAINT)));
}
