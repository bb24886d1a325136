/*
 * target.c
 *	  The servers that statements are sent to: the primary, a standby for reads that may be stale, and
 *	  nodes of Citus.
 */
#include "target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "helper.h"
#include "late.h"
#include "log.h"
#include "statement.h"

struct Target
{
	const char *name; /* for the log */
	Helper *helper; /* which connects */
	int size; /* of all connections to it */
	_Atomic unsigned generation; /* links of an earlier one are not used again */
	pthread_mutex_t lock;
	bool unreachable; /* the last attempt to connect failed, of this generation */
	TargetFigures figures;

	/* of a node, which stays until the end */
	Target *next;
	char *host;
	char *port;
	atomic_bool wanted; /* it is one of the cluster still */
	char identity[IDENTITY_SIZE]; /* the system identifier of the server; empty: not known yet */
	char *search_path; /* that names have in the database of the primary */
};

static Target primary = {.name = "Postgres", .lock = PTHREAD_MUTEX_INITIALIZER};
static Target standby = {.name = "the standby", .lock = PTHREAD_MUTEX_INITIALIZER};
static _Atomic(Target *) nodes; /* all that there ever were */

/* What a node is asked, and then set: $1 is the search_path of sessions in the database of the primary. */
#define NODE_QUERY \
	"SELECT pg_catalog.pg_backend_pid(), system_identifier," \
	" pg_catalog.pg_is_in_recovery(), pg_catalog.has_function_privilege(" \
	"'dynamo_internal.request_as(pg_catalog.regrole,pg_catalog.text,pg_catalog.text," \
	"pg_catalog.text,pg_catalog.text[])', 'EXECUTE')" \
	" FROM pg_catalog.pg_control_system()"
#define PATH_QUERY "SELECT pg_catalog.set_config('search_path', $1, false)"

/*
 * This is the cluster and database of the primary.  Roles are told to the standby by their OIDs,
 * which would be other roles in another cluster.
 */
static struct
{
	pthread_mutex_t lock;
	bool asked; /* since its connection string is as it is now */
	char text[IDENTITY_SIZE]; /* empty: it did not tell */
} identity = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the primary, which can do everything. */
Target *
target_primary(void)
{
	return &primary;
}

/* Returns the standby, whether there is one or not. */
Target *
target_standby(void)
{
	return &standby;
}

/* Have a helper for connecting to the server, which shall have so many connections.  False if the
 * system refuses. */
bool
target_start(Target *target, int size)
{
	target->size = size;
	target->helper = helper_start();
	return target->helper != NULL;
}

/* Returns the node of an address, of which there is one; NULL without memory or if the system refuses.
 * One thread calls this. */
Target *
target_node(const char *host, const char *port, int size)
{
	Target *node = nodes;
	char *name;

	while (node != NULL && (strcmp(node->host, host) != 0 || strcmp(node->port, port) != 0))
		node = node->next;
	if (node != NULL)
		return node;
	node = calloc(1, sizeof(*node));
	if (node == NULL)
		return NULL;
	node->host = strdup(host);
	node->port = strdup(port);
	node->name = asprintf(&name, "%s:%s", host, port) < 0 ? NULL : name;
	pthread_mutex_init(&node->lock, NULL);
	if (node->host == NULL || node->port == NULL || node->name == NULL || !target_start(node, size))
	{
		free((char *) node->name);
		free(node->host);
		free(node->port);
		free(node);
		return NULL;
	}
	node->next = nodes;
	nodes = node;
	return node;
}

/* Returns one of the nodes, or NULL. */
Target *
target_first_node(void)
{
	return nodes;
}

/* Returns the next one, or NULL. */
Target *
target_next_node(const Target *node)
{
	return node->next;
}

/* Returns how the log, and metrics, call a server. */
const char *
target_name(const Target *target)
{
	return target->name;
}

static bool
target_is_node(const Target *target)
{
	return target->host != NULL;
}

/* Returns whether a node belongs to the cluster. */
bool
target_is_wanted(const Target *node)
{
	return node->wanted;
}

/* Returns whether it is known which server the node is. */
bool
target_is_known(Target *node)
{
	bool known;

	pthread_mutex_lock(&node->lock);
	known = *node->identity != '\0';
	pthread_mutex_unlock(&node->lock);
	return known;
}

/* A node belongs to the cluster, and names mean there what they mean with this search_path. */
void
target_want(Target *node, const char *search_path)
{
	char *copy = strdup(search_path);
	bool same;

	pthread_mutex_lock(&node->lock);
	same = copy != NULL && node->search_path != NULL && strcmp(node->search_path, copy) == 0;
	if (copy != NULL && !same)
	{
		free(node->search_path);
		node->search_path = copy;
		copy = NULL;
	}
	pthread_mutex_unlock(&node->lock);
	free(copy);
	if (!same)
		target_reconnect(node);
	node->wanted = true;
}

/* A node does not belong to the cluster any more. */
void
target_leave(Target *node)
{
	if (!atomic_exchange(&node->wanted, false))
		return;
	target_identify(node, "");
	target_reconnect(node);
}

/* The server that a node is has this system identifier. */
void
target_identify(Target *node, const char *text)
{
	pthread_mutex_lock(&node->lock);
	snprintf(node->identity, IDENTITY_SIZE, "%s", text);
	pthread_mutex_unlock(&node->lock);
}

/* Returns what is counted of a server. */
TargetFigures *
target_figures(Target *target)
{
	return &target->figures;
}

/* Have the helper do a job, which calls target_connect(). */
void
target_connect_later(Target *target, Job *job)
{
	helper_do(target->helper, job);
}

/* Say once that the server cannot be reached, and why, and once that it can.  An attempt that began
 * before the settings changed says nothing of the server that they name now. */
static void
target_report(Target *target, const Link *link, const char *problem)
{
	bool changed;

	pthread_mutex_lock(&target->lock);
	changed = link->generation == target->generation && target->unreachable != (problem != NULL);
	if (changed)
		target->unreachable = problem != NULL;
	pthread_mutex_unlock(&target->lock);
	if (changed && problem != NULL)
		log_message(LEVEL_WARNING, "could not connect to %s: %s", target->name, problem);
	else if (changed)
		log_message(LEVEL_INFO, "connected to %s", target->name);
}

static void
forget_identity(void)
{
	pthread_mutex_lock(&identity.lock);
	identity.asked = false;
	*identity.text = '\0';
	pthread_mutex_unlock(&identity.lock);
}

/* Have no link of before used again. */
void
target_reconnect(Target *target)
{
	if (target == &primary)
		forget_identity();
	pthread_mutex_lock(&target->lock);
	target->generation++;
	target->unreachable = false;
	pthread_mutex_unlock(&target->lock);
}

/* This is the primary, as far as it has told: a standby of another cluster is not used any more. */
static void
set_identity(const char *text)
{
	bool changed;

	pthread_mutex_lock(&identity.lock);
	changed = identity.asked && *text != '\0' && strcmp(identity.text, text) != 0;
	if (!identity.asked || changed)
		strcpy(identity.text, text);
	identity.asked = true;
	pthread_mutex_unlock(&identity.lock);
	if (changed)
		target_reconnect(&standby);
}

/* Returns what is wrong with a standby; NULL: nothing is. */
static const char *
check_identity(const char *text)
{
	const char *problem = NULL;

	pthread_mutex_lock(&identity.lock);
	if (*identity.text == '\0')
		problem = "the primary does not tell which cluster it is";
	else if (strcmp(identity.text, text) != 0)
		problem = "it is not the same database, or not a standby of the same cluster";
	pthread_mutex_unlock(&identity.lock);
	return problem;
}

static bool
is_identity_asked(void)
{
	bool asked;

	pthread_mutex_lock(&identity.lock);
	asked = identity.asked;
	pthread_mutex_unlock(&identity.lock);
	return asked;
}

/* The link goes on without a prepared statement, and so do others when they find out. */
void
target_forget_prepared(Link *link)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	link->prepared = false;
	if (!atomic_flag_test_and_set(&told))
		log_message(LEVEL_WARNING, "a pooler in front of Postgres loses prepared statements: the "
								   "statement is sent with each request (see \"prepared\")");
}

/* Returns whether it is the right server, and can be used; what is wrong is to be freed. */
static bool
set_up(const Target *target, Link *link, const Config *config, char **problem)
{
	char text[IDENTITY_SIZE];
	const char *wrong = NULL;

	/* nobody asks if there is one server only */
	if (*config->read_database != '\0' && !link->node)
	{
		statement_identity(link->connection, text);
		if (target == &primary)
			set_identity(text);
		else
			wrong = check_identity(text);
	}
	if (wrong != NULL)
		*problem = strdup(wrong);
	link->in_recovery = statement_in_recovery(link->connection);
	if (wrong != NULL)
		return false;
	if (config->prepared)
	{
		if (!statement_prepare(link->connection, link->node, &link->prepared, problem))
			return false;
		if (!link->prepared)
			target_forget_prepared(link);
	}
	return statement_share(link->connection, problem);
}

/* Returns what is wrong with a connection to a node, to be freed; NULL: nothing is. */
static char *
check_node(Target *node, PGconn *connection)
{
	char expected[IDENTITY_SIZE];
	char *path;
	const char *values[1];
	PGresult *result;
	char *problem = NULL;

	pthread_mutex_lock(&node->lock);
	strcpy(expected, node->identity);
	path = node->search_path == NULL ? NULL : strdup(node->search_path);
	pthread_mutex_unlock(&node->lock);
	values[0] = path;
	result = statement_ask(connection, NODE_QUERY, 0, NULL);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		problem = statement_problem(connection, result);
	else if (PQntuples(result) != 1 || PQnfields(result) != 4)
		problem = strdup("it does not answer as Postgres does");
	else if (atoi(PQgetvalue(result, 0, 0)) != PQbackendPID(connection))
		problem = strdup("a pooler is in front of it");
	else if (strcmp(PQgetvalue(result, 0, 1), expected) != 0)
		problem = strdup("another server has that address here");
	else if (*PQgetvalue(result, 0, 2) == 't')
		problem = strdup("it is a standby");
	else if (*PQgetvalue(result, 0, 3) != 't')
		problem = strdup("the login role may not execute dynamo_internal.request_as there");
	else
	{
		PQclear(result);
		result = statement_ask(connection, PATH_QUERY, 1, values);
		if (PQresultStatus(result) != PGRES_TUPLES_OK)
			problem = statement_problem(connection, result);
	}
	free(path);
	PQclear(result);
	return problem;
}

/* Connect to a node.  Returns NULL and the problem, to be freed. */
PGconn *
target_connect_node(Target *node, char **problem)
{
	PGconn *connection = statement_connect(config_now()->database, node->host, node->port, problem);

	if (connection == NULL)
		return NULL;
	*problem = check_node(node, connection);
	if (*problem == NULL)
		return connection;
	PQfinish(connection);
	return NULL;
}

/* Connect to the server, by the settings as they are now; there is no connection if that fails. */
void
target_connect(Target *target, Link *link)
{
	const Config *config;
	const char *database;
	char *problem = NULL;

	/* first: settings that change meanwhile belong to another one */
	*link = (Link){.generation = target->generation};
	config = config_now();
	database = target == &primary ? config->database : config->read_database;
	if (target == &standby && (*database == '\0' || !is_identity_asked()))
		return;
	if (target_is_node(target) && !(target->wanted && target_is_known(target)))
		return;
	if (late_count(target) > target->size)
	{
		target_report(target, link,
					  "as many sessions go on though their requests have had their time");
		return;
	}
	link->node = target_is_node(target);
	link->connection = link->node ? target_connect_node(target, &problem)
								  : statement_connect(database, NULL, NULL, &problem);
	if (link->connection != NULL && !set_up(target, link, config, &problem))
	{
		PQfinish(link->connection);
		link->connection = NULL;
	}
	target_report(target, link,
				  link->connection != NULL || problem != NULL ? problem : "out of memory");
	free(problem);
}

/* Returns whether the server is what it was, if there is a connection, and what the settings name. */
bool
target_is_current(const Target *target, const Link *link)
{
	return link->generation == target->generation &&
		   (target != &standby || link->connection == NULL ||
			link->in_recovery == statement_in_recovery(link->connection));
}

/* End the helper when it has connected, or has not. */
void
target_stop(Target *target)
{
	if (target->helper != NULL)
		helper_stop(target->helper);
	target->helper = NULL;
}
