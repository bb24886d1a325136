/*
 * operation.h
 *	  What a request asks for: an operation and a JSON text, out of the protocol it is written in.
 *
 * The one protocol is AWS JSON 1.0.  What comes behind this file knows operations and JSON only, so
 * a second protocol would be a second file beside it.
 */
#ifndef GATEWAY_OPERATION_H
#define GATEWAY_OPERATION_H

#include <stdbool.h>
#include <stddef.h>

/* An OperationKind says what may be done if one failed for a reason that passes. */
typedef enum OperationKind
{
	OPERATION_READ, /* may be repeated at any time */
	OPERATION_WRITE, /* items, each for itself: nothing was done if Postgres gave it up */
	OPERATION_TRANSACTION,
	OPERATION_DEFINITION /* tables and what belongs to them */
} OperationKind;

typedef struct Operation
{
	const char *name;
	OperationKind kind;
	const char *items; /* the member that has an action each, of a transaction */
} Operation;

extern const Operation *operation_find(const char *target);
extern size_t operation_count(void);
extern size_t operation_number(const Operation *operation);
extern const Operation *operation_at(size_t number);
extern bool operation_is_local(const Operation *operation);
extern bool operation_is_short(const Operation *operation);
extern bool operation_may_write(const Operation *operation);
extern bool operation_is_silent(const Operation *operation);

extern const char *operation_content_type(const char *content_type);

#endif
