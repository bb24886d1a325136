/*
 * search.c
 *	  SearchVectors.
 */
#include "postgres.h"

#include <math.h>

#include "utils/float.h"

#include "actions/search.h"
#include "api/request/capacity.h"
#include "api/request/request.h"
#include "item/json_writer.h"

typedef struct SearchCall
{
	SearchRequest search;
	List *vector; /* of DynItem */
	RequestInteger top_k;
	Jsonb *names;
	DynItem *values;
	int capacity;
} SearchCall;

#define AT(field) offsetof(SearchCall, field)

/* Reads an array of values, which is no L. */
static void
read_vector(JsonReader *reader, void *list)
{
	List *vector = NIL;

	for (json_read_array(reader); json_read_element(reader);)
		vector = lappend(vector, json_read_item(reader, ITEM_SYNTAX_VALUE));
	*(List **) list = vector;
}

/* These are in the order of the API model. */
static const RequestMember members[] = {
	{"TableName", MEMBER_TEXT, AT(search.table), true, .name_of = NAME_TABLE},
	{"IndexName", MEMBER_TEXT, AT(search.index), true, .name_of = NAME_ANY},
	{"SearchVector", MEMBER_CUSTOM, AT(vector), true, .read = read_vector},
	{"TopK", MEMBER_INTEGER, AT(top_k), true},
	RETURN_CAPACITY(SearchCall, capacity),
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(names)},
	{"ExpressionAttributeValues", MEMBER_VALUES, AT(values)},
	{"ProjectionExpression", MEMBER_TEXT, AT(search.projection)},
	{"SearchConditionExpression", MEMBER_TEXT, AT(search.condition)},
};

/* Sets the vector; all of its elements have to be numbers that fit. */
static void
set_values(SearchCall *call)
{
	float *values = palloc((list_length(call->vector) + 1) * sizeof(float));
	ListCell *cell;

	call->search.nvalues = list_length(call->vector);
	call->search.values = values;
	foreach (cell, call->vector)
	{
		ItemSpan value = item_root(lfirst(cell));
		char number[ITEM_NUMBER_TEXT];

		if (item_type(value) == ITEM_N)
			(void) item_number_print(item_payload(value), number);
		if (item_type(value) != ITEM_N || isinf(strtof(number, NULL)))
		{
			call->search.values = NULL;
			return;
		}
		values[foreach_current_index(cell)] = strtof(number, NULL);
	}
}

static void
print_result(Datum item, float score, void *arg)
{
	JsonWriter *response = arg;

	json_write_begin(response, NULL);
	json_write_item(response, "Item", DatumGetDynItem(item));
	json_write_raw(response, "Score", float8out_internal(score));
	json_write_end(response);
}

/* Runs SearchVectors, and appends the response. */
void
request_search_vectors(JsonReader *reader, JsonWriter *response)
{
	SearchCall call = {0};
	const DynTable *table;

	request_read(reader, members, lengthof(members), &call, NULL);
	request_names(reader, text_span(call.search.table));
	set_values(&call);
	call.search.top_k = call.top_k.value;
	call.search.expressions = expr_request_of_api(call.names, call.values);
	call.search.names = call.names;
	call.search.expression_values = call.values;
	json_write_begin_array(response, "SearchResults");
	action_search(&call.search, print_result, response, &table);
	json_write_end_array(response);
	if (call.capacity == CAPACITY_NONE)
		return;
	json_write_begin(response, "ConsumedCapacity");
	json_write_span(response, "TableName", text_span(call.search.table));
	json_write_integer(response, "VectorSearchRequestBytes",
					   (int64) call.search.nvalues * sizeof(float) * call.top_k.value);
	json_write_end(response);
}
