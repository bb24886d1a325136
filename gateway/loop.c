/*
 * loop.c
 *	  A thread that waits for many files at once, and does what each of them has ready.
 *
 * Jobs are done behind what was ready, so that none of them ends what the round still has to tell.
 */
#include "loop.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MAX_EVENTS 64

/* A loop waits no longer for what it is not told. */
#define MAX_PATIENCE_MS 1000

struct Loop
{
	void *owner;
	int epoll;
	int wake; /* an eventfd: there are jobs */
	Watch woken;
	Turn *turns;
	bool stop;
	bool started;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t called;
	Job *first; /* jobs of other threads */
	Job **last;
};

/* A Call is a job whose caller waits for its end. */
typedef struct Call
{
	Job job;
	void (*run)(void *arg);
	void *arg;
	bool over;
} Call;

/* The jobs are looked at in each round anyway. */
static void
ignore_wake(Watch *watch)
{
	(void) watch;
}

/* Makes a loop that does nothing yet.  NULL without memory or files. */
Loop *
loop_new(void *owner)
{
	Loop *loop = calloc(1, sizeof(*loop));

	if (loop == NULL)
		return NULL;
	loop->owner = owner;
	loop->last = &loop->first;
	loop->woken.ready = ignore_wake;
	pthread_mutex_init(&loop->lock, NULL);
	pthread_cond_init(&loop->called, NULL);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loop->epoll >= 0 && loop->wake >= 0 && loop_watch(loop, loop->wake, &loop->woken))
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

/* Have the watch told when the file can be read.  False if the system refuses. */
bool
loop_watch(Loop *loop, int file, Watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, file, &event) == 0;
}

/* Have the watch told, or not any more, when the file can be written, too. */
void
loop_watch_writes(Loop *loop, int file, Watch *watch, bool writes)
{
	struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0), .data.ptr = watch};

	epoll_ctl(loop->epoll, EPOLL_CTL_MOD, file, &event);
}

/* Have nobody told of the file.  The round may tell once more. */
void
loop_unwatch(Loop *loop, int file)
{
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, file, NULL);
}

/* Adds a turn before the others. */
void
loop_add_turn(Loop *loop, Turn *turn)
{
	turn->next = loop->turns;
	loop->turns = turn;
}

/* Removes a turn, but not while one runs. */
void
loop_remove_turn(Loop *loop, Turn *turn)
{
	Turn **link = &loop->turns;

	while (*link != turn)
		link = &(*link)->next;
	*link = turn->next;
}

/* Adds a job, with the lock held, so that the loop is there until the call has ended. */
static void
add_job(Loop *loop, Job *job)
{
	uint64_t one = 1;

	job->next = NULL;
	*loop->last = job;
	loop->last = &job->next;
	/* it fails only where the loop has much to wake for already */
	while (write(loop->wake, &one, sizeof(one)) < 0)
		break;
}

/* Have the job's loop go on with it.  Any thread may say so. */
void
loop_post(Job *job)
{
	pthread_mutex_lock(&job->loop->lock);
	add_job(job->loop, job);
	pthread_mutex_unlock(&job->loop->lock);
}

static void
answer_call(Job *job)
{
	Call *call = (Call *) job;
	Loop *loop = job->loop;

	call->run(call->arg);
	pthread_mutex_lock(&loop->lock);
	call->over = true;
	pthread_cond_broadcast(&loop->called);
	pthread_mutex_unlock(&loop->lock);
}

/* Have the loop's thread run a function, and wait until it has.  Another thread says so. */
void
loop_call(Loop *loop, void (*run)(void *arg), void *arg)
{
	Call call = {.job = {.loop = loop, .done = answer_call}, .run = run, .arg = arg};

	pthread_mutex_lock(&loop->lock);
	add_job(loop, &call.job);
	while (!call.over)
		pthread_cond_wait(&loop->called, &loop->lock);
	pthread_mutex_unlock(&loop->lock);
}

static void
do_jobs(Loop *loop)
{
	uint64_t count;
	Job *job;

	while (read(loop->wake, &count, sizeof(count)) < 0)
		break;
	pthread_mutex_lock(&loop->lock);
	job = loop->first;
	loop->first = NULL;
	loop->last = &loop->first;
	pthread_mutex_unlock(&loop->lock);
	while (job != NULL)
	{
		/* it may be nobody's when it is done */
		Job *next = job->next;

		job->done(job);
		job = next;
	}
}

/* Returns the milliseconds until a turn has to come. */
static int
loop_patience(Loop *loop)
{
	int patience = MAX_PATIENCE_MS;

	for (Turn *turn = loop->turns; turn != NULL && patience > 0; turn = turn->next)
	{
		int ms = turn->patience(turn);

		patience = ms < patience ? ms : patience;
	}
	return patience;
}

static void *
loop_run(void *arg)
{
	Loop *loop = arg;
	struct epoll_event events[MAX_EVENTS];

	while (!loop->stop)
	{
		int n = epoll_wait(loop->epoll, events, MAX_EVENTS, loop_patience(loop));
		bool jobs = false;

		for (int i = 0; i < n; i++)
		{
			Watch *watch = events[i].data.ptr;

			jobs |= watch == &loop->woken;
			watch->ready(watch);
		}
		if (jobs)
			do_jobs(loop);
		for (Turn *turn = loop->turns; turn != NULL; turn = turn->next)
			turn->run(turn);
	}
	return NULL;
}

/* Start the thread.  False if the system refuses. */
bool
loop_start(Loop *loop)
{
	loop->started = pthread_create(&loop->thread, NULL, loop_run, loop) == 0;
	return loop->started;
}

static void
stop_loop(void *arg)
{
	((Loop *) arg)->stop = true;
}

/* End the thread, which has nothing to do any more. */
void
loop_free(Loop *loop)
{
	if (loop->started)
	{
		loop_call(loop, stop_loop, loop);
		pthread_join(loop->thread, NULL);
	}
	if (loop->wake >= 0)
		close(loop->wake);
	if (loop->epoll >= 0)
		close(loop->epoll);
	pthread_cond_destroy(&loop->called);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
}
