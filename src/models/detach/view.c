/*
 * view.c
 *	  Views of entities as views of typed columns.
 *
 * In the rule of a view each call that takes an attribute out of an item becomes the attribute's column,
 * and each that looks whether an item is one of an entity becomes a comparison of its type.  Views that
 * need items for nothing else can be made so, whoever has written them, and go on as they are: they keep
 * their OIDs, columns, options and rights, and so does everything that depends on them.
 *
 * A view depends on the column of items, which keeps that column from getting another type, and would
 * keep new columns from getting values.  So it is one of NULLs in between.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parser.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "catalog/rights.h"
#include "models/detach/detach.h"
#include "models/view/view.h"
#include "server/arguments.h"
#include "server/catalogs.h"

/* A Change is a view that is changed. */
typedef struct Change
{
	Detach *detach;
	List *rtable; /* of the query that is looked at */
	bool changed;
	bool stuck; /* it needs items in another way */
} Change;

/*
 * Its parts
 */

static bool
is_item(const Change *change, Node *node)
{
	const Var *var = (Var *) node;

	return IsA(node, Var) && var->varlevelsup == 0 &&
		   var->varattno == change->detach->table->item_attnum &&
		   rt_fetch(var->varno, change->rtable)->relid == change->detach->relid;
}

static Node *
put_value(Node *node, void *value)
{
	if (node == NULL || IsA(node, Param))
		return node == NULL ? NULL : copyObject((Node *) value);
	return expression_tree_mutator(node, put_value, value);
}

/* A cast of NULL to a domain that refuses it would fail, so NULL is an element that there is not. */
static Node *
as_domain(Node *base, Oid domain)
{
	const char *sql = psprintf("SELECT CASE WHEN $1 IS NOT NULL THEN $1::%s ELSE (NULL::%s)[1] END",
							   format_type_be_qualified(domain),
							   format_type_be_qualified(get_array_type(domain)));
	Oid type = exprType(base);
	const Query *query = parse_analyze_fixedparams(linitial(raw_parser(sql, RAW_PARSE_DEFAULT)),
												   sql, &type, 1, NULL);

	return put_value((Node *) linitial_node(TargetEntry, query->targetList)->expr, base);
}

/* Returns a column in place of one of items, which is there once the view is made again. */
static Node *
column_in_place(const Change *change, Node *item, const DetachColumn *column, Oid collation)
{
	Var *var = copyObject((Var *) item);
	CollateExpr *collate = makeNode(CollateExpr);
	Node *value = (Node *) var;

	var->varattno = get_attnum(change->detach->relid, column->name);
	var->varattnosyn = var->varattno;
	var->vartype = column->own.sql;
	var->vartypmod = column->own.typmod;
	/* key columns sort by bytes, columns of views commonly do not */
	var->varcollid = column->is_key && column->type.sql == TEXTOID
						 ? C_COLLATION_OID
						 : get_typcollation(column->type.sql);
	if (column->own.sql != column->type.sql)
		value = as_domain(value, column->type.sql);
	if (var->varcollid == collation)
		return value;
	collate->arg = (Expr *) value;
	collate->collOid = collation;
	return (Node *) collate;
}

/* Returns the condition for items of an entity: by their type, or by having an index's key. */
static Node *
condition_in_place(const Change *change, FuncExpr *call, const Member *member)
{
	const DynTable *table = change->detach->table;
	const Entity *entity = member->entity;
	ItemSpan type = entity->type_attribute.len > 0 ? entity->type : entity->name;
	NullTest *present = makeNode(NullTest);

	/* a key that all items have is not derived any more: new rows may lack it */
	if (!entity->required && !dyn_index_has_key(table, &table->primary, member->key->attribute))
	{
		present->arg = list_nth(call->args, MEMBER_COLUMN_ARGUMENT);
		present->nulltesttype = IS_NOT_NULL;
		return (Node *) present;
	}
	return (Node *) make_opclause(
		TextEqualOperator, BOOLOID, false,
		(Expr *) column_in_place(change, list_nth(call->args, MEMBER_ITEM_ARGUMENT),
								 detach_type_column(change->detach, entity), DEFAULT_COLLATION_OID),
		(Expr *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1, PointerGetDatum(span_text(type)),
						   false, false),
		InvalidOid, DEFAULT_COLLATION_OID);
}

/*
 * The whole
 */

static Node *change_node(Node *node, void *arg);

/* Each key of an entity says the same of it. */
static Node *
change_and(BoolExpr *and, Change *change)
{
	List *conditions = NIL;
	ListCell *cell;

	foreach (cell, and->args)
		conditions = list_append_unique(conditions, change_node(lfirst(cell), change));
	return (Node *) make_ands_explicit(conditions);
}

static Node *
change_node(Node *node, void *arg)
{
	Change *change = arg;
	const Member *member;
	Node *in_place = NULL;
	ViewColumn attribute;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		List *outer = change->rtable;

		change->rtable = ((Query *) node)->rtable;
		node =
			(Node *) query_tree_mutator((Query *) node, change_node, arg, QTW_IGNORE_JOINALIASES);
		change->rtable = outer;
		return node;
	}
	if (is_andclause(node))
		return change_and((BoolExpr *) node, change);
	member = entity_view_member(node);
	if (entity_view_attribute(node, &attribute) && is_item(change, attribute.item))
		in_place = column_in_place(change, attribute.item,
								   detach_column(change->detach, attribute.stored, attribute.type),
								   exprCollation(node));
	else if (member != NULL &&
			 is_item(change, list_nth(((FuncExpr *) node)->args, MEMBER_ITEM_ARGUMENT)))
		in_place = condition_in_place(change, (FuncExpr *) node, member);
	else if (member != NULL ||
			 (IsA(node, Var) && ((Var *) node)->vartype == change->detach->table->item_type))
		change->stuck = true;
	if (in_place == NULL)
		return expression_tree_mutator(node, change_node, arg);
	change->changed = true;
	return in_place;
}

/*
 * The views
 */

/* Returns the views over a table that its owner owns; those of others are not ours to lock. */
List *
detach_views_of_owner(Relation rel)
{
	List *views = NIL;
	ListCell *cell;

	foreach (cell, entity_views_of(RelationGetRelid(rel)))
	{
		if (rights_owner(lfirst_oid(cell)) == rel->rd_rel->relowner)
			views = lappend_oid(views, lfirst_oid(cell));
	}
	return views;
}

/* Chooses the views of entities that can be made again, and the columns that they need. */
void
detach_choose_views(Detach *detach, Relation rel)
{
	ListCell *cell;

	foreach (cell, detach_views_of_owner(rel))
	{
		Relation opened = try_relation_open(lfirst_oid(cell), AccessShareLock);
		Change change = {detach};
		DetachView *view;

		if (opened == NULL)
			continue;
		view = palloc0(sizeof(DetachView));
		view->relid = lfirst_oid(cell);
		view->query = entity_view_query(opened);
		(void) change_node((Node *) view->query, &change);
		view->create = psprintf("CREATE OR REPLACE VIEW %s WITH (security_invoker = %s%s) AS ",
								catalogs_qualified(view->relid),
								RelationHasSecurityInvoker(opened) ? "true" : "false",
								RelationIsSecurityView(opened) ? ", security_barrier = true" : "");
		if (change.changed && !change.stuck && !RelationHasCheckOption(opened))
			detach->views = lappend(detach->views, view);
		relation_close(opened, NoLock);
	}
}

/* Returns the statement that makes it a view of the table's columns, which are there by now. */
char *
detach_view_sql(Detach *detach, const DetachView *view)
{
	Change change = {detach};
	Node *query = change_node((Node *) view->query, &change);

	return psprintf("%s%s", view->create, pg_get_querydef((Query *) query, false));
}
