/*
 * key_loader.c
 *	  The thread that loads access keys from the server.
 *
 * It has a connection of its own, and waits for the server in wait_for(), which
 * key_loader_stop() ends; libpq's time limit ends attempts to connect.  The set of keys stays as it
 * is while the server cannot be reached.
 *
 * Any role may notify, as often as it likes and with any payload.  So a notification says no more
 * than that something may have changed, and those that come often are answered by one load a second,
 * between which the server is asked to send none.
 */
#include "key_loader.h"

#include <libpq-fe.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "secret.h"

#define REFRESH_SECONDS 60
#define FIRST_PAUSE 50 /* in ms, after a failure */
#define LONGEST_PAUSE 5000
#define LOADS_AT_ONCE 5 /* of changes that follow each other, before they have to be PERIOD apart */
#define PERIOD 1000 /* in ms */
#define SHARE 10 /* of the time, one part at most is spent loading */
#define ANSWER_TIME 10000 /* in ms: a server that is silent for so long is given up */

/* This leaves out keys of roles that are gone, and of superusers. */
#define LOAD_QUERY \
	"SELECT key_id, role, role_name, enabled," \
	" CASE WHEN pg_catalog.isfinite(valid_until) THEN pg_catalog.floor(" \
	"pg_catalog.date_part('epoch', valid_until))::pg_catalog.int8 END," \
	" valid_until OPERATOR(pg_catalog.=) '-infinity', encrypted_secret" \
	" FROM dynamo_internal.gateway_keys()"

struct KeyLoader
{
	Keys *keys;
	int refresh;
	void (*report)(bool failed, const char *message);
	pthread_t thread;
	char *key_file;
	int stop; /* eventfd: the thread ends */
	int again; /* eventfd: the keys are loaded again without waiting for a change */
	pthread_mutex_t lock; /* of the master key and the connection string */
	MasterKey master_key;
	char *connection;
	atomic_bool moved; /* the connection string is another than the connection's */
	PGconn *server;
	bool notified; /* something may have changed since the keys were loaded */
	int64_t due; /* when a change may be loaded again, if PERIOD lay between all loads */
	bool failing; /* and has told so */
	size_t unusable; /* keys that could not be decrypted the last time; SIZE_MAX: there was none */
};

/* Tell of a failure, unless it goes on only. */
static void
report_failure(KeyLoader *loader, const char *what, const char *why)
{
	char message[1024];

	if (loader->failing)
		return;
	loader->failing = true;
	snprintf(message, sizeof(message), "%s: %.*s", what, (int) strcspn(why, "\n"), why);
	loader->report(true, message);
}

static void
report_success(KeyLoader *loader)
{
	if (loader->failing)
		loader->report(false, "access keys are loaded again");
	loader->failing = false;
}

/* Seen is what wait_for() has seen. */
typedef enum Seen
{
	SEEN_SOCKET,
	SEEN_AGAIN,
	SEEN_STOP,
	SEEN_NOTHING /* it is late */
} Seen;

/* Wait until a time for the socket, for key_loader_stop(), and for key_loader_reload() if "again" is
 * loader->again and not -1.  poll() skips a descriptor of -1. */
static Seen
wait_for(KeyLoader *loader, int socket, short events, int again, int64_t until)
{
	struct pollfd files[] = {{.fd = loader->stop, .events = POLLIN},
							 {.fd = again, .events = POLLIN},
							 {.fd = socket, .events = events}};
	int64_t left = until - clock_now() / 1000;

	if (poll(files, 3, left < 0 ? 0 : (int) left) <= 0)
		return SEEN_NOTHING;
	return files[0].revents != 0 ? SEEN_STOP : files[1].revents != 0 ? SEEN_AGAIN : SEEN_SOCKET;
}

static bool
is_stopped(KeyLoader *loader)
{
	return wait_for(loader, -1, 0, -1, 0) == SEEN_STOP;
}

static void
loader_disconnect(KeyLoader *loader)
{
	PQfinish(loader->server);
	loader->server = NULL;
}

/* Returns the connection string as it is now. */
static char *
take_connection(KeyLoader *loader)
{
	char *connection;

	pthread_mutex_lock(&loader->lock);
	connection = strdup(loader->connection);
	atomic_store(&loader->moved, false);
	pthread_mutex_unlock(&loader->lock);
	return connection;
}

/* Connect, to any of several hosts.  What the connection string says wins over what is said here. */
static bool
connect_server(KeyLoader *loader)
{
	const char *names[] = {"fallback_application_name", "connect_timeout", "tcp_user_timeout",
						   "client_encoding",           "dbname",          NULL};
	char *connection = take_connection(loader);
	const char *values[] = {"dynamo_gateway keys", "5", "30000", "UTF8", connection, NULL};

	if (connection == NULL)
		return false;
	loader->server = PQconnectdbParams(names, values, 1);
	free(connection);
	if (PQstatus(loader->server) == CONNECTION_OK)
		return true;
	report_failure(loader, "could not connect to load access keys", PQerrorMessage(loader->server));
	loader_disconnect(loader);
	return false;
}

/* Take the notifications that have arrived, and remember that there were some. */
static void
take_notifications(KeyLoader *loader)
{
	PGnotify *notification;

	while ((notification = PQnotifies(loader->server)) != NULL)
	{
		PQfreemem(notification);
		loader->notified = true;
	}
}

/* Run a statement.  Notifications come before its end.  NULL: there was no answer. */
static PGresult *
loader_run(KeyLoader *loader, const char *statement)
{
	int64_t until = clock_now() / 1000 + ANSWER_TIME;
	PGresult *result = NULL;
	PGresult *next;

	if (PQsendQuery(loader->server, statement) != 1)
		return NULL;
	do
	{
		while (PQisBusy(loader->server))
		{
			if (wait_for(loader, PQsocket(loader->server), POLLIN, -1, until) != SEEN_SOCKET ||
				PQconsumeInput(loader->server) != 1)
			{
				PQclear(result);
				return NULL;
			}
			take_notifications(loader);
		}
		next = PQgetResult(loader->server);
		if (next != NULL)
		{
			PQclear(result);
			result = next;
		}
	} while (next != NULL);
	return result;
}

/* Returns a number of the result, or what stands for NULL. */
static int64_t
number(const PGresult *result, int row, int column, int64_t if_null)
{
	return PQgetisnull(result, row, column) ? if_null
											: strtoll(PQgetvalue(result, row, column), NULL, 10);
}

static bool
is_true(const PGresult *result, int row, int column)
{
	return *PQgetvalue(result, row, column) == 't';
}

/* Decrypt the secret of a row. */
static bool
read_secret(const MasterKey *master_key, const PGresult *result, int row, AccessKey *key)
{
	size_t size;
	unsigned char *ciphertext =
		PQunescapeBytea((const unsigned char *) PQgetvalue(result, row, 6), &size);
	bool done = ciphertext != NULL && secret_decrypt(master_key, key->caller.key_id, ciphertext,
													 size, key->secret, &key->secret_length);

	PQfreemem(ciphertext);
	return done;
}

/* Read a row.  False: the key cannot be used. */
static bool
read_key(const MasterKey *master_key, const PGresult *result, int row, AccessKey *key)
{
	memset(key, 0, sizeof(*key));
	if ((size_t) PQgetlength(result, row, 0) >= KEY_ID_SIZE)
		return false;
	strcpy(key->caller.key_id, PQgetvalue(result, row, 0));
	key->caller.role = (uint32_t) number(result, row, 1, 0);
	snprintf(key->caller.role_name, ROLE_NAME_SIZE, "%s", PQgetvalue(result, row, 2));
	key->enabled = is_true(result, row, 3);
	key->valid_until = is_true(result, row, 5) ? INT64_MIN : number(result, row, 4, KEY_FOR_EVER);
	return read_secret(master_key, result, row, key);
}

/* Reports that keys cannot be decrypted, or that there is none that can be used, as after a database
 * was restored from a dump; but not again while their number stays the same. */
static void
report_unusable(KeyLoader *loader, size_t count, const char *first)
{
	char message[256] =
		"the database has no access key whose role can be used: requests are refused "
		"until keys are created, or imported by dyn_import_access_keys()";

	if (count != SIZE_MAX)
		snprintf(message, sizeof(message),
				 "%zu access keys cannot be decrypted with the key file, such as \"%.128s\"", count,
				 first);
	if (count > 0 && count != loader->unusable)
		loader->report(true, message);
	loader->unusable = count;
}

/* Take the keys of a result. */
static bool
take_keys(KeyLoader *loader, const PGresult *result)
{
	int rows = PQntuples(result);
	AccessKey *all = malloc(((size_t) rows + 1) * sizeof(*all));
	const char *unusable = NULL;
	size_t count = 0;
	MasterKey master_key;
	bool done;

	if (all == NULL)
		return false;
	pthread_mutex_lock(&loader->lock);
	master_key = loader->master_key;
	pthread_mutex_unlock(&loader->lock);
	for (int row = 0; row < rows; row++)
	{
		if (read_key(&master_key, result, row, &all[count]))
			count++;
		else if (unusable == NULL)
			unusable = PQgetvalue(result, row, 0);
	}
	report_unusable(loader, rows == 0 ? SIZE_MAX : (size_t) rows - count, unusable);
	done = keys_replace(loader->keys, all, count);
	OPENSSL_cleanse(&master_key, sizeof(master_key));
	OPENSSL_cleanse(all, ((size_t) rows + 1) * sizeof(*all));
	free(all);
	return done;
}

/* Load the keys.  False: they stay as they are, and the connection is of no use. */
static bool
loader_load(KeyLoader *loader)
{
	PGresult *result;
	bool done;

	loader->notified = false;
	result = loader_run(loader, LOAD_QUERY);
	done = PQresultStatus(result) == PGRES_TUPLES_OK && take_keys(loader, result);
	if (done)
		report_success(loader);
	else
		report_failure(loader, "could not load access keys",
					   result != NULL ? PQresultErrorMessage(result)
									  : PQerrorMessage(loader->server));
	PQclear(result);
	return done;
}

/* Run a statement that a standby or a pooler may refuse.  False: there was no answer. */
static bool
is_answered(KeyLoader *loader, const char *statement)
{
	PGresult *result = loader_run(loader, statement);
	bool answered = result != NULL;

	PQclear(result);
	return answered;
}

/* Have the server tell of changes.  If it refuses, the refresh is enough. */
static bool
listen_to_server(KeyLoader *loader)
{
	return is_answered(loader, "LISTEN dynamo_access_key");
}

/* Wait until something may have changed, or it is time for a refresh.  False: the connection is broken,
 * or the end. */
static bool
wait_for_change(KeyLoader *loader)
{
	int64_t until = clock_now() / 1000 + loader->refresh * INT64_C(1000);

	for (take_notifications(loader); !loader->notified; take_notifications(loader))
	{
		Seen seen = wait_for(loader, PQsocket(loader->server), POLLIN, loader->again, until);

		if (seen != SEEN_SOCKET)
			return seen != SEEN_STOP;
		if (PQconsumeInput(loader->server) != 1)
			return false;
	}
	return true;
}

/* Wait until a change may be loaded.  The server does not tell of others meanwhile: the keys are
 * loaded after this.  False as above. */
static bool
rest(KeyLoader *loader)
{
	if (!loader->notified || loader->due <= clock_now() / 1000)
		return true;
	return is_answered(loader, "UNLISTEN dynamo_access_key") &&
		   wait_for(loader, -1, 0, loader->again, loader->due) != SEEN_STOP &&
		   listen_to_server(loader);
}

/* Load the keys, and know from when on the next change may be loaded. */
static bool
load_timely(KeyLoader *loader)
{
	int64_t begun = clock_now() / 1000;
	int64_t earliest = begun - (LOADS_AT_ONCE - 1) * PERIOD;
	bool loaded = loader_load(loader);
	int64_t period = (clock_now() / 1000 - begun) * SHARE;

	if (loader->due < earliest)
		loader->due = earliest;
	loader->due += period < PERIOD ? PERIOD : period;
	return loaded;
}

/* Load, and again when something changes, as long as the connection holds.  Returns whether it has
 * loaded at all. */
static bool
serve_connection(KeyLoader *loader)
{
	bool loaded = false;

	if (!connect_server(loader))
		return false;
	if (listen_to_server(loader))
	{
		do
		{
			eventfd_t times;

			eventfd_read(loader->again, &times);
			if (!load_timely(loader))
				break;
			loaded = true;
		} while (wait_for_change(loader) && rest(loader) && !atomic_load(&loader->moved));
	}
	loader_disconnect(loader);
	return loaded;
}

static void *
loader_main(void *argument)
{
	KeyLoader *loader = argument;
	int pause = FIRST_PAUSE;

	while (!is_stopped(loader))
	{
		if (serve_connection(loader))
			pause = FIRST_PAUSE;
		wait_for(loader, -1, 0, loader->again, clock_now() / 1000 + pause);
		pause = pause * 2 < LONGEST_PAUSE ? pause * 2 : LONGEST_PAUSE;
	}
	return NULL;
}

static void
free_loader(KeyLoader *loader)
{
	if (loader->stop >= 0)
		close(loader->stop);
	if (loader->again >= 0)
		close(loader->again);
	pthread_mutex_destroy(&loader->lock);
	free(loader->connection);
	free(loader->key_file);
	OPENSSL_cleanse(loader, sizeof(*loader));
	free(loader);
}

/* Makes a loader without a thread; returns NULL if it cannot. */
static KeyLoader *
new_loader(Keys *keys, const KeysSource *source)
{
	KeyLoader *loader = calloc(1, sizeof(*loader));

	if (loader == NULL)
		return NULL;
	loader->keys = keys;
	loader->refresh = source->refresh_seconds > 0 ? source->refresh_seconds : REFRESH_SECONDS;
	loader->report = source->report;
	loader->connection = strdup(source->connection);
	loader->key_file = strdup(source->key_file);
	loader->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loader->again = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&loader->lock, NULL);
	if (loader->connection != NULL && loader->key_file != NULL && loader->stop >= 0 &&
		loader->again >= 0)
		return loader;
	free_loader(loader);
	return NULL;
}

/* Read the key file. */
static bool
read_key_file(KeyLoader *loader, char **failure)
{
	MasterKey master_key;
	bool done = master_key_read(loader->key_file, &master_key, failure);

	if (done)
	{
		pthread_mutex_lock(&loader->lock);
		loader->master_key = master_key;
		pthread_mutex_unlock(&loader->lock);
	}
	OPENSSL_cleanse(&master_key, sizeof(master_key));
	return done;
}

/* Start the thread with all signals blocked: they are for the main thread. */
static bool
start_thread(KeyLoader *loader)
{
	sigset_t all;
	sigset_t before;
	int status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(&loader->thread, NULL, loader_main, loader);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status == 0;
}

/* Start the thread that loads the keys. */
KeyLoader *
key_loader_start(Keys *keys, const KeysSource *source, char **failure)
{
	KeyLoader *loader = new_loader(keys, source);
	bool read = loader != NULL && read_key_file(loader, failure);

	if (read && start_thread(loader))
		return loader;
	if (loader == NULL || read)
		*failure = strdup("access keys cannot be loaded: no memory or no thread");
	if (loader != NULL)
		free_loader(loader);
	return NULL;
}

/* Take another connection string if it is another. */
static void
set_connection(KeyLoader *loader, const char *connection)
{
	char *copy = strdup(connection);

	pthread_mutex_lock(&loader->lock);
	if (copy != NULL && strcmp(copy, loader->connection) != 0)
	{
		char *before = loader->connection;

		loader->connection = copy;
		copy = before;
		atomic_store(&loader->moved, true);
	}
	pthread_mutex_unlock(&loader->lock);
	free(copy);
}

/* Read the key file again, and have the keys loaded soon. */
bool
key_loader_reload(KeyLoader *loader, const char *connection, char **failure)
{
	bool done = read_key_file(loader, failure);

	set_connection(loader, connection);

	eventfd_write(loader->again, 1);
	return done;
}

/* End the thread. */
void
key_loader_stop(KeyLoader *loader)
{
	eventfd_write(loader->stop, 1);
	pthread_join(loader->thread, NULL);
	free_loader(loader);
}
