/*
 * session.c
 *	  A loop's connection to a server: what state it is in, and the requests that are under way on it.
 */
#include "session.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "late.h"
#include "position.h"

#define MIN_BACK_OFF 50
#define MAX_BACK_OFF 5000

static void session_move(Session *session, SessionState state);

/* Takes what the helper has made. */
static void
session_connected(Job *job)
{
	Session *session = (Session *) ((char *) job - offsetof(Session, connecting));
	Loop *loop = session->owner->loop;

	session->link = session->fresh;
	session->replayed = 0;
	session->back_off = session->link.connection == NULL ? session->back_off * 2 : MIN_BACK_OFF;
	if (session->back_off > MAX_BACK_OFF)
		session->back_off = MAX_BACK_OFF;
	if (session->link.connection != NULL)
	{
		statement_watch(session->link.connection, &session->outcome);
		if (target_is_current(session->owner->target, &session->link) &&
			loop_watch(loop, PQsocket(session->link.connection), &session->watch))
			session_move(session, SESSION_IDLE);
	}
	if (session->state == SESSION_CONNECTING)
		session_move(session, SESSION_DOWN);
	session->owner->settled(session->owner);
}

static void
session_connect(Job *job)
{
	Session *session = (Session *) ((char *) job - offsetof(Session, connecting));

	target_connect(session->owner->target, &session->fresh);
}

static void
session_disconnect(Session *session)
{
	if (session->link.connection == NULL)
		return;
	loop_unwatch(session->owner->loop, PQsocket(session->link.connection));
	PQfinish(session->link.connection);
	session->link.connection = NULL;
}

/* Returns when to connect again: at once, unless that has failed, or nobody needs it at once. */
static int64_t
next_attempt(Session *session, SessionState from)
{
	if (from == SESSION_BUSY)
		return 0;
	return clock_now() +
		   clock_of_ms(session->back_off / 2 + rand_r(&session->seed) % session->back_off / 2);
}

/* Have another state: all that follows from it happens here. */
static void
session_move(Session *session, SessionState state)
{
	SessionState from = session->state;

	switch (state)
	{
		case SESSION_DOWN:
			session_disconnect(session);
			session->due = next_attempt(session, from);
			break;
		case SESSION_CONNECTING:
			target_connect_later(session->owner->target, &session->connecting);
			break;
		case SESSION_IDLE:
			session->broken = session->untouched = session->retires = session->writes = false;
			break;
		case SESSION_BUSY:
			session->began = clock_now();
			break;
		case SESSION_STATES:
			break;
	}
	session->state = state;
	session->owner->moved(session->owner, session, from);
}

/* Takes the first of the requests that are under way. */
static Request *
take_first(Session *session)
{
	Request *request = session->first;

	session->first = request->next;
	if (session->first == NULL)
		session->last = &session->first;
	session->depth--;
	return request;
}

/* Takes what the other statement of a request has told, and returns the outcome of its own. */
static Outcome
join_outcomes(Session *session, const Request *request)
{
	bool after = request->extra == EXTRA_POSITION && session->half;
	Outcome outcome = after ? session->former : session->outcome;
	Outcome *other = after ? &session->outcome : &session->former;

	if (request->extra == EXTRA_POSITION && statement_is_done(&outcome))
		position_note(request->caller.key_id, statement_position(other));
	else if (request->extra == EXTRA_WAIT && statement_has_waited(other))
		session->replayed = request->position;
	else if (request->extra == EXTRA_WAIT)
		outcome.behind = true;
	PQclear(other->result);
	session->half = false;
	session->former = (Outcome){0};
	return outcome;
}

/* The first request has come to its end: the server begins with the next one. */
static void
settle_first(Session *session)
{
	Request *request = take_first(session);
	Outcome outcome = join_outcomes(session, request);
	int64_t now = clock_now();

	outcome.took = now - session->began;
	session->outcome = (Outcome){0};
	session->began = now;
	session->owner->settle(session->owner, session, request, &outcome);
	/* of a result that is too large the connection has kept a buffer as large */
	session->retires |= outcome.swollen;
}

/* No answers come any more to what is under way. */
static void
settle_all(Session *session)
{
	while (session->first != NULL)
	{
		session->outcome.unsent = session->first->unsent || session->untouched;
		settle_first(session);
	}
}

/* The connection is of no more use, and what was sent over it is lost. */
static void
session_lose(Session *session)
{
	settle_all(session);
	session_move(session, SESSION_DOWN);
}

/* Nothing is under way any more, or it still is. */
static void
session_rest(Session *session)
{
	if (session->first != NULL || session->state != SESSION_BUSY)
		return;
	if (session->retires || PQstatus(session->link.connection) != CONNECTION_OK ||
		!target_is_current(session->owner->target, &session->link))
		session_move(session, SESSION_DOWN);
	else
		session_move(session, SESSION_IDLE);
}

/*
 * Returns whether nothing has come over an idle connection but what a server may tell at any time,
 * such as the value of a setting.  A server that goes away says so before it closes the connection.
 */
static bool
is_quiet(const Session *session, bool there)
{
	return there && !PQisBusy(session->link.connection) &&
		   PQstatus(session->link.connection) == CONNECTION_OK;
}

/* Takes what has come. */
static void
session_ready(Watch *watch)
{
	Session *session = (Session *) watch;
	PGconn *connection = session->link.connection;
	bool there;

	/* it was told just before it was given up */
	if (connection == NULL)
		return;
	there = statement_receive(connection);
	while (session->first != NULL && statement_read(connection, !there, &session->outcome))
	{
		if (!session->outcome.over)
		{
			session_lose(session);
			break;
		}
		if (session->first->extra != EXTRA_NONE && !session->half)
		{
			session->half = true;
			session->former = session->outcome;
			session->outcome = (Outcome){0};
		}
		else
			settle_first(session);
	}
	if (session->state == SESSION_IDLE && !is_quiet(session, there))
		session_move(session, SESSION_DOWN);
	session_rest(session);
	session->owner->settled(session->owner);
}

/* Sends what has not been sent, as far as the server reads. */
static void
session_flush(Session *session)
{
	int left = PQflush(session->link.connection);

	session->broken |= left < 0;
	if ((left > 0) == session->writes)
		return;
	session->writes = left > 0;
	loop_watch_writes(session->owner->loop, PQsocket(session->link.connection), &session->watch,
					  session->writes);
}

/* Gives up a connection whose first statement has had its time. */
static void
session_be_late(Session *session)
{
	char key_id[KEY_ID_SIZE];

	strcpy(key_id, session->first->caller.key_id);
	session->outcome.late = true;
	settle_all(session);
	loop_unwatch(session->owner->loop, PQsocket(session->link.connection));
	late_add(session->link.connection, session->owner, session->owner->target, key_id);
	session->link.connection = NULL;
	session_move(session, SESSION_DOWN);
}

/* Make a session, which connects as soon as it is looked at. */
void
session_init(Session *session, SessionOwner *owner)
{
	*session = (Session){
		.watch = {.ready = session_ready},
		.connecting = {.loop = owner->loop, .work = session_connect, .done = session_connected},
		.owner = owner,
		.back_off = MIN_BACK_OFF,
		.seed = (unsigned) (uintptr_t) session ^ (unsigned) clock_now()};
	session->last = &session->first;
}

/* Sends the request's statement, and before or behind it what belongs to it.  False if the statement
 * itself is not sent. */
static bool
send_statements(Session *session, const Request *request)
{
	PGconn *connection = session->link.connection;

	if (request->extra == EXTRA_WAIT && !statement_send_extra(connection, request))
		return false;
	if (!statement_send(connection, session->link.node, session->link.prepared, request))
		return false;
	/* what is sent is not sent again, even if nothing can be sent behind it */
	session->broken =
		request->extra == EXTRA_POSITION && !statement_send_extra(connection, request);
	return true;
}

/* Returns whether the standby may not have replayed the log up to a position, and can wait for it. */
bool
session_is_behind(const Session *session, uint64_t position)
{
	return position > session->replayed && statement_may_wait(session->link.connection);
}

/*
 * Send the request's statement, behind those that are under way, if there are any.  Nobody waits for
 * its answer for longer than until a time.  What comes of it is told later.
 */
void
session_send(Session *session, Request *request, bool shared, int64_t until)
{
	request->until = until;
	request->next = NULL;
	*session->last = request;
	session->last = &request->next;
	session->depth++;
	session->shared = shared;
	if (session->state == SESSION_IDLE)
		session_move(session, SESSION_BUSY);
	request->unsent = session->broken || !send_statements(session, request);
	session->broken |= request->unsent;
}

/* Returns whether an idle session serves; one whose server is another by now does not. */
bool
session_is_usable(Session *session)
{
	if (target_is_current(session->owner->target, &session->link))
		return true;
	session_move(session, SESSION_DOWN);
	return false;
}

/* Do what is due by now.  Called in each round. */
void
session_look(Session *session, int64_t now)
{
	switch (session->state)
	{
		case SESSION_DOWN:
			/* other settings may name a server that is there */
			if (session->due <= now || !target_is_current(session->owner->target, &session->link))
				session_move(session, SESSION_CONNECTING);
			break;
		case SESSION_IDLE:
			session_is_usable(session);
			break;
		case SESSION_BUSY:
			session_flush(session);
			if (session->broken)
				session_lose(session);
			else if (session->first->until < now)
				session_be_late(session);
			else
				break;
			session->owner->settled(session->owner);
			break;
		case SESSION_CONNECTING:
		case SESSION_STATES:
			break;
	}
}

/* End the connection.  Nothing is under way on it, and no helper is at it. */
void
session_end(Session *session)
{
	session_disconnect(session);
}
