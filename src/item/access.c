/*
 * access.c
 *	  Reaching into an item from SQL: -> ->> #> #>> and ?, for dyn_item and dyn_value.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "item/item.h"

/* Counts from 0, or back from the end with a negative number, as jsonb's operator does. */
static bool
get_element(ItemSpan value, int64 index, ItemSpan *out)
{
	ItemChildren c;

	if (item_type(value) != ITEM_L)
		return false;
	c = item_children(value);
	if (index < 0)
		index += c.count;
	if (index < 0 || index >= c.count)
		return false;
	*out = item_child(&c, (uint32) index);
	return true;
}

/* The whole step has to be an integer. */
static bool
step_index(ItemSpan step, int64 *index)
{
	bool negative = step.len > 0 && step.data[0] == '-';

	*index = 0;
	if (step.len == negative)
		return false;
	for (uint32 i = negative; i < step.len; i++)
	{
		if (step.data[i] < '0' || step.data[i] > '9' || *index > PG_INT32_MAX)
			return false;
		*index = *index * 10 + (step.data[i] - '0');
	}
	if (negative)
		*index = -*index;
	return true;
}

/* Follow a path of names and list indexes; a NULL step leads nowhere. */
static bool
get_path(ItemSpan value, ArrayType *path, ItemSpan *out)
{
	Datum *steps;
	bool *nulls;
	int nsteps;

	deconstruct_array(path, TEXTOID, -1, false, TYPALIGN_INT, &steps, &nulls, &nsteps);
	for (int i = 0; i < nsteps; i++)
	{
		ItemSpan step;
		int64 index;

		if (nulls[i])
			return false;
		step = text_span(DatumGetTextPP(steps[i]));
		if (item_type(value) == ITEM_M)
		{
			if (!item_lookup(value, step, &value))
				return false;
		}
		else if (!step_index(step, &index) || !get_element(value, index, &value))
			return false;
	}
	*out = value;
	return true;
}

/*
 * Returns a value as text: strings as they are, others as plain JSON.  NULL is SQL's NULL, as
 * jsonb's ->> has it.
 */
static bool
value_to_text(ItemSpan value, text **out)
{
	ItemSpan payload = item_payload(value);
	StringInfoData plain;
	char number[ITEM_NUMBER_TEXT];

	switch (item_type(value))
	{
		case ITEM_NULL:
			return false;
		case ITEM_S:
			item_forbid_nul(payload);
			*out = cstring_to_text_with_len(payload.data, payload.len);
			return true;
		case ITEM_N:
			*out = cstring_to_text_with_len(number, item_number_print(payload, number));
			return true;
		case ITEM_B:
			payload.data = item_base64(payload, (int *) &payload.len);
			*out = cstring_to_text_with_len(payload.data, payload.len);
			return true;
		case ITEM_BOOL:
		case ITEM_L:
		case ITEM_M:
		case ITEM_SS:
		case ITEM_NS:
		case ITEM_BS:
			break;
	}
	initStringInfo(&plain);
	item_print_plain(&plain, value);
	*out = cstring_to_text_with_len(plain.data, plain.len);
	return true;
}

static Datum
return_value(FunctionCallInfo fcinfo, bool found, ItemSpan value)
{
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(item_from_value(value));
}

static Datum
return_text(FunctionCallInfo fcinfo, bool found, ItemSpan value)
{
	text *out;

	if (!found || !value_to_text(value, &out))
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(out);
}

PG_FUNCTION_INFO_V1(dyn_attribute);
Datum
dyn_attribute(PG_FUNCTION_ARGS)
{
	ItemSpan root = item_root(PG_GETARG_DYN_ITEM(0));
	ItemSpan value = {NULL, 0};
	bool found = item_lookup(root, text_span(PG_GETARG_TEXT_PP(1)), &value);

	return return_value(fcinfo, found, value);
}

PG_FUNCTION_INFO_V1(dyn_attribute_text);
Datum
dyn_attribute_text(PG_FUNCTION_ARGS)
{
	ItemSpan root = item_root(PG_GETARG_DYN_ITEM(0));
	ItemSpan value = {NULL, 0};
	bool found = item_lookup(root, text_span(PG_GETARG_TEXT_PP(1)), &value);

	return return_text(fcinfo, found, value);
}

PG_FUNCTION_INFO_V1(dyn_element);
Datum
dyn_element(PG_FUNCTION_ARGS)
{
	ItemSpan root = item_root(PG_GETARG_DYN_ITEM(0));
	ItemSpan value = {NULL, 0};
	bool found = get_element(root, PG_GETARG_INT32(1), &value);

	return return_value(fcinfo, found, value);
}

PG_FUNCTION_INFO_V1(dyn_element_text);
Datum
dyn_element_text(PG_FUNCTION_ARGS)
{
	ItemSpan root = item_root(PG_GETARG_DYN_ITEM(0));
	ItemSpan value = {NULL, 0};
	bool found = get_element(root, PG_GETARG_INT32(1), &value);

	return return_text(fcinfo, found, value);
}

PG_FUNCTION_INFO_V1(dyn_path);
Datum
dyn_path(PG_FUNCTION_ARGS)
{
	ItemSpan root = item_root(PG_GETARG_DYN_ITEM(0));
	ItemSpan value = {NULL, 0};
	bool found = get_path(root, PG_GETARG_ARRAYTYPE_P(1), &value);

	return return_value(fcinfo, found, value);
}

PG_FUNCTION_INFO_V1(dyn_path_text);
Datum
dyn_path_text(PG_FUNCTION_ARGS)
{
	ItemSpan root = item_root(PG_GETARG_DYN_ITEM(0));
	ItemSpan value = {NULL, 0};
	bool found = get_path(root, PG_GETARG_ARRAYTYPE_P(1), &value);

	return return_text(fcinfo, found, value);
}

PG_FUNCTION_INFO_V1(dyn_has_attribute);
Datum
dyn_has_attribute(PG_FUNCTION_ARGS)
{
	ItemSpan root = item_root(PG_GETARG_DYN_ITEM(0));
	ItemSpan value;

	PG_RETURN_BOOL(item_lookup(root, text_span(PG_GETARG_TEXT_PP(1)), &value));
}
