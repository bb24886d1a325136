/*
 * http.h
 *	  HTTP, by libmicrohttpd: framing, the paths that there are, and the header of every answer.
 */
#ifndef GATEWAY_HTTP_H
#define GATEWAY_HTTP_H

#include <stdbool.h>

#include "config.h"
#include "listen.h"

typedef struct Server Server;

/* A ServerRole says what a server is for. */
typedef enum ServerRole
{
	SERVER_ALL,
	SERVER_REQUESTS,
	SERVER_HEALTH /* /healthz, /readyz and /metrics only, without TLS */
} ServerRole;

extern Server *server_start(const Config *config, const Listener *listener, ServerRole role);
extern void server_drain(Server *server);
extern bool server_is_quiet(Server *server);
extern void server_stop(Server *server);
extern void servers_set_ready(bool ready);

#endif
