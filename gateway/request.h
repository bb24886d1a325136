/*
 * request.h
 *	  A request on its way from the client to Postgres and back.
 *
 * It belongs to the loop whose client sends it, there to HTTP, and from pools_submit() to done() to
 * the pool.
 */
#ifndef GATEWAY_REQUEST_H
#define GATEWAY_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "answer.h"
#include "authorization.h"
#include "body.h"
#include "keys.h"
#include "operation.h"
#include "trace.h"

#define REQUEST_ID_SIZE 53 /* with the NUL */

/* An Extra is what the server is asked for beside a request's statement. */
typedef enum Extra
{
	EXTRA_NONE,
	EXTRA_WAIT, /* first, to have replayed the log up to a position */
	EXTRA_POSITION /* then, where the log is by now */
} Extra;

typedef struct Request
{
	char id[REQUEST_ID_SIZE];
	int64_t begun; /* by clock_now() */

	/* what it asks for */
	const Operation *operation; /* NULL: whether Postgres answers */
	Caller caller;
	char region[REGION_SIZE]; /* that it is for; empty: nothing is known */
	const char *content_type; /* of the answer; NULL: the request had none */
	Body body; /* JSON */
	size_t received; /* bytes of the body as received */
	bool counted; /* among those of its key */
	const char *reason; /* why it is refused, as a word for the log; or NULL */
	char trace[TRACE_SIZE]; /* that it belongs to; empty: none */

	/* in the pool */
	struct Request *next;
	int64_t queued; /* when it began to wait */
	int64_t until; /* when nobody waits any longer: for its statement, or to send it again */
	bool unsent; /* though it was tried */
	uint64_t position; /* where a standby has to be; 0: anywhere */
	Extra extra; /* what is sent together with its statement */
	uint32_t
		node_role; /* what the caller's role is on the node of a shard; 0: it is known by its name */
	char *node_tables; /* what it names there; NULL: it goes to no node */
	int *detours; /* counts it, while another server does what a node cannot */
	int attempts; /* how often the statement failed */
	bool from_standby; /* the answer */
	void (*done)(struct Request *request); /* the pool has the answer */

	Answer answer;
} Request;

#endif
