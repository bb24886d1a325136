/*
 * entries_guard.c
 *	  What keeps others from writing to a table that has indexes which are distributed by their own key,
 *	  or vector indexes.
 *
 * The store keeps the entries of such indexes, and no trigger does: Citus has none on distributed
 * tables.  So a statement that writes to a shard is refused unless it is the store's, which calls
 * dynamo_internal.entries_kept() for the rows that it returns.  The call also writes the entries of
 * vector indexes, in the shard beside.  A hook refuses statements when they begin, another one
 * refuses TRUNCATE, and the constraint that guards shards refuses rows that come by COPY.  A shard
 * that Citus is copying is not in its catalogs yet, so it is not guarded.
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
#include "catalog/vector.h"
#include "server/citus.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/object_access.h"

static ExecutorStart_hook_type next_start = NULL;

/* This is a statement of the store that writes to a shard, as long as it is there. */
typedef struct KeptStatement
{
	MemoryContextCallback callback;
	struct KeptStatement *outer; /* that had begun before */
	MemoryContext context;
	Oid relid;
	const FuncExpr *call; /* for what it has written */
	bool deletes;
} KeptStatement;

static KeptStatement *kept_statements = NULL;

/* Returns whether a check of a row is one of the store's statements. */
static bool
is_kept(const FmgrInfo *flinfo)
{
	const KeptStatement *statement = kept_statements;

	while (statement != NULL && statement->context != flinfo->fn_mcxt)
		statement = statement->outer;
	return statement != NULL;
}

/* Returns the statement whose call for what it has written this is; NULL: it is some other call. */
static const KeptStatement *
statement_of(const FmgrInfo *flinfo)
{
	const KeptStatement *statement = kept_statements;

	while (statement != NULL && (statement->context != flinfo->fn_mcxt ||
								 (const Node *) statement->call != flinfo->fn_expr))
		statement = statement->outer;
	return statement;
}

/* Returns the column of the relation that is written, which a call is for; NULL if it is for something else. */
static const Var *
column_of(const FuncExpr *call)
{
	const Node *item = linitial(call->args);

	/* it may have a domain */
	while (IsA(item, RelabelType))
		item = (const Node *) ((const RelabelType *) item)->arg;
	return IsA(item, Var) && !IS_SPECIAL_VARNO(((const Var *) item)->varno) ? (const Var *) item
																			: NULL;
}

/* Writes what vector indexes have of an item. */
static void
write_vectors(const KeptStatement *statement, AttrNumber attnum, const DynItem *item)
{
	Relation rel = relation_open(statement->relid, NoLock);
	const DynTable *table = dyn_schema_shard(rel);
	DynKeyValues key;

	if (table != NULL && table->nvectors > 0 && table->item_attnum == attnum)
	{
		dyn_key_of_item(table, item, &key);
		dyn_vectors_write(rel, table, &key, statement->deletes ? NULL : item);
	}
	relation_close(rel, NoLock);
}

/* entries_kept(item) returns true; statements of the store that write call it for their items. */
PG_FUNCTION_INFO_V1(dyn_entries_kept);
Datum
dyn_entries_kept(PG_FUNCTION_ARGS)
{
	const KeptStatement *statement = statement_of(fcinfo->flinfo);

	if (statement != NULL)
		write_vectors(statement, column_of(statement->call)->varattno, PG_GETARG_DYN_ITEM(0));
	PG_RETURN_BOOL(true);
}

/* Returns what such a statement has behind "RETURNING", or a comma; nothing where none is wanted. */
const char *
dyn_entries_mark(const DynTable *table, const char *before)
{
	return dyn_is_guarded(table)
			   ? psprintf("%s " DYN_INTERNAL ".entries_kept(%s)", before, DYN_ITEM_COLUMN)
			   : "";
}

/* Returns its call for the items of the relation that is written, whatever becomes of them; or NULL. */
static const FuncExpr *
find_call(const ModifyTable *write, Index relation, AttrNumber attnum)
{
	ListCell *list;
	ListCell *cell;

	foreach (list, write->returningLists)
	{
		foreach (cell, (List *) lfirst(list))
		{
			const FuncExpr *call = (const FuncExpr *) lfirst_node(TargetEntry, cell)->expr;
			const Var *column;
			FmgrInfo flinfo;

			if (!IsA(call, FuncExpr))
				continue;
			fmgr_info(call->funcid, &flinfo);
			column = flinfo.fn_addr == dyn_entries_kept ? column_of(call) : NULL;
			if (column != NULL && column->varno == (int) relation && column->varattno == attnum &&
				returns_default(column))
				return call;
		}
	}
	return NULL;
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
	guarded = table != NULL && dyn_is_guarded(table);
	relation_close(rel, NoLock);
	return guarded;
}

pg_noreturn static void
fail_write(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" can be written by calls and requests only", get_rel_name(relid)),
			 errdetail("It has an index that is distributed by its key, or a vector index, which "
					   "plain SQL would not change.")));
}

static void
forget_statement(void *arg)
{
	KeptStatement **at = &kept_statements;

	while (*at != NULL && *at != arg)
		at = &(*at)->outer;
	if (*at != NULL)
		*at = (*at)->outer;
}

/* Remembers a statement of the store. */
static void
remember_statement(MemoryContext context, Oid relid, const FuncExpr *call, bool deletes)
{
	KeptStatement *statement = MemoryContextAllocZero(context, sizeof(KeptStatement));

	*statement = (KeptStatement){
		{forget_statement, statement}, kept_statements, context, relid, call, deletes};
	MemoryContextRegisterResetCallback(context, &statement->callback);
	kept_statements = statement;
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
		Index relation = lfirst_int(cell);
		Oid relid = rt_fetch(relation, query->plannedstmt->rtable)->relid;
		const FuncExpr *call;

		if (!OidIsValid(citus_shard_range(relid, NULL)) || !is_guarded(relid))
			continue;
		call = find_call(write, relation, get_attnum(relid, DYN_ITEM_COLUMN));
		/* MERGE may delete some and write others */
		if (call == NULL || write->operation == CMD_MERGE)
			fail_write(relid);
		remember_statement(query->estate->es_query_cxt, relid, call,
						   write->operation == CMD_DELETE);
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
 * Raises an error if a shard to which a row is to be written is guarded, and the statement is not
 * the store's.  The function is that of a check of the row.
 */
void
dyn_entries_forbid_write(Oid relid, const FmgrInfo *flinfo)
{
	if (!is_kept(flinfo) && is_guarded(relid))
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
