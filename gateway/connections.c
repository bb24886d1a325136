/*
 * connections.c
 *	  Connections of clients: what they wait for, for how long they may, and the memory of their bodies
 *	  and answers.
 *
 * A connection that has had its time is shut down here and closed by the library, which reads its
 * end.  The socket's number is another's only after connection_close(), which waits for the lock.
 */
#include "connections.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "clock.h"
#include "config.h"
#include "listen.h"
#include "log.h"

/* The gateway looks so often for clients that have gone. */
#define TELL_MS 1000

/* The log tells so often that there are too many. */
#define WARN_MS 60000

/* So many bytes of each body, and of each answer, are not counted: connections are few enough for
 * that.  With the NUL behind it, it is as much as bodies get at once. */
#define UNCOUNTED_SIZE 65535

/* So many bytes of a client are read at most before its first request begins: a handshake of TLS, of
 * whose messages the library would keep up to 16 MB, and what comes with the first line. */
#define MAX_BEGINNING ((int64_t) 256 * 1024)

/* A Client is the clients of one address; those without one are on this machine, and one client. */
typedef struct Client
{
	struct Client *next;
	const void *server;
	struct in6_addr address; /* zeros: none; of IPv4 as IPv6 has it */
	int connections;
	int64_t memory; /* for bodies and answers */
} Client;

struct Connection
{
	Connection *next;
	Connection **link; /* what points to this one */
	Client *client;
	int socket;
	int64_t memory; /* of the client's */
	bool holds; /* some of it, as its own thread knows */
	bool ended; /* to have its memory */
	void *work;
	_Atomic Phase phase;
	_Atomic int64_t since;
};

static struct
{
	pthread_mutex_t lock;
	Connection *first;
	Client *clients;
	ConnectionCounts counts;
} connections = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns what counts as one address: of IPv6 the first half, which usually has one owner. */
static struct in6_addr
network(struct in6_addr address)
{
	if (!IN6_IS_ADDR_V4MAPPED(&address))
		memset(address.s6_addr + 8, 0, 8);
	return address;
}

/* Reads where the client is: whether on this machine, where it may have no address. */
static bool
read_address(int socket, Client *client)
{
	struct sockaddr_storage name = {0};
	socklen_t size = sizeof(name);

	getpeername(socket, (struct sockaddr *) &name, &size);
	if (name.ss_family == AF_INET6)
		client->address = network(((struct sockaddr_in6 *) &name)->sin6_addr);
	else if (name.ss_family == AF_INET)
	{
		client->address.s6_addr32[2] = htonl(0xffff);
		client->address.s6_addr32[3] = ((struct sockaddr_in *) &name)->sin_addr.s_addr;
	}
	return listen_is_local(&name);
}

/* Returns, with the lock held, the client of this address, or a new one; NULL without memory. */
static Client *
find_client(const Client *wanted)
{
	Client *client = connections.clients;

	while (client != NULL &&
		   (client->server != wanted->server ||
			memcmp(&client->address, &wanted->address, sizeof(client->address)) != 0))
		client = client->next;
	if (client != NULL)
		return client;
	client = malloc(sizeof(*client));
	if (client == NULL)
		return NULL;
	*client = *wanted;
	client->next = connections.clients;
	connections.clients = client;
	return client;
}

/* Notes, with the lock held, that the client has a connection less. */
static void
leave_client(Client *client)
{
	Client **link = &connections.clients;

	if (--client->connections > 0)
		return;
	while (*link != client)
		link = &(*link)->next;
	*link = client->next;
	free(client);
}

/* Lets the client in, or counts it as refused; it is NULL without memory. */
static bool
connections_add(Connection *connection, const Client *wanted, int limit)
{
	Client *client;
	bool within;

	pthread_mutex_lock(&connections.lock);
	client = connection == NULL ? NULL : find_client(wanted);
	within = client != NULL && (limit == 0 || client->connections < limit);
	if (client == NULL)
		connections.counts.out_of_memory++;
	else if (!within)
		connections.counts.over_limit++;
	else
	{
		connections.counts.open++;
		client->connections++;
		connection->client = client;
		connection->next = connections.first;
		connection->link = &connections.first;
		if (connection->next != NULL)
			connection->next->link = &connection->next;
		connections.first = connection;
	}
	pthread_mutex_unlock(&connections.lock);
	return within;
}

/* Returns what there is of them by now. */
ConnectionCounts
connections_counts(void)
{
	ConnectionCounts counts;

	pthread_mutex_lock(&connections.lock);
	counts = connections.counts;
	pthread_mutex_unlock(&connections.lock);
	return counts;
}

/* Returns whether it is time to warn once more. */
static bool
is_time(_Atomic int64_t *warned)
{
	int64_t before = *warned;
	int64_t now = clock_now();

	return log_wants(LEVEL_WARNING) && (before == 0 || now - before > clock_of_ms(WARN_MS)) &&
		   atomic_compare_exchange_strong(warned, &before, now);
}

/* Warn that clients have more connections than a setting allows. */
static void
connections_warn(const char *event, const char *address, const char *setting, int limit)
{
	LogLine line;

	log_begin(&line, LEVEL_WARNING, event);
	log_text(&line, "address", address);
	log_text(&line, "setting", setting);
	log_integer(&line, "limit", limit);
	log_end(&line);
}

static void
warn_refused(const Client *client, int limit)
{
	static _Atomic int64_t warned;
	char text[INET6_ADDRSTRLEN + sizeof("/64")];
	bool mapped = IN6_IS_ADDR_V4MAPPED(&client->address);

	if (!is_time(&warned))
		return;
	inet_ntop(AF_INET6, &client->address, text, INET6_ADDRSTRLEN);
	if (!mapped)
		strcat(text, "/64");
	connections_warn("connection_refused", text + (mapped ? strlen("::ffff:") : 0),
					 "connections_per_address", limit);
}

static void
warn_full(void)
{
	static _Atomic int64_t warned;
	int limit = config_now()->connections;

	if (connections_counts().open >= limit && is_time(&warned))
		connections_warn("connections_wait", NULL, "connections", limit);
}

/*
 * A client has connected to a server, which takes no more than so many of one address, unless the
 * limit is 0 or the address this machine's.  One that is too many is shut down: NULL, as without
 * memory.
 */
Connection *
connection_open(const void *server, int socket, int limit)
{
	Connection *connection = calloc(1, sizeof(*connection));
	Client client = {.server = server};

	/* programs of this machine, and whom a proxy here has let in, are told apart by nothing */
	if (read_address(socket, &client))
		limit = 0;
	if (connection != NULL)
	{
		connection->socket = socket;
		connection_enter(connection, PHASE_NEW);
	}
	if (connections_add(connection, &client, limit))
	{
		warn_full();
		return connection;
	}
	if (connection != NULL)
		warn_refused(&client, limit);
	shutdown(socket, SHUT_RDWR);
	free(connection);
	return NULL;
}

/* Forgets the connection, which is about to be closed. */
void
connection_close(Connection *connection)
{
	pthread_mutex_lock(&connections.lock);
	*connection->link = connection->next;
	if (connection->next != NULL)
		connection->next->link = connection->link;
	leave_client(connection->client);
	connections.counts.open--;
	pthread_mutex_unlock(&connections.lock);
	free(connection);
}

/* Returns the place where whoever serves it has what they do for it; NULL at first. */
void **
connection_work(Connection *connection)
{
	return &connection->work;
}

/* Notes what happens on it from now on. */
void
connection_enter(Connection *connection, Phase phase)
{
	atomic_store(&connection->since, clock_now());
	atomic_store(&connection->phase, phase);
}

/* Sets the memory of a connection, with the lock held. */
static void
set_memory(Connection *connection, int64_t memory)
{
	connections.counts.memory += memory - connection->memory;
	connection->client->memory += memory - connection->memory;
	connection->memory = memory;
}

/* Returns the connection whose body or answer, not yet at its end, is the largest one of the address
 * that has most memory; of several, the one that takes longest; NULL if there is none.  The lock is
 * held. */
static Connection *
largest(void)
{
	Connection *found = NULL;

	for (Connection *c = connections.first; c != NULL; c = c->next)
	{
		if ((c->phase != PHASE_BODY && c->phase != PHASE_ANSWER) || c->memory == 0)
			continue;
		if (found == NULL || c->client->memory > found->client->memory ||
			(c->client == found->client &&
			 (c->memory > found->memory ||
			  (c->memory == found->memory && c->since < found->since))))
			found = c;
	}
	return found;
}

/* Sets, with the lock held, what a connection holds. */
static void
hold(Connection *connection, int64_t memory)
{
	connection->holds = memory > 0;
	set_memory(connection, connection->ended ? 0 : memory);
}

/* Ends, with the lock held, a connection that has too much memory. */
static void
end_for_memory(Connection *connection)
{
	set_memory(connection, 0);
	connection->ended = true;
	shutdown(connection->socket, SHUT_RDWR);
}

static int64_t
counted_size(size_t size)
{
	return size > UNCOUNTED_SIZE ? (int64_t) (size - UNCOUNTED_SIZE) : 0;
}

/*
 * The body of a request has this size by now.  If all together have too much memory, the largest one
 * of the address that has most goes.  False if it is this one, or has gone before.
 */
bool
connection_hold(Connection *connection, size_t size)
{
	int64_t memory = counted_size(size);
	bool holds;

	if (memory == 0 && !connection->holds)
		return true;
	pthread_mutex_lock(&connections.lock);
	hold(connection, memory);
	holds = !connection->ended;
	while (holds && memory > 0 && connections.counts.memory > config_now()->body_memory)
	{
		Connection *other = largest();

		holds = other != NULL && other != connection;
		if (holds)
			end_for_memory(other);
		else
			set_memory(connection, 0);
	}
	pthread_mutex_unlock(&connections.lock);
	return holds;
}

/* An answer of this size begins to be sent, whatever there is of memory: others go for it.  Called
 * before the phase of the answer. */
void
connection_send(Connection *connection, size_t size)
{
	int64_t memory = counted_size(size);
	Connection *other;

	if (memory == 0)
		return;
	pthread_mutex_lock(&connections.lock);
	hold(connection, memory);
	while (connections.counts.memory > config_now()->body_memory && (other = largest()) != NULL)
		end_for_memory(other);
	pthread_mutex_unlock(&connections.lock);
}

/* Returns how long a phase may take, in milliseconds. */
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

/* Returns whether it is the client's turn. */
static bool
waits_for_client(const Connection *connection)
{
	return connection->phase != PHASE_RUNNING && connection->phase != PHASE_ANSWER;
}

/* Returns how many bytes of a client have been read; 0 if it is on this machine's Unix socket. */
static int64_t
bytes_read(int socket)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);
	int unread;

	if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
		size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received) ||
		ioctl(socket, FIONREAD, &unread) != 0)
		return 0;
	return (int64_t) info.tcpi_bytes_received - unread;
}

/*
 * Lets the library look once more, with the lock held: it does not see a client's end that comes
 * together with the last of what it reads, and would wait for the rest.
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
		if (now - c->since > clock_of_ms(limit_of(c->phase, config)) ||
			(c->phase == PHASE_NEW && bytes_read(c->socket) > MAX_BEGINNING))
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
