/*
 * statement.c
 *	  ExecuteStatement.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "api/request/capacity.h"
#include "api/request/parameters.h"
#include "api/request/request.h"
#include "api/request/statement.h"
#include "server/arguments.h"

typedef struct StatementCall
{
	ItemSpan statement;
	List *parameters; /* DynItem */
	bool consistent;
	ItemSpan token; /* no data: none */
	RequestInteger limit;
	int on_failure;
	int capacity;
	text *table; /* as it is named */
	ReadCapacity taken; /* by a read */
	ItemMeasure measure; /* of a write */
} StatementCall;

#define AT(field) offsetof(StatementCall, field)

/* Reads the values of a member Parameters, as a list of DynItem: an empty one is refused. */
void
statement_read_parameters(JsonReader *reader, void *list)
{
	List **parameters = list;

	*parameters = partiql_read_parameters(reader);
	request_check_length(reader, list_length(*parameters), 1, 0, "[]");
}

static const RequestMember members[] = {
	{"Statement", MEMBER_STRING, AT(statement), true, .min = 1, .max = PARTIQL_MAX_TEXT},
	{"Parameters", MEMBER_CUSTOM, AT(parameters), .read = statement_read_parameters},
	{"ConsistentRead", MEMBER_BOOL, AT(consistent)},
	{"NextToken", MEMBER_STRING, AT(token), .min = 1, .max = PARTIQL_MAX_TOKEN},
	{"Limit", MEMBER_INTEGER, AT(limit), .min = 1},
	RETURN_CAPACITY(StatementCall, capacity),
	RETURN_ON_FAILURE(StatementCall, on_failure),
};

/* Returns what DynamoDB calls the privilege to run a statement. */
const char *
statement_privilege(PartiqlKind kind)
{
	switch (kind)
	{
		case PARTIQL_SELECT:
		case PARTIQL_EXISTS:
			break;
		case PARTIQL_INSERT:
			return "PartiQLInsert";
		case PARTIQL_UPDATE:
			return "PartiQLUpdate";
		case PARTIQL_DELETE:
			return "PartiQLDelete";
	}
	return "PartiQLSelect";
}

/* Returns the table of a statement, as it is named. */
text *
statement_table(const PartiqlBound *bound)
{
	ItemSpan table;
	ItemSpan index;

	partiql_source(bound->compiled, &table, &index);
	return span_text(table);
}

static void
print_item(Datum item, void *arg)
{
	json_write_item(arg, NULL, DatumGetDynItem(item));
}

static void
run_select(StatementCall *call, PartiqlCall *partiql, JsonWriter *response)
{
	ReadResult result;
	int read;

	partiql->consistent = call->consistent;
	partiql->paged = true;
	partiql->page_size = call->limit.value;
	read_capacity_begin(&call->taken);
	if (call->capacity != CAPACITY_NONE)
		partiql->front.meter = &call->taken.meter;
	json_write_begin_array(response, "Items");
	read = partiql_select(partiql, print_item, response, &result);
	json_write_end_array(response);
	if (result.last_key != NULL)
		json_write_string(response, "NextToken",
						  partiql_print_token(partiql->bound, read, result.last_key));
	read_capacity_print(response, text_span(call->table), call->capacity, &call->taken, &result,
						call->consistent);
}

static void
print_write_capacity(JsonWriter *response, void *arg)
{
	const StatementCall *call = arg;

	item_capacity_print(response, text_span(call->table), call->capacity, &call->measure,
						CAPACITY_WRITE);
}

static void
run_write(StatementCall *call, PartiqlCall *partiql, JsonWriter *response)
{
	MemoryContext context = CurrentMemoryContext;
	DynItem *item = NULL;

	partiql->old_on_failure = call->on_failure == RETURN_ALL_OLD;
	if (call->capacity != CAPACITY_NONE)
		partiql->front.measure = &call->measure;
	PG_TRY();
	{
		item = partiql_write(partiql);
	}
	PG_CATCH();
	{
		request_rethrow_condition(context, print_write_capacity, call);
	}
	PG_END_TRY();
	json_write_begin_array(response, "Items");
	if (item != NULL)
		json_write_item(response, NULL, item);
	json_write_end_array(response);
	print_write_capacity(response, call);
}

/* Runs ExecuteStatement, and appends the response. */
void
request_execute_statement(JsonReader *reader, JsonWriter *response)
{
	StatementCall call = {0};
	PartiqlCall partiql = {.front.site = reader->site};
	MeterPart *part = palloc0(sizeof(MeterPart)); /* it outlives an error */
	PartiqlKind kind;

	request_read(reader, members, lengthof(members), &call, NULL);
	partiql.bound = partiql_bind_list(partiql_compile(call.statement), call.parameters);
	kind = partiql_kind(partiql.bound->compiled);
	part->table = call.table = statement_table(partiql.bound);
	part->operation = statement_privilege(kind);
	(void) request_names_parts(reader, part, 1);
	partiql_forbid_exists(partiql.bound->compiled);
	if (call.token.data != NULL)
		partiql.start_key = partiql_parse_token(partiql.bound, call.token, &partiql.first_read);
	if (kind == PARTIQL_SELECT)
		run_select(&call, &partiql, response);
	else
		run_write(&call, &partiql, response);
}
