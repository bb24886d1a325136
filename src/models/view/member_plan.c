/*
 * member_plan.c
 *	  Planner support for dyn_is_entity().
 *
 * A query of a view with "OrgId" = 'x' selects items whose keys are what the templates make of that
 * value: dyn_is_entity() is true only for these.  So it implies conditions on the key columns that
 * it is given, which an index can use.  These are lossy: function and clauses are evaluated again
 * for each row.
 *
 * All the values of a template's placeholders give equality; those of its first ones, or a literal
 * at its beginning, the range of what begins like that.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "actions/actions.h"
#include "models/view/member_plan.h"
#include "models/view/view.h"
#include "server/extension.h"

extern PGDLLEXPORT Datum dyn_attribute_value(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum dyn_is_entity(PG_FUNCTION_ARGS);

/* A list has at most so many values, whose keys are all made each time the planner asks. */
#define MAX_LIST 1000

/*
 * The call
 */

static Const *
text_constant(Node *node)
{
	Const *constant = (Const *) node;

	return IsA(node, Const) && constant->consttype == TEXTOID && !constant->constisnull ? constant
																						: NULL;
}

static ItemSpan
constant_span(const Const *constant)
{
	return text_span(DatumGetTextPP(constant->constvalue));
}

/* Returns the definition in a call: a text, or what member_simplify() has made of it. */
static Const *
definition_constant(Node *node)
{
	Const *constant = (Const *) node;

	return IsA(node, Const) && constant->constlen == -1 && !constant->constisnull ? constant : NULL;
}

static bool
is_function(Oid function, PGFunction code)
{
	FmgrInfo flinfo;

	fmgr_info(function, &flinfo);
	return flinfo.fn_addr == code;
}

/*
 * Reads a call of dyn_is_entity() whose arguments are those that a view has, or the first of several that
 * are one.  False: it is something else.
 */
bool
member_read_call(Node *node, MemberCall *call)
{
	const FuncExpr *function = (const FuncExpr *) node;

	if (!IsA(node, FuncExpr) || list_length(function->args) < MEMBER_ARGUMENTS)
		return false;
	call->clause = NULL;
	call->function = function->funcid;
	call->item = list_nth(function->args, MEMBER_ITEM_ARGUMENT);
	call->definition = definition_constant(list_nth(function->args, MEMBER_DEFINITION_ARGUMENT));
	call->column = list_nth(function->args, MEMBER_COLUMN_ARGUMENT);
	if (!IsA(call->item, Var) || call->definition == NULL || !IsA(call->column, Var) ||
		call->item->varno != call->column->varno || call->item->varlevelsup != 0 ||
		call->column->varlevelsup != 0 || member_column_type(call->column->vartype) == 0 ||
		!is_function(function->funcid, dyn_is_entity))
		return false;
	call->member = member_parse(constant_span(call->definition));
	call->t = call->member->key->ntemplates == 1 ? call->member->key->templates[0].template : NULL;
	return true;
}

/* Returns the calls among a table's restrictions, in their order, as a list of MemberCall *. */
List *
member_calls(const RelOptInfo *rel)
{
	List *calls = NIL;
	ListCell *cell;

	foreach (cell, rel->baserestrictinfo)
	{
		RestrictInfo *clause = lfirst(cell);
		MemberCall call;

		if (!member_read_call((Node *) clause->clause, &call))
			continue;
		call.clause = clause;
		calls = lappend(calls, memcpy(palloc(sizeof(MemberCall)), &call, sizeof(MemberCall)));
	}
	return calls;
}

/*
 * What a query says of attributes
 */

/* Returns the item that an expression is an attribute of, as columns of views are; NULL: it is something else. */
Node *
member_attribute_item(Node *node)
{
	const FuncExpr *function = (const FuncExpr *) (node = entity_view_uncast(node));

	if (!IsA(node, FuncExpr) || list_length(function->args) != 4 ||
		!is_function(function->funcid, dyn_attribute_value))
		return NULL;
	for (int i = 1; i < 4; i++)
	{
		if (!IsA(list_nth(function->args, i), Const))
			return NULL;
	}
	return linitial(function->args);
}

/*
 * Tells the type that dynamo_internal.attribute() gives of our item's attribute, without domains; returns
 * false if it is another expression.
 */
static bool
attribute_type(Node *node, const MemberCall *call, ItemSpan stored, ValueType *shown)
{
	const FuncExpr *function = (const FuncExpr *) entity_view_uncast(node);
	const Var *item = (const Var *) member_attribute_item(node);
	const Const *name;
	const Const *type;

	if (item == NULL || !IsA(item, Var) || item->varno != call->item->varno ||
		item->varattno != call->item->varattno || item->varlevelsup != 0)
		return false;
	name = text_constant(lsecond(function->args));
	type = text_constant(lthird(function->args));
	if (name == NULL || type == NULL || item_compare_bytes(constant_span(name), stored) != 0 ||
		!value_code_parse(constant_span(type), shown))
		return false;
	shown->sql = function->funcresulttype;
	shown->typmod = exprTypmod(lfourth(function->args));
	*shown = member_base_type(shown);
	return true;
}

/*
 * Returns whether the attribute is shown as the definition has it: then dyn_is_entity() has looked how it is
 * written, where that matters.
 */
static bool
is_as_defined(const EntityAttribute *attribute, const ValueType *shown)
{
	return attribute->type.type == shown->type &&
		   (!member_is_canonical(shown) ||
			(attribute->type.sql == shown->sql && attribute->type.typmod == shown->typmod));
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Returns whether a value of a type is written as the attribute is, if it equals its value. */
static bool
same_writing(Oid attribute, Oid value)
{
	value = getBaseType(value);
	/* as text char(n) has no blanks at its end, as it is stored, and name and citext are what they are */
	return attribute == value || (is_integer(attribute) && is_integer(value)) || value == TEXTOID;
}

/*
 * Returns whether a node is a placeholder of the planner's, as columns of a view below an outer
 * join are.  Where the table is read they are what they stand for, since it is later that the join
 * makes NULL of them.
 */
static bool
is_placeholder(const Node *node)
{
	const PlaceHolderVar *placeholder = (const PlaceHolderVar *) node;

	if (!IsA(node, PlaceHolderVar) || placeholder->phlevelsup != 0)
		return false;
#if PG16_GE
	return bms_is_empty(placeholder->phnullingrels);
#else
	return true;
#endif
}

static Node *
strip(Node *node)
{
	for (;;)
	{
		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		/* char(n) as text */
		else if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_TEXT_BPCHAR)
			node = linitial(((FuncExpr *) node)->args);
		else if (is_placeholder(node))
			node = (Node *) ((PlaceHolderVar *) node)->phexpr;
		else
			return node;
	}
}

/* Returns how an operator compares values of a type, as a strategy of btrees; 0: in another way. */
static int
comparison(Oid operator, Oid left)
{
	/* enums come as any of them */
	return get_op_opfamily_strategy(operator,
									lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY)->btree_opf);
}

static bool
is_equality(Oid operator, List * args, Oid collation)
{
	return comparison(operator, exprType(linitial(args))) == BTEqualStrategyNumber &&
		   (!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

static const EntityAttribute *
stored_attribute(const Member *member, ItemSpan stored)
{
	for (int i = 0; i < member->entity->nattributes; i++)
	{
		const EntityAttribute *attribute = &member->entity->attributes[i];

		if (item_compare_bytes(attribute->stored, stored) == 0)
			return attribute;
	}
	return NULL;
}

/* Returns the attribute of a placeholder; NULL: it is a literal, or in a map, which has no column. */
const EntityAttribute *
member_part_attribute(const MemberCall *call, const TemplatePart *part)
{
	return part->npath == 1 ? stored_attribute(call->member, part->path[0]) : NULL;
}

/*
 * Tells how an expression shows the attribute of a placeholder; returns false unless it does, and values
 * that are equal to it make one part of the key.
 */
static bool
shows_part(Node *node, const MemberCall *call, const TemplatePart *part, ValueType *shown)
{
	const EntityAttribute *attribute = member_part_attribute(call, part);

	return attribute != NULL && attribute_type(strip(node), call, attribute->stored, shown) &&
		   is_as_defined(attribute, shown) && member_makes_one(shown, part, exprType(node));
}

/* Returns whether an expression is the attribute of a placeholder, in a form whose equality suffices. */
bool
member_names_attribute(Node *node, const MemberCall *call, const TemplatePart *part)
{
	ValueType shown;

	return shows_part(node, call, part, &shown);
}

/* Returns whether a value is the same for all rows that the call's table is read for at a time. */
static bool
is_given(Node *value, Relids relids, const MemberCall *call)
{
	return !bms_is_member((int) call->item->varno, relids) && !contain_volatile_functions(value) &&
		   !contain_subplans(value);
}

/* Returns the value that a condition is of a boolean, by itself or with NOT, or NULL. */
static Node *
required_boolean(const MemberCall *call, const TemplatePart *part, Node *condition)
{
	bool value = !is_notclause(condition);

	if (!value)
		condition = (Node *) get_notclausearg((Expr *) condition);
	return exprType(condition) == BOOLOID && member_names_attribute(condition, call, part)
			   ? makeBoolConst(value, false)
			   : NULL;
}

/* Returns the value that a clause requires the attribute of a placeholder to equal, or NULL. */
static Node *
required_value(const MemberCall *call, const TemplatePart *part, const RestrictInfo *clause)
{
	OpExpr *equality = (OpExpr *) clause->clause;

	if (!IsA(equality, OpExpr))
		return required_boolean(call, part, (Node *) equality);
	if (list_length(equality->args) != 2 ||
		!is_equality(equality->opno, equality->args, equality->inputcollid))
		return NULL;
	for (int side = 0; side < 2; side++)
	{
		Node *named = list_nth(equality->args, side);
		Node *value = list_nth(equality->args, 1 - side);
		ValueType shown;

		if (shows_part(named, call, part, &shown) && same_writing(shown.sql, exprType(value)) &&
			is_given(value, side == 0 ? clause->right_relids : clause->left_relids, call))
			return value;
	}
	return NULL;
}

/* Returns constants, any of which the attribute has to equal, as an array, or NULL. */
static const Const *
required_list(const MemberCall *call, const TemplatePart *part, const RestrictInfo *clause)
{
	const ScalarArrayOpExpr *any = (const ScalarArrayOpExpr *) clause->clause;
	const Const *list;
	ValueType shown;
	Oid element;

	if (!IsA(any, ScalarArrayOpExpr) || !any->useOr ||
		!is_equality(any->opno, any->args, any->inputcollid))
		return NULL;
	list = lsecond(any->args);
	if (!IsA(list, Const) || list->constisnull ||
		ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(list->constvalue)),
					   ARR_DIMS(DatumGetArrayTypeP(list->constvalue))) > MAX_LIST)
		return NULL;
	element = get_element_type(list->consttype);
	if (!OidIsValid(element) || get_typtype(element) == TYPTYPE_ENUM ||
		!shows_part(linitial(any->args), call, part, &shown) || !same_writing(shown.sql, element))
		return NULL;
	return list;
}

static bool
find_list(List *clauses, const MemberCall *call, const TemplatePart *part, KnownValues *known)
{
	ListCell *cell;

	foreach (cell, known->list == NULL ? clauses : NIL)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);
		const Const *list = required_list(call, part, clause);

		if (list == NULL)
			continue;
		known->list = list;
		known->before_list = known->nparts;
		known->values_before_list = list_length(known->values);
		known->values = lappend(known->values, (void *) list);
		known->clauses = lappend(known->clauses, clause);
		return true;
	}
	return false;
}

/* Returns whether a value is constant; labels of an enum may change while a plan is kept. */
static bool
is_constant(const Node *value)
{
	return IsA(value, Const) && get_typtype(exprType(value)) != TYPTYPE_ENUM;
}

/* Finds the first of the clauses that says something of the part. */
static bool
find_value(List *clauses, const MemberCall *call, const TemplatePart *part, KnownValues *known)
{
	ListCell *cell;

	foreach (cell, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);
		Node *value = required_value(call, part, clause);

		if (value == NULL)
			continue;
		known->values = lappend(known->values, value);
		known->clauses = lappend(known->clauses, clause);
		known->constant &= is_constant(value);
		return true;
	}
	return find_list(clauses, call, part, known);
}

/* Returns whether ordered values make ordered parts of keys, as member_render() needs for ends. */
static bool
is_ordered(const EntityAttribute *attribute, const TemplatePart *part, const ValueType *shown)
{
	if (!is_as_defined(attribute, shown) || part->upper || part->lower)
		return false;
	switch (shown->sql)
	{
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case DATEOID:
		case UUIDOID:
			return shown->type == ITEM_S;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
			return shown->type == ITEM_N && part->width > 0;
		default:
			return false;
	}
}

/*
 * Returns whether keys that are the same up to a part of the template are in the order of an
 * expression: it is the part's attribute, and NULL only for numbers that are larger than its type.  A
 * domain may have NULL for others.
 */
bool
member_is_in_order(Node *node, const MemberCall *call, const TemplatePart *part)
{
	const EntityAttribute *attribute = member_part_attribute(call, part);
	ValueType shown;

	/* of a timestamp only the days are in order, whatever zones it is written with */
	return attribute != NULL && part->unit == TEMPLATE_WHOLE &&
		   attribute_type(node, call, attribute->stored, &shown) && shown.sql == exprType(node) &&
		   shown.sql != TIMESTAMPOID && shown.sql != TIMESTAMPTZOID &&
		   is_ordered(attribute, part, &shown);
}

/* Returns the value that a clause compares the attribute with, and how, or NULL. */
static Node *
compared_value(const MemberCall *call, const TemplatePart *part, const EntityAttribute *attribute,
			   const RestrictInfo *clause, int *strategy)
{
	OpExpr *operator=(OpExpr *) clause->clause;

	if (!IsA(operator, OpExpr) || list_length(operator->args) != 2)
		return NULL;
	for (int side = 0; side < 2; side++)
	{
		Node *value = list_nth(operator->args, 1 - side);
		ValueType shown;

		if (!attribute_type(strip(list_nth(operator->args, side)), call, attribute->stored,
							&shown) ||
			!is_ordered(attribute, part, &shown) || !same_writing(shown.sql, exprType(value)) ||
			!is_given(value, side == 0 ? clause->right_relids : clause->left_relids, call))
			continue;
		*strategy = comparison(operator->opno, exprType(linitial(operator->args)));
		/* "<", "<=", "=", ">=", ">" are 1 to 5 */
		if (side == 1 && *strategy != 0)
			*strategy = BTMaxStrategyNumber + 1 - *strategy;
		return *strategy == 0 ? NULL : value;
	}
	return NULL;
}

static void
set_end(Node **end, Node *value, RestrictInfo *clause, KnownValues *known)
{
	if (*end != NULL)
		return;
	*end = value;
	known->clauses = list_append_unique_ptr(known->clauses, clause);
}

/* Finds the ends of the next placeholder; digits subtracted from nines make the upper the lower. */
static void
find_ends(List *clauses, const MemberCall *call, const TemplatePart *part, KnownValues *known)
{
	const EntityAttribute *attribute = member_part_attribute(call, part);
	ListCell *cell;

	foreach (cell, attribute == NULL ? NIL : clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);
		int strategy;
		Node *value = compared_value(call, part, attribute, clause, &strategy);

		if (value == NULL)
			continue;
		if (strategy >= BTEqualStrategyNumber)
			set_end(part->reversed ? &known->upper : &known->lower, value, clause, known);
		if (strategy <= BTEqualStrategyNumber)
			set_end(part->reversed ? &known->lower : &known->upper, value, clause, known);
	}
}

/* Drops a list, which is of use only if it makes whole keys, which are constants. */
static void
drop_list(KnownValues *known)
{
	int nvalues = known->values_before_list;
	ListCell *cell;

	known->nparts = known->before_list;
	known->values = list_truncate(known->values, nvalues);
	known->clauses = list_truncate(known->clauses, nvalues);
	known->list = NULL;
	known->constant = true;
	foreach (cell, known->values)
		known->constant &= is_constant(lfirst(cell));
}

/* Returns whether an expression shows an attribute, so that it is NULL where that is not there. */
static bool
shows_attribute(Node *node, const MemberCall *call, const EntityAttribute *attribute)
{
	ValueType shown;

	return attribute_type(strip(node), call, attribute->stored, &shown) &&
		   shown.type == attribute->type.type;
}

/* Returns whether a clause is true only of items that have an attribute. */
static bool
requires_attribute(Node *clause, const MemberCall *call, const EntityAttribute *attribute)
{
	List *args = NIL;
	ListCell *cell;

	if (IsA(clause, OpExpr) && op_strict(((OpExpr *) clause)->opno))
		args = ((OpExpr *) clause)->args;
	else if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->useOr &&
			 op_strict(((ScalarArrayOpExpr *) clause)->opno))
		args = list_make1(linitial(((ScalarArrayOpExpr *) clause)->args));
	else if (IsA(clause, NullTest) && ((NullTest *) clause)->nulltesttype == IS_NOT_NULL &&
			 !((NullTest *) clause)->argisrow)
		args = list_make1(((NullTest *) clause)->arg);
	else
		args =
			list_make1(is_notclause(clause) ? (Node *) get_notclausearg((Expr *) clause) : clause);
	foreach (cell, args)
	{
		if (shows_attribute(lfirst(cell), call, attribute))
			return true;
	}
	return false;
}

/*
 * Returns whether the call says something of all rows that clauses leave, since these require the attributes
 * of its definition.
 */
bool
member_is_said(List *clauses, const MemberCall *call)
{
	for (int i = 0; i < call->member->ngiven; i++)
	{
		bool required = false;
		ListCell *cell;

		foreach (cell, clauses)
			required |= requires_attribute((Node *) lfirst_node(RestrictInfo, cell)->clause, call,
										   call->member->given[i]);
		if (!required)
			return false;
	}
	return true;
}

/* Looks for as many of the template's first parts as the clauses say something about. */
static void
find_values(List *clauses, const MemberCall *call, KnownValues *known)
{
	*known = (KnownValues){.constant = true};
	for (; call->t != NULL && known->nparts < call->t->nparts; known->nparts++)
	{
		const TemplatePart *part = &call->t->parts[known->nparts];

		if (part->npath > 0 && !find_value(clauses, call, part, known))
			break;
	}
	if (known->list != NULL && (!known->constant || !member_is_whole(call, known)))
		drop_list(known);
	if (call->t != NULL && known->nparts < call->t->nparts)
		find_ends(clauses, call, &call->t->parts[known->nparts], known);
}

/* Tells what the template's first literals say of the keys of items that the call says something of. */
void
member_find_literals(const MemberCall *call, KnownValues *known)
{
	find_values(NIL, call, known);
}

/*
 * Tells what the clauses say of the keys of the rows that count, of which others are assumed to hold as
 * well.  False: nothing, since the call may say nothing of some of these rows.
 */
bool
member_find_values(List *clauses, List *assumed, const MemberCall *call, KnownValues *known)
{
	if (!member_is_said(assumed, call))
	{
		*known = (KnownValues){.constant = true};
		return false;
	}
	find_values(clauses, call, known);
	return true;
}

/* Returns whether all of the key is known. */
bool
member_is_whole(const MemberCall *call, const KnownValues *known)
{
	return call->t != NULL && known->nparts == call->t->nparts;
}

/*
 * Conditions
 */

static Const *
column_constant(const Var *column, bool isnull, Datum value)
{
	return makeConst(column->vartype, -1, get_typcollation(column->vartype), -1, value, isnull,
					 false);
}

static void
set_value(MemberValues *values, int i, Oid type, Datum value, bool isnull)
{
	values->types[i] = type;
	values->values[i] = value;
	values->nulls[i] = isnull;
}

/* Returns constants as values; a list has no value yet. */
static MemberValues
constant_values(List *constants)
{
	int n = list_length(constants);
	MemberValues values = {n, palloc((n + 1) * sizeof(Oid)), palloc((n + 1) * sizeof(Datum)),
						   palloc((n + 1) * sizeof(bool))};

	for (int i = 0; i < n; i++)
	{
		const Const *value = list_nth_node(Const, constants, i);

		set_value(&values, i, value->consttype, value->constvalue, value->constisnull);
	}
	return values;
}

/* Returns a key, or NULL where the values make none: nothing is equal to that. */
static Node *
constant_key(const MemberCall *call, const KnownValues *known, List *constants, bool upper)
{
	MemberValues values = constant_values(constants);
	Datum key = (Datum) 0;
	bool found = member_render(call->member, member_column_type(call->column->vartype),
							   known->nparts, upper, &values, &key);

	return (Node *) column_constant(call->column, !found, key);
}

/* Returns an array of the keys that values of a list make; values that make none are left out. */
static Node *
constant_keys(const MemberCall *call, const KnownValues *known)
{
	Oid element = get_element_type(known->list->consttype);
	Oid keys_type = get_array_type(call->column->vartype);
	MemberValues values = constant_values(known->values);
	ArrayBuildState *keys = initArrayResult(call->column->vartype, CurrentMemoryContext, false);
	ArrayIterator it = array_create_iterator(DatumGetArrayTypeP(known->list->constvalue), 0, NULL);
	Datum value;
	bool isnull;

	while (array_iterate(it, &value, &isnull))
	{
		Datum key;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < values.n; i++)
		{
			if (list_nth(known->values, i) == known->list)
				set_value(&values, i, element, isnull ? (Datum) 0 : value, isnull);
		}
		if (member_render(call->member, member_column_type(call->column->vartype), known->nparts,
						  false, &values, &key))
			(void) accumArrayResult(keys, key, false, call->column->vartype, CurrentMemoryContext);
	}
	return (Node *) makeConst(keys_type, -1, get_typcollation(keys_type), -1,
							  makeArrayResult(keys, CurrentMemoryContext), false, false);
}

/*
 * Returns dyn_entity_key(sample, definition, parts, upper, VARIADIC values) beside dyn_is_entity().
 * It is not looked up by name, which needs USAGE on the schema: a role that reads a view need not
 * have that.
 */
static Oid
key_function(Oid member_function, Oid definition)
{
	Oid types[] = {ANYELEMENTOID, definition, INT4OID, BOOLOID, ANYOID};
	Oid function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("entity_key"),
								   PointerGetDatum(buildoidvector(types, lengthof(types))),
								   ObjectIdGetDatum(get_func_namespace(member_function)));

	if (!OidIsValid(function))
		elog(ERROR, "function \"" DYN_INTERNAL ".entity_key\" is not there");
	return function;
}

static Node *
computed_key(const MemberCall *call, const KnownValues *known, List *values, bool upper)
{
	List *args =
		list_make4(column_constant(call->column, true, (Datum) 0), call->definition,
				   makeConst(INT4OID, -1, InvalidOid, 4, Int32GetDatum(known->nparts), false, true),
				   makeBoolConst(upper, false));

	return (Node *) makeFuncExpr(key_function(call->function, call->definition->consttype),
								 call->column->vartype, list_concat(args, copyObject(values)),
								 get_typcollation(call->column->vartype), InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* Returns what a key, or the lower or upper end of its range, is compared with. */
static Node *
key_value(const MemberCall *call, const KnownValues *known, bool upper)
{
	Node *end = upper ? known->upper : known->lower;
	List *values = end == NULL ? known->values : lappend(list_copy(known->values), end);

	if (known->constant && (end == NULL || IsA(end, Const)))
		return constant_key(call, known, values, upper);
	return computed_key(call, known, values, upper);
}

static List *
add_clause(List *clauses, const KeyOperators *operators, int strategy, const Var *column,
		   Node *value)
{
	Oid operator=
		get_opfamily_member(operators->family, column->vartype, column->vartype, (int16) strategy);

	if (!OidIsValid(operator))
		return clauses;
	return lappend(clauses, make_opclause(operator, BOOLOID, false, copyObject((Expr *) column),
										  (Expr *) value, InvalidOid, operators->collation));
}

/* Returns the condition that the column is equal to any of several keys. */
static List *
list_clause(const MemberCall *call, const KnownValues *known, const KeyOperators *operators)
{
	ScalarArrayOpExpr *any = makeNode(ScalarArrayOpExpr);

	any->opno = get_opfamily_member(operators->family, call->column->vartype, call->column->vartype,
									BTEqualStrategyNumber);
	if (!OidIsValid(any->opno))
		return NIL;
	any->opfuncid = get_opcode(any->opno);
	any->useOr = true;
	any->inputcollid = operators->collation;
	any->args = list_make2(copyObject(call->column), constant_keys(call, known));
	any->location = -1;
	return list_make1(any);
}

/*
 * Returns what holds of the key's column if its values are known: equality, a range or an end of
 * one, or NIL.
 */
List *
member_key_clauses(const MemberCall *call, const KnownValues *known, const KeyOperators *operators)
{
	List *clauses = NIL;

	if (known->list != NULL)
		return list_clause(call, known, operators);
	if (member_is_whole(call, known))
		return add_clause(NIL, operators, BTEqualStrategyNumber, call->column,
						  key_value(call, known, false));
	/* strings that begin alike are neighbours in the order of their bytes */
	if (operators->collation != C_COLLATION_OID)
		return NIL;
	if (known->nparts > 0 || known->lower != NULL)
		clauses = add_clause(clauses, operators, BTGreaterEqualStrategyNumber, call->column,
							 key_value(call, known, false));
	if (known->nparts > 0 || known->upper != NULL)
	{
		Node *upper = key_value(call, known, true);

		if (!IsA(upper, Const) || ((Const *) upper)->constisnull ||
			!member_is_highest(((Const *) upper)->constvalue))
			clauses = add_clause(clauses, operators, BTLessStrategyNumber, call->column, upper);
	}
	return clauses;
}

static List *
index_condition(const SupportRequestIndexCondition *request)
{
	KeyOperators operators = {request->opfamily, request->indexcollation};
	MemberCall call;
	KnownValues known;

	if (request->index->relam != BTREE_AM_OID || request->indexarg != MEMBER_COLUMN_ARGUMENT ||
		!member_read_call(request->node, &call))
		return NIL;
	member_find_values(request->index->rel->baserestrictinfo, request->index->rel->baserestrictinfo,
					   &call, &known);
	/* the planner would take the scan for one in the order of the index */
	if (known.list != NULL && request->indexcol > 0)
		drop_list(&known);
	member_estimate_index(request->index);
	return member_key_clauses(&call, &known, &operators);
}

PG_FUNCTION_INFO_V1(dyn_is_entity_support);
Datum
dyn_is_entity_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(member_simplify((SupportRequestSimplify *) request));
	if (IsA(request, SupportRequestIndexCondition))
		PG_RETURN_POINTER(index_condition((SupportRequestIndexCondition *) request));
	if (IsA(request, SupportRequestSelectivity) &&
		member_estimate((SupportRequestSelectivity *) request))
		PG_RETURN_POINTER(request);
	PG_RETURN_POINTER(NULL);
}
