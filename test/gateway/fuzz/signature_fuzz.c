/*
 * signature_fuzz.c
 *	  libFuzzer harness over the check of signatures.
 *
 * The input is lines: the query, Authorization, X-Amz-Date, then headers as "name:value" up to an
 * empty line; the rest is the body.  If the first byte is odd, the request is signed here with all
 * its headers: then it has to be accepted, and refused after a change.  Otherwise it has to be
 * refused.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../fuzz/check.h"
#include "signature.h"
#include "utf8.h"

#define KEY_ID "AKIDEXAMPLE"
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define DATE "20130609T100015Z"
#define DAY "20130609"
#define NOW ((time_t) 1370772015)
#define MAX_HEADERS 32
#define AUTHORIZATION_SIZE 16384

static Keys *keys;
static Signatures *signatures;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One key, and messages with the strings that should have been signed. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const SignatureSettings settings = {.debug = true};
	AccessKey key = {.enabled = true, .valid_until = KEY_FOR_EVER};

	(void) argc;
	(void) argv;
	strcpy(key.caller.key_id, KEY_ID);
	key.secret_length = strlen(SECRET);
	memcpy(key.secret, SECRET, key.secret_length);
	keys = keys_new();
	signatures = signatures_new(keys, &settings);
	CHECK(keys != NULL && signatures != NULL && keys_replace(keys, &key, 1));
	return 0;
}

/* Cut the next line off. */
static char *
next_line(char **text)
{
	char *line = *text;
	char *end = strchr(line, '\n');

	if (end == NULL)
		*text += strlen(line);
	else
	{
		*end = '\0';
		*text = end + 1;
	}
	return line;
}

/* Read headers up to an empty line. */
static void
read_headers(char **text, SignedRequest *request, Header *headers)
{
	char *line;

	while (request->header_count < MAX_HEADERS - 4 && *(line = next_line(text)) != '\0')
	{
		char *colon = strchr(line, ':');
		Header *header = &headers[request->header_count++];

		header->name = line;
		header->value = "";
		if (colon != NULL)
		{
			*colon = '\0';
			header->value = colon + 1;
		}
	}
}

/* Check twice: what the first check leaves in the cache changes nothing. */
static bool
verify(const SignedRequest *request)
{
	bool valid[2];
	const char *reason = NULL;
	char region[REGION_SIZE];

	signature_region(request, region);
	CHECK(strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(region) &&
		  strlen(region) < REGION_SIZE);

	for (int i = 0; i < 2; i++)
	{
		Caller caller;
		Refusal refusal;

		valid[i] = signature_verify(signatures, request, NOW, &caller, &refusal);
		if (valid[i])
			CHECK(strcmp(caller.key_id, KEY_ID) == 0 && refusal.message == NULL);
		else
		{
			CHECK(refusal.message != NULL);
			for (char *c = refusal.message; *c != '\0'; c += utf8_length(c, strlen(c)))
				CHECK(utf8_length(c, strlen(c)) > 0);
			CHECK(reason == NULL || reason == refusal.reason);
			reason = refusal.reason;
		}
		free(refusal.message);
	}
	CHECK(valid[0] == valid[1]);
	return valid[0];
}

/* Whether the name is none that the harness or the protocol gives a meaning. */
static bool
is_plain(const char *name)
{
	static const char *const special[] = {"authorization", "x-amz-date", "x-amz-content-sha256",
										  "x-amz-security-token", "date"};

	if (*name == '\0' || strpbrk(name, "; ,\t") != NULL)
		return false;
	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
	{
		if (strcasecmp(name, special[i]) == 0)
			return false;
	}
	return true;
}

/* Sign the request with all its headers.  False: their names are too long. */
static bool
sign_request(SignedRequest *request, Header *headers, char *authorization)
{
	static char list[AUTHORIZATION_SIZE / 2];
	HeaderNames names;
	Text canonical = {0};
	Text to_sign = {0};
	char hash[HASH_HEX_SIZE];
	char signature[HASH_HEX_SIZE];
	unsigned char key[HASH_SIZE];
	size_t length = 0;

	for (size_t i = 0; i < request->header_count; i++)
	{
		size_t name_length = strlen(headers[i].name);

		if (length + name_length + 2 > sizeof(list))
			return false;
		memcpy(list + length, headers[i].name, name_length);
		length += name_length;
		list[length++] = ';';
	}
	list[length] = '\0';
	CHECK(header_names_parse(list, length, &names));
	CHECK(hash_hex(request->body, request->body_size, hash));
	canonical_request(request, &names, hash, &canonical);
	CHECK(string_to_sign(DATE, DAY "/r/dynamodb/aws4_request", &canonical, &to_sign));
	CHECK(signing_key(SECRET, strlen(SECRET), DAY, "r", "dynamodb", key));
	CHECK(sign(key, &to_sign, signature));
	snprintf(authorization, AUTHORIZATION_SIZE,
			 "AWS4-HMAC-SHA256 Credential=" KEY_ID "/" DAY
			 "/r/dynamodb/aws4_request,SignedHeaders=%s,Signature=%s",
			 list, signature);
	headers[request->header_count++] = (Header){"Authorization", authorization};
	header_names_free(&names);
	text_free(&canonical);
	text_free(&to_sign);
	return true;
}

/* Change a byte of a value in a way that counts: blanks may be changed into each other. */
static bool
change_value(char *value, unsigned where)
{
	size_t length = strlen(value);
	char *c;

	if (length == 0)
		return false;
	c = value + where % length;
	if (isspace((unsigned char) *c))
		return false;
	*c = *c == 'x' ? 'y' : 'x';
	return true;
}

/* A request that is signed here, and then changed. */
static void
test_signed(SignedRequest *request, Header *headers, char *body, unsigned choice)
{
	static char authorization[AUTHORIZATION_SIZE];
	size_t kept = 0;

	for (size_t i = 0; i < request->header_count; i++)
	{
		if (is_plain(headers[i].name))
			headers[kept++] = headers[i];
	}
	request->header_count = kept;
	headers[request->header_count++] = (Header){"Host", "localhost"};
	headers[request->header_count++] = (Header){"X-Amz-Date", DATE};
	if (strncmp(request->query, "X-Amz-Algorithm", 15) == 0 ||
		strstr(request->query, "&X-Amz-Algorithm") != NULL ||
		!sign_request(request, headers, authorization))
		return;
	CHECK(verify(request));
	if (kept > 0 && choice % 2 == 0)
	{
		if (!change_value((char *) headers[choice / 2 % kept].value, choice / 64))
			return;
	}
	else if (request->body_size > 0)
		body[choice / 2 % request->body_size] ^= 1;
	else
		return;
	CHECK(!verify(request));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Header headers[MAX_HEADERS];
	SignedRequest request = {.method = "POST", .path = "/", .headers = headers};
	char *text;
	char *rest;
	char *authorization;
	char *date;

	if (size < 3)
		return 0;
	text = malloc(size - 2);
	memcpy(text, data + 3, size - 3);
	text[size - 3] = '\0';
	rest = text;
	request.query = next_line(&rest);
	authorization = next_line(&rest);
	date = next_line(&rest);
	read_headers(&rest, &request, headers);
	request.body = rest;
	request.body_size = size - 3 - (size_t) (rest - text);
	if (data[0] % 2 == 1)
		test_signed(&request, headers, rest, data[1] | (unsigned) data[2] << 8);
	else
	{
		headers[request.header_count++] = (Header){"Authorization", authorization};
		headers[request.header_count++] = (Header){"X-Amz-Date", date};
		CHECK(!verify(&request));
	}
	free(text);
	return 0;
}
