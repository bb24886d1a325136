/*
 * connections_test.c
 *	  Which clients count as those of one address.
 *
 * What getpeername() says of each socket is put in its place.
 */
#include "connections.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"
#include "test.h"

#define LIMIT 2

static const char *address; /* of the next client; NULL: a Unix socket */

int
getpeername(int socket, struct sockaddr *restrict name, socklen_t *restrict size)
{
	struct sockaddr_storage found = {.ss_family = AF_UNIX};

	(void) socket;
	if (address != NULL && inet_pton(AF_INET, address, &((struct sockaddr_in *) &found)->sin_addr))
		found.ss_family = AF_INET;
	else if (address != NULL &&
			 inet_pton(AF_INET6, address, &((struct sockaddr_in6 *) &found)->sin6_addr))
		found.ss_family = AF_INET6;
	memcpy(name, &found, *size < sizeof(found) ? *size : sizeof(found));
	return 0;
}

const Config *
config_now(void)
{
	static const Config config;

	return &config;
}

/* A client has connected.  Its socket is nobody's. */
static Connection *
come(const void *server, const char *from)
{
	address = from;
	return connection_open(server, -1, LIMIT);
}

/* Whether a client is let in beside as many of another address as may be. */
static void
check(const char *one, const char *other, bool same)
{
	static const int servers[2];
	Connection *clients[LIMIT + 3];
	int n = 0;

	for (; n < LIMIT; n++)
		clients[n] = come(&servers[0], one);
	clients[n++] = come(&servers[0], other);
	clients[n++] = come(&servers[1], one);
	ok(clients[LIMIT - 1] != NULL, "as many of %s as may be", one);
	ok((clients[LIMIT] == NULL) == same, "%s is %s", other, same ? "the same" : "another one");
	ok(clients[LIMIT + 1] != NULL, "each server counts by itself");
	connection_close(clients[0]);
	clients[0] = NULL;
	clients[n++] = come(&servers[0], one);
	ok(clients[n - 1] != NULL, "who has gone does not count");
	for (int i = 0; i < n; i++)
	{
		if (clients[i] != NULL)
			connection_close(clients[i]);
	}
}

int
main(void)
{
	static const char *const here[] = {NULL, "127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"};
	Connection *local[LIMIT + 1];
	uint64_t refused;

	check("192.0.2.1", "192.0.2.1", true);
	check("192.0.2.1", "192.0.2.2", false);
	check("::ffff:192.0.2.1", "::ffff:192.0.2.1", true);
	check("::ffff:192.0.2.1", "::ffff:192.0.2.2", false);
	check("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:fffe", true);
	check("2001:db8:1:2::1", "2001:db8:1:3::1", false);
	check("192.0.2.1", "::ffff:192.0.2.1", true);
	check("127.0.0.1", NULL, false);
	check("192.0.2.1", "127.0.0.1", false);
	check("2001:db8::2", "::1", false);
	refused = connections_counts().over_limit;
	for (size_t n = 0; n < sizeof(here) / sizeof(here[0]); n++)
	{
		for (int i = 0; i <= LIMIT; i++)
			local[i] = come(NULL, here[n]);
		ok(local[LIMIT] != NULL, "of this machine's there may be any number: %s",
		   here[n] == NULL ? "a Unix socket" : here[n]);
		ok(connections_counts().open == LIMIT + 1, "they are counted");
		for (int i = 0; i <= LIMIT; i++)
			connection_close(local[i]);
	}
	ok(refused > 0 && connections_counts().over_limit == refused, "so are those that are refused");
	ok(connections_counts().open == 0, "who has gone is not");
	return failures != 0;
}
