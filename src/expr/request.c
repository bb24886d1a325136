/*
 * request.c
 *	  The names and values of one request, which its expressions share; each has to be used.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "expr/tree.h"
#include "server/arguments.h"
#include "server/errors.h"

typedef struct RequestName
{
	ItemSpan placeholder;
	ItemSpan name;
	bool used;
} RequestName;

struct ExprRequest
{
	MemoryContext cxt;
	ItemSpan names_bytes; /* for the cache; no data if there are none */
	int nnames;
	RequestName *names; /* by placeholder: length first, as jsonb has them */
	ItemChildren vals; /* by placeholder */
	bool *vals_used;
	Expr *exprs;
	MemoryContextCallback release;
};

#define NAMES "ExpressionAttributeNames"
#define VALUES "ExpressionAttributeValues"
#define MAX_UNUSED 8192 /* bytes of their list in a message, about */

pg_noreturn static void
request_fail(const char *parameter, ItemSpan placeholder, const char *problem, const char *words)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid %s: \"%s\" %s", parameter, item_quoted(placeholder), problem),
					errwords("%s", words), errwords_kind(WORDS_PLACEHOLDER)));
	pg_unreachable();
}

pg_noreturn static void
fail_empty(const char *parameter)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid %s: it is empty", parameter),
					errwords("%s must not be empty", parameter), errwords_kind(WORDS_PLACEHOLDER)));
	pg_unreachable();
}

static void
check_placeholder(const char *parameter, ItemSpan s, char sign)
{
	if (s.len > EXPR_MAX_PLACEHOLDER)
		request_fail(
			parameter, s, "is longer than 255 bytes",
			psprintf("%s contains invalid key: The expression attribute map contains a key that "
					 "is too long; size of key: %u",
					 parameter, s.len));
	if (s.len < 2 || s.data[0] != sign || !expr_is_word((ItemSpan){s.data + 1, s.len - 1}))
		request_fail(parameter, s,
					 sign == '#' ? "is not # followed by letters, digits and _"
								 : "is not : followed by letters, digits and _",
					 psprintf("%s contains invalid key: Syntax error; key: \"%s\"", parameter,
							  item_quoted_words(s)));
}

/* Checks the name that a placeholder stands for. */
static void
check_name(ItemSpan placeholder, ItemSpan name)
{
	if (name.len > 0 && name.len <= ITEM_MAX_NAME)
		return;
	request_fail(NAMES, placeholder, "is not an attribute name of 1 to 65535 bytes",
				 psprintf("ExpressionAttributeNames contains invalid value: %s for key %s",
						  name.len == 0 ? "Empty attribute name" : ITEM_LONG_NAME_WORDS,
						  item_quoted_words(placeholder)));
}

/* Names in jsonb's order, by length first, which expr_request_name() searches in. */
static void
read_names(ExprRequest *request, const Jsonb *names)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue v;

	if (!JB_ROOT_IS_OBJECT(names))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid %s: it is not a JSON object", NAMES)));
	if (JB_ROOT_COUNT(names) == 0)
		return;
	request->names_bytes = text_span(names);
	request->names = palloc0(JB_ROOT_COUNT(names) * sizeof(RequestName));
	it = JsonbIteratorInit((JsonbContainer *) &names->root);
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		RequestName *entry = &request->names[request->nnames];

		if (token == WJB_KEY)
		{
			entry->placeholder = (ItemSpan){v.val.string.val, (uint32) v.val.string.len};
			check_placeholder(NAMES, entry->placeholder, '#');
		}
		else if (token == WJB_VALUE)
		{
			if (v.type != jbvString)
				request_fail(NAMES, entry->placeholder, "is not a string", "Unexpected field type");
			entry->name = (ItemSpan){v.val.string.val, (uint32) v.val.string.len};
			check_name(entry->placeholder, entry->name);
			request->nnames++;
		}
	}
}

/* An item is a map in the order of its names already. */
static void
read_values(ExprRequest *request, const DynItem *vals)
{
	request->vals = item_children(item_root(vals));
	request->vals_used = palloc0(request->vals.count * sizeof(bool));
	for (uint32 i = 0; i < request->vals.count; i++)
	{
		ItemSpan name;

		item_entry(item_child(&request->vals, i), &name);
		check_placeholder(VALUES, name, ':');
	}
}

/* A request has had its values checked where it was read; those of arguments come as the type has them. */
static void
check_nesting(const ExprRequest *request)
{
	for (uint32 i = 0; i < request->vals.count; i++)
	{
		ItemSpan name;

		if (item_nesting(item_entry(item_child(&request->vals, i), &name)) > ITEM_CALL_NESTING)
			request_fail(VALUES, name,
						 psprintf("has more than %d levels of nesting", ITEM_CALL_NESTING),
						 ITEM_NESTING_WORDS);
	}
}

static void
check_size(const ExprRequest *request, const DynItem *vals)
{
	Size size = vals == NULL ? 0 : item_size(item_root(vals));

	for (int i = 0; i < request->nnames; i++)
		size += request->names[i].placeholder.len + request->names[i].name.len;
	if (size > EXPR_MAX_PLACEHOLDERS)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("names and values together exceed %d bytes", EXPR_MAX_PLACEHOLDERS),
						errdetail("They have %zu bytes.", size)));
}

/* The context goes, so the parsed expressions may leave the cache. */
static void
request_release(void *arg)
{
	ExprRequest *request = arg;

	for (Expr *expr = request->exprs; expr != NULL; expr = expr->next)
		text_cache_unpin(&expr->compiled->entry);
}

static ExprRequest *
make_request(const Jsonb *names, const DynItem *vals, bool may_be_empty)
{
	ExprRequest *request = palloc0(sizeof(ExprRequest));

	request->cxt = CurrentMemoryContext;
	if (names != NULL)
	{
		if (!may_be_empty && JB_ROOT_COUNT(names) == 0)
			fail_empty(NAMES);
		read_names(request, names);
	}
	if (vals != NULL)
	{
		if (!may_be_empty && item_children(item_root(vals)).count == 0)
			fail_empty(VALUES);
		read_values(request, vals);
	}
	check_size(request, vals);
	request->release.func = request_release;
	request->release.arg = request;
	MemoryContextRegisterResetCallback(request->cxt, &request->release);
	return request;
}

/* Check what was passed, in a form that expressions can use up. */
ExprRequest *
expr_request(const Jsonb *names, const DynItem *vals)
{
	ExprRequest *request = expr_request_any_depth(names, vals);

	check_nesting(request);
	return request;
}

/* Makes the request with values whose depth the caller judges. */
ExprRequest *
expr_request_any_depth(const Jsonb *names, const DynItem *vals)
{
	return make_request(names, vals, true);
}

/*
 * Makes the request of a call of the API, in which neither may be there and have nothing
 * (docs/semantics.md, SV18).  How deep values are was judged when they were read.
 */
ExprRequest *
expr_request_of_api(const Jsonb *names, const DynItem *vals)
{
	return make_request(names, vals, false);
}

/* Makes the request of arguments of a function by their place; vals below 0: it has none. */
ExprRequest *
expr_request_arguments(FunctionCallInfo fcinfo, int names, int vals)
{
	return expr_request(PG_ARGISNULL(names) ? NULL : PG_GETARG_JSONB_P(names),
						vals < 0 ? NULL : argument_item(fcinfo, vals));
}

/*
 * Returns a name placeholder's number, or -1.  The name is given where it stands in copy, which is
 * a copy of the bytes of all names: it outlives the request.
 */
int
expr_request_name(const ExprRequest *request, ItemSpan placeholder, ItemSpan copy, ItemSpan *name)
{
	int low = 0;
	int high = request->nnames;

	while (low < high)
	{
		int middle = (low + high) / 2;
		ItemSpan here = request->names[middle].placeholder;
		int cmp = placeholder.len != here.len ? (placeholder.len < here.len ? -1 : 1)
											  : item_compare_bytes(placeholder, here);

		if (cmp == 0)
		{
			*name = request->names[middle].name;
			name->data = copy.data + (name->data - request->names_bytes.data);
			return middle;
		}
		if (cmp < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

/* Returns the value of a placeholder, and notes that it is used; no data if there is none. */
static ItemSpan
use_value(ExprRequest *request, ItemSpan placeholder)
{
	ItemSpan value = {NULL, 0};
	int position = item_position(&request->vals, placeholder, &value);

	if (position < 0)
		return (ItemSpan){NULL, 0};
	request->vals_used[position] = true;
	return value;
}

/* Raises ERRCODE_DYN_VALIDATION unless the request has the value of a slot. */
void
expr_require_value(const Expr *expr, int slot)
{
	const ExprCompiled *c = expr->compiled;
	const char *name;

	if (expr->values[slot].data != NULL)
		return;
	name = item_quoted(c->slots[slot].name);
	expr_fail_hint(c, c->slots[slot].location, expr_words_undefined(c, c->slots[slot].name),
				   psprintf("Give its value in vals: {\"%s\": {\"S\": \"text\"}}.", name),
				   psprintf("value placeholder \"%s\" is not defined", name));
}

/* Raises ERRCODE_DYN_VALIDATION if a value has a type that its operator can never take. */
void
expr_check_values(const Expr *expr)
{
	const ExprCompiled *c = expr->compiled;

	if (c->root != NULL)
		expr_check_condition_values(expr, c->root);
	else if (c->kind == EXPR_UPDATE)
		expr_check_update_values(expr, c->tree);
}

/* Parse, or find parsed, and bind to the request's values. */
Expr *
expr_bind(ExprRequest *request, ExprKind kind, ItemSpan text)
{
	MemoryContext old = MemoryContextSwitchTo(request->cxt);
	Expr *expr = palloc0(sizeof(Expr));
	ExprCompiled *c;
	ItemSpan *values;

	c = expr_compile(request, request->names_bytes, kind, text);
	expr->compiled = c;
	expr->next = request->exprs;
	request->exprs = expr;

	values = palloc(c->nslots * sizeof(ItemSpan));
	expr->values = values;
	for (int i = 0; i < c->nslots; i++)
	{
		values[i] = use_value(request, c->slots[i].name);
		/* those of a key condition are looked at with what takes them, in the order of the text */
		if (kind != EXPR_KEY_CONDITION)
			expr_require_value(expr, i);
	}
	for (int i = 0; i < c->nused_names; i++)
		request->names[c->used_names[i]].used = true;
	expr_check_values(expr);
	MemoryContextSwitchTo(old);
	return expr;
}

/* Lists the placeholders of names, or else of values, that no expression uses. */
static List *
unused(const ExprRequest *request, bool names)
{
	int n = names ? request->nnames : (int) request->vals.count;
	List *placeholders = NIL;

	for (int i = 0; i < n; i++)
	{
		ItemSpan *placeholder;

		if (names ? request->names[i].used : request->vals_used[i])
			continue;
		placeholder = palloc(sizeof(ItemSpan));
		if (names)
			*placeholder = request->names[i].placeholder;
		else
			item_entry(item_child(&request->vals, (uint32) i), placeholder);
		placeholders = lappend(placeholders, placeholder);
	}
	return placeholders;
}

static void
forbid_unused(const char *parameter, const List *placeholders)
{
	StringInfoData words;
	ListCell *cell;

	if (placeholders == NIL)
		return;
	initStringInfo(&words);
	appendStringInfo(&words, "Value provided in %s unused in expressions: keys: {", parameter);
	foreach (cell, placeholders)
	{
		if (cell != list_head(placeholders))
			appendStringInfoString(&words, ", ");
		if (words.len > MAX_UNUSED)
		{
			appendStringInfoString(&words, "...");
			break;
		}
		item_quote_words(&words, *(const ItemSpan *) lfirst(cell));
	}
	appendStringInfoChar(&words, '}');
	request_fail(parameter, *(const ItemSpan *) linitial(placeholders),
				 "is not used in any expression", words.data);
}

/* Raises an error unless all that was passed has been used. */
void
expr_request_done(const ExprRequest *request)
{
	forbid_unused(NAMES, unused(request, true));
	forbid_unused(VALUES, unused(request, false));
}
