/*
 * view.c
 *	  Views of entities as views of typed columns.
 *
 * A view depends on the column of items, which keeps that column from getting another type.  So the
 * view first becomes one of NULLs, and then one of the columns.  It keeps its OID, columns, options
 * and rights, and so does everything that depends on it.
 *
 * Only views that are as dyn_create_entity_view() makes them are replaced: the column of items, or
 * something of the extension, in another place makes a view one that is refused.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/reloptions.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace_d.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/rights.h"
#include "detach/detach.h"
#include "ground/arguments.h"
#include "ground/extension.h"
#include "view/view.h"

extern PGDLLEXPORT Datum dyn_attribute_value(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum dyn_is_entity(PG_FUNCTION_ARGS);

/* A view that is read. */
typedef struct ViewReading
{
	Detach *detach;
	Relation rel;
	Query *query;
	EntityView *rule;
	Index table; /* of the range table */
	Index function; /* the same; 0: no list is unnested */
	DetachView *view;
	StringInfoData before;
	List *present; /* of char *: columns that its conditions require, quoted */
} ViewReading;

/* The column of the table that an expression is, quoted; NULL: it is something else. */
static const char *
column_of(const ViewReading *reading, Node *node)
{
	Var *var = (Var *) node;

	if (!IsA(node, Var) || var->varlevelsup != 0 || var->varattno <= 0 ||
		var->varno != (int) reading->table)
		return NULL;
	return quote_identifier(get_attname(reading->detach->relid, var->varattno, false));
}

static bool
is_column(const ViewReading *reading, Node *node, const char *column)
{
	const char *found = column_of(reading, node);

	return found != NULL && strcmp(found, column) == 0;
}

static bool
is_item(const ViewReading *reading, Node *node)
{
	return is_column(reading, node, quote_identifier(DYN_ITEM_COLUMN));
}

/*
 * Conditions
 */

static void
append_condition(StringInfo sql, const char *condition)
{
	appendStringInfo(sql, "%s%s", sql->len > 0 ? " AND " : "", condition);
}

/* A condition on an index says so too, for the planner. */
static void
add_present(ViewReading *reading, const char *column)
{
	ListCell *cell;

	foreach (cell, reading->present)
	{
		if (strcmp(lfirst(cell), column) == 0)
			return;
	}
	reading->present = lappend(reading->present, (void *) column);
}

static bool
is_key_of_table(const DynTable *table, ItemSpan attribute)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		if (item_compare_bytes(table->keys[i].attribute, attribute) == 0)
			return true;
	}
	return false;
}

static bool
read_member(ViewReading *reading, FuncExpr *call)
{
	Const *constant = list_nth(call->args, MEMBER_DEFINITION_ARGUMENT);
	const Detach *detach = reading->detach;
	const Member *member;
	const char *column;
	ItemSpan definition;
	ItemSpan attribute;

	if (!is_item(reading, list_nth(call->args, MEMBER_ITEM_ARGUMENT)) || !IsA(constant, Const) ||
		constant->consttype != TEXTOID || constant->constisnull)
		return false;
	definition = text_span((text *) PG_DETOAST_DATUM_COPY(constant->constvalue));
	member = member_parse(definition);
	attribute = member->key->attribute;
	column = detach_key_column(detach, attribute);
	if (column == NULL || !is_column(reading, list_nth(call->args, MEMBER_COLUMN_ARGUMENT), column))
		return false;
	append_condition(&reading->before, psprintf(DYN_INTERNAL ".is_entity(%s, %s, %s)",
												quote_identifier(DYN_ITEM_COLUMN),
												detach_literal(definition), column));
	/* a key that all items have is not derived any more: new rows may lack it */
	if (!is_key_of_table(detach->table, attribute) && !member->entity->required)
		add_present(reading, column);
	return true;
}

static bool
read_condition(ViewReading *reading, Node *node)
{
	FuncExpr *call = entity_view_call(node, dyn_is_entity);
	const char *column;

	if (call != NULL)
		return read_member(reading, call);
	if (!IsA(node, NullTest) || ((NullTest *) node)->nulltesttype != IS_NOT_NULL)
		return false;
	column = column_of(reading, (Node *) ((NullTest *) node)->arg);
	if (column == NULL)
		return false;
	append_condition(&reading->before, psprintf("%s IS NOT NULL", column));
	add_present(reading, column);
	return true;
}

static bool
read_conditions(ViewReading *reading)
{
	Node *quals = reading->query->jointree->quals;
	List *conditions = list_make1(quals);
	ListCell *cell;

	if (IsA(quals, BoolExpr) && ((BoolExpr *) quals)->boolop == AND_EXPR)
		conditions = ((BoolExpr *) quals)->args;
	foreach (cell, conditions)
	{
		if (!read_condition(reading, lfirst(cell)))
			return false;
	}
	return true;
}

/*
 * Columns
 */

static DetachColumn *
column_of_attribute(ViewReading *reading, const ViewColumn *column)
{
	const EntityAttribute *attribute =
		entity_stored_attribute(reading->view->entity, column->stored);
	bool declared = attribute != NULL && attribute->type.type == column->type.type &&
					attribute->type.sql == column->type.sql;

	return detach_add_column(reading->detach, column->stored, &column->type,
							 declared ? reading->view->entity : NULL);
}

static char *
qualified_collation(Oid collation)
{
	HeapTuple tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	Form_pg_collation form;
	char *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	form = (Form_pg_collation) GETSTRUCT(tuple);
	name = quote_qualified_identifier(get_namespace_name(form->collnamespace),
									  NameStr(form->collname));
	ReleaseSysCache(tuple);
	return name;
}

/* What makes one collation of another. */
static char *
collation_clause(Oid from, Oid to)
{
	if (from == to || !OidIsValid(to))
		return "";
	return psprintf(" COLLATE %s", qualified_collation(to));
}

static bool
read_element(const ViewReading *reading, Node *node, DetachViewColumn *column)
{
	Var *var = (Var *) node;

	if (!IsA(node, Var) || reading->function == 0 || var->varno != reading->function)
		return false;
	column->element = var->varattno == 1 ? "u.element" : "u.\"position\"";
	return true;
}

static bool
read_columns(ViewReading *reading)
{
	DetachView *view = reading->view;
	TupleDesc desc = RelationGetDescr(reading->rel);
	ListCell *cell;

	view->ncolumns = desc->natts;
	view->columns = palloc0((desc->natts + 1) * sizeof(DetachViewColumn));
	foreach (cell, reading->query->targetList)
	{
		const TargetEntry *entry = lfirst(cell);
		Form_pg_attribute attribute;
		DetachViewColumn *column;

		if (entry->resjunk || entry->resno > desc->natts)
			return false;
		attribute = TupleDescAttr(desc, entry->resno - 1);
		column = &view->columns[entry->resno - 1];
		column->name = quote_identifier(pstrdup(NameStr(attribute->attname)));
		column->type = psprintf(
			"%s%s",
			format_type_extended(attribute->atttypid, attribute->atttypmod,
								 FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY),
			collation_clause(get_typcollation(attribute->atttypid), attribute->attcollation));
		column->collation = attribute->attcollation;
		if (reading->rule->columns[entry->resno - 1].stored.len > 0)
		{
			if (!is_item(reading, linitial(((FuncExpr *) entry->expr)->args)))
				return false;
			column->column =
				column_of_attribute(reading, &reading->rule->columns[entry->resno - 1]);
		}
		else if (!read_element(reading, (Node *) entry->expr, column))
			return false;
	}
	return true;
}

/*
 * The rest of it
 */

/* unnest() or jsonb_array_elements() of an attribute. */
static bool
read_unnesting(ViewReading *reading, const RangeTblEntry *entry)
{
	const RangeTblFunction *function = linitial(entry->functions);
	FuncExpr *call = (FuncExpr *) function->funcexpr;
	FuncExpr *attribute;
	Const *name;
	Const *code;
	ViewColumn column;

	if (list_length(entry->functions) != 1 || !entry->funcordinality || !IsA(call, FuncExpr) ||
		list_length(call->args) != 1 || get_func_namespace(call->funcid) != PG_CATALOG_NAMESPACE)
		return false;
	attribute = entity_view_call(linitial(call->args), dyn_attribute_value);
	if (attribute == NULL || !is_item(reading, linitial(attribute->args)))
		return false;
	name = lsecond(attribute->args);
	code = lthird(attribute->args);
	if (!IsA(name, Const) || name->constisnull || !IsA(code, Const) || code->constisnull)
		return false;
	column.stored = text_span((text *) PG_DETOAST_DATUM_COPY(name->constvalue));
	column.type = (ValueType){
		item_type_from_code(text_span((text *) PG_DETOAST_DATUM_COPY(code->constvalue))),
		attribute->funcresulttype, -1};
	reading->view->unnest =
		psprintf("pg_catalog.%s", quote_identifier(get_func_name(call->funcid)));
	reading->view->list = column_of_attribute(reading, &column);
	return true;
}

/* All of the table: no sample of it, and not it ONLY. */
static bool
read_table(ViewReading *reading, const RangeTblEntry *entry, Index number)
{
	if (reading->table != 0 || entry->relid != reading->detach->relid || !entry->inh ||
		entry->tablesample != NULL)
		return false;
	reading->table = number;
	return true;
}

static bool
read_relation(ViewReading *reading, const RangeTblEntry *entry, Index number)
{
	switch (entry->rtekind)
	{
		case RTE_RELATION:
			/* OLD and NEW */
			return entry->relid == RelationGetRelid(reading->rel) ||
				   read_table(reading, entry, number);
		case RTE_FUNCTION:
			if (reading->function != 0 || !read_unnesting(reading, entry))
				return false;
			reading->function = number;
			return true;
		case RTE_JOIN:
			return true;
		default:
			return false;
	}
}

/* The table, and for a list of it the function. */
static bool
read_relations(ViewReading *reading)
{
	ListCell *cell;

	foreach (cell, reading->query->rtable)
	{
		if (!read_relation(reading, lfirst(cell), foreach_current_index(cell) + 1))
			return false;
	}
	return reading->table != 0;
}

/* Relations side by side, without conditions of joins. */
static bool
is_cross_join(Node *from)
{
	const JoinExpr *join = (const JoinExpr *) from;

	check_stack_depth();
	return IsA(from, RangeTblRef) ||
		   (IsA(from, JoinExpr) && join->jointype == JOIN_INNER && join->quals == NULL &&
			is_cross_join(join->larg) && is_cross_join(join->rarg));
}

static bool
is_simple(const Query *query)
{
	ListCell *cell;

	foreach (cell, query->jointree->fromlist)
	{
		if (!is_cross_join(lfirst(cell)))
			return false;
	}
	return query->rowMarks == NIL && query->groupClause == NIL && query->groupingSets == NIL &&
		   query->havingQual == NULL && query->distinctClause == NIL && query->sortClause == NIL &&
		   query->limitCount == NULL && query->limitOffset == NULL && query->cteList == NIL &&
		   query->setOperations == NULL && !query->hasSubLinks && !query->hasAggs &&
		   !query->hasWindowFuncs && !query->hasTargetSRFs;
}

static char *
reloptions_of(Relation rel)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(RelationGetRelid(rel)));
	StringInfoData sql;
	bool isnull;
	Datum options;
	ListCell *cell;

	initStringInfo(&sql);
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", RelationGetRelid(rel));
	options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	if (!isnull)
	{
		foreach (cell, untransformRelOptions(options))
		{
			DefElem *option = lfirst(cell);

			appendStringInfo(&sql, "%s%s = %s", sql.len > 0 ? ", " : " WITH (",
							 quote_identifier(option->defname),
							 quote_literal_cstr(defGetString(option)));
		}
		appendStringInfoString(&sql, sql.len > 0 ? ")" : "");
	}
	ReleaseSysCache(tuple);
	return sql.data;
}

static const Entity *
entity_of(const Detach *detach, Relation items, const EntityView *rule)
{
	ItemSpan name = member_parse(rule->definitions[0])->entity->name;

	return entity_find(items, detach->table, name);
}

static bool
read_view(ViewReading *reading)
{
	return is_simple(reading->query) && read_relations(reading) && read_conditions(reading) &&
		   read_columns(reading);
}

static void
name_view(void *arg)
{
	errcontext("view %s", ((const DetachView *) arg)->qualified);
}

static void
choose_view(Detach *detach, Relation items, Relation rel)
{
	ViewReading reading = {.detach = detach, .rel = rel, .rule = entity_view_read(rel)};
	ErrorContextCallback callback;
	bool known;

	if (reading.rule == NULL || reading.rule->table != detach->relid)
		return;
	reading.query = get_view_query(rel);
	reading.view = palloc0(sizeof(DetachView));
	reading.view->relid = RelationGetRelid(rel);
	reading.view->qualified = quote_qualified_identifier(
		get_namespace_name(RelationGetNamespace(rel)), RelationGetRelationName(rel));
	initStringInfo(&reading.before);
	callback = (ErrorContextCallback){error_context_stack, name_view, reading.view};
	error_context_stack = &callback;
	reading.view->entity = entity_of(detach, items, reading.rule);
	known = reading.view->entity != NULL && read_view(&reading);
	error_context_stack = callback.previous;
	if (!known)
		return;
	reading.view->options = reloptions_of(rel);
	reading.view->before = reading.before.data;
	reading.view->present = reading.present;
	detach->views = lappend(detach->views, reading.view);
}

/* The views over a table that its owner owns too: those of other roles are not ours to lock. */
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

/* The views of the table's entities that can be made again, and the columns that they need. */
void
detach_choose_views(Detach *detach, Relation rel)
{
	ListCell *cell;

	foreach (cell, detach_views_of_owner(rel))
	{
		Relation view = try_relation_open(lfirst_oid(cell), AccessShareLock);

		if (view == NULL)
			continue;
		choose_view(detach, rel, view);
		relation_close(view, NoLock);
	}
}

static char *
condition_after(Detach *detach, const DetachView *view)
{
	static const ValueType text_type = {ITEM_S, TEXTOID, -1};
	const Entity *entity = view->entity;
	const char *name = detach->entity_column;
	ItemSpan value = entity->name;
	StringInfoData sql;
	ListCell *cell;

	if (entity->type_attribute.len > 0)
	{
		name = detach_add_column(detach, entity->type_attribute, &text_type, NULL)->name;
		value = entity->type;
	}
	initStringInfo(&sql);
	appendStringInfo(&sql, "t.%s = %s", quote_identifier(name), detach_literal(value));
	foreach (cell, view->present)
		appendStringInfo(&sql, " AND t.%s IS NOT NULL", (const char *) lfirst(cell));
	return sql.data;
}

/* Their conditions, when all columns have names. */
void
detach_finish_views(Detach *detach)
{
	ListCell *cell;

	foreach (cell, detach->views)
	{
		DetachView *view = lfirst(cell);

		view->after = condition_after(detach, view);
	}
}

/*
 * The statements
 */

static void
begin_view(StringInfo sql, const DetachView *view)
{
	initStringInfo(sql);
	appendStringInfo(sql, "CREATE OR REPLACE VIEW %s%s AS SELECT ", view->qualified, view->options);
}

/* The statement that makes a view independent of the table. */
char *
detach_empty_view_sql(const DetachView *view)
{
	StringInfoData sql;

	begin_view(&sql, view);
	for (int i = 0; i < view->ncolumns; i++)
		appendStringInfo(&sql, "%sNULL::%s AS %s", i > 0 ? ", " : "", view->columns[i].type,
						 view->columns[i].name);
	return sql.data;
}

static char *
value_of(const DetachViewColumn *column)
{
	const DetachColumn *source = column->column;
	Oid collation;

	if (source == NULL)
		return psprintf("%s AS %s", column->element, column->name);
	/* key columns sort by bytes, columns of views commonly do not */
	collation = source->is_key && source->type.sql == TEXTOID ? C_COLLATION_OID
															  : get_typcollation(source->type.sql);
	return psprintf("t.%s%s AS %s", quote_identifier(source->name),
					collation_clause(collation, column->collation), column->name);
}

/* The statement that makes it a view of the table's columns. */
char *
detach_view_sql(const Detach *detach, const DetachView *view)
{
	StringInfoData sql;

	begin_view(&sql, view);
	for (int i = 0; i < view->ncolumns; i++)
		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "", value_of(&view->columns[i]));
	appendStringInfo(&sql, " FROM %s t", detach->table->qualified);
	if (view->unnest != NULL)
		appendStringInfo(&sql,
						 " CROSS JOIN LATERAL %s(t.%s) WITH ORDINALITY AS u (element, "
						 "\"position\")",
						 view->unnest, quote_identifier(view->list->name));
	appendStringInfo(&sql, " WHERE %s", view->after);
	return sql.data;
}
