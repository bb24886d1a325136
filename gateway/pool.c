/*
 * pool.c
 *	  Threads with a connection to Postgres each, and the queue of requests that they serve.
 *
 * The first request in the queue is the one that waits longest, also one that was put back, since
 * it keeps the moment from which it waits.
 */
#include "pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "config.h"
#include "json.h"
#include "log.h"
#include "member.h"
#include "metrics.h"
#include "statement.h"
#include "text.h"

/* How often a statement is sent again, and the pauses, in milliseconds. */
#define MAX_REPEATS 3
#define MIN_PAUSE 5
#define MAX_PAUSE 50
#define MIN_BACK_OFF 50
#define MAX_BACK_OFF 5000

/* How long a borrower waits, in microseconds, and what he does not write: others wait for him. */
#define PATIENCE 2000
#define MAX_SIZE_AT_ONCE 65536

#define CONFLICT_MESSAGE "Transaction is ongoing for the item"
#define INTERNAL_MESSAGE "Internal server error"

/* A thread.  Its connection is that of whoever has the worker: the thread itself, or a borrower. */
typedef struct Worker
{
	struct Worker *next; /* among those that are idle */
	pthread_t thread;
	pthread_cond_t wake; /* it was given a request, or the pool stops */
	Request *request; /* that it was given */
	bool borrowed;
	PGconn *connection;
	unsigned generation;
	bool prepared; /* the connection has the statement under its name */
	Outcome outcome; /* of its statement */
	int64_t until; /* when nobody waits for it any longer */
	bool begun; /* the statement was sent by a borrower */
	unsigned seed;
} Worker;

static struct
{
	pthread_mutex_t lock;
	pthread_cond_t stop; /* the pool stops */
	Worker *idle; /* threads that have a connection and nothing to do; then no request waits */
	Request *first;
	Request **last; /* where the next one is linked */
	PoolState state;
	unsigned generation; /* connections of an earlier one are not used again */
	bool stopping;
	bool unreachable; /* the last attempt to connect failed */
	_Atomic int luck; /* of borrowers: 0 if they waited in vain */
	int size;
	Worker *workers;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .stop = PTHREAD_COND_INITIALIZER, .last = &pool.first};

static void
append(Request *request)
{
	request->next = NULL;
	*pool.last = request;
	pool.last = &request->next;
	pool.state.waiting++;
}

static void
prepend(Request *request)
{
	request->next = pool.first;
	if (pool.first == NULL)
		pool.last = &request->next;
	pool.first = request;
	pool.state.waiting++;
}

static Request *
take_first(void)
{
	Request *request = pool.first;

	pool.first = request->next;
	if (pool.first == NULL)
		pool.last = &pool.first;
	pool.state.waiting--;
	return request;
}

/* A thread is in another state; with the lock held. */
static void
move(int *from, int *to)
{
	(*from)--;
	(*to)++;
}

/* With the lock held: take a thread out of those that are idle.  NULL if none is. */
static Worker *
take_idle(void)
{
	Worker *worker = pool.idle;

	if (worker == NULL)
		return NULL;
	pool.idle = worker->next;
	move(&pool.state.idle, &pool.state.busy);
	return worker;
}

static void
give(Worker *worker, Request *request)
{
	worker->request = request;
	pthread_cond_signal(&worker->wake);
}

/* With the lock held: give the request to a thread that is idle, or have it wait for one. */
static void
enqueue(Request *request, bool first)
{
	Worker *worker = pool.stopping ? NULL : take_idle();

	if (worker != NULL)
		give(worker, request);
	else if (first)
		prepend(request);
	else
		append(request);
}

/* With the lock held: a thread that was busy does what waits, or is idle. */
static void
make_idle(Worker *worker)
{
	if (pool.first != NULL)
	{
		give(worker, take_first());
		return;
	}
	move(&pool.state.busy, &pool.state.idle);
	worker->next = pool.idle;
	pool.idle = worker;
}

static void
hand_over(Request *request)
{
	Worker *worker = request->worker;

	request->worker = NULL;
	worker->borrowed = false;
	give(worker, request);
}

/*
 * Give the request to a thread.  When it has an answer, or has waited too long, it is done().  It may
 * be so before this returns.
 */
void
pool_submit(Request *request)
{
	bool refused = false;

	request->queued = clock_now();
	pthread_mutex_lock(&pool.lock);
	if (request->worker != NULL)
		hand_over(request);
	else if (pool.stopping)
		refused = true;
	else
		enqueue(request, false);
	pthread_mutex_unlock(&pool.lock);
	if (!refused)
		return;
	answer_error(&request->answer, ERROR_UNAVAILABLE, NULL, NULL);
	request->done(request);
}

/* Let go of a request that no thread took in time. */
static void
refuse(Request *request)
{
	metrics_waited(clock_now() - request->queued);
	answer_error(&request->answer, ERROR_UNAVAILABLE, NULL, NULL);
	request->done(request);
}

/* Refuse the requests that have waited too long.  Called often. */
void
pool_expire(void)
{
	int64_t limit = clock_now() - clock_of_ms(config_now()->queue_time);
	Request *request;

	do
	{
		request = NULL;
		pthread_mutex_lock(&pool.lock);
		if (pool.first != NULL && pool.first->queued < limit)
			request = take_first();
		pthread_mutex_unlock(&pool.lock);
		if (request != NULL)
			refuse(request);
	} while (request != NULL);
}

/* Have all threads connect anew before their next request. */
void
pool_reconnect(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.generation++;
	pthread_mutex_unlock(&pool.lock);
}

/* What the threads do now. */
PoolState
pool_state(void)
{
	PoolState state;

	pthread_mutex_lock(&pool.lock);
	state = pool.state;
	pthread_mutex_unlock(&pool.lock);
	return state;
}

/* The next request, for which the thread waits; NULL when the pool stops. */
static Request *
take(Worker *worker)
{
	Request *request;

	pthread_mutex_lock(&pool.lock);
	if (!pool.stopping)
		make_idle(worker);
	while (worker->request == NULL && (worker->borrowed || !pool.stopping))
		pthread_cond_wait(&worker->wake, &pool.lock);
	request = worker->request;
	worker->request = NULL;
	pthread_mutex_unlock(&pool.lock);
	return request;
}

/*
 * Another thread may have a connection; if none has, the request waits until its time is over.  A
 * statement that failed waits anew.
 */
static void
put_back(Request *request, bool anew)
{
	pthread_mutex_lock(&pool.lock);
	if (anew)
		request->queued = clock_now();
	enqueue(request, !anew);
	pthread_mutex_unlock(&pool.lock);
}

/* Wait, unless the pool stops. */
static void
pause_for(int64_t ms)
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
	pthread_mutex_lock(&pool.lock);
	while (!pool.stopping && pthread_cond_timedwait(&pool.stop, &pool.lock, &until) == 0)
		;
	pthread_mutex_unlock(&pool.lock);
}

/* Say once that Postgres cannot be reached, and why, and once that it can. */
static void
report(const char *problem)
{
	bool changed;

	pthread_mutex_lock(&pool.lock);
	changed = pool.unreachable != (problem != NULL);
	pool.unreachable = problem != NULL;
	pthread_mutex_unlock(&pool.lock);
	if (changed && problem != NULL)
		log_message(LEVEL_WARNING, "could not connect to Postgres: %s", problem);
	else if (changed)
		log_message(LEVEL_INFO, "connected to Postgres");
}

static bool
try_connect(Worker *worker)
{
	char *problem;

	worker->connection = statement_connect(&worker->prepared, &problem);
	report(worker->connection != NULL || problem != NULL ? problem : "out of memory");
	free(problem);
	return worker->connection != NULL;
}

/* Whether the pool does not stop, and which connections are of use. */
static bool
goes_on(unsigned *generation)
{
	bool on;

	pthread_mutex_lock(&pool.lock);
	on = !pool.stopping;
	*generation = pool.generation;
	pthread_mutex_unlock(&pool.lock);
	return on;
}

static void
disconnect(Worker *worker)
{
	PQfinish(worker->connection);
	worker->connection = NULL;
}

static void
count_down(bool down)
{
	pthread_mutex_lock(&pool.lock);
	if (down)
		move(&pool.state.busy, &pool.state.down);
	else
		move(&pool.state.down, &pool.state.busy);
	pthread_mutex_unlock(&pool.lock);
}

/* Have a connection.  False if the pool stops before there is one. */
static bool
connect_worker(Worker *worker)
{
	int64_t back_off = MIN_BACK_OFF;
	unsigned generation;
	bool on = goes_on(&generation);

	if (worker->connection != NULL && worker->generation == generation)
		return on;
	disconnect(worker);
	count_down(true);
	while (on)
	{
		worker->generation = generation;
		if (try_connect(worker))
			break;
		pause_for(back_off / 2 + rand_r(&worker->seed) % back_off / 2);
		back_off = back_off * 2 > MAX_BACK_OFF ? MAX_BACK_OFF : back_off * 2;
		on = goes_on(&generation);
	}
	count_down(false);
	return on;
}

static void
clear_result(void *result)
{
	PQclear(result);
}

/* The one row that there is. */
static void
answer_result(Request *request, PGresult *result)
{
	if (request->operation == NULL)
	{
		PQclear(result);
		answer_constant(&request->answer, 200, "text/plain", "ready\n");
	}
	else if (PQntuples(result) == 1 && PQnfields(result) == 1 && !PQgetisnull(result, 0, 0))
		answer_owned(&request->answer, 200, PQgetvalue(result, 0, 0),
					 (size_t) PQgetlength(result, 0, 0), result, clear_result);
	else
	{
		PQclear(result);
		answer_error(&request->answer, ERROR_INTERNAL, INTERNAL_MESSAGE, NULL);
	}
}

/* All actions of a transaction met another: which one did, Postgres does not say. */
static void
answer_conflict(Request *request)
{
	const char *items = request->operation->items;
	size_t n = member_elements(member_find(request->body.data, request->body.size, items));
	Text message = {0};
	Text members = {0};

	text_add_strings(&message,
					 "Transaction cancelled, please refer cancellation reasons for specific "
					 "reasons [",
					 NULL);
	text_add_strings(&members, "\"CancellationReasons\":[", NULL);
	for (size_t i = 0; i < n || i == 0; i++)
	{
		text_add_strings(&message, i == 0 ? "" : ", ", "TransactionConflict", NULL);
		text_add_strings(&members, i == 0 ? "" : ",",
						 "{\"Code\":\"TransactionConflict\",\"Message\":\"" CONFLICT_MESSAGE "\"}",
						 NULL);
	}
	text_add_strings(&message, "]", NULL);
	text_add_strings(&members, "]", NULL);
	if (message.failed || members.failed)
		answer_error(&request->answer, ERROR_INTERNAL, INTERNAL_MESSAGE, NULL);
	else
		answer_error(&request->answer, ERROR_TRANSACTION_CANCELED, message.data, members.data);
	text_free(&message);
	text_free(&members);
}

/*
 * An error of the extension's, in its own words.  DETAIL with data is a JSON object.  Code of a
 * table's owner may raise the same error with anything in it, so it is looked at.
 */
static void
answer_told(Request *request, ErrorKind error, const PGresult *result)
{
	const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
	size_t length = detail == NULL ? 0 : strlen(detail);
	char *members = NULL;

	if (error_has_members(error) && length > 2 && detail[0] == '{' && detail[length - 1] == '}' &&
		json_valid(detail, length))
		members = strndup(detail + 1, length - 2);
	answer_error(&request->answer, error, PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY),
				 members);
	free(members);
}

static void
answer_failure(Request *request, const Remedy *remedy, const PGresult *result)
{
	if (remedy->tells)
		answer_told(request, remedy->error, result);
	else if (remedy->conflict)
		answer_conflict(request);
	else if (remedy->error == ERROR_TRANSACTION_CONFLICT)
		answer_error(&request->answer, remedy->error, CONFLICT_MESSAGE, NULL);
	else if (remedy->error == ERROR_INTERNAL)
		answer_error(&request->answer, remedy->error, INTERNAL_MESSAGE, NULL);
	else
		answer_error(&request->answer, remedy->error, NULL, NULL);
}

/* What the client is not told. */
static void
log_failure(const Request *request, const Outcome *outcome, const PGconn *connection)
{
	char *problem = outcome->late ? strdup("no answer in time")
								  : statement_problem(connection, outcome->result);
	LogLine line;

	log_begin(&line, LEVEL_WARNING, "statement_failed");
	log_text(&line, "id", request->id);
	log_text(&line, "operation", request->operation == NULL ? NULL : request->operation->name);
	log_text(&line, "sqlstate", PQresultErrorField(outcome->result, PG_DIAG_SQLSTATE));
	log_text(&line, "message", problem);
	log_end(&line);
	free(problem);
}

static Remedy
remedy_of(const Worker *worker, const Request *request)
{
	Failure failure = statement_failure(worker->connection, &worker->outcome);

	if (worker->outcome.late)
		return (Remedy){.error = ERROR_INTERNAL, .reconnect = true};
	failure.kind = request->operation == NULL ? OPERATION_READ : request->operation->kind;
	return error_remedy(&failure);
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

static void
begin_statement(Worker *worker, const Request *request)
{
	worker->until = clock_now() + clock_of_ms(config_now()->request_time);
	statement_begin(worker->connection, worker->prepared, request, &worker->outcome);
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
		answer_result(request, outcome->result);
		request->done(request);
		return true;
	}
	remedy = remedy_of(worker, request);
	again = remedy.repeat && request->attempts++ < MAX_REPEATS;
	if (!remedy.tells && log_wants(LEVEL_WARNING))
		log_failure(request, outcome, worker->connection);
	if (!again)
		answer_failure(request, &remedy, outcome->result);
	PQclear(outcome->result);
	if (remedy.unprepared)
		forget_prepared(worker);
	if (remedy.reconnect || PQstatus(worker->connection) != CONNECTION_OK)
		disconnect(worker);
	if (!again)
	{
		request->done(request);
		return true;
	}
	metrics_repeated();
	if (remedy.pause)
		pause_for(MIN_PAUSE + rand_r(&worker->seed) % (MAX_PAUSE - MIN_PAUSE));
	if (worker->connection != NULL)
		return false;
	put_back(request, true);
	return true;
}

static bool
is_current(const Worker *worker)
{
	unsigned generation;

	goes_on(&generation);
	return worker->generation == generation;
}

static void
serve(Worker *worker, Request *request)
{
	if (!worker->begun && (!is_current(worker) || !statement_is_alive(worker->connection)))
	{
		disconnect(worker);
		put_back(request, false);
		return;
	}
	if (request->attempts == 0 && !worker->begun)
		metrics_waited(clock_now() - request->queued);
	while (!try_request(worker, request))
		;
}

/* Borrow the connection of a thread that is idle.  False if there is none. */
static bool
borrow(Request *request)
{
	pthread_mutex_lock(&pool.lock);
	request->worker = pool.stopping ? NULL : take_idle();
	if (request->worker != NULL)
		request->worker->borrowed = true;
	pthread_mutex_unlock(&pool.lock);
	return request->worker != NULL;
}

static void
give_back(Request *request)
{
	Worker *worker = request->worker;

	request->worker = NULL;
	pthread_mutex_lock(&pool.lock);
	worker->borrowed = false;
	make_idle(worker);
	if (pool.stopping)
		pthread_cond_signal(&worker->wake);
	pthread_mutex_unlock(&pool.lock);
}

/* Answer what has come to its end, but for failures: the thread knows what to do about them. */
static bool
answer_outcome(Request *request, Worker *worker)
{
	Outcome *outcome = &worker->outcome;
	Remedy remedy;

	if (outcome->done)
	{
		answer_result(request, outcome->result);
		return true;
	}
	remedy = remedy_of(worker, request);
	if (!remedy.tells || PQstatus(worker->connection) != CONNECTION_OK)
		return false;
	answer_told(request, remedy.error, outcome->result);
	PQclear(outcome->result);
	return true;
}

/*
 * Whether statements are fast at present.  Who waits in vain keeps other clients of his thread
 * waiting too, so a wait in vain counts as much as eight that were short; while statements are slow
 * one in sixteen is tried.
 */
static bool
are_fast(void)
{
	static _Atomic unsigned tries;

	return pool.luck > 0 || tries++ % 16 == 0;
}

static void
count_wait(bool in_vain)
{
	int luck = pool.luck;

	if (in_vain)
		pool.luck = luck > 8 ? luck - 8 : 0;
	else if (luck < 32)
		pool.luck = luck + 1;
}

/*
 * Have the answer at once, if a thread is idle and the statement is as fast as most are.  Otherwise
 * pool_submit() follows: the thread goes on where this stopped.
 */
bool
pool_try(Request *request)
{
	Worker *worker;
	Outcome *outcome;
	bool ended;

	if (request->body.size > MAX_SIZE_AT_ONCE || !are_fast() || !borrow(request))
		return false;
	worker = request->worker;
	outcome = &worker->outcome;
	if (!is_current(worker) || !statement_is_alive(worker->connection))
		return false;
	metrics_waited(0);
	begin_statement(worker, request);
	worker->begun = true;
	ended = outcome->sent && statement_wait(worker->connection, clock_now() + PATIENCE, outcome);
	count_wait(!ended);
	if (!ended || !answer_outcome(request, worker))
		return false;
	worker->begun = false;
	give_back(request);
	return true;
}

static void *
run_worker(void *arg)
{
	Worker *worker = arg;
	Request *request;

	while (connect_worker(worker) && (request = take(worker)) != NULL)
		serve(worker, request);
	disconnect(worker);
	return NULL;
}

static bool
start_worker(Worker *worker)
{
	pthread_cond_init(&worker->wake, NULL);
	worker->seed = (unsigned) (uintptr_t) worker ^ (unsigned) clock_now();
	pthread_mutex_lock(&pool.lock);
	pool.state.busy++;
	pthread_mutex_unlock(&pool.lock);
	return pthread_create(&worker->thread, NULL, run_worker, worker) == 0;
}

/* Start the threads, without waiting for Postgres.  False if the system refuses one. */
bool
pool_start(int size)
{
	pool.workers = calloc((size_t) size, sizeof(Worker));
	if (pool.workers == NULL)
		return false;
	for (pool.size = 0; pool.size < size; pool.size++)
	{
		if (!start_worker(&pool.workers[pool.size]))
			return false;
	}
	return true;
}

/* Refuse what waits, and end the threads when they have done what they do now. */
void
pool_stop(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.stopping = true;
	pthread_cond_broadcast(&pool.stop);
	for (int i = 0; i < pool.size; i++)
		pthread_cond_signal(&pool.workers[i].wake);
	pthread_mutex_unlock(&pool.lock);
	for (int i = 0; i < pool.size; i++)
		pthread_join(pool.workers[i].thread, NULL);
	free(pool.workers);
	pool.size = 0;
	while (pool.first != NULL)
		refuse(take_first());
}
