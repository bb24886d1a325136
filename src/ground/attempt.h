/*
 * attempt.h
 *	  Steps that may fail without ending what they are steps of.
 */
#ifndef DYNAMO_TABLE_ATTEMPT_H
#define DYNAMO_TABLE_ATTEMPT_H

/*
 * Do a step in a subtransaction, so that an error undoes that alone.  It begins in the current
 * memory context, where the error that is returned is as well; NULL: it was done.  An error that
 * is none of the caller's he raises again, which he can, since the subtransaction has ended.
 */
extern ErrorData *attempt(void (*step)(void *arg), void *arg);

/*
 * The same without a subtransaction, for a step that only computes: it takes no lock and no other
 * resource, so nothing has to be rolled back.  Errors that the caller does not catch go on.
 */
extern ErrorData *attempt_to_compute(void (*step)(void *arg), void *arg,
									 bool (*catches)(const ErrorData *error));

/*
 * Whether an error may be about one item, or the row that it is made of, so that others can do:
 * their values, constraints, and what triggers and, where there is row security, policies refuse.
 */
extern bool item_is_to_blame(const ErrorData *error, bool row_security);

#endif
