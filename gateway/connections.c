/*
 * connections.c
 *	  Connections of clients: what they wait for, and for how long they may.
 *
 * A connection that has had its time is shut down here and closed by the library, which reads its
 * end.  The socket's number is another's only after connection_close(), which waits for the lock.
 */
#include "connections.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "config.h"

/* How often is looked for clients that have gone. */
#define TELL_MS 1000

struct Connection
{
	Connection *next;
	Connection **link; /* what points to this one */
	const void *server;
	int socket;
	struct in6_addr address; /* of the client */
	bool counted; /* it has such an address */
	void *work;
	_Atomic Phase phase;
	_Atomic int64_t since;
};

static struct
{
	pthread_mutex_t lock;
	Connection *first;
} connections = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Where the client is.  One of the same machine may have no address. */
static void
read_address(Connection *connection)
{
	struct sockaddr_storage name = {0};
	socklen_t size = sizeof(name);

	if (getpeername(connection->socket, (struct sockaddr *) &name, &size) < 0)
		return;
	connection->counted = true;
	if (name.ss_family == AF_INET6)
		connection->address = ((struct sockaddr_in6 *) &name)->sin6_addr;
	else if (name.ss_family == AF_INET)
		memcpy(&connection->address, &((struct sockaddr_in *) &name)->sin_addr,
			   sizeof(struct in_addr));
	else
		connection->counted = false;
}

/* With the lock held: whether the server has no more connections than that of the same address. */
static bool
is_within(const Connection *connection, int limit)
{
	int n = 0;

	if (limit == 0 || !connection->counted)
		return true;
	for (const Connection *c = connections.first; c != NULL; c = c->next)
		n += c->counted && c->server == connection->server &&
			 memcmp(&c->address, &connection->address, sizeof(c->address)) == 0;
	return n < limit;
}

static bool
add(Connection *connection, int limit)
{
	bool within;

	pthread_mutex_lock(&connections.lock);
	within = is_within(connection, limit);
	if (within)
	{
		connection->next = connections.first;
		connection->link = &connections.first;
		if (connection->next != NULL)
			connection->next->link = &connection->next;
		connections.first = connection;
	}
	pthread_mutex_unlock(&connections.lock);
	return within;
}

/*
 * A client has connected to a server, which takes no more than so many of one address, unless the
 * limit is 0.  One that is too many is shut down: NULL, as without memory.
 */
Connection *
connection_open(const void *server, int socket, int limit)
{
	Connection *connection = calloc(1, sizeof(*connection));

	if (connection != NULL)
	{
		connection->server = server;
		connection->socket = socket;
		connection_enter(connection, PHASE_NEW);
		read_address(connection);
		if (add(connection, limit))
			return connection;
	}
	shutdown(socket, SHUT_RDWR);
	free(connection);
	return NULL;
}

/* The connection is about to be closed. */
void
connection_close(Connection *connection)
{
	pthread_mutex_lock(&connections.lock);
	*connection->link = connection->next;
	if (connection->next != NULL)
		connection->next->link = connection->link;
	pthread_mutex_unlock(&connections.lock);
	free(connection);
}

/* Where whoever serves it has what they do for it; NULL at first. */
void **
connection_work(Connection *connection)
{
	return &connection->work;
}

/* What happens on it from now on. */
void
connection_enter(Connection *connection, Phase phase)
{
	atomic_store(&connection->since, clock_now());
	atomic_store(&connection->phase, phase);
}

/* How long a phase may take, in milliseconds. */
static int64_t
limit_of(Phase phase, const Config *config)
{
	switch (phase)
	{
		case PHASE_NEW:
		case PHASE_HEADER:
			return config->header_time;
		case PHASE_IDLE:
			/* the first line of a request may begin at the last moment */
			return config->idle_time + config->header_time;
		case PHASE_BODY:
		case PHASE_ANSWER:
			return config->body_time;
		case PHASE_RUNNING:
			break;
	}
	return INT64_MAX / 1000;
}

/* Whether it is the client's turn. */
static bool
waits_for_client(const Connection *connection)
{
	return connection->phase != PHASE_RUNNING && connection->phase != PHASE_ANSWER;
}

/*
 * With the lock held: the library does not see a client's end that comes together with the last of
 * what it reads, and would wait for the rest.  Have it look once more.
 */
static void
tell_end(const Connection *connection)
{
	struct pollfd wait = {.fd = connection->socket, .events = POLLRDHUP};

	if (poll(&wait, 1, 0) > 0 && (wait.revents & POLLRDHUP) != 0)
		shutdown(connection->socket, SHUT_RD);
}

/* End the connections that have had their time, and those whose clients have gone.  Called often. */
void
connections_check(void)
{
	static int64_t told;
	const Config *config = config_now();
	int64_t now = clock_now();
	bool tells = now - told > clock_of_ms(TELL_MS);

	if (tells)
		told = now;
	pthread_mutex_lock(&connections.lock);
	for (Connection *c = connections.first; c != NULL; c = c->next)
	{
		if (now - c->since > clock_of_ms(limit_of(c->phase, config)))
			shutdown(c->socket, SHUT_RDWR);
		else if (tells && waits_for_client(c))
			tell_end(c);
	}
	pthread_mutex_unlock(&connections.lock);
}

/* End those on which no request has begun. */
void
connections_end_idle(void)
{
	pthread_mutex_lock(&connections.lock);
	for (Connection *c = connections.first; c != NULL; c = c->next)
	{
		if (c->phase == PHASE_NEW || c->phase == PHASE_IDLE)
			shutdown(c->socket, SHUT_RDWR);
	}
	pthread_mutex_unlock(&connections.lock);
}
