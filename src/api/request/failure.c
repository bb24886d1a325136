/*
 * failure.c
 *	  Errors of requests, in the form that DynamoDB's clients expect.
 *
 * The message is DynamoDB's, as far as it has words for the error, with the extension's own message
 * as DETAIL.  DETAIL is a JSON object where the response has data for the program; then the own
 * message is in the context.
 */
#include "postgres.h"

#include "api/request/layers.h"
#include "api/request/request.h"
#include "catalog/lookup.h"
#include "catalog/table.h"
#include "item/json_writer.h"
#include "server/errors.h"

/* Returns whether requests tell the error otherwise than PostgreSQL does. */
static bool
is_told(int code)
{
	return (PGUNSIXBIT(code) == 'Y' && PGUNSIXBIT(code >> 6) == 'D') ||
		   code == ERRCODE_INSUFFICIENT_PRIVILEGE;
}

/*
 * Returns whether another transaction was in the way of a request that is a transaction itself.
 * Where the request is a part of a longer transaction, PostgreSQL's own conflicts are told as
 * PostgreSQL tells them: the caller begins that transaction again.
 */
static bool
is_conflict(int code, const Denial *denial)
{
	switch (code)
	{
		case ERRCODE_DYN_TRANSACTION_CONFLICT:
			break;
		case ERRCODE_T_R_SERIALIZATION_FAILURE:
		case ERRCODE_T_R_DEADLOCK_DETECTED:
		case ERRCODE_LOCK_NOT_AVAILABLE:
			if (!denial->alone)
				return false;
			break;
		default:
			return false;
	}
	return denial_is_of_transaction(denial);
}

/* Cancels the transaction for the action that has met the other one, or for all of several. */
pg_noreturn static void
cancel_for_conflict(const ErrorData *error, const Denial *denial)
{
	TransactRequest request = {.nactions = denial->nparts, .in_words = true};
	CancelReason *reasons = palloc0(request.nactions * sizeof(CancelReason));
	CancelReason reason = {.code = "TransactionConflict",
						   .message = error->message,
						   .detail = error->detail,
						   .words = "Transaction is ongoing for the item"};

	for (int i = 0; i < request.nactions; i++)
	{
		if (denial->part.others || i == denial->part.number)
			reasons[i] = reason;
	}
	action_cancel(&request, reasons);
}

/* Takes the error in PG_CATCH(), copied into the context that the request is carried out in. */
static ErrorData *
take_error(MemoryContext context)
{
	ErrorData *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	return error;
}

/* Returns the words for all that is missing, which may be followed by what it is. */
static const char *
missing_words(const ErrorData *error, const char *words)
{
	if (words == NULL)
		words = error->message;
	if (strncmp(words, DYN_NOT_FOUND_WORDS, strlen(DYN_NOT_FOUND_WORDS)) == 0)
		return words;
	return psprintf(DYN_NOT_FOUND_WORDS ": %s", words);
}

/* Returns whether DETAIL is data for the program. */
static bool
has_data(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_DYN_CONDITIONAL_CHECK_FAILED ||
		   error->sqlerrcode == ERRCODE_DYN_TRANSACTION_CANCELED;
}

/* Joins two texts, or returns the one that there is. */
static char *
failure_join(const char *first, const char *separator, const char *second)
{
	return second == NULL ? pstrdup(first) : psprintf("%s%s%s", first, separator, second);
}

/* Says what DynamoDB says.  The extension's own message moves, unless it is the same or a part. */
static void
failure_say(ErrorData *error, const char *words)
{
	char *own = error->message;

	error->message = pstrdup(words);
	own[0] = (char) pg_toupper((unsigned char) own[0]);
	if (strstr(words, own) != NULL)
		return;
	if (has_data(error))
		error->context = failure_join(own, "\n", error->context);
	else
		error->detail = failure_join(psprintf("%s.", own), " ", error->detail);
}

/*
 * Raises the caught error again, in the words of DynamoDB if it is one of the extension's own or a
 * missing privilege, and unchanged otherwise.  Called in PG_CATCH(); the context is the one that was
 * current at PG_TRY().
 */
void
request_rethrow(MemoryContext context, const Denial *denial)
{
	ErrorData *error;
	const char *words;

	if (is_conflict(geterrcode(), denial))
		cancel_for_conflict(take_error(context), denial);
	if (!is_told(geterrcode()))
		PG_RE_THROW();
	error = take_error(context);
	words = words_of(error);
	if (words != NULL)
		words = layer_words(denial->operation, words_kind_of(error), words);
	if (error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE)
	{
		error->sqlerrcode = ERRCODE_DYN_ACCESS_DENIED;
		/* a privilege that is missing has no words where that is found */
		if (words == NULL)
			words = denial_words(denial);
	}
	if (error->sqlerrcode == ERRCODE_DYN_RESOURCE_NOT_FOUND)
		words = missing_words(error, words);
	if (words != NULL)
		failure_say(error, words);
	/* words are as they are */
	if (words == NULL)
		error->message[0] = (char) pg_toupper((unsigned char) error->message[0]);
	ReThrowError(error);
}

/*
 * Raises a failed condition again: the item that was asked for is in the detail already, alone
 * (docs/semantics.md, R12).
 */
void
request_rethrow_condition(MemoryContext context, FailurePrinter print, void *arg)
{
	JsonWriter detail;
	ErrorData *error;

	if (geterrcode() != ERRCODE_DYN_CONDITIONAL_CHECK_FAILED)
		PG_RE_THROW();
	error = take_error(context);
	detail = json_writer(JSON_COMPACT);
	json_write_begin(&detail, NULL);
	if (error->detail != NULL)
		json_write_raw(&detail, "Item", error->detail);
	print(&detail, arg);
	/* nothing was told */
	if (detail.comma)
	{
		json_write_end(&detail);
		error->detail = detail.text->data;
	}
	ReThrowError(error);
}
