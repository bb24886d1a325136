/*
 * loop.c
 *	  A thread of HTTP, which waits for its clients and for their statements at once.
 *
 * The library has an epoll of its own for clients.  It is one of the files that the thread waits
 * for, beside those of the connections to Postgres that have its statements.
 */
#include "loop.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"

#define MAX_EVENTS 64

/* A loop looks so often for statements that take too long. */
#define LOOK_MS 250

struct Loop
{
	void *owner;
	struct MHD_Daemon *daemon; /* whose clients it serves */
	Waiter *waiter;
	int epoll;
	int wake; /* an eventfd: another thread wants something */
	int64_t look; /* when to look for statements the next time */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t drained;
	bool started;
	bool drain;
	bool is_drained;
	bool stop;
};

static bool
loop_watch(Loop *loop, int file, void *what)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};

	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, file, &event) == 0;
}

/* Makes a loop that does nothing yet.  NULL without memory or files. */
Loop *
loop_new(void *owner)
{
	Loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return NULL;
	loop->owner = owner;
	pthread_mutex_init(&loop->lock, NULL);
	pthread_cond_init(&loop->drained, NULL);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->waiter = waiter_new(loop->epoll);
	if (loop->waiter != NULL && loop->epoll >= 0 && loop->wake >= 0 &&
		loop_watch(loop, loop->wake, &loop->wake))
		return loop;
	loop_free(loop);
	return NULL;
}

/* Returns whose it is. */
void *
loop_owner(const Loop *loop)
{
	return loop->owner;
}

/* Returns in whose name its requests are given to the pool. */
Waiter *
loop_waiter(Loop *loop)
{
	return loop->waiter;
}

/* Wakes the loop with the lock held, so that it is there until the call has ended. */
static void
loop_wake(Loop *loop)
{
	uint64_t one = 1;

	/* it fails only where the loop has much to wake for already */
	while (write(loop->wake, &one, sizeof(one)) < 0)
		break;
}

static void
take_wake(Loop *loop)
{
	uint64_t count;

	while (read(loop->wake, &count, sizeof(count)) < 0)
		break;
}

/* Resumes a suspended connection, whose request has its answer.  Any thread may say so. */
void
loop_resume(Loop *loop, struct MHD_Connection *connection)
{
	if (pthread_equal(pthread_self(), loop->thread))
	{
		MHD_resume_connection(connection);
		return;
	}
	pthread_mutex_lock(&loop->lock);
	MHD_resume_connection(connection);
	loop_wake(loop);
	pthread_mutex_unlock(&loop->lock);
}

/* The library is called by the thread alone.  False: it shall end. */
static bool
obey(Loop *loop)
{
	bool stop;

	pthread_mutex_lock(&loop->lock);
	if (loop->drain && !loop->is_drained)
	{
		int listener = MHD_quiesce_daemon(loop->daemon);

		if (listener >= 0)
			close(listener);
		loop->is_drained = true;
		pthread_cond_signal(&loop->drained);
	}
	stop = loop->stop;
	pthread_mutex_unlock(&loop->lock);
	return !stop;
}

/* Returns the milliseconds until the library, or the loop, has something to do without an event. */
static int
patience(Loop *loop)
{
	MHD_UNSIGNED_LONG_LONG timeout;

	if (MHD_get_timeout(loop->daemon, &timeout) == MHD_YES && timeout < LOOK_MS)
		return (int) timeout;
	return LOOK_MS;
}

static void
loop_look(Loop *loop)
{
	int64_t now = clock_now();

	if (now < loop->look)
		return;
	loop->look = now + clock_of_ms(LOOK_MS);
	waiter_look(loop->waiter, now);
}

static void *
loop_run(void *arg)
{
	Loop *loop = arg;
	struct epoll_event events[MAX_EVENTS];
	bool goes_on = true;

	/* until it is known which thread this is */
	pthread_mutex_lock(&loop->lock);
	pthread_mutex_unlock(&loop->lock);
	while (goes_on)
	{
		int n = epoll_wait(loop->epoll, events, MAX_EVENTS, patience(loop));

		/* answers first: their connections take the requests that come next */
		for (int i = 0; i < n; i++)
		{
			if (events[i].data.ptr == &loop->wake)
			{
				take_wake(loop);
				goes_on = obey(loop);
			}
			else if (events[i].data.ptr != loop)
				waiter_read(loop->waiter, events[i].data.ptr);
		}
		loop_look(loop);
		MHD_run(loop->daemon);
	}
	return NULL;
}

/* Serve the clients of a daemon, which is the loop's from now on.  False if the system refuses. */
bool
loop_start(Loop *loop, struct MHD_Daemon *daemon)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);

	loop->daemon = daemon;
	pthread_mutex_lock(&loop->lock);
	loop->started = info != NULL && loop_watch(loop, info->epoll_fd, loop) &&
					pthread_create(&loop->thread, NULL, loop_run, loop) == 0;
	pthread_mutex_unlock(&loop->lock);
	return loop->started;
}

/* Take no more connections. */
void
loop_drain(Loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->drain = true;
	loop_wake(loop);
	while (!loop->is_drained)
		pthread_cond_wait(&loop->drained, &loop->lock);
	pthread_mutex_unlock(&loop->lock);
}

static void
loop_end(Loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->stop = true;
	loop_wake(loop);
	pthread_mutex_unlock(&loop->lock);
	pthread_join(loop->thread, NULL);
}

/* End the thread, and the connections of its clients.  None of their requests runs. */
void
loop_free(Loop *loop)
{
	if (loop->started)
		loop_end(loop);
	if (loop->daemon != NULL)
		MHD_stop_daemon(loop->daemon);
	if (loop->waiter != NULL)
		waiter_free(loop->waiter);
	if (loop->wake >= 0)
		close(loop->wake);
	if (loop->epoll >= 0)
		close(loop->epoll);
	pthread_cond_destroy(&loop->drained);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
}
