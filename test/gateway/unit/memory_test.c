/*
 * memory_test.c
 *	  Lack of memory, at every place in turn: nothing breaks or leaks, and nobody is let in by it.
 *
 * The linker puts the functions here in place of those of the C library, for the gateway's files.
 */
#include "test.h"

#include <stdlib.h>
#include <zlib.h>

#include "body.h"
#include "signature.h"

#define KEY "AKIDEXAMPLE"
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define NOW ((time_t) 1370772015)
#define DATE "20130609T100015Z"
#define SCOPE "20130609/us-east-1/dynamodb/aws4_request"
#define SIGNED "a;host;x-amz-date"

/* How many allocations are granted yet; negative: all. */
static int granted = -1;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
char *__real_strdup(const char *string);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strdup(const char *string);

static bool
is_granted(void)
{
	if (granted < 0)
		return true;
	if (granted == 0)
		return false;
	granted--;
	return true;
}

void *
__wrap_malloc(size_t size)
{
	return is_granted() ? __real_malloc(size) : NULL;
}

void *
__wrap_calloc(size_t count, size_t size)
{
	return is_granted() ? __real_calloc(count, size) : NULL;
}

void *
__wrap_realloc(void *block, size_t size)
{
	return is_granted() ? __real_realloc(block, size) : NULL;
}

char *
__wrap_strdup(const char *string)
{
	return is_granted() ? __real_strdup(string) : NULL;
}

/* Sign a request. */
static void
sign_request(const SignedRequest *request, char *signature)
{
	HeaderNames names;
	Text canonical = {0};
	Text to_sign = {0};
	char hash[HASH_HEX_SIZE];
	unsigned char key[HASH_SIZE];

	header_names_parse(SIGNED, strlen(SIGNED), &names);
	hash_hex(request->body, request->body_size, hash);
	canonical_request(request, &names, hash, &canonical);
	string_to_sign(DATE, SCOPE, &canonical, &to_sign);
	signing_key(SECRET, strlen(SECRET), "20130609", "us-east-1", "dynamodb", key);
	sign(key, &to_sign, signature);
	header_names_free(&names);
	text_free(&canonical);
	text_free(&to_sign);
}

/* Check a request with ever more memory, until it is enough.  Only what is signed is ever valid. */
static void
test_verify(const SignatureSettings *settings, const SignedRequest *request, bool valid,
			const char *name)
{
	bool good = true;
	bool enough = false;
	int n;

	for (n = 0; n < 10000 && !enough; n++)
	{
		AccessKey key = {
			.enabled = true, .valid_until = KEY_FOR_EVER, .secret_length = strlen(SECRET)};
		Keys *keys = keys_new();
		Signatures *signatures = signatures_new(keys, settings);
		Caller caller;
		Refusal refusal;

		strcpy(key.caller.key_id, KEY);
		memcpy(key.secret, SECRET, strlen(SECRET));
		keys_replace(keys, &key, 1);
		granted = n;
		if (signature_verify(signatures, request, NOW, &caller, &refusal))
			enough = good &= valid;
		else
			enough = refusal.message != NULL;
		granted = -1;
		good &= refusal.message == NULL || !valid;
		free(refusal.message);
		signatures_free(signatures);
		keys_free(keys);
	}
	ok(good && enough && n > 1, "%s: %d allocations", name, n - 1);
}

static void
test_signatures(void)
{
	static char long_value[3000];
	static char authorization[512];
	const SignatureSettings settings[] = {
		{0}, {.region = "eu-west-1", .debug = true}, {.debug = true}};
	Header headers[] = {{"Host", "localhost"},
						{"X-Amz-Date", DATE},
						{"A", long_value},
						{"Authorization", authorization}};
	SignedRequest request = {.method = "POST",
							 .path = "/",
							 .query = "b=c&a=%20",
							 .headers = headers,
							 .header_count = 4,
							 .body = "{}",
							 .body_size = 2};
	char signature[HASH_HEX_SIZE];

	memset(long_value, 'v', sizeof(long_value) - 1);
	sign_request(&request, signature);
	snprintf(authorization, sizeof(authorization),
			 "AWS4-HMAC-SHA256 Credential=" KEY "/" SCOPE ", SignedHeaders=" SIGNED
			 ", Signature=%s",
			 signature);
	test_verify(&settings[0], &request, true, "a signed request");
	test_verify(&settings[1], &request, false, "another region");
	request.body = "[]";
	test_verify(&settings[2], &request, false, "a mismatch, with its strings");
	memcpy(strstr(authorization, KEY), "BKID", 4);
	test_verify(&settings[0], &request, false, "an unknown key");
	memcpy(strstr(authorization, "Signed"), "signed", 6);
	test_verify(&settings[0], &request, false, "an incomplete header");
}

static void
test_new(void)
{
	const SignatureSettings settings = {.region = "eu-west-1"};
	Keys *keys = NULL;
	Signatures *signatures = NULL;
	int n;

	for (n = 0; n < 100 && signatures == NULL; n++)
	{
		granted = n;
		keys = keys_new();
		if (keys != NULL)
			signatures = signatures_new(keys, &settings);
		granted = -1;
		if (signatures == NULL)
			keys_free(keys);
	}
	ok(signatures != NULL && n > 3, "begin: %d allocations", n - 1);
	granted = 0;
	ok(!keys_replace(keys, NULL, 0) && !keys_loaded(keys), "keys stay without memory for others");
	granted = -1;
	signatures_free(signatures);
	keys_free(keys);
}

static void
test_body(void)
{
	static unsigned char packed[2000];
	static char text[100000];
	uLongf size = sizeof(packed);
	Body received = {0};
	bool good = true;
	BodyResult result = BODY_NO_MEMORY;
	int n;

	compress(packed, &size, (Bytef *) text, sizeof(text));
	body_add(&received, packed, size);
	for (n = 0; n < 1000 && result != BODY_OK; n++)
	{
		Body body = {0};

		granted = n;
		result = body_inflate(&received, BODY_DEFLATE, &body);
		granted = -1;
		good &= result == BODY_OK ? body.size == sizeof(text) : result == BODY_NO_MEMORY;
		body_free(&body);
	}
	ok(good && result == BODY_OK && n > 2, "inflate: %d allocations", n - 1);
	body_free(&received);
}

int
main(void)
{
	test_new();
	test_signatures();
	test_body();
	return failures > 0;
}
