/*
 * listen.h
 *	  Sockets that clients connect to.
 */
#ifndef GATEWAY_LISTEN_H
#define GATEWAY_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

typedef struct Listener
{
	int socket;
	bool local; /* only this machine reaches it */
	bool is_unix; /* it is a file */
	bool inherited; /* systemd opened it */
	char name[256]; /* the address, as the setting has it */
} Listener;

extern bool listen_open(const char *address, Listener *listener, char **problem);
extern int listen_connect(const char *address, char **problem);
extern bool listen_inherited(Listener *listener);
extern bool listen_is_local(const struct sockaddr_storage *address);
extern void listen_close(Listener *listener);

#endif
