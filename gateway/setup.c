/*
 * setup.c
 *	  What a gateway needs before it can start: in the database the extension, its login role and a role
 *	  of requests, and on this machine the key file; and an access key of the role.
 *
 * Only what is not there is made, so this may be called again.  The statements are those that an
 * administrator would type, in one transaction, and are printed as they are run.
 */
#include "setup.h"

#include <errno.h>
#include <libpq-fe.h>
#include <openssl/crypto.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "create_key.h"
#include "user.h"

#define KEY_FILE "/etc/dynamo_gateway.key"
#define LOGIN "dynamo_gateway"
#define ADMINISTRATOR "postgres"

/*
 * $1 is the gateway's login role, $2 the role of requests.  Whose database it is may have set a
 * search_path, on which nothing is looked up.
 */
static const char missing[] =
	"WITH names AS (SELECT $1::pg_catalog.text AS login, $2::pg_catalog.text AS role,"
	"  pg_catalog.to_regrole(pg_catalog.quote_ident($1)) AS login_oid,"
	"  pg_catalog.to_regrole(pg_catalog.quote_ident($2)) AS role_oid)"
	" SELECT v.statement FROM names, LATERAL (VALUES"
	" (1, NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE"
	"  extname OPERATOR(pg_catalog.=) 'dynamo_table'),"
	"  'CREATE EXTENSION dynamo_table'),"
	" (2, login_oid IS NULL, pg_catalog.format('CREATE ROLE %I LOGIN NOINHERIT', login)),"
	" (3, login_oid IS NULL,"
	"  pg_catalog.format('ALTER ROLE %I SET statement_timeout = ''10s''', login)),"
	" (4, login_oid IS NULL,"
	"  pg_catalog.format('ALTER ROLE %I SET lock_timeout = ''2s''', login)),"
	" (5, login_oid IS NULL,"
	"  pg_catalog.format('ALTER ROLE %I SET client_connection_check_interval = ''1s''', login)),"
	" (6, NOT EXISTS (SELECT FROM pg_catalog.unnest(ARRAY["
	"   "
	"'dynamo_internal.request_as(pg_catalog.regrole,pg_catalog.text,pg_catalog.text,pg_catalog."
	"text,pg_catalog.text[])',"
	"   'dynamo_internal.gateway_keys()']) AS f"
	"   HAVING pg_catalog.bool_and(coalesce(pg_catalog.has_function_privilege("
	"    login_oid, pg_catalog.to_regprocedure(f)::pg_catalog.oid, 'EXECUTE'), false))),"
	"  pg_catalog.format('GRANT EXECUTE ON FUNCTION dynamo_internal.request_as,"
	" dynamo_internal.gateway_keys TO %I', login)),"
	" (7, role_oid IS NULL, pg_catalog.format('CREATE ROLE %I LOGIN', role)),"
	" (8, role_oid IS NULL AND pg_catalog.to_regnamespace('public') IS NOT NULL,"
	"  pg_catalog.format('GRANT CREATE ON SCHEMA public TO %I', role)),"
	" (9, NOT coalesce(pg_catalog.pg_has_role(login_oid, role_oid,"
	"   CASE WHEN pg_catalog.current_setting('server_version_num')::pg_catalog.int4"
	"    OPERATOR(pg_catalog.<) 160000"
	"    THEN 'MEMBER' ELSE 'SET' END), false),"
	"  pg_catalog.format('GRANT %I TO %I', role, login))"
	") AS v(number, wanted, statement) WHERE v.wanted ORDER BY v.number";

/* A Target is how the gateway connects, but for who it is there. */
typedef struct Target
{
	PQconninfoOption *options;
	const char *login;
} Target;

static bool
setup_fail(const char *message)
{
	fprintf(stderr, "dynamo_gateway: %s\n", message);
	return false;
}

static const char *
option(const Target *target, const char *name)
{
	for (const PQconninfoOption *o = target->options; o->keyword != NULL; o++)
	{
		if (strcmp(o->keyword, name) == 0)
			return o->val;
	}
	return NULL;
}

static bool
read_target(const char *database, Target *target)
{
	char *problem = NULL;

	target->options = PQconninfoParse(database, &problem);
	if (target->options == NULL)
	{
		setup_fail(problem == NULL ? "out of memory" : problem);
		PQfreemem(problem);
		return false;
	}
	target->login = option(target, "user") == NULL ? LOGIN : option(target, "user");
	return option(target, "dbname") != NULL || getenv("PGDATABASE") != NULL ||
		   setup_fail(
			   "the setting \"database\" does not name one: it says how the gateway connects, such "
			   "as \"host=/var/run/postgresql user=" LOGIN " dbname=app\"");
}

/* Connect to the same database as whoever we are: an administrator. */
static PGconn *
connect_to(const Target *target)
{
	const char *names[64];
	const char *values[64];
	size_t n = 0;

	for (const PQconninfoOption *o = target->options; o->keyword != NULL && n < 63; o++)
	{
		if (o->val == NULL || strcmp(o->keyword, "user") == 0 ||
			strcmp(o->keyword, "password") == 0)
			continue;
		names[n] = o->keyword;
		values[n++] = o->val;
	}
	names[n] = NULL;
	return PQconnectdbParams(names, values, 0);
}

/* The key file is read by whoever we are at first, and made if it is not there. */
static bool
have_key_file(const char *path, bool *made, MasterKey *key)
{
	char *failure = NULL;
	bool done;

	*made = access(path, F_OK) != 0 && errno == ENOENT;
	done = (!*made || master_key_create(path, &failure)) && master_key_read(path, key, &failure);
	if (!done)
		setup_fail(failure == NULL ? "out of memory" : failure);
	else if (*made)
		fprintf(stderr, "-- key file \"%s\" is made: keep a copy, without it all keys are lost\n",
				path);
	free(failure);
	return done;
}

/* Be one whom the server takes for its administrator. */
static bool
become_administrator(const char *user)
{
	return become_user(*user == '\0' && getpwnam(ADMINISTRATOR) != NULL ? ADMINISTRATOR : user);
}

/* Returns whether it went well; otherwise it is told why not.  The result is freed. */
static bool
is_done(PGconn *server, PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);
	bool done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

	if (!done)
		fprintf(stderr, "dynamo_gateway: %s", PQerrorMessage(server));
	PQclear(result);
	return done;
}

static bool
setup_execute(PGconn *server, const char *statement)
{
	fprintf(stderr, "%s;\n", statement);
	return is_done(server, PQexec(server, statement));
}

/* Make what is missing in the database. */
static bool
make_missing(PGconn *server, const char *login, const char *role)
{
	const char *names[] = {login, role};
	PGresult *result = PQexecParams(server, missing, 2, NULL, names, NULL, NULL, 0);
	bool done = PQresultStatus(result) == PGRES_TUPLES_OK;

	if (!done)
		fprintf(stderr, "dynamo_gateway: %s", PQerrorMessage(server));
	for (int i = 0; done && i < PQntuples(result); i++)
		done = setup_execute(server, PQgetvalue(result, i, 0));
	PQclear(result);
	return done;
}

/* Make an access key, unless the role has one that can be used. */
static bool
make_key(PGconn *server, const MasterKey *master_key, bool is_new, const char *role, NewKey *key)
{
	char *other = is_new ? NULL : find_key(server, role);

	if (other != NULL)
		fprintf(stderr, "-- the role has the access key %s; --create-key makes another one\n",
				other);
	else if (new_key(server, master_key, role, key))
		fprintf(stderr, "-- access key %s is made by dyn_create_access_key\n", key->id);
	else
		return false;
	free(other);
	return true;
}

/* Does all of it or nothing; a key is shown when it is there. */
static bool
setup_run(PGconn *server, const Target *target, const char *role, const MasterKey *master_key,
		  bool is_new)
{
	NewKey key = {0};
	bool done = PQstatus(server) == CONNECTION_OK;

	if (!done)
		fprintf(stderr, "dynamo_gateway: %s", PQerrorMessage(server));
	done = done && setup_execute(server, "BEGIN") && make_missing(server, target->login, role) &&
		   make_key(server, master_key, is_new, role, &key) && setup_execute(server, "COMMIT") &&
		   (*key.id == '\0' || show_key(&key));
	OPENSSL_cleanse(&key, sizeof(key));
	return done;
}

/* Returns the status to exit with. */
int
setup(const Config *config)
{
	Target target = {0};
	MasterKey key = {0};
	bool is_new;
	bool done =
		read_target(config->database, &target) &&
		have_key_file(*config->key_file == '\0' ? KEY_FILE : config->key_file, &is_new, &key) &&
		become_administrator(config->user);

	if (done)
	{
		PGconn *server = connect_to(&target);

		done = setup_run(server, &target, config->role, &key, is_new);
		PQfinish(server);
	}
	OPENSSL_cleanse(&key, sizeof(key));
	PQconninfoFree(target.options);
	return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
