/*
 * pool_test.c
 *	  Waiters that have a connection by turns: one that had it keeps away as soon as another has it.
 *
 * The connection is an eventfd: what is written to it has come from the server.
 */
#include "pool.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "config.h"
#include "metrics.h"
#include "statement.h"
#include "test.h"

static int server = -1; /* the eventfd of the connection */
static int begun; /* statements */
static int read_for; /* how often a statement's end was looked for */
static int answered;

/* Called when somebody looks whether the connection is alive. */
static void (*meanwhile)(void);

PGconn *
statement_connect(const char *database, char **problem)
{
	(void) database;
	*problem = NULL;
	server = eventfd(0, EFD_NONBLOCK);
	return (PGconn *) &server;
}

int
PQsocket(const PGconn *connection)
{
	return connection == NULL ? -1 : server;
}

ConnStatusType
PQstatus(const PGconn *connection)
{
	return connection == NULL ? CONNECTION_BAD : CONNECTION_OK;
}

void
PQfinish(PGconn *connection)
{
	if (connection != NULL)
		close(server);
}

bool
statement_prepare(PGconn *connection, bool *prepared, char **problem)
{
	(void) connection;
	(void) problem;
	*prepared = true;
	return true;
}

void
statement_identity(PGconn *connection, char *identity)
{
	(void) connection;
	*identity = '\0';
}

bool
statement_in_recovery(const PGconn *connection)
{
	(void) connection;
	return false;
}

static void
take_all(void)
{
	uint64_t n;

	while (read(server, &n, sizeof(n)) > 0)
		;
}

bool
statement_is_alive(PGconn *connection)
{
	(void) connection;
	if (meanwhile != NULL)
		meanwhile();
	take_all();
	return true;
}

char *
statement_problem(const PGconn *connection, const PGresult *result)
{
	(void) connection;
	(void) result;
	return strdup("");
}

void
statement_begin(PGconn *connection, bool prepared, const Request *request, Outcome *outcome)
{
	(void) connection;
	(void) prepared;
	(void) request;
	begun++;
	*outcome = (Outcome){.sent = true};
}

bool
statement_wait(PGconn *connection, int64_t until, Outcome *outcome)
{
	(void) until;
	return statement_read(connection, outcome);
}

bool
statement_read(PGconn *connection, Outcome *outcome)
{
	(void) connection;
	read_for++;
	take_all();
	outcome->done = true;
	return true;
}

Failure
statement_failure(const PGconn *connection, const Outcome *outcome)
{
	(void) connection;
	(void) outcome;
	return (Failure){0};
}

void
metrics_standby_read(bool is_answered)
{
	(void) is_answered;
}

void
metrics_waited(int64_t microseconds)
{
	(void) microseconds;
}

void
metrics_repeated(void)
{
}

static void
done(Request *request)
{
	(void) request;
	answered++;
}

static void
come(void)
{
	uint64_t one = 1;

	if (write(server, &one, sizeof(one)) != sizeof(one))
		abort();
}

/* What an epoll tells; NULL: nothing. */
static void *
told(int epoll)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, 0) == 1 ? event.data.ptr : NULL;
}

static void
until_idle(void)
{
	while (pool_state(pool_primary()).idle != 1)
		usleep(1000);
}

static Waiter *former;
static void *heard; /* by the former one, while the connection was idle */

/* The other one is about to send its statement. */
static void
disturb(void)
{
	meanwhile = NULL;
	waiter_read(former, heard);
	waiter_look(former, INT64_MAX);
}

int
main(void)
{
	static Config config = {.database = "", .read_database = "", .prepared = true};
	int epolls[] = {epoll_create1(0), epoll_create1(0)};
	Waiter *other = waiter_new(epolls[1]);
	Request requests[2] = {{.done = done}, {.done = done}};

	config.request_time = config.queue_time = 60000;
	config_set(&config);
	former = waiter_new(epolls[0]);
	if (!pool_start(pool_primary(), 1))
		abort();
	until_idle();
	waiter_submit(pool_primary(), former, &requests[0]);
	come();
	heard = told(epolls[0]);
	ok(heard != NULL, "a waiter is told of its answer");
	waiter_read(former, heard);
	ok(answered == 1 && requests[0].answer.status == 200, "and gives it");

	come();
	ok(told(epolls[0]) == heard, "it is told of what comes over the connection that is idle");
	read_for = 0;
	meanwhile = disturb;
	waiter_submit(pool_primary(), other, &requests[1]);
	ok(meanwhile == NULL && read_for == 0, "it does not read what another has");
	ok(begun == 2 && answered == 1, "nor does it end the other's statement");
	come();
	ok(told(epolls[0]) == NULL, "it is told no more");
	waiter_read(other, told(epolls[1]));
	ok(answered == 2 && requests[1].answer.status == 200, "the other has its answer");
	until_idle();

	waiter_free(former);
	waiter_free(other);
	pool_stop(pool_primary());
	ok(pool_state(pool_primary()).down == 0, "the pool ends");
	for (int i = 0; i < 2; i++)
		answer_release(&requests[i].answer);
	return failures != 0;
}
