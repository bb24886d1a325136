/*
 * create_key.c
 *	  The program's modes that make keys.
 *
 * Id and secret have the shape that AWS's have, which some tools check: AKIA and 16 of A to Z and 2
 * to 7, and 40 characters of base64.
 */
#include "create_key.h"

#include <libpq-fe.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"
#include "secret.h"

#define ID_PREFIX "AKIA"
#define ID_RANDOM 16
#define ID_SIZE (sizeof(ID_PREFIX) + ID_RANDOM)
#define SECRET_RANDOM 30 /* bytes, which are 40 characters */
#define SECRET_SIZE 41

typedef struct NewKey
{
	char id[ID_SIZE];
	char secret[SECRET_SIZE];
	unsigned char ciphertext[MAX_CIPHERTEXT_SIZE];
	size_t ciphertext_size;
} NewKey;

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
make_key(const char *key_file, NewKey *key)
{
	MasterKey master_key;
	char *failure = NULL;
	bool done;

	if (!master_key_read(key_file, &master_key, &failure))
	{
		fprintf(stderr, "dynamo_gateway: %s\n", failure != NULL ? failure : "out of memory");
		free(failure);
		return false;
	}
	done = make_id(key->id) && make_secret(key->secret) &&
		   secret_encrypt(&master_key, key->id, key->secret, strlen(key->secret), key->ciphertext,
						  &key->ciphertext_size);
	OPENSSL_cleanse(&master_key, sizeof(master_key));
	if (!done)
		fprintf(stderr, "dynamo_gateway: could not make an access key: OpenSSL failed\n");
	return done;
}

/* The schema of the extension, which may be any. */
static char *
find_schema(PGconn *server)
{
	PGresult *result = PQexec(server, "SELECT pg_catalog.quote_ident(n.nspname)"
									  " FROM pg_catalog.pg_extension AS e"
									  " JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace"
									  " WHERE e.extname = 'dynamo_table'");
	char *schema = NULL;

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fprintf(stderr, "dynamo_gateway: %s", PQresultErrorMessage(result));
	else if (PQntuples(result) == 0)
		fprintf(stderr,
				"dynamo_gateway: the extension \"dynamo_table\" is not installed in database"
				" \"%s\"\n",
				PQdb(server));
	else
		schema = strdup(PQgetvalue(result, 0, 0));
	PQclear(result);
	return schema;
}

/* Store the key.  The role is a name, not to be folded. */
static bool
store_key(PGconn *server, const char *schema, const char *role, const NewKey *key)
{
	const char *values[] = {key->id, role, (const char *) key->ciphertext};
	const int lengths[] = {0, 0, (int) key->ciphertext_size};
	const int formats[] = {0, 0, 1};
	char statement[512];
	PGresult *result;
	bool done;

	snprintf(
		statement, sizeof(statement),
		"SELECT %s.dyn_create_access_key($1::pg_catalog.text,"
		" pg_catalog.quote_ident($2::pg_catalog.text)::pg_catalog.regrole, $3::pg_catalog.bytea,"
		" true, 'infinity'::pg_catalog.timestamptz)",
		schema);
	result = PQexecParams(server, statement, 3, NULL, values, lengths, formats, 0);
	done = PQresultStatus(result) == PGRES_TUPLES_OK;
	if (!done)
		fprintf(stderr, "dynamo_gateway: %s", PQresultErrorMessage(result));
	PQclear(result);
	return done;
}

/* Store the key over a connection. */
static bool
connect_and_store(const char *connection, const char *role, const NewKey *key)
{
	PGconn *server = PQconnectdb(connection);
	char *schema = NULL;
	bool done = false;

	if (PQstatus(server) != CONNECTION_OK)
		fprintf(stderr, "dynamo_gateway: %s", PQerrorMessage(server));
	else
		schema = find_schema(server);
	if (schema != NULL)
		done = store_key(server, schema, role, key);
	free(schema);
	PQfinish(server);
	return done;
}

/* Show the key.  A key that nobody has seen is of no use, so a failure is told. */
static bool
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

/* Make an access key. */
int
create_key(const char *connection, const char *key_file, const char *role)
{
	NewKey key = {0};
	bool done =
		make_key(key_file, &key) && connect_and_store(connection, role, &key) && show_key(&key);

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
