/*
 * json.c
 *	  Casts between items and plain JSON.
 *
 * Plain JSON has no sets, no bytes and no U+0000 in jsonb: on the way out sets become
 * arrays and bytes base64, on the way in there is none of them.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "item/build.h"
#include "server/compat.h"
#include "server/errors.h"

/* text and jsonb cannot hold U+0000. */
void
item_forbid_nul(ItemSpan s)
{
	if (memchr(s.data, '\0', s.len) != NULL)
		ereport(ERROR, (errcode(ERRCODE_UNTRANSLATABLE_CHARACTER), errmsg("string contains U+0000"),
						errdetail("Neither text nor jsonb can hold this character."),
						errhint("Read it as dyn_item or dyn_value.")));
}

/* Returns whether a map looks like a value of DynamoDB JSON: {"S": ...}. */
static bool
is_typed(ItemSpan map)
{
	ItemChildren c = item_children(map);
	ItemSpan name;

	if (c.count != 1)
		return false;
	item_entry(item_child(&c, 0), &name);
	return item_type_from_code(name) != 0;
}

/* Returns whether each attribute of a map looks like such a value. */
static bool
looks_typed(ItemSpan root)
{
	ItemMembers m = item_members(root);

	for (; item_next(&m);)
	{
		if (item_type(m.value) != ITEM_M || !is_typed(m.value))
			return false;
	}
	return m.n > 0;
}

/*
 * Returns the item, unless it looks like DynamoDB JSON that was read as plain JSON.  A driver that
 * sends DynamoDB JSON as a json parameter must not store an item of maps: every real item has a key,
 * which is no map.
 */
DynItem *
item_refuse_typed(DynItem *item)
{
	if (looks_typed(item_root(item)))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid item: DynamoDB JSON in a json or jsonb value"),
						errdetail("Values of these types are read as plain JSON."),
						errhint("Pass the text as dyn_item: $1::dyn_item or $1::text::dyn_item.")));
	return item;
}

/* Does the same for one value: {"S": ...} is a typed one, and not a map. */
DynItem *
item_refuse_typed_value(DynItem *value)
{
	ItemSpan root = item_root(value);

	if (item_type(root) == ITEM_M && is_typed(root))
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("invalid value: DynamoDB JSON in a json or jsonb value"),
			 errdetail("Values of these types are read as plain JSON."),
			 errhint("Pass the text, without a type or as text; there a map is {\"M\": ...}.")));
	return value;
}

PG_FUNCTION_INFO_V1(dyn_item_from_json);
Datum
dyn_item_from_json(PG_FUNCTION_ARGS)
{
	text *json = PG_GETARG_TEXT_PP(0);

	PG_RETURN_POINTER(item_refuse_typed(
		item_parse(VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json), ITEM_SYNTAX_PLAIN_ITEM, NULL)));
}

/*
 * jsonb in
 */

static void
fail_jsonb(const ItemBuilder *b, int depth, const char *message)
{
	StringInfoData path;

	initStringInfo(&path);
	item_build_path(b, depth, &path);
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid item: %s", message),
					path.len > 0 ? errdetail("In attribute \"%s\".", path.data) : 0));
}

static void
build_numeric(ItemBuilder *b, Numeric numeric)
{
	char number[ITEM_NUMBER_SIZE];
	int len = item_number_from_numeric(numeric, number);

	if (len < 0)
		fail_jsonb(b, b->depth, psprintf("number %s", item_number_error(len)));
	item_build_scalar(b, ITEM_N, (ItemSpan){number, (uint32) len});
}

static void
build_jsonb_name(ItemBuilder *b, const JsonbValue *v)
{
	ItemSpan name = {v->val.string.val, (uint32) v->val.string.len};

	if (name.len == 0)
		fail_jsonb(b, b->depth - 1, "empty attribute name");
	if (name.len > ITEM_MAX_NAME)
		fail_jsonb(b, b->depth - 1,
				   psprintf("attribute name is longer than %d bytes", ITEM_MAX_NAME));
	item_build_name(b, name);
}

static void
build_jsonb_scalar(ItemBuilder *b, const JsonbValue *v)
{
	switch (v->type)
	{
		case jbvNull:
			item_build_null(b);
			break;
		case jbvString:
			item_build_scalar(b, ITEM_S, (ItemSpan){v->val.string.val, (uint32) v->val.string.len});
			break;
		case jbvNumeric:
			build_numeric(b, v->val.numeric);
			break;
		case jbvBool:
			item_build_bool(b, v->val.boolean);
			break;
		default:
			elog(ERROR, "unexpected jsonb value type %d", (int) v->type);
	}
}

static void
build_jsonb_begin(ItemBuilder *b, ItemType type)
{
	if (!item_build_may_begin(b, type))
		fail_jsonb(b, b->depth, psprintf("more than %d levels of nesting", ITEM_MAX_NESTING));
	item_build_begin(b, type);
}

/* Adds any value at the builder's place. */
void
item_build_jsonb(ItemBuilder *b, Datum datum)
{
	Jsonb *jsonb = DatumGetJsonbP(datum);
	JsonbIterator *it = JsonbIteratorInit(&jsonb->root);
	int depth = b->depth;
	JsonbIteratorToken token;
	JsonbValue v;

	if (JB_ROOT_IS_SCALAR(jsonb))
	{
		JsonbExtractScalar(&jsonb->root, &v);
		build_jsonb_scalar(b, &v);
		return;
	}
	while ((token = JsonbIteratorNext(&it, &v, false)) != WJB_DONE)
	{
		bool begins = token == WJB_BEGIN_OBJECT || token == WJB_BEGIN_ARRAY;

		if (begins && b->depth > depth && b->frames[b->depth - 1].type == ITEM_L)
			item_build_element(b);
		switch (token)
		{
			case WJB_BEGIN_OBJECT:
				build_jsonb_begin(b, ITEM_M);
				break;
			case WJB_BEGIN_ARRAY:
				build_jsonb_begin(b, ITEM_L);
				break;
			case WJB_KEY:
				build_jsonb_name(b, &v);
				break;
			case WJB_ELEM:
				item_build_element(b);
				build_jsonb_scalar(b, &v);
				break;
			case WJB_VALUE:
				build_jsonb_scalar(b, &v);
				break;
			default:
				/* jsonb has no duplicate keys, and there are no sets here. */
				(void) item_build_end(b);
		}
	}
}

PG_FUNCTION_INFO_V1(dyn_item_from_jsonb);
Datum
dyn_item_from_jsonb(PG_FUNCTION_ARGS)
{
	Jsonb *jsonb = PG_GETARG_JSONB_P(0);
	ItemBuilder b;
	DynItem *item;

	if (!JB_ROOT_IS_OBJECT(jsonb))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid item: an item must be a JSON object")));
	item_build_init(&b, VARSIZE(jsonb));
	item_build_jsonb(&b, JsonbPGetDatum(jsonb));
	item = item_build_finish(&b);
	item_check_size(item_root(item));
	PG_RETURN_POINTER(item_refuse_typed(item));
}

/*
 * Plain JSON out
 */

PG_FUNCTION_INFO_V1(dyn_value_to_json);
Datum
dyn_value_to_json(PG_FUNCTION_ARGS)
{
	StringInfoData out;

	initStringInfo(&out);
	item_print_plain(&out, item_root(PG_GETARG_DYN_ITEM(0)));
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

static JsonbValue
jsonb_string(ItemSpan s)
{
	JsonbValue v;

	item_forbid_nul(s);
	v.type = jbvString;
	v.val.string.val = (char *) s.data;
	v.val.string.len = (int) s.len;
	return v;
}

/* Returns a scalar's payload as a jsonb scalar. */
static JsonbValue
jsonb_scalar(ItemType type, ItemSpan payload)
{
	JsonbValue v;
	int len;

	if (type == ITEM_S)
		return jsonb_string(payload);
	if (type == ITEM_N)
	{
		v.type = jbvNumeric;
		v.val.numeric = item_number_to_numeric(payload);
		return v;
	}
	v.type = jbvString;
	v.val.string.val = item_base64(payload, &len);
	v.val.string.len = len;
	return v;
}

static void push_value(JsonbInState *state, JsonbIteratorToken token, ItemSpan value);

static void
push_map(JsonbInState *state, ItemSpan map)
{
	push_jsonb(state, WJB_BEGIN_OBJECT, NULL);
	for (ItemMembers m = item_members(map); item_next(&m);)
	{
		JsonbValue key = jsonb_string(m.name);

		push_jsonb(state, WJB_KEY, &key);
		push_value(state, WJB_VALUE, m.value);
	}
	push_jsonb(state, WJB_END_OBJECT, NULL);
}

static void
push_elements(JsonbInState *state, ItemSpan value)
{
	ItemChildren c = item_children(value);
	ItemType type = item_type(value);

	push_jsonb(state, WJB_BEGIN_ARRAY, NULL);
	for (uint32 i = 0; i < c.count; i++)
	{
		ItemSpan child = item_child(&c, i);
		JsonbValue scalar;

		if (type == ITEM_L)
		{
			push_value(state, WJB_ELEM, child);
			continue;
		}
		scalar = jsonb_scalar(item_element_type(type), child);
		push_jsonb(state, WJB_ELEM, &scalar);
	}
	push_jsonb(state, WJB_END_ARRAY, NULL);
}

static JsonbValue
jsonb_leaf(ItemSpan value)
{
	JsonbValue v;

	if (item_type(value) == ITEM_NULL)
		v.type = jbvNull;
	else if (item_type(value) == ITEM_BOOL)
	{
		v.type = jbvBool;
		v.val.boolean = item_bool(value);
	}
	else
		return jsonb_scalar(item_type(value), item_payload(value));
	return v;
}

static void
push_value(JsonbInState *state, JsonbIteratorToken token, ItemSpan value)
{
	JsonbValue leaf;

	check_stack_depth();
	if (item_type(value) == ITEM_M)
		push_map(state, value);
	else if (item_type_has_children(item_type(value)))
		push_elements(state, value);
	else
	{
		leaf = jsonb_leaf(value);
		push_jsonb(state, token, &leaf);
	}
}

/*
 * Returns a value as plain jsonb, without type codes: sets become arrays, B becomes a string in
 * base64.  Raises an error if a name or string contains U+0000, which jsonb cannot hold.
 */
Datum
item_to_jsonb(ItemSpan value)
{
	JsonbInState state = {0};
	JsonbValue leaf;

	if (item_type_has_children(item_type(value)))
		push_value(&state, WJB_VALUE, value);
	else
	{
		leaf = jsonb_leaf(value);
		state.result = &leaf;
	}
	return JsonbPGetDatum(JsonbValueToJsonb(state.result));
}

PG_FUNCTION_INFO_V1(dyn_value_to_jsonb);
Datum
dyn_value_to_jsonb(PG_FUNCTION_ARGS)
{
	return item_to_jsonb(item_root(PG_GETARG_DYN_ITEM(0)));
}
