/*
 * canonical_test.c
 *	  Signatures of requests of AWS's public test suite.
 *
 * The requests and their signatures are facts of the suite that comes with AWS's library aws-c-auth
 * (Copyright Amazon.com, Inc. or its affiliates, Apache License 2.0), written down anew.  Those are
 * left out that only differ in the path, which is "/" here, or have no header of a signature.
 */
#include "canonical.h"
#include "test.h"

#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define DATE "20150830T123600Z"
#define TOKEN \
	"AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpS" \
	"PfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDY" \
	"wT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqK" \
	"mlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
#define SHORT_TOKEN "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
#define UNRESERVED "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define BODY "Param1=value1"
#define BODY_HASH "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"

typedef struct Vector
{
	const char *name;
	const char *method;
	const char *query;
	Header headers[6]; /* beside Host and X-Amz-Date, which all have */
	const char *signed_headers;
	const char *body;
	const char *signature;
} Vector;

static const Vector vectors[] = {
	{"get-vanilla",
	 "GET",
	 NULL,
	 {{0}},
	 "host;x-amz-date",
	 "",
	 "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{"get-header-key-duplicate",
	 "GET",
	 NULL,
	 {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}},
	 "host;my-header1;x-amz-date",
	 "",
	 "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
	{"get-header-value-multiline",
	 "GET",
	 NULL,
	 {{"My-Header1", "value1\n  value2\n     value3"}},
	 "host;my-header1;x-amz-date",
	 "",
	 "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd"},
	{"get-header-value-order",
	 "GET",
	 NULL,
	 {{"My-Header1", "value4"},
	  {"My-Header1", "value1"},
	  {"My-Header1", "value3"},
	  {"My-Header1", "value2"}},
	 "host;my-header1;x-amz-date",
	 "",
	 "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
	{"get-header-value-trim",
	 "GET",
	 NULL,
	 {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}},
	 "host;my-header1;my-header2;x-amz-date",
	 "",
	 "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
	{"get-vanilla-empty-query-key",
	 "GET",
	 "Param1=value1",
	 {{0}},
	 "host;x-amz-date",
	 "",
	 "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
	{"get-vanilla-query",
	 "GET",
	 "",
	 {{0}},
	 "host;x-amz-date",
	 "",
	 "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{"get-vanilla-query-order-encoded",
	 "GET",
	 "Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
	 {{0}},
	 "host;x-amz-date",
	 "",
	 "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"},
	{"get-vanilla-query-order-key-case",
	 "GET",
	 "Param2=value2&Param1=value1",
	 {{0}},
	 "host;x-amz-date",
	 "",
	 "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	{"get-vanilla-query-unreserved",
	 "GET",
	 UNRESERVED "=" UNRESERVED,
	 {{0}},
	 "host;x-amz-date",
	 "",
	 "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
	{"get-vanilla-utf8-query",
	 "GET",
	 "\xe1\x88\xb4=bar",
	 {{0}},
	 "host;x-amz-date",
	 "",
	 "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
	{"get-vanilla-with-session-token",
	 "GET",
	 NULL,
	 {{"X-Amz-Security-Token", SHORT_TOKEN}},
	 "host;x-amz-date;x-amz-security-token",
	 "",
	 "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"},
	{"post-header-key-sort",
	 "POST",
	 NULL,
	 {{"My-Header1", "value1"}},
	 "host;my-header1;x-amz-date",
	 "",
	 "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
	{"post-header-value-case",
	 "POST",
	 NULL,
	 {{"My-Header1", "VALUE1"}},
	 "host;my-header1;x-amz-date",
	 "",
	 "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
	{"post-sts-header-after",
	 "POST",
	 NULL,
	 {{"X-Amz-Security-Token", TOKEN}},
	 "host;x-amz-date",
	 "",
	 "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{"post-sts-header-before",
	 "POST",
	 NULL,
	 {{"X-Amz-Security-Token", TOKEN}},
	 "host;x-amz-date;x-amz-security-token",
	 "",
	 "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
	{"post-vanilla",
	 "POST",
	 NULL,
	 {{0}},
	 "host;x-amz-date",
	 "",
	 "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{"post-vanilla, names in another order and case",
	 "POST",
	 NULL,
	 {{0}},
	 "X-Amz-Date;;HOST",
	 "",
	 "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{"post-vanilla-query",
	 "POST",
	 "Param1=value1",
	 {{0}},
	 "host;x-amz-date",
	 "",
	 "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
	{"post-x-www-form-urlencoded",
	 "POST",
	 NULL,
	 {{"Content-Type", "application/x-www-form-urlencoded"},
	  {"Content-Length", "13"},
	  {"x-amz-content-sha256", BODY_HASH}},
	 "content-length;content-type;host;x-amz-content-sha256;x-amz-date",
	 BODY,
	 "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"},
	{"post-x-www-form-urlencoded-parameters",
	 "POST",
	 NULL,
	 {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"},
	  {"Content-Length", "13"},
	  {"x-amz-content-sha256", BODY_HASH}},
	 "content-length;content-type;host;x-amz-content-sha256;x-amz-date",
	 BODY,
	 "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422"},
};

/* The signature that we make of a vector's request. */
static bool
sign_vector(const Vector *vector, char signature[HASH_HEX_SIZE])
{
	Header headers[8] = {{"Host", "example.amazonaws.com"}, {"X-Amz-Date", DATE}};
	SignedRequest request = {.method = vector->method,
							 .path = "/",
							 .query = vector->query,
							 .headers = headers,
							 .header_count = 2,
							 .body = vector->body,
							 .body_size = strlen(vector->body)};
	HeaderNames names;
	Text canonical = {0};
	Text to_sign = {0};
	char hash[HASH_HEX_SIZE];
	unsigned char key[HASH_SIZE];
	bool done;

	for (const Header *header = vector->headers; header->name != NULL; header++)
		headers[request.header_count++] = *header;
	done = header_names_parse(vector->signed_headers, strlen(vector->signed_headers), &names) &&
		   hash_hex(request.body, request.body_size, hash);
	canonical_request(&request, &names, hash, &canonical);
	done = done &&
		   string_to_sign(DATE, "20150830/us-east-1/service/aws4_request", &canonical, &to_sign) &&
		   signing_key(SECRET, strlen(SECRET), "20150830", "us-east-1", "service", key) &&
		   sign(key, &to_sign, signature) && !canonical.failed && !to_sign.failed;
	header_names_free(&names);
	text_free(&canonical);
	text_free(&to_sign);
	return done;
}

/* What the query becomes. */
static void
test_query(const char *query, const char *expected)
{
	SignedRequest request = {.method = "POST", .path = "/", .query = query};
	HeaderNames names = {0};
	Text canonical = {0};
	char whole[256];

	snprintf(whole, sizeof(whole), "POST\n/\n%s\n\n\nhash", expected);
	canonical_request(&request, &names, "hash", &canonical);
	is(canonical.data, whole, query);
	text_free(&canonical);
}

/* A name that is listed often counts once: the canonical request is not longer than the header. */
static void
test_repeated_names(void)
{
	static char value[16384];
	static char list[32768];
	Header header = {"x", value};
	SignedRequest request = {.method = "POST", .path = "/", .headers = &header, .header_count = 1};
	HeaderNames names;
	Text canonical = {0};

	memset(value, 'v', sizeof(value) - 1);
	for (size_t i = 0; i < sizeof(list); i += 2)
		memcpy(list + i, "x;", 2);
	if (!ok(header_names_parse(list, sizeof(list), &names), "a long list of names"))
		return;
	ok(names.count == 1, "a name counts once");
	canonical_request(&request, &names, "hash", &canonical);
	ok(canonical.length < sizeof(value) + 100, "the value is there once");
	text_free(&canonical);
	header_names_free(&names);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++)
	{
		char signature[HASH_HEX_SIZE] = "";

		sign_vector(&vectors[i], signature);
		is(signature, vectors[i].signature, vectors[i].name);
	}
	test_query("b&a", "a=&b=");
	test_query("&&a=1&", "a=1");
	test_query("a=2&a=1&a", "a=&a=1&a=2");
	test_query("=x", "=x");
	test_query("a=b=c", "a=b%3Dc");
	test_query("a=+%2b%41%zz%2", "a=%2B%2BA%25zz%252");
	test_query("%", "%25=");
	test_query("a-=1&a=2", "a=2&a-=1");
	test_repeated_names();
	return failures > 0;
}
