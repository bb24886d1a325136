/*
 * asked_query.c
 *	  What a query asks: the relations that it reads, and how it uses their columns.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/table.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "models/propose/asked.h"
#include "server/analyse.h"
#include "server/attempt.h"
#include "server/errors.h"

/* Queries of more relations are for machines. */
#define MAX_RELATIONS 100

static void enter_query(AskedQuery *asked, Query *query, bool top);

/* It was understood, but is not answered by reads of items. */
pg_noreturn static void
stays(const char *why)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("%s", why)));
}

/*
 * Columns and conditions
 */

/* Returns whether it chooses among the rows it reads, of which a condition then says nothing. */
static bool
chooses_rows(const Query *query)
{
	return query->limitCount != NULL || query->limitOffset != NULL || query->hasWindowFuncs ||
		   query->hasDistinctOn || query->hasTargetSRFs || query->groupingSets != NIL;
}

/*
 * Returns the column of a source that an expression is, which may come into a key now that it is asked;
 * NULL if it is something else.
 */
static AskedUse *
find_column(const AskedQuery *asked, const Query *query, Node *node)
{
	const Var *var = (Var *) strip_implicit_coercions(node);
	const RangeTblEntry *rte;
	int i;
	ListCell *cell;

	check_stack_depth();
	if (var == NULL || !IsA(var, Var) || var->varlevelsup > 0 || var->varattno < 1)
		return NULL;
	rte = rt_fetch(var->varno, query->rtable);
	i = var->varattno - 1;
	if (rte->rtekind == RTE_JOIN)
		return find_column(asked, query, list_nth(rte->joinaliasvars, i));
#if PG18_GE
	if (rte->rtekind == RTE_GROUP)
		return find_column(asked, query, list_nth(rte->groupexprs, i));
#endif
	if (rte->rtekind == RTE_SUBQUERY && !chooses_rows(rte->subquery))
		return find_column(asked, rte->subquery,
						   (Node *) ((TargetEntry *) list_nth(rte->subquery->targetList, i))->expr);
	foreach (cell, asked->relations)
	{
		AskedRelation *relation = lfirst(cell);

		if (relation->rte != rte)
			continue;
		i = propose_position(relation->table, var->varattno);
		relation->table->columns[i].asked = true;
		return &relation->uses[i];
	}
	return NULL;
}

/* Returns which test PostgreSQL's own operator is, or 0. */
static StrategyNumber
test_of(Oid op, Oid collation)
{
	Oid left;
	Oid right;

	if (op >= FirstNormalObjectId ||
		(OidIsValid(collation) && !get_collation_isdeterministic(collation)))
		return InvalidStrategy;
	op_input_types(op, &left, &right);
	return (StrategyNumber) get_op_opfamily_strategy(
		op, lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY)->btree_opf);
}

/*
 * Returns whether it is a condition that can be kept: "a = b", "a < 5", "5 > a", "a = ANY (…)", or a
 * column of type boolean.
 */
static bool
read_one(AskedQuery *asked, const Query *query, Node *node, int from)
{
	const OpExpr *op = (OpExpr *) node;
	const ScalarArrayOpExpr *list = (ScalarArrayOpExpr *) node;
	List *sides = list_make2(is_notclause(node) ? (Node *) get_notclausearg(node) : node, NULL);
	StrategyNumber test = BTEqualStrategyNumber;
	AskedUse *a;
	AskedUse *b;

	if (IsA(node, OpExpr))
	{
		sides = op->args;
		test = test_of(op->opno, op->inputcollid);
	}
	else if (IsA(node, ScalarArrayOpExpr))
	{
		sides = list->args;
		test = list->useOr && test_of(list->opno, list->inputcollid) == test ? ASKED_ANY_OF
																			 : InvalidStrategy;
	}
	if (test == InvalidStrategy || list_length(sides) < 2)
		return false;
	a = find_column(asked, query, linitial(sides));
	b = find_column(asked, query, lsecond(sides));
	if (a != NULL && b != NULL && test == BTEqualStrategyNumber)
	{
		if (b->relation->position >= from)
			a->equals = lappend(a->equals, b);
		if (a->relation->position >= from)
			b->equals = lappend(b->equals, a);
		return true;
	}
	if (contain_var_clause(a == NULL ? linitial(sides) : lsecond(sides)))
		return false;
	test = a == NULL ? BTCommuteStrategyNumber(test) : test;
	a = a == NULL ? b : a;
	if (a == NULL || a->relation->position < from || test == InvalidStrategy)
		return false;
	asked->compared = true;
	a->tests |= ASKED_TEST(test);
	return true;
}

/* from: the relation from which on the rows that are wanted fulfil it. */
static void
read_condition(AskedQuery *asked, const Query *query, Node *condition, int from)
{
	ListCell *cell;

	CHECK_FOR_INTERRUPTS();
	foreach (cell, make_ands_implicit(canonicalize_qual((Expr *) condition, false)))
		asked->filtered |= !read_one(asked, query, lfirst(cell), from);
}

/*
 * What is read
 */

static void
add_relation(AskedQuery *asked, const RangeTblEntry *rte, ProposeTable *table)
{
	AskedRelation *relation = palloc(sizeof(AskedRelation));

	*relation = (AskedRelation){rte, list_length(asked->relations), table,
								palloc0(table->ncolumns * sizeof(AskedUse))};
	for (int i = 0; i < table->ncolumns; i++)
	{
		relation->uses[i] = (AskedUse){relation, i};
		asked->uses = lappend(asked->uses, &relation->uses[i]);
	}
	asked->relations = lappend(asked->relations, relation);
	if (list_length(asked->relations) > MAX_RELATIONS)
		stays("it has too many parts");
}

static void
enter_relation(AskedQuery *asked, const Query *query, RangeTblEntry *rte)
{
	bool is_table = rte->rtekind == RTE_RELATION && rte->tablesample == NULL;
	ProposeTable *table = is_table ? propose_source(asked->proposal, rte->relid) : NULL;
	ListCell *cell;

	if (table != NULL)
	{
		add_relation(asked, rte, table);
		return;
	}
	if (is_table && get_rel_relkind(rte->relid) == RELKIND_VIEW)
	{
		Relation rel = table_open(rte->relid, AccessShareLock);

		rte->subquery = copyObject(get_view_query(rel));
		table_close(rel, NoLock);
	}
	foreach (cell, query->cteList)
	{
		const CommonTableExpr *cte = lfirst(cell);

		if (rte->rtekind == RTE_CTE && rte->ctelevelsup == 0 && !cte->cterecursive &&
			strcmp(cte->ctename, rte->ctename) == 0)
			rte->subquery = copyObject((Query *) cte->ctequery);
	}
	if (rte->subquery != NULL)
	{
		rte->rtekind = RTE_SUBQUERY;
		enter_query(asked, rte->subquery, false);
	}
	else if (query->commandType != CMD_INSERT)
		stays("it reads something else than sources, views and subqueries");
}

static void
enter_join(AskedQuery *asked, const Query *query, Node *node)
{
	JoinExpr *join = (JoinExpr *) node;
	int from = list_length(asked->relations);

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (IsA(node, RangeTblRef))
	{
		enter_relation(asked, query, rt_fetch(((RangeTblRef *) node)->rtindex, query->rtable));
		return;
	}
	if (join->jointype == JOIN_FULL)
		stays("FULL JOIN");
	enter_join(asked, query, join->jointype == JOIN_RIGHT ? join->rarg : join->larg);
	/* an outer join leaves all rows of the side that was entered first */
	if (join->jointype != JOIN_INNER)
		from = list_length(asked->relations);
	enter_join(asked, query, join->jointype == JOIN_RIGHT ? join->larg : join->rarg);
	read_condition(asked, query, join->quals, from);
}

/* Adds what a query reads, and the order of the outermost one that has a limit. */
static void
enter_query(AskedQuery *asked, Query *query, bool top)
{
	int from = list_length(asked->relations);
	const Const *limit = (Const *) strip_implicit_coercions(query->limitCount);
	ListCell *cell;

	check_stack_depth();
	if (query->hasModifyingCTE)
		stays("WITH that writes");
	if (query->setOperations != NULL)
		stays("UNION, INTERSECT or EXCEPT: ask each side by itself");
	if (query->hasSubLinks)
		stays("a subquery in an expression: ask it by itself");
	foreach (cell, query->jointree->fromlist)
		enter_join(asked, query, lfirst(cell));
	read_condition(asked, query, query->jointree->quals, from);
	if (query->hasAggs || query->groupClause != NIL || query->distinctClause != NIL ||
		query->hasWindowFuncs)
		asked->computed = true;
	else if (asked->limit == 0 && (top || query->limitCount != NULL))
	{
		asked->limit = query->limitCount == NULL ? 0 : -1;
		if (limit != NULL && IsA(limit, Const) && limit->constbyval && !limit->constisnull &&
			query->limitOffset == NULL)
			asked->limit = (int) Min(DatumGetInt64(limit->constvalue), PG_INT16_MAX);
		foreach (cell, query->sortClause)
		{
			SortGroupClause *clause = lfirst(cell);
			Node *node = (Node *) get_sortgroupclause_tle(clause, query->targetList)->expr;
			AskedOrder *order = palloc(sizeof(AskedOrder));

			*order = (AskedOrder){find_column(asked, query, node),
								  strcmp(get_opname(clause->sortop), ">") == 0};
			asked->order = lappend(asked->order, order);
		}
	}
}

static void
note_name(void *arg, Oid relid)
{
	AskedQuery *asked = arg;

	if (propose_source(asked->proposal, relid) != NULL || get_rel_relkind(relid) == RELKIND_VIEW)
		asked->kind = ASKED_READS;
}

/* What is kept of it is in the memory context of the AskedQuery. */
static void
read_query(void *arg)
{
	AskedQuery *asked = arg;
	Query *query;

	MemoryContextSwitchTo(CurTransactionContext);
	query = analyse_query(asked->text, note_name, asked);
	if (query == NULL)
		return;
	asked->command = query->commandType;
	if (asked->command == CMD_UTILITY)
		stays("it makes a table");
	MemoryContextSwitchTo(GetMemoryChunkContext(asked));
	enter_query(asked, query, true);
	if (asked->command == CMD_INSERT && asked->relations != NIL)
		stays("each row of the query is a put of its own");
	if (asked->command == CMD_INSERT)
		asked->kind = ASKED_PUT;
}

/*
 * Finds out what a query asks, whose text is given; the rest is filled in.  An error of the query's
 * is noted in it.  Views are looked through, unless they are sources themselves.
 */
void
asked_analyse(AskedQuery *asked)
{
	ErrorData *error;

	asked->kind = ASKED_ELSEWHERE;
	error = attempt_and_undo(read_query, asked);
	if (error == NULL)
		return;
	asked_note(asked, "%s", asked_line(error->message));
	if (error->sqlerrcode != ERRCODE_FEATURE_NOT_SUPPORTED)
		asked->kind = ASKED_UNKNOWN;
	else if (asked->kind == ASKED_READS)
		asked->kind = ASKED_VIEWS;
}
