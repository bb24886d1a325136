/*
 * pool_test.c
 *	  Which connection a request is sent over, and what becomes of it.
 *
 * A server takes the place of statement.c and libpq.  A connection is a pair of sockets.  A statement is
 * the name of its request, a letter; its answer is that letter and one that says what has come of it.
 * A step says what clients and the server do and how much time passes, and is judged by what is under
 * way and answered then.
 */
#include "pool.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "late.h"
#include "log.h"
#include "metrics.h"
#include "session.h"
#include "shards.h"
#include "test.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define MAX_LINKS 32
#define MAX_NAMES 64
#define NAMES "abcdefghijklmnopqrstuvwxyz"

/* What comes of a statement, as the letter of an answer: the first one of the word in a step. */
#define DONE 'd'
#define CONFLICT 'c' /* with another */
#define LARGE 'l' /* done, and the connection holds more memory than it should keep */
#define REFUSED 'r' /* as all behind it, before anything was begun */

/* The gateway's end of a connection. */
typedef struct End
{
	int file;
	bool over;
	size_t received;
	char answers[MAX_NAMES]; /* that are not read yet */
} End;

/* The server's ends of all connections, in the order in which they were made. */
static struct
{
	_Atomic int count;
	int files[MAX_LINKS]; /* -1: closed */
	char under_way[MAX_LINKS][MAX_NAMES];
} server;

static _Atomic int64_t microseconds = 1000000000;
static char key[KEY_ID_SIZE] = "key"; /* of the next requests */
static size_t size; /* of their bodies */
static Request requests[26];
static int unanswered;
static char answered[4 * MAX_NAMES];
static bool reconnects; /* from now on an answer has the gateway give up all connections */

/* What is done in one line. */
#define FAKE(type, name, parameters, body) \
	type name parameters \
	{ \
		body; \
	}

/* Machines have a processor for four connections. */
FAKE(long, __wrap_sysconf, (int name), return config_now()->pool_size / 4)
FAKE(bool, statement_prepare, (PGconn * connection, bool node, bool *prepared, char **problem),
	 return true)
FAKE(PGresult *, statement_ask,
	 (PGconn * connection, const char *text, int n, const char *const *values), return NULL)
FAKE(void, statement_identity, (PGconn * connection, char *identity), *identity = '\0')
FAKE(bool, statement_share, (PGconn * connection, char **problem), return true)
FAKE(bool, statement_in_recovery, (const PGconn *connection), return false)
FAKE(char *, statement_problem, (const PGconn *connection, const PGresult *result), return NULL)
FAKE(void, statement_watch, (PGconn * connection, Outcome *outcome), )
FAKE(bool, statement_send, (PGconn * connection, bool node, bool prepared, const Request *request),
	 return send(PQsocket(connection), request->id, 1, MSG_NOSIGNAL) == 1)
FAKE(bool, statement_is_done, (const Outcome *outcome),
	 return outcome->over && PQresultStatus(outcome->result) == PGRES_TUPLES_OK)
FAKE(bool, statement_may_wait, (const PGconn *connection), return false)
FAKE(bool, statement_send_extra, (PGconn * connection, const Request *request), return false)
FAKE(bool, statement_has_waited, (const Outcome *outcome), return false)
FAKE(uint64_t, statement_position, (const Outcome *outcome), return 0)
FAKE(int, shards_count, (void), return -1)
FAKE(bool, shards_are_known, (void), return false)
FAKE(bool, shards_find_item, (const Caller *caller, Member table, Member key, Place *place),
	 return false)
FAKE(void, shards_reload, (bool outdated), )
FAKE(void, shards_rename, (Member table), )
FAKE(int, PQsocket, (const PGconn *connection), return ((const End *) connection)->file)
FAKE(ConnStatusType, PQstatus, (const PGconn *connection),
	 return ((const End *) connection)->over ? CONNECTION_BAD : CONNECTION_OK)
FAKE(int, PQisBusy, (PGconn * connection), return 0)
FAKE(int, PQflush, (PGconn * connection), return 0)
FAKE(void, PQfinish, (PGconn * connection), close(PQsocket(connection)); free(connection))
FAKE(void, do_nothing, (void *arg), )
/* The second call waits for the end of the first one's round. */
FAKE(void, go_round, (void), loop_call(pools_loop(0), do_nothing, NULL);
	 loop_call(pools_loop(0), do_nothing, NULL))
extern void __real_target_stop(Target *target);
/* Time passes until the loop is stopped, too. */
FAKE(void, __wrap_target_stop, (Target * target), __real_target_stop(target);
	 microseconds += target == target_primary() ? 1000000 : 0; go_round())

int
__wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	*time = (struct timespec){microseconds / 1000000, microseconds % 1000000 * 1000};
	return 0;
}

/* Of the key "node" all is about shards of a node. */
bool
shards_find(const Request *request, Place *place)
{
	if (strcmp(request->caller.key_id, "node") != 0)
		return false;
	*place = (Place){.target = target_node("node", "1", 4), .tables = strdup("{public,app}")};
	target_want(place->target, "public");
	target_identify(place->target, "1");
	return true;
}

PGconn *
statement_connect(const char *database, const char *host, const char *port, char **problem)
{
	End *end = calloc(1, sizeof(*end));
	int pair[2];

	if (end == NULL || server.count == MAX_LINKS || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		abort();
	end->file = pair[0];
	server.files[server.count] = pair[1];
	server.count++;
	return (PGconn *) end;
}

bool
statement_receive(PGconn *connection)
{
	End *end = (End *) connection;
	ssize_t n = recv(end->file, end->answers + end->received, sizeof(end->answers) - end->received,
					 MSG_DONTWAIT);

	end->received += n > 0 ? (size_t) n : 0;
	end->over |= n == 0;
	return !end->over;
}

bool
statement_read(PGconn *connection, bool broken, Outcome *outcome)
{
	End *end = (End *) connection;
	PGresAttDesc column = {.name = (char[]){"request"}};
	char what = end->answers[1];

	if (end->received == 0)
		return broken;
	outcome->over = what != REFUSED;
	outcome->swollen = what == LARGE;
	outcome->result = PQmakeEmptyPGresult(NULL, what == DONE || what == LARGE ? PGRES_TUPLES_OK
																			  : PGRES_FATAL_ERROR);
	PQsetResultAttrs(outcome->result, 1, &column);
	PQsetvalue(outcome->result, 0, 0, end->answers, 2);
	end->received -= 2;
	memmove(end->answers, end->answers + 2, end->received);
	return true;
}

Failure
statement_failure(const PGconn *connection, const Outcome *outcome)
{
	char what = outcome->result == NULL ? '\0' : PQgetvalue(outcome->result, 0, 0)[1];
	const char *sqlstate = what == CONFLICT ? "40001" : what == REFUSED ? "55000" : NULL;

	return (Failure){.sqlstate = sqlstate,
					 .sent = !outcome->unsent,
					 .late = outcome->late,
					 .ended = what == REFUSED || PQstatus(connection) != CONNECTION_OK,
					 .outside = what == REFUSED};
}

static int
metric(const char *name)
{
	Text text = {0};
	int value;

	metrics_write(&text);
	value = atoi(strstr(text.data, name) + strlen(name));
	text_free(&text);
	return value;
}

/* Has the loop do what is ready and what is due, until all is connected. */
static void
go_on(void)
{
	do
		go_round();
	while (metric("\ndynamo_pool_connections{state=\"down\"} ") > 0);
}

/* Notes the name of a request, with the status unless it is 200; "?": it may have been carried out. */
static void
done(Request *request)
{
	const Answer *answer = &request->answer;
	char *end = answered + strlen(answered);

	if (answer->status == 200)
		sprintf(end, " %s%s", request->id, *answer->data == *request->id ? "" : " (wrong)");
	else
		sprintf(end, " %s %d%s", request->id, answer->status,
				strstr(answer->data, "may have been carried out") == NULL ? "" : "?");
	unanswered--;
	if (reconnects)
		target_reconnect(target_primary());
}

/* Clients send requests with these names. */
static void
submit(const char *operation, const char *names)
{
	char target[2 * MAX_NAMES];

	snprintf(target, sizeof(target), "DynamoDB_20120810.%s", operation);
	for (; *names != '\0'; names++)
	{
		Request *request = &requests[*names - 'a'];

		*request = (Request){.id = {*names}, .operation = operation_find(target), .done = done};
		request->body.size = size;
		strcpy(request->caller.key_id, key);
		unanswered++;
		pools_submit(pools_loop(0), request, false);
	}
}

/* The server ends a connection, or sees that it has ended. */
static void
hang_up(int link)
{
	close(server.files[link]);
	server.files[link] = -1;
	memset(server.under_way[link], 0, MAX_NAMES);
}

/* Returns what the server has to do, as "ab c -": b behind a, c over another connection, one idle. */
static const char *
heard(void)
{
	static char all[MAX_LINKS * MAX_NAMES];

	*all = '\0';
	for (int i = 0; i < server.count; i++)
	{
		struct pollfd other = {.fd = server.files[i]};
		char *names = server.under_way[i];

		while (recv(server.files[i], names + strlen(names), 1, MSG_DONTWAIT) == 1)
			;
		if (poll(&other, 1, 0) > 0)
			hang_up(i);
		if (server.files[i] >= 0)
			sprintf(all + strlen(all), *all == '\0' ? "%s" : " %s", *names == '\0' ? "-" : names);
	}
	return all;
}

/* Returns the connection with a request in front of all others. */
static int
link_of(char name)
{
	int link = 0;

	heard();
	while (link < server.count && *server.under_way[link] != name)
		link++;
	if (link == server.count)
		exit(!ok(false, "%c is the first of a connection", name));
	return link;
}

/* The server answers requests, one after the other. */
static void
tell(const char *names, char what)
{
	for (; *names != '\0'; names++)
	{
		int link = link_of(*names);

		if (send(server.files[link], (char[]){*names, what}, 2, MSG_NOSIGNAL) != 2)
			abort();
		memmove(server.under_way[link], server.under_way[link] + 1, MAX_NAMES - 1);
		if (what == REFUSED)
			hang_up(link);
	}
}

/* Does a part of a step, in the loop's thread. */
static void
act(void *part)
{
	const char *word = part;
	const char *names = word + MAX_NAMES;

	if (strcmp(word, "key") == 0)
		strcpy(key, strcmp(names, "none") == 0 ? "" : names);
	else if (strcmp(word, "size") == 0)
		size = strtoul(names, NULL, 10);
	else if (strcmp(word, "pass") == 0)
		microseconds += atoi(names);
	else if (strstr("done conflict large refused", word) != NULL)
		tell(names, *word);
	else if (strcmp(word, "end") == 0)
		hang_up(link_of(*names));
	else if (strcmp(word, "deafen") == 0)
		shutdown(server.files[link_of(*names)], SHUT_RD);
	else if (strcmp(word, "reconnect") != 0)
		submit(word, names);
	else
	{
		reconnects = true;
		tell(names, DONE);
		hang_up(3);
	}
}

/* A Step of a case.  Each case runs in a process of its own. */
typedef struct Step
{
	int connections; /* with which a case begins; 0: it goes on */
	const char *name;
	const char *actions; /* pairs of words */
	const char *state; /* then: what is under way, as heard() has it, and what was answered */
} Step;

static const Step steps[] = {
	{4, "16 requests of a key share a connection", "GetItem abcdefghijklmnopq",
	 "abcdefghijklmnop q - - |"},
	{0, "they are answered in order, each to its own statement", "done abcdefghijklmnopq",
	 "- - - - | a b c d e f g h i j k l m n o p q"},
	{4, "two keys share no connection, even if there is no other",
	 "GetItem ab key other GetItem cd key third Scan ef key fourth GetItem g", "ab cd e f |"},
	{8, "a Scan or a transaction shares no connection",
	 "Scan a TransactWriteItems b GetItem c Scan d", "a b c d - - - - |"},
	{4, "nor does a large request", "GetItem a size 65537 PutItem b", "a b - - |"},
	{4, "one is sent behind another for 5 ms", "GetItem a pass 4999 GetItem b", "ab - - - |"},
	{0, "and no longer", "pass 1 GetItem c pass 5000 GetItem d", "ab c - - |"},
	{0, "until that one has ended", "done a", "bd c - - | a"},
	{4, "a key has half of the connections", "Scan abc key other Scan def", "a b d e |"},
	{2, "where a third key has no connection nothing more is sent behind others",
	 "GetItem ab key other GetItem c key third GetItem d key key GetItem e", "ab c |"},
	{0, "so it has the next one that is idle", "done ab", "d c | a b"},
	{0, "and the others go on", "done c", "d e | a b c"},
	{4, "without keys requests have all connections", "key none Scan abcde", "a b c d |"},
	{4, "requests of two keys wait", "key none Scan abcd key key Scan efg key other Scan hi",
	 "a b c d |"},
	{0, "they are sent by turns: one of the first", "done a", "e b c d | a"},
	{0, "one of the second", "done b", "e h c d | a b"},
	{0, "and of the first again", "done c", "e h f d | a b c"},
	{4, "if the connection is lost what reads is sent again, and not what writes",
	 "GetItem a PutItem b end a", "a - - - | b 500?"},
	{4, "if a connection takes no more, what was not sent is sent elsewhere, with the reads",
	 "GetItem a PutItem b deafen a PutItem c", "a c - - | b 500?"},
	{6, "what a session refuses is sent again, with all behind it",
	 "PutItem ab GetItem c refused a", "a b c - - - |"},
	{4, "a statement has its time", "GetItem a PutItem b GetItem c pass 2000000", "abc - - - |"},
	{0, "a late one gives up the connection: it is answered, and what is behind it is as if lost",
	 "pass 1", "abc c - - - | a 500 b 500?"},
	{0, "the session may end then", "end a", "c - - - | a 500 b 500?"},
	{4, "nothing is sent behind a large result", "GetItem ab large a GetItem c", "b c - - | a"},
	{0, "and the connection ends when it has nothing to do", "done b", "c - - - | a b"},
	{4, "a request waits for queue_time", "Scan abc pass 1000000", "a b - - |"},
	{0, "and no longer", "pass 1", "a b - - | c 503"},
	{6, "what met another request pauses", "PutItem ab conflict a pass 4000", "b - - - - - |"},
	{0, "and is sent again over a connection of its own", "pass 46000", "b a - - - - |"},
	{0, "with nothing behind it", "PutItem c", "b a c - - - |"},
	{0, "it is sent again three times",
	 "done bc conflict a pass 50000 conflict a pass 50000 conflict a", "- - - - - - | b c a 400"},
	{16, "a key has as many connections as there are further processors", "GetItem abcd",
	 "ad b c - - - - - - - - - - - - - |"},
	{6, "short writes share a connection", "PutItem a pass 4000 done a PutItem bc",
	 "bc - - - - - | a"},
	{0, "those that usually take long have further ones, while there are any",
	 "pass 4900 done bc PutItem defg", "dg e f - - - | a b c"},
	{0, "which says nothing of reads", "done dg GetItem hi", "- eh fi - - - | a b c d g"},
	{4, "idle connections are given up with the others, even if one ends at that moment",
	 "key other Scan a key key Scan bcd done a reconnect b", "c d - - | a b"},
	{0, NULL, NULL, NULL},
};

/* Answers what is left, and ends all. */
static void
finish(void)
{
	int unknown = 0;

	while (unanswered > 0)
	{
		char name[] = {heard()[strcspn(heard(), NAMES)], '\0'};

		tell(name, DONE);
		microseconds += 1000;
		go_on();
	}
	late_check();
	ok(unanswered == 0 && late_count(NULL) == 0 && metric("\ndynamo_pool_waiting ") == 0 &&
		   metric("\ndynamo_pool_connections{state=\"busy\"} ") == 0,
	   "each request is answered once, and nothing is left");
	for (const char *c = answered; *c != '\0'; c++)
		unknown += *c == '?';
	ok(metric("\ndynamo_unknown_outcomes_total ") == unknown, "unknown outcomes are counted");
	for (int i = 0; i < server.count; i++)
		hang_up(i);
	pools_stop();
	for (size_t i = 0; i < strlen(NAMES); i++)
		answer_release(&requests[i].answer);
}

/* Runs a case, which ends where the next one begins. */
static void
run(const Step *step)
{
	Config config = {.database = "",
					 .read_database = "",
					 .http_threads = 1,
					 .pool_size = step->connections,
					 .queue_time = 1000,
					 .request_time = 2000};
	char part[2][MAX_NAMES];
	char state[1024];
	int length;

	alarm(60);
	failures = 0;
	config_set(&config);
	if (!pools_start(&config))
		abort();
	go_on();
	do
	{
		for (const char *left = step->actions; *left != '\0'; left += length)
		{
			if (sscanf(left, " %63s %63s%n", part[0], part[1], &length) != 2)
				abort();
			loop_call(pools_loop(0), act, part);
			go_on();
		}
		snprintf(state, sizeof(state), "%s |%s", heard(), answered);
		is(state, step->state, step->name);
	} while ((++step)->name != NULL && step->connections == 0);
	finish();
	exit(failures != 0);
}

int
main(void)
{
	log_set(LEVEL_ERROR, FORMAT_LOGFMT);
	for (const Step *step = steps; step->name != NULL; step++)
	{
		int status = 0;

		if (step->connections == 0)
			continue;
		fflush(stdout);
		if (fork() == 0)
			run(step);
		if (wait(&status) < 0 || status != 0)
			ok(false, "%s (status %d)", step->name, status);
	}
	return failures != 0;
}
