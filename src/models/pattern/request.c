/*
 * request.c
 *	  From an access pattern and its parameters to a request.
 *
 * The pattern's request is copied as it is, but for values of strings, numbers and bytes, and
 * elements of sets: these are templates.  Names and expressions never are.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/rel.h"

#include "api/request/members.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "item/json_writer.h"
#include "models/pattern/pattern.h"
#include "models/template/template.h"
#include "server/errors.h"

typedef struct Rendering
{
	const Pattern *pattern;
	const char *table; /* NULL: the request is not run */
	const DynItem *parameters; /* NULL: none are known */
	const DynItem *start_key;
	List *names; /* where names are collected: of the parameters that are used */
	int nsamples;
	JsonWriter out;
} Rendering;

/* Objects of these levels are given the table: the request, or each action of a transaction. */
#define LEVEL_REQUEST 0
#define LEVEL_ACTION 2

static void render_value(Rendering *r, const JsonbValue *value, int level);

/*
 * Parameters
 */

static void
note_parameters(Rendering *r, const Template *t)
{
	for (int i = 0; i < t->nparts; i++)
	{
		const TemplatePart *part = &t->parts[i];

		if (part->npath > 0 && request_find_name(r->names, part->path[0]) == NULL)
			r->names = lappend(r->names, &part->path[0]);
	}
}

pg_noreturn static void
fail_missing(const Rendering *r, const TemplatePart *part)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("access pattern \"%s\" needs parameter \"%s\"",
						   item_quoted(r->pattern->name), item_quoted(part->source))));
}

/* Returns the value of a placeholder that stands alone. */
static ItemSpan
find_parameter(const Rendering *r, const TemplatePart *part)
{
	ItemSpan value = item_root(r->parameters);

	for (int i = 0; i < part->npath; i++)
	{
		if (!item_lookup(value, part->path[i], &value))
			fail_missing(r, part);
	}
	return value;
}

/*
 * Values
 */

static bool
has_placeholder(const Template *t)
{
	for (int i = 0; i < t->nparts; i++)
	{
		if (t->parts[i].npath > 0)
			return true;
	}
	return false;
}

/* Returns a sample value of the type, a different one each time: sets have no duplicates. */
static char *
sample(Rendering *r, ItemType type, ItemSpan text)
{
	if (type == ITEM_S)
		return span_string(text);
	/* four digits are base64 as well */
	return psprintf("%d", 1000 + r->nsamples++ % 9000);
}

static void
print_string(Rendering *r, const char *string, int len)
{
	json_write_span(&r->out, NULL, (ItemSpan){string, (uint32) len});
}

/* Prints an element of a set: the parameter has to be of its type. */
static void
print_element(Rendering *r, ItemType type, ItemSpan value)
{
	if (item_type(value) != type)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a parameter of access pattern \"%s\" cannot be in a set",
							   item_quoted(r->pattern->name)),
						errdetail("Its type is %s instead of %s.", item_type_code(item_type(value)),
								  item_type_code(type))));
	if (type == ITEM_N)
	{
		char number[ITEM_NUMBER_TEXT];

		print_string(r, number, item_number_print(item_payload(value), number));
	}
	else if (type == ITEM_B)
	{
		int len;
		char *base64 = item_base64(item_payload(value), &len);

		print_string(r, base64, len);
	}
	else
		json_write_span(&r->out, NULL, item_payload(value));
}

/* Renders a string that a template says, as an element of a set, or a value with its type. */
static void
render_template(Rendering *r, ItemType type, bool element, const JsonbValue *string)
{
	ItemSpan text = {string->val.string.val, (uint32) string->val.string.len};
	Template *t = template_parse(text);
	const TemplatePart *missing;
	StringInfoData rendered;

	note_parameters(r, t);
	if (t->whole && r->parameters != NULL)
	{
		ItemSpan value = find_parameter(r, &t->parts[0]);

		if (element)
			print_element(r, type, value);
		else
			json_write_typed(&r->out, NULL, value);
		return;
	}
	initStringInfo(&rendered);
	if (!has_placeholder(t) || r->parameters != NULL)
	{
		if (!template_render(t, r->parameters != NULL ? item_root(r->parameters) : (ItemSpan){0},
							 &rendered, &missing))
			fail_missing(r, missing);
	}
	else
		appendStringInfoString(&rendered, sample(r, type, text));
	if (element)
		print_string(r, rendered.data, rendered.len);
	else
	{
		json_write_begin(&r->out, NULL);
		json_write_span(&r->out, item_type_code(type),
						(ItemSpan){rendered.data, (uint32) rendered.len});
		json_write_end(&r->out);
	}
}

static void
render_set(Rendering *r, ItemType type, const JsonbValue *set)
{
	JsonbIterator *iterator = JsonbIteratorInit(set->val.binary.data);
	JsonbIteratorToken token;
	JsonbValue value;

	json_write_begin(&r->out, NULL);
	json_write_begin_array(&r->out, item_type_code(type));
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token != WJB_ELEM)
			continue;
		if (value.type == jbvString)
			render_template(r, item_element_type(type), true, &value);
		else
			render_value(r, &value, LEVEL_ACTION + 1);
	}
	json_write_end_array(&r->out);
	json_write_end(&r->out);
}

/* Renders an object if it is a value with templates; returns whether it was written. */
static bool
render_typed(Rendering *r, JsonbContainer *object)
{
	JsonbIterator *iterator = JsonbIteratorInit(object);
	JsonbValue name;
	JsonbValue value;
	ItemType type;

	if (JsonContainerSize(object) != 1)
		return false;
	(void) JsonbIteratorNext(&iterator, &name, true);
	(void) JsonbIteratorNext(&iterator, &name, true);
	(void) JsonbIteratorNext(&iterator, &value, true);
	type = item_type_from_code((ItemSpan){name.val.string.val, (uint32) name.val.string.len});
	if ((type == ITEM_S || type == ITEM_N || type == ITEM_B) && value.type == jbvString)
		render_template(r, type, false, &value);
	else if (type != 0 && item_type_is_set(type) && value.type == jbvBinary &&
			 JsonContainerIsArray(value.val.binary.data))
		render_set(r, type, &value);
	else
		return false;
	return true;
}

/*
 * All around them
 */

/*
 * Refuses an action on a table whose owner is another, whoever runs the pattern: the rights are the
 * caller's, who trusts the owner of the pattern's table with that table alone.  The lock keeps the
 * table's name until the request opens it.
 */
static void
check_table_name(const Rendering *r, const JsonbValue *name)
{
	DynTable *table;
	Relation rel;

	if (!pattern_transacts(r->pattern))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the request of an access pattern has no \"TableName\""),
						errdetail("It is about the table that it is declared for.")));
	if (name->type != jbvString)
		return;
	rel = dyn_table_find((ItemSpan){name->val.string.val, (uint32) name->val.string.len},
						 AccessShareLock, &table);
	if (rel == NULL)
		return;
	if (!rights_owns(RelationGetRelid(rel), rights_owner(r->pattern->relid)))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("access pattern \"%s\" cannot name table \"%s\"",
							   item_quoted(r->pattern->name), table->name),
						errdetail("The owner of the pattern's table has not the rights of the "
								  "owner of that table.")));
	relation_close(rel, NoLock);
}

static void
add_members(Rendering *r, JsonbContainer *object, int level)
{
	const JsonbValue *name =
		getKeyJsonValueFromContainer(object, "TableName", strlen("TableName"), NULL);

	if (level == (pattern_transacts(r->pattern) ? LEVEL_ACTION : LEVEL_REQUEST))
	{
		if (name == NULL)
			json_write_string(&r->out, "TableName", r->table == NULL ? "" : r->table);
		else if (r->table != NULL)
			check_table_name(r, name);
	}
	if (level == LEVEL_REQUEST && r->start_key != NULL)
		json_write_item(&r->out, "ExclusiveStartKey", r->start_key);
}

static void
render_object(Rendering *r, JsonbContainer *object, int level)
{
	JsonbIterator *iterator = JsonbIteratorInit(object);
	JsonbIteratorToken token;
	JsonbValue value;

	if (render_typed(r, object))
		return;
	json_write_begin(&r->out, NULL);
	add_members(r, object, level);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		ItemSpan name;

		if (token != WJB_KEY)
			continue;
		name = (ItemSpan){value.val.string.val, (uint32) value.val.string.len};
		(void) JsonbIteratorNext(&iterator, &value, true);
		/* where the pattern begins is for the first page only */
		if (level == LEVEL_REQUEST && r->start_key != NULL &&
			item_span_is(name, "ExclusiveStartKey"))
			continue;
		json_write_member(&r->out, name);
		render_value(r, &value, level + 1);
	}
	json_write_end(&r->out);
}

static void
render_array(Rendering *r, JsonbContainer *array, int level)
{
	JsonbIterator *iterator = JsonbIteratorInit(array);
	JsonbIteratorToken token;
	JsonbValue value;

	json_write_begin_array(&r->out, NULL);
	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token != WJB_ELEM)
			continue;
		render_value(r, &value, level);
	}
	json_write_end_array(&r->out);
}

static void
render_value(Rendering *r, const JsonbValue *value, int level)
{
	check_stack_depth();
	switch (value->type)
	{
		case jbvNull:
			json_write_raw(&r->out, NULL, "null");
			break;
		case jbvBool:
			json_write_bool(&r->out, NULL, value->val.boolean);
			break;
		case jbvNumeric:
			json_write_raw(&r->out, NULL,
						   DatumGetCString(DirectFunctionCall1(
							   numeric_out, NumericGetDatum(value->val.numeric))));
			break;
		case jbvString:
			print_string(r, value->val.string.val, value->val.string.len);
			break;
		case jbvBinary:
			if (JsonContainerIsObject(value->val.binary.data))
				render_object(r, value->val.binary.data, level);
			else
				render_array(r, value->val.binary.data, level);
			break;
		default:
			elog(ERROR, "unexpected kind of JSON value: %d", (int) value->type);
	}
}

static void
refuse_unknown(const Rendering *r)
{
	for (ItemMembers m = item_members(item_root(r->parameters)); item_next(&m);)
	{
		if (request_find_name(r->names, m.name) == NULL)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("access pattern \"%s\" has no parameter \"%s\"",
								   item_quoted(r->pattern->name), item_quoted(m.name))));
	}
}

static void
render(Rendering *r)
{
	r->out = json_writer(JSON_COMPACT);
	render_object(r, &r->pattern->request->root, LEVEL_REQUEST);
}

/*
 * Returns the request of a pattern as JSON for dyn_request(), with values in the place of
 * templates.  parameters: NULL takes samples, to check the request.  start_key: where the next page
 * begins, NULL for the first one.  Raises ERRCODE_DYN_VALIDATION if a parameter is missing or, for
 * the first page, unknown.
 */
char *
pattern_request(const Pattern *pattern, const char *table, const DynItem *parameters,
				const DynItem *start_key)
{
	Rendering r = {pattern, table, parameters, start_key};

	render(&r);
	if (parameters != NULL && start_key == NULL)
		refuse_unknown(&r);
	return r.out.text->data;
}

/*
 * Returns the names of a pattern's parameters (ItemSpan *), each once, in the order of their first
 * use; NIL if there are none.
 */
List *
pattern_parameters(const Pattern *pattern)
{
	Rendering r = {.pattern = pattern};

	render(&r);
	return r.names;
}
