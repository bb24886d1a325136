/*
 * calls.c
 *	  A library that tells which functions and operators are called by statements that no client has sent: those of
 *	  extension scripts, of views, and of C code.  It tells of calls that another function with the same name could take
 *	  over: those where the types of the arguments are not exactly the declared ones.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parsetree.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);
extern PGDLLEXPORT Datum calls_of(PG_FUNCTION_ARGS);

static post_parse_analyze_hook_type next = NULL;

/* The type of an argument before it was coerced. */
static Oid
given_type(Node *node)
{
	for (;;)
	{
		if (IsA(node, NamedArgExpr))
			node = (Node *) ((NamedArgExpr *) node)->arg;
		else if (IsA(node, RelabelType) &&
				 ((RelabelType *) node)->relabelformat == COERCE_IMPLICIT_CAST)
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, CoerceViaIO) &&
				 ((CoerceViaIO *) node)->coerceformat == COERCE_IMPLICIT_CAST)
			node = (Node *) ((CoerceViaIO *) node)->arg;
		else if (IsA(node, ArrayCoerceExpr) &&
				 ((ArrayCoerceExpr *) node)->coerceformat == COERCE_IMPLICIT_CAST)
			node = (Node *) ((ArrayCoerceExpr *) node)->arg;
		else if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcformat == COERCE_IMPLICIT_CAST)
			node = linitial(((FuncExpr *) node)->args);
		else
			return exprType(node);
	}
}

static List *
given_types(List *args)
{
	List *types = NIL;
	ListCell *cell;

	foreach (cell, args)
		types = lappend_oid(types, given_type(lfirst(cell)));
	return types;
}

/* The text that is parsed, or NULL. */
static const char *source = NULL;

static void
tell(const char *kind, Oid schema, const char *name, List *types)
{
	StringInfoData list;
	ListCell *cell;

	initStringInfo(&list);
	foreach (cell, types)
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "",
						 OidIsValid(lfirst_oid(cell)) ? format_type_be_qualified(lfirst_oid(cell))
													  : "NONE");
	ereport(LOG, (errmsg_internal("another could be called: %s %s %s (%s)", kind,
								  get_namespace_name(schema), quote_identifier(name), list.data),
				  source == NULL ? 0 : errdetail_internal("%s", source), errhidestmt(true),
				  errhidecontext(true)));
}

static void
look_at_function(Oid function, List *types)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	const FormData_pg_proc *form = (Form_pg_proc) GETSTRUCT(tuple);
	bool exact = list_length(types) <= form->pronargs;
	ListCell *cell;

	foreach (cell, types)
		exact = exact && form->proargtypes.values[foreach_current_index(cell)] == lfirst_oid(cell);
	if (!exact)
		tell("function", form->pronamespace, NameStr(form->proname), types);
	ReleaseSysCache(tuple);
}

static void
look_at_operator(Oid operator, Oid left, Oid right)
{
	HeapTuple tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	const FormData_pg_operator *form = (Form_pg_operator) GETSTRUCT(tuple);

	if (form->oprleft != left || form->oprright != right)
		tell("operator", form->oprnamespace, NameStr(form->oprname), list_make2_oid(left, right));
	ReleaseSysCache(tuple);
}

/* Arguments that are collected in an array count one by one. */
static List *
arguments(const FuncExpr *call)
{
	List *args = list_copy(call->args);
	const ArrayExpr *array = args == NIL ? NULL : llast(args);

	if (call->funcvariadic || array == NULL || !IsA(array, ArrayExpr) || array->location >= 0 ||
		!OidIsValid(get_func_variadictype(call->funcid)))
		return args;
	return list_concat(list_delete_last(args), array->elements);
}

static bool
walk(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Query:
		{
			const Query *query = (Query *) node;

			if (query->utilityStmt != NULL && IsA(query->utilityStmt, CallStmt))
				(void) walk((Node *) ((CallStmt *) query->utilityStmt)->funcexpr, context);
			return query_tree_walker((Query *) node, walk, context, 0);
		}
		case T_FuncExpr:
			if (((FuncExpr *) node)->funcformat == COERCE_EXPLICIT_CALL ||
				((FuncExpr *) node)->funcformat == COERCE_SQL_SYNTAX)
				look_at_function(((FuncExpr *) node)->funcid,
								 given_types(arguments((FuncExpr *) node)));
			break;
		case T_WindowFunc:
			look_at_function(((WindowFunc *) node)->winfnoid,
							 given_types(((WindowFunc *) node)->args));
			break;
		case T_Aggref:
		{
			List *args = NIL;
			ListCell *cell;

			foreach (cell, ((Aggref *) node)->args)
			{
				if (!lfirst_node(TargetEntry, cell)->resjunk)
					args = lappend(args, lfirst_node(TargetEntry, cell)->expr);
			}
			if (((Aggref *) node)->aggkind == AGGKIND_NORMAL)
				look_at_function(((Aggref *) node)->aggfnoid, given_types(args));
			break;
		}
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		{
			List *types = given_types(((OpExpr *) node)->args);

			look_at_operator(((OpExpr *) node)->opno,
							 list_length(types) == 2 ? linitial_oid(types) : InvalidOid,
							 llast_oid(types));
			break;
		}
		case T_ScalarArrayOpExpr:
		{
			List *types = given_types(((ScalarArrayOpExpr *) node)->args);

			look_at_operator(((ScalarArrayOpExpr *) node)->opno, linitial_oid(types),
							 get_base_element_type(lsecond_oid(types)));
			break;
		}
		case T_RowCompareExpr:
		{
			const RowCompareExpr *compared = (RowCompareExpr *) node;
			ListCell *left;
			ListCell *right;
			ListCell *operator;

			forthree(operator, compared->opnos, left, compared->largs, right, compared->rargs)
				look_at_operator(lfirst_oid(operator), given_type(lfirst(left)),
								 given_type(lfirst(right)));
			break;
		}
		default:
			break;
	}
	return expression_tree_walker(node, walk, context);
}

/* 19 lets hooks only read it. */
#if PG_VERSION_NUM >= 190000
#define HookJumble const JumbleState
#else
#define HookJumble JumbleState
#endif

static void
analyzed(ParseState *pstate, Query *query, HookJumble *jumble)
{
	if (next != NULL)
		next(pstate, query, jumble);
	if (pstate->p_sourcetext == debug_query_string)
		return;
	source = pstate->p_sourcetext;
	(void) walk((Node *) query, NULL);
	source = NULL;
}

/* What is stored: the query of a view, the body of a function, a default, a condition. */
PG_FUNCTION_INFO_V1(calls_of);
Datum
calls_of(PG_FUNCTION_ARGS)
{
	(void) walk(stringToNode(text_to_cstring(PG_GETARG_TEXT_PP(0))), NULL);
	PG_RETURN_VOID();
}

void
_PG_init(void)
{
	next = post_parse_analyze_hook;
	post_parse_analyze_hook = analyzed;
}
