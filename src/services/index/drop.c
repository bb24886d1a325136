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

#include "catalog/create.h"
#include "catalog/entries.h"
#include "catalog/extras.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "services/index/index.h"

static const IndexBuildDependents *dependents; /* NULL: none are known */

/* Sets what is known of views.  Called once, by the layer that makes them. */
void
index_build_set_dependents(const IndexBuildDependents *known)
{
	dependents = known;
}

static void
check_droppable(const IndexBuild *work, const DynTable *table, const DynIndexSpec *spec)
{
	if (spec == NULL)
		dyn_fail_no_index(table, work->name, ERRCODE_DYN_RESOURCE_NOT_FOUND, NULL);
	if (spec->local)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("local index \"%s\" of table \"%s\" cannot be dropped", work->index,
							   work->procedure.table),
						errdetail("A local index goes with its table.")));
}

/* Returns the names of columns of the old shape that the new one has no use for. */
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
drop_forget(const IndexBuild *work, DynShape *shape)
{
	List *columns = dyn_shape_columns(shape);

	index_build_forget(work, shape);
	return dropped_columns(columns, dyn_shape_columns(shape));
}

/*
 * Raises an error if something depends on the columns that go with the index, unless it is to be
 * dropped too.  Connected to SPI.
 */
void
index_build_check_dependents(const IndexBuild *work, Relation rel, const DynTable *table)
{
	List *columns = drop_forget(work, dyn_shape_of(rel, table));

	if (!work->cascade)
		dyn_dependents_refuse(
			rel, work->procedure.what, columns,
			dependents == NULL ? NIL : dependents->release(RelationGetRelid(rel), columns, false));
}

/* Returns whether all rows are known to match, which no command to Citus can be told. */
static bool
is_proven(Relation rel, const DynTable *table)
{
	return !table->distributed &&
		   (dyn_columns_are_valid(rel, table) || index_build_is_empty(rel, table));
}

/*
 * Removes the index from the table's definition, in a transaction that has locked the table so that
 * no other session uses it.  Closes the relation.  The constraint asks for less then, so it is valid
 * if it was; validated: it does so already.
 */
void
index_build_forget_index(const IndexBuild *work, Relation rel, const DynTable *table,
						 bool validated)
{
	DynShape *shape = dyn_shape_of(rel, table);
	const DynIndex *index = index_build_find(work, table);
	Oid entries = index->entries != NULL ? index->relid : InvalidOid;
	List *columns = drop_forget(work, shape);
	List *commands = validated ? NIL : index_build_constraint_commands(shape);
	Oid owner = rel->rd_rel->relowner;
	bool distributed = table->distributed;
	bool proven = is_proven(rel, table);
	ListCell *cell;

	relation_close(rel, NoLock);
	if (dependents != NULL)
		(void) dependents->release(shape->relid, columns, true);
	foreach (cell, columns)
		commands =
			lappend(commands, psprintf("DROP COLUMN IF EXISTS %s%s", quote_identifier(lfirst(cell)),
									   work->cascade ? " CASCADE" : ""));
	/* first the trigger: the schema names no column that is not there */
	dyn_shape_write_trigger(shape);
	index_build_alter(shape, distributed, commands, proven);
	dyn_entries_drop(entries, owner);
}

static Relation
open_to_forget(IndexBuild *work, DynTable **table)
{
	Relation rel;

	work->procedure.also = dependents == NULL ? NULL
						   : work->cascade    ? dependents->find_all
											  : dependents->find;
	rel = index_build_open_briefly(work, AccessExclusiveLock, table);
	work->procedure.also = NULL;
	index_build_progress(work, INDEX_BUILD_DROP);
	return rel;
}

/*
 * Has the constraint ask for what the other indexes need, and validates it, in transactions of its own;
 * closes the relation.  False: one of them is unfinished, and the procedure that finishes it does
 * so.
 */
static bool
validate_rest(IndexBuild *work, Relation rel, const DynTable *table)
{
	DynShape *shape = dyn_shape_of(rel, table);
	bool distributed = table->distributed;

	index_build_forget(work, shape);
	if (!dyn_shape_is_filled(shape))
		return false;
	relation_close(rel, NoLock);
	index_build_alter(shape, distributed, index_build_constraint_commands(shape), false);
	index_build_validate(work);
	return true;
}

/*
 * Does the rest for an index that is no longer read.  It is in the definition to the end, so that whoever
 * looks knows that something is left to do.
 */
void
index_build_remove_index(IndexBuild *work)
{
	bool validated = false;
	DynTable *table;
	Relation rel;

	index_build_drop_btree(work);
	rel = open_to_forget(work, &table);
	if (!is_proven(rel, table) && validate_rest(work, rel, table))
	{
		validated = true;
		rel = open_to_forget(work, &table);
	}
	index_build_forget_index(work, rel, table, validated);
}

static void
index_build_drop(IndexBuild *work, FunctionCallInfo fcinfo, Relation rel, DynTable *table)
{
	if (dyn_find_vector(table, work->name) != NULL)
	{
		index_build_drop_vector(work, rel, table);
		return;
	}
	check_droppable(work, table, dyn_shape_index(dyn_shape_of(rel, table), work->name));
	index_build_check_dependents(work, rel, table);
	relation_close(rel, NoLock);
	index_build_declare_status(work, INDEX_BUILD_DROP, DYN_INDEX_DELETING);
	index_build_remove_index(work);
}

PG_FUNCTION_INFO_V1(dyn_drop_index);
Datum
dyn_drop_index(PG_FUNCTION_ARGS)
{
	IndexBuild *work = palloc0(sizeof(IndexBuild));

	work->procedure.name = "dyn_drop_index";
	work->cascade = argument_flag(fcinfo, 2, false);
	index_build_run(work, fcinfo, false, index_build_drop);
	PG_RETURN_VOID();
}
