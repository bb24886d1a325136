/*
 * coordinator.c
 *	  Requests that change distributed tables, which only the coordinator of Citus can: a worker has it
 *	  carry them out.
 *
 * The coordinator is called by a connection of Citus, as the current role, and commits by itself.  So
 * such a request cannot be part of a transaction, and nothing is locked here meanwhile.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "api/request/coordinator.h"
#include "api/request/request.h"
#include "catalog/definition/arn.h"
#include "catalog/definition/settings.h"
#include "catalog/lookup.h"
#include "catalog/node_error.h"
#include "server/arguments.h"
#include "server/attempt.h"
#include "server/citus.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"

#define CREATE_TABLE "CreateTable"
#define DISTRIBUTE "dynamo_table.distribute_new_tables"

static bool
is_ddl(const char *operation)
{
	static const char *const operations[] = {CREATE_TABLE, "DeleteTable", "UpdateTable",
											 "UpdateTimeToLive"};

	for (int i = 0; i < lengthof(operations); i++)
	{
		if (strcmp(operations[i], operation) == 0)
			return true;
	}
	return false;
}

/* Holds a request, and what table it names; no data: none, as far as it could be read. */
typedef struct NamedTable
{
	const text *request;
	ItemSpan name;
} NamedTable;

static void
read_name(void *arg)
{
	NamedTable *table = arg;
	JsonReader reader;
	ItemSpan member;

	json_reader_init(&reader, VARDATA_ANY(table->request), (int) VARSIZE_ANY_EXHDR(table->request));
	json_read_object(&reader);
	while (json_read_member(&reader, &member))
	{
		if (item_span_is(member, "TableName"))
			table->name = json_read_string(&reader);
		else
			json_skip(&reader);
	}
}

/* What is wrong with the request is said when it is carried out. */
static bool
is_ours(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_OPERATOR_INTERVENTION;
}

/*
 * Returns whether the coordinator has to carry out a request: this node is a worker, and the table is
 * distributed, or is to be.
 */
bool
coordinator_is_for(const char *operation, const text *request)
{
	NamedTable table = {.request = request};
	Oid relid;

	if (!is_ddl(operation) || citus_local_group() <= 0)
		return false;
	if (strcmp(operation, CREATE_TABLE) == 0)
		return dyn_distribute_new_tables;
	if (attempt_to_compute(read_name, &table, is_ours) != NULL || table.name.data == NULL)
		return false;
	relid = dyn_table_lookup(dyn_table_name(table.name));
	return OidIsValid(relid) && citus_kind(relid) == CITUS_DISTRIBUTED;
}

/* Raises the error that the coordinator has answered, or what keeps it from answering. */
pg_noreturn static void
fail_answer(const char *answer)
{
	const char *error = answer == NULL ? NULL : strchr(answer, '{');

	if (error != NULL)
		node_error_raise(error);
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("the coordinator cannot carry out the request"),
			 answer == NULL ? 0 : errdetail_internal("%s", answer),
			 errhint("Tables are changed at the coordinator, which has to be up, and where the "
					 "role has to be able to log in.")));
}

/* Has the coordinator carry out a request, and returns its response. */
text *
coordinator_request(const char *operation, text *request)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext old;
	text *response;
	char *answer;

	if (IsTransactionBlock() || IsSubTransaction())
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("%s of a distributed table cannot be part of a transaction here",
							   operation),
						errdetail("This node is a worker of Citus, and has the coordinator do it."),
						errhint("Send the request by itself, or to the coordinator.")));
	SPI_connect();
	sql_execute(
		"SELECT c.success, c.result FROM pg_catalog.run_command_on_coordinator(pg_catalog.format("
		"'SELECT " DYN_INTERNAL ".coordinator_request(%L, %L, %L, %L)',"
		" $1, $2, $3, $4)) c",
		false, 0,
		SQL_VALUES(SQL_TEXT(operation), SQL_VALUE(TEXTOID, PointerGetDatum(request)),
				   SQL_TEXT(GetConfigOption("search_path", false, false)),
				   SQL_TEXT(dyn_arn_region())));
	answer = SPI_processed == 0 ? NULL : sql_text_or_null(SPI_tuptable, 0, 2);
	if (SPI_processed == 0 || answer == NULL ||
		!DatumGetBool(sql_value_or_zero(SPI_tuptable, 0, 1)))
		fail_answer(answer);
	old = MemoryContextSwitchTo(context);
	response = cstring_to_text(answer);
	MemoryContextSwitchTo(old);
	SPI_finish();
	return response;
}

/*
 * At the coordinator
 */

static void
set_locally(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_SUSET, PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0,
							 false);
}

/* Raises an error again, as a message that has all of it: a message is what comes back. */
pg_noreturn static void
rethrow_as_message(MemoryContext context)
{
	ErrorData *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
		PG_RE_THROW();
	FlushErrorState();
	ereport(ERROR, (errcode(error->sqlerrcode), errmsg_internal("%s", node_error_json(error))));
}

/*
 * coordinator_request(operation, request, search_path, region): a request that a worker was sent, whose
 * tables are named by that search_path.
 */
PG_FUNCTION_INFO_V1(dyn_coordinator_request);
Datum
dyn_coordinator_request(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	text *response;

	if (!is_ddl(text_to_cstring(argument_required_text(fcinfo, 0, "operation"))))
		ereport(ERROR, (errcode(ERRCODE_DYN_UNKNOWN_OPERATION), errmsg("unknown operation")));
	set_locally("search_path", text_to_cstring(argument_required_text(fcinfo, 2, "search_path")));
	set_locally(DISTRIBUTE, "on");
	PG_TRY();
	{
		dyn_arn_set_request_region(text_to_cstring(argument_required_text(fcinfo, 3, "region")));
		response = request_carry_out(fcinfo, PG_GETARG_TEXT_PP(0),
									 argument_required_text(fcinfo, 1, "request"), false);
	}
	PG_CATCH();
	{
		dyn_arn_set_request_region("");
		rethrow_as_message(context);
	}
	PG_END_TRY();
	dyn_arn_set_request_region("");
	PG_RETURN_TEXT_P(response);
}
