/*
 * resource.c
 *	  Finds and locks the tables that calls name, and changes their settings.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/rel.h"

#include "catalog/definition/arn.h"
#include "catalog/lookup.h"
#include "catalog/resource.h"
#include "catalog/rights.h"
#include "server/errors.h"
#include "server/name.h"
#include "server/work/brief_lock.h"
#include "server/work/procedure.h"

pg_noreturn static void
fail_not_found(ItemSpan given)
{
	ItemSpan name = dyn_table_name(given);

	dyn_check_request_name("table", name);
	ereport(ERROR,
			(errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
			 errmsg("table \"%.*s\" does not exist", (int) name.len, name.data),
			 errwords(DYN_NOT_FOUND_WORDS ": Table: %.*s not found", (int) name.len, name.data)));
}

/* Opens a table under the lock of a reader, or raises ResourceNotFoundException. */
Relation
resource_open(ItemSpan name, DynTable **table)
{
	Relation rel = dyn_table_find(name, AccessShareLock, table);

	if (rel == NULL)
		fail_not_found(name);
	return rel;
}

/* Opens the table to describe it: members of pg_monitor may do so too. */
Relation
resource_open_state(ItemSpan name, DynTable **table)
{
	Relation rel = dyn_table_find_state(name, table);

	if (rel == NULL)
		fail_not_found(name);
	return rel;
}

/*
 * Opens a table to change what it is, which only its owner may, under a lock that keeps others from
 * doing so.  The lock is taken briefly, see server/work/brief_lock.h.
 */
Relation
resource_lock(ItemSpan name, LOCKMODE mode, DynTable **table)
{
	Relation rel = resource_open(name, table);
	Oid relid = RelationGetRelid(rel);

	rights_require_owner(rel);
	/* two sessions that both held it and then waited for a stronger lock would deadlock */
	relation_close(rel, AccessShareLock);
	brief_lock(relid, mode);
	rel = try_relation_open(relid, NoLock);
	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		fail_not_found(name);
	return rel;
}

/*
 * Raises ResourceInUseException if a procedure is working on indexes of the table.  No procedure
 * can begin until the transaction ends.  Only the table's owner may call it.
 */
void
resource_keep_procedures_away(ItemSpan name)
{
	DynTable *table;
	Relation rel = resource_open(name, &table);
	Oid relid = RelationGetRelid(rel);

	rights_require_owner(rel);
	relation_close(rel, AccessShareLock);
	if (!procedure_await_turn(relid, false))
		dyn_error(ERRCODE_DYN_RESOURCE_IN_USE,
				  "Attempt to change a resource which is still in use: Table is being updated: "
				  "%s",
				  table->name);
}

/*
 * Raises an error if the table is temporary: a background worker does the rest of a change, and
 * cannot open such a table.
 */
void
resource_require_permanent(Relation rel, const char *hint)
{
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a background worker cannot use temporary table \"%s\"",
							   RelationGetRelationName(rel)),
						errhint("%s", hint)));
}

/* Writes a new shape of a table that resource_lock() has opened, and closes the table. */
void
resource_write_shape(Relation rel, DynShape *shape)
{
	relation_close(rel, NoLock);
	SPI_connect();
	dyn_shape_write_trigger(shape);
	SPI_finish();
}
