/*
 * asked_query.c
 *	  What a query asks, by the server's parser and analyser.
 *
 * The text may be anybody's.  So no relation is locked that the caller may not read or write as the
 * query does, and nothing of it runs.  Analysis would call one kind of function, which reads the
 * text of a constant, and for a domain within an array or a row that checks the constraints of the
 * domain, which may call any function.  So a string becomes a parameter first.  Locks and all else
 * are undone when the query has been looked at.
 *
 * The hook that follows analysis is not called, since pg_stat_statements would take the query for
 * one that is about to run.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "parser/parse_node.h"
#include "parser/parse_param.h"
#include "parser/parsetree.h"
#include "parser/parser.h"
#include "rewrite/prs2lock.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "models/propose/asked.h"
#include "server/attempt.h"
#include "server/errors.h"

/* Longer texts, and queries with more parts, are for machines. */
#define MAX_TEXT (100 * 1024)
#define MAX_PARTS 100
#define MAX_PARAMETER 65535

/* Subqueries that give a value have this depth, which is deeper than any outer join. */
#define DEPTH_OF_EXPRESSIONS 1000000

/* A Scope is a query within the query, and says where its relations are. */
typedef struct Scope
{
	AskedQuery *asked;
	Query *query;
	struct Scope *outer;
	int *relations; /* by the range table: position, or -1 */
	struct Scope **inner; /* or the subquery */
} Scope;

/*
 * "depth" is the number of outer joins, and of subqueries that need not have a row, around a
 * relation or a condition.  All rows of the result fulfil a condition of depth 0.
 */

static const AskedColumn no_column = {-1, 0};

static void read_expression(Scope *scope, Node *node);
static Scope *enter_query(AskedQuery *asked, Query *query, Scope *outer, int depth);

/* It was understood, but no Query says it. */
pg_noreturn static void
stays(AskedQuery *asked, const char *why)
{
	asked->stays = why;
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("%s", why)));
}

/*
 * What is kept
 */

static int
add_relation(AskedQuery *asked, Oid relid, int depth)
{
	MemoryContext old = MemoryContextSwitchTo(asked->context);
	AskedRelation *relation = palloc0(sizeof(AskedRelation));

	relation->relid = relid;
	relation->depth = depth;
	asked->relations = lappend(asked->relations, relation);
	MemoryContextSwitchTo(old);
	if (list_length(asked->relations) > MAX_PARTS)
		stays(asked, "it has too many parts");
	return list_length(asked->relations) - 1;
}

static void
add_used(AskedQuery *asked, AskedColumn column)
{
	AskedRelation *relation = list_nth(asked->relations, column.relation);
	MemoryContext old = MemoryContextSwitchTo(asked->context);

	relation->used = bms_add_member(relation->used, Max(column.attnum, 0));
	MemoryContextSwitchTo(old);
}

static int
depth_of(const AskedQuery *asked, AskedColumn column)
{
	return ((AskedRelation *) list_nth(asked->relations, column.relation))->depth;
}

/* An outer join compares columns of the side that need not have a row: others may differ. */
static void
add_equality(AskedQuery *asked, int depth, AskedColumn a, AskedColumn b)
{
	MemoryContext old;
	AskedEquality *equality;

	if (depth > Max(depth_of(asked, a), depth_of(asked, b)))
	{
		asked->filtered = true;
		return;
	}
	old = MemoryContextSwitchTo(asked->context);
	equality = palloc(sizeof(AskedEquality));
	*equality = (AskedEquality){a, b};
	asked->equalities = lappend(asked->equalities, equality);
	MemoryContextSwitchTo(old);
}

/* Adds a bound, unless not all rows of the result fulfil the condition. */
static void
add_bound(AskedQuery *asked, int depth, AskedColumn column, AskedTest test)
{
	MemoryContext old = MemoryContextSwitchTo(asked->context);
	AskedBound *bound = palloc(sizeof(AskedBound));

	*bound = (AskedBound){column, test};
	if (depth > 0)
		asked->filtered = true;
	else
		asked->bounds = lappend(asked->bounds, bound);
	MemoryContextSwitchTo(old);
}

/*
 * Columns
 */

/* Strips casts that PostgreSQL adds between its own types: these keep what is equal. */
static Node *
strip_casts(Node *node)
{
	for (;;)
	{
		if (node != NULL && IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (node != NULL && IsA(node, FuncExpr) &&
				 ((FuncExpr *) node)->funcformat == COERCE_IMPLICIT_CAST &&
				 ((FuncExpr *) node)->funcid < FirstNormalObjectId &&
				 list_length(((FuncExpr *) node)->args) == 1)
			node = linitial(((FuncExpr *) node)->args);
		else
			return node;
	}
}

static Scope *
scope_of(Scope *scope, Index levels)
{
	while (levels-- > 0 && scope != NULL)
		scope = scope->outer;
	if (scope == NULL)
		elog(ERROR, "column of a query that is not there");
	return scope;
}

/* Returns the expression that a column of a join or of grouped rows stands for, or NULL. */
static Node *
stands_for(const RangeTblEntry *rte, AttrNumber attnum)
{
	if (rte->rtekind == RTE_JOIN && attnum > 0 && attnum <= list_length(rte->joinaliasvars))
		return list_nth(rte->joinaliasvars, attnum - 1);
#if PG18_GE
	if (rte->rtekind == RTE_GROUP && attnum > 0 && attnum <= list_length(rte->groupexprs))
		return list_nth(rte->groupexprs, attnum - 1);
#endif
	return NULL;
}

/* Returns whether it chooses among the rows it reads, of which a condition then says nothing. */
static bool
chooses_rows(const Query *query)
{
	return query->limitCount != NULL || query->limitOffset != NULL || query->hasWindowFuncs ||
		   query->hasDistinctOn || query->hasTargetSRFs || query->groupingSets != NIL;
}

/* Returns the column of a relation that an expression is; none if it is something else. */
static AskedColumn
find_column(Scope *scope, Node *node)
{
	Var *var;
	Node *other;
	Scope *inner;

	check_stack_depth();
	node = strip_casts(node);
	if (node == NULL || !IsA(node, Var))
		return no_column;
	var = (Var *) node;
	scope = scope_of(scope, var->varlevelsup);
	if (var->varno < 1 || var->varno > list_length(scope->query->rtable))
		return no_column;
	other = stands_for(rt_fetch(var->varno, scope->query->rtable), var->varattno);
	if (other != NULL)
		return find_column(scope, other);
	if (scope->relations[var->varno] >= 0)
		return (AskedColumn){scope->relations[var->varno], var->varattno};
	inner = scope->inner[var->varno];
	if (inner != NULL && var->varattno > 0 && !chooses_rows(inner->query))
	{
		TargetEntry *entry = get_tle_by_resno(inner->query->targetList, var->varattno);

		if (entry != NULL)
			return find_column(inner, (Node *) entry->expr);
	}
	return no_column;
}

static bool
depends_on_rows(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, SubLink) || IsA(node, Aggref) || IsA(node, WindowFunc))
		return true;
	return expression_tree_walker(node, depends_on_rows, context);
}

static bool
is_constant(Node *node)
{
	return !depends_on_rows(node, NULL);
}

/*
 * Subqueries in expressions
 */

/* Matches "column IN (SELECT …)", where columns of both sides are equal. */
static void
match_subquery(Scope *scope, int depth, Scope *inner, Node *test)
{
	OpExpr *op = (OpExpr *) test;
	TargetEntry *entry;
	AskedColumn a;
	AskedColumn b;
	Node *right;

	if (test != NULL && is_andclause(test))
	{
		ListCell *cell;

		foreach (cell, ((BoolExpr *) test)->args)
			match_subquery(scope, depth, inner, lfirst(cell));
		return;
	}
	if (test == NULL || !IsA(test, OpExpr) || list_length(op->args) != 2 ||
		op->opno >= FirstNormalObjectId || strcmp(get_opname(op->opno), "=") != 0)
	{
		scope->asked->filtered = true;
		return;
	}
	right = strip_casts(lsecond(op->args));
	if (!IsA(right, Param) || ((Param *) right)->paramkind != PARAM_SUBLINK)
		return;
	entry = get_tle_by_resno(inner->query->targetList, ((Param *) right)->paramid);
	a = find_column(scope, linitial(op->args));
	b = entry == NULL || chooses_rows(inner->query) ? no_column
													: find_column(inner, (Node *) entry->expr);
	if (a.relation >= 0 && b.relation >= 0)
		add_equality(scope->asked, depth, a, b);
	else
		scope->asked->filtered = true;
}

static void
enter_sublink(Scope *scope, SubLink *link, int depth)
{
	Scope *inner = enter_query(scope->asked, (Query *) link->subselect, scope, depth);

	read_expression(scope, link->testexpr);
	if (link->subLinkType == ANY_SUBLINK)
		match_subquery(scope, depth, inner, link->testexpr);
}

/* Notes the columns that an expression uses, and goes into its subqueries. */
static bool
read_walker(Node *node, void *context)
{
	Scope *scope = context;

	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
	{
		enter_sublink(scope, (SubLink *) node, DEPTH_OF_EXPRESSIONS);
		return false;
	}
	if (IsA(node, Var))
	{
		Scope *of = scope_of(scope, ((Var *) node)->varlevelsup);
		AskedColumn column = find_column(scope, node);

		if (column.relation >= 0)
			add_used(scope->asked, column);
		else if (((Var *) node)->varno >= 1)
		{
			Node *other = stands_for(rt_fetch(((Var *) node)->varno, of->query->rtable),
									 ((Var *) node)->varattno);

			if (other != NULL)
				read_expression(of, other);
		}
		return false;
	}
	return expression_tree_walker(node, read_walker, context);
}

static void
read_expression(Scope *scope, Node *node)
{
	check_stack_depth();
	(void) read_walker(node, scope);
}

/*
 * Conditions
 */

static const struct
{
	const char *name;
	AskedTest test;
	AskedTest commuted;
} tests[] = {{"=", ASKED_EQUAL, ASKED_EQUAL},
			 {"<", ASKED_BELOW, ASKED_ABOVE},
			 {"<=", ASKED_BELOW_EQUAL, ASKED_ABOVE_EQUAL},
			 {">", ASKED_ABOVE, ASKED_BELOW},
			 {">=", ASKED_ABOVE_EQUAL, ASKED_BELOW_EQUAL}};

/* Returns the position of PostgreSQL's own operator in the list; -1: it is another one. */
static int
find_test(Oid opno, Oid collation)
{
	const char *name;

	if (opno >= FirstNormalObjectId ||
		(OidIsValid(collation) && !get_collation_isdeterministic(collation)))
		return -1;
	name = get_opname(opno);
	for (int i = 0; i < lengthof(tests); i++)
	{
		if (name != NULL && strcmp(tests[i].name, name) == 0)
			return i;
	}
	return -1;
}

/* Reads "a = b", "a < 5" or "5 > a"; returns whether it is one of these. */
static bool
read_comparison(Scope *scope, Node *node, int depth)
{
	OpExpr *op = (OpExpr *) node;
	AskedColumn left;
	AskedColumn right;
	int i;

	if (!IsA(node, OpExpr) || list_length(op->args) != 2)
		return false;
	i = find_test(op->opno, op->inputcollid);
	if (i < 0)
		return false;
	left = find_column(scope, linitial(op->args));
	right = find_column(scope, lsecond(op->args));
	if (left.relation >= 0 && right.relation >= 0 && tests[i].test == ASKED_EQUAL)
		add_equality(scope->asked, depth, left, right);
	else if (left.relation >= 0 && is_constant(lsecond(op->args)))
		add_bound(scope->asked, depth, left, tests[i].test);
	else if (right.relation >= 0 && is_constant(linitial(op->args)))
		add_bound(scope->asked, depth, right, tests[i].commuted);
	else
		return false;
	return true;
}

/* Reads "a IN (1, 2)" or "a = ANY ($1)"; returns whether it is one of these. */
static bool
read_list(Scope *scope, Node *node, int depth)
{
	ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) node;
	AskedColumn column;
	int i;

	if (!IsA(node, ScalarArrayOpExpr) || !op->useOr)
		return false;
	i = find_test(op->opno, op->inputcollid);
	column = find_column(scope, linitial(op->args));
	if (i < 0 || tests[i].test != ASKED_EQUAL || column.relation < 0 ||
		!is_constant(lsecond(op->args)))
		return false;
	add_bound(scope->asked, depth, column, ASKED_ANY_OF);
	return true;
}

/* Reads "a" or "NOT a" of a boolean column; returns whether it is one of these. */
static bool
read_boolean(Scope *scope, Node *node, int depth)
{
	AskedColumn column;

	if (is_notclause(node))
		node = (Node *) get_notclausearg(node);
	column = find_column(scope, node);
	if (column.relation < 0)
		return false;
	add_bound(scope->asked, depth, column, ASKED_EQUAL);
	return true;
}

/* Reads EXISTS or IN (SELECT …), or the same with NOT; returns whether it is one of these. */
static bool
read_subquery(Scope *scope, Node *node, int depth)
{
	bool negated = is_notclause(node);
	SubLink *link = negated ? (SubLink *) get_notclausearg(node) : (SubLink *) node;

	if (!IsA(link, SubLink) ||
		(link->subLinkType != EXISTS_SUBLINK && link->subLinkType != ANY_SUBLINK))
		return false;
	enter_sublink(scope, link, depth + (negated ? 1 : 0));
	return true;
}

static void
read_condition(Scope *scope, Node *node, int depth)
{
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (node == NULL)
		return;
	if (IsA(node, List) || is_andclause(node))
	{
		List *list = IsA(node, List) ? (List *) node : ((BoolExpr *) node)->args;
		ListCell *cell;

		foreach (cell, list)
			read_condition(scope, lfirst(cell), depth);
		return;
	}
	if (read_subquery(scope, node, depth))
		return;
	read_expression(scope, node);
	if (!read_comparison(scope, node, depth) && !read_list(scope, node, depth) &&
		!read_boolean(scope, node, depth))
		scope->asked->filtered = true;
}

/*
 * What is read
 */

static Query *
view_query(Oid relid)
{
	Relation rel = table_open(relid, AccessShareLock);
	Query *query = NULL;

	for (int i = 0; rel->rd_rules != NULL && i < rel->rd_rules->numLocks; i++)
	{
		const RewriteRule *rule = rel->rd_rules->rules[i];

		if (rule->event == CMD_SELECT && list_length(rule->actions) == 1)
			query = copyObject(linitial(rule->actions));
	}
	table_close(rel, NoLock);
	if (query == NULL)
		elog(ERROR, "view %u has no query", relid);
	return query;
}

static void
enter_with(Scope *scope, Index i, const RangeTblEntry *rte, int depth)
{
	Scope *of = scope_of(scope, rte->ctelevelsup);
	ListCell *cell;

	foreach (cell, of->query->cteList)
	{
		CommonTableExpr *cte = lfirst(cell);

		if (strcmp(cte->ctename, rte->ctename) != 0)
			continue;
		if (cte->cterecursive)
			stays(scope->asked, "WITH RECURSIVE");
		scope->inner[i] = enter_query(scope->asked, (Query *) cte->ctequery, of, depth);
		return;
	}
	elog(ERROR, "WITH query that is not there");
}

static void
enter_relation(Scope *scope, Index i, int depth)
{
	RangeTblEntry *rte = rt_fetch(i, scope->query->rtable);

	switch (rte->rtekind)
	{
		case RTE_RELATION:
			if (rte->tablesample != NULL)
				stays(scope->asked, "TABLESAMPLE");
			if (get_rel_relkind(rte->relid) == RELKIND_VIEW &&
				propose_source(scope->asked->proposal, rte->relid) == NULL)
				scope->inner[i] = enter_query(scope->asked, view_query(rte->relid), NULL, depth);
			else
				scope->relations[i] = add_relation(scope->asked, rte->relid, depth);
			break;
		case RTE_SUBQUERY:
			scope->inner[i] = enter_query(scope->asked, rte->subquery, scope, depth);
			break;
		case RTE_CTE:
			enter_with(scope, i, rte, depth);
			break;
		case RTE_VALUES:
			if (scope->query->commandType == CMD_INSERT)
				break;
			stays(scope->asked, "it joins a list of VALUES");
		default:
			stays(scope->asked, "it reads the result of a function");
	}
}

static void
enter_join(Scope *scope, Node *node, int depth)
{
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (IsA(node, RangeTblRef))
		enter_relation(scope, ((RangeTblRef *) node)->rtindex, depth);
	else if (IsA(node, FromExpr))
	{
		ListCell *cell;

		foreach (cell, ((FromExpr *) node)->fromlist)
			enter_join(scope, lfirst(cell), depth);
		read_condition(scope, ((FromExpr *) node)->quals, depth);
	}
	else if (IsA(node, JoinExpr))
	{
		JoinExpr *join = (JoinExpr *) node;

		if (join->jointype == JOIN_FULL)
			stays(scope->asked, "FULL JOIN");
		enter_join(scope, join->larg, depth + (join->jointype == JOIN_RIGHT));
		enter_join(scope, join->rarg, depth + (join->jointype == JOIN_LEFT));
		read_condition(scope, join->quals, depth + (join->jointype != JOIN_INNER));
	}
	else
		elog(ERROR, "unexpected node in a join: %d", (int) nodeTag(node));
}

static void
read_order(Scope *scope)
{
	AskedQuery *asked = scope->asked;
	ListCell *cell;

	foreach (cell, scope->query->sortClause)
	{
		SortGroupClause *clause = lfirst(cell);
		TargetEntry *entry = get_sortgroupclause_tle(clause, scope->query->targetList);
		AskedColumn column = find_column(scope, (Node *) entry->expr);
		MemoryContext old = MemoryContextSwitchTo(asked->context);
		AskedOrder *order = palloc(sizeof(AskedOrder));

		*order = (AskedOrder){column, strcmp(get_opname(clause->sortop), ">") == 0};
		if (column.relation < 0)
			asked->sorted = true;
		else
			asked->order = lappend(asked->order, order);
		MemoryContextSwitchTo(old);
	}
}

static bool
is_computed(const Query *query)
{
	return query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
		   query->havingQual != NULL || query->hasWindowFuncs || query->distinctClause != NIL;
}

static bool
is_one_row(const Query *query)
{
	return query->groupingSets != NIL || (query->hasAggs && query->groupClause == NIL);
}

/* Adds what a query reads.  outer: the query that its columns may be of, or NULL. */
static Scope *
enter_query(AskedQuery *asked, Query *query, Scope *outer, int depth)
{
	Scope *scope = palloc0(sizeof(Scope));
	int n = list_length(query->rtable) + 1;

	check_stack_depth();
	if (++asked->nparts > MAX_PARTS)
		stays(asked, "it has too many parts");
	if (query->hasModifyingCTE)
		stays(asked, "WITH that writes");
	if (query->setOperations != NULL)
		stays(asked, "UNION, INTERSECT or EXCEPT: each side is a query of its own");
	/* a subquery that gives its one row even of no rows */
	if (asked->nparts > 1 && is_one_row(query))
		depth++;
	*scope = (Scope){asked, query, outer, palloc(n * sizeof(int)), palloc0(n * sizeof(Scope *))};
	for (int i = 0; i < n; i++)
		scope->relations[i] = -1;
	enter_join(scope, (Node *) query->jointree, depth);
	read_expression(scope, (Node *) query->targetList);
	read_expression(scope, (Node *) query->returningList);
	read_expression(scope, query->havingQual);
	if (is_computed(query))
		asked->computed = true;
	return scope;
}

/*
 * From the text
 */

/* The relation must be one that the caller may use as the query does. */
static void
check_relation(AskedQuery *asked, const RangeVar *name, AclMode mode)
{
	Oid relid = RangeVarGetRelid(name, NoLock, true);
	MemoryContext old;

	/* the name of a WITH query, or an error of the analysis */
	if (!OidIsValid(relid))
		return;
	old = MemoryContextSwitchTo(asked->context);
	asked->mentioned = lappend_oid(asked->mentioned, relid);
	MemoryContextSwitchTo(old);
	if (pg_class_aclcheck(relid, GetUserId(), mode) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(relid, GetUserId(), mode, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)),
					   name->relname);
}

/* Raw is what is collected from a text before it is analysed. */
typedef struct Raw
{
	AskedQuery *asked;
	int nparameters;
	List *strings; /* of A_Const */
} Raw;

static void
note_parameter(Raw *raw, const ParamRef *parameter)
{
	if (parameter->number > MAX_PARAMETER)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_ARGUMENTS),
						errmsg("there is no parameter $%d", parameter->number)));
	raw->nparameters = Max(raw->nparameters, parameter->number);
}

/* Checks what is used, and takes away what locks rows. */
static bool
check_raw(Node *node, void *context)
{
	Raw *raw = context;
	AskedQuery *asked = raw->asked;

	if (node == NULL)
		return false;
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (nodeTag(node))
	{
		case T_RangeVar:
			check_relation(asked, (RangeVar *) node, ACL_SELECT);
			return false;
		case T_ParamRef:
			note_parameter(raw, (ParamRef *) node);
			return false;
		case T_A_Const:
			if (!((A_Const *) node)->isnull && IsA(&((A_Const *) node)->val, String))
				raw->strings = lappend(raw->strings, node);
			return false;
		case T_TypeName: /* its modifiers must be constants */
			return false;
		case T_CommonTableExpr: /* their constants are not walked through */
			if (((CommonTableExpr *) node)->search_clause != NULL ||
				((CommonTableExpr *) node)->cycle_clause != NULL)
				stays(asked, "WITH RECURSIVE");
			break;
		case T_SelectStmt:
			((SelectStmt *) node)->lockingClause = NIL;
			break;
		case T_InsertStmt:
			check_relation(asked, ((InsertStmt *) node)->relation, ACL_INSERT);
			break;
		case T_UpdateStmt:
			check_relation(asked, ((UpdateStmt *) node)->relation, ACL_UPDATE);
			break;
		case T_DeleteStmt:
			check_relation(asked, ((DeleteStmt *) node)->relation, ACL_DELETE);
			break;
		default:
			break;
	}
	return raw_expression_tree_walker(node, check_raw, context);
}

/* A string becomes a parameter in its place, which has as little of a type as it has. */
static void
replace_strings(Raw *raw)
{
	ListCell *cell;

	StaticAssertStmt(sizeof(A_Const) >= sizeof(ParamRef), "a constant has room for a parameter");
	foreach (cell, raw->strings)
	{
		ParamRef *parameter = lfirst(cell);
		int location = ((A_Const *) lfirst(cell))->location;

		*parameter = (ParamRef){T_ParamRef, ++raw->nparameters, location};
	}
}

/*
 * From 18 on pg_stat_statements has parameters for the constants of all statements, and such a SET is
 * none that can be read: its first word tells what it is.
 */
static bool
is_read_or_write(const char *text)
{
	static const char *const words[] = {"select", "with",   "values", "table",
										"insert", "update", "delete", "merge"};

	text += strspn(text, " \t\r\n(");
	for (int i = 0; i < lengthof(words); i++)
	{
		if (pg_strncasecmp(text, words[i], strlen(words[i])) == 0)
			return true;
	}
	return false;
}

static RawStmt *
asked_parse(AskedQuery *asked)
{
	Raw raw = {asked};
	List *statements;
	RawStmt *statement;

	if (strlen(asked->text) > MAX_TEXT)
		ereport(ERROR, (errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
						errmsg("it is longer than %d bytes", MAX_TEXT)));
	asked->utility = asked->calls > 0 && !is_read_or_write(asked->text);
	statements = raw_parser(asked->text, RAW_PARSE_DEFAULT);
	asked->utility = false;
	if (list_length(statements) != 1)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
						errmsg(statements == NIL ? "it is empty" : "it has several statements")));
	statement = linitial(statements);
	switch (nodeTag(statement->stmt))
	{
		case T_SelectStmt:
		case T_InsertStmt:
		case T_UpdateStmt:
		case T_DeleteStmt:
			break;
		case T_MergeStmt:
			stays(asked, "MERGE");
		default:
			asked->utility = true;
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("it does not read or write rows")));
	}
	check_raw(statement->stmt, &raw);
	replace_strings(&raw);
	return statement;
}

static Query *
analyse(const AskedQuery *asked, RawStmt *raw)
{
	ParseState *pstate = make_parsestate(NULL);
	int nparameters = 0;
	Oid *parameters = NULL;
	Query *query;

	pstate->p_sourcetext = asked->text;
	setup_parse_variable_parameters(pstate, &parameters, &nparameters);
	query = transformTopLevelStmt(pstate, raw);
	free_parsestate(pstate);
	return query;
}

static void
read_assigned(Scope *scope)
{
	AskedQuery *asked = scope->asked;
	MemoryContext old = MemoryContextSwitchTo(asked->context);
	ListCell *cell;

	foreach (cell, scope->query->targetList)
	{
		const TargetEntry *entry = lfirst(cell);

		if (!entry->resjunk && entry->resno > 0)
			asked->assigned = bms_add_member(asked->assigned, entry->resno);
	}
	MemoryContextSwitchTo(old);
}

static void
read_query(void *arg)
{
	AskedQuery *asked = arg;
	Query *query = analyse(asked, asked_parse(asked));
	Scope *scope;

	asked->command = query->commandType;
	if (asked->command == CMD_UTILITY)
		stays(asked, "it makes a table");
	scope = enter_query(asked, query, NULL, 0);
	if (!asked->computed)
		read_order(scope);
	if (asked->command == CMD_INSERT)
		asked->target =
			add_relation(asked, rt_fetch(query->resultRelation, query->rtable)->relid, 0);
	else if (asked->command != CMD_SELECT)
		asked->target = scope->relations[query->resultRelation];
	if (asked->command == CMD_UPDATE)
		read_assigned(scope);
}

/* Returns whether the error is the query's, and not the server's or the caller's wish to end. */
static bool
is_of_query(const ErrorData *error)
{
	switch (ERRCODE_TO_CATEGORY(error->sqlerrcode))
	{
		case ERRCODE_OPERATOR_INTERVENTION:
		case ERRCODE_INSUFFICIENT_RESOURCES:
		case ERRCODE_TRANSACTION_ROLLBACK:
			return false;
		default:
			return true;
	}
}

/*
 * Finds out what a query asks, whose text is given; the rest is filled in, in the current memory
 * context.  An error of the query's is noted in it.  Views are looked through, unless they are
 * sources themselves.
 */
void
asked_analyse(AskedQuery *asked, const Proposal *proposal)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "query that is looked at",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	ErrorData *error;

	asked->proposal = proposal;
	asked->context = old;
	asked->target = -1;
	error = attempt_and_undo(read_query, asked);
	MemoryContextSwitchTo(old);
	if (error != NULL && !is_of_query(error))
		ReThrowError(error);
	if (error != NULL && asked->stays == NULL)
		asked->unknown = pstrdup(error->message);
	MemoryContextDelete(scratch);
}
