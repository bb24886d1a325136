/*
 * attempt.h
 *	  Steps that may fail without ending the work that they are part of.
 */
#ifndef DYNAMO_TABLE_SERVER_ATTEMPT_H
#define DYNAMO_TABLE_SERVER_ATTEMPT_H

/*
 * Does a step in a subtransaction, so that an error rolls back the step alone.  The step begins in
 * the current memory context.  Returns NULL on success, or the error, allocated in that context.
 * The caller raises again an error that it does not handle; it can, since the subtransaction has
 * ended.  An error that ends the statement, such as its cancellation, is raised again at once.
 */
extern ErrorData *attempt(void (*step)(void *arg), void *arg);

/* Does the same for a step that only looks: its locks are released on success as well. */
extern ErrorData *attempt_and_undo(void (*step)(void *arg), void *arg);

/*
 * Does the same without a subtransaction, for a step that only computes: it takes no lock or other
 * resource, so nothing has to be rolled back.  Errors that the caller does not catch propagate.
 */
extern ErrorData *attempt_to_compute(void (*step)(void *arg), void *arg,
									 bool (*catches)(const ErrorData *error));

/*
 * Returns whether an error may concern one item or its row only, so that work can go on with
 * others: errors in values, violated constraints, refusals by triggers and, with row security, by
 * policies.
 */
extern bool item_is_to_blame(const ErrorData *error, bool row_security);

/* Returns the same where nothing but values can be the reason, as attempt_to_compute() asks. */
extern bool value_is_to_blame(const ErrorData *error);

#endif
