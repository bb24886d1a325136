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

void
gsi_execute(const char *sql)
{
	MemoryContext context = CurrentMemoryContext;
	int result = SPI_execute(sql, false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	MemoryContextSwitchTo(context);
}

/* A trigger that is replaced fires as a new one does, until it is told otherwise. */
void
gsi_write_trigger(const DynShape *shape)
{
	gsi_execute(dyn_shape_trigger_sql(shape, true));
	gsi_execute(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", shape->qualified,
						 quote_identifier(DYN_DERIVE_TRIGGER)));
}

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
	gsi_execute(psprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", table->qualified,
						 quote_identifier(DYN_KEYS_CONSTRAINT)));
}

/* The constraint's condition, for use in a query. */
const char *
gsi_match_expression(const DynShape *shape)
{
	return strstr(dyn_shape_constraint_sql(shape), "CHECK ") + strlen("CHECK ");
}
