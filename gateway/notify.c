/*
 * notify.c
 *	  What systemd is told: that the program is ready, reloads, or stops.
 */
#include "notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Send a state to who started the program, if they want to know (sd_notify(3)). */
void
notify_system(const char *state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	socklen_t length;
	int fd;

	if (path == NULL || (*path != '/' && *path != '@') || strlen(path) >= sizeof(address.sun_path))
		return;
	strcpy(address.sun_path, path);
	length = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + strlen(path));
	/* an abstract name */
	if (*path == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void) !sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *) &address, length);
	close(fd);
}
