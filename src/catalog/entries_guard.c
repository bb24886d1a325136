/*
 * entries_guard.c
 *	  What keeps others from writing to a table that has indexes which are distributed by their own key.
 *
 * The store keeps the entries of such indexes, and no trigger does: Citus has none on distributed
 * tables.  So a statement that writes to a shard is refused unless it is the store's, which calls
 * dynamo_internal.entries_kept() for the rows that it returns.  Deletions are refused when the statement
 * begins, by a hook; other rows, which may come by COPY, by the constraint that guards shards.  Citus'
 * own copies of shards are not in its catalogs yet, so that nothing speaks against them.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "catalog/entries.h"
#include "server/citus.h"
#include "server/errors.h"
#include "server/object_access.h"

static ExecutorStart_hook_type next_start = NULL;

/* This is the memory of the last statement of the store that has begun, as long as it is there. */
static MemoryContext kept_statement = NULL;

/* entries_kept(item) returns true; statements of the store that write call it. */
PG_FUNCTION_INFO_V1(dyn_entries_kept);
Datum
dyn_entries_kept(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(true);
}

/* Returns what such a statement has behind "RETURNING", or a comma; nothing where none is wanted. */
const char *
dyn_entries_mark(const DynTable *table, const char *before)
{
	return dyn_has_entries(table)
			   ? psprintf("%s " DYN_INTERNAL ".entries_kept(%s)", before, DYN_ITEM_COLUMN)
			   : "";
}

static bool
is_call(Oid function, void *arg)
{
	FmgrInfo flinfo;

	fmgr_info(function, &flinfo);
	return flinfo.fn_addr == dyn_entries_kept;
}

static bool
has_call(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	return check_functions_in_node(node, is_call, arg) ||
		   expression_tree_walker(node, has_call, arg);
}

/* Returns whether a distributed table, or a shard on this node, has such indexes. */
static bool
is_guarded(Oid relid)
{
	bool guarded = false;
	const DynTable *table;
	Relation rel = try_relation_open(relid, AccessShareLock);

	if (rel == NULL)
		return false;
	table = dyn_schema_any(rel);
	guarded = table != NULL && dyn_has_entries(table);
	relation_close(rel, NoLock);
	return guarded;
}

pg_noreturn static void
fail_write(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" can be written by calls and requests only", get_rel_name(relid)),
			 errdetail("It has an index that is distributed by its key, which plain SQL would not "
					   "change.")));
}

static void
forget_statement(void *arg)
{
	if (kept_statement == arg)
		kept_statement = NULL;
}

/* Remembers a statement of the store. */
static void
remember_statement(MemoryContext context)
{
	MemoryContextCallback *callback =
		MemoryContextAllocZero(context, sizeof(MemoryContextCallback));

	callback->func = forget_statement;
	callback->arg = context;
	MemoryContextRegisterResetCallback(context, callback);
	kept_statement = context;
}

/* Refuses a part of a statement that writes to shards, and is not the store's. */
static void
check_write(QueryDesc *query, const Plan *plan)
{
	const ModifyTable *write = (const ModifyTable *) plan;
	ListCell *cell;

	if (plan == NULL || !IsA(plan, ModifyTable))
		return;
	foreach (cell, write->resultRelations)
	{
		Oid relid = rt_fetch(lfirst_int(cell), query->plannedstmt->rtable)->relid;

		if (!OidIsValid(citus_shard_range(relid, NULL)) || !is_guarded(relid))
			continue;
		if (!has_call((Node *) write->returningLists, NULL))
			fail_write(relid);
		remember_statement(query->estate->es_query_cxt);
	}
}

static void
check_statement(QueryDesc *query, int flags)
{
	ListCell *cell;

	if (next_start != NULL)
		next_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
	if (query->operation == CMD_SELECT && !query->plannedstmt->hasModifyingCTE)
		return;
	check_write(query, query->plannedstmt->planTree);
	foreach (cell, query->plannedstmt->subplans)
		check_write(query, lfirst(cell));
}

/*
 * Raises an error if a shard to which a row is to be written is guarded, and the statement is not the
 * store's.  The function is that of a check of the row.
 */
void
dyn_entries_forbid_write(Oid relid, const FmgrInfo *flinfo)
{
	if (flinfo->fn_mcxt != kept_statement && is_guarded(relid))
		fail_write(relid);
}

/* Refuses TRUNCATE. */
static void
check_access(ObjectAccessType access, Oid class, Oid object, int part)
{
	if (access != OAT_TRUNCATE || class != RelationRelationId ||
		(citus_kind(object) != CITUS_DISTRIBUTED && !OidIsValid(citus_shard_range(object, NULL))))
		return;
	if (is_guarded(object))
		fail_write(object);
}

/* Called once by _PG_init(). */
void
dyn_entries_guard_init(void)
{
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = check_statement;
	object_access_subscribe(check_access);
}
