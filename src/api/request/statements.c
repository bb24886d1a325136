/*
 * statements.c
 *	  ExecuteTransaction and BatchExecuteStatement.
 */
#include "postgres.h"

#include "api/partiql/several.h"
#include "api/request/meter.h"
#include "api/request/parameters.h"
#include "api/request/request.h"
#include "api/request/statement.h"
#include "catalog/definition/settings.h"
#include "server/attempt.h"
#include "server/errors.h"

/* This is one of the statements, and what becomes of it in a batch. */
typedef struct StatementPart
{
	ItemSpan statement;
	List *parameters; /* DynItem */
	bool consistent;
	int on_failure;
	ItemComplaint complaint; /* of the parameters */
	const PartiqlBound *bound; /* NULL: it cannot be run */
	text *table;
	const char *code; /* of its error; NULL: it has none */
	const char *message;
} StatementPart;

typedef struct StatementsCall
{
	List *parts;
	text *token;
	int capacity;
} StatementsCall;

/*
 * Reading
 */

#define AT(field) offsetof(StatementPart, field)

static const RequestMember transaction_part_members[] = {
	{"Statement", MEMBER_STRING, AT(statement), true, .min = 1, .max = PARTIQL_MAX_TEXT},
	{"Parameters", MEMBER_CUSTOM, AT(parameters), .read = statement_read_parameters},
	RETURN_ON_FAILURE(StatementPart, on_failure),
};

/* The item of a failed condition is never in the answer of a batch, whatever is asked for. */
static const RequestMember batch_part_members[] = {
	{"Statement", MEMBER_STRING, AT(statement), true, .min = 1, .max = PARTIQL_MAX_TEXT},
	{"Parameters", MEMBER_CUSTOM, AT(parameters), .read = statement_read_parameters},
	{"ConsistentRead", MEMBER_BOOL, AT(consistent)},
	RETURN_ON_FAILURE(StatementPart, on_failure),
};

static void
check_number(JsonReader *reader, int n, int max)
{
	request_check_length(reader, n, 1, max, n == 0 ? "[]" : "[...]");
}

static void
read_transaction(JsonReader *reader, void *to)
{
	List **parts = to;

	for (json_read_array(reader); json_read_element(reader);)
	{
		StatementPart *part = palloc0(sizeof(StatementPart));

		request_read_members(reader, transaction_part_members, lengthof(transaction_part_members),
							 part);
		*parts = lappend(*parts, part);
	}
	check_number(reader, list_length(*parts), dyn_max_transaction_actions);
}

/* Reads a batch.  What is wrong with a parameter is an error of its statement alone. */
static void
read_batch(JsonReader *reader, void *to)
{
	List **parts = to;

	for (json_read_array(reader); json_read_element(reader);)
	{
		StatementPart *part = palloc0(sizeof(StatementPart));

		request_read_members(reader, batch_part_members, lengthof(batch_part_members), part);
		part->complaint = reader->complaint;
		reader->complaint = (ItemComplaint){NULL};
		*parts = lappend(*parts, part);
	}
	check_number(reader, list_length(*parts), dyn_max_batch_writes);
}

#undef AT
#define AT(field) offsetof(StatementsCall, field)

static const RequestMember transaction_members[] = {
	{"TransactStatements", MEMBER_CUSTOM, AT(parts), true, .read = read_transaction},
	{"ClientRequestToken", MEMBER_TEXT, AT(token), .min = 1, .max = DYN_MAX_TOKEN},
	RETURN_CAPACITY(StatementsCall, capacity),
};

static const RequestMember batch_members[] = {
	{"Statements", MEMBER_CUSTOM, AT(parts), true, .read = read_batch},
	RETURN_CAPACITY(StatementsCall, capacity),
};

/*
 * What both have in common
 */

static void
bind_part(void *arg)
{
	StatementPart *part = arg;
	PartiqlBound *bound;

	item_complain(&part->complaint);
	bound = partiql_bind_list(partiql_compile(part->statement), part->parameters);
	part->table = statement_table(bound);
	part->bound = bound;
}

static PartiqlKind
kind_of(const StatementPart *part)
{
	return partiql_kind(part->bound->compiled);
}

/* Returns whether reads and writes are mixed, among statements that can be run. */
static bool
are_mixed(const List *parts)
{
	bool reads = false;
	bool writes = false;
	ListCell *cell;

	foreach (cell, parts)
	{
		const StatementPart *part = lfirst(cell);

		if (part->bound == NULL)
			continue;
		reads |= kind_of(part) == PARTIQL_SELECT;
		writes |= kind_of(part) != PARTIQL_SELECT;
	}
	return reads && writes;
}

static void
set_meter_part(MeterPart *to, const StatementPart *part, CapacityKind kind)
{
	to->table = part->table;
	to->kind = kind;
	to->operation = statement_privilege(kind_of(part));
}

/*
 * ExecuteTransaction
 */

static void
bind_action(void *arg)
{
	StatementPart *part = arg;

	bind_part(part);
	partiql_forbid_count(part->bound->compiled);
}

static void
bind_transaction(const List *parts)
{
	ListCell *cell;

	foreach (cell, parts)
	{
		ErrorData *error = action_try(bind_action, lfirst(cell));

		if (error != NULL)
			partiql_fail_part(foreach_current_index(cell), error);
	}
	if (are_mixed(parts))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a transaction has statements that read and statements that write"),
						errwords("ExecuteTransaction API does not support both read and write "
								 "operations in the same request.")));
}

static void
set_actions(const List *parts, TransactRequest *request)
{
	ListCell *cell;

	request->nactions = list_length(parts);
	request->actions = palloc(request->nactions * sizeof(TransactAction));
	foreach (cell, parts)
	{
		const StatementPart *part = lfirst(cell);
		int i = foreach_current_index(cell);

		if (request->part != NULL)
			*request->part = (PartUnderWay){.number = i};
		partiql_set_action(part->bound, i, &request->actions[i]);
		request->actions[i].request.old_on_failure = part->on_failure == RETURN_ALL_OLD;
	}
}

/*
 * Runs ExecuteTransaction, and appends the response.  Nothing is written if a transaction with the same
 * ClientRequestToken was done before.
 */
void
request_execute_transaction(JsonReader *reader, JsonWriter *response)
{
	StatementsCall call = {0};
	TransactRequest request = {.site = reader->site, .in_words = true, .statements = true};
	RequestMeter meter;
	ListCell *cell;
	bool reads;

	request_read(reader, transaction_members, lengthof(transaction_members), &call, NULL);
	bind_transaction(call.parts);
	reads = kind_of(linitial(call.parts)) == PARTIQL_SELECT;
	meter_init(&meter, call.capacity, 0, list_length(call.parts));
	foreach (cell, call.parts)
		set_meter_part(&meter.parts[foreach_current_index(cell)], lfirst(cell),
					   reads ? CAPACITY_TRANSACTION_READ : CAPACITY_TRANSACTION_WRITE);
	request.part = request_names_parts(reader, meter.parts, list_length(call.parts));
	request.meter = meter_wanted(&meter);
	request.token = call.token;
	set_actions(call.parts, &request);
	json_write_begin_array(response, "Responses");
	if (reads)
		action_transact_get(&request, request_print_gotten, response);
	else
		(void) action_transact(&request);
	json_write_end_array(response);
	meter_print(response, &meter);
}

/*
 * BatchExecuteStatement
 */

static const struct
{
	int sqlerrcode;
	const char *code;
} error_codes[] = {
	{ERRCODE_DYN_CONDITIONAL_CHECK_FAILED, "ConditionalCheckFailed"},
	{ERRCODE_DYN_DUPLICATE_ITEM, "DuplicateItem"},
	{ERRCODE_DYN_RESOURCE_NOT_FOUND, "ResourceNotFound"},
	{ERRCODE_DYN_ITEM_COLLECTION_SIZE_LIMIT, "ItemCollectionSizeLimitExceeded"},
	{ERRCODE_INSUFFICIENT_PRIVILEGE, "AccessDenied"},
};

static const char *
error_code(int sqlerrcode)
{
	for (int i = 0; i < lengthof(error_codes); i++)
	{
		if (error_codes[i].sqlerrcode == sqlerrcode)
			return error_codes[i].code;
	}
	return "ValidationError";
}

static void
note_error(StatementPart *part, const ErrorData *error, const char *words)
{
	part->code = error_code(error->sqlerrcode);
	part->message = pstrdup(words != NULL ? words : error->message);
}

typedef struct BatchFailures
{
	const JsonReader *reader;
	const List *parts; /* StatementPart */
} BatchFailures;

static void
note_failure(int number, const ErrorData *error, void *arg)
{
	const BatchFailures *failures = arg;
	const Denial *denial = failures->reader->denial;
	const char *words = words_of(error);

	/* a privilege that is missing has no words where that is found */
	if (words == NULL && error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE && denial != NULL)
		words = denial_words(denial);
	note_error(list_nth(failures->parts, number), error, words);
}

static void
bind_batch_part(void *arg)
{
	StatementPart *part = arg;

	bind_part(part);
	partiql_forbid_exists(part->bound->compiled);
}

static void
bind_batch(const List *parts)
{
	ListCell *cell;

	foreach (cell, parts)
	{
		StatementPart *part = lfirst(cell);
		ErrorData *error = action_try(bind_batch_part, part);

		if (error == NULL)
			continue;
		part->bound = NULL;
		note_error(part, error, words_of(error));
	}
	if (are_mixed(parts))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("a batch has statements that read and statements that write"),
				 errwords("Read and write requests together in the same batch is not supported.")));
}

typedef struct NamedPart
{
	const JsonReader *reader;
	ItemSpan table;
} NamedPart;

static void
name_part(void *arg)
{
	const NamedPart *named = arg;

	request_names(named->reader, named->table);
}

static bool
is_denied(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE;
}

/* Names the tables.  One of another region or account is denied to its statement alone. */
static void
name_parts(BatchFailures *failures, PartiqlBatch *batch)
{
	for (int i = 0; i < batch->nparts; i++)
	{
		StatementPart *part = list_nth(failures->parts, i);
		NamedPart named = {failures->reader};
		ErrorData *error;

		if (part->bound == NULL)
			continue;
		if (batch->part != NULL)
			*batch->part = (PartUnderWay){.number = i};
		named.table = text_span(part->table);
		error = attempt_to_compute(name_part, &named, is_denied);
		if (error == NULL)
			continue;
		note_failure(i, error, failures);
		batch->parts[i].bound = NULL;
	}
}

static CapacityKind
batch_capacity(const StatementPart *part)
{
	if (kind_of(part) != PARTIQL_SELECT)
		return CAPACITY_WRITE;
	return part->consistent ? CAPACITY_CONSISTENT_READ : CAPACITY_READ;
}

static void
print_part(JsonWriter *response, const StatementPart *part, const DynItem *item)
{
	json_write_begin(response, NULL);
	if (part->code != NULL)
	{
		json_write_begin(response, "Error");
		json_write_string(response, "Code", part->code);
		json_write_string(response, "Message", part->message);
		json_write_end(response);
	}
	if (part->table != NULL)
		json_write_span(response, "TableName", text_span(part->table));
	json_write_item(response, "Item", item);
	json_write_end(response);
}

static void
set_batch(PartiqlBatch *batch, RequestMeter *meter, const List *parts)
{
	ListCell *cell;

	batch->nparts = list_length(parts);
	batch->parts = palloc0(batch->nparts * sizeof(PartiqlPart));
	foreach (cell, parts)
	{
		const StatementPart *part = lfirst(cell);
		int i = foreach_current_index(cell);

		if (part->bound == NULL)
			continue;
		batch->parts[i] = (PartiqlPart){part->bound, part->consistent};
		set_meter_part(&meter->parts[i], part, batch_capacity(part));
	}
}

/* Runs BatchExecuteStatement, and appends the response. */
void
request_batch_execute_statement(JsonReader *reader, JsonWriter *response)
{
	StatementsCall call = {0};
	BatchFailures failures = {.reader = reader};
	PartiqlBatch batch = {.failed = note_failure, .arg = &failures};
	RequestMeter meter;
	ListCell *cell;

	request_read(reader, batch_members, lengthof(batch_members), &call, NULL);
	bind_batch(call.parts);
	failures.parts = call.parts;
	meter_init(&meter, call.capacity, 0, list_length(call.parts));
	set_batch(&batch, &meter, call.parts);
	batch.part = request_has_parts(reader, meter.parts, batch.nparts);
	name_parts(&failures, &batch);
	batch.meter = meter_wanted(&meter);
	partiql_batch(&batch);
	json_write_begin_array(response, "Responses");
	foreach (cell, call.parts)
		print_part(response, lfirst(cell), batch.parts[foreach_current_index(cell)].item);
	json_write_end_array(response);
	if (meter.capacities != NIL)
		meter_print(response, &meter);
}
