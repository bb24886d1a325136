/*
 * cast.c
 *	  Casts of values to PostgreSQL's numbers and to boolean, as jsonb has them.
 *
 * A value of DynamoDB's type NULL is NULL; one of another type than that of the target is an error.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/fmgrprotos.h"

#include "item/item.h"

/* Sets *value to the argument, which must have the type; returns false if it is NULL. */
static bool
read_value(FunctionCallInfo fcinfo, ItemType type, const char *target, ItemSpan *value)
{
	ItemType given;

	*value = item_root(PG_GETARG_DYN_ITEM(0));
	given = item_type(*value);

	if (given == ITEM_NULL)
		return false;
	if (given != type)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot cast a value of type %s to type %s", item_type_code(given), target),
				 given == ITEM_S ? errhint("The operator ->> gives its text.") : 0));
	return true;
}

/* Casts an N to the target by one of numeric's casts. */
static Datum
cast_number(FunctionCallInfo fcinfo, const char *target, PGFunction cast)
{
	ItemSpan number;
	Datum numeric;

	if (!read_value(fcinfo, ITEM_N, target, &number))
		PG_RETURN_NULL();
	numeric = NumericGetDatum(item_number_to_numeric(item_payload(number)));
	return cast == NULL ? numeric : DirectFunctionCall1(cast, numeric);
}

PG_FUNCTION_INFO_V1(dyn_value_to_numeric);
Datum
dyn_value_to_numeric(PG_FUNCTION_ARGS)
{
	return cast_number(fcinfo, "numeric", NULL);
}

PG_FUNCTION_INFO_V1(dyn_value_to_integer);
Datum
dyn_value_to_integer(PG_FUNCTION_ARGS)
{
	return cast_number(fcinfo, "integer", numeric_int4);
}

PG_FUNCTION_INFO_V1(dyn_value_to_bigint);
Datum
dyn_value_to_bigint(PG_FUNCTION_ARGS)
{
	return cast_number(fcinfo, "bigint", numeric_int8);
}

PG_FUNCTION_INFO_V1(dyn_value_to_float);
Datum
dyn_value_to_float(PG_FUNCTION_ARGS)
{
	return cast_number(fcinfo, "double precision", numeric_float8);
}

PG_FUNCTION_INFO_V1(dyn_value_to_boolean);
Datum
dyn_value_to_boolean(PG_FUNCTION_ARGS)
{
	ItemSpan value;

	if (!read_value(fcinfo, ITEM_BOOL, "boolean", &value))
		PG_RETURN_NULL();
	PG_RETURN_BOOL(item_bool(value));
}
