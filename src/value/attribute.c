/*
 * attribute.c
 *	  dyn_attribute(): an attribute of an item as a value of SQL.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/memutils.h"

#include "ground/arguments.h"
#include "ground/errors.h"
#include "value/value.h"

/* What a call site needs again: a reader for a type. */
typedef struct AttributeReader
{
	ValueType type;
	ValueReader *reader;
	MemoryContext context; /* for as long as the type of DynamoDB's is the same */
} AttributeReader;

static ItemType
type_argument(FunctionCallInfo fcinfo, int i)
{
	ItemSpan code;
	ItemType type;

	argument_require(fcinfo, i, "type");
	code = text_span(PG_GETARG_TEXT_PP(i));
	type = item_type_from_code(code);
	if (type == 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid type \"%s\" of an attribute", item_quoted(code)),
						errhint("Use a code of DynamoDB's, like S, N or SS.")));
	return type;
}

/* The SQL type is the sample's, so it follows whatever happens to that type's name. */
static ValueReader *
get_reader(FunctionCallInfo fcinfo, ItemType type)
{
	AttributeReader *known = fcinfo->flinfo->fn_extra;
	MemoryContext context;
	MemoryContext old;

	if (known != NULL && known->type.type == type)
		return known->reader;
	fcinfo->flinfo->fn_extra = NULL;
	if (known != NULL)
		MemoryContextDelete(known->context);
	context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "dynamo_table attribute reader",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	known = palloc0(sizeof(AttributeReader));
	known->context = context;
	/* not by its name: a role that reads a view needs no USAGE on the type's schema */
	known->type = (ValueType){type, get_fn_expr_argtype(fcinfo->flinfo, 3), -1};
	known->reader = value_reader(&known->type);
	fcinfo->flinfo->fn_extra = known;
	MemoryContextSwitchTo(old);
	return known->reader;
}

/* dyn_attribute(item, name, type, sample) */
PG_FUNCTION_INFO_V1(dyn_attribute_value);
Datum
dyn_attribute_value(PG_FUNCTION_ARGS)
{
	ItemType type;
	ItemChildren attributes;
	ItemSpan attribute;
	Datum value;

	argument_require(fcinfo, 1, "name");
	type = type_argument(fcinfo, 2);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	attributes = item_children(item_root(PG_GETARG_DYN_ITEM(0)));
	if (!item_find(&attributes, text_span(PG_GETARG_TEXT_PP(1)), &attribute) ||
		!value_read(get_reader(fcinfo, type), attribute, true, &value))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(value);
}
