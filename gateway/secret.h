/*
 * secret.h
 *	  Encryption of the secrets of access keys, by AES-256-GCM with the key in the key file.
 *
 * The server keeps the ciphertext only.  The key id is authenticated with it: a ciphertext that is
 * moved to another key's row is refused.
 *
 *		byte 0          version of the format, 1
 *		bytes 1 to 12   nonce, random
 *		then            as many bytes as the secret has
 *		last 16 bytes   tag, of the ciphertext and of version and key id
 */
#ifndef GATEWAY_SECRET_H
#define GATEWAY_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#include "keys.h"

#define KEY_FILE_SIZE 32
#define CIPHERTEXT_OVERHEAD 29
#define MAX_CIPHERTEXT_SIZE (MAX_SECRET_SIZE + CIPHERTEXT_OVERHEAD)

/* A MasterKey is what is in the key file. */
typedef struct MasterKey
{
	unsigned char bytes[KEY_FILE_SIZE];
} MasterKey;

/*
 * Read a key file.  It must be a regular file of 32 bytes that others than its owner and its group
 * cannot read, and that its owner alone can write; the owner is root or who runs the program.
 * Returns false and a message, to be freed.
 */
extern bool master_key_read(const char *path, MasterKey *key, char **failure);

/* Make a key file of random bytes with permissions 0600.  The file must not exist. */
extern bool master_key_create(const char *path, char **failure);

/* Encrypt the secret of the access key with this id.  False if OpenSSL fails or the secret is empty
 * or too long. */
extern bool secret_encrypt(const MasterKey *key, const char *key_id, const void *secret,
						   size_t secret_length, unsigned char ciphertext[MAX_CIPHERTEXT_SIZE],
						   size_t *ciphertext_size);

/* Decrypt it.  False if the format is not known, or the ciphertext is not by this key file for this
 * key id; nothing is in "secret" then. */
extern bool secret_decrypt(const MasterKey *key, const char *key_id,
						   const unsigned char *ciphertext, size_t ciphertext_size,
						   unsigned char secret[MAX_SECRET_SIZE], size_t *secret_length);

#endif
