/*
 * postgres.c
 *	  A Postgres that lives as long as the program does.
 *
 * Processes are started before there are threads.
 */
#include "postgres.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define START_SECONDS 60

__attribute__((format(printf, 1, 2))) static bool
fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "dynamo_gateway: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	return false;
}

__attribute__((format(printf, 1, 2))) static char *
text(const char *format, ...)
{
	va_list args;
	char *result;
	int n;

	va_start(args, format);
	n = vasprintf(&result, format, args);
	va_end(args);
	if (n < 0)
		abort();
	return result;
}

static bool
has_programs(const char *folder)
{
	char *initdb = text("%s/initdb", folder);
	char *postgres = text("%s/postgres", folder);
	bool has = access(initdb, X_OK) == 0 && access(postgres, X_OK) == 0;

	free(initdb);
	free(postgres);
	return has;
}

/* Returns the folder of PATH that has the programs, or of Debian's newest server; or NULL. */
static const char *
search_programs(void)
{
	const char *path = getenv("PATH");
	char *folders = text("%s:/usr/lib/postgresql/19/bin:/usr/lib/postgresql/18/bin:"
						 "/usr/lib/postgresql/17/bin:/usr/lib/postgresql/16/bin:"
						 "/usr/lib/postgresql/15/bin",
						 path == NULL ? "" : path);
	char *rest;

	for (char *f = strtok_r(folders, ":", &rest); f != NULL; f = strtok_r(NULL, ":", &rest))
	{
		if (has_programs(f))
			return f;
	}
	free(folders);
	return NULL;
}

/* Finds where the programs are: in the folder named, or, without one, where they usually are. */
bool
postgres_find(const char *programs, Postgres *postgres)
{
	postgres->programs = *programs == '\0' ? search_programs() : programs;
	if (postgres->programs == NULL)
		return fail("no programs of PostgreSQL are found: set \"postgres\" to their folder");
	return has_programs(postgres->programs) ||
		   fail("\"%s\" has no programs of PostgreSQL", postgres->programs);
}

/*
 * Becomes the program, in the new process, with signals as they are elsewhere and output to the
 * log.  Programs of Postgres find each other by the path that they are called by, and look in PATH
 * without one.
 */
static void
become(const Postgres *postgres, char **arguments)
{
	char *log = text("%s/log", postgres->folder);
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* an interrupt of the terminal is for us, who stop it when the last request is done */
	setpgid(0, 0);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0 ||
		chdir(postgres->folder) != 0)
		_exit(127);
	arguments[0] = text("%s/%s", postgres->programs, arguments[0]);
	execv(arguments[0], arguments);
	_exit(127);
}

/* Start a program.  It is told to stop when we die. */
static pid_t
program_start(const Postgres *postgres, char **arguments)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0)
	{
		prctl(PR_SET_PDEATHSIG, SIGINT);
		if (getppid() != parent)
			_exit(127);
		become(postgres, arguments);
	}
	return pid;
}

/* Returns whether a process ends with status 0. */
static bool
ends_well(pid_t pid)
{
	int status;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Add to the settings; they are read at the start. */
bool
postgres_configure(const Postgres *postgres, const char *settings)
{
	char *path = text("%s/data/postgresql.conf", postgres->folder);
	FILE *file = fopen(path, "a");
	bool written = file != NULL && fputs(settings, file) >= 0;

	if (file != NULL && fclose(file) != 0)
		written = false;
	free(path);
	return written || fail("could not write Postgres' settings: %s", strerror(errno));
}

/* Make the cluster. */
bool
postgres_initialize(const Postgres *postgres)
{
	char *data = text("%s/data", postgres->folder);
	char *arguments[] = {"initdb",     "-D",        data,    "-U",
						 "postgres",   "-A",        "trust", "--encoding=UTF8",
						 "--locale=C", "--no-sync", NULL};
	bool done = ends_well(program_start(postgres, arguments));

	free(data);
	return done || fail("initdb failed: see \"%s/log\"", postgres->folder);
}

/* Returns whether the server has a setting of this name. */
bool
postgres_knows(const Postgres *postgres, const char *setting)
{
	char *data = text("%s/data", postgres->folder);
	char *arguments[] = {"postgres", "-C", (char *) (uintptr_t) setting, "-D", data, NULL};
	bool knows = ends_well(program_start(postgres, arguments));

	free(data);
	return knows;
}

static PGconn *
connect_to(const Postgres *postgres)
{
	const char *names[] = {"host", "user", "dbname", "client_encoding", "options", NULL};
	const char *values[] = {
		postgres->folder, "postgres", "postgres", "UTF8", "-c client_min_messages=warning", NULL};

	return PQconnectdbParams(names, values, 0);
}

/* Returns the process that the cluster's file names, or 0.  It may be another program's by now. */
static long
process_of_file(const Postgres *postgres)
{
	char *path = text("%s/data/postmaster.pid", postgres->folder);
	FILE *file = fopen(path, "r");
	long process = 0;

	if (file != NULL)
	{
		if (fscanf(file, "%ld", &process) != 1)
			process = 0;
		fclose(file);
	}
	free(path);
	return process;
}

/* Returns whether the server that has the cluster is ours, and not one that may be about to end. */
static bool
is_ours(const Postgres *postgres)
{
	return process_of_file(postgres) == (long) postgres->pid;
}

/* Returns whether a process is in this folder, as those of a server are in that of its data. */
static bool
is_in(const char *process, const char *folder)
{
	char *link = text("/proc/%s/cwd", process);
	char found[PATH_MAX];
	ssize_t length = readlink(link, found, sizeof(found));

	free(link);
	return length == (ssize_t) strlen(folder) && memcmp(found, folder, strlen(folder)) == 0;
}

/*
 * Returns whether processes of an earlier server still have the cluster.  That server is told to stop
 * when its gateway dies, and takes a moment; so do its other processes when the first of them dies.
 * A server does not start while there is a process with the number that is in the file, unless that
 * is the gateway itself.  It may also be one that has ended without its parent being told yet, or, in
 * a container, one that has the number by chance.
 */
static bool
is_ending(const Postgres *postgres, const char *data)
{
	DIR *processes = opendir("/proc");
	struct dirent *process;
	long first = process_of_file(postgres);
	bool is = first > 0 && first != (long) getpid() && kill((pid_t) first, 0) == 0;

	while (!is && processes != NULL && (process = readdir(processes)) != NULL)
		is = is_in(process->d_name, data);
	if (processes != NULL)
		closedir(processes);
	return is;
}

static bool
is_up(const Postgres *postgres)
{
	PGconn *connection = connect_to(postgres);
	bool up = PQstatus(connection) == CONNECTION_OK && is_ours(postgres);

	PQfinish(connection);
	return up;
}

/* Start the server, and wait until it takes connections. */
bool
postgres_start(Postgres *postgres)
{
	char *data = text("%s/data", postgres->folder);
	char *arguments[] = {"postgres", "-D", data, NULL};
	int64_t until = clock_now() + (int64_t) START_SECONDS * 1000000;
	struct timespec pause = {.tv_nsec = 20000000};

	while (is_ending(postgres, data) && clock_now() < until)
		nanosleep(&pause, NULL);
	postgres->pid = program_start(postgres, arguments);
	free(data);
	while (postgres->pid > 0 && clock_now() < until)
	{
		if (waitpid(postgres->pid, NULL, WNOHANG) != 0)
			break;
		if (is_up(postgres))
			return true;
		nanosleep(&pause, NULL);
	}
	postgres_stop(postgres);
	return fail("Postgres did not start: see \"%s/log\"", postgres->folder);
}

/* Run these statements, up to a NULL, as the administrator. */
bool
postgres_execute(const Postgres *postgres, const char *const *statements)
{
	PGconn *connection = connect_to(postgres);
	bool done = PQstatus(connection) == CONNECTION_OK;

	for (; done && *statements != NULL; statements++)
	{
		PGresult *result = PQexec(connection, *statements);

		done =
			PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
		PQclear(result);
	}
	if (!done)
		fail("%s", PQerrorMessage(connection));
	PQfinish(connection);
	return done;
}

/* Stop the server, as soon as its transactions are rolled back. */
void
postgres_stop(Postgres *postgres)
{
	if (postgres->pid > 0 && kill(postgres->pid, SIGINT) == 0)
		ends_well(postgres->pid);
	postgres->pid = 0;
}
