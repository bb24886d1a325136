/*
 * statement.c
 *	  What the executor would obey in a statement on a table of items.
 *
 * Follows nodeModifyTable.c for INSERT … ON CONFLICT DO UPDATE, UPDATE and DELETE, with the
 * executor state that core's apply worker makes for a change of one table
 * (create_edata_for_relation() in worker.c): triggers, column defaults, generated columns,
 * constraints, and indexes that are not the table's own.
 *
 * The table's own triggers and constraint hold by what the caller derives.  Where triggers of
 * others may rewrite a row, they are called too: derived columns, limits and enforcement are
 * settled on what these have made of it.
 *
 * Lock order: the table and its own indexes; then the indexes here; then rows.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteHandler.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "catalog/unchanged.h"
#include "store/statement.h"

/* This is the default of a column. */
typedef struct ColumnDefault
{
	AttrNumber attnum;
	bool overwritten; /* the column is derived */
	ExprState *expression;
} ColumnDefault;

struct StoreStatement
{
	const DynTable *table;
	Relation rel;
	CmdType operation;
	EState *estate; /* has what is allocated here, but the struct */
	ResultRelInfo *target;
	TransitionCaptureState *captured;
	TransitionCaptureState *captured_updates; /* of an INSERT */
	bool constraints_ready; /* their expressions */
	EPQState epq; /* that no trigger needs, since rows are locked before */
	int ndefaults;
	ColumnDefault *defaults; /* NULL: not looked for yet */
};

/* Returns whether a write of a table has more to obey than what is the table's own. */
bool
statement_needed(const DynTable *table, CmdType operation)
{
	return operation == CMD_DELETE ? table->extras.delete_triggers : table->extras.any;
}

/*
 * Executor state
 */

/* Lists the columns that the statements of the SPI store name. */
static void
set_written_columns(const DynTable *table, CmdType operation, Bitmapset **inserted,
					Bitmapset **updated)
{
	int item = table->item_attnum - FirstLowInvalidHeapAttributeNumber;

	if (operation == CMD_DELETE)
		return;
	*updated = bms_make_singleton(item);
	if (operation != CMD_INSERT)
		return;
	*inserted = bms_make_singleton(item);
	for (int i = 0; i < table->nkeys; i++)
		*inserted =
			bms_add_member(*inserted, table->keys[i].attnum - FirstLowInvalidHeapAttributeNumber);
}

static void
init_range_table(StoreStatement *s)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RELATION;
	rte->relid = RelationGetRelid(s->rel);
	rte->relkind = s->rel->rd_rel->relkind;
	rte->rellockmode = RowExclusiveLock;
#if PG16_GE
	{
		List *infos = NIL;
		RTEPermissionInfo *info = addRTEPermissionInfo(&infos, rte);

		set_written_columns(s->table, s->operation, &info->insertedCols, &info->updatedCols);
		init_range_table_of(s->estate, rte, infos);
	}
#else
	set_written_columns(s->table, s->operation, &rte->insertedCols, &rte->updatedCols);
	init_range_table_of(s->estate, rte, NIL);
#endif
}

/* Opens the indexes, whatever they are for: one that is not ready yet gets no entries. */
static void
open_indexes(StoreStatement *s)
{
	const DynExtras *extras = &s->table->extras;
	ResultRelInfo *target = s->target;

	if (s->operation == CMD_DELETE || extras->nindexes == 0)
		return;
	target->ri_IndexRelationDescs = palloc(extras->nindexes * sizeof(Relation));
	target->ri_IndexRelationInfo = palloc(extras->nindexes * sizeof(IndexInfo *));
	for (int i = 0; i < extras->nindexes; i++)
	{
		target->ri_IndexRelationDescs[i] = index_open(extras->indexes[i], RowExclusiveLock);
		target->ri_IndexRelationInfo[i] = BuildIndexInfo(target->ri_IndexRelationDescs[i]);
	}
	target->ri_NumIndices = extras->nindexes;
}

static bool
rewrites(const StoreStatement *s)
{
	return s->table->extras.before_insert || s->table->extras.before_update;
}

/*
 * Looks up trigger functions.  Triggers before rows are called in memory contexts that end with the
 * row.  What their functions keep from call to call is to live as long as the statement.
 */
static void
look_up_functions(StoreStatement *s)
{
	const TriggerDesc *triggers = s->target->ri_TrigDesc;

	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (TRIGGER_FOR_ROW(trigger->tgtype) && TRIGGER_FOR_BEFORE(trigger->tgtype))
			fmgr_info_cxt(trigger->tgfoid, &s->target->ri_TrigFunctions[i],
						  s->estate->es_query_cxt);
	}
}

static void
begin_triggers(StoreStatement *s)
{
	Oid relid = RelationGetRelid(s->rel);
	TriggerDesc *triggers = s->target->ri_TrigDesc;

	look_up_functions(s);
	AfterTriggerBeginQuery();
	s->captured = MakeTransitionCaptureState(triggers, relid, s->operation);
	if (s->operation == CMD_INSERT)
		s->captured_updates = MakeTransitionCaptureState(triggers, relid, CMD_UPDATE);
	if (s->operation == CMD_INSERT)
		ExecBSInsertTriggers(s->estate, s->target);
	if (s->operation == CMD_DELETE)
		ExecBSDeleteTriggers(s->estate, s->target);
	else
		ExecBSUpdateTriggers(s->estate, s->target);
}

/*
 * Begins a statement: opens what it needs, and fires the triggers BEFORE it FOR EACH STATEMENT.
 * The operation is CMD_INSERT, CMD_UPDATE or CMD_DELETE.  The active snapshot is the statement's;
 * rows are written by the command.  After an error, the end of the transaction takes back what is
 * open.
 */
StoreStatement *
statement_begin(const DynTable *table, Relation rel, CmdType operation, CommandId command)
{
	StoreStatement *s = palloc0(sizeof(StoreStatement));
	MemoryContext old;

	s->table = table;
	s->rel = rel;
	s->operation = operation;
	s->estate = CreateExecutorState();
	old = MemoryContextSwitchTo(s->estate->es_query_cxt);
	init_range_table(s);
	s->target = makeNode(ResultRelInfo);
	InitResultRelInfo(s->target, rel, 1, NULL, 0);
	/* where triggers look for it */
	s->estate->es_opened_result_relations = list_make1(s->target);
	s->estate->es_output_cid = command;
	s->estate->es_snapshot = GetActiveSnapshot();
	init_evaluation_again(&s->epq, s->estate);
	open_indexes(s);
	if (table->extras.triggers)
		begin_triggers(s);
	MemoryContextSwitchTo(old);
	return s;
}

static void
end_triggers(StoreStatement *s)
{
	if (s->operation == CMD_INSERT)
	{
		ExecASUpdateTriggers(s->estate, s->target, s->captured_updates);
		ExecASInsertTriggers(s->estate, s->target, s->captured);
	}
	else if (s->operation == CMD_UPDATE)
		ExecASUpdateTriggers(s->estate, s->target, s->captured);
	else
		ExecASDeleteTriggers(s->estate, s->target, s->captured);
	AfterTriggerEndQuery(s->estate);
}

/* Ends a statement: fires the triggers AFTER it, and those after its rows that are not deferred. */
void
statement_end(StoreStatement *s)
{
	s->estate->es_snapshot = GetActiveSnapshot();
	if (s->table->extras.triggers)
		end_triggers(s);
	/* the indexes, and tables whose triggers fired for what foreign keys have done to them */
	ExecCloseResultRelations(s->estate);
	EvalPlanQualEnd(&s->epq);
	ExecResetTupleTable(s->estate->es_tupleTable, false);
	FreeExecutorState(s->estate);
	pfree(s);
}

/*
 * Before the row is written
 */

/* Begins the work on a row. */
void
statement_row(StoreStatement *s)
{
	ResetPerTupleExprContext(s->estate);
}

/* Returns a column's default; a NULL of a domain has to fulfil its constraints. */
static Expr *
default_of(Relation rel, Form_pg_attribute column)
{
	Node *expression = build_column_default(rel, column->attnum);

	if (expression == NULL)
		expression = coerce_null_to_domain(column->atttypid, column->atttypmod,
										   column->attcollation, column->attlen, column->attbyval);
	if (IsA(expression, Const) && castNode(Const, expression)->constisnull)
		return NULL;
	return expression_planner((Expr *) expression);
}

/* Returns the place of a column in the table's keys, or -1. */
static int
key_place(const DynTable *table, AttrNumber attnum)
{
	int place = table->ncolumns - 1;

	while (place >= 0 && table->keys[place].attnum != attnum)
		place--;
	return place;
}

static void
init_defaults(StoreStatement *s)
{
	TupleDesc desc = RelationGetDescr(s->rel);
	MemoryContext old = MemoryContextSwitchTo(s->estate->es_query_cxt);

	s->defaults = palloc(desc->natts * sizeof(ColumnDefault));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);
		int place = key_place(s->table, column->attnum);
		Expr *expression;

		if (column->attisdropped || column->attgenerated != '\0' ||
			column->attnum == s->table->item_attnum || (place >= 0 && place < s->table->nkeys))
			continue;
		expression = default_of(s->rel, column);
		if (expression != NULL)
			s->defaults[s->ndefaults++] =
				(ColumnDefault){column->attnum, place >= 0, ExecInitExpr(expression, NULL)};
	}
	MemoryContextSwitchTo(old);
}

/*
 * Sets the columns of a row that is to be inserted and that the statement does not give to their
 * defaults.  The slot is a virtual one.  A derived column has a default only for triggers to see:
 * if there are none, it keeps its value, which may be NULL.
 */
void
statement_defaults(StoreStatement *s, TupleTableSlot *slot)
{
	ExprContext *context = GetPerTupleExprContext(s->estate);

	if (!s->table->extras.computed)
		return;
	if (s->defaults == NULL)
		init_defaults(s);
	for (int i = 0; i < s->ndefaults; i++)
	{
		const ColumnDefault *column = &s->defaults[i];
		bool isnull;
		Datum value = ExecEvalExprSwitchContext(column->expression, context, &isnull);

		if (column->overwritten && !s->table->extras.before_insert)
			continue;
		slot->tts_values[column->attnum - 1] = value;
		slot->tts_isnull[column->attnum - 1] = isnull;
	}
}

/*
 * Fires the triggers before a row is inserted, which may change it.  They are called only where one
 * is not the table's own.
 */
BeforeResult
statement_before_insert(StoreStatement *s, const DynKeyValues *key, TupleTableSlot *slot)
{
	DynStatement statement;
	volatile bool done;

	dyn_statement_begin(&statement, s->table, s->estate->es_output_cid, 1, &key);
	PG_TRY();
	{
		done = ExecBRInsertTriggers(s->estate, s->target, slot);
	}
	PG_FINALLY();
	{
		dyn_statement_end(&statement);
	}
	PG_END_TRY();
	return done ? BEFORE_GO_ON : BEFORE_SUPPRESSED;
}

/*
 * Fires the triggers before a row is updated, which may change it.  The caller has the row locked,
 * in its newest version.
 */
BeforeResult
statement_before_update(StoreStatement *s, ItemPointer tid, TupleTableSlot *slot)
{
	DynStatement statement;
	volatile bool done;

	s->estate->es_snapshot = GetActiveSnapshot();
	dyn_statement_begin(&statement, s->table, s->estate->es_output_cid, 0, NULL);
	PG_TRY();
	{
		done = before_row_update(s->estate, &s->epq, s->target, tid, slot);
	}
	PG_FINALLY();
	{
		dyn_statement_end(&statement);
	}
	PG_END_TRY();
	if (done)
		return BEFORE_GO_ON;
	return statement.kept > 0 ? BEFORE_KEPT : BEFORE_SUPPRESSED;
}

/* Fires the triggers before a row is deleted.  The caller has the row locked, in its newest version. */
BeforeResult
statement_before_delete(StoreStatement *s, ItemPointer tid)
{
	s->estate->es_snapshot = GetActiveSnapshot();
	return before_row_delete(s->estate, &s->epq, s->target, tid) ? BEFORE_GO_ON : BEFORE_SUPPRESSED;
}

/*
 * Prepares constraints.  What is derived fulfils the table's own constraint: it has no expression
 * here, which the executor takes for true.  The others are prepared for the first row, as the
 * executor does it: a statement that writes none does not meet functions that the current user may
 * not call.
 */
static void
init_constraints(StoreStatement *s)
{
	const TupleConstr *constraints = RelationGetDescr(s->rel)->constr;
	ExprState **expressions;
	MemoryContext old;

	if (s->constraints_ready || rewrites(s) || constraints->num_check == 0)
		return;
	old = MemoryContextSwitchTo(s->estate->es_query_cxt);
	expressions = palloc0(constraints->num_check * sizeof(ExprState *));
	for (int i = 0; i < constraints->num_check; i++)
	{
		if (!bms_is_member(i, s->table->extras.own_checks) &&
			check_is_enforced(&constraints->check[i]))
			expressions[i] = ExecPrepareExpr(
				check_expression(s->rel, stringToNode(constraints->check[i].ccbin)), s->estate);
	}
	MemoryContextSwitchTo(old);
	set_check_expressions(s->target, expressions);
	s->constraints_ready = true;
}

/*
 * Computes the generated columns of a row that is to be, and checks constraints.  The operation is
 * that on the row, CMD_INSERT or CMD_UPDATE.
 */
void
statement_check(StoreStatement *s, CmdType operation, TupleTableSlot *slot)
{
	const TupleConstr *constraints = RelationGetDescr(s->rel)->constr;

	slot->tts_tableOid = RelationGetRelid(s->rel);
	if (constraints == NULL)
		return;
	if (constraints->has_generated_stored)
		ExecComputeStoredGenerated(s->target, s->estate, slot, operation);
	if (!s->table->extras.constraints && !rewrites(s))
		return;
	init_constraints(s);
	ExecConstraints(s->target, slot, s->estate);
}

/* Returns how the executor and heap lock a row for an update: columns of unique indexes tell. */
LockTupleMode
statement_lock_mode(StoreStatement *s)
{
	return ExecUpdateLockMode(s->estate, s->target);
}

/*
 * While it is written, and after that
 */

/*
 * Adds the entries of a row that is inserted speculatively.  A violation of another unique index is
 * an error, and of a deferred one something to look at again.
 */
List *
statement_add_entries(StoreStatement *s, TupleTableSlot *slot)
{
	bool conflict = false;

	if (s->target->ri_NumIndices == 0)
		return NIL;
	return insert_speculative_entries(s->target, slot, s->estate, &conflict,
									  list_make1_oid(s->table->primary.relid));
}

/* Adds the entries of a row's new version. */
List *
statement_renew_entries(StoreStatement *s, TupleTableSlot *slot, UpdateIndexes indexes)
{
	if (s->target->ri_NumIndices == 0 || indexes == NO_INDEXES_TO_UPDATE)
		return NIL;
	return update_index_entries(s->target, slot, s->estate, indexes);
}

/* Queues the triggers after a row was inserted. */
void
statement_inserted(StoreStatement *s, TupleTableSlot *slot, List *recheck)
{
	if (s->table->extras.triggers)
		ExecARInsertTriggers(s->estate, s->target, slot, recheck, s->captured);
}

/* Queues the triggers after a row was updated. */
void
statement_updated(StoreStatement *s, ItemPointer old, TupleTableSlot *slot, List *recheck)
{
	if (s->table->extras.triggers)
		ExecARUpdateTriggers(s->estate, s->target, NULL, NULL, old, NULL, slot, recheck,
							 s->operation == CMD_INSERT ? s->captured_updates : s->captured, false);
}

/* Queues the triggers after a row was deleted. */
void
statement_deleted(StoreStatement *s, ItemPointer old)
{
	if (s->table->extras.triggers)
		ExecARDeleteTriggers(s->estate, s->target, old, NULL, s->captured, false);
}
