/*
 * member_constant.c
 *	  The definition of an entity's items as a constant in plans, which EXPLAIN shows by its name.
 *
 * A view has the definition as a text, so that it is dumped.  When a statement is planned, the call
 *
 *		dynamo_internal.is_entity(item, '{"entity": "Project", "keys": …}', pk)
 *
 * becomes the one of another signature, whose constant of type dynamo_internal.entity has the same
 * bytes and prints as 'Project'.  Nothing is concluded from the type: the bytes are parsed as those of
 * a text are.  No value of it can be given, as the name alone does not say what the definition is.
 */
#include "postgres.h"

#include "catalog/pg_class_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "models/view/member_plan.h"
#include "server/extension.h"

#define TYPE_NAME "entity"

/* Refuses values, as the input function of dynamo_internal.entity. */
PG_FUNCTION_INFO_V1(dyn_entity_in);
Datum
dyn_entity_in(PG_FUNCTION_ARGS)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot accept a value of type %s", DYN_INTERNAL "." TYPE_NAME),
					errdetail("Its values are in plans only, and are shown by the names of the"
							  " entities.")));
	PG_RETURN_VOID();
}

/* Shows the entity's name, as the output function of dynamo_internal.entity. */
PG_FUNCTION_INFO_V1(dyn_entity_out);
Datum
dyn_entity_out(PG_FUNCTION_ARGS)
{
	ItemSpan name = member_parse(text_span(PG_GETARG_TEXT_PP(0)))->entity->name;

	PG_RETURN_CSTRING(span_string(name));
}

/*
 * Finds the type, not by a name that is looked up, which needs USAGE on the schema: a role that
 * reads a view need not have that.
 */
static Oid
entity_type(Oid schema)
{
	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(TYPE_NAME),
						   ObjectIdGetDatum(schema));
}

/* Finds the same function with the definition as a constant of the type, unless it is that one. */
static Oid
entity_function(Oid function, Oid schema, Oid type)
{
	Oid *arguments;
	int n;

	(void) get_func_signature(function, &arguments, &n);
	if (n != MEMBER_ARGUMENTS || arguments[MEMBER_DEFINITION_ARGUMENT] == type)
		return InvalidOid;
	arguments[MEMBER_DEFINITION_ARGUMENT] = type;
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(get_func_name(function)),
						   PointerGetDatum(buildoidvector(arguments, n)), ObjectIdGetDatum(schema));
}

/*
 * Returns whether a condition may go elsewhere as a text: postgres_fdw may send one on a foreign
 * table, and so does Citus with one on a distributed table.
 */
static bool
is_elsewhere(const PlannerInfo *root, const Node *item)
{
	const Var *var = (const Var *) item;
	const RangeTblEntry *rte;

	if (!IsA(item, Var) || var->varlevelsup != 0 || var->varno <= 0 ||
		(int) var->varno > list_length(root->parse->rtable))
		return false;
	rte = rt_fetch(var->varno, root->parse->rtable);
	return rte->relkind == RELKIND_FOREIGN_TABLE ||
		   (rte->rtekind == RTE_RELATION && member_distribution_column(rte->relid) != 0);
}

/*
 * Returns the call of dyn_is_entity() with its definition as a constant that EXPLAIN shows by name,
 * or NULL.  An expression that is not planned stays as it is: Citus simplifies what it sends to
 * other nodes as a text.
 */
Node *
member_simplify(const SupportRequestSimplify *request)
{
	const FuncExpr *call = request->fcall;
	Oid schema = get_func_namespace(call->funcid);
	Const *definition;
	FuncExpr *new;
	Oid function;
	Oid type;

	if (request->root == NULL || list_length(call->args) != MEMBER_ARGUMENTS ||
		is_elsewhere(request->root, list_nth(call->args, MEMBER_ITEM_ARGUMENT)))
		return NULL;
	definition = list_nth(call->args, MEMBER_DEFINITION_ARGUMENT);
	if (!IsA(definition, Const) || definition->consttype != TEXTOID || definition->constisnull)
		return NULL;
	type = entity_type(schema);
	function = entity_function(call->funcid, schema, type);
	if (!OidIsValid(type) || !OidIsValid(function))
		return NULL;
	new = copyObject((FuncExpr *) call);
	new->funcid = function;
	definition = list_nth(new->args, MEMBER_DEFINITION_ARGUMENT);
	definition->consttype = type;
	definition->constcollid = InvalidOid;
	return (Node *) new;
}
