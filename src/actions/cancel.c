/*
 * cancel.c
 *	  Cancelled transactions: TransactionCanceledException and its reasons.
 */
#include "postgres.h"

#include "actions/several.h"
#include "item/json_writer.h"
#include "server/attempt.h"
#include "server/errors.h"

static bool
is_validation(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_DYN_VALIDATION;
}

/* Runs a step that computes and may find an action invalid, and returns the ValidationException. */
ErrorData *
action_try(void (*step)(void *arg), void *arg)
{
	return attempt_to_compute(step, arg, is_validation);
}

/*
 * Runs such a step in a subtransaction.  This is for steps that may call functions of types, such
 * as those of a domain's constraints: their errors leave more behind than memory.
 */
ErrorData *
action_attempt(void (*step)(void *arg), void *arg)
{
	ErrorData *error = attempt(step, arg);

	if (error != NULL && !is_validation(error))
		ReThrowError(error);
	return error;
}

/*
 * Returns the reason of an action that the error, which has just been caught, finds invalid.  It
 * points into the error.
 */
CancelReason
action_invalid(const ErrorData *error)
{
	const char *words = words_of(error);

	return (CancelReason){.code = "ValidationError",
						  .message = error->message,
						  .detail = error->detail,
						  .hint = error->hint,
						  .words = words == NULL ? NULL : pstrdup(words)};
}

static const char *
message_of(const CancelReason *reason, bool in_words)
{
	return in_words && reason->words != NULL ? reason->words : reason->message;
}

/* Returns the reasons as a program reads them; the log has no items. */
static char *
reasons_json(const CancelReason *reasons, int n, bool in_words, bool items)
{
	JsonWriter json = json_writer(JSON_COMPACT);

	json_write_begin(&json, NULL);
	json_write_begin_array(&json, "CancellationReasons");
	for (int i = 0; i < n; i++)
	{
		json_write_begin(&json, NULL);
		json_write_string(&json, "Code", reasons[i].code == NULL ? "None" : reasons[i].code);
		json_write_string(&json, "Message", message_of(&reasons[i], in_words));
		if (items)
			json_write_item(&json, "Item", reasons[i].item);
		json_write_end(&json);
	}
	json_write_end_array(&json);
	json_write_end(&json);
	return json.text->data;
}

/* Adds what the words leave unsaid, for people. */
static int
add_own_messages(const CancelReason *reasons, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (reasons[i].words == NULL)
			continue;
		if (reasons[i].detail == NULL)
			errcontext("action %d of the transaction: %s", i + 1, reasons[i].message);
		else
			errcontext("action %d of the transaction: %s: %s", i + 1, reasons[i].message,
					   reasons[i].detail);
	}
	return 0;
}

/* Adds what a person can do, by the first reason that knows it; programs look into the reasons. */
static int
add_hint(const CancelReason *reasons, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (reasons[i].hint != NULL)
			return errhint("Action %d: %s", i + 1, reasons[i].hint);
	}
	return 0;
}

/* Raises the error, in words that programs look into (docs/semantics.md, X04). */
void
action_cancel(const TransactRequest *request, const CancelReason *reasons)
{
	int n = request->nactions;
	StringInfoData message;

	initStringInfo(&message);
	appendStringInfoString(
		&message,
		"Transaction cancelled, please refer cancellation reasons for specific reasons [");
	for (int i = 0; i < n; i++)
		appendStringInfo(&message, "%s%s", i > 0 ? ", " : "",
						 reasons[i].code == NULL ? "None" : reasons[i].code);
	appendStringInfoChar(&message, ']');
	ereport_answer((errcode(ERRCODE_DYN_TRANSACTION_CANCELED), errmsg_internal("%s", message.data),
					errwords("%s", message.data),
					errdetail_internal("%s", reasons_json(reasons, n, request->in_words, true)),
					errdetail_log("%s", reasons_json(reasons, n, request->in_words, false)),
					request->in_words ? add_own_messages(reasons, n) : add_hint(reasons, n)));
	pg_unreachable();
}

typedef struct Examination
{
	const TransactRequest *request;
	int number;
	ActionCheck check;
	void *arg;
} Examination;

static void
examine(void *arg)
{
	const Examination *e = arg;

	e->check(e->request, e->number, e->arg);
}

static CancelReason
examined(Examination *e)
{
	CancelReason reason = e->request->actions[e->number].invalid;
	ErrorData *error;

	if (reason.code != NULL)
		return reason;
	error = action_try(examine, e);
	return error == NULL ? reason : action_invalid(error);
}

/*
 * Checks actions against their tables, and cancels the transaction if one does not fit.  Of
 * statements, each that does not fit has a reason.  Of other requests, only the first such action
 * has one (docs/semantics.md, X14), and before the cancellation refuse() is called for the actions
 * that the front end has found valid: it raises an error for what refuses the whole request.
 */
void
action_examine(const TransactRequest *request, ActionCheck check, ActionCheck refuse, void *arg)
{
	CancelReason *reasons = palloc0(request->nactions * sizeof(CancelReason));
	Examination e = {request, 0, check, arg};
	bool failed = false;

	for (; e.number < request->nactions && (!failed || request->statements); e.number++)
	{
		reasons[e.number] = examined(&e);
		failed |= reasons[e.number].code != NULL;
	}
	for (int i = 0; failed && !request->statements && i < request->nactions; i++)
	{
		if (request->actions[i].invalid.code == NULL)
			refuse(request, i, arg);
	}
	if (failed)
		action_cancel(request, reasons);
	pfree(reasons);
}
