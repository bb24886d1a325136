/*
 * create.c
 *	  dyn_create_index(): a global secondary index on a table that is in use.
 *
 * First the index is declared, under a lock that keeps all others out for a moment: from then on
 * every write derives its columns, whatever its snapshot.  So there is a fixed set of rows that
 * lack them, which are updated in batches.  The constraint is the proof that none was missed.
 * Then the btree is built, and only then is the index active.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/entries.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"
#include "services/index/index.h"

/*
 * Arguments
 */

static int
get_spans(Datum array, const char *what, ItemSpan **spans)
{
	Datum *elements;
	bool *nulls;
	int n;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &elements,
					  &nulls, &n);
	*spans = palloc(n * sizeof(ItemSpan));
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION), errmsg("%s must not contain null", what)));
		(*spans)[i].data = TextDatumGetCString(elements[i]);
		(*spans)[i].len = strlen((*spans)[i].data);
	}
	return n;
}

/* Reads a partition or sort key: one attribute, or an array of them. */
static int
get_key(FunctionCallInfo fcinfo, int i, const char *what, ItemSpan *keys)
{
	ItemSpan *spans;
	int n = 1;

	if (PG_ARGISNULL(i))
		return 0;
	if (get_fn_expr_argtype(fcinfo->flinfo, i) == TEXTARRAYOID)
		n = get_spans(PG_GETARG_DATUM(i), what, &spans);
	else
	{
		char *key = text_to_cstring(PG_GETARG_TEXT_PP(i));

		spans = palloc(sizeof(ItemSpan));
		*spans = item_span(key);
	}
	if (n > DYN_MAX_KEY_PART)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a %s has at most %d attributes", what, DYN_MAX_KEY_PART)));
	memcpy(keys, spans, n * sizeof(ItemSpan));
	return n;
}

static DynIndexSpec *
parse_definition(FunctionCallInfo fcinfo, const IndexBuild *work)
{
	DynIndexSpec *spec = palloc0(sizeof(DynIndexSpec));

	spec->name = work->name;
	spec->npartition = get_key(fcinfo, 2, "partition key", spec->keys);
	spec->nkeys = spec->npartition + get_key(fcinfo, 3, "sort key", spec->keys + spec->npartition);
	if (!PG_ARGISNULL(4))
		spec->projection = (DynProjection) option_choice(
			"projection", text_span(PG_GETARG_TEXT_PP(4)), dyn_projection_names);
	if (!PG_ARGISNULL(5))
		spec->nincluded = get_spans(PG_GETARG_DATUM(5), "non_key_attributes", &spec->included);
	spec->covering = !PG_ARGISNULL(6) && PG_GETARG_BOOL(6);
	if (!PG_ARGISNULL(8))
		spec->distribution = (DynIndexDistribution) option_choice(
			"distribution", text_span(PG_GETARG_TEXT_PP(8)), dyn_distribution_names);
	dyn_index_spec_check(spec);
	return spec;
}

/* The index as it exists, and as it is declared */

static void
fail_local(const IndexBuild *work, const DynShape *shape, const DynIndexSpec *spec)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_DYN_RESOURCE_IN_USE),
		 errmsg("table \"%s\" has a local index \"%s\"", work->procedure.table, work->index),
		 errdetail("A local index is made with its table, and goes with it."),
		 errhint("If its btree was dropped, create that again: %s",
				 dyn_shape_index_sql(
					 shape, spec, psprintf("%s_%s", work->procedure.table, work->index), true))));
}

/* Checks that an index of that name is an unfinished part of this one. */
static void
check_existing(const IndexBuild *work, const DynTable *table, const DynShape *shape,
			   const DynIndexSpec *existing, const DynIndexSpec *spec)
{
	if (existing->local)
		fail_local(work, shape, existing);
	if (dyn_find_index(table, spec->name)->status == DYN_INDEX_ACTIVE)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("index \"%s\" of table \"%s\" already exists", work->index,
							   work->procedure.table)));
	if (!dyn_index_spec_equal(existing, spec))
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("a part of an index \"%s\" of table \"%s\" with another definition "
							   "is there",
							   work->index, work->procedure.table),
						errdetail("It is defined as %s.", dyn_index_spec_print(existing)),
						errhint("Call dyn_drop_index to remove it.")));
}

/* Returns the table's shape with the index in the making. */
static DynShape *
shape_with(const IndexBuild *work, Relation rel, const DynTable *table, const DynIndexSpec *spec)
{
	DynShape *shape = dyn_shape_of(rel, table);
	DynIndexSpec *existing = dyn_shape_index(shape, spec->name);

	if (dyn_find_vector(table, spec->name) != NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("table \"%s\" has a vector index \"%s\" already",
							   work->procedure.table, work->index)));
	if (existing != NULL)
	{
		check_existing(work, table, shape, existing, spec);
		existing->status = DYN_INDEX_CREATING;
		return shape;
	}
	existing = palloc(sizeof(DynIndexSpec));
	*existing = *spec;
	existing->status = DYN_INDEX_CREATING;
	shape->indexes = lappend(shape->indexes, existing);
	dyn_shape_check(shape);
	if (!table->distributed)
		dyn_entries_forbid(shape);
	return shape;
}

/*
 * Steps
 */

static void
declare_index(IndexBuild *work, const DynIndexSpec *spec)
{
	DynTable *table;
	Relation rel = index_build_open_briefly(work, AccessExclusiveLock, &table);

	index_build_progress(work, INDEX_BUILD_DECLARE);
	index_build_declare_index(work, rel, table, spec);
}

/* Declares what state an index is in: that it can be read, or no longer. */
void
index_build_declare_status(IndexBuild *work, IndexBuildPhase phase, DynIndexStatus to)
{
	DynTable *table;
	Relation rel = index_build_open_briefly(work, ShareRowExclusiveLock, &table);
	DynShape *shape = dyn_shape_of(rel, table);
	DynIndexStatus *status = index_build_status(work, shape);

	index_build_progress(work, phase);
	relation_close(rel, NoLock);
	if (status == NULL)
		index_build_fail_dropped(work);
	*status = to;
	dyn_shape_write_trigger(shape);
}

/*
 * Declares an index in the caller's transaction, which has locked the table so that no other session
 * uses it, and has connected to SPI.  Closes the relation.
 */
void
index_build_declare_index(IndexBuild *work, Relation rel, const DynTable *table,
						  const DynIndexSpec *spec)
{
	DynShape *shape = shape_with(work, rel, table, spec);
	const DynIndex *existing = dyn_find_index(table, spec->name);
	DynIndexSpec *declared = dyn_shape_index(shape, spec->name);

	if (declared->distribution == DYN_DISTRIBUTE_KEY)
		dyn_entries_create(shape, declared,
						   existing != NULL && existing->status == DYN_INDEX_CREATING);
	index_build_declare(rel, table, shape, false);
}

/*
 * Fills in what an index lacks.  A worker that runs statements by itself comes here again after each.  It
 * keeps others away from the table for as long as it lives, so what it has filled in stays so.
 */
void
index_build_fill_once(IndexBuild *work, void (*fill)(IndexBuild *work))
{
	static char *filled = NULL;

	if (statement_runs_here() && filled != NULL && strcmp(filled, work->procedure.what) == 0)
		return;
	fill(work);
	if (filled != NULL)
		pfree(filled);
	filled = MemoryContextStrdup(TopMemoryContext, work->procedure.what);
}

static void
fill_columns(IndexBuild *work)
{
	index_build_backfill(work);
	index_build_validate(work);
}

/* Tells that a call with if_not_exists has nothing to do. */
void
index_build_tell_exists(const IndexBuild *work)
{
	ereport(NOTICE, (errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("index \"%s\" of table \"%s\" already exists, skipping", work->index,
							work->procedure.table)));
}

/*
 * Has the other nodes of a distributed table sweep it, too; the caller's transaction has just begun, so
 * that they see time to live.  One that cannot be told finds it by itself.
 */
static void
wake_nodes(const IndexBuild *work)
{
	if (work->ttl && work->distributed)
		sql_execute("SELECT FROM pg_catalog.run_command_on_all_nodes("
					"'SELECT " DYN_INTERNAL ".wake_sweepers()')",
					false, 0, 0, NULL);
}

/* Does the rest for an index that is declared. */
void
index_build_make(IndexBuild *work)
{
	index_build_fill_once(work, fill_columns);
	index_build_btree(work);
	index_build_declare_status(work, INDEX_BUILD_ACTIVATE, DYN_INDEX_ACTIVE);
	/* a sweep may begin */
	if (work->ttl)
		launcher_wake();
	procedure_next_transaction(&work->procedure);
	wake_nodes(work);
	ereport(NOTICE,
			(errmsg("%s of table \"%s\" is active", work->procedure.what, work->procedure.table),
			 errdetail("Items filled in: %lld. Items with key attributes that are left out: %lld.",
					   (long long) work->items, (long long) work->left_out),
			 work->left_out == 0 || work->ttl
				 ? 0
				 : errhint("Call dyn_index_violations for a list of them.")));
}

/* Returns, for a call with if_not_exists, whether there is such an index already, in use. */
static bool
is_there(const IndexBuild *work, Relation rel, const DynTable *table, const DynIndexSpec *spec)
{
	const DynIndexSpec *existing = dyn_shape_index(dyn_shape_of(rel, table), spec->name);

	if (existing == NULL || dyn_find_index(table, spec->name)->status != DYN_INDEX_ACTIVE)
		return false;
	if (!dyn_index_spec_equal(existing, spec))
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("index \"%s\" of table \"%s\" already exists, and is another one",
							   work->index, work->procedure.table),
						errdetail("It is defined as %s.", dyn_index_spec_print(existing))));
	index_build_tell_exists(work);
	return true;
}

static void
index_build_create(IndexBuild *work, FunctionCallInfo fcinfo, Relation rel, DynTable *table)
{
	DynIndexSpec *spec;

	index_build_check_row_security(work);
	spec = parse_definition(fcinfo, work);
	if (argument_flag(fcinfo, 7, false) && is_there(work, rel, table, spec))
	{
		relation_close(rel, NoLock);
		return;
	}
	index_build_declaration(rel, table, shape_with(work, rel, table, spec));
	relation_close(rel, NoLock);
	declare_index(work, spec);
	index_build_make(work);
}

PG_FUNCTION_INFO_V1(dyn_create_index);
Datum
dyn_create_index(PG_FUNCTION_ARGS)
{
	IndexBuild *work = palloc0(sizeof(IndexBuild));

	work->procedure.name = "dyn_create_index";
	index_build_run(work, fcinfo, false, index_build_create);
	PG_RETURN_VOID();
}

/* Creates an index with keys of several attributes. */
PG_FUNCTION_INFO_V1(dyn_create_index_multi);
Datum
dyn_create_index_multi(PG_FUNCTION_ARGS)
{
	return dyn_create_index(fcinfo);
}
