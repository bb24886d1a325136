/*
 * pattern.c
 *	  Access patterns: declaring, removing and listing them.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "api/request/request.h"
#include "catalog/lookup.h"
#include "item/fields.h"
#include "models/pattern/pattern.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/sql.h"

static const struct
{
	const char *name;
	bool transacts;
	bool range; /* gives any number of items, page by page */
} operations[] = {{"GetItem", false, false},
				  {"Query", false, true},
				  {"Scan", false, true},
				  {"PutItem", false, false},
				  {"UpdateItem", false, false},
				  {"DeleteItem", false, false},
				  {"TransactGetItems", true, false},
				  {"TransactWriteItems", true, false}};

static int
find_operation(const char *name)
{
	for (int i = 0; i < lengthof(operations); i++)
	{
		if (strcmp(operations[i].name, name) == 0)
			return i;
	}
	ereport(
		ERROR,
		(errcode(ERRCODE_DYN_VALIDATION),
		 errmsg("an access pattern cannot be operation \"%s\"", name),
		 errhint("Use GetItem, Query, Scan, PutItem, UpdateItem, DeleteItem, TransactGetItems or "
				 "TransactWriteItems.")));
}

/* Returns whether the pattern is a transaction: its request then is a list of actions. */
bool
pattern_transacts(const Pattern *pattern)
{
	return operations[find_operation(pattern->operation)].transacts;
}

/* Returns whether the pattern reads any number of items, page by page: a Query or a Scan. */
bool
pattern_reads_range(const Pattern *pattern)
{
	return operations[find_operation(pattern->operation)].range;
}

static JsonbValue *
find_member(Jsonb *object, const char *name)
{
	return getKeyJsonValueFromContainer(&object->root, name, (int) strlen(name), NULL);
}

static char *
string_member(Jsonb *object, const char *name)
{
	JsonbValue *value = find_member(object, name);

	if (value == NULL || value->type != jbvString)
		return NULL;
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/*
 * Returns a member of the pattern's request, such as "IndexName", or NULL if it is missing or no
 * string.
 */
static char *
pattern_member(const Pattern *pattern, const char *member)
{
	return string_member(pattern->request, member);
}

/*
 * Reading
 */

static void
print_request(JsonWriter *json, const Field *field, const void *target)
{
	Jsonb *request = ((const Pattern *) target)->request;

	json_write_name(json, field->name);
	JsonbToCString(json->text, &request->root, VARSIZE(request));
}

static const Field pattern_fields[] = {{"pattern", FIELD_NAME, FIELD_AT(Pattern, name)},
									   {"operation", FIELD_TEXT, FIELD_AT(Pattern, operation)},
									   {"entity", FIELD_TEXT, FIELD_AT(Pattern, entity)},
									   {"notes", FIELD_TEXT, FIELD_AT(Pattern, notes)},
									   {"request", FIELD_OWN, .print = print_request},
									   {NULL}};

/*
 * Returns the access pattern that a declaration describes, in the current memory context; its name
 * is the declaration's.  Raises ERRCODE_DYN_VALIDATION if the operation or the request is missing,
 * or the operation is none of those that a pattern can have.
 *
 * It is read as jsonb, since a request may be nested deeper than an item.
 */
void *
pattern_parse(const ModelDeclaration *declaration, Relation rel, const DynTable *table)
{
	Jsonb *json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(declaration->json)));
	JsonbValue *request = find_member(json, "request");
	Pattern *pattern = palloc0(sizeof(Pattern));

	pattern->name = declaration->name;
	pattern->relid = RelationGetRelid(rel);
	for (const Field *field = pattern_fields; field->name != NULL; field++)
	{
		if (field->kind == FIELD_TEXT)
			*FIELD_POINTER(field, char *, pattern) = string_member(json, field->name);
	}
	if (pattern->operation == NULL || request == NULL || request->type != jbvBinary ||
		!JsonContainerIsObject(request->val.binary.data))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("access pattern \"%s\" is not declared as one",
							   item_quoted(declaration->name)),
						errdetail("It is: %s", declaration->json)));
	(void) find_operation(pattern->operation);
	pattern->request = JsonbValueToJsonb(request);
	return pattern;
}

/*
 * Returns the access patterns of an open table, in the order in which they were declared; NIL if
 * there are none.  They are the session's cache's, and good until the transaction ends.
 */
static List *
patterns_of(Relation rel)
{
	List *patterns = NIL;
	ListCell *cell;

	foreach (cell, model_cached(rel, MODEL_PATTERN))
		patterns = lappend(patterns, model_parsed(lfirst(cell), pattern_parse, rel, NULL));
	return patterns;
}

/*
 * Declaring
 */

static char *
print_pattern(const Pattern *pattern)
{
	JsonWriter json = json_writer(JSON_SPACED);

	fields_print_object(&json, NULL, pattern_fields, pattern);
	return json.text->data;
}

static void
name_pattern(void *arg)
{
	errcontext("access pattern \"%s\"", item_quoted(((const Pattern *) arg)->name));
}

/* Has errors name the pattern until error_context_stack is put back to callback->previous. */
void
pattern_begin_context(const Pattern *pattern, ErrorContextCallback *callback)
{
	callback->previous = error_context_stack;
	callback->callback = name_pattern;
	callback->arg = unconstify(Pattern *, pattern);
	error_context_stack = callback;
}

/*
 * Checks whatever can be said of the request without the parameters: values that stand for any are
 * in their place.
 */
static void
check_request(Pattern *pattern, const char *table)
{
	ErrorContextCallback callback;
	char *request;

	if (!JB_ROOT_IS_OBJECT(pattern->request))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("request must be a JSON object")));
	pattern_begin_context(pattern, &callback);
	request = pattern_request(pattern, table, NULL, NULL);
	request_run(pattern->operation, request, (int) strlen(request), NULL, NULL, NULL);
	error_context_stack = callback.previous;
}

/* Several items are wanted of a table that has one for each key (docs/semantics.md, M08). */
static void
warn_of_key(const Pattern *pattern, const DynTable *table)
{
	if (strcmp(pattern->operation, "Query") != 0 || table->nkeys > 1 ||
		find_member(pattern->request, "IndexName") != NULL)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_WARNING),
			 errmsg("access pattern \"%s\" reads several items, but table \"%s\" has no sort key",
					item_quoted(pattern->name), table->name),
			 errdetail("Each partition key has one item.")));
}

static ItemSpan
name_argument(FunctionCallInfo fcinfo, int i, const char *what)
{
	ItemSpan name;

	argument_require(fcinfo, i, what);
	name = text_span(PG_GETARG_TEXT_PP(i));
	if (name.len == 0 || name.len > 255)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the name of an access pattern must have 1 to 255 bytes")));
	return name;
}

/* dyn_create_access_pattern(table_name, access_pattern, operation, request, entity, notes) */
PG_FUNCTION_INFO_V1(dyn_create_access_pattern);
Datum
dyn_create_access_pattern(PG_FUNCTION_ARGS)
{
	Pattern pattern = {0};
	DynTable *table;
	Relation rel;

	argument_require(fcinfo, 0, "table_name");
	pattern.name = name_argument(fcinfo, 1, "access_pattern");
	argument_require(fcinfo, 2, "operation");
	argument_require(fcinfo, 3, "request");
	pattern.operation = text_to_cstring(PG_GETARG_TEXT_PP(2));
	pattern.request = PG_GETARG_JSONB_P(3);
	pattern.entity = PG_ARGISNULL(4) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(4));
	pattern.notes = PG_ARGISNULL(5) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(5));
	(void) find_operation(pattern.operation);
	rel = model_open(PG_GETARG_TEXT_PP(0), MODEL_PATTERN, &table);
	pattern.relid = RelationGetRelid(rel);
	check_request(&pattern, text_to_cstring(PG_GETARG_TEXT_PP(0)));
	warn_of_key(&pattern, table);
	model_set(rel, MODEL_PATTERN, pattern.name, print_pattern(&pattern));
	PG_RETURN_VOID();
}

/* dyn_drop_access_pattern(table_name, access_pattern) */
PG_FUNCTION_INFO_V1(dyn_drop_access_pattern);
Datum
dyn_drop_access_pattern(PG_FUNCTION_ARGS)
{
	DynTable *table;
	Relation rel;
	ItemSpan name;

	argument_require(fcinfo, 0, "table_name");
	name = name_argument(fcinfo, 1, "access_pattern");
	rel = model_open(PG_GETARG_TEXT_PP(0), MODEL_PATTERN, &table);
	model_remove(rel, MODEL_PATTERN, name);
	PG_RETURN_VOID();
}

static Datum
parameter_array(const Pattern *pattern)
{
	List *names = pattern_parameters(pattern);
	Datum *texts = palloc((list_length(names) + 1) * sizeof(Datum));
	ListCell *cell;

	foreach (cell, names)
	{
		const ItemSpan *name = lfirst(cell);

		texts[foreach_current_index(cell)] = PointerGetDatum(span_text(*name));
	}
	return PointerGetDatum(
		construct_array(texts, list_length(names), TEXTOID, -1, false, TYPALIGN_INT));
}

/* dyn_access_patterns(table_name): entity, access_pattern, operation, index_name, parameters, notes, request */
PG_FUNCTION_INFO_V1(dyn_access_patterns);
Datum
dyn_access_patterns(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	text *name = argument_required_text(fcinfo, 0, "table_name");
	DynTable *table;
	Relation rel = dyn_table_open(name, AccessShareLock, &table);
	ListCell *cell;

	InitMaterializedSRF(fcinfo, 0);
	foreach (cell, patterns_of(rel))
	{
		const Pattern *pattern = lfirst(cell);

		sql_put(result, SQL_VALUES(SQL_TEXT(pattern->entity), sql_span(pattern->name),
								   SQL_TEXT(pattern->operation),
								   SQL_TEXT(pattern_member(pattern, "IndexName")),
								   SQL_VALUE(TEXTARRAYOID, parameter_array(pattern)),
								   SQL_TEXT(pattern->notes),
								   SQL_VALUE(JSONBOID, JsonbPGetDatum(pattern->request))));
	}
	relation_close(rel, NoLock);
	return (Datum) 0;
}
