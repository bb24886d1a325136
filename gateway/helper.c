/*
 * helper.c
 *	  A thread for what may block, so that no loop has to.
 */
#include "helper.h"

#include <pthread.h>
#include <stdlib.h>

struct Helper
{
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	Job *first;
	Job **last;
	bool stop;
};

/* Returns the next job, which the helper waits for; NULL: it shall end. */
static Job *
take_job(Helper *helper)
{
	Job *job = NULL;

	pthread_mutex_lock(&helper->lock);
	while (helper->first == NULL && !helper->stop)
		pthread_cond_wait(&helper->wake, &helper->lock);
	if (!helper->stop)
	{
		job = helper->first;
		helper->first = job->next;
		if (helper->first == NULL)
			helper->last = &helper->first;
	}
	pthread_mutex_unlock(&helper->lock);
	return job;
}

static void *
helper_run(void *arg)
{
	Job *job;

	while ((job = take_job(arg)) != NULL)
	{
		job->work(job);
		loop_post(job);
	}
	return NULL;
}

static void
helper_free(Helper *helper)
{
	pthread_cond_destroy(&helper->wake);
	pthread_mutex_destroy(&helper->lock);
	free(helper);
}

/* Starts a thread.  NULL if the system refuses. */
Helper *
helper_start(void)
{
	Helper *helper = calloc(1, sizeof(*helper));

	if (helper == NULL)
		return NULL;
	helper->last = &helper->first;
	pthread_mutex_init(&helper->lock, NULL);
	pthread_cond_init(&helper->wake, NULL);
	if (pthread_create(&helper->thread, NULL, helper_run, helper) == 0)
		return helper;
	helper_free(helper);
	return NULL;
}

/* Have the helper do the job's work, behind what it has to do already, and its loop go on then. */
void
helper_do(Helper *helper, Job *job)
{
	pthread_mutex_lock(&helper->lock);
	job->next = NULL;
	*helper->last = job;
	helper->last = &job->next;
	pthread_cond_signal(&helper->wake);
	pthread_mutex_unlock(&helper->lock);
}

/* End the thread when it has done what it does now; nobody gets to know of the other jobs. */
void
helper_stop(Helper *helper)
{
	pthread_mutex_lock(&helper->lock);
	helper->stop = true;
	pthread_cond_signal(&helper->wake);
	pthread_mutex_unlock(&helper->lock);
	pthread_join(helper->thread, NULL);
	helper_free(helper);
}
