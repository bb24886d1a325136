/*
 * create_key.h
 *	  The program's modes that make keys.
 */
#ifndef GATEWAY_CREATE_KEY_H
#define GATEWAY_CREATE_KEY_H

/*
 * dynamo_gateway --create-key ROLE: make an access key of this role, store it by
 * dyn_create_access_key() over this connection (a superuser's, or one of a member of the role with
 * ADMIN OPTION), and print id and secret on standard output, once.  Returns the exit status; errors
 * go to standard error.
 */
extern int create_key(const char *connection, const char *key_file, const char *role);

/* dynamo_gateway --create-key-file: make the file that secrets are encrypted with. */
extern int create_key_file(const char *path);

#endif
