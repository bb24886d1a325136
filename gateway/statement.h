/*
 * statement.h
 *	  One connection to Postgres, and the one statement that is sent over it.
 */
#ifndef GATEWAY_STATEMENT_H
#define GATEWAY_STATEMENT_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "request.h"

/* What became of a statement: a result of which the answer is made, or a failure. */
typedef struct Outcome
{
	PGresult *result; /* NULL: the connection broke, or there was no answer in time */
	bool done;
	bool sent;
	bool late;
} Outcome;

extern PGconn *statement_connect(char **problem);
extern bool statement_is_alive(PGconn *connection);
extern char *statement_problem(const PGconn *connection, const PGresult *result);
extern Outcome statement_run(PGconn *connection, const Request *request);

#endif
