/*
 * attempt.c
 *	  Errors that are caught.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "server/attempt.h"
#include "server/errors.h"

static ErrorData *
run_in_subtransaction(void (*step)(void *arg), void *arg, bool keep)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		step(arg);
		if (keep)
			ReleaseCurrentSubTransaction();
		else
			RollbackAndReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	/* not before the subtransaction has ended, or the session would be left in it */
	if (error != NULL && ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
		ReThrowError(error);
	return error;
}

/*
 * Runs a step in a subtransaction.  Returns NULL if it succeeded; otherwise it rolls the
 * subtransaction back and returns the error, copied into the current memory context.  Only what ends
 * the caller's statement is raised again here; the caller does so with what it does not expect.
 */
ErrorData *
attempt(void (*step)(void *arg), void *arg)
{
	return run_in_subtransaction(step, arg, true);
}

/*
 * Does the same for a step that only looks: the subtransaction is rolled back in any case, so that
 * no lock is kept.
 */
ErrorData *
attempt_and_undo(void (*step)(void *arg), void *arg)
{
	return run_in_subtransaction(step, arg, false);
}

/*
 * Runs a step without a subtransaction, so the step must not acquire locks or other resources.
 * Returns NULL if it succeeded, or the error, copied into the current memory context, if catches()
 * returns true for it.  Other errors are raised again, and so is one that has left the session with
 * the rights of another role: only the end of a transaction takes these away.
 */
ErrorData *
attempt_to_compute(void (*step)(void *arg), void *arg, bool (*catches)(const ErrorData *error))
{
	MemoryContext context = CurrentMemoryContext;
	ErrorData *volatile error = NULL;
	Oid user;
	int security;

	GetUserIdAndSecContext(&user, &security);
	PG_TRY();
	{
		step(arg);
	}
	PG_CATCH();
	{
		Oid user_now;
		int security_now;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		GetUserIdAndSecContext(&user_now, &security_now);
		if (user_now != user || security_now != security || !catches(error))
			PG_RE_THROW();
		FlushErrorState();
	}
	PG_END_TRY();
	return error;
}

/*
 * Returns whether an error may be due to the values of one item, so that other items can still be
 * processed.  With row_security, missing privileges count too, since policies report them.
 */
bool
item_is_to_blame(const ErrorData *error, bool row_security)
{
	switch (ERRCODE_TO_CATEGORY(error->sqlerrcode))
	{
		case ERRCODE_DATA_EXCEPTION:
		case ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION:
		case ERRCODE_PROGRAM_LIMIT_EXCEEDED:
		case ERRCODE_PLPGSQL_ERROR:
		case ERRCODE_TRIGGERED_ACTION_EXCEPTION:
			return true;
		default:
			break;
	}
	return error->sqlerrcode == ERRCODE_DYN_VALIDATION ||
		   error->sqlerrcode == ERRCODE_DYN_CONDITIONAL_CHECK_FAILED ||
		   error->sqlerrcode == ERRCODE_DYN_ITEM_COLLECTION_SIZE_LIMIT ||
		   (error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE && row_security);
}

/* Returns the same where nothing but values can be the reason, as in what only computes. */
bool
value_is_to_blame(const ErrorData *error)
{
	return item_is_to_blame(error, false);
}
