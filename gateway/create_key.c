/*
 * create_key.c
 *	  The program's modes that make keys.
 *
 * Id and secret have the shape that AWS's have, which some tools check: AKIA and 16 of A to Z and 2
 * to 7, and 40 characters of base64.
 */
#include "create_key.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user.h"

/* Make an id: 80 bits of chance. */
static bool
make_id(char id[ID_SIZE])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	unsigned char random[ID_RANDOM];

	if (RAND_bytes(random, sizeof(random)) != 1)
		return false;
	strcpy(id, ID_PREFIX);
	for (size_t i = 0; i < ID_RANDOM; i++)
		id[strlen(ID_PREFIX) + i] = digits[random[i] % 32];
	id[ID_SIZE - 1] = '\0';
	return true;
}

/* Make a secret: 240 bits of chance. */
static bool
make_secret(char secret[SECRET_SIZE])
{
	unsigned char random[SECRET_RANDOM];
	bool done = RAND_priv_bytes(random, sizeof(random)) == 1;

	if (done)
		EVP_EncodeBlock((unsigned char *) secret, random, sizeof(random));
	OPENSSL_cleanse(random, sizeof(random));
	return done;
}

/* Make a key and encrypt its secret. */
static bool
make_key(const MasterKey *master_key, NewKey *key)
{
	if (make_id(key->id) && make_secret(key->secret) &&
		secret_encrypt(master_key, key->id, key->secret, strlen(key->secret), key->ciphertext,
					   &key->ciphertext_size))
		return true;
	fprintf(stderr, "dynamo_gateway: could not make an access key: OpenSSL failed\n");
	return false;
}

/*
 * The names of statements are those of the schema of internals: nobody else has anything there, and
 * nobody can rename it, which the extension's own schema may be between two statements.
 */

static bool
is_installed(PGconn *server)
{
	PGresult *result = PQexec(server, "SELECT FROM pg_catalog.pg_extension"
									  " WHERE extname OPERATOR(pg_catalog.=) 'dynamo_table'");
	bool found = PQntuples(result) > 0;

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fprintf(stderr, "dynamo_gateway: %s", PQresultErrorMessage(result));
	else if (!found)
		fprintf(stderr,
				"dynamo_gateway: the extension \"dynamo_table\" is not installed in database"
				" \"%s\"\n",
				PQdb(server));
	PQclear(result);
	return found;
}

/* Store the key.  The role is a name, not to be folded. */
static bool
store_key(PGconn *server, const char *role, const NewKey *key)
{
	const char *values[] = {key->id, role, (const char *) key->ciphertext};
	const int lengths[] = {0, 0, (int) key->ciphertext_size};
	const int formats[] = {0, 0, 1};
	PGresult *result = PQexecParams(
		server,
		"SELECT dynamo_internal.create_access_key($1::pg_catalog.text,"
		" pg_catalog.quote_ident($2::pg_catalog.text)::pg_catalog.regrole, $3::pg_catalog.bytea,"
		" true, 'infinity'::pg_catalog.timestamptz)",
		3, NULL, values, lengths, formats, 0);
	bool done = PQresultStatus(result) == PGRES_TUPLES_OK;

	if (!done)
		fprintf(stderr, "dynamo_gateway: %s", PQresultErrorMessage(result));
	PQclear(result);
	return done;
}

/* Make a key of the role and store it. */
bool
new_key(PGconn *server, const MasterKey *master_key, const char *role, NewKey *key)
{
	return is_installed(server) && make_key(master_key, key) && store_key(server, role, key);
}

/*
 * Returns, to be freed, a key that the role has, that can be used and that we could make.  Or NULL.
 */
char *
find_key(PGconn *server, const char *role)
{
	PGresult *result = PQexecParams(
		server,
		"SELECT key_id FROM dynamo_internal.exported_keys"
		" WHERE role OPERATOR(pg_catalog.=) $1::pg_catalog.name AND enabled"
		" AND valid_until OPERATOR(pg_catalog.>) pg_catalog.now() ORDER BY key_id LIMIT 1",
		1, NULL, &role, NULL, NULL, 0);
	char *found = PQntuples(result) > 0 ? strdup(PQgetvalue(result, 0, 0)) : NULL;

	PQclear(result);
	return found;
}

/* Show the key.  A key that nobody has seen is of no use, so a failure is told. */
bool
show_key(const NewKey *key)
{
	if (printf("AWS_ACCESS_KEY_ID=%s\nAWS_SECRET_ACCESS_KEY=%s\n", key->id, key->secret) > 0 &&
		fflush(stdout) == 0)
		return true;
	fprintf(stderr,
			"dynamo_gateway: access key \"%s\" is made, but its secret could not be written: drop "
			"it\n",
			key->id);
	return false;
}

/* The key file may be root's alone, or that of the user to become, who the server lets in. */
static bool
read_and_become(const char *key_file, const char *user, MasterKey *master_key)
{
	char *failure = NULL;
	bool done = master_key_read(key_file, master_key, &failure);

	if (!become_user(user))
		return false;
	if (!done && *user != '\0')
	{
		free(failure);
		failure = NULL;
		done = master_key_read(key_file, master_key, &failure);
	}
	if (!done)
		fprintf(stderr, "dynamo_gateway: %s\n", failure != NULL ? failure : "out of memory");
	free(failure);
	return done;
}

/* Make an access key. */
int
create_key(const char *connection, const char *key_file, const char *user, const char *role)
{
	MasterKey master_key = {0};
	NewKey key = {0};
	bool done = read_and_become(key_file, user, &master_key);

	if (done)
	{
		PGconn *server = PQconnectdb(connection);

		done = PQstatus(server) == CONNECTION_OK;
		if (!done)
			fprintf(stderr, "dynamo_gateway: %s", PQerrorMessage(server));
		done = done && new_key(server, &master_key, role, &key) && show_key(&key);
		PQfinish(server);
	}
	OPENSSL_cleanse(&master_key, sizeof(master_key));
	OPENSSL_cleanse(&key, sizeof(key));
	return done ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Make a key file. */
int
create_key_file(const char *path)
{
	char *failure = NULL;

	if (master_key_create(path, &failure))
		return EXIT_SUCCESS;
	fprintf(stderr, "dynamo_gateway: %s\n", failure != NULL ? failure : "out of memory");
	free(failure);
	return EXIT_FAILURE;
}
