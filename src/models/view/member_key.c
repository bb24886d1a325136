/*
 * member_key.c
 *	  Keys of an entity's items by values of SQL: what the planner compares key columns with.
 *
 * No value raises an error: one that cannot be in a key is in no item's key, so nothing is equal to
 * what comes out, NULL.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "catalog/key.h"
#include "models/view/member.h"
#include "server/arguments.h"
#include "server/call_site.h"
#include "server/errors.h"
#include "server/extension.h"

/* A date in ISO 8601 has so many characters. */
#define ISO_DATE 10

/* So many characters of 4 bytes are longer than any key. */
#define HIGHEST (DYN_MAX_PARTITION_KEY / 4 + 1)

/* Returns what a column holds; those of other types hold no keys: 0. */
ItemType
member_column_type(Oid column)
{
	switch (column)
	{
		case TEXTOID:
			return ITEM_S;
		case NUMERICOID:
			return ITEM_N;
		case BYTEAOID:
			return ITEM_B;
		default:
			return 0;
	}
}

/* Returns an item of one attribute, or NULL if an attribute of that type cannot hold the value. */
static DynItem *
try_item(ItemSpan name, const ValueType *type, Datum value)
{
	MemoryContext context = CurrentMemoryContext;
	ValueWriter *writer = value_writer(type);
	DynItem *volatile item = NULL;

	/* writing takes memory and nothing else, so there is nothing to roll back */
	PG_TRY();
	{
		ItemBuilder b;

		item_build_init(&b, 0);
		item_build_begin(&b, ITEM_M);
		if (!value_is_absent(writer, value))
		{
			item_build_name(&b, name);
			value_write(writer, &b, value);
		}
		(void) item_build_end(&b);
		item = item_build_finish(&b);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_DYN_VALIDATION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	return item;
}

static DynItem *
attribute_item(const Member *member, const TemplatePart *part, Oid sql, Datum value)
{
	ValueType type = {.sql = sql, .typmod = -1};

	for (int i = 0; i < member->entity->nattributes; i++)
	{
		const EntityAttribute *attribute = &member->entity->attributes[i];

		if (item_compare_bytes(attribute->stored, part->path[0]) == 0)
			type.type = attribute->type.type;
	}
	return type.type == 0 ? NULL : try_item(part->path[0], &type, value);
}

/* Renders a placeholder that is the whole key: the attribute with its type. */
static bool
render_whole(const TemplatePart *part, ItemType type, const DynItem *item, Datum *result)
{
	ItemSpan value;

	if (item == NULL || !template_find(part, item_root(item), &value) || item_type(value) != type)
		return false;
	*result = dyn_key_datum(type, item_payload(value));
	return true;
}

static int
count_placeholders(const Template *t, int nparts)
{
	int n = 0;

	for (int i = 0; i < nparts; i++)
		n += t->parts[i].npath > 0;
	return n;
}

static bool
render_parts(const Member *member, const Template *t, int nparts, const MemberValues *values,
			 StringInfo out)
{
	int n = 0;

	for (int i = 0; i < nparts; i++)
	{
		Template part = {.nparts = 1, .parts = &t->parts[i]};
		ItemSpan attributes = {0};
		const TemplatePart *missing;

		if (part.parts->npath > 0)
		{
			DynItem *item = values->nulls[n] ? NULL
											 : attribute_item(member, part.parts, values->types[n],
															  values->values[n]);

			n++;
			if (item == NULL)
				return false;
			attributes = item_root(item);
		}
		if (template_try_render(&part, attributes, out, &missing) != NULL || missing != NULL)
			return false;
	}
	return true;
}

/*
 * Shifts a timestamp: its text may have any zone of up to 16 hours, and any form of the time of
 * day.  It begins with a date, which is that of a time that is so far away at most.
 */
static Datum
shifted(Oid sql, Datum value, bool upper)
{
	Timestamp timestamp = DatumGetTimestamp(value);
	int64 hours = 16 * INT64CONST(3600) * USECS_PER_SEC;

	if (sql != TIMESTAMPTZOID || TIMESTAMP_NOT_FINITE(timestamp))
		return value;
	timestamp = upper ? timestamp + hours : timestamp - hours;
	return IS_VALID_TIMESTAMP(timestamp) ? TimestampGetDatum(timestamp) : value;
}

/*
 * Appends what the next placeholder's text is at least, or at most begins with, if its value is not
 * below or above another one.  Nothing: it may be any.
 */
static void
append_end(const Member *member, const TemplatePart *part, Oid sql, Datum value, bool upper,
		   StringInfo out)
{
	Template only = {.nparts = 1, .parts = (TemplatePart *) part};
	bool by_date = (sql == TIMESTAMPOID || sql == TIMESTAMPTZOID) && part->unit == TEMPLATE_WHOLE;
	DynItem *item = attribute_item(member, part, sql, by_date ? shifted(sql, value, upper) : value);
	int len = out->len;
	const TemplatePart *missing;
	ItemSpan written;

	if (item == NULL)
		return;
	if (by_date)
	{
		if (template_find(part, item_root(item), &written) && item_type(written) == ITEM_S &&
			item_payload(written).len > ISO_DATE)
			appendBinaryStringInfo(out, item_payload(written).data, ISO_DATE);
		return;
	}
	if (template_try_render(&only, item_root(item), out, &missing) == NULL && missing == NULL)
		return;
	out->len = len;
	out->data[len] = '\0';
}

/* Appends what is above all keys: none is as long. */
static void
append_highest(StringInfo out)
{
	resetStringInfo(out);
	for (int i = 0; i < HIGHEST; i++)
		appendStringInfoString(out, "\xf4\x8f\xbf\xbf");
}

/* Returns whether a key that member_render() has made is above all others. */
bool
member_is_highest(Datum key)
{
	const text *end = DatumGetTextPP(key);

	return VARSIZE_ANY_EXHDR(end) == HIGHEST * 4 &&
		   memcmp(VARDATA_ANY(end), "\xf4\x8f\xbf\xbf", 4) == 0;
}

/*
 * Renders what the first parts of the key's only template make of the values of their placeholders;
 * upper: the smallest key above all that begin with it.  If there is a value more, it is the least
 * or the most that the next placeholder can be.  Returns false if no key is like that.
 */
bool
member_render(const Member *member, ItemType type, int nparts, bool upper,
			  const MemberValues *values, Datum *result)
{
	const Template *t = member->key->templates[0].template;
	int n = count_placeholders(t, nparts);
	StringInfoData out;

	if (t->whole && nparts == 1)
		return !values->nulls[0] &&
			   render_whole(t->parts, type,
							attribute_item(member, t->parts, values->types[0], values->values[0]),
							result);
	initStringInfo(&out);
	if (type != ITEM_S || !render_parts(member, t, nparts, values, &out) ||
		(values->n > n && values->nulls[n]))
		return false;
	if (values->n > n)
		append_end(member, &t->parts[nparts], values->types[n], values->values[n], upper, &out);
	if (upper && dyn_key_prefix_end(type, (ItemSpan){out.data, (uint32) out.len}, result))
		return true;
	if (upper)
		append_highest(&out);
	*result = dyn_key_datum(type, (ItemSpan){out.data, (uint32) out.len});
	return true;
}

/*
 * In conditions of indexes, where the values are not known when they are planned
 */

typedef struct KeyCall
{
	const Member *member;
	ItemType type;
	int nparts;
} KeyCall;

#define FIRST_VALUE 4

/* Returns whether the planner may have made a call: all but values, read once, is constant. */
static bool
is_planned(FunctionCallInfo fcinfo)
{
	for (int i = 0; i < FIRST_VALUE; i++)
	{
		if (!call_argument_is_constant(fcinfo->flinfo, i))
			return false;
	}
	return true;
}

/* Returns whether values are as many as placeholders, with one for the next part perhaps. */
static bool
has_values(const Template *t, int nparts, int n)
{
	int needed;

	if (nparts < 0 || nparts > t->nparts)
		return false;
	needed = count_placeholders(t, nparts);
	return (n == needed && nparts > 0) ||
		   (n == needed + 1 && nparts < t->nparts && t->parts[nparts].npath > 0);
}

/* Checks the arguments, since any user can call the function. */
static void
check_call(FunctionCallInfo fcinfo, const KeyCall *call)
{
	const EntityKey *key = call->member->key;

	if (call->type == 0 || !is_planned(fcinfo) || key->ntemplates != 1 ||
		!has_values(key->templates[0].template, call->nparts, PG_NARGS() - FIRST_VALUE))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid arguments of \"%s\"", DYN_INTERNAL ".entity_key"),
						errhint("Conditions that the planner makes have them.")));
}

/* Reads the call once for each site: its arguments but the values are constants. */
static KeyCall *
get_call(FunctionCallInfo fcinfo)
{
	KeyCall *call = fcinfo->flinfo->fn_extra;
	MemoryContext old;
	text *definition;

	if (call != NULL)
		return call;
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	for (int i = 1; i < FIRST_VALUE; i++)
		argument_require(fcinfo, i, "an argument of " DYN_INTERNAL ".entity_key");
	call = palloc0(sizeof(KeyCall));
	definition = PG_GETARG_TEXT_PP(1);
	call->member = member_parse(text_span(definition));
	call->nparts = PG_GETARG_INT32(2);
	call->type = member_column_type(get_fn_expr_rettype(fcinfo->flinfo));
	check_call(fcinfo, call);
	fcinfo->flinfo->fn_extra = call;
	MemoryContextSwitchTo(old);
	return call;
}

/* entity_key(sample, definition, parts, upper, VARIADIC values) */
PG_FUNCTION_INFO_V1(dyn_entity_key);
Datum
dyn_entity_key(PG_FUNCTION_ARGS)
{
	KeyCall *call = get_call(fcinfo);
	int n = PG_NARGS() - FIRST_VALUE;
	MemberValues values = {n, palloc((n + 1) * sizeof(Oid)), palloc((n + 1) * sizeof(Datum)),
						   palloc((n + 1) * sizeof(bool))};
	Datum result;

	for (int i = 0; i < n; i++)
	{
		values.types[i] = get_fn_expr_argtype(fcinfo->flinfo, FIRST_VALUE + i);
		values.nulls[i] = PG_ARGISNULL(FIRST_VALUE + i);
		values.values[i] = values.nulls[i] ? (Datum) 0 : PG_GETARG_DATUM(FIRST_VALUE + i);
	}
	if (!member_render(call->member, call->type, call->nparts, PG_GETARG_BOOL(3), &values, &result))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(result);
}
