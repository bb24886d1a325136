/*
 * statement.c
 *	  One connection to Postgres, and the statements that are sent over it, one behind the other.
 *
 * It is in libpq's pipeline mode.  Each statement has a Sync of its own behind it, and so is a
 * transaction of its own: an error ends no statement but the one that has it.
 */
#include "statement.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "position.h"

#define STATEMENT_NAME "dynamo_gateway_request"
#define STATEMENT "SELECT dynamo_internal.request_as($1, $2, $3, $4)"
#define NODE_STATEMENT "SELECT dynamo_internal.request_as($1, $2, $3, $4, $5)"
#define MAX_PARAMETERS 5

/* Nothing larger is sent by the extension in the course of things.  Code of a table's owner may send
 * up to 1 GB, and libpq keeps a buffer as large as the largest message for as long as it is connected. */
#define MAX_KEPT (32 << 20)

/* A standby may take so many milliseconds to replay what a read has to see. */
#define WAIT_MS 100

/* A server may take so many seconds for what a connection begins with. */
#define SET_UP_SECONDS 10
#define DUPLICATE_STATEMENT "42P05"
#define LARGE_SESSION "53400"
#define IDENTITY_QUERY \
	"SELECT pg_catalog.concat(system_identifier, ' ', oid) FROM pg_catalog.pg_control_system(), " \
	"pg_catalog.pg_database" \
	" WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"

/*
 * Returns what went wrong, in one line, to be freed: without details and hints, which may hold
 * data.  NULL without memory.
 */
char *
statement_problem(const PGconn *connection, const PGresult *result)
{
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	if (message == NULL)
		message = result == NULL ? PQerrorMessage(connection) : PQresultErrorMessage(result);
	if (*message == '\0')
		message = "no answer in time";
	return strndup(message, strcspn(message, "\n"));
}

static bool
has_sqlstate(const PGresult *result, const char *sqlstate)
{
	const char *field = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	return field != NULL && strcmp(field, sqlstate) == 0;
}

/* Returns whether request_as() tells that its session has become large.  What code of a table's owner
 * tells has a context. */
static bool
tells_large(const PGresult *notice)
{
	return has_sqlstate(notice, LARGE_SESSION) &&
		   PQresultErrorField(notice, PG_DIAG_CONTEXT) == NULL;
}

/* Notices may hold data, and nobody reads others. */
static void
ignore_notice(void *outcome, const PGresult *result)
{
	if (outcome != NULL && (PQresultMemorySize(result) > MAX_KEPT || tells_large(result)))
		((Outcome *) outcome)->swollen = true;
}

/* An empty string is a connection string, too. */
static PGconn *
connect_to_database(const char *database)
{
	const char *names[] = {"fallback_application_name", "connect_timeout", "tcp_user_timeout",
						   "client_encoding",           "dbname",          NULL};
	const char *values[] = {"dynamo_gateway", "5", "30000", "UTF8", database, NULL};

	return PQconnectdbParams(names, values, 1);
}

/* Connects as a connection string says, but to another server.  NULL: the string is none. */
static PGconn *
connect_to_node(const char *database, const char *host, const char *port)
{
	static const char *const others[] = {"host", "hostaddr", "port"};
	const char *names[64] = {"fallback_application_name",
							 "connect_timeout",
							 "tcp_user_timeout",
							 "client_encoding",
							 "host",
							 "port"};
	const char *values[64] = {"dynamo_gateway", "5", "30000", "UTF8", host, port};
	bool whole = strchr(database, '=') != NULL || strstr(database, "://") != NULL;
	PQconninfoOption *options = whole ? PQconninfoParse(database, NULL) : PQconndefaults();
	PGconn *connection = NULL;
	int n = 6;

	if (options == NULL)
		return NULL;
	for (PQconninfoOption *option = options; option->keyword != NULL && n < 62; option++)
	{
		bool other = false;

		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			other = other || strcmp(option->keyword, others[i]) == 0;
		if (option->val == NULL || other)
			continue;
		names[n] = option->keyword;
		values[n++] = option->val;
	}
	if (!whole && *database != '\0')
	{
		names[n] = "dbname";
		values[n] = database;
	}
	connection = PQconnectdbParams(names, values, 0);
	PQconninfoFree(options);
	return connection;
}

/*
 * Connect by a connection string, or to a node that is another server with the same settings.  Returns
 * NULL and the problem, to be freed.  What the connection string says wins over what is said here.
 */
PGconn *
statement_connect(const char *database, const char *host, const char *port, char **problem)
{
	PGconn *connection =
		host == NULL ? connect_to_database(database) : connect_to_node(database, host, port);

	*problem = NULL;
	if (connection == NULL)
		return NULL;
	PQsetNoticeReceiver(connection, ignore_notice, NULL);
	/* a server that does not read holds nobody for longer than they want to wait */
	if (PQstatus(connection) == CONNECTION_OK && PQsetnonblocking(connection, 1) == 0)
		return connection;
	*problem = statement_problem(connection, NULL);
	PQfinish(connection);
	return NULL;
}

static bool
is_error(const PGresult *result)
{
	switch (PQresultStatus(result))
	{
		case PGRES_TUPLES_OK:
		case PGRES_EMPTY_QUERY:
			return false;
		default:
			return true;
	}
}

/* Of several results an error stays, or else the last one. */
static void
statement_keep(Outcome *outcome, PGresult *result)
{
	outcome->swollen |= PQresultMemorySize(result) > MAX_KEPT;
	if (outcome->result != NULL && is_error(outcome->result))
	{
		PQclear(result);
		return;
	}
	PQclear(outcome->result);
	outcome->result = result;
}

/* Waits for something to read, or, with something left to send, until more can be sent.  False if
 * nothing comes until then. */
static bool
wait_for_server(PGconn *connection, bool unsent, int64_t until)
{
	struct pollfd wait = {.fd = PQsocket(connection), .events = POLLIN | (unsent ? POLLOUT : 0)};

	for (;;)
	{
		int64_t left = until - clock_now();
		int ready;

		if (left <= 0)
			return false;
		ready = poll(&wait, 1, (int) (left / 1000) + 1);
		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
	}
}

/* Returns the result of what a new connection was asked for, to be cleared; NULL if none comes. */
static PGresult *
result_soon(PGconn *connection, bool sent)
{
	int64_t until = clock_now() + clock_of_ms(SET_UP_SECONDS * 1000);
	Outcome outcome = {0};
	PGresult *result;

	while (sent)
	{
		while (PQisBusy(connection))
		{
			int left = PQflush(connection);

			/* of a broken connection PQgetResult() tells what it knows */
			if (left >= 0 && !wait_for_server(connection, left > 0, until))
			{
				PQclear(outcome.result);
				return NULL;
			}
			if (left < 0 || !PQconsumeInput(connection))
				break;
		}
		result = PQgetResult(connection);
		sent = result != NULL;
		if (sent)
			statement_keep(&outcome, result);
	}
	return outcome.result;
}

/* Ask a new connection something.  Returns the result, to be cleared; NULL if none comes in time. */
PGresult *
statement_ask(PGconn *connection, const char *text, int n, const char *const *values)
{
	return result_soon(connection,
					   PQsendQueryParams(connection, text, n, NULL, values, NULL, NULL, 0));
}

static const char *
statement_text(bool node)
{
	return node ? NODE_STATEMENT : STATEMENT;
}

static int
parameter_count(bool node)
{
	return node ? MAX_PARAMETERS : MAX_PARAMETERS - 1;
}

/*
 * Prepare the statement, if that can be done.  A pooler in between may have a session that has such a
 * statement already, of another client: then it does not keep ours together with us.  False and the
 * problem, to be freed, if the statement cannot be run at all.
 */
bool
statement_prepare(PGconn *connection, bool node, bool *prepared, char **problem)
{
	PGresult *result =
		result_soon(connection, PQsendPrepare(connection, STATEMENT_NAME, statement_text(node),
											  parameter_count(node), NULL));
	bool good;

	*prepared = PQresultStatus(result) == PGRES_COMMAND_OK;
	good = *prepared || has_sqlstate(result, DUPLICATE_STATEMENT);
	if (!good)
		*problem = statement_problem(connection, result);
	PQclear(result);
	return good;
}

/* Reads the cluster and the database that the connection is to: standbys have those of their
 * primary.  Empty if the server does not tell. */
void
statement_identity(PGconn *connection, char *identity)
{
	PGresult *result = result_soon(connection, PQsendQuery(connection, IDENTITY_QUERY));

	snprintf(identity, IDENTITY_SIZE, "%s",
			 PQresultStatus(result) == PGRES_TUPLES_OK ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
}

/* Let statements follow one another without an answer in between.  False and the problem, to be
 * freed, if that cannot be. */
bool
statement_share(PGconn *connection, char **problem)
{
	if (PQenterPipelineMode(connection) == 1)
		return true;
	*problem = statement_problem(connection, NULL);
	return false;
}

/* Writes a role as regrole's input has it: an OID, or a name in quotes.  The name is a setting. */
static void
write_role(const Caller *caller, uint32_t role, char *out, size_t size)
{
	size_t length = 0;

	if (role != 0)
	{
		snprintf(out, size, "%u", role);
		return;
	}
	out[length++] = '"';
	for (const char *c = caller->role_name; *c != '\0' && length + 4 < size; c++)
	{
		if (*c == '"')
			out[length++] = '"';
		out[length++] = *c;
	}
	out[length++] = '"';
	out[length] = '\0';
}

/* Sends the end of a statement.  Where libpq can, it is kept until the connection is flushed, so
 * that one call of the system sends several. */
static bool
send_sync(PGconn *connection)
{
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
	return PQsendPipelineSync(connection) == 1;
#else
	return PQpipelineSync(connection) == 1;
#endif
}

/* Writes the statement with the trace as a comment, as sqlcommenter does: so the server's log has it. */
static void
write_traced(const char *text, const char *trace, char *out, size_t size)
{
	snprintf(out, size, "%s /*traceparent='%s'*/", text, trace);
}

/*
 * Send the statement of a request, as far as the server reads: by its name, if the connection has
 * prepared it and the request's trace is not recorded.  False if it is not sent, and the connection
 * of no more use.
 */
bool
statement_send(PGconn *connection, bool node, bool prepared, const Request *request)
{
	char role[2 * ROLE_NAME_SIZE + 4];
	char traced[sizeof(NODE_STATEMENT) + TRACE_SIZE + 32];
	const char *text = statement_text(node);
	const char *values[] = {role, NULL, NULL, request->region, request->node_tables};
	bool sampled = trace_is_sampled(request->trace);
	int sent;

	/* whether the server answers, and nothing else */
	if (request->operation == NULL)
		sent = PQsendQueryParams(connection, "", 0, NULL, NULL, NULL, NULL, 0);
	else
	{
		write_role(&request->caller, node ? request->node_role : request->caller.role, role,
				   sizeof(role));
		values[1] = request->operation->name;
		values[2] = request->body.data;
		if (sampled)
		{
			write_traced(text, request->trace, traced, sizeof(traced));
			text = traced;
		}
		if (prepared && !sampled)
			sent = PQsendQueryPrepared(connection, STATEMENT_NAME, parameter_count(node), values,
									   NULL, NULL, 0);
		else
			sent = PQsendQueryParams(connection, text, parameter_count(node), NULL, values, NULL,
									 NULL, 0);
	}
	return sent == 1 && send_sync(connection);
}

/* Returns whether the transaction is committed, and the result is what it returned. */
bool
statement_is_done(const Outcome *outcome)
{
	return outcome->over && outcome->result != NULL && !is_error(outcome->result);
}

/* Returns whether the server knows WAIT FOR, as it does from PostgreSQL 19 on. */
bool
statement_may_wait(const PGconn *connection)
{
	return PQserverVersion(connection) >= 190000;
}

/* Send what the request has beside its statement.  False as for that. */
bool
statement_send_extra(PGconn *connection, const Request *request)
{
	char text[128] = "SELECT pg_catalog.pg_current_wal_insert_lsn()";

	/* it takes no parameters */
	if (request->extra == EXTRA_WAIT)
		snprintf(text, sizeof(text), "WAIT FOR LSN '%X/%X' WITH (TIMEOUT '%dms', NO_THROW)",
				 (unsigned) (request->position >> 32), (unsigned) request->position, WAIT_MS);
	return PQsendQueryParams(connection, text, 0, NULL, NULL, NULL, NULL, 0) == 1 &&
		   send_sync(connection);
}

/* Returns whether the standby has replayed what it was to wait for. */
bool
statement_has_waited(const Outcome *outcome)
{
	return statement_is_done(outcome) && PQntuples(outcome->result) == 1 &&
		   strcmp(PQgetvalue(outcome->result, 0, 0), "success") == 0;
}

/* Returns where the log is; POSITION_UNKNOWN if the server has not told. */
uint64_t
statement_position(const Outcome *outcome)
{
	unsigned high, low;

	if (!statement_is_done(outcome) || PQntuples(outcome->result) != 1 ||
		sscanf(PQgetvalue(outcome->result, 0, 0), "%X/%X", &high, &low) != 2)
		return POSITION_UNKNOWN;
	return (uint64_t) high << 32 | low;
}

/* Have notices counted for the outcome of the statement that is under way. */
void
statement_watch(PGconn *connection, Outcome *outcome)
{
	PQsetNoticeReceiver(connection, ignore_notice, outcome);
}

/* Take what has come from the server.  False if the connection is broken. */
bool
statement_receive(PGconn *connection)
{
	bool there = PQconsumeInput(connection) == 1;
	PGnotify *notification;

	/* a pooler may give us those of others who had the session */
	while ((notification = PQnotifies(connection)) != NULL)
		PQfreemem(notification);
	return there;
}

/*
 * Read what has come for the first of the statements that are under way.  Returns whether it has come
 * to its end, or the connection has.  Only when the server is ready for the next one is the transaction
 * committed: an error that comes after the rows is the outcome.
 */
bool
statement_read(PGconn *connection, bool broken, Outcome *outcome)
{
	int nothing = 0;

	/* a NULL is between a statement's results and its Sync; behind two of them there is nothing */
	while (nothing < 2)
	{
		PGresult *result;

		if (!broken && PQisBusy(connection))
			return false;
		result = PQgetResult(connection);
		outcome->over = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
		if (outcome->over)
		{
			PQclear(result);
			return true;
		}
		nothing = result == NULL ? nothing + 1 : 0;
		if (result != NULL)
			statement_keep(outcome, result);
	}
	return true;
}

/* Returns whether the server, or a pooler, has ended the connection.  A pooler tells its severity
 * once only: servers translate that one. */
static bool
has_ended(const PGconn *connection, const PGresult *result)
{
	const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

	if (severity == NULL)
		severity = PQresultErrorField(result, PG_DIAG_SEVERITY);
	return PQstatus(connection) != CONNECTION_OK ||
		   (severity != NULL && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0));
}

static bool
is_on(const PGconn *connection, const char *parameter)
{
	const char *value = PQparameterStatus(connection, parameter);

	return value != NULL && strcmp(value, "on") == 0;
}

/* Returns whether the server is a standby, as far as it has told. */
bool
statement_in_recovery(const PGconn *connection)
{
	return is_on(connection, "in_hot_standby");
}

/*
 * Returns a statement's failure.  request_as() sees to it that all errors behind it have a context,
 * and that the settings of the session are not those that code of a table's owner has made.
 */
Failure
statement_failure(const PGconn *connection, const Outcome *outcome)
{
	const PGresult *result = outcome->result;

	return (Failure){
		.sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE),
		.sent = !outcome->unsent,
		.late = outcome->late,
		.ended = has_ended(connection, result),
		.outside = PQresultErrorField(result, PG_DIAG_CONTEXT) == NULL,
		.read_only = is_on(connection, "in_hot_standby") ||
					 is_on(connection, "default_transaction_read_only"),
	};
}
