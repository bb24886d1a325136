/*
 * attribute.c
 *	  dynamo_internal.attribute(): an attribute of an item as a value of SQL.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "models/value/value.h"
#include "server/arguments.h"
#include "server/call_site.h"
#include "server/errors.h"

/* A CallSite keeps what a call site needs again. */
typedef struct CallSite
{
	ValueType type;
	bool constant; /* the type is */
	ItemSpan name; /* a copy of a constant; without data: it is none */
	uint32 place; /* where it was found last */
	ValueReader *reader; /* NULL: none was needed yet */
	MemoryContext context;
} CallSite;

static ValueType
type_argument(FunctionCallInfo fcinfo, int i)
{
	ItemSpan code;
	ValueType type;

	argument_require(fcinfo, i, "type");
	code = text_span(PG_GETARG_TEXT_PP(i));
	if (!value_code_parse(code, &type))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid type \"%s\" of an attribute", item_quoted(code)),
						errhint("Use a code of DynamoDB's, like S, N or SS.")));
	return type;
}

/* Returns the type modifier of the sample; that of an array is one of its elements. */
static int32
sample_typmod(FunctionCallInfo fcinfo)
{
	const FuncExpr *call = (const FuncExpr *) fcinfo->flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) ? exprTypmod(lfourth(call->args)) : -1;
}

/*
 * Makes a site's state, with a constant type, as in views, in the memory of the expression: a
 * statement for one row has many call sites, and for each a memory context costs more than the
 * call.
 */
static CallSite *
make_site(FunctionCallInfo fcinfo, ValueType type)
{
	bool constant = call_argument_is_constant(fcinfo->flinfo, 2);
	MemoryContext context =
		constant ? fcinfo->flinfo->fn_mcxt
				 : AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "dynamo_table attribute reader",
										 ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CallSite *site = palloc0(sizeof(CallSite));

	site->constant = constant;
	if (constant && call_argument_is_constant(fcinfo->flinfo, 1))
		site->name = text_span(PG_GETARG_TEXT_P_COPY(1));
	site->context = context;
	/* not by its name: a role that reads a view needs no USAGE on the type's schema */
	site->type = type;
	site->type.sql = get_fn_expr_rettype(fcinfo->flinfo);
	site->type.typmod = sample_typmod(fcinfo);
	MemoryContextSwitchTo(old);
	return site;
}

static CallSite *
get_site(FunctionCallInfo fcinfo)
{
	CallSite *site = fcinfo->flinfo->fn_extra;
	ValueType type;

	if (site != NULL && site->constant)
		return site;
	type = type_argument(fcinfo, 2);
	if (site != NULL && site->type.type == type.type && site->type.length == type.length)
		return site;
	fcinfo->flinfo->fn_extra = NULL;
	if (site != NULL)
		MemoryContextDelete(site->context);
	return fcinfo->flinfo->fn_extra = make_site(fcinfo, type);
}

/* The SQL type is that of the sample, so it follows whatever happens to that type's name. */
static ValueReader *
get_reader(CallSite *site)
{
	if (site->reader == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(site->context);

		site->reader = value_reader(&site->type);
		MemoryContextSwitchTo(old);
	}
	return site->reader;
}

/*
 * dynamo_internal.attribute(item, name, type, sample), and
 * dynamo_internal.domain_attribute(item, name, type, array): the sample of a domain is a NULL array of
 * it, since a NULL of the domain itself would be checked, and may be refused.
 */
PG_FUNCTION_INFO_V1(dyn_attribute_value);
Datum
dyn_attribute_value(PG_FUNCTION_ARGS)
{
	ItemChildren attributes;
	ItemSpan attribute;
	ItemSpan name;
	CallSite *site;
	Datum value;

	argument_require(fcinfo, 1, "name");
	site = get_site(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	attributes = item_children(item_root(PG_GETARG_DYN_ITEM(0)));
	name = site->name.data == NULL ? text_span(PG_GETARG_TEXT_PP(1)) : site->name;
	if (!item_find_near(&attributes, name, &site->place, &attribute) ||
		!value_read(get_reader(site), attribute, true, &value))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(value);
}
