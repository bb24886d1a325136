/*
 * pool.c
 *	  Threads with a connection to Postgres each, and the queue of requests that they serve.
 *
 * The first request in the queue is the one that waits longest, also one that was put back, since
 * it keeps the moment from which it waits.
 *
 * There are two pools: of the primary, and of a standby, if there is one to read from.  A standby
 * gives answers, and nothing else: a request that it cannot answer, for whatever reason, is the
 * primary's, at once.
 */
#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "clock.h"
#include "config.h"
#include "late.h"
#include "log.h"
#include "metrics.h"
#include "outcome.h"
#include "statement.h"

/* A statement is sent again so often, with these pauses, in milliseconds. */
#define MAX_REPEATS 3
#define MIN_PAUSE 5
#define MAX_PAUSE 50
#define MIN_BACK_OFF 50
#define MAX_BACK_OFF 5000

/* A waiter does not write more at once: its other clients would wait meanwhile. */
#define MAX_SIZE_AT_ONCE 65536

/* A waiter looks so far for a connection that it watches already, or for a request of its own, and
 * a request may be passed over for so long for that, in microseconds. */
#define MAX_SEARCH 16
#define MAX_PASSED_OVER 2000

struct Waiter
{
	int epoll;
};

/*
 * A Worker is a thread.  Its connection is that of whoever has the worker: the thread itself, or
 * the waiter that has borrowed it.  A waiter goes on watching the connection until another one or
 * the thread has it: from then on it keeps away, whatever its epoll has told before.
 */
typedef struct Worker
{
	Pool *pool;
	struct Worker *next; /* among those that are idle */
	pthread_t thread;
	pthread_cond_t wake; /* it was given a request, or the pool stops */
	Request *request; /* that it was given */
	Waiter *waiter; /* who watches the connection; or NULL */
	bool borrowed; /* by the waiter */
	Request *running; /* while it is borrowed */
	bool recalled; /* it is not to wait any longer: its connection is old, or the pool stops */
	PGconn *connection;
	unsigned generation;
	bool in_recovery; /* the server, when it was connected to */
	bool prepared; /* the connection has the statement under its name */
	Outcome outcome; /* of its statement */
	int64_t until; /* when nobody waits for it any longer */
	bool begun; /* the statement was sent by a waiter */
	unsigned seed;
} Worker;

struct Pool
{
	const char *server; /* for the log */
	Pool *fallback; /* answers what this one cannot; NULL: then the client is told so */
	pthread_mutex_t lock;
	pthread_cond_t stop; /* the pool stops */
	Worker *idle; /* threads that have a connection and nothing to do; then no request waits */
	Request *first;
	Request **last; /* where the next one is linked */
	PoolState state;
	unsigned generation; /* connections of an earlier one are not used again */
	bool stopping;
	bool unreachable; /* the last attempt to connect failed, of this generation */
	_Atomic int size;
	Worker *workers;
};

static Pool primary = {
	.server = "Postgres",
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.stop = PTHREAD_COND_INITIALIZER,
	.last = &primary.first,
};

static Pool standby = {
	.server = "the standby",
	.fallback = &primary,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.stop = PTHREAD_COND_INITIALIZER,
	.last = &standby.first,
};

/*
 * This is the cluster and database of the primary.  Roles are told to the standby by their OIDs,
 * which would be other roles in another cluster.
 */
static struct
{
	pthread_mutex_t lock;
	bool asked; /* since its connection string is as it is now */
	char text[IDENTITY_SIZE]; /* empty: it did not tell */
} identity = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the pool of the primary, which can do everything. */
Pool *
pool_primary(void)
{
	return &primary;
}

/* Returns the pool of the standby; there is none before it is started. */
Pool *
pool_standby(void)
{
	return &standby;
}

static void
pool_append(Pool *pool, Request *request)
{
	request->next = NULL;
	*pool->last = request;
	pool->last = &request->next;
	pool->state.waiting++;
}

static void
prepend(Pool *pool, Request *request)
{
	request->next = pool->first;
	if (pool->first == NULL)
		pool->last = &request->next;
	pool->first = request;
	pool->state.waiting++;
}

static Request *
take_first(Pool *pool)
{
	Request *request = pool->first;

	pool->first = request->next;
	if (pool->first == NULL)
		pool->last = &pool->first;
	pool->state.waiting--;
	return request;
}

/* Moves a thread to another state, with the lock held. */
static void
pool_move(int *from, int *to)
{
	(*from)--;
	(*to)++;
}

/*
 * Takes, with the lock held, a thread out of those that are idle, if there is one whose connection
 * the waiter watches.  Otherwise it is the one that was at work last, or NULL if none is idle.
 */
static Worker *
take_idle(Pool *pool, const Waiter *waiter)
{
	Worker **link = &pool->idle;
	Worker *worker;

	for (int i = 0; i < MAX_SEARCH && *link != NULL && (*link)->waiter != waiter; i++)
		link = &(*link)->next;
	if (*link == NULL || (*link)->waiter != waiter)
		link = &pool->idle;
	worker = *link;
	if (worker == NULL)
		return NULL;
	*link = worker->next;
	pool_move(&pool->state.idle, &pool->state.busy);
	return worker;
}

/* Lets nobody watch the connection any longer, with the lock held. */
static void
unwatch(Worker *worker)
{
	if (worker->waiter != NULL)
		epoll_ctl(worker->waiter->epoll, EPOLL_CTL_DEL, PQsocket(worker->connection), NULL);
	worker->waiter = NULL;
}

/* Lends the waiter the connection of a thread that was idle, with the lock held. */
static void
borrow(Worker *worker, const Waiter *waiter)
{
	if (worker->waiter != waiter)
		unwatch(worker);
	worker->borrowed = true;
}

/* Lets the waiter watch the connection, with the lock held.  False if the system refuses. */
static bool
pool_watch(Worker *worker, Waiter *waiter)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = worker};

	unwatch(worker);
	if (epoll_ctl(waiter->epoll, EPOLL_CTL_ADD, PQsocket(worker->connection), &event) == 0)
		worker->waiter = waiter;
	return worker->waiter != NULL;
}

/* Gives the worker a request, with the lock held. */
static void
pool_give(Worker *worker, Request *request)
{
	unwatch(worker);
	worker->request = request;
	pthread_cond_signal(&worker->wake);
}

/* Gives the request to a thread that is idle, or lets it wait for one, with the lock held. */
static void
enqueue(Pool *pool, Request *request, bool first)
{
	Worker *worker = pool->stopping ? NULL : take_idle(pool, NULL);

	if (worker != NULL)
		pool_give(worker, request);
	else if (first)
		prepend(pool, request);
	else
		pool_append(pool, request);
}

/* Lets a thread that was busy do what waits, or be idle, with the lock held. */
static void
make_idle(Worker *worker)
{
	Pool *pool = worker->pool;

	if (pool->first != NULL)
	{
		pool_give(worker, take_first(pool));
		return;
	}
	pool_move(&pool->state.busy, &pool->state.idle);
	worker->next = pool->idle;
	pool->idle = worker;
}

/* Returns, with the lock held, whether one of the threads has a connection. */
static bool
is_connected(const Pool *pool)
{
	return pool->state.idle + pool->state.busy > 0;
}

/* Returns the pool for a request that a standby may answer. */
Pool *
pool_for_reads(void)
{
	bool connected;

	pthread_mutex_lock(&standby.lock);
	connected = is_connected(&standby);
	pthread_mutex_unlock(&standby.lock);
	return connected ? &standby : &primary;
}

/* Have another pool answer. */
static void
pass_on(const Pool *pool, Request *request)
{
	metrics_standby_read(false);
	request->attempts = 0;
	pool_submit(pool->fallback, request);
}

/* Returns, with the lock held, whether there is, or will be, somebody to answer. */
static bool
takes_requests(const Pool *pool)
{
	return !pool->stopping && (pool->fallback == NULL || is_connected(pool));
}

/* Let go of a request that is not sent in time, or not any more. */
static void
pool_refuse(const Pool *pool, Request *request)
{
	if (pool->fallback != NULL)
	{
		pass_on(pool, request);
		return;
	}
	metrics_waited(clock_now() - request->queued);
	answer_error(&request->answer, ERROR_UNAVAILABLE, NULL, NULL);
	request->done(request);
}

/*
 * Give the request to a thread.  When it has an answer, or has waited too long, it is done().  It may
 * be so before this returns.
 */
void
pool_submit(Pool *pool, Request *request)
{
	bool refused;

	request->queued = clock_now();
	pthread_mutex_lock(&pool->lock);
	refused = !takes_requests(pool);
	if (!refused)
		enqueue(pool, request, false);
	pthread_mutex_unlock(&pool->lock);
	if (refused)
		pool_refuse(pool, request);
}

/* Takes a request that waits, if its time is over, or if it waits for nothing. */
static Request *
take_expired(Pool *pool, int64_t limit)
{
	Request *request = NULL;

	pthread_mutex_lock(&pool->lock);
	if (pool->first != NULL &&
		(pool->first->queued < limit || (pool->fallback != NULL && !is_connected(pool))))
		request = take_first(pool);
	pthread_mutex_unlock(&pool->lock);
	return request;
}

/* Refuse the requests that have waited too long.  Called often. */
void
pool_expire(Pool *pool)
{
	int64_t limit = clock_now() - clock_of_ms(config_now()->queue_time);
	Request *request;

	while ((request = take_expired(pool, limit)) != NULL)
		pool_refuse(pool, request);
}

static void
forget_identity(void)
{
	pthread_mutex_lock(&identity.lock);
	identity.asked = false;
	*identity.text = '\0';
	pthread_mutex_unlock(&identity.lock);
}

/* Have all threads connect anew, before they serve another request. */
void
pool_reconnect(Pool *pool)
{
	Worker *worker;

	if (pool == &primary)
		forget_identity();
	pthread_mutex_lock(&pool->lock);
	pool->generation++;
	pool->unreachable = false;
	while ((worker = take_idle(pool, NULL)) != NULL)
	{
		worker->recalled = true;
		pthread_cond_signal(&worker->wake);
	}
	pthread_mutex_unlock(&pool->lock);
}

/* Returns what the threads do now. */
PoolState
pool_state(Pool *pool)
{
	PoolState state;

	pthread_mutex_lock(&pool->lock);
	state = pool->state;
	pthread_mutex_unlock(&pool->lock);
	return state;
}

/* Returns whether it has threads. */
bool
pool_is_started(const Pool *pool)
{
	return pool->size > 0;
}

/* Returns the next request, for which a thread waits that is idle or has lent its connection; NULL
 * if it should look after its connection. */
static Request *
pool_await(Worker *worker)
{
	Pool *pool = worker->pool;
	Request *request;

	pthread_mutex_lock(&pool->lock);
	while (worker->request == NULL && !worker->recalled)
		pthread_cond_wait(&worker->wake, &pool->lock);
	request = worker->request;
	worker->request = NULL;
	pthread_mutex_unlock(&pool->lock);
	return request;
}

/* Frees, with the lock held, the connection, which does no more for the request that it had.  It is
 * idle, has the next one, or is the thread's, if it is of no use any longer. */
static void
set_free(Worker *worker)
{
	Pool *pool = worker->pool;

	worker->recalled = pool->stopping || worker->generation != pool->generation;
	if (worker->recalled)
		pthread_cond_signal(&worker->wake);
	else
		make_idle(worker);
}

static Request *
pool_take(Worker *worker)
{
	pthread_mutex_lock(&worker->pool->lock);
	set_free(worker);
	pthread_mutex_unlock(&worker->pool->lock);
	return pool_await(worker);
}

/*
 * Another thread may have a connection; if none has, the request waits until its time is over.  A
 * statement that failed waits anew.
 */
static void
put_back(Pool *pool, Request *request, bool anew)
{
	if (pool->fallback != NULL)
	{
		pass_on(pool, request);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	if (anew)
		request->queued = clock_now();
	enqueue(pool, request, !anew);
	pthread_mutex_unlock(&pool->lock);
}

/* Wait, unless the pool stops. */
static void
pause_for(Pool *pool, int64_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000)
	{
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&pool->lock);
	while (!pool->stopping && pthread_cond_timedwait(&pool->stop, &pool->lock, &until) == 0)
		;
	pthread_mutex_unlock(&pool->lock);
}

/* Say once that the server cannot be reached, and why, and once that it can.  An attempt that began
 * before the settings changed says nothing of the server that they name now. */
static void
pool_report(const Worker *worker, const char *problem)
{
	Pool *pool = worker->pool;
	bool changed;

	pthread_mutex_lock(&pool->lock);
	changed = worker->generation == pool->generation && pool->unreachable != (problem != NULL);
	if (changed)
		pool->unreachable = problem != NULL;
	pthread_mutex_unlock(&pool->lock);
	if (changed && problem != NULL)
		log_message(LEVEL_WARNING, "could not connect to %s: %s", pool->server, problem);
	else if (changed)
		log_message(LEVEL_INFO, "connected to %s", pool->server);
}

/* This is the primary, as far as it has told: a standby of another cluster is not used any more. */
static void
set_identity(const char *text)
{
	bool changed;

	pthread_mutex_lock(&identity.lock);
	changed = identity.asked && *text != '\0' && strcmp(identity.text, text) != 0;
	if (!identity.asked || changed)
		strcpy(identity.text, text);
	identity.asked = true;
	pthread_mutex_unlock(&identity.lock);
	if (changed)
		pool_reconnect(&standby);
}

/* Returns what is wrong with a standby; NULL: nothing is. */
static const char *
check_identity(const char *text)
{
	const char *problem = NULL;

	pthread_mutex_lock(&identity.lock);
	if (*identity.text == '\0')
		problem = "the primary does not tell which cluster it is";
	else if (strcmp(identity.text, text) != 0)
		problem = "it is not the same database, or not a standby of the same cluster";
	pthread_mutex_unlock(&identity.lock);
	return problem;
}

static bool
is_identity_asked(void)
{
	bool asked;

	pthread_mutex_lock(&identity.lock);
	asked = identity.asked;
	pthread_mutex_unlock(&identity.lock);
	return asked;
}

/* The connection goes on without a prepared statement, and so do others when they find out. */
static void
forget_prepared(Worker *worker)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	worker->prepared = false;
	if (!atomic_flag_test_and_set(&told))
		log_message(LEVEL_WARNING, "a pooler in front of Postgres loses prepared statements: the "
								   "statement is sent with each request (see \"prepared\")");
}

/* Returns whether it is the right server, and can be used; what is wrong is to be freed. */
static bool
set_up(Worker *worker, const Config *config, char **problem)
{
	char text[IDENTITY_SIZE];
	const char *wrong = NULL;

	/* nobody asks if there is one server only */
	if (*config->read_database != '\0')
	{
		statement_identity(worker->connection, text);
		if (worker->pool == &primary)
			set_identity(text);
		else
			wrong = check_identity(text);
	}
	if (wrong != NULL)
		*problem = strdup(wrong);
	worker->in_recovery = statement_in_recovery(worker->connection);
	worker->prepared = false;
	if (wrong != NULL || !config->prepared)
		return wrong == NULL;
	if (!statement_prepare(worker->connection, &worker->prepared, problem))
		return false;
	if (!worker->prepared)
		forget_prepared(worker);
	return true;
}

/* Have another connection instead of this one, which is returned. */
static PGconn *
take_connection(Worker *worker)
{
	PGconn *connection = worker->connection;

	pthread_mutex_lock(&worker->pool->lock);
	unwatch(worker);
	pthread_mutex_unlock(&worker->pool->lock);
	worker->connection = NULL;
	return connection;
}

static void
pool_disconnect(Worker *worker)
{
	PQfinish(take_connection(worker));
}

/* Connect to the server, by the settings as they are now. */
static bool
try_connect(Worker *worker)
{
	Pool *pool = worker->pool;
	const Config *config = config_now();
	const char *database = pool == &primary ? config->database : config->read_database;
	char *problem;

	if (pool == &standby && (*database == '\0' || !is_identity_asked()))
		return false;
	if (late_count() > pool->size)
	{
		pool_report(worker, "as many sessions go on though their requests have had their time");
		return false;
	}
	worker->connection = statement_connect(database, &problem);
	if (worker->connection != NULL && !set_up(worker, config, &problem))
		pool_disconnect(worker);
	pool_report(worker, worker->connection != NULL || problem != NULL ? problem : "out of memory");
	free(problem);
	return worker->connection != NULL;
}

/* Returns whether the pool does not stop, and which connections are of use. */
static bool
goes_on(Pool *pool, unsigned *generation)
{
	bool on;

	pthread_mutex_lock(&pool->lock);
	on = !pool->stopping;
	*generation = pool->generation;
	pthread_mutex_unlock(&pool->lock);
	return on;
}

static void
count_down(Pool *pool, bool down)
{
	pthread_mutex_lock(&pool->lock);
	if (down)
		pool_move(&pool->state.busy, &pool->state.down);
	else
		pool_move(&pool->state.down, &pool->state.busy);
	pthread_mutex_unlock(&pool->lock);
	/* if it was the last one, nobody waits for it */
	if (down && pool->fallback != NULL)
		pool_expire(pool);
}

/* Have a connection.  False if the pool stops before there is one. */
static bool
connect_worker(Worker *worker)
{
	Pool *pool = worker->pool;
	int64_t back_off = MIN_BACK_OFF;
	unsigned generation;
	bool on = goes_on(pool, &generation);

	if (worker->connection != NULL && worker->generation == generation)
		return on;
	pool_disconnect(worker);
	count_down(pool, true);
	while (on)
	{
		worker->generation = generation;
		if (try_connect(worker))
			break;
		pause_for(pool, back_off / 2 + rand_r(&worker->seed) % back_off / 2);
		back_off = back_off * 2 > MAX_BACK_OFF ? MAX_BACK_OFF : back_off * 2;
		on = goes_on(pool, &generation);
	}
	count_down(pool, false);
	return on;
}

/* Logs what the client is not told. */
static void
log_failure(const Worker *worker, const Request *request)
{
	const Outcome *outcome = &worker->outcome;
	char *problem = outcome->late ? strdup("no answer in time")
								  : statement_problem(worker->connection, outcome->result);
	LogLine line;

	log_begin(&line, LEVEL_WARNING, "statement_failed");
	log_text(&line, "id", request->id);
	log_text(&line, "operation", request->operation == NULL ? NULL : request->operation->name);
	if (worker->pool == &standby)
		log_text(&line, "server", "standby");
	log_text(&line, "sqlstate", PQresultErrorField(outcome->result, PG_DIAG_SQLSTATE));
	log_text(&line, "message", problem);
	log_end(&line);
	free(problem);
}

static Remedy
remedy_of(const Worker *worker, const Request *request)
{
	Failure failure = statement_failure(worker->connection, &worker->outcome);

	failure.standby = worker->pool == &standby;
	failure.kind = request->operation == NULL ? OPERATION_READ : request->operation->kind;
	return error_remedy(&failure);
}

static void
begin_statement(Worker *worker, const Request *request)
{
	int64_t time = clock_of_ms(config_now()->request_time);

	/* the primary may have to answer after a standby */
	worker->until = clock_now() + (worker->pool->fallback == NULL ? time : time / 2);
	statement_begin(worker->connection, worker->prepared, request, &worker->outcome);
}

/* Returns whether nothing is left but to wait for the answer. */
static bool
is_sent(const Outcome *outcome)
{
	return outcome->sent && !outcome->unsent;
}

/* Takes the answer, which is there. */
static void
take_result(Worker *worker, Request *request)
{
	request->from_standby = worker->pool == &standby;
	if (request->from_standby)
		metrics_standby_read(true);
	outcome_result(request, worker->outcome.result);
}

/* Run the statement once, or go on with it.  Whether the request has its answer, or is back in the
 * queue. */
static bool
try_request(Worker *worker, Request *request)
{
	Outcome *outcome = &worker->outcome;
	Remedy remedy;
	bool again;

	if (!worker->begun)
		begin_statement(worker, request);
	worker->begun = false;
	if (outcome->sent)
		outcome->late = !statement_wait(worker->connection, worker->until, outcome);
	if (outcome->done)
	{
		take_result(worker, request);
		if (outcome->swollen)
			pool_disconnect(worker);
		request->done(request);
		return true;
	}
	remedy = remedy_of(worker, request);
	again = remedy.repeat && request->attempts++ < MAX_REPEATS;
	if (!remedy.tells && log_wants(LEVEL_WARNING))
		log_failure(worker, request);
	if (!again && !remedy.elsewhere)
		outcome_failure(request, &remedy, outcome->result);
	PQclear(outcome->result);
	if (remedy.unprepared)
		forget_prepared(worker);
	if (outcome->late)
		late_add(take_connection(worker), request->caller.key_id);
	else if (remedy.reconnect || outcome->swollen || PQstatus(worker->connection) != CONNECTION_OK)
		pool_disconnect(worker);
	if (remedy.elsewhere)
	{
		pass_on(worker->pool, request);
		return true;
	}
	if (!again)
	{
		request->done(request);
		return true;
	}
	metrics_repeated();
	if (remedy.pause)
		pause_for(worker->pool, MIN_PAUSE + rand_r(&worker->seed) % (MAX_PAUSE - MIN_PAUSE));
	if (worker->connection != NULL)
		return false;
	put_back(worker->pool, request, true);
	return true;
}

/* Returns whether the server is what it was, as far as it has told. */
static bool
is_unchanged(const Worker *worker)
{
	return worker->pool->fallback == NULL ||
		   worker->in_recovery == statement_in_recovery(worker->connection);
}

/*
 * Returns whether the connection is there, and as the settings say.  A standby that was promoted,
 * or a primary that became one, is connected to again: libpq knows which of several hosts is meant.
 */
static bool
is_usable(const Worker *worker)
{
	unsigned generation;

	goes_on(worker->pool, &generation);
	return worker->generation == generation && statement_is_alive(worker->connection) &&
		   is_unchanged(worker);
}

static void
pool_serve(Worker *worker, Request *request)
{
	if (!worker->begun && !is_usable(worker))
	{
		pool_disconnect(worker);
		put_back(worker->pool, request, false);
		return;
	}
	if (request->attempts == 0 && !worker->begun)
		metrics_waited(clock_now() - request->queued);
	while (!try_request(worker, request))
		;
}

/* Answer what has come to its end, but for failures: the thread knows what to do about them. */
static bool
answer_outcome(Request *request, Worker *worker)
{
	Outcome *outcome = &worker->outcome;
	Remedy remedy;

	if (outcome->swollen)
		return false;
	if (outcome->done)
	{
		take_result(worker, request);
		return true;
	}
	remedy = remedy_of(worker, request);
	if (!remedy.tells || remedy.elsewhere || PQstatus(worker->connection) != CONNECTION_OK)
		return false;
	outcome_told(request, remedy.error, outcome->result);
	PQclear(outcome->result);
	return true;
}

/* Makes one who waits for statements by this epoll.  NULL without memory. */
Waiter *
waiter_new(int epoll)
{
	Waiter *waiter = malloc(sizeof(*waiter));

	if (waiter != NULL)
		waiter->epoll = epoll;
	return waiter;
}

/* Hands over to the thread what a waiter has begun, or has not been able to begin. */
static void
hand_over(Worker *worker, bool begun)
{
	Request *request = worker->running;

	pthread_mutex_lock(&worker->pool->lock);
	worker->begun = begun;
	worker->running = NULL;
	worker->borrowed = false;
	pool_give(worker, request);
	pthread_mutex_unlock(&worker->pool->lock);
}

/* Have the connection watched by the waiter that has borrowed it.  False if it is of no use. */
static bool
prepare(Worker *worker, Waiter *waiter)
{
	Pool *pool = worker->pool;
	bool current, watched;

	pthread_mutex_lock(&pool->lock);
	current = worker->generation == pool->generation;
	watched = worker->waiter == waiter;
	pthread_mutex_unlock(&pool->lock);
	/* where one is watched it would have been told that something has come */
	if (!current || watched)
		return current && is_unchanged(worker);
	if (!is_usable(worker))
		return false;
	pthread_mutex_lock(&pool->lock);
	watched = pool_watch(worker, waiter);
	pthread_mutex_unlock(&pool->lock);
	return watched;
}

/* Send the request's statement over the connection that the waiter has borrowed. */
static void
pool_begin(Worker *worker, Waiter *waiter, Request *request)
{
	worker->running = request;
	if (!prepare(worker, waiter))
	{
		hand_over(worker, false);
		return;
	}
	if (request->attempts == 0)
		metrics_waited(clock_now() - request->queued);
	begin_statement(worker, request);
	if (!is_sent(&worker->outcome))
		hand_over(worker, true);
}

/*
 * Have the request's statement sent; waiter_read() is to be called when its answer comes.  When the
 * request has an answer, or has waited too long, it is done().  Any thread may do it.
 */
void
waiter_submit(Pool *pool, Waiter *waiter, Request *request)
{
	Worker *worker = NULL;
	bool refused;

	if (request->body.size > MAX_SIZE_AT_ONCE)
	{
		pool_submit(pool, request);
		return;
	}
	request->waiter = waiter;
	request->queued = clock_now();
	pthread_mutex_lock(&pool->lock);
	refused = !takes_requests(pool);
	if (!refused)
		worker = take_idle(pool, waiter);
	if (worker != NULL)
		borrow(worker, waiter);
	else if (!refused)
		pool_append(pool, request);
	pthread_mutex_unlock(&pool->lock);
	if (refused)
		pool_refuse(pool, request);
	else if (worker != NULL)
		pool_begin(worker, waiter, request);
}

/*
 * Takes, with the lock held, the next request for a connection that the waiter has.  It is the one
 * that waits longest, or one of its own if that has not waited for long: others' answers take a way
 * more.  NULL if none waits, or if the next one is for a thread.
 */
static Request *
take_for(Pool *pool, const Waiter *waiter)
{
	Request *before = NULL;
	Request *request = pool->first;

	if (request == NULL || request->waiter == NULL)
		return NULL;
	if (clock_now() - request->queued < MAX_PASSED_OVER)
	{
		for (int i = 0; i < MAX_SEARCH && request != NULL && request->waiter != waiter; i++)
		{
			before = request;
			request = request->next;
		}
	}
	if (before == NULL || request == NULL || request->waiter != waiter)
		return take_first(pool);
	before->next = request->next;
	if (before->next == NULL)
		pool->last = &before->next;
	pool->state.waiting--;
	return request;
}

/* The statement has come to its end: send the next one, or give the connection back. */
static void
go_on(Worker *worker, Waiter *waiter)
{
	Pool *pool = worker->pool;
	Request *request = NULL;

	worker->running = NULL;
	pthread_mutex_lock(&pool->lock);
	if (!pool->stopping && worker->generation == pool->generation)
		request = take_for(pool, waiter);
	if (request == NULL)
	{
		worker->borrowed = false;
		set_free(worker);
	}
	pthread_mutex_unlock(&pool->lock);
	if (request != NULL)
		pool_begin(worker, waiter, request);
}

/* Returns whether the waiter has borrowed the connection.  What comes over one that is idle is
 * looked at by the next who has it. */
static bool
is_borrowed(Worker *worker, const Waiter *waiter)
{
	bool borrowed;

	pthread_mutex_lock(&worker->pool->lock);
	borrowed = worker->waiter == waiter && worker->borrowed;
	if (worker->waiter == waiter && !borrowed)
		unwatch(worker);
	pthread_mutex_unlock(&worker->pool->lock);
	return borrowed;
}

/* Takes what the epoll has told of a connection.  Called by the waiter's own thread only. */
void
waiter_read(Waiter *waiter, void *data)
{
	Worker *worker = data;
	Request *request;

	if (!is_borrowed(worker, waiter) || !statement_read(worker->connection, &worker->outcome))
		return;
	request = worker->running;
	if (!answer_outcome(request, worker))
	{
		hand_over(worker, true);
		return;
	}
	/* the server works while the answer is written */
	go_on(worker, waiter);
	request->done(request);
}

/*
 * Returns a connection that the waiter has borrowed, for whose statement nobody waits any longer.
 */
static Worker *
find_late(Pool *pool, const Waiter *waiter, int64_t now)
{
	Worker *late = NULL;

	pthread_mutex_lock(&pool->lock);
	for (int i = 0; i < pool->size && late == NULL; i++)
	{
		Worker *worker = &pool->workers[i];

		if (worker->waiter == waiter && worker->borrowed && worker->until < now)
			late = worker;
	}
	pthread_mutex_unlock(&pool->lock);
	return late;
}

/* Give up statements that have had their time.  Called often, by the waiter's own thread. */
void
waiter_look(Waiter *waiter, int64_t now)
{
	Worker *worker;

	while ((worker = find_late(&standby, waiter, now)) != NULL ||
		   (worker = find_late(&primary, waiter, now)) != NULL)
		hand_over(worker, true);
}

static void
unwatch_all(Pool *pool, const Waiter *waiter)
{
	pthread_mutex_lock(&pool->lock);
	for (int i = 0; i < pool->size; i++)
	{
		if (pool->workers[i].waiter == waiter)
			unwatch(&pool->workers[i]);
	}
	pthread_mutex_unlock(&pool->lock);
}

/* Its thread has ended.  What it had begun for others' requests is the threads'. */
void
waiter_free(Waiter *waiter)
{
	waiter_look(waiter, INT64_MAX);
	unwatch_all(&standby, waiter);
	unwatch_all(&primary, waiter);
	free(waiter);
}

/* Send the statement for a waiter, who reads the answer.  False if it is the thread that goes on. */
static bool
lend(Worker *worker, Request *request)
{
	Pool *pool = worker->pool;
	bool lent;

	if (request->waiter == NULL || worker->begun || !is_usable(worker))
		return false;
	if (request->attempts == 0)
		metrics_waited(clock_now() - request->queued);
	begin_statement(worker, request);
	worker->begun = true;
	if (!is_sent(&worker->outcome))
		return false;
	pthread_mutex_lock(&pool->lock);
	worker->running = request;
	worker->recalled = false;
	worker->borrowed = lent = pool_watch(worker, request->waiter);
	worker->begun = !lent;
	pthread_mutex_unlock(&pool->lock);
	return lent;
}

static void *
run_worker(void *arg)
{
	Worker *worker = arg;

	while (connect_worker(worker))
	{
		Request *request = pool_take(worker);

		while (request != NULL && lend(worker, request))
			request = pool_await(worker);
		if (request != NULL)
			pool_serve(worker, request);
	}
	pool_disconnect(worker);
	return NULL;
}

static bool
start_worker(Pool *pool, Worker *worker)
{
	bool started;

	worker->pool = pool;
	pthread_cond_init(&worker->wake, NULL);
	worker->seed = (unsigned) (uintptr_t) worker ^ (unsigned) clock_now();
	pthread_mutex_lock(&pool->lock);
	started = pthread_create(&worker->thread, NULL, run_worker, worker) == 0;
	if (started)
		pool->state.busy++;
	pthread_mutex_unlock(&pool->lock);
	return started;
}

/* Start the threads, without waiting for Postgres.  False if the system refuses one. */
bool
pool_start(Pool *pool, int size)
{
	pool->workers = calloc((size_t) size, sizeof(Worker));
	if (pool->workers == NULL)
		return false;
	for (pool->size = 0; pool->size < size; pool->size++)
	{
		if (!start_worker(pool, &pool->workers[pool->size]))
			return false;
	}
	return true;
}

/* Lets no thread wait, with the lock held. */
static void
stop_waiting(Pool *pool)
{
	Worker *worker;

	pool->stopping = true;
	pthread_cond_broadcast(&pool->stop);
	while ((worker = take_idle(pool, NULL)) != NULL)
	{
		worker->recalled = true;
		pthread_cond_signal(&worker->wake);
	}
}

/* Refuse what waits, and end the threads when they have done what they do now. */
void
pool_stop(Pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	stop_waiting(pool);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 0; i < pool->size; i++)
		pthread_join(pool->workers[i].thread, NULL);
	/* waiters may just be told of one: the memory stays */
	pool->size = 0;
	while (pool->first != NULL)
		pool_refuse(pool, take_first(pool));
}
