/*
 * cancel.c
 *	  Cancelled transactions: TransactionCanceledException and its reasons.
 */
#include "postgres.h"

#include "actions/several.h"
#include "ground/attempt.h"
#include "ground/errors.h"
#include "ground/json_writer.h"

static bool
is_validation(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_DYN_VALIDATION;
}

/* Run a step that computes and may find an action invalid, and return the ValidationException. */
ErrorData *
action_try(void (*step)(void *arg), void *arg)
{
	return attempt_to_compute(step, arg, is_validation);
}

/* The reasons as a program reads them. */
static char *
reasons_json(const CancelReason *reasons, int n)
{
	JsonWriter json = json_writer(JSON_COMPACT);

	json_write_begin(&json, NULL);
	json_write_begin_array(&json, "CancellationReasons");
	for (int i = 0; i < n; i++)
	{
		json_write_begin(&json, NULL);
		json_write_string(&json, "Code", reasons[i].code == NULL ? "None" : reasons[i].code);
		json_write_string(&json, "Message", reasons[i].message);
		json_write_item(&json, "Item", reasons[i].item);
		json_write_end(&json);
	}
	json_write_end_array(&json);
	json_write_end(&json);
	return json.text->data;
}

/* Reasons in DynamoDB's words, which programs look into (docs/semantics.md, X04). */
void
action_cancel(const CancelReason *reasons, int n)
{
	StringInfoData message;

	initStringInfo(&message);
	appendStringInfoString(
		&message,
		"Transaction cancelled, please refer cancellation reasons for specific reasons [");
	for (int i = 0; i < n; i++)
		appendStringInfo(&message, "%s%s", i > 0 ? ", " : "",
						 reasons[i].code == NULL ? "None" : reasons[i].code);
	appendStringInfoChar(&message, ']');
	ereport(ERROR, (errcode(ERRCODE_DYN_TRANSACTION_CANCELED), errmsg_internal("%s", message.data),
					errdetail_internal("%s", reasons_json(reasons, n))));
	pg_unreachable();
}

/* One action does not fit its table, so it alone has a reason (docs/semantics.md, X14). */
void
action_cancel_invalid(int number, int n, const ErrorData *error)
{
	CancelReason *reasons = palloc0(n * sizeof(CancelReason));

	reasons[number].code = "ValidationError";
	reasons[number].message = error->message;
	action_cancel(reasons, n);
}
