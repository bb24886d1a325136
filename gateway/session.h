/*
 * session.h
 *	  A loop's connection to a server: what state it is in, and the requests that are under way on it.
 *
 * It moves from one state to another in one place, session_move().  Short requests of one key may be
 * under way at once: each is answered in its turn.
 */
#ifndef GATEWAY_SESSION_H
#define GATEWAY_SESSION_H

#include "loop.h"
#include "request.h"
#include "statement.h"
#include "target.h"

typedef enum SessionState
{
	SESSION_DOWN, /* there is no connection, until it is time to try again */
	SESSION_CONNECTING, /* the helper is at it */
	SESSION_IDLE,
	SESSION_BUSY,
	SESSION_STATES
} SessionState;

typedef struct Session Session;

/* A SessionOwner is told of what becomes of requests.  It may not send any meanwhile. */
typedef struct SessionOwner
{
	Loop *loop;
	Target *target;
	/* a request has come to its end; the result is the owner's */
	void (*settle)(struct SessionOwner *owner, Session *session, Request *request,
				   Outcome *outcome);
	/* it has another state: what it was */
	void (*moved)(struct SessionOwner *owner, Session *session, SessionState from);
	/* all of that has been told */
	void (*settled)(struct SessionOwner *owner);
} SessionOwner;

struct Session
{
	Watch watch; /* the first member */
	Job connecting;
	SessionOwner *owner;
	SessionState state;
	Link link;
	Link fresh; /* that the helper has made */
	int64_t due; /* when to connect again */
	int64_t back_off; /* in milliseconds */
	unsigned seed;

	/* while it is busy */
	struct Tenant *tenant; /* whose requests these are */
	Request *first;
	Request **last;
	int depth; /* how many there are */
	bool shared; /* more may be sent behind them */
	int64_t began; /* when the server could begin with the first one */
	Outcome outcome; /* of the first one, or of what belongs to it */
	Outcome former; /* of the first of its two statements, if it has two */
	bool half; /* that one has come to its end */
	uint64_t replayed; /* where a standby is, as far as it has told */
	bool broken; /* something could not be sent */
	bool untouched; /* the server has refused what is under way */
	bool retires; /* it serves no more, and ends when it has nothing to do */
	bool writes; /* the loop tells when more can be sent */
};

extern void session_init(Session *session, SessionOwner *owner);
extern void session_send(Session *session, Request *request, bool shared, int64_t until);
extern bool session_is_behind(const Session *session, uint64_t position);
extern bool session_is_usable(Session *session);
extern void session_look(Session *session, int64_t now);
extern void session_end(Session *session);

#endif
