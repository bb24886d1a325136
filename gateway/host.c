/*
 * host.c
 *	  The name that a client calls the gateway by.
 *
 * A page of any site reaches a gateway on this machine by a name of that site which leads here; the
 * browser takes both for the same site then (DNS rebinding).  Addresses, and names that always mean
 * this machine, are nobody's to redirect.
 */
#include "host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* Takes what is between the brackets of an IPv6 address, or before the port. */
static bool
take_name(const char *host, char *name, size_t size)
{
	bool brackets = *host == '[';
	const char *begin = host + brackets;
	size_t length = strcspn(begin, brackets ? "]" : ":");
	const char *rest = begin + length;

	if (length >= size || (brackets && *rest++ != ']'))
		return false;
	memcpy(name, begin, length);
	name[length] = '\0';
	return *rest == '\0' || (*rest == ':' && rest[1 + strspn(rest + 1, "0123456789")] == '\0');
}

static bool
is_address(const char *name)
{
	struct in6_addr address;

	return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1;
}

static bool
is_localhost(const char *name)
{
	static const char suffix[] = ".localhost";
	size_t length = strlen(name);
	size_t end = sizeof(suffix) - 1;

	return strcasecmp(name, suffix + 1) == 0 ||
		   (length > end && strcasecmp(name + length - end, suffix) == 0);
}

/* Returns whether the name is in a list with blanks between. */
static bool
is_listed(const char *name, const char *names)
{
	while (*names != '\0')
	{
		size_t length = strcspn(names, " ");

		if (length == strlen(name) && strncasecmp(names, name, length) == 0)
			return true;
		names += length;
		names += strspn(names, " ");
	}
	return false;
}

/*
 * Returns whether a header Host, which may be NULL, can be trusted to be written by who means this
 * gateway: an address, this machine, or one of the names, where "*" are all.
 */
bool
host_is_ours(const char *host, const char *names)
{
	char name[256];

	/* browsers send one */
	if (host == NULL || strcmp(names, "*") == 0)
		return true;
	return take_name(host, name, sizeof(name)) &&
		   (is_address(name) || is_localhost(name) || is_listed(name, names));
}
