/*
 * errors.h
 *	  The one list of the extension's SQLSTATEs, one per DynamoDB exception.
 *
 * Class YD lies outside the range that the SQL standard reserves (0-4, A-H).  A
 * released code never changes its meaning: new ones are added at the end.
 */
#ifndef DYNAMO_TABLE_SERVER_ERRORS_H
#define DYNAMO_TABLE_SERVER_ERRORS_H

#include "server/compat.h"
#include "server/words.h"

#define DYN_ERROR_LIST(X) \
	X(ERRCODE_DYN_VALIDATION, '0', '0', '1', "ValidationException") \
	X(ERRCODE_DYN_CONDITIONAL_CHECK_FAILED, '0', '0', '2', "ConditionalCheckFailedException") \
	X(ERRCODE_DYN_TRANSACTION_CANCELED, '0', '0', '3', "TransactionCanceledException") \
	X(ERRCODE_DYN_TRANSACTION_CONFLICT, '0', '0', '4', "TransactionConflictException") \
	X(ERRCODE_DYN_TRANSACTION_IN_PROGRESS, '0', '0', '5', "TransactionInProgressException") \
	X(ERRCODE_DYN_IDEMPOTENT_PARAMETER_MISMATCH, '0', '0', '6', \
	  "IdempotentParameterMismatchException") \
	X(ERRCODE_DYN_ITEM_COLLECTION_SIZE_LIMIT, '0', '0', '7', \
	  "ItemCollectionSizeLimitExceededException") \
	X(ERRCODE_DYN_RESOURCE_NOT_FOUND, '0', '0', '8', "ResourceNotFoundException") \
	X(ERRCODE_DYN_RESOURCE_IN_USE, '0', '0', '9', "ResourceInUseException") \
	X(ERRCODE_DYN_LIMIT_EXCEEDED, '0', '1', '0', "LimitExceededException") \
	X(ERRCODE_DYN_TRIMMED_DATA_ACCESS, '0', '1', '1', "TrimmedDataAccessException") \
	X(ERRCODE_DYN_EXPIRED_ITERATOR, '0', '1', '2', "ExpiredIteratorException") \
	X(ERRCODE_DYN_SERIALIZATION, '0', '1', '3', "SerializationException") \
	X(ERRCODE_DYN_UNKNOWN_OPERATION, '0', '1', '4', "UnknownOperationException") \
	X(ERRCODE_DYN_TABLE_NOT_FOUND, '0', '1', '5', "TableNotFoundException") \
	X(ERRCODE_DYN_ACCESS_DENIED, '0', '1', '6', "AccessDeniedException") \
	X(ERRCODE_DYN_DUPLICATE_ITEM, '0', '1', '7', "DuplicateItemException")

#define DYN_ERROR_ENUM(symbol, a, b, c, name) symbol = MAKE_SQLSTATE('Y', 'D', a, b, c),
enum DynErrorCode
{
	DYN_ERROR_LIST(DYN_ERROR_ENUM)
};

/*
 * This is ereport() of an answer: what a correct program gets in the course of things, like a
 * failed condition.  Answers are not in the server's log, see quiet.c.  The text domain is their
 * mark: it stays when an error is raised again, and while any role can raise any SQLSTATE, C code
 * alone has domains.
 */
#define DYN_ANSWER_DOMAIN "dynamo_table answer"
#define ereport_answer(...) ereport_domain(ERROR, DYN_ANSWER_DOMAIN, __VA_ARGS__)

extern const char *message_shortened(const char *text);

/* Raises an error with exactly DynamoDB's message, which programs may compare. */
pg_noreturn extern void dyn_raise(int sqlstate, WordsKind kind, const char *words);
#define dyn_error(sqlstate, ...) dyn_raise(sqlstate, WORDS_OTHER, psprintf(__VA_ARGS__))
#define dyn_error_kind(kind, ...) dyn_raise(ERRCODE_DYN_VALIDATION, kind, psprintf(__VA_ARGS__))

#endif
