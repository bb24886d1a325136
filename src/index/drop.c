/*
 * drop.c
 *	  dyn_drop_index(): a global secondary index goes, from a table that is in use.
 *
 * In the opposite order of its making: it is no longer read, then the btree goes, then what the
 * table has for it.  A part of an index can be dropped as well.  Views of entities that can do without
 * its columns do so from then on.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "ground/errors.h"
#include "index/index.h"

static const GsiDependents *dependents; /* NULL: none are known */

/* Sets what is known of views.  Called once, by the layer that makes them. */
void
gsi_set_dependents(const GsiDependents *known)
{
	dependents = known;
}

static void
check_droppable(const GsiWork *work, const DynIndexSpec *spec)
{
	if (spec == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
				 errmsg("table \"%s\" has no index \"%s\"", work->procedure.table, work->index)));
	if (spec->local)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("local index \"%s\" of table \"%s\" cannot be dropped", work->index,
							   work->procedure.table),
						errdetail("A local index goes with its table.")));
}

/* It is no longer to be read. */
void
gsi_disown_index(GsiWork *work)
{
	DynTable *table;
	Relation rel = gsi_open_briefly(work, ShareRowExclusiveLock, &table);
	DynShape *shape = dyn_shape_of(rel, table);
	DynIndexStatus *status = gsi_status(work, shape);

	gsi_progress(work, GSI_DROP);
	relation_close(rel, NoLock);
	if (status == NULL)
		gsi_fail_dropped(work);
	*status = DYN_INDEX_DELETING;
	dyn_shape_write_trigger(shape);
}

/* The names of columns of the old shape that the new one has no use for. */
static List *
dropped_columns(List *old, List *new)
{
	List *names = NIL;
	ListCell *a;
	ListCell *b;

	foreach (a, old)
	{
		const DynShapeColumn *column = lfirst(a);
		bool used = false;

		foreach (b, new)
			used |= strcmp(((DynShapeColumn *) lfirst(b))->column, column->column) == 0;
		if (!used)
			names = lappend(names, (void *) column->column);
	}
	return names;
}

/* Removes it from the shape.  Returns the names of the columns that go with it. */
static List *
forget(const GsiWork *work, DynShape *shape)
{
	List *columns = dyn_shape_columns(shape);

	gsi_forget(work, shape);
	return dropped_columns(columns, dyn_shape_columns(shape));
}

/* Raises an error if views that use the index are not the current user's to change. */
void
gsi_check_dependents(const GsiWork *work, Relation rel, const DynTable *table)
{
	if (dependents != NULL)
		dependents->release(RelationGetRelid(rel), forget(work, dyn_shape_of(rel, table)), false);
}

/*
 * Remove the index from the table's definition, in a transaction that has locked the table so that
 * no other session uses it.  Closes the relation.  Returns whether the constraint can be expected
 * to hold for all rows.
 */
bool
gsi_forget_index(const GsiWork *work, Relation rel, const DynTable *table, bool validate)
{
	DynShape *shape = dyn_shape_of(rel, table);
	List *columns = forget(work, shape);
	Oid relid = RelationGetRelid(rel);
	bool distributed = table->distributed;
	List *commands = gsi_constraint_commands(shape, validate);
	ListCell *cell;

	relation_close(rel, NoLock);
	if (dependents != NULL)
		dependents->release(relid, columns, true);
	foreach (cell, columns)
		commands =
			lappend(commands, psprintf("DROP COLUMN IF EXISTS %s", quote_identifier(lfirst(cell))));
	/* first the trigger: the schema names no column that is not there */
	dyn_shape_write_trigger(shape);
	gsi_alter(shape, distributed, commands);
	return dyn_shape_is_filled(shape);
}

/*
 * Does the rest for an index that was removed from the definition.  If another index is unfinished,
 * the constraint is validated by the procedure that finishes that one.
 */
void
gsi_remove_index(GsiWork *work)
{
	DynTable *table;
	Relation rel;

	gsi_drop_btree(work);
	work->procedure.also = dependents == NULL ? NULL : dependents->find;
	rel = gsi_open_briefly(work, AccessExclusiveLock, &table);
	work->procedure.also = NULL;
	if (gsi_forget_index(work, rel, table, false))
		gsi_validate(work);
}

static void
drop(GsiWork *work, FunctionCallInfo fcinfo, Relation rel, DynTable *table)
{
	check_droppable(work, dyn_shape_index(dyn_shape_of(rel, table), work->name));
	gsi_check_dependents(work, rel, table);
	relation_close(rel, NoLock);
	gsi_disown_index(work);
	gsi_remove_index(work);
}

PG_FUNCTION_INFO_V1(dyn_drop_index);
Datum
dyn_drop_index(PG_FUNCTION_ARGS)
{
	GsiWork *work = palloc0(sizeof(GsiWork));

	work->procedure.name = "dyn_drop_index";
	gsi_run(work, fcinfo, false, drop);
	PG_RETURN_VOID();
}
