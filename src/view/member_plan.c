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
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "actions/actions.h"
#include "ground/extension.h"
#include "view/member.h"

extern PGDLLEXPORT Datum dyn_attribute_value(PG_FUNCTION_ARGS);

/* A call of dyn_is_entity(). */
typedef struct MemberCall
{
	const Member *member;
	Const *definition;
	Var *item;
	Var *column;
	const Template *t;
} MemberCall;

/* Where a key column is compared. */
typedef struct KeyOperators
{
	Oid family;
	Oid collation;
} KeyOperators;

/* The values of a template's first placeholders. */
typedef struct KnownValues
{
	int nparts; /* parts that are known by them */
	List *values; /* of Node * */
	bool constant; /* all of them are, and will stay what they are */
} KnownValues;

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

/* The definition in a call: a text, or what member_simplify() has made of it. */
static Const *
definition_constant(Node *node)
{
	Const *constant = (Const *) node;

	return IsA(node, Const) && constant->constlen == -1 && !constant->constisnull ? constant : NULL;
}

/* False if the arguments are not what a view has, or nothing can be said of the key. */
static bool
read_call(List *args, MemberCall *call)
{
	if (list_length(args) != MEMBER_ARGUMENTS)
		return false;
	call->item = list_nth(args, MEMBER_ITEM_ARGUMENT);
	call->definition = definition_constant(list_nth(args, MEMBER_DEFINITION_ARGUMENT));
	call->column = list_nth(args, MEMBER_COLUMN_ARGUMENT);
	if (!IsA(call->item, Var) || call->definition == NULL || !IsA(call->column, Var) ||
		call->item->varno != call->column->varno || member_column_type(call->column->vartype) == 0)
		return false;
	call->member = member_parse(constant_span(call->definition));
	call->t = call->member->key->templates[0].template;
	/* which one of several templates is taken depends on the item */
	return call->member->key->ntemplates == 1;
}

/*
 * What a query says of attributes
 */

static bool
is_attribute_function(Oid function)
{
	FmgrInfo flinfo;

	fmgr_info(function, &flinfo);
	return flinfo.fn_addr == dyn_attribute_value;
}

/* The type of DynamoDB's that dyn_attribute() gives of our item's attribute; 0: it is something else. */
static ItemType
attribute_type(Node *node, const MemberCall *call, ItemSpan stored, Oid *sql)
{
	FuncExpr *function = (FuncExpr *) node;
	Const *name;
	Const *type;
	Var *item;

	if (!IsA(node, FuncExpr) || list_length(function->args) != 4 ||
		!is_attribute_function(function->funcid))
		return 0;
	item = linitial(function->args);
	name = text_constant(lsecond(function->args));
	type = text_constant(lthird(function->args));
	if (!IsA(item, Var) || item->varno != call->item->varno ||
		item->varattno != call->item->varattno || item->varlevelsup != 0 || name == NULL ||
		type == NULL || item_compare_bytes(constant_span(name), stored) != 0)
		return 0;
	*sql = function->funcresulttype;
	return item_type_from_code(constant_span(type));
}

/*
 * Whether SQL values that are equal are one attribute: because the type is read in one way only,
 * or because dyn_is_entity() looks whether it is written as it is by us.
 */
static bool
equality_suffices(const EntityAttribute *attribute, ItemType type, Oid sql)
{
	ValueType shown = {type, sql, -1};

	if (attribute->type.type != type)
		return false;
	return member_is_determined(&shown) &&
		   (sql == attribute->type.sql || !member_is_canonical(&shown));
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Whether a value of a type is written as the attribute is, if it equals its value. */
static bool
same_writing(Oid attribute, Oid value)
{
	return attribute == value || (is_integer(attribute) && is_integer(value)) ||
		   (attribute == VARCHAROID && value == TEXTOID);
}

/*
 * Of a view below an outer join columns are placeholders of the planner's.  Where the table is read
 * they are what they stand for, since it is later that the join makes NULL of them.
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
		else if (is_placeholder(node))
			node = (Node *) ((PlaceHolderVar *) node)->phexpr;
		else
			return node;
	}
}

static bool
is_equality(const OpExpr *clause)
{
	Oid left = exprType(linitial(clause->args));
	TypeCacheEntry *type = lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY);

	/* enums come as any of them */
	if (get_op_opfamily_strategy(clause->opno, type->btree_opf) != BTEqualStrategyNumber)
		return false;
	return !OidIsValid(clause->inputcollid) || get_collation_isdeterministic(clause->inputcollid);
}

/* The value that a clause requires the attribute to equal, or NULL. */
static Node *
required_value(PlannerInfo *root, const MemberCall *call, const EntityAttribute *attribute,
			   Node *clause)
{
	OpExpr *equality = (OpExpr *) clause;

	if (!IsA(clause, OpExpr) || list_length(equality->args) != 2 || !is_equality(equality))
		return NULL;
	for (int side = 0; side < 2; side++)
	{
		Node *value = list_nth(equality->args, 1 - side);
		Oid sql;
		ItemType type =
			attribute_type(strip(list_nth(equality->args, side)), call, attribute->stored, &sql);

		if (type != 0 && equality_suffices(attribute, type, sql) &&
			same_writing(sql, exprType(value)) && !contain_volatile_functions(value) &&
			bms_is_empty(pull_varnos(root, value)) && !contain_subplans(value))
			return value;
	}
	return NULL;
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

static Node *
find_value(PlannerInfo *root, RelOptInfo *rel, const MemberCall *call, const TemplatePart *part)
{
	const EntityAttribute *attribute = stored_attribute(call->member, part->path[0]);
	ListCell *cell;

	/* what is in a map has no column */
	if (attribute == NULL || part->npath > 1)
		return NULL;
	foreach (cell, rel->baserestrictinfo)
	{
		Node *value =
			required_value(root, call, attribute, (Node *) lfirst_node(RestrictInfo, cell)->clause);

		if (value != NULL)
			return value;
	}
	return NULL;
}

/* As many of the template's parts as the query says something about. */
static void
find_values(PlannerInfo *root, RelOptInfo *rel, const MemberCall *call, KnownValues *known)
{
	*known = (KnownValues){.constant = true};
	for (; known->nparts < call->t->nparts; known->nparts++)
	{
		const TemplatePart *part = &call->t->parts[known->nparts];
		Node *value;

		if (part->npath == 0)
			continue;
		value = rel == NULL ? NULL : find_value(root, rel, call, part);
		if (value == NULL)
			break;
		known->values = lappend(known->values, value);
		/* the labels of an enum may change while a plan is kept */
		known->constant &= IsA(value, Const) && get_typtype(exprType(value)) != TYPTYPE_ENUM;
	}
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

/* NULL where the values make no key: nothing is equal to that. */
static Node *
constant_key(const MemberCall *call, const KnownValues *known, bool upper)
{
	int n = list_length(known->values);
	MemberValues values = {n, palloc((n + 1) * sizeof(Oid)), palloc((n + 1) * sizeof(Datum)),
						   palloc((n + 1) * sizeof(bool))};
	Datum key = (Datum) 0;
	bool found;

	for (int i = 0; i < n; i++)
	{
		const Const *value = list_nth_node(Const, known->values, i);

		values.types[i] = value->consttype;
		values.values[i] = value->constvalue;
		values.nulls[i] = value->constisnull;
	}
	found = member_render(call->member, member_column_type(call->column->vartype), known->nparts,
						  upper, &values, &key);
	return (Node *) column_constant(call->column, !found, key);
}

/*
 * dyn_entity_key(sample, definition, parts, upper, VARIADIC values) beside dyn_is_entity().  It is
 * not looked up by name, which needs USAGE on the schema: a role that reads a view need not have
 * that.
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
computed_key(Oid member_function, const MemberCall *call, const KnownValues *known, bool upper)
{
	List *args =
		list_make4(column_constant(call->column, true, (Datum) 0), call->definition,
				   makeConst(INT4OID, -1, InvalidOid, 4, Int32GetDatum(known->nparts), false, true),
				   makeBoolConst(upper, false));

	return (Node *) makeFuncExpr(
		key_function(member_function, call->definition->consttype), call->column->vartype,
		list_concat(args, copyObject(known->values)), get_typcollation(call->column->vartype),
		InvalidOid, COERCE_EXPLICIT_CALL);
}

/* What a key, or the lower or upper end of its range, is compared with. */
static Node *
key_value(Oid member_function, const MemberCall *call, const KnownValues *known, bool upper)
{
	return known->constant ? constant_key(call, known, upper)
						   : computed_key(member_function, call, known, upper);
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

/* Of a column: equality, a range, or NIL. */
static List *
key_clauses(Oid member_function, const MemberCall *call, const KnownValues *known,
			const KeyOperators *operators)
{
	List *clauses;

	if (known->nparts == call->t->nparts)
		return add_clause(NIL, operators, BTEqualStrategyNumber, call->column,
						  key_value(member_function, call, known, false));
	/* strings that begin alike are neighbours in the order of their bytes */
	if (known->nparts == 0 || operators->collation != C_COLLATION_OID)
		return NIL;
	clauses = add_clause(NIL, operators, BTGreaterEqualStrategyNumber, call->column,
						 key_value(member_function, call, known, false));
	return add_clause(clauses, operators, BTLessStrategyNumber, call->column,
					  key_value(member_function, call, known, true));
}

static List *
index_condition(const SupportRequestIndexCondition *request)
{
	FuncExpr *function = (FuncExpr *) request->node;
	KeyOperators operators = {request->opfamily, request->indexcollation};
	MemberCall call;
	KnownValues known;

	if (!IsA(function, FuncExpr) || request->index->relam != BTREE_AM_OID ||
		request->indexarg != MEMBER_COLUMN_ARGUMENT || !read_call(function->args, &call))
		return NIL;
	find_values(request->root, request->index->rel, &call, &known);
	return key_clauses(request->funcid, &call, &known, &operators);
}

/*
 * Estimates
 */

/* What a call says of its key by the literal that its template begins with; NIL: nothing. */
static List *
literal_clauses(const SupportRequestSelectivity *request, List *args, MemberCall *call)
{
	KeyOperators operators;
	KnownValues known;

	if (!read_call(args, call))
		return NIL;
	operators.family =
		lookup_type_cache(call->column->vartype, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	operators.collation = call->column->varcollid;
	find_values(request->root, NULL, call, &known);
	return key_clauses(request->funcid, call, &known, &operators);
}

/*
 * Sets what an estimate depends on, and returns whether it depends on nothing else: of a range, which
 * the operators of text compare for any role, by the statistics of the column alone.
 */
static bool
find_statistics(const SupportRequestSelectivity *request, const MemberCall *call, List *clauses,
				MemberEstimate *basis)
{
	int i = (int) call->column->varno;
	const RangeTblEntry *entry;
	HeapTuple tuple;

	if (list_length(clauses) != 2 || get_relation_stats_hook != NULL ||
		i >= request->root->simple_rel_array_size || request->root->simple_rel_array[i] == NULL ||
		request->root->simple_rel_array[i]->statlist != NIL)
		return false;
	entry = request->root->simple_rte_array[i];
	if (entry->rtekind != RTE_RELATION)
		return false;
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(entry->relid),
							Int16GetDatum(call->column->varattno), BoolGetDatum(entry->inh));
	if (!HeapTupleIsValid(tuple))
		return false;
	*basis = (MemberEstimate){entry->relid, call->column->varattno, tuple->t_self,
							  HeapTupleHeaderGetRawXmin(tuple->t_data)};
	ReleaseSysCache(tuple);
	return true;
}

/*
 * Which part of the items has such a key.  A member keeps what it was for its last table: the planner
 * goes through all the statistics of the column for each of the two ends.
 */
static Selectivity
literal_part(const SupportRequestSelectivity *request, const MemberCall *call, List *clauses)
{
	MemberEstimate *known = call->member->estimate;
	MemberEstimate basis;
	bool keeps = find_statistics(request, call, clauses, &basis);

	if (keeps && known->relid == basis.relid && known->attnum == basis.attnum &&
		known->written == basis.written && ItemPointerEquals(&known->statistics, &basis.statistics))
		return known->part;
	basis.part = clauselist_selectivity(request->root, clauses, request->varRelid,
										request->jointype, request->sjinfo);
	if (keeps)
		*known = basis;
	return basis.part;
}

/*
 * Which part of the items is left by calls for other keys of the same item that come before this one.
 * The planner has their selectivities already, each of what those before it leave.
 */
static Selectivity
left_before(const SupportRequestSelectivity *request)
{
	const PlannerInfo *root = request->root;
	const Var *item = linitial(request->args);
	Selectivity left = 1.0;
	ListCell *cell;

	if (!IsA(item, Var) || (int) item->varno >= root->simple_rel_array_size ||
		root->simple_rel_array[item->varno] == NULL)
		return left;
	foreach (cell, root->simple_rel_array[item->varno]->baserestrictinfo)
	{
		FuncExpr *function = (FuncExpr *) lfirst_node(RestrictInfo, cell)->clause;
		MemberCall call;

		if (!IsA(function, FuncExpr) || function->funcid != request->funcid)
			continue;
		if (equal(function->args, request->args))
			break;
		if (equal(linitial(function->args), item) &&
			literal_clauses(request, function->args, &call) != NIL)
			left *= clause_selectivity(request->root, lfirst(cell), request->varRelid,
									   request->jointype, request->sjinfo);
	}
	return left;
}

/*
 * How many items there are of an entity, which is what a view shows without any condition.  Its
 * keys begin alike together, so what counts is the rarest beginning, not the product of all.
 */
static bool
estimate(SupportRequestSelectivity *request)
{
	MemberCall call;
	List *clauses = request->is_join ? NIL : literal_clauses(request, request->args, &call);
	Selectivity own;
	Selectivity left;

	if (clauses == NIL)
		return false;
	own = literal_part(request, &call, clauses);
	left = left_before(request);
	request->selectivity = own < left ? own / left : 1.0;
	return true;
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
	if (IsA(request, SupportRequestSelectivity) && estimate((SupportRequestSelectivity *) request))
		PG_RETURN_POINTER(request);
	PG_RETURN_POINTER(NULL);
}
