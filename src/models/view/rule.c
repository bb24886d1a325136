/*
 * rule.c
 *	  Reading what views of entities are, from their rules.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "models/view/view.h"
#include "server/catalogs.h"
#include "server/extension.h"

extern PGDLLEXPORT Datum dyn_attribute_value(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum dyn_is_entity(PG_FUNCTION_ARGS);

/* Returns the call of a function of ours that an expression is, or NULL. */
static FuncExpr *
entity_view_call(Node *node, PGFunction function)
{
	FuncExpr *call = (FuncExpr *) node;
	FmgrInfo flinfo;

	if (node == NULL || !IsA(node, FuncExpr))
		return NULL;
	fmgr_info(call->funcid, &flinfo);
	return flinfo.fn_addr == function ? call : NULL;
}

static bool
read_text(Node *node, ItemSpan *span)
{
	Const *constant = (Const *) node;

	if (!IsA(node, Const) || constant->consttype != TEXTOID || constant->constisnull)
		return false;
	*span = text_span((text *) PG_DETOAST_DATUM_COPY(constant->constvalue));
	return true;
}

/* Returns what a condition of a view says of its entity, or NULL if it is no dyn_is_entity(). */
const Member *
entity_view_member(Node *condition)
{
	FuncExpr *call = entity_view_call(condition, dyn_is_entity);
	ItemSpan definition;

	if (call == NULL || list_length(call->args) != MEMBER_ARGUMENTS ||
		!read_text(list_nth(call->args, MEMBER_DEFINITION_ARGUMENT), &definition))
		return NULL;
	return member_parse(definition);
}

static void
read_member_call(EntityView *view, const Query *query, Node *node)
{
	FuncExpr *call = entity_view_call(node, dyn_is_entity);
	Var *item;

	if (call == NULL || list_length(call->args) != MEMBER_ARGUMENTS)
		return;
	item = list_nth(call->args, MEMBER_ITEM_ARGUMENT);
	if (!IsA(item, Var) || item->varlevelsup != 0 ||
		!read_text(list_nth(call->args, MEMBER_DEFINITION_ARGUMENT),
				   &view->definitions[view->nkeys]))
		return;
	view->table = rt_fetch(item->varno, query->rtable)->relid;
	view->nkeys++;
}

/* Reads the conditions that all have to hold. */
static void
read_conditions(EntityView *view, const Query *query, Node *quals)
{
	List *conditions = list_make1(quals);
	ListCell *cell;

	if (quals != NULL && IsA(quals, BoolExpr) && ((BoolExpr *) quals)->boolop == AND_EXPR)
		conditions = ((BoolExpr *) quals)->args;
	view->definitions = palloc(list_length(conditions) * sizeof(ItemSpan));
	foreach (cell, conditions)
		read_member_call(view, query, lfirst(cell));
}

/* Returns a copy of a view's query.  Its columns have the view's names, which may have changed. */
Query *
entity_view_query(Relation view)
{
	Query *query = copyObject(get_view_query(view));
	ListCell *cell;

	foreach (cell, query->targetList)
	{
		TargetEntry *entry = lfirst(cell);

		if (!entry->resjunk)
			entry->resname =
				pstrdup(NameStr(TupleDescAttr(RelationGetDescr(view), entry->resno - 1)->attname));
	}
	return query;
}

/*
 * Returns an attribute of an item as SQL.  The sample of a domain is an array of it, since NULL may be
 * no value of the domain.  A call has no type modifier, so there is a cast, which changes no value.
 */
char *
entity_view_value(const char *item, ItemSpan stored, const ValueType *type)
{
	bool domain = get_typtype(type->sql) == TYPTYPE_DOMAIN;
	char *sql = value_type_sql(type);
	char *value = psprintf(DYN_INTERNAL ".%sattribute(%s, %s, '%s', NULL::%s%s)",
						   domain ? "domain_" : "", item, quote_literal_cstr(span_string(stored)),
						   value_code(type), sql, domain ? "[]" : "");

	return type->typmod < 0 ? value : psprintf("%s::%s", value, sql);
}

/*
 * Returns the expression below a cast to the type modifier that it has already: what an attribute is
 * read with, which a column of a view has from the cast.
 */
Node *
entity_view_uncast(Node *node)
{
	const FuncExpr *call;
	Node *below;
	int32 typmod;

	if (!exprIsLengthCoercion(node, &typmod))
		return node;
	below = IsA(node, FuncExpr) ? linitial(((FuncExpr *) node)->args)
								: (Node *) ((ArrayCoerceExpr *) node)->arg;
	call = entity_view_call(below, dyn_attribute_value);
	return call != NULL && exprTypmod(lfourth(call->args)) == typmod ? below : node;
}

/* Tells what attribute an expression is; returns false if it is something else. */
bool
entity_view_attribute(Node *node, ViewColumn *column)
{
	FuncExpr *call = entity_view_call(entity_view_uncast(node), dyn_attribute_value);
	ItemSpan type;

	if (call == NULL || !IsA(linitial(call->args), Var) ||
		!read_text(lsecond(call->args), &column->stored) || !read_text(lthird(call->args), &type) ||
		!value_code_parse(type, &column->type))
		return false;
	column->type.sql = call->funcresulttype;
	column->type.typmod = exprTypmod(lfourth(call->args));
	column->item = linitial(call->args);
	return true;
}

/* Returns whether a column has the type of SQL that its attribute is declared with. */
bool
entity_view_shows(const ViewColumn *column, const EntityAttribute *attribute)
{
	return column->type.sql == attribute->type.sql && column->type.typmod == attribute->type.typmod;
}

static void
read_column(const TargetEntry *entry, Oid type_of_column, ViewColumn *column)
{
	if (!entity_view_attribute((Node *) entry->expr, column) || column->type.sql != type_of_column)
		column->stored.len = 0;
}

/*
 * Returns what the rule of an open view says of its entity, in the current memory context.  NULL if
 * the relation is no view of an entity.
 */
EntityView *
entity_view_read(Relation rel)
{
	EntityView *view = palloc0(sizeof(EntityView));
	Query *query;
	ListCell *cell;

	if (rel->rd_rel->relkind != RELKIND_VIEW)
		return NULL;
	query = get_view_query(rel);
	if (query->jointree == NULL)
		return NULL;
	read_conditions(view, query, query->jointree->quals);
	if (view->nkeys == 0 || !OidIsValid(view->table))
		return NULL;
	view->plain = list_length(query->jointree->fromlist) == 1 &&
				  IsA(linitial(query->jointree->fromlist), RangeTblRef);
	view->ncolumns = RelationGetNumberOfAttributes(rel);
	view->columns = palloc0((view->ncolumns + 1) * sizeof(ViewColumn));
	foreach (cell, query->targetList)
	{
		const TargetEntry *entry = lfirst(cell);

		if (!entry->resjunk && entry->resno <= view->ncolumns)
			read_column(entry, get_atttype(RelationGetRelid(rel), entry->resno),
						&view->columns[entry->resno - 1]);
	}
	return view;
}

/*
 * The views of a table: their rules depend on it
 */

/*
 * Returns the OIDs of all views whose rules depend on a table, in ascending order; not all need be
 * views of entities.  None is locked.
 */
List *
entity_views_of(Oid table)
{
	List *views = NIL;
	ListCell *cell;

	foreach (cell, catalogs_dependents(table, RewriteRelationId))
	{
		HeapTuple rule = catalogs_row(RewriteRelationId, RewriteOidIndexId, Anum_pg_rewrite_oid,
									  lfirst_oid(cell));
		Oid view = rule == NULL ? InvalidOid : ((Form_pg_rewrite) GETSTRUCT(rule))->ev_class;

		if (OidIsValid(view) && get_rel_relkind(view) == RELKIND_VIEW)
			views = list_append_unique_oid(views, view);
	}
	list_sort(views, list_oid_cmp);
	return views;
}
