/*
 * secret_test.c
 *	  Encryption of secrets: what comes back, and what is refused.
 */
#include "secret.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/gateway-secret-XXXXXX";

/* The path of a file in the folder. */
static const char *
path(const char *name)
{
	static char paths[2][64];
	static int next;

	next = !next;
	snprintf(paths[next], sizeof(paths[next]), "%s/%s", folder, name);
	return paths[next];
}

/* A file of so many bytes with these permissions. */
static void
make_file(const char *name, size_t size, mode_t mode)
{
	FILE *file = fopen(path(name), "w");

	for (size_t i = 0; i < size; i++)
		fputc((int) (i * 7 % 256), file);
	fclose(file);
	chmod(path(name), mode);
}

static void
test_refused(const char *name, const char *expected, const char *test)
{
	MasterKey key;
	char *failure = NULL;
	char message[256];

	snprintf(message, sizeof(message), "key file \"%s\" %s", path(name), expected);
	if (ok(!master_key_read(path(name), &key, &failure), "%s", test))
		is(failure, message, test);
	free(failure);
}

static void
test_key_file(void)
{
	static const mode_t modes[] = {0601, 0602, 0604, 0610, 0620, 0644, 0660, 0666, 0777};
	MasterKey key;
	MasterKey other;
	char *failure = NULL;
	struct stat status;

	ok(master_key_create(path("made"), &failure), "make a key file");
	stat(path("made"), &status);
	ok((status.st_mode & 0777) == 0600 && status.st_size == 32, "nobody else can read it");
	ok(master_key_read(path("made"), &key, &failure), "read it");
	ok(!master_key_create(path("made"), &failure), "it is not made again");
	free(failure);
	failure = NULL;
	ok(master_key_read(path("made"), &other, &failure) && memcmp(&key, &other, sizeof(key)) == 0,
	   "and stays as it was");
	ok(master_key_create(path("other"), &failure) &&
		   master_key_read(path("other"), &other, &failure) &&
		   memcmp(&key, &other, sizeof(key)) != 0,
	   "another one is different");

	test_refused("missing", "cannot be opened: No such file or directory", "no file");
	test_refused(".", "is not a regular file", "a folder");
	if (mkfifo(path("fifo"), 0600) == 0)
		test_refused("fifo", "is not a regular file", "a pipe");
	make_file("short", 31, 0600);
	test_refused("short", "must have 32 bytes", "31 bytes");
	make_file("long", 33, 0600);
	test_refused("long", "must have 32 bytes", "33 bytes");
	make_file("empty", 0, 0600);
	test_refused("empty", "must have 32 bytes", "0 bytes");
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
	{
		char name[8];

		snprintf(name, sizeof(name), "%04o", (unsigned) modes[i]);
		make_file(name, 32, modes[i]);
		test_refused(name, "must have permissions 0600, or 0640, or less", name);
	}
	make_file("group", 32, 0640);
	ok(master_key_read(path("group"), &key, &failure), "the group may read it");
	make_file("read", 32, 0400);
	ok(master_key_read(path("read"), &key, &failure), "the owner may only read it");
	if (geteuid() == 0)
	{
		make_file("owned", 32, 0600);
		if (chown(path("owned"), 12345, 0) == 0)
			test_refused("owned", "must be owned by root or by the user who runs the program",
						 "another user's file");
	}
}

/* Encrypt and decrypt secrets of all lengths. */
static void
test_lengths(const MasterKey *key)
{
	unsigned char secret[MAX_SECRET_SIZE + 1];
	unsigned char plain[MAX_SECRET_SIZE];
	unsigned char ciphertext[MAX_CIPHERTEXT_SIZE];
	size_t size;
	size_t length;
	bool all = true;

	for (size_t i = 0; i < sizeof(secret); i++)
		secret[i] = (unsigned char) (i * 37);
	for (size_t i = 1; i <= MAX_SECRET_SIZE; i++)
	{
		all &= secret_encrypt(key, "AKID", secret, i, ciphertext, &size);
		all &= size == i + CIPHERTEXT_OVERHEAD;
		all &= secret_decrypt(key, "AKID", ciphertext, size, plain, &length);
		all &= length == i && memcmp(plain, secret, i) == 0;
	}
	ok(all, "secrets of 1 to %d bytes come back", MAX_SECRET_SIZE);
	ok(!secret_encrypt(key, "AKID", secret, 0, ciphertext, &size), "no empty secret");
	ok(!secret_encrypt(key, "AKID", secret, MAX_SECRET_SIZE + 1, ciphertext, &size),
	   "no secret that is too long");
}

static void
test_tampered(const MasterKey *key, const MasterKey *other)
{
	static const char secret[] = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
	unsigned char ciphertext[MAX_CIPHERTEXT_SIZE + 1] = {0};
	unsigned char again[MAX_CIPHERTEXT_SIZE];
	unsigned char plain[MAX_SECRET_SIZE];
	char long_id[KEY_ID_SIZE + 1] = {0};
	size_t size;
	size_t length;
	bool accepted = false;

	secret_encrypt(key, "AKIDONE", secret, strlen(secret), ciphertext, &size);
	ok(secret_decrypt(key, "AKIDONE", ciphertext, size, plain, &length), "a ciphertext");
	for (size_t bit = 0; bit < size * 8; bit++)
	{
		ciphertext[bit / 8] ^= (unsigned char) (1 << bit % 8);
		memset(plain, 0x55, sizeof(plain));
		accepted |= secret_decrypt(key, "AKIDONE", ciphertext, size, plain, &length);
		accepted |= length != 0 || memmem(plain, sizeof(plain), secret, 4) != NULL;
		ciphertext[bit / 8] ^= (unsigned char) (1 << bit % 8);
	}
	ok(!accepted, "every bit counts, and nothing comes out of what is wrong");
	accepted = false;
	for (size_t i = 0; i <= MAX_CIPHERTEXT_SIZE + 1; i++)
		accepted |= i != size && secret_decrypt(key, "AKIDONE", ciphertext, i, plain, &length);
	ok(!accepted, "so does every byte");
	ok(!secret_decrypt(key, "AKIDTWO", ciphertext, size, plain, &length),
	   "it is not another key's");
	ok(!secret_decrypt(key, "AKIDON", ciphertext, size, plain, &length),
	   "not even one that begins so");
	ok(!secret_decrypt(other, "AKIDONE", ciphertext, size, plain, &length), "another key file");
	memset(long_id, 'K', KEY_ID_SIZE);
	ok(!secret_encrypt(key, long_id, secret, 1, again, &size), "an id that is too long");
	secret_encrypt(key, "AKIDONE", secret, strlen(secret), again, &size);
	ok(memcmp(ciphertext, again, size) != 0, "the same secret has another ciphertext");
}

int
main(void)
{
	MasterKey key;
	MasterKey other;
	char *failure = NULL;
	char command[64];

	if (mkdtemp(folder) == NULL)
		return 1;
	test_key_file();
	if (!master_key_read(path("made"), &key, &failure) ||
		!master_key_read(path("other"), &other, &failure))
		return 1;
	test_lengths(&key);
	test_tampered(&key, &other);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) != 0 || failures > 0;
}
