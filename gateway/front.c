/*
 * front.c
 *	  What a server of HTTP has in one loop: a daemon of libmicrohttpd, with an epoll of its own.
 *
 * The library is called by the loop's thread alone.
 */
#include "front.h"

#include <limits.h>
#include <stddef.h>
#include <unistd.h>

#include "clock.h"

/* Returns whether the library is asked from time to time, whatever it says itself. */
static bool
front_polls(const Front *front)
{
	return front->awake > 0 || front->idle_runs > MAX_IDLE_RUNS;
}

/* Notes whether the library has done something in this run that it had something to do in. */
static void
count_idle_run(Front *front)
{
	MHD_UNSIGNED_LONG_LONG timeout;

	if (front->ready || front->heard || MHD_get_timeout(front->daemon, &timeout) != MHD_YES ||
		timeout > 0)
		front->idle_runs = 0;
	else if (front->idle_runs <= MAX_IDLE_RUNS)
		front->idle_runs++;
}

/* Returns in how many milliseconds the library has something to do. */
static int
front_patience(Turn *turn)
{
	const Front *front = (Front *) ((char *) turn - offsetof(Front, turn));
	MHD_UNSIGNED_LONG_LONG timeout;

	if (front->ready)
		return 0;
	/* meanwhile the library says 0 */
	if (front_polls(front))
		return AWAKE_MS;
	if (MHD_get_timeout(front->daemon, &timeout) == MHD_YES && timeout < INT_MAX)
		return (int) timeout;
	return INT_MAX;
}

/* Lets the library do what it has to do. */
static void
front_run(Turn *turn)
{
	Front *front = (Front *) ((char *) turn - offsetof(Front, turn));
	int64_t now = clock_now();

	if (front_patience(turn) > 0 &&
		(!front_polls(front) || now - front->now < clock_of_ms(AWAKE_MS)))
		return;
	front->ready = front->records > 0;
	front->records -= front->ready;
	front->now = now;
	front->heard = false;
	MHD_run(front->daemon);
	count_idle_run(front);
}

static void
front_ready(Watch *watch)
{
	((Front *) watch)->ready = true;
}

static void
front_begin(void *arg)
{
	Front *front = arg;
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(front->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	front->watch.ready = front_ready;
	front->turn = (Turn){.run = front_run, .patience = front_patience};
	front->ready = info != NULL && loop_watch(front->loop, info->epoll_fd, &front->watch);
	if (front->ready)
		loop_add_turn(front->loop, &front->turn);
	else
	{
		MHD_stop_daemon(front->daemon);
		front->daemon = NULL;
	}
}

static void
front_quiesce(void *arg)
{
	int listener = MHD_quiesce_daemon(((Front *) arg)->daemon);

	if (listener >= 0)
		close(listener);
}

static void
front_end(void *arg)
{
	Front *front = arg;

	loop_remove_turn(front->loop, &front->turn);
	loop_unwatch(front->loop,
				 MHD_get_daemon_info(front->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
	MHD_stop_daemon(front->daemon);
}

/* Serve the clients of a daemon, from now on.  False, and there is no daemon, if the system refuses. */
bool
front_open(Front *front)
{
	loop_call(front->loop, front_begin, front);
	return front->daemon != NULL;
}

/* Take no more connections. */
void
front_drain(Front *front)
{
	loop_call(front->loop, front_quiesce, front);
}

/* End the daemon.  No request runs. */
void
front_close(Front *front)
{
	loop_call(front->loop, front_end, front);
}
