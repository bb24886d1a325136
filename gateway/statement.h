/*
 * statement.h
 *	  One connection to Postgres, and the one statement that is sent over it.
 */
#ifndef GATEWAY_STATEMENT_H
#define GATEWAY_STATEMENT_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "errors.h"
#include "request.h"

/* The cluster and the database of a connection take so much as text. */
#define IDENTITY_SIZE 64

/* An Outcome is what became of a statement, as far as it is known. */
typedef struct Outcome
{
	PGresult *result; /* NULL: none has come yet, or the connection broke */
	bool sent;
	bool unsent; /* a part of it: the rest is sent by statement_wait() */
	bool done; /* the transaction is committed, and the result is what it returned */
	bool late; /* nobody waits for it any longer */
	bool swollen; /* the connection holds more memory than it should keep */
} Outcome;

extern PGconn *statement_connect(const char *database, char **problem);
extern bool statement_prepare(PGconn *connection, bool *prepared, char **problem);
extern void statement_identity(PGconn *connection, char *identity);
extern bool statement_in_recovery(const PGconn *connection);
extern bool statement_is_alive(PGconn *connection);
extern char *statement_problem(const PGconn *connection, const PGresult *result);
extern void statement_begin(PGconn *connection, bool prepared, const Request *request,
							Outcome *outcome);
extern bool statement_wait(PGconn *connection, int64_t until, Outcome *outcome);
extern Failure statement_failure(const PGconn *connection, const Outcome *outcome);
extern bool statement_read(PGconn *connection, Outcome *outcome);

#endif
