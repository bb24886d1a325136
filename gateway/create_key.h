/*
 * create_key.h
 *	  The program's modes that make keys.
 */
#ifndef GATEWAY_CREATE_KEY_H
#define GATEWAY_CREATE_KEY_H

#include <libpq-fe.h>
#include <stdbool.h>

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

extern bool new_key(PGconn *server, const MasterKey *master_key, const char *role, NewKey *key);
extern char *find_key(PGconn *server, const char *role);
extern bool show_key(const NewKey *key);

/*
 * Serves dynamo_gateway --create-key ROLE: makes an access key of this role, stores it by
 * dyn_create_access_key() over this connection (a superuser's, or one of a member of the role with
 * ADMIN OPTION), and prints id and secret on standard output, once.  Root becomes the user, if it
 * has a name, when it has the key file.  Returns the exit status; errors go to standard error.
 */
extern int create_key(const char *connection, const char *key_file, const char *user,
					  const char *role);

/* Serves dynamo_gateway --create-key-file: makes the file that secrets are encrypted with. */
extern int create_key_file(const char *path);

#endif
