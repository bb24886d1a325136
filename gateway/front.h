/*
 * front.h
 *	  What a server of HTTP has in one loop: a daemon of libmicrohttpd, with an epoll of its own.
 */
#ifndef GATEWAY_FRONT_H
#define GATEWAY_FRONT_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "loop.h"

/*
 * To suspend a connection and to resume it costs more than most statements take.  So many connections
 * of a loop are not suspended in the first few milliseconds of a statement: the library asks for the
 * answers of all of these whenever it runs.  Only these may lose their client before they have an
 * answer, so that there are no more without one, and none with a body that counts.
 */
#define MAX_AWAKE 64
#define MAX_AWAKE_BODY 65535
#define AWAKE_MS 5

/* As long as a chunk's line that it cannot keep is not at its end, the library says that it has
 * something to do, though it does nothing.  After so many runs of which nobody has heard anything, it
 * runs as often as for those that wait. */
#define MAX_IDLE_RUNS 100

typedef struct Front
{
	Watch watch; /* the first member: of that epoll */
	Turn turn;
	struct Server *server;
	Loop *loop;
	struct MHD_Daemon *daemon;
	bool ready; /* the daemon has something to do */
	bool heard; /* it has called us since it began to run */
	int idle_runs; /* without that, though it had something to do */
	size_t records; /* of TLS, of which the daemon sends one for each connection when it runs */
	int awake; /* connections that wait for an answer and are not suspended */
	int left; /* requests that wait for one, and whose clients have gone */
	int64_t now; /* when the daemon began to run */
} Front;

extern bool front_open(Front *front);
extern void front_drain(Front *front);
extern void front_close(Front *front);

#endif
