/*
 * outcome.c
 *	  What a request is answered when its statement has come to its end.
 */
#include "outcome.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "member.h"
#include "text.h"

#define CONFLICT_MESSAGE "Transaction is ongoing for the item"
#define INTERNAL_MESSAGE "Internal server error"
#define UNKNOWN_MESSAGE "Internal server error: the request may have been carried out"

/* So many bytes are told of an error.  Its data are at most the 100 items of a transaction. */
#define MAX_MESSAGE 65536
#define MAX_MEMBERS (64 << 20)

static void
clear_result(void *result)
{
	PQclear(result);
}

/* Answers with the one row that there is. */
void
outcome_result(Request *request, PGresult *result)
{
	if (request->operation == NULL)
	{
		PQclear(result);
		answer_constant(&request->answer, 200, "text/plain", "ready\n");
	}
	else if (PQntuples(result) != 1 || PQnfields(result) != 1 || PQgetisnull(result, 0, 0))
	{
		PQclear(result);
		answer_error(&request->answer, ERROR_INTERNAL, INTERNAL_MESSAGE, NULL);
	}
	else if (operation_is_silent(request->operation))
	{
		PQclear(result);
		answer_constant(&request->answer, 200, NULL, "");
	}
	else
		answer_owned(&request->answer, 200, PQgetvalue(result, 0, 0),
					 (size_t) PQgetlength(result, 0, 0), result, clear_result);
}

/* Answers that all actions of a transaction met another: Postgres does not say which one did. */
static void
answer_conflict(Request *request)
{
	const char *items = request->operation->items;
	size_t n = member_elements(member_find(request->body.data, request->body.size, items));
	Text message = {0};
	Text members = {0};

	text_add_strings(&message,
					 "Transaction cancelled, please refer cancellation reasons for specific "
					 "reasons [",
					 NULL);
	text_add_strings(&members, "\"CancellationReasons\":[", NULL);
	for (size_t i = 0; i < n || i == 0; i++)
	{
		text_add_strings(&message, i == 0 ? "" : ", ", "TransactionConflict", NULL);
		text_add_strings(&members, i == 0 ? "" : ",",
						 "{\"Code\":\"TransactionConflict\",\"Message\":\"" CONFLICT_MESSAGE "\"}",
						 NULL);
	}
	text_add_strings(&message, "]", NULL);
	text_add_strings(&members, "]", NULL);
	if (message.failed || members.failed)
		answer_error(&request->answer, ERROR_INTERNAL, INTERNAL_MESSAGE, NULL);
	else
		answer_error(&request->answer, ERROR_TRANSACTION_CANCELED, message.data, members.data);
	text_free(&message);
	text_free(&members);
}

/*
 * Answers an error of the extension's, in its own words.  DETAIL with data is a JSON object.  Code
 * of a table's owner may raise the same error with anything in it, so it is looked at.
 */
static void
answer_told(Request *request, ErrorKind error, const PGresult *result)
{
	const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
	size_t length = detail == NULL ? 0 : strlen(detail);
	const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	char *message = primary == NULL ? NULL : strndup(primary, MAX_MESSAGE);
	char *members = NULL;

	if (error_has_members(error) && length > 2 && length < MAX_MEMBERS && detail[0] == '{' &&
		detail[length - 1] == '}' && json_valid(detail, length))
		members = strndup(detail + 1, length - 2);
	answer_error(&request->answer, error, message, members);
	free(message);
	free(members);
}

/* Answers how a statement has failed, as far as the client is told. */
void
outcome_failure(Request *request, const Remedy *remedy, const PGresult *result)
{
	if (remedy->tells)
		answer_told(request, remedy->error, result);
	else if (remedy->conflict)
		answer_conflict(request);
	else if (remedy->error == ERROR_TRANSACTION_CONFLICT)
		answer_error(&request->answer, remedy->error, CONFLICT_MESSAGE, NULL);
	else if (remedy->error == ERROR_INTERNAL)
		answer_error(&request->answer, remedy->error,
					 remedy->unknown ? UNKNOWN_MESSAGE : INTERNAL_MESSAGE, NULL);
	else
		answer_error(&request->answer, remedy->error, NULL, NULL);
}
