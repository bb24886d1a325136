/*
 * errors.h
 *	  Errors as clients are told of them, and what becomes of SQLSTATEs.
 *
 * SDKs repeat requests that failed with status 500 or 503 or with a throttling code, and no others:
 * this table decides whether a client recovers.
 */
#ifndef GATEWAY_ERRORS_H
#define GATEWAY_ERRORS_H

#include <stdbool.h>

#include "operation.h"

#define PREFIX_DYNAMODB "com.amazonaws.dynamodb.v20120810#"
#define PREFIX_VALIDATE "com.amazon.coral.validate#"
#define PREFIX_SERVICE "com.amazon.coral.service#"

/* Those with an SQLSTATE of the extension's come first, in its order (src/server/errors.h). */
#define ERROR_LIST(X) \
	X(ERROR_VALIDATION, "YD001", PREFIX_VALIDATE, "ValidationException", 400) \
	X(ERROR_CONDITIONAL_CHECK_FAILED, "YD002", PREFIX_DYNAMODB, "ConditionalCheckFailedException", \
	  400) \
	X(ERROR_TRANSACTION_CANCELED, "YD003", PREFIX_DYNAMODB, "TransactionCanceledException", 400) \
	X(ERROR_TRANSACTION_CONFLICT, "YD004", PREFIX_DYNAMODB, "TransactionConflictException", 400) \
	X(ERROR_TRANSACTION_IN_PROGRESS, "YD005", PREFIX_DYNAMODB, "TransactionInProgressException", \
	  400) \
	X(ERROR_IDEMPOTENT_PARAMETER_MISMATCH, "YD006", PREFIX_DYNAMODB, \
	  "IdempotentParameterMismatchException", 400) \
	X(ERROR_ITEM_COLLECTION_SIZE_LIMIT, "YD007", PREFIX_DYNAMODB, \
	  "ItemCollectionSizeLimitExceededException", 400) \
	X(ERROR_RESOURCE_NOT_FOUND, "YD008", PREFIX_DYNAMODB, "ResourceNotFoundException", 400) \
	X(ERROR_RESOURCE_IN_USE, "YD009", PREFIX_DYNAMODB, "ResourceInUseException", 400) \
	X(ERROR_LIMIT_EXCEEDED, "YD010", PREFIX_DYNAMODB, "LimitExceededException", 400) \
	X(ERROR_TRIMMED_DATA_ACCESS, "YD011", PREFIX_DYNAMODB, "TrimmedDataAccessException", 400) \
	X(ERROR_EXPIRED_ITERATOR, "YD012", PREFIX_DYNAMODB, "ExpiredIteratorException", 400) \
	X(ERROR_SERIALIZATION, "YD013", PREFIX_SERVICE, "SerializationException", 400) \
	X(ERROR_UNKNOWN_OPERATION, "YD014", PREFIX_SERVICE, "UnknownOperationException", 400) \
	X(ERROR_TABLE_NOT_FOUND, "YD015", PREFIX_DYNAMODB, "TableNotFoundException", 400) \
	X(ERROR_ACCESS_DENIED, "YD016", PREFIX_DYNAMODB, "AccessDeniedException", 400) \
	X(ERROR_DUPLICATE_ITEM, "YD017", PREFIX_DYNAMODB, "DuplicateItemException", 400) \
	X(ERROR_MISSING_TOKEN, NULL, PREFIX_SERVICE, "MissingAuthenticationTokenException", 400) \
	X(ERROR_INCOMPLETE_SIGNATURE, NULL, PREFIX_SERVICE, "IncompleteSignatureException", 400) \
	X(ERROR_INVALID_SIGNATURE, NULL, PREFIX_SERVICE, "InvalidSignatureException", 400) \
	X(ERROR_UNRECOGNIZED_CLIENT, NULL, PREFIX_SERVICE, "UnrecognizedClientException", 400) \
	X(ERROR_EXPIRED_TOKEN, NULL, PREFIX_SERVICE, "ExpiredTokenException", 400) \
	X(ERROR_THROTTLING, NULL, PREFIX_SERVICE, "ThrottlingException", 400) \
	X(ERROR_NOT_FOUND, NULL, PREFIX_SERVICE, "UnknownOperationException", 404) \
	X(ERROR_FRAMING, NULL, PREFIX_SERVICE, "SerializationException", 400) \
	X(ERROR_TOO_LARGE, NULL, PREFIX_SERVICE, "RequestEntityTooLargeException", 413) \
	X(ERROR_UNSUPPORTED_TYPE, NULL, PREFIX_SERVICE, "UnsupportedMediaTypeException", 415) \
	X(ERROR_HEADER_TOO_LARGE, NULL, PREFIX_SERVICE, "RequestHeaderFieldsTooLargeException", 431) \
	X(ERROR_INTERNAL, NULL, PREFIX_DYNAMODB, "InternalServerError", 500) \
	X(ERROR_UNAVAILABLE, NULL, PREFIX_DYNAMODB, "ServiceUnavailable", 503)

#define ERROR_ENUM(symbol, sqlstate, prefix, name, status) symbol,
typedef enum ErrorKind
{
	ERROR_NONE,
	ERROR_LIST(ERROR_ENUM) ERROR_COUNT
} ErrorKind;

/*
 * A Failure is a failed statement.  Code of a table's owner can raise an error with any SQLSTATE,
 * so what becomes of the connection follows from the other members, which it cannot forge.
 */
typedef struct Failure
{
	const char *sqlstate; /* NULL: libpq found the error */
	bool sent; /* the statement was sent, so it may have been carried out */
	bool ended; /* the connection broke, or the server has ended it */
	bool outside; /* the error is not of the request, but of the statement around it */
	bool read_only; /* the session takes no writes */
	bool late; /* no answer has come in time */
	bool standby; /* the server is asked for reads that the primary can do, too */
	bool node; /* the server has been chosen by what it has, and the primary reaches it, too */
	OperationKind kind;
} Failure;

/* A Remedy is what is done about it. */
typedef struct Remedy
{
	ErrorKind error; /* what the client is told if all else fails */
	bool tells; /* ... in the words of the message */
	bool repeat; /* the statement may be sent again at once: nothing was done */
	bool pause; /* ... after a pause */
	bool elsewhere; /* the primary does it */
	bool reconnect; /* the connection is of no more use */
	bool untouched; /* ... and the server had begun with nothing that was sent over it */
	bool unprepared; /* the connection has lost its prepared statement */
	bool unknown; /* it may have been done */
	bool conflict; /* all actions of the transaction have the reason TransactionConflict */
} Remedy;

extern Remedy error_remedy(const Failure *failure);
extern const char *error_name(ErrorKind error);
extern const char *error_type(ErrorKind error);
extern int error_status(ErrorKind error);
extern ErrorKind error_of_type(const char *type);
extern bool error_has_members(ErrorKind error);

#endif
