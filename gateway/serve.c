/*
 * serve.c
 *	  The program at work: from the first connection to the last answer.
 *
 * The main thread waits for signals, and between them looks at what has had its time.  All other
 * threads have signals blocked.
 */
#include "serve.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "auth.h"
#include "certificate.h"
#include "clock.h"
#include "connections.h"
#include "console.h"
#include "http.h"
#include "late.h"
#include "listen.h"
#include "log.h"
#include "metrics.h"
#include "notify.h"
#include "pool.h"
#include "shards.h"

/* The program looks so often at what has had its time. */
#define TICK_MS 50

/* So many servers of before reloads may still have connections. */
#define MAX_OLD 8

typedef struct Program
{
	const Arguments *arguments;
	Listener listener;
	Listener health_listener;
	Server *server;
	Server *health; /* NULL: the same */
	Server *old[MAX_OLD]; /* those before reloads, which drain; or NULL */
} Program;

/* Shells start what runs in the background without interrupts, which are for others then. */
static void
our_signals(sigset_t *signals)
{
	struct sigaction interrupt;

	sigemptyset(signals);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGHUP);
	if (sigaction(SIGINT, NULL, &interrupt) == 0 && interrupt.sa_handler != SIG_IGN)
		sigaddset(signals, SIGINT);
}

/* Have signals wait for serve().  Called before there are threads. */
void
serve_block_signals(void)
{
	sigset_t signals;

	our_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void
stop_old(Program *program)
{
	for (int i = 0; i < MAX_OLD; i++)
	{
		if (program->old[i] != NULL && server_is_quiet(program->old[i]))
		{
			server_stop(program->old[i]);
			program->old[i] = NULL;
		}
	}
}

/* Returns a signal, or 0 if none comes for a moment. */
static int
next_signal(Program *program)
{
	struct timespec wait = {.tv_nsec = TICK_MS * 1000000};
	sigset_t signals;
	int signal;

	our_signals(&signals);
	signal = sigtimedwait(&signals, NULL, &wait);
	late_check();
	connections_check();
	stop_old(program);
	log_flush();
	return signal < 0 ? 0 : signal;
}

static bool
may_listen(const Config *config, const Listener *listener)
{
	if (config->auth == AUTH_NONE && !listener->local)
	{
		log_message(LEVEL_ERROR, "auth = none is for this machine only, and \"%s\" is not",
					listener->name);
		return false;
	}
	if (*config->tls_certificate == '\0' && !listener->local && !config->insecure_http)
	{
		log_message(LEVEL_ERROR,
					"\"%s\" can be reached from other machines: set tls_certificate and tls_key, "
					"or insecure_http if a proxy in front has TLS",
					listener->name);
		return false;
	}
	return true;
}

static bool
open_listener(const char *address, Listener *listener)
{
	char *problem = NULL;

	if (listen_open(address, listener, &problem))
		return true;
	log_message(LEVEL_ERROR, "%s", problem == NULL ? "out of memory" : problem);
	free(problem);
	return false;
}

static bool
open_listeners(Program *program, const Config *config)
{
	if (!listen_inherited(&program->listener) && !open_listener(config->listen, &program->listener))
		return false;
	if (!may_listen(config, &program->listener))
		return false;
	return *config->health_listen == '\0' ||
		   open_listener(config->health_listen, &program->health_listener);
}

static ServerRole
main_role(const Program *program)
{
	return program->health_listener.socket < 0 ? SERVER_ALL : SERVER_REQUESTS;
}

/* Returns whether clients may take the certificate for valid; if not, logs the consequence. */
static bool
is_current(const Config *config, LogLevel level, const char *consequence)
{
	if (*config->tls_certificate == '\0' || certificate_is_current(config->tls_certificate))
		return true;
	log_message(level, "the certificate \"%s\" has expired or is not valid yet: %s",
				config->tls_certificate, consequence);
	return false;
}

static bool
start_servers(Program *program, const Config *config)
{
	is_current(config, LEVEL_WARNING, "clients will refuse it");
	program->server = server_start(config, &program->listener, main_role(program));
	if (program->server == NULL)
		return false;
	if (program->health_listener.socket < 0)
		return true;
	program->health = server_start(config, &program->health_listener, SERVER_HEALTH);
	return program->health != NULL;
}

/* Start what the settings ask for by now. */
static bool
start_pools(const Config *config)
{
	if (pools_start(config))
		return true;
	log_message(LEVEL_ERROR, "could not start threads");
	return false;
}

static void
tell_address(const Program *program, const Config *config)
{
	LogLine line;

	log_begin(&line, LEVEL_INFO, "listening");
	log_text(&line, "address", program->listener.name);
	log_text(&line, "tls", *config->tls_certificate == '\0' ? "off" : "on");
	if (program->health != NULL)
		log_text(&line, "health_address", program->health_listener.name);
	if (config->console)
		log_text(&line, "console", "/console/");
	log_end(&line);
	log_flush();
}

/* Have as many files as the system allows: shells allow few. */
static void
raise_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

static bool
serve_start(Program *program, const Config *config)
{
	raise_limits();
	if (!open_listeners(program, config) || !console_start(config) || !auth_start(config))
		return false;
	if (!start_pools(config) || !shards_start() || !start_servers(program, config))
		return false;
	tell_address(program, config);
	if (program->arguments->started != NULL)
		program->arguments->started(program->listener.name);
	notify_system("READY=1");
	return true;
}

/* Returns whether the server would be another one by now. */
static bool
needs_server(const Config *before, const Config *now)
{
	/* certificates are other ones in the same file */
	return *now->tls_certificate != '\0' || *before->tls_certificate != '\0' ||
		   before->connections != now->connections ||
		   before->connections_per_address != now->connections_per_address ||
		   before->idle_time != now->idle_time;
}

/*
 * Puts another server at the same socket, with certificates and limits as they are now.  Clients of
 * the one before are asked to connect again, by the answer to their next request.
 */
static void
replace_server(Program *program, const Config *config)
{
	Server *server;
	int i = 0;

	while (i < MAX_OLD && program->old[i] != NULL)
		i++;
	if (i == MAX_OLD)
	{
		log_message(LEVEL_WARNING, "certificates and limits stay as they are: connections of "
								   "before the last reloads are there still");
		return;
	}
	if (!is_current(config, LEVEL_ERROR, "the one before stays"))
		return;
	server = server_start(config, &program->listener, main_role(program));
	if (server == NULL)
		return;
	server_drain(program->server);
	program->old[i] = program->server;
	program->server = server;
}

static void
keep_started(const Config *before, Config *now)
{
	const char *name = config_keep_started(before, now);

	if (name != NULL)
		log_message(LEVEL_WARNING, "\"%s\" and what else is set at the start stays as it was",
					name);
}

static void
serve_apply(Program *program, Config *now)
{
	const Config *before = config_now();

	keep_started(before, now);
	if (!may_listen(now, &program->listener))
		return;
	config_set(now);
	auth_reload();
	if (strcmp(before->database, now->database) != 0 || before->prepared != now->prepared ||
		strcmp(before->read_database, now->read_database) != 0)
		pools_reconnect();
	start_pools(now);
	shards_reload(false);
	if (needs_server(before, now))
		replace_server(program, now);
	log_message(LEVEL_INFO, "the settings have been read again");
}

static void
tell_reload(void)
{
	char state[64];

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld", (long long) clock_now());
	notify_system(state);
}

/* Read settings, keys and certificates again.  Settings with a mistake stay as they were. */
static void
serve_reload(Program *program)
{
	Config *config = config_new();
	Command command;
	char problem[1024];

	tell_reload();
	if (config_load(program->arguments->count, program->arguments->values, config, &command,
					problem, sizeof(problem)))
		serve_apply(program, config);
	else
		log_message(LEVEL_ERROR, "the settings stay as they were: %s", problem);
	notify_system("READY=1");
}

/* Returns whether nobody is connected any more.  Probes are answered until the others have gone. */
static bool
is_quiet(const Program *program)
{
	for (int i = 0; i < MAX_OLD; i++)
	{
		if (program->old[i] != NULL)
			return false;
	}
	if (!server_is_quiet(program->server))
		return false;
	if (program->health == NULL)
		return true;
	server_drain(program->health);
	return server_is_quiet(program->health);
}

/* Wait for the requests that run.  False if they take too long, or if there is no time. */
static bool
serve_drain(Program *program)
{
	int64_t until = clock_now() + clock_of_ms(config_now()->drain_time);

	log_message(LEVEL_INFO, "stopping: %d requests are running", metrics_running());
	notify_system("STOPPING=1");
	servers_set_ready(false);
	server_drain(program->server);
	listen_close(&program->listener);
	while (!is_quiet(program))
	{
		int signal;

		connections_end_idle();
		signal = next_signal(program);
		if (signal == SIGTERM || signal == SIGINT || clock_now() > until)
			return false;
	}
	return true;
}

/* Nobody is connected any more.  A helper may have to wait for a server still: a second signal ends
 * the program. */
static void
serve_stop(Program *program)
{
	sigset_t signals;

	our_signals(&signals);
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	server_stop(program->server);
	if (program->health != NULL)
	{
		server_stop(program->health);
		listen_close(&program->health_listener);
	}
	shards_stop();
	pools_stop();
	auth_stop();
	log_message(LEVEL_INFO, "stopped");
}

/* Serve until a signal ends it.  Returns the status to exit with. */
int
serve(const Config *config, const Arguments *arguments)
{
	Program program = {
		.arguments = arguments, .listener = {.socket = -1}, .health_listener = {.socket = -1}};
	int signal;

	if (!serve_start(&program, config))
		return 1;
	do
	{
		signal = next_signal(&program);
		if (signal == SIGHUP)
			serve_reload(&program);
	} while (signal != SIGTERM && signal != SIGINT);
	if (!serve_drain(&program))
	{
		/* threads are at work still: what they do ends with the process */
		log_message(LEVEL_WARNING, "stopped while %d requests were running", metrics_running());
		_exit(1);
	}
	serve_stop(&program);
	return 0;
}
