/*
 * verify.c
 *	  Reads requests and says of each whether it is signed.
 *
 * Each field is a line with its size and then its bytes: key id, secret, time, method, path, query,
 * number of headers, their names and values, and the body.  The answer is a field too.
 */
#include "signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADERS 100

/* The next field; NULL at the end of the input. */
static char *
read_field(size_t *size)
{
	char *field;

	if (scanf("%zu", size) != 1 || getchar() != '\n')
		return NULL;
	field = calloc(1, *size + 1);
	if (field == NULL || fread(field, 1, *size, stdin) != *size)
		exit(2);
	return field;
}

static char *
read_string(void)
{
	size_t size;
	char *field = read_field(&size);

	if (field == NULL)
		exit(2);
	return field;
}

static size_t
read_number(void)
{
	char *field = read_string();
	size_t number = strtoul(field, NULL, 10);

	free(field);
	return number;
}

static void
write_answer(const char *first, const char *second)
{
	printf("%zu\n%s %s", strlen(first) + 1 + strlen(second), first, second);
	fflush(stdout);
}

/* Take this key alone. */
static void
set_key(Keys *keys, const char *key_id)
{
	AccessKey key = {.enabled = true, .valid_until = KEY_FOR_EVER};
	char *secret = read_field(&key.secret_length);

	if (secret == NULL || key.secret_length > MAX_SECRET_SIZE)
		exit(2);
	snprintf(key.caller.key_id, KEY_ID_SIZE, "%s", key_id);
	memcpy(key.secret, secret, key.secret_length);
	keys_replace(keys, &key, 1);
	free(secret);
}

/* Read and check one request. */
static void
verify(Signatures *signatures)
{
	time_t now = (time_t) read_number();
	char *method = read_string();
	char *path = read_string();
	char *query = read_string();
	Header headers[MAX_HEADERS];
	SignedRequest request = {.method = method, .path = path, .query = query, .headers = headers};
	char *body;
	Caller caller;
	Refusal refusal;

	request.header_count = read_number();
	if (request.header_count > MAX_HEADERS)
		exit(2);
	for (size_t i = 0; i < request.header_count; i++)
	{
		headers[i].name = read_string();
		headers[i].value = read_string();
	}
	body = read_field(&request.body_size);
	request.body = body;
	if (signature_verify(signatures, &request, now, &caller, &refusal))
		write_answer("signed by", caller.key_id);
	else
		write_answer(refusal.type, refusal.message);
	for (size_t i = 0; i < request.header_count; i++)
	{
		free((char *) headers[i].name);
		free((char *) headers[i].value);
	}
	free(refusal.message);
	free(method);
	free(path);
	free(query);
	free(body);
}

int
main(void)
{
	const SignatureSettings settings = {0};
	Keys *keys = keys_new();
	Signatures *signatures = signatures_new(keys, &settings);
	char *key_id;
	size_t size;

	while ((key_id = read_field(&size)) != NULL)
	{
		set_key(keys, key_id);
		free(key_id);
		verify(signatures);
	}
	signatures_free(signatures);
	keys_free(keys);
	return 0;
}
