/*
 * embedded.c
 *	  A gateway with a Postgres of its own, for development and tests.
 *
 * All is in one folder: the cluster, its socket, the key file, and the access key of a role that
 * owns the tables.  The folder is its owner's alone, and so is the server, which has no password.
 */
#include "embedded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console.h"
#include "create_key.h"
#include "postgres.h"

#define ROLE "dynamo"
#define LOGIN "dynamo_gateway"
#define SOCKET_NAME "/.s.PGSQL.5432"

/* The cluster has these from the start. */
static const char *const setup[] = {
	"CREATE EXTENSION dynamo_table",
	"CREATE ROLE " LOGIN " LOGIN NOINHERIT",
	"CREATE ROLE " ROLE " LOGIN", /* as workers do before 17 that go on with its requests */
	"GRANT " ROLE " TO " LOGIN,
	"GRANT CREATE ON SCHEMA public TO " ROLE,
	"GRANT USAGE ON SCHEMA dynamo_internal TO " LOGIN,
	"GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO " LOGIN,
	"CALL dyn_setup_streams()",
	NULL,
};

/* Paths are the files of the folder. */
typedef struct Paths
{
	char folder[PATH_MAX];
	char key_file[PATH_MAX + 16];
	char keys[PATH_MAX + 16]; /* the access key, as a shell has it; made when all else is there */
	char new_keys[PATH_MAX + 16];
} Paths;

/* Says who could not do what with a file, which may be named from where we are. */
static bool
embedded_fail(const char *what, const char *name)
{
	const char *why = strerror(errno);
	struct passwd *user = getpwuid(geteuid());
	char here[PATH_MAX] = "";

	if (*name != '/' && getcwd(here, sizeof(here)) == NULL)
		strcpy(here, "?");
	fprintf(stderr, "dynamo_gateway: the user %s could not %s \"%s%s%s\": %s\n",
			user == NULL ? "?" : user->pw_name, what, here, *here == '\0' ? "" : "/", name, why);
	return false;
}

/* Returns whether the folder has all that it needs: the file of the access key is our last one. */
static bool
is_complete(const Paths *paths)
{
	struct stat found;

	return lstat(paths->keys, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid();
}

static bool
is_shared(const char *folder)
{
	struct stat found;

	return stat(folder, &found) != 0 || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/* Keep other gateways out of the folder, as long as we live.  What is in a folder of another user is not
 * ours: settings of Postgres, a log that may be a link, and keys that a shell is told to take. */
static bool
embedded_lock(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat found;

	if (fd < 0 || fstat(fd, &found) != 0)
		return embedded_fail("read", folder);
	if (found.st_uid != geteuid())
	{
		close(fd);
		errno = EPERM;
		return embedded_fail("make private", folder);
	}
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return true;
	close(fd);
	fprintf(stderr, "dynamo_gateway: another gateway has \"%s\"\n", folder);
	return false;
}

/* Returns whether nothing is there: what is there is neither written to nor removed. */
static bool
is_empty(const char *folder)
{
	DIR *entries = opendir(folder);
	struct dirent *entry;
	bool empty = entries != NULL;

	while (empty && (entry = readdir(entries)) != NULL)
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (entries != NULL)
		closedir(entries);
	return empty;
}

/* The path is part of settings and of connection strings, where these would not stand for themselves. */
static bool
is_plain(const char *path)
{
	for (; *path != '\0'; path++)
	{
		if (strchr("'\\,", *path) != NULL || (unsigned char) *path < ' ')
			return false;
	}
	return true;
}

static bool
name_files(const char *folder, Paths *paths)
{
	if (realpath(folder, paths->folder) == NULL)
		return embedded_fail("find", folder);
	if (strlen(paths->folder) + strlen(SOCKET_NAME) >=
		sizeof(((struct sockaddr_un *) NULL)->sun_path))
		errno = ENAMETOOLONG;
	else if (!is_plain(paths->folder))
		errno = EINVAL;
	else
		errno = 0;
	if (errno != 0)
		return embedded_fail("have a socket in", paths->folder);
	snprintf(paths->key_file, sizeof(paths->key_file), "%s/key_file", paths->folder);
	snprintf(paths->keys, sizeof(paths->keys), "%s/keys", paths->folder);
	snprintf(paths->new_keys, sizeof(paths->new_keys), "%s/keys.new", paths->folder);
	return true;
}

static bool
find_folder(const char *name, Paths *paths)
{
	if (mkdir(name, 0700) != 0 && errno != EEXIST)
		return embedded_fail("make the folder", name);
	if (!name_files(name, paths) || !embedded_lock(paths->folder))
		return false;
	if (is_empty(paths->folder))
	{
		if (chmod(paths->folder, 0700) != 0)
			return embedded_fail("make private", paths->folder);
		/* others may have written to it until now */
		if (is_empty(paths->folder))
			return true;
	}
	else if (is_shared(paths->folder))
	{
		fprintf(stderr, "dynamo_gateway: \"%s\" is writable by others, whose files may be in it\n",
				name);
		return false;
	}
	else if (is_complete(paths))
		return true;
	fprintf(stderr,
			"dynamo_gateway: \"%s\" is neither empty nor complete: name another folder, or remove "
			"it\n",
			name);
	return false;
}

/* Makes the cluster, for which nobody waits at a commit: what was acknowledged survives us, not a
 * crash of the machine.  Records of streams are there when the WAL is written, which happens
 * often. */
static bool
embedded_initialize(const Postgres *postgres, const Paths *paths)
{
	char settings[2 * PATH_MAX];

	snprintf(settings, sizeof(settings),
			 "\nlisten_addresses = ''\n"
			 "unix_socket_directories = '%s'\n"
			 "unix_socket_permissions = 0700\n"
			 "shared_preload_libraries = 'dynamo_table'\n"
			 "wal_level = logical\n"
			 "synchronous_commit = off\n"
			 "wal_writer_delay = 10ms\n"
			 "client_connection_check_interval = 1s\n",
			 paths->folder);
	if (!postgres_initialize(postgres) || !postgres_configure(postgres, settings))
		return false;
	/* newer minors ask who may be an output plugin, older ones do not know the setting */
	return !postgres_knows(postgres, "output_plugin_libraries") ||
		   postgres_configure(postgres, "output_plugin_libraries = 'pgoutput, dynamo_table'\n");
}

/* Write an access key of the role into a file. */
static bool
make_key(const Paths *paths)
{
	char connection[PATH_MAX + 64];
	int status;
	pid_t pid;

	snprintf(connection, sizeof(connection), "host='%s' user=postgres dbname=postgres",
			 paths->folder);
	/* create_key() writes to standard output */
	pid = fork();
	if (pid == 0)
	{
		int fd = open(paths->new_keys, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
			_exit(1);
		_exit(create_key(connection, paths->key_file, "", ROLE));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return false;
	return rename(paths->new_keys, paths->keys) == 0 || embedded_fail("write", paths->keys);
}

/* Does what is done once. */
static bool
set_up(Postgres *postgres, const Paths *paths)
{
	return embedded_initialize(postgres, paths) && postgres_start(postgres) &&
		   postgres_execute(postgres, setup) && create_key_file(paths->key_file) == 0 &&
		   make_key(paths);
}

/* The cluster of an earlier start is told this: the library may be newer than its functions. */
static const char *const again[] = {"ALTER EXTENSION dynamo_table UPDATE", NULL};

static bool
start_again(Postgres *postgres)
{
	return postgres_start(postgres) && postgres_execute(postgres, again);
}

/*
 * Prints how the gateway is used, as assignments that a shell can evaluate.  Then it leaves standard
 * output, so that a program that reads this to its end need not wait until the gateway ends.
 */
static void
embedded_tell(const char *address)
{
	const char *region = *config_now()->region == '\0' ? "us-east-1" : config_now()->region;

	printf("AWS_ENDPOINT_URL=http://%s\nAWS_REGION=%s\nAWS_DEFAULT_REGION=%s\n"
		   "DYNAMO_GATEWAY_PID=%ld\n",
		   address, region, region, (long) getpid());
	if (freopen("/dev/null", "w", stdout) == NULL)
		perror("dynamo_gateway: could not close standard output");
}

static void
show_keys(const Paths *paths)
{
	FILE *file = fopen(paths->keys, "r");
	int c;

	while (file != NULL && (c = getc(file)) != EOF)
		putchar(c);
	if (file != NULL)
		fclose(file);
}

/* Serve with the settings that lead to this Postgres, without the limit of those who are known, and with
 * the console if it is installed.  Those of the command line win. */
static int
serve_folder(const Paths *paths, const Arguments *arguments)
{
	char database[PATH_MAX + 64];
	char key_file[PATH_MAX + 64];
	char **values = calloc((size_t) arguments->count + 5, sizeof(char *));
	Arguments ours = {arguments->count + 4, values, embedded_tell};
	Config *config = config_new();
	char problem[1024];
	Command command;
	int status = 2;

	snprintf(database, sizeof(database), "--database=host='%s' user=" LOGIN " dbname=postgres",
			 paths->folder);
	snprintf(key_file, sizeof(key_file), "--key-file=%s", paths->key_file);
	if (values == NULL)
		return 1;
	values[0] = arguments->values[0];
	values[1] = database;
	values[2] = key_file;
	values[3] = "--connections-per-address=0";
	values[4] = console_is_installed(config_now()) ? "--console=on" : "--console=off";
	memcpy(values + 5, arguments->values + 1, (size_t) (arguments->count - 1) * sizeof(char *));
	if (config_load(ours.count, values, config, &command, problem, sizeof(problem)))
	{
		config_set(config);
		show_keys(paths);
		status = serve(config, &ours);
	}
	else
		fprintf(stderr, "dynamo_gateway: %s\n", problem);
	free(values);
	return status;
}

/* Serve with a Postgres in this folder, until a signal ends both.  Returns the status to exit with. */
int
embedded(const Config *config, const char *folder, const Arguments *arguments)
{
	Postgres postgres = {0};
	Paths paths = {0};
	bool started;
	int status;

	if (geteuid() == 0)
	{
		fprintf(stderr, "dynamo_gateway: Postgres does not run as root: be another user, or set "
						"\"user\" to one\n");
		return 1;
	}
	if (!find_folder(folder, &paths) || !postgres_find(config->postgres, &postgres))
		return 1;
	postgres.folder = paths.folder;
	started = is_complete(&paths) ? start_again(&postgres) : set_up(&postgres, &paths);
	status = started ? serve_folder(&paths, arguments) : 1;
	postgres_stop(&postgres);
	return status;
}
