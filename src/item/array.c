/*
 * array.c
 *	  Arrays of items and of values, made of JSON arrays.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "item/reader.h"

/* These stand in messages. */
#define ITEMS "array of items"
#define VALUES "array of values"

#define JSON_SPACE " \t\n\r"

/* The array type is what the function returns: the extension may be in any schema. */
static Datum
read_array(FunctionCallInfo fcinfo, const text *json, const char *what, ItemSyntax syntax)
{
	Oid type = get_element_type(get_func_rettype(fcinfo->flinfo->fn_oid));
	ArrayBuildState *items = initArrayResult(type, CurrentMemoryContext, false);
	JsonReader reader;

	json_reader_init_argument(&reader, json, what);
	/* as the input of the type */
	reader.stored = true;
	for (json_read_array(&reader); json_read_element(&reader);)
	{
		DynItem *item = json_read_item(&reader, syntax);

		CHECK_FOR_INTERRUPTS();
		if (syntax == ITEM_SYNTAX_PLAIN_ITEM)
			item = item_refuse_typed(item);
		else if (syntax == ITEM_SYNTAX_PLAIN_VALUE)
			item = item_refuse_typed_value(item);
		(void) accumArrayResult(items, PointerGetDatum(item), false, type, CurrentMemoryContext);
		pfree(item);
	}
	json_reader_done(&reader);
	return makeArrayResult(items, CurrentMemoryContext);
}

/* Reads a json array of plain JSON objects. */
PG_FUNCTION_INFO_V1(dyn_items_from_json);
Datum
dyn_items_from_json(PG_FUNCTION_ARGS)
{
	return read_array(fcinfo, PG_GETARG_TEXT_PP(0), ITEMS, ITEM_SYNTAX_PLAIN_ITEM);
}

static text *
jsonb_text(Jsonb *jsonb)
{
	return cstring_to_text(JsonbToCString(NULL, &jsonb->root, VARSIZE(jsonb)));
}

/* Reads a jsonb array of plain JSON objects. */
PG_FUNCTION_INFO_V1(dyn_items_from_jsonb);
Datum
dyn_items_from_jsonb(PG_FUNCTION_ARGS)
{
	return read_array(fcinfo, jsonb_text(PG_GETARG_JSONB_P(0)), ITEMS, ITEM_SYNTAX_PLAIN_ITEM);
}

/* Reads a json array of plain JSON. */
PG_FUNCTION_INFO_V1(dyn_values_from_json);
Datum
dyn_values_from_json(PG_FUNCTION_ARGS)
{
	return read_array(fcinfo, PG_GETARG_TEXT_PP(0), VALUES, ITEM_SYNTAX_PLAIN_VALUE);
}

/* Reads a jsonb array of plain JSON. */
PG_FUNCTION_INFO_V1(dyn_values_from_jsonb);
Datum
dyn_values_from_jsonb(PG_FUNCTION_ARGS)
{
	return read_array(fcinfo, jsonb_text(PG_GETARG_JSONB_P(0)), VALUES, ITEM_SYNTAX_PLAIN_VALUE);
}

/* The elements of an array are items, in double quotes; a member of a JSON object begins with its name. */
static bool
is_json(const char *text)
{
	text += strspn(text, JSON_SPACE);
	if (*text != '{')
		return *text == '[';
	text += 1 + strspn(text + 1, JSON_SPACE);
	return *text == '"' && text[1 + strspn(text + 1, JSON_SPACE)] != '{';
}

/*
 * Reads a JSON array of DynamoDB JSON, or what the type of arrays of items reads: drivers that send
 * parameters without a type send arrays in that form.
 */
PG_FUNCTION_INFO_V1(dyn_items_from_text);
Datum
dyn_items_from_text(PG_FUNCTION_ARGS)
{
	text *items = PG_GETARG_TEXT_PP(0);
	char *array = text_to_cstring(items);
	Oid input;
	Oid element;

	if (is_json(array))
		return read_array(fcinfo, items, ITEMS, ITEM_SYNTAX_ITEM);
	getTypeInputInfo(get_func_rettype(fcinfo->flinfo->fn_oid), &input, &element);
	return OidInputFunctionCall(input, array, element, -1);
}
