/*
 * secret.c
 *	  Encryption of the secrets of access keys, by AES-256-GCM with the key in the key file.
 */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 1
#define NONCE_SIZE 12
#define TAG_SIZE 16

/* This is room for the version and a key id. */
#define HEAD_SIZE (1 + KEY_ID_SIZE)

/* Makes the message "key file "…": …".  Returns false. */
static bool
secret_fail(char **failure, const char *path, const char *problem)
{
	if (asprintf(failure, "key file \"%s\" %s", path, problem) < 0)
		*failure = NULL;
	return false;
}

/* Makes it with the system's error. */
static bool
fail_system(char **failure, const char *path, const char *problem)
{
	if (asprintf(failure, "key file \"%s\" %s: %s", path, problem, strerror(errno)) < 0)
		*failure = NULL;
	return false;
}

/* Returns whether the file is one that nobody else can have read or made. */
static bool
check_file(int file, const char *path, char **failure)
{
	struct stat status;

	if (fstat(file, &status) != 0)
		return fail_system(failure, path, "cannot be read");
	if (!S_ISREG(status.st_mode))
		return secret_fail(failure, path, "is not a regular file");
	if (status.st_uid != 0 && status.st_uid != geteuid())
		return secret_fail(failure, path,
						   "must be owned by root or by the user who runs the program");
	if ((status.st_mode & (S_IWGRP | S_IXGRP | S_IRWXO)) != 0)
		return secret_fail(failure, path, "must have permissions 0600, or 0640, or less");
	if (status.st_size != KEY_FILE_SIZE)
		return secret_fail(failure, path, "must have 32 bytes");
	return true;
}

/* Read so many bytes; fewer are a failure. */
static bool
read_whole(int file, unsigned char *data, size_t size)
{
	size_t done = 0;

	while (done < size)
	{
		ssize_t count = read(file, data + done, size - done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		done += (size_t) count;
	}
	return true;
}

/* Read a key file. */
bool
master_key_read(const char *path, MasterKey *key, char **failure)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool done;

	if (file < 0)
		return fail_system(failure, path, "cannot be opened");
	done = check_file(file, path, failure);
	if (done && !read_whole(file, key->bytes, sizeof(key->bytes)))
		done = fail_system(failure, path, "cannot be read");
	close(file);
	return done;
}

/* Write the key and have it on the disk. */
static bool
write_key(int file, const MasterKey *key)
{
	return write(file, key->bytes, sizeof(key->bytes)) == (ssize_t) sizeof(key->bytes) &&
		   fsync(file) == 0;
}

/* Make a key file. */
bool
master_key_create(const char *path, char **failure)
{
	MasterKey key;
	int file;
	bool done = true;

	if (RAND_priv_bytes(key.bytes, sizeof(key.bytes)) != 1)
		return secret_fail(failure, path, "cannot be made: no random bytes");
	file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (file < 0)
		done = fail_system(failure, path, "cannot be made");
	else
	{
		if (!write_key(file, &key))
		{
			done = fail_system(failure, path, "cannot be written");
			unlink(path);
		}
		close(file);
	}
	OPENSSL_cleanse(&key, sizeof(key));
	return done;
}

/* Makes what is authenticated beside the ciphertext: version and key id.  Returns its size, or 0 if
 * the id is too long. */
static int
make_head(const char *key_id, unsigned char head[HEAD_SIZE])
{
	size_t length = strlen(key_id);

	if (length >= KEY_ID_SIZE)
		return 0;
	head[0] = FORMAT;
	memcpy(head + 1, key_id, length);
	return (int) length + 1;
}

/* Begin to encrypt (1) or decrypt (0). */
static bool
secret_begin(EVP_CIPHER_CTX *context, const MasterKey *key, const char *key_id,
			 const unsigned char *nonce, int encrypt)
{
	unsigned char head[HEAD_SIZE];
	int head_size = make_head(key_id, head);
	int size;

	return head_size > 0 &&
		   EVP_CipherInit_ex2(context, EVP_aes_256_gcm(), key->bytes, nonce, encrypt, NULL) == 1 &&
		   EVP_CipherUpdate(context, NULL, &size, head, head_size) == 1;
}

/* Encrypt a secret. */
bool
secret_encrypt(const MasterKey *key, const char *key_id, const void *secret, size_t secret_length,
			   unsigned char ciphertext[MAX_CIPHERTEXT_SIZE], size_t *ciphertext_size)
{
	unsigned char *nonce = ciphertext + 1;
	unsigned char *text = nonce + NONCE_SIZE;
	EVP_CIPHER_CTX *context;
	int size = 0;
	bool done;

	if (secret_length == 0 || secret_length > MAX_SECRET_SIZE)
		return false;
	context = EVP_CIPHER_CTX_new();
	ciphertext[0] = FORMAT;
	done = context != NULL && RAND_bytes(nonce, NONCE_SIZE) == 1 &&
		   secret_begin(context, key, key_id, nonce, 1) &&
		   EVP_CipherUpdate(context, text, &size, secret, (int) secret_length) == 1 &&
		   EVP_CipherFinal_ex(context, text + size, &size) == 1 &&
		   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG_SIZE, text + secret_length) == 1;
	*ciphertext_size = secret_length + CIPHERTEXT_OVERHEAD;
	EVP_CIPHER_CTX_free(context);
	return done;
}

/* Decrypt a secret. */
bool
secret_decrypt(const MasterKey *key, const char *key_id, const unsigned char *ciphertext,
			   size_t ciphertext_size, unsigned char secret[MAX_SECRET_SIZE], size_t *secret_length)
{
	const unsigned char *nonce = ciphertext + 1;
	const unsigned char *text = nonce + NONCE_SIZE;
	unsigned char tag[TAG_SIZE];
	EVP_CIPHER_CTX *context;
	size_t length;
	int size = 0;
	bool done;

	*secret_length = 0;
	if (ciphertext_size <= CIPHERTEXT_OVERHEAD || ciphertext_size > MAX_CIPHERTEXT_SIZE ||
		ciphertext[0] != FORMAT)
		return false;
	length = ciphertext_size - CIPHERTEXT_OVERHEAD;
	memcpy(tag, text + length, TAG_SIZE);
	context = EVP_CIPHER_CTX_new();
	done = context != NULL && secret_begin(context, key, key_id, nonce, 0) &&
		   EVP_CipherUpdate(context, secret, &size, text, (int) length) == 1 &&
		   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG_SIZE, tag) == 1 &&
		   EVP_CipherFinal_ex(context, secret + size, &size) == 1;
	EVP_CIPHER_CTX_free(context);
	if (done)
		*secret_length = length;
	else
		OPENSSL_cleanse(secret, MAX_SECRET_SIZE);
	return done;
}
