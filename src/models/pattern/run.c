/*
 * run.c
 *	  dyn_run_access_pattern(): an access pattern by its name, with parameters.
 *
 * The request goes the way of dyn_request(), and what it answers is read back: items, whatever
 * the operation.  A Query or Scan gives all its pages, unless the pattern itself has a Limit.
 */
#include "postgres.h"

#include "access/relation.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "api/request/request.h"
#include "catalog/lookup.h"
#include "item/build.h"
#include "item/reader.h"
#include "models/pattern/pattern.h"
#include "server/arguments.h"
#include "server/errors.h"

typedef struct Run
{
	const Pattern *pattern;
	const char *table;
	const DynItem *parameters;
	MemoryContext context; /* of the call; pages have one of their own */
	ReturnSetInfo *result;
	DynItem *last_key; /* where the page has ended; NULL: that was all */
} Run;

static void
return_item(const Run *run, JsonReader *reader)
{
	Datum item = PointerGetDatum(json_read_item(reader, ITEM_SYNTAX_ITEM));
	bool isnull = false;

	tuplestore_putvalues(run->result->setResult, run->result->setDesc, &item, &isnull);
}

static void
keep_last_key(Run *run, JsonReader *reader)
{
	MemoryContext old = MemoryContextSwitchTo(run->context);

	run->last_key = json_read_item(reader, ITEM_SYNTAX_ITEM);
	MemoryContextSwitchTo(old);
}

/* "Item" of GetItem and of each of TransactGetItems, "Attributes" of writes, "Items" of others. */
static void
read_response(Run *run, JsonReader *reader)
{
	ItemSpan name;

	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		if (item_span_is(name, "Item") || item_span_is(name, "Attributes"))
			return_item(run, reader);
		else if (item_span_is(name, "LastEvaluatedKey"))
			keep_last_key(run, reader);
		else if (item_span_is(name, "Items"))
		{
			for (json_read_array(reader); json_read_element(reader);)
				return_item(run, reader);
		}
		else if (item_span_is(name, "Responses"))
		{
			for (json_read_array(reader); json_read_element(reader);)
				read_response(run, reader);
		}
		else
			json_skip(reader);
	}
}

static void
run_page(Run *run)
{
	char *request = pattern_request(run->pattern, run->table, run->parameters, run->last_key);
	JsonWriter response = json_writer(JSON_COMPACT);
	JsonReader reader;

	request_run(run->pattern->operation, request, (int) strlen(request), NULL, &response, NULL);
	run->last_key = NULL;
	json_reader_init(&reader, response.text->data, response.text->len);
	reader.stored = true;
	read_response(run, &reader);
}

static void
run_pages(Run *run)
{
	bool all = pattern_reads_range(run->pattern) &&
			   getKeyJsonValueFromContainer(&run->pattern->request->root, "Limit", strlen("Limit"),
											NULL) == NULL;
	MemoryContext page =
		AllocSetContextCreate(run->context, "dynamo_table page", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(page);
	ErrorContextCallback callback;

	pattern_begin_context(run->pattern, &callback);
	do
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(page);
		run_page(run);
	} while (all && run->last_key != NULL);
	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(page);
}

static const Pattern *
find_pattern(text *table_name, ItemSpan name)
{
	DynTable *table;
	Relation rel = dyn_table_open(table_name, AccessShareLock, &table);
	ModelDeclaration *declaration = model_find(model_cached(rel, MODEL_PATTERN), name);
	const Pattern *pattern;

	if (declaration == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("access pattern \"%s\" of table \"%s\" does not exist",
							   item_quoted(name), RelationGetRelationName(rel))));
	pattern = model_parsed(declaration, pattern_parse, rel, table);
	relation_close(rel, NoLock);
	return pattern;
}

static DynItem *
no_parameters(void)
{
	ItemBuilder builder;

	item_build_init(&builder, 0);
	item_build_begin(&builder, ITEM_M);
	(void) item_build_end(&builder);
	return item_build_finish(&builder);
}

/* dyn_run_access_pattern(table_name, access_pattern, parameters) */
PG_FUNCTION_INFO_V1(dyn_run_access_pattern);
Datum
dyn_run_access_pattern(PG_FUNCTION_ARGS)
{
	Run run = {.context = CurrentMemoryContext, .result = (ReturnSetInfo *) fcinfo->resultinfo};

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "access_pattern");
	run.parameters = PG_ARGISNULL(2) ? no_parameters() : PG_GETARG_DYN_ITEM(2);
	run.table = text_to_cstring(PG_GETARG_TEXT_PP(0));
	run.pattern = find_pattern(PG_GETARG_TEXT_PP(0), text_span(PG_GETARG_TEXT_PP(1)));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	run_pages(&run);
	return (Datum) 0;
}
