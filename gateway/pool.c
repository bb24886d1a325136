/*
 * pool.c
 *	  The loops that serve clients, each with its connections to Postgres, and what waits for them.
 *
 * All of a loop's is done by its own thread.  Each loop has a pool of the primary, one of a standby,
 * if there is one to read from, and one of each node of Citus that has been sent requests.  A standby
 * gives answers, and nothing else: a request that it cannot answer, for whatever reason, is the
 * primary's, at once.  So is one that a node does not know, or did not get.
 */
#include "pool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "clock.h"
#include "late.h"
#include "log.h"
#include "metrics.h"
#include "outcome.h"
#include "position.h"
#include "session.h"
#include "shards.h"

/* A statement is sent again so often, with these pauses, in milliseconds. */
#define MAX_REPEATS 3
#define MIN_PAUSE 5
#define MAX_PAUSE 50

/* So many requests are under way on one connection at most.  More would not be faster: the server has
 * enough to do by then. */
#define MAX_DEPTH 16

/* Where statements usually take longer, in microseconds, others are sent over further connections: to
 * wake a backend costs less than to wait.  Commits that wait for a disk do it together then. */
#define LONG_US 250

/* Nothing is sent behind a statement that takes longer, in milliseconds: it may wait for a lock. */
#define MAX_SHORT_MS 5

/* Nor does anything share a connection with a larger request, in bytes: to send it takes its time, and
 * libpq keeps a buffer for all that is sent at once. */
#define MAX_SHORT_BODY 65536

/* Of the primary's connections this part, rounded up, does what is for a node that is down. */
#define DETOUR_SHARE 4

/* What has had its time is looked for so often, in milliseconds. */
#define LOOK_MS 50

/* A loop has at least so many connections, so that one that waits for a lock leaves others. */
#define MIN_SESSIONS 4

/* A Tenant is an access key with requests that wait, or are under way. */
typedef struct Tenant
{
	struct Tenant *next; /* of all */
	struct Tenant *next_waiting;
	Request *first; /* those that wait, the one that waits longest first */
	Request **last;
	int sessions; /* that it has */
	bool waits;
	char key_id[KEY_ID_SIZE]; /* empty: requests need no signature */
} Tenant;

typedef struct Pool
{
	SessionOwner owner; /* the first member */
	struct Pool *fallback; /* answers what this one cannot; NULL: then the client is told so */
	struct Pool *next; /* of nodes */
	bool reached; /* a node that there has been a connection to */
	int detours; /* requests for a node that the primary does, since there is none any more */
	Tenant *tenants;
	Tenant *first; /* those with requests that wait, in the order of their turns */
	Tenant **last;
	Request *paused; /* that are sent again in a while */
	int waiting; /* tenants */
	int starving; /* of these have no connection */
	int sessions_in[SESSION_STATES];
	int spread; /* a tenant has so many connections before its requests share them */
	int64_t usual[2]; /* how long reads and writes that may share one take, in microseconds */
	int size;
	Session *sessions;
} Pool;

/* Pools are those of one loop. */
typedef struct Pools
{
	Loop *loop;
	Turn turn;
	unsigned seed;
	Pool primary;
	Pool standby;
	Pool *nodes;
} Pools;

static struct
{
	int count;
	Pools *of; /* of each loop */
} pools;

static bool
is_standby(const Pool *pool)
{
	return pool->owner.target == target_standby();
}

static bool
is_node(const Pool *pool)
{
	return pool->fallback != NULL && !is_standby(pool);
}

static TargetFigures *
pool_figures(const Pool *pool)
{
	return target_figures(pool->owner.target);
}

static void
count_waiting(const Pool *pool, int change)
{
	atomic_fetch_add_explicit(&pool_figures(pool)->waiting, change, memory_order_relaxed);
}

static void
count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static bool
is_connected(const Pool *pool)
{
	return pool->sessions_in[SESSION_IDLE] + pool->sessions_in[SESSION_BUSY] > 0;
}

/* Returns the tenant that has the request, or a new one; NULL without memory. */
static Tenant *
find_tenant(Pool *pool, const char *key_id)
{
	Tenant *tenant = pool->tenants;

	while (tenant != NULL && strcmp(tenant->key_id, key_id) != 0)
		tenant = tenant->next;
	if (tenant != NULL)
		return tenant;
	tenant = calloc(1, sizeof(*tenant));
	if (tenant == NULL)
		return NULL;
	strcpy(tenant->key_id, key_id);
	tenant->last = &tenant->first;
	tenant->next = pool->tenants;
	pool->tenants = tenant;
	return tenant;
}

/* Forgets a tenant that has nothing any more. */
static void
leave_tenant(Pool *pool, Tenant *tenant)
{
	Tenant **link = &pool->tenants;

	if (tenant->first != NULL || tenant->sessions > 0)
		return;
	while (*link != tenant)
		link = &(*link)->next;
	*link = tenant->next;
	free(tenant);
}

/* Has the tenant's next request sent when it is its turn. */
static void
append_tenant(Pool *pool, Tenant *tenant)
{
	tenant->next_waiting = NULL;
	tenant->waits = true;
	*pool->last = tenant;
	pool->last = &tenant->next_waiting;
	pool->waiting++;
	pool->starving += tenant->sessions == 0;
}

/* Removes a tenant from those that wait, by what points to it. */
static Tenant *
take_tenant(Pool *pool, Tenant **link)
{
	Tenant *tenant = *link;

	*link = tenant->next_waiting;
	if (*link == NULL)
		pool->last = link;
	tenant->waits = false;
	pool->waiting--;
	pool->starving -= tenant->sessions == 0;
	return tenant;
}

/* Removes the first request of a tenant, which stays until leave_tenant(). */
static Request *
take_request(const Pool *pool, Tenant *tenant)
{
	Request *request = tenant->first;

	tenant->first = request->next;
	if (tenant->first == NULL)
		tenant->last = &tenant->first;
	count_waiting(pool, -1);
	return request;
}

static void pool_submit(Pool *pool, Request *request);

/* The request has its answer. */
static void
pool_finish(Request *request)
{
	if (request->detours != NULL)
		(*request->detours)--;
	request->detours = NULL;
	free(request->node_tables);
	request->node_tables = NULL;
	request->done(request);
}

/* Tells the client to try again. */
static void
refuse(Request *request)
{
	answer_error(&request->answer, ERROR_UNAVAILABLE, NULL, NULL);
	pool_finish(request);
}

/* Have the primary answer.  It asks a node that is down, too: requests for that one may not take all
 * connections from others. */
static void
pass_on(Pool *pool, Request *request)
{
	bool lost = is_node(pool) && pool->reached && !is_connected(pool);

	count(&pool_figures(pool)->elsewhere);
	request->attempts = 0;
	if (lost && pool->detours >= (pool->fallback->size + DETOUR_SHARE - 1) / DETOUR_SHARE)
	{
		refuse(request);
		return;
	}
	if (lost)
	{
		pool->detours++;
		request->detours = &pool->detours;
	}
	pool_submit(pool->fallback, request);
}

/* Let go of a request that is not sent in time, or not any more. */
static void
pool_refuse(Pool *pool, Request *request)
{
	if (is_standby(pool) || (is_node(pool) && !is_connected(pool)))
	{
		pass_on(pool, request);
		return;
	}
	metrics_waited(clock_now() - request->queued);
	refuse(request);
}

/* Lets the request wait behind the others of its key. */
static void
pool_append(Pool *pool, Request *request)
{
	Tenant *tenant = find_tenant(pool, request->caller.key_id);

	request->queued = clock_now();
	if (tenant == NULL)
	{
		pool_refuse(pool, request);
		return;
	}
	if (tenant->first == NULL)
		append_tenant(pool, tenant);
	request->next = NULL;
	*tenant->last = request;
	tenant->last = &request->next;
	count_waiting(pool, 1);
}

/* Returns whether the request may share a connection: it takes a moment, as far as one can tell. */
static bool
is_short(const Request *request)
{
	return request->operation != NULL && operation_is_short(request->operation) &&
		   request->body.size <= MAX_SHORT_BODY && request->attempts == 0;
}

/* Returns whether more may be sent behind what the session has under way. */
static bool
may_share(const Session *session, const Tenant *tenant, int64_t now)
{
	return session->state == SESSION_BUSY && session->shared && session->tenant == tenant &&
		   session->depth < MAX_DEPTH && !session->retires && !session->broken &&
		   now - session->began < clock_of_ms(MAX_SHORT_MS);
}

/* Returns where it is kept how long requests such as this one take. */
static int64_t *
usual_time(Pool *pool, const Request *request)
{
	return &pool->usual[request->operation->kind == OPERATION_WRITE];
}

/* Returns how many connections one tenant may have, beside sessions that go on though they are late. */
static int
share_of(const Pool *pool, const Tenant *tenant)
{
	if (*tenant->key_id == '\0')
		return pool->size;
	return (pool->size + 1) / 2 - late_count_of(pool, tenant->key_id);
}

/*
 * Returns the session for the tenant's next request; NULL: it has to wait.  A short one goes behind
 * others, if the tenant has some connections already: to wake a backend costs more than the statement.
 * It does not where another tenant has none and waits: then connections get idle, and are had by turns.
 */
static Session *
find_session(Pool *pool, const Tenant *tenant)
{
	bool shared =
		is_short(tenant->first) && (pool->starving == 0 || pool->sessions_in[SESSION_IDLE] > 0);
	bool more = pool->sessions_in[SESSION_IDLE] > 0 && tenant->sessions < share_of(pool, tenant);
	int64_t now;
	Session *found = NULL;
	Session *idle = NULL;

	if (!more && !shared)
		return NULL;
	now = clock_now();
	for (int i = 0; i < pool->size; i++)
	{
		Session *session = &pool->sessions[i];

		if (more && idle == NULL && session->state == SESSION_IDLE && session_is_usable(session))
			idle = session;
		else if (shared && may_share(session, tenant, now) &&
				 (found == NULL || session->depth < found->depth))
			found = session;
	}
	if (found == NULL || idle == NULL)
		return found == NULL ? idle : found;
	more = tenant->sessions < pool->spread || *usual_time(pool, tenant->first) > LONG_US;
	return more ? idle : found;
}

/*
 * Returns what is sent beside the request's statement, so that those who have written something read it
 * from the standby, too.
 */
static Extra
extra_of(const Pool *pool, const Session *session, const Request *request)
{
	const Pools *of = loop_owner(pool->owner.loop);

	if (is_node(pool))
		return EXTRA_NONE;
	if (is_standby(pool))
		return session_is_behind(session, request->position) ? EXTRA_WAIT : EXTRA_NONE;
	return of->standby.size > 0 && request->operation != NULL &&
				   operation_may_write(request->operation) &&
				   statement_may_wait(session->link.connection)
			   ? EXTRA_POSITION
			   : EXTRA_NONE;
}

/* Send the tenant's next request. */
static void
pool_send(Pool *pool, Tenant *tenant, Session *session)
{
	Request *request = take_request(pool, tenant);
	int64_t time = clock_of_ms(config_now()->request_time);
	int64_t now = clock_now();

	if (request->attempts == 0)
		metrics_waited(now - request->queued);
	session->tenant = tenant;
	request->extra = extra_of(pool, session, request);
	/* the primary may have to answer after a standby */
	session_send(session, request, is_short(request), now + (is_standby(pool) ? time / 2 : time));
}

/* Send what waits, a request of each tenant by turns, until none can be sent. */
static void
pool_dispatch(Pool *pool)
{
	int stuck = 0;

	while (stuck < pool->waiting)
	{
		Tenant *tenant = take_tenant(pool, &pool->first);
		Session *session = find_session(pool, tenant);

		if (session == NULL)
			stuck++;
		else
		{
			pool_send(pool, tenant, session);
			stuck = 0;
		}
		if (tenant->first != NULL)
			append_tenant(pool, tenant);
	}
}

/* Have the request's statement sent.  When it has an answer, or has waited too long, it is done(). */
static void
pool_submit(Pool *pool, Request *request)
{
	if (pool->fallback != NULL && !is_connected(pool))
	{
		pass_on(pool, request);
		return;
	}
	pool_append(pool, request);
	pool_dispatch(pool);
}

/* Have a statement that failed sent again, at once or in a while. */
static void
pool_repeat(Pool *pool, Request *request, bool pause)
{
	const Pools *all = loop_owner(pool->owner.loop);

	metrics_repeated();
	if (!pause)
	{
		pool_append(pool, request);
		return;
	}
	request->until = clock_now() + clock_of_ms(MIN_PAUSE + rand_r((unsigned *) &all->seed) %
															   (MAX_PAUSE - MIN_PAUSE));
	request->next = pool->paused;
	pool->paused = request;
}

/* Logs what the client is not told. */
static void
log_failure(const Pool *pool, const Session *session, const Request *request,
			const Outcome *outcome)
{
	char *problem = outcome->late ? strdup("no answer in time")
								  : statement_problem(session->link.connection, outcome->result);
	LogLine line;

	log_begin(&line, LEVEL_WARNING, "statement_failed");
	log_text(&line, "id", request->id);
	log_text(&line, "traceparent", *request->trace == '\0' ? NULL : request->trace);
	log_text(&line, "operation", request->operation == NULL ? NULL : request->operation->name);
	if (pool->fallback != NULL)
		log_text(&line, "server", is_standby(pool) ? "standby" : target_name(pool->owner.target));
	log_text(&line, "sqlstate", PQresultErrorField(outcome->result, PG_DIAG_SQLSTATE));
	log_text(&line, "message", problem);
	log_end(&line);
	free(problem);
}

static Remedy
remedy_of(const Pool *pool, const Session *session, const Request *request, const Outcome *outcome)
{
	Failure failure = statement_failure(session->link.connection, outcome);

	failure.standby = is_standby(pool);
	failure.node = is_node(pool);
	failure.kind = request->operation == NULL ? OPERATION_READ : request->operation->kind;
	return error_remedy(&failure);
}

/* Takes the result of a statement that has done what it should. */
static void
settle_result(const Pool *pool, Request *request, const Outcome *outcome)
{
	request->from_standby = is_standby(pool);
	if (pool->fallback != NULL)
		count(&pool_figures(pool)->answered);
	outcome_result(request, outcome->result);
	if (request->operation != NULL && (strcmp(request->operation->name, "CreateTable") == 0 ||
									   strcmp(request->operation->name, "DeleteTable") == 0))
		shards_rename(member_find(request->body.data, request->body.size, "TableName"));
	pool_finish(request);
}

/* Answer a request, whose statement has come to its end, or have it sent again. */
static void
pool_settle(SessionOwner *owner, Session *session, Request *request, Outcome *outcome)
{
	Pool *pool = (Pool *) owner;
	Remedy remedy;
	bool again;

	if (is_short(request))
		*usual_time(pool, request) += (outcome->took - *usual_time(pool, request)) / 16;
	if (outcome->behind)
	{
		PQclear(outcome->result);
		pass_on(pool, request);
		return;
	}
	if (statement_is_done(outcome))
	{
		settle_result(pool, request, outcome);
		return;
	}
	remedy = remedy_of(pool, session, request, outcome);
	again = remedy.repeat && request->attempts++ < MAX_REPEATS;
	if (!remedy.tells && log_wants(LEVEL_WARNING))
		log_failure(pool, session, request, outcome);
	if (remedy.unknown)
		metrics_unknown_outcome();
	if (!again && !remedy.elsewhere)
		outcome_failure(request, &remedy, outcome->result);
	PQclear(outcome->result);
	if (remedy.unprepared)
		target_forget_prepared(&session->link);
	session->retires |= remedy.reconnect;
	session->untouched |= remedy.untouched && !outcome->over;
	if (remedy.elsewhere)
	{
		if (is_node(pool) && remedy.error == ERROR_RESOURCE_NOT_FOUND)
			shards_reload(false);
		pass_on(pool, request);
	}
	else if (again)
		pool_repeat(pool, request, remedy.pause);
	else
	{
		if (pool->fallback != NULL)
			count(&pool_figures(pool)->answered);
		pool_finish(request);
	}
}

/* Counts what a session does now. */
static void
pool_moved(SessionOwner *owner, Session *session, SessionState from)
{
	static const TargetState states[SESSION_STATES] = {[SESSION_IDLE] = TARGET_IDLE,
													   [SESSION_BUSY] = TARGET_BUSY,
													   [SESSION_CONNECTING] = TARGET_DOWN};
	Pool *pool = (Pool *) owner;
	TargetFigures *figures = pool_figures(pool);

	pool->sessions_in[from]--;
	pool->sessions_in[session->state]++;
	atomic_fetch_sub_explicit(&figures->in[states[from]], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&figures->in[states[session->state]], 1, memory_order_relaxed);
	pool->reached |= session->state == SESSION_IDLE;
	if (session->state == SESSION_BUSY)
		session->tenant->sessions++;
	else if (from == SESSION_BUSY)
	{
		session->tenant->sessions--;
		pool->starving += session->tenant->waits && session->tenant->sessions == 0;
		leave_tenant(pool, session->tenant);
		session->tenant = NULL;
	}
}

static void
pool_settled(SessionOwner *owner)
{
	pool_dispatch((Pool *) owner);
}

/* Refuses what waits: what has waited too long, or all if nobody will answer. */
static void
pool_expire(Pool *pool, int64_t now)
{
	bool all = pool->fallback != NULL && !is_connected(pool);
	int64_t limit = all ? now + 1 : now - clock_of_ms(config_now()->queue_time);
	Tenant **link = &pool->first;

	while (*link != NULL)
	{
		Tenant *tenant = *link;

		while (tenant->first != NULL && tenant->first->queued < limit)
			pool_refuse(pool, take_request(pool, tenant));
		if (tenant->first != NULL)
		{
			link = &tenant->next_waiting;
			continue;
		}
		take_tenant(pool, link);
		leave_tenant(pool, tenant);
	}
}

/* Lets those wait again that have paused for long enough. */
static void
pool_resume(Pool *pool, int64_t now)
{
	Request **link = &pool->paused;
	Request *request;

	while ((request = *link) != NULL)
	{
		if (request->until > now)
		{
			link = &request->next;
			continue;
		}
		*link = request->next;
		pool_append(pool, request);
	}
}

/* Do what is due by now, and send what this round has. */
static void
pool_look(Pool *pool, int64_t now)
{
	if (pool->paused != NULL)
		pool_resume(pool, now);
	if (pool->waiting > 0)
	{
		pool_expire(pool, now);
		pool_dispatch(pool);
	}
	for (int i = 0; i < pool->size; i++)
		session_look(&pool->sessions[i], now);
}

static void
pools_look(Turn *turn)
{
	Pools *of = (Pools *) ((char *) turn - offsetof(Pools, turn));
	int64_t now = clock_now();

	for (Pool *node = of->nodes; node != NULL; node = node->next)
	{
		/* a node that comes back to the cluster may be another server */
		node->reached = node->reached && target_is_wanted(node->owner.target);
		pool_look(node, now);
	}
	pool_look(&of->standby, now);
	pool_look(&of->primary, now);
}

/* Returns in how many milliseconds there is something to look for. */
static int
pool_patience(const Pool *pool)
{
	if (pool->paused != NULL)
		return MIN_PAUSE;
	return pool->waiting > 0 || pool->sessions_in[SESSION_IDLE] < pool->size ? LOOK_MS : 1000;
}

static int
pools_patience(Turn *turn)
{
	const Pools *of = (Pools *) ((char *) turn - offsetof(Pools, turn));
	int patience = pool_patience(&of->primary);
	int standby = pool_patience(&of->standby);

	patience = standby < patience ? standby : patience;
	for (const Pool *node = of->nodes; node != NULL; node = node->next)
	{
		int ms = pool_patience(node);

		patience = ms < patience ? ms : patience;
	}
	return patience;
}

/* Gives a pool, which had none, connections.  False without memory. */
static bool
pool_open(Pool *pool, Loop *loop, Target *target, int size)
{
	int processors = (int) sysconf(_SC_NPROCESSORS_ONLN);

	pool->owner = (SessionOwner){.loop = loop,
								 .target = target,
								 .settle = pool_settle,
								 .moved = pool_moved,
								 .settled = pool_settled};
	pool->spread = (processors - 1) / pools.count > 1 ? (processors - 1) / pools.count : 1;
	pool->last = &pool->first;
	pool->sessions = calloc((size_t) size, sizeof(Session));
	if (pool->sessions == NULL)
		return false;
	for (int i = 0; i < size; i++)
		session_init(&pool->sessions[i], &pool->owner);
	pool->size = pool->sessions_in[SESSION_DOWN] = size;
	atomic_fetch_add(&pool_figures(pool)->in[TARGET_DOWN], size);
	return true;
}

/* What is asked of a loop, and whether it can be. */
typedef struct Opening
{
	Pools *of;
	bool standby;
	int size;
	bool opened;
} Opening;

static void
open_here(void *arg)
{
	Opening *opening = arg;
	Pools *of = opening->of;

	opening->opened =
		pool_open(opening->standby ? &of->standby : &of->primary, of->loop,
				  opening->standby ? target_standby() : target_primary(), opening->size);
}

/* Has each loop open its part of the connections to a server. */
static bool
open_all(bool standby, int size)
{
	if (!target_start(standby ? target_standby() : target_primary(), size))
		return false;
	for (int i = 0; i < pools.count; i++)
	{
		Opening opening = {.of = &pools.of[i], .standby = standby};

		opening.size = size / pools.count + (i < size % pools.count);
		loop_call(opening.of->loop, open_here, &opening);
		if (!opening.opened)
			return false;
	}
	return true;
}

static bool
start_loop(Pools *of)
{
	of->loop = loop_new(of);
	of->seed = (unsigned) clock_now();
	of->turn = (Turn){.run = pools_look, .patience = pools_patience};
	of->standby.fallback = &of->primary;
	of->primary.owner.target = target_primary();
	of->standby.owner.target = target_standby();
	of->primary.last = &of->primary.first;
	of->standby.last = &of->standby.first;
	if (of->loop == NULL)
		return false;
	/* the last one, so that what the others have is sent in the same round */
	loop_add_turn(of->loop, &of->turn);
	return loop_start(of->loop);
}

/* A loop keeps one processor busy at most, and Postgres needs more than that for what it sends. */
static bool
start_loops(const Config *config, int size)
{
	int processors = (int) sysconf(_SC_NPROCESSORS_ONLN);
	int count = config->http_threads > 0 ? config->http_threads : (processors + 1) / 3;
	int most = size / MIN_SESSIONS;

	count = count < most ? count : most;
	pools.count = count > 1 ? count : 1;
	pools.of = calloc((size_t) pools.count, sizeof(Pools));
	if (pools.of == NULL)
		return false;
	for (int i = 0; i < pools.count; i++)
	{
		if (!start_loop(&pools.of[i]))
			return false;
	}
	return true;
}

static int
pool_size(const Config *config)
{
	return config->pool_size > 0 ? config->pool_size : 4 * (int) sysconf(_SC_NPROCESSORS_ONLN) + 4;
}

static int
read_pool_size(const Config *config)
{
	int size = config->read_pool_size > 0 ? config->read_pool_size : pool_size(config);

	/* each loop has a connection at least */
	return size > pools.count ? size : pools.count;
}

/*
 * Start what the settings ask for by now and does not run yet, without waiting for Postgres.  False if
 * the system refuses.
 */
bool
pools_start(const Config *config)
{
	int size = pool_size(config);

	if (pools.count == 0 && !(start_loops(config, size) && open_all(false, size)))
		return false;
	return *config->read_database == '\0' || pools.of[0].standby.size > 0 ||
		   open_all(true, read_pool_size(config));
}

/* Returns how many connections there are to a server. */
int
pools_size(void)
{
	return pool_size(config_now());
}

/* Returns how many loops there are. */
int
pools_count(void)
{
	return pools.count;
}

/* Returns one of them. */
Loop *
pools_loop(int number)
{
	return pools.of[number].loop;
}

/* Returns the pool of a node; NULL without memory. */
static Pool *
pool_of_node(Pools *of, Target *target)
{
	Pool *pool = of->nodes;
	int size = pool_size(config_now()) / pools.count;

	while (pool != NULL && pool->owner.target != target)
		pool = pool->next;
	if (pool != NULL)
		return pool;
	pool = calloc(1, sizeof(*pool));
	if (pool == NULL || !pool_open(pool, of->loop, target, size > 1 ? size : 1))
	{
		free(pool);
		return NULL;
	}
	pool->fallback = &of->primary;
	pool->next = of->nodes;
	of->nodes = pool;
	return pool;
}

/* Returns the pool for a request that is about a shard; NULL: any server may have what it is about. */
static Pool *
pool_of_shard(Pools *of, Request *request)
{
	Pool *pool;
	Place place;

	if (!shards_find(request, &place))
		return NULL;
	pool = place.target == NULL ? &of->primary : pool_of_node(of, place.target);
	if (pool == NULL)
		free(place.tables);
	else
	{
		request->node_role = place.role;
		request->node_tables = place.tables;
	}
	return pool;
}

/* Has the parts of a batch sent.  It may be gone with the last one. */
static void
submit_parts(Pools *of, Batch *batch)
{
	int count = batch->count;
	BatchPart *parts = batch->parts;

	for (int i = 0; i < count; i++)
	{
		Target *target = parts[i].target;
		Pool *pool = target == NULL ? NULL : pool_of_node(of, target);

		pool_submit(pool == NULL ? &of->primary : pool, &parts[i].request);
	}
}

/*
 * Has the request's statement sent: to the node that has what it is about, or to the standby, if it is
 * connected and the answer may be stale, or else to the primary.  Calls done() when the request has an
 * answer, or has waited too long, maybe before this returns.  Only the loop's own thread calls this.
 */
void
pools_submit(Loop *loop, Request *request, bool stale)
{
	Pools *of = loop_owner(loop);
	Pool *pool = pool_of_shard(of, request);
	Batch *batch;

	if (pool != NULL)
	{
		pool_submit(pool, request);
		return;
	}
	batch = batch_split(request);
	if (batch != NULL)
	{
		submit_parts(of, batch);
		return;
	}
	stale = stale && is_connected(&of->standby);
	if (stale)
		request->position = position_of(request->caller.key_id);
	stale = stale && request->position != POSITION_UNKNOWN;
	pool_submit(stale ? &of->standby : &of->primary, request);
}

static void
look_now(void *arg)
{
	pools_look(&((Pools *) arg)->turn);
}

/* Connect to all servers again, the primary first: the standby has to be one of it. */
void
pools_reconnect(void)
{
	target_reconnect(target_primary());
	target_reconnect(target_standby());
	for (Target *node = target_first_node(); node != NULL; node = target_next_node(node))
		target_reconnect(node);
	for (int i = 0; i < pools.count; i++)
		loop_call(pools.of[i].loop, look_now, &pools.of[i]);
}

static void
pool_close(Pool *pool)
{
	for (int i = 0; i < pool->size; i++)
		session_end(&pool->sessions[i]);
	free(pool->sessions);
}

/* Nothing connects any more. */
static void
rest_here(void *arg)
{
	loop_remove_turn(((Pools *) arg)->loop, &((Pools *) arg)->turn);
}

static void
close_here(void *arg)
{
	Pools *of = arg;
	Pool *node;

	while ((node = of->nodes) != NULL)
	{
		of->nodes = node->next;
		pool_close(node);
		free(node);
	}
	pool_close(&of->standby);
	pool_close(&of->primary);
}

/* End the connections and the loops.  No request runs. */
void
pools_stop(void)
{
	for (int i = 0; i < pools.count; i++)
		loop_call(pools.of[i].loop, rest_here, &pools.of[i]);
	for (Target *node = target_first_node(); node != NULL; node = target_next_node(node))
		target_stop(node);
	target_stop(target_standby());
	target_stop(target_primary());
	for (int i = 0; i < pools.count; i++)
	{
		loop_call(pools.of[i].loop, close_here, &pools.of[i]);
		loop_free(pools.of[i].loop);
	}
	free(pools.of);
}
