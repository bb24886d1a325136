/*
 * statement.h
 *	  One connection to Postgres, and the statements that are sent over it, one behind the other.
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
	bool unsent; /* it was not sent */
	bool over; /* the server is ready for the next statement: the transaction has ended */
	bool late; /* nobody waits for it any longer */
	bool behind; /* the standby is not where it has to be */
	int64_t took; /* microseconds since the server could begin with it */
	bool swollen; /* the connection, or its session, holds more memory than it should keep */
} Outcome;

extern PGconn *statement_connect(const char *database, const char *host, const char *port,
								 char **problem);
extern PGresult *statement_ask(PGconn *connection, const char *text, int n,
							   const char *const *values);
extern bool statement_prepare(PGconn *connection, bool node, bool *prepared, char **problem);
extern void statement_identity(PGconn *connection, char *identity);
extern bool statement_share(PGconn *connection, char **problem);
extern bool statement_in_recovery(const PGconn *connection);
extern char *statement_problem(const PGconn *connection, const PGresult *result);
extern void statement_watch(PGconn *connection, Outcome *outcome);
extern bool statement_send(PGconn *connection, bool node, bool prepared, const Request *request);
extern bool statement_may_wait(const PGconn *connection);
extern bool statement_send_extra(PGconn *connection, const Request *request);
extern bool statement_has_waited(const Outcome *outcome);
extern uint64_t statement_position(const Outcome *outcome);
extern bool statement_receive(PGconn *connection);
extern bool statement_read(PGconn *connection, bool broken, Outcome *outcome);
extern bool statement_is_done(const Outcome *outcome);
extern Failure statement_failure(const PGconn *connection, const Outcome *outcome);

#endif
