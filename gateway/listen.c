/*
 * listen.c
 *	  Sockets that clients connect to.
 */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define UNIX_PREFIX "unix:"
#define FIRST_INHERITED 3

static bool
listen_fail(char **problem, const char *address, const char *what, const char *why)
{
	if (asprintf(problem, "could not %s \"%s\": %s", what, address, why) < 0)
		*problem = NULL;
	return false;
}

/* Returns whether only this machine has the address. */
bool
listen_is_local(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *) address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *) address;

	switch (address->ss_family)
	{
		case AF_UNIX:
			return true;
		case AF_INET:
			return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
		case AF_INET6:
			return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
				   (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && v6->sin6_addr.s6_addr[12] == 127);
	}
	return false;
}

/* Learn what the socket is bound to: a port of 0 is another one by now. */
static bool
listen_describe(Listener *listener)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	char host[128];
	char port[16];

	memset(&address, 0, sizeof(address));
	if (getsockname(listener->socket, (struct sockaddr *) &address, &length) != 0)
		return false;
	listener->local = listen_is_local(&address);
	listener->is_unix = address.ss_family == AF_UNIX;
	if (address.ss_family == AF_UNIX)
		snprintf(listener->name, sizeof(listener->name), UNIX_PREFIX "%s",
				 ((struct sockaddr_un *) &address)->sun_path);
	else if (getnameinfo((struct sockaddr *) &address, length, host, sizeof(host), port,
						 sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(listener->name, sizeof(listener->name),
				 address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	else
		return false;
	return true;
}

/* An Address is one as sockets have it. */
typedef struct Address
{
	struct sockaddr_storage data;
	socklen_t length;
} Address;

static bool
is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits >= 1 && digits <= 5 && text[digits] == '\0' && atoi(text) <= 65535;
}

/* Splits address:port into its two parts; brackets around the address are left out. */
static bool
split(const char *address, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t length;

	if (colon == NULL || !is_port(colon + 1))
		return false;
	length = (size_t) (colon - address);
	if (length >= 2 && address[0] == '[' && colon[-1] == ']')
	{
		address++;
		length -= 2;
	}
	else if (memchr(address, ':', length) != NULL)
		return false;
	if (length >= size)
		return false;
	memcpy(host, address, length);
	host[length] = '\0';
	*port = colon + 1;
	return true;
}

static bool
find_unix(const char *path, Address *found, char **problem)
{
	struct sockaddr_un *address = (struct sockaddr_un *) &found->data;

	if (strlen(path) >= sizeof(address->sun_path))
		return listen_fail(problem, path, "use the socket", "its path is too long");
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	found->length = sizeof(*address);
	return true;
}

static bool
find_tcp(const char *text, Address *found, char **problem)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC,
							 .ai_socktype = SOCK_STREAM,
							 .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *first;
	const char *port;
	char host[256];
	int error;

	if (!split(text, host, sizeof(host), &port))
		return listen_fail(problem, text, "read the address",
						   "it is not address:port, [address]:port or unix:/path");
	error = getaddrinfo(*host == '\0' ? NULL : host, port, &hints, &first);
	if (error != 0)
		return listen_fail(problem, text, "find", gai_strerror(error));
	memcpy(&found->data, first->ai_addr, first->ai_addrlen);
	found->length = first->ai_addrlen;
	freeaddrinfo(first);
	return true;
}

static bool
find_address(const char *text, Address *found, char **problem)
{
	memset(found, 0, sizeof(*found));
	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		return find_unix(text + strlen(UNIX_PREFIX), found, problem);
	return find_tcp(text, found, problem);
}

/* Removes a Unix socket that nobody listens at, which a program that died has left. */
static void
remove_dead_socket(const Address *address)
{
	const char *path = ((const struct sockaddr_un *) &address->data)->sun_path;
	struct stat status;
	int probe;

	if (address->data.ss_family != AF_UNIX || lstat(path, &status) != 0 ||
		!S_ISSOCK(status.st_mode))
		return;
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (probe >= 0 &&
		connect(probe, (const struct sockaddr *) &address->data, address->length) != 0 &&
		errno == ECONNREFUSED)
		unlink(path);
	if (probe >= 0)
		close(probe);
}

static bool
bind_and_listen(int fd, const Address *address)
{
	int on = 1;

	return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
		   bind(fd, (const struct sockaddr *) &address->data, address->length) == 0 &&
		   listen(fd, SOMAXCONN) == 0;
}

/* Listen at an address.  Returns false and the problem, to be freed. */
bool
listen_open(const char *text, Listener *listener, char **problem)
{
	Address address;

	*listener = (Listener){.socket = -1};
	if (!find_address(text, &address, problem))
		return false;
	remove_dead_socket(&address);
	listener->socket =
		socket(address.data.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->socket >= 0 && bind_and_listen(listener->socket, &address) &&
		listen_describe(listener))
		return true;
	listen_fail(problem, text, "listen at", strerror(errno));
	listen_close(listener);
	return false;
}

/* Connect to an address that somebody listens at.  Returns -1 and the problem, to be freed. */
int
listen_connect(const char *text, char **problem)
{
	Address address;
	int fd;

	if (!find_address(text, &address, problem))
		return -1;
	fd = socket(address.data.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *) &address.data, address.length) == 0)
		return fd;
	listen_fail(problem, text, "connect to", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Takes the socket that systemd has opened for us, if there is one. */
bool
listen_inherited(Listener *listener)
{
	const char *pid = getenv("LISTEN_PID");
	const char *count = getenv("LISTEN_FDS");

	if (pid == NULL || count == NULL || atol(pid) != (long) getpid() || atoi(count) < 1)
		return false;
	*listener = (Listener){.socket = FIRST_INHERITED, .inherited = true};
	/* of several threads that are told of a client one gets it, and the others must not wait */
	fcntl(listener->socket, F_SETFL, fcntl(listener->socket, F_GETFL) | O_NONBLOCK);
	return listen_describe(listener);
}

/* Listen no longer, also where the socket has other numbers.  systemd's own stays as it is. */
void
listen_close(Listener *listener)
{
	if (listener->socket >= 0)
	{
		if (!listener->inherited)
			shutdown(listener->socket, SHUT_RDWR);
		close(listener->socket);
	}
	listener->socket = -1;
}
