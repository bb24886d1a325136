/*
 * connections.h
 *	  Connections of clients: what they wait for, for how long they may, and the memory of their bodies
 *	  and answers.
 *
 * The library ends connections on which nothing moves.  A client that sends a byte now and then
 * would keep one for ever, so this watches how long a header, a body and an answer take as a whole.
 */
#ifndef GATEWAY_CONNECTIONS_H
#define GATEWAY_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Phase
{
	PHASE_NEW, /* nothing has come yet, or the first line is not whole */
	PHASE_IDLE, /* the same, behind a request */
	PHASE_HEADER,
	PHASE_BODY,
	PHASE_RUNNING, /* it is our turn */
	PHASE_ANSWER
} Phase;

typedef struct Connection Connection;

/* ConnectionCounts is what there is of them. */
typedef struct ConnectionCounts
{
	int open;
	int64_t memory; /* of the bodies and answers of all */
	uint64_t over_limit; /* that were refused: too many of one address */
	uint64_t out_of_memory; /* or for want of memory */
} ConnectionCounts;

extern Connection *connection_open(const void *server, int socket, int limit);
extern void connection_close(Connection *connection);
extern void **connection_work(Connection *connection);
extern bool connection_hold(Connection *connection, size_t size);
extern void connection_send(Connection *connection, size_t size);
extern void connection_enter(Connection *connection, Phase phase);
extern void connections_check(void);
extern void connections_end_idle(void);
extern ConnectionCounts connections_counts(void);

#endif
