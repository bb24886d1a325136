/*
 * signature_test.c
 *	  The refusals of signatures, word for word, and what is accepted.
 *
 * Requests are signed here by the gateway's own functions; botocore_test.py has botocore sign them.
 */
#include "signature.h"
#include "test.h"

#include <stdlib.h>

#define KEY "AKIDEXAMPLE"
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define DATE "20130609T100015Z"
#define NOW ((time_t) 1370772015)
#define SCOPE "20130609/us-east-1/dynamodb/aws4_request"
#define SIGNED "host;x-amz-date;x-amz-target"
#define TARGET "DynamoDB_20120810.GetItem"

#define INCOMPLETE "com.amazon.coral.service#IncompleteSignatureException"
#define INVALID "com.amazon.coral.service#InvalidSignatureException"
#define MISSING "com.amazon.coral.service#MissingAuthenticationTokenException"
#define UNRECOGNIZED "com.amazon.coral.service#UnrecognizedClientException"
#define EXPIRED "com.amazon.coral.service#ExpiredTokenException"
#define MISMATCH \
	INVALID " The request signature we calculated does not match the signature you provided." \
			" Check your AWS Secret Access Key and signing method. Consult the service" \
			" documentation for details."
#define UNKNOWN UNRECOGNIZED " The security token included in the request is invalid."
#define VALID "signed by " KEY

#define MAX_HEADERS 12

/* A request that is to be checked. */
typedef struct Trial
{
	SignedRequest request;
	Header headers[MAX_HEADERS];
	char authorization[1024];
} Trial;

static Keys *keys;
static Signatures *any_region;
static char answer[65536];

static AccessKey
make_key(const char *id, const char *secret)
{
	AccessKey key = {.enabled = true, .valid_until = KEY_FOR_EVER};

	snprintf(key.caller.key_id, KEY_ID_SIZE, "%s", id);
	snprintf(key.caller.role_name, ROLE_NAME_SIZE, "tenant");
	key.caller.role = 12345;
	key.secret_length = strlen(secret);
	memcpy(key.secret, secret, key.secret_length);
	return key;
}

/* A request without a signature. */
static void
begin(Trial *trial)
{
	*trial = (Trial){
		.headers = {{"Host", "localhost:8000"}, {"X-Amz-Date", DATE}, {"X-Amz-Target", TARGET}}};
	trial->request = (SignedRequest){.method = "POST",
									 .path = "/",
									 .headers = trial->headers,
									 .header_count = 3,
									 .body = "{}",
									 .body_size = 2};
}

static void
add_header(Trial *trial, const char *name, const char *value)
{
	trial->headers[trial->request.header_count++] = (Header){name, value};
}

static void
set_header(Trial *trial, const char *name, const char *value)
{
	for (size_t i = 0; i < trial->request.header_count; i++)
	{
		if (strcmp(trial->headers[i].name, name) == 0)
			trial->headers[i].value = value;
	}
}

static void
remove_header(Trial *trial, const char *name)
{
	for (size_t i = 0; i < trial->request.header_count; i++)
	{
		if (strcmp(trial->headers[i].name, name) == 0)
			trial->headers[i--] = trial->headers[--trial->request.header_count];
	}
}

/* Sign the request as it is, in this scope, and add the header. */
static void
sign_trial(Trial *trial, const char *secret, size_t secret_length, const char *credential,
		   const char *signed_headers, const char *date)
{
	HeaderNames names;
	Text canonical = {0};
	Text to_sign = {0};
	char hash[HASH_HEX_SIZE];
	char signature[HASH_HEX_SIZE];
	unsigned char key[HASH_SIZE];
	char day[9] = "";
	char region[128] = "";

	sscanf(strchr(credential, '/') + 1, "%8[^/]/%127[^/]", day, region);
	header_names_parse(signed_headers, strlen(signed_headers), &names);
	hash_hex(trial->request.body, trial->request.body_size, hash);
	canonical_request(&trial->request, &names, hash, &canonical);
	string_to_sign(date, strchr(credential, '/') + 1, &canonical, &to_sign);
	signing_key(secret, secret_length, day, region, "dynamodb", key);
	sign(key, &to_sign, signature);
	snprintf(trial->authorization, sizeof(trial->authorization),
			 "AWS4-HMAC-SHA256 Credential=%s, SignedHeaders=%s, Signature=%s", credential,
			 signed_headers, signature);
	add_header(trial, "Authorization", trial->authorization);
	header_names_free(&names);
	text_free(&canonical);
	text_free(&to_sign);
}

/* A request with a right signature. */
static void
begin_signed(Trial *trial)
{
	begin(trial);
	sign_trial(trial, SECRET, strlen(SECRET), KEY "/" SCOPE, SIGNED, DATE);
}

/* A request with this header. */
static void
begin_with(Trial *trial, const char *authorization)
{
	begin(trial);
	add_header(trial, "Authorization", authorization);
}

/* What is said of a request: type and message, or who signed it. */
static const char *
verify_by(Signatures *signatures, const Trial *trial, time_t now)
{
	Caller caller;
	Refusal refusal;

	if (signature_verify(signatures, &trial->request, now, &caller, &refusal))
		snprintf(answer, sizeof(answer), "signed by %s", caller.key_id);
	else
		snprintf(answer, sizeof(answer), "%s %s", refusal.type, refusal.message);
	free(refusal.message);
	return answer;
}

static const char *
verify(const Trial *trial)
{
	return verify_by(any_region, trial, NOW);
}

static void
test_presence(void)
{
	Trial trial;

	begin_signed(&trial);
	trial.request.query = "a=b&X-Amz-Algorithm=AWS4-HMAC-SHA256";
	is(verify(&trial),
	   INVALID " Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP"
			   " header.",
	   "header and query");
	begin(&trial);
	is(verify(&trial), MISSING " Request is missing Authentication Token", "no signature");
	trial.request.query = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0";
	is(verify(&trial), MISSING " Request is missing Authentication Token", "presigned");
	begin_with(&trial, "");
	is(verify(&trial), MISSING " Request is missing Authentication Token", "empty header");
	begin_with(&trial, "Basic QTpC");
	is(verify(&trial), MISSING " Request is missing Authentication Token", "another scheme");
	begin_with(&trial, "aws4-hmac-sha256 Credential=a");
	is(verify(&trial), MISSING " Request is missing Authentication Token", "in lower case");
}

#define NO_CREDENTIAL "Authorization header requires 'Credential' parameter. "
#define NO_SIGNATURE "Authorization header requires 'Signature' parameter. "
#define NO_HEADERS "Authorization header requires 'SignedHeaders' parameter. "
#define NO_DATE \
	"Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "

static void
test_parts(void)
{
	Trial trial;

	begin_with(&trial, " AWS4- ");
	remove_header(&trial, "X-Amz-Date");
	is(verify(&trial),
	   INCOMPLETE " " NO_CREDENTIAL NO_SIGNATURE NO_HEADERS NO_DATE "Authorization=AWS4-",
	   "no parts");
	begin_with(&trial, "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host");
	is(verify(&trial),
	   INCOMPLETE " " NO_SIGNATURE
				  "Authorization=AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host",
	   "no signature");
	begin_with(&trial, "AWS4-X Signature=a,Credential=a");
	is(verify(&trial), INCOMPLETE " " NO_HEADERS "Authorization=AWS4-X Signature=a,Credential=a",
	   "no names of headers");
	begin_with(&trial, "AWS4-X Signature=,Credential,SignedHeaders=host");
	is(verify(&trial),
	   INCOMPLETE " " NO_CREDENTIAL NO_SIGNATURE
				  "Authorization=AWS4-X Signature=,Credential,SignedHeaders=host",
	   "parts without a value");
	begin_with(&trial, "AWS4-X Signature=a,Credential=a,SignedHeaders=host,Signature=b");
	is(verify(&trial),
	   INCOMPLETE " " NO_SIGNATURE
				  "Authorization=AWS4-X Signature=a,Credential=a,SignedHeaders=host,Signature=b",
	   "a part that is there twice");
	begin_with(&trial, "AWS4-X Credential=\xff\xc3\xa4");
	is(verify(&trial),
	   INCOMPLETE " " NO_SIGNATURE NO_HEADERS "Authorization=AWS4-X Credential=?\xc3\xa4",
	   "bytes that are not UTF-8");
	begin_signed(&trial);
	remove_header(&trial, "X-Amz-Date");
	set_header(&trial, "Authorization", "AWS4-X Signature=a,Credential=a,SignedHeaders=host");
	is(verify(&trial),
	   INCOMPLETE " " NO_DATE "Authorization=AWS4-X Signature=a,Credential=a,SignedHeaders=host",
	   "no date");
	begin_signed(&trial);
	add_header(&trial, "Authorization", trial.authorization);
	ok(strncmp(verify(&trial), INCOMPLETE " " NO_CREDENTIAL NO_SIGNATURE NO_HEADERS "Auth",
			   strlen(INCOMPLETE " " NO_CREDENTIAL NO_SIGNATURE NO_HEADERS "Auth")) == 0,
	   "two Authorization headers");
}

static void
test_date(void)
{
	static const char *const wrong[] = {"201",
										"20130609T100015",
										"20130609T100015Zx",
										"2013-06-09T10:00:15Z",
										"20131309T100015Z",
										"20130230T100015Z",
										"20130609T250015Z",
										"20130609T106015Z",
										"Sun, 09 Jun 2013 10:00:15 CET",
										"Xxx, 09 Jun 2013 10:00:15 GMT",
										"Sun, 31 Jun 2013 10:00:15 GMT",
										"20130609T100015Z, 20130609T100015Z"};
	Trial trial;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
	{
		char expected[512];

		begin_signed(&trial);
		set_header(&trial, "X-Amz-Date", wrong[i]);
		snprintf(expected, sizeof(expected),
				 INCOMPLETE " Date must be in ISO-8601 'basic format'. Got '%s'. See"
							" http://en.wikipedia.org/wiki/ISO_8601",
				 wrong[i]);
		is(verify(&trial), expected, wrong[i]);
	}
	begin_signed(&trial);
	add_header(&trial, "x-amz-date", DATE);
	is(verify(&trial),
	   INCOMPLETE " Date must be in ISO-8601 'basic format'. Got '" DATE ", " DATE
				  "'. See http://en.wikipedia.org/wiki/ISO_8601",
	   "two dates");
}

/* Requests that were recorded and are sent again, and clocks that are wrong. */
static void
test_clock(void)
{
	Trial trial;

	begin_signed(&trial);
	is(verify(&trial), VALID, "the same request");
	is(verify(&trial), VALID, "and again: the protocol has no protection but time");
	is(verify_by(any_region, &trial, NOW + 900), VALID, "15 minutes late");
	is(verify_by(any_region, &trial, NOW - 900), VALID, "15 minutes early");
	is(verify_by(any_region, &trial, NOW + 901),
	   INVALID " Signature expired: 20130609T100015Z is now earlier than 20130609T100016Z"
			   " (20130609T101516Z - 15 min.)",
	   "a second too late");
	is(verify_by(any_region, &trial, NOW - 901),
	   INVALID " Signature not yet current: 20130609T100015Z is still later than"
			   " 20130609T100014Z (20130609T094514Z + 15 min.)",
	   "a second too early");
	begin_signed(&trial);
	set_header(&trial, "X-Amz-Date", "20130609T100016Z");
	is(verify_by(any_region, &trial, NOW + 901), MISMATCH, "replayed with a new date");
	begin_signed(&trial);
	set_header(&trial, "X-Amz-Date", "00010101T000000Z");
	is(verify(&trial),
	   INVALID " Signature expired: 00010101T000000Z is now earlier than 20130609T094515Z"
			   " (20130609T100015Z - 15 min.)",
	   "the year 1");
	begin_signed(&trial);
	set_header(&trial, "X-Amz-Date", "99991231T235959Z");
	is(verify(&trial),
	   INVALID " Signature not yet current: 99991231T235959Z is still later than"
			   " 20130609T101515Z (20130609T100015Z + 15 min.)",
	   "the year 9999");
}

static void
test_date_header(void)
{
	Trial trial;

	begin(&trial);
	remove_header(&trial, "X-Amz-Date");
	add_header(&trial, "Date", "Sun, 09 Jun 2013 10:00:15 GMT");
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, "date;host;x-amz-target", DATE);
	is(verify(&trial), VALID, "Date instead of X-Amz-Date");
	begin(&trial);
	remove_header(&trial, "X-Amz-Date");
	add_header(&trial, "Date", DATE);
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, "date;host;x-amz-target", DATE);
	is(verify(&trial), VALID, "Date in the other's format");
	begin(&trial);
	add_header(&trial, "Date", "nonsense");
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, SIGNED, DATE);
	is(verify(&trial), VALID, "X-Amz-Date counts if both are there");
}

static void
test_signed_headers(void)
{
	Trial trial;

	begin(&trial);
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, "x-amz-date;x-amz-target", DATE);
	is(verify(&trial), INVALID " 'Host' must be a 'SignedHeader' in the AWS Authorization.",
	   "Host is not signed");
	begin_with(&trial, "AWS4-X Credential=a,Signature=b,SignedHeaders=");
	is(verify(&trial), INVALID " 'Host' must be a 'SignedHeader' in the AWS Authorization.",
	   "no header is signed");
	begin(&trial);
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, "host;x-amz-date", DATE);
	is(verify(&trial), INVALID " 'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization.",
	   "X-Amz-Target is not signed");
	begin_signed(&trial);
	add_header(&trial, "x-amz-Meta", "1");
	is(verify(&trial), INVALID " 'x-amz-Meta' must be a 'SignedHeader' in the AWS Authorization.",
	   "another header of AWS is not signed");
	begin_signed(&trial);
	add_header(&trial, "X-Amz-Target", "DynamoDB_20120810.DeleteTable");
	is(verify(&trial), MISMATCH, "a second X-Amz-Target");
	begin_signed(&trial);
	set_header(&trial, "X-Amz-Target", "DynamoDB_20120810.DeleteTable");
	is(verify(&trial), MISMATCH, "another X-Amz-Target");
	begin_signed(&trial);
	add_header(&trial, "X-Amzn-Trace-Id", "Root=1");
	add_header(&trial, "X-Forwarded-For", "127.0.0.1");
	is(verify(&trial), VALID, "what proxies add");
	begin(&trial);
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, "HOST;X-AMZ-TARGET;x-amz-date", DATE);
	is(verify(&trial), VALID, "names in another case and order");
	begin(&trial);
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE,
			   "host;not-there;x-amz-date;x-amz-target", DATE);
	is(verify(&trial), VALID, "a header that is not there was signed as empty");
	begin_signed(&trial);
	set_header(&trial, "Host", "localhost:8001");
	is(verify(&trial), MISMATCH, "another Host");
}

static void
test_algorithm(void)
{
	Trial trial;

	begin_signed(&trial);
	memmove(trial.authorization + 15, trial.authorization + 16, strlen(trial.authorization) - 15);
	is(verify(&trial),
	   INCOMPLETE
	   " Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). ",
	   "another algorithm");
	begin_with(&trial, "AWS4-HMAC-SHA256Credential=a SignedHeaders=host;x-amz-date;x-amz-target "
					   "Signature=b Credential=a");
	is(verify(&trial),
	   INCOMPLETE " Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA256Credential=a' (only "
				  "AWS4-HMAC-SHA256 for now). ",
	   "no blank after the algorithm");
}

/* What is said of a Credential. */
static const char *
verify_credential(Signatures *signatures, const char *credential)
{
	static char authorization[1024];
	Trial trial;

	snprintf(authorization, sizeof(authorization),
			 "AWS4-HMAC-SHA256 Credential=%s, SignedHeaders=" SIGNED ", Signature=0", credential);
	begin_with(&trial, authorization);
	return verify_by(signatures, &trial, NOW);
}

#define FIVE \
	INCOMPLETE " Credential must have exactly 5 slash-delimited elements, e.g." \
			   " keyid/date/region/service/term, got '"
#define NO_REGION "Credential should be scoped to a valid region, not '"
#define NO_SERVICE "Credential should be scoped to correct service: 'dynamodb'. "
#define NO_TERMINATOR "Credential should be scoped with a valid terminator: 'aws4_request', not '"
#define NO_DAY \
	"Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '"

static void
test_scope(void)
{
	const SignatureSettings settings = {.region = "eu-west-1"};
	Signatures *one_region = signatures_new(keys, &settings);
	Trial trial;

	is(verify_credential(any_region, "a"), FIVE "a'", "one element");
	is(verify_credential(any_region, "a/b"), FIVE "a/b'", "two elements");
	is(verify_credential(any_region, "a/b/c/d/e/f"), FIVE "a/b/c/d/e/f'", "six elements");
	is(verify_credential(any_region, "///"), FIVE "///'", "slashes alone");
	is(verify_credential(any_region, KEY "/20130609/r/dynamodb/aws4_request"), MISMATCH,
	   "any region");
	is(verify_credential(any_region, "a/20130609/r/dynamodb/aws4_request//"), UNKNOWN,
	   "slashes at the end do not count");
	is(verify_credential(one_region, "a/b/c/d/e"),
	   INVALID " " NO_REGION "c'. " NO_SERVICE NO_TERMINATOR "e'. " NO_DAY
			   "b' != '20130609', from '20130609T100015Z'.",
	   "all of the scope is wrong");
	is(verify_credential(any_region, "a/20130609//dynamodb/aws4_request"),
	   INVALID " " NO_REGION "'. ", "no region");
	is(verify_credential(any_region, "a/20130609/r/DynamoDB/aws4_request"), INVALID " " NO_SERVICE,
	   "another service");
	is(verify_credential(any_region, "a/20130609/r/dynamodb/aws4"),
	   INVALID " " NO_TERMINATOR "aws4'. ", "another terminator");
	is(verify_credential(any_region, "a/20130608/r/dynamodb/aws4_request"),
	   INVALID " " NO_DAY "20130608' != '20130609', from '20130609T100015Z'.", "another day");
	begin_signed(&trial);
	is(verify_by(one_region, &trial, NOW), INVALID " " NO_REGION "us-east-1'. ", "another region");
	begin(&trial);
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/20130609/eu-west-1/dynamodb/aws4_request",
			   SIGNED, DATE);
	is(verify_by(one_region, &trial, NOW), VALID, "the region of the setting");
	begin(&trial);
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/20130609/eu-west-1/dynamodb/aws4_request",
			   SIGNED, DATE);
	memcpy(strstr(trial.authorization, "eu-west-1"), "us-east-1", 9);
	is(verify(&trial), MISMATCH, "the region is part of what is signed");
	signatures_free(one_region);
}

static void
test_keys(void)
{
	static const char *const unknown[] = {"AKIDOTHER", "", "akidexample", KEY " "};
	const SignatureSettings settings = {.refuse_tokens = true};
	Signatures *refusing = signatures_new(keys, &settings);
	Trial trial;

	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
	{
		char credential[128];

		snprintf(credential, sizeof(credential), "%s/" SCOPE, unknown[i]);
		begin(&trial);
		sign_trial(&trial, SECRET, strlen(SECRET), credential, SIGNED, DATE);
		ok(strstr(verify(&trial), "signed by") == NULL, "unknown key \"%s\"", unknown[i]);
	}
	begin(&trial);
	sign_trial(&trial, SECRET, strlen(SECRET), "AKIDOTHER/" SCOPE, SIGNED, DATE);
	is(verify(&trial), UNKNOWN, "unknown key");
	begin(&trial);
	sign_trial(&trial,
			   "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
			   40, "AKIDOTHER/" SCOPE, SIGNED, DATE);
	is(verify(&trial), UNKNOWN, "unknown key, signed by the secret that stands for it");
	is(verify(&trial), UNKNOWN, "and again");
	begin(&trial);
	sign_trial(&trial, SECRET, strlen(SECRET), "AKIDDISABLED/" SCOPE, SIGNED, DATE);
	is(verify(&trial), UNKNOWN, "disabled key");
	begin(&trial);
	sign_trial(&trial, SECRET, strlen(SECRET), "AKIDEXPIRED/" SCOPE, SIGNED, DATE);
	is(verify(&trial), EXPIRED " The security token included in the request is expired",
	   "expired key");
	is(verify_by(any_region, &trial, NOW - 1), "signed by AKIDEXPIRED", "the second before");
	begin(&trial);
	sign_trial(&trial, "wrong", 5, "AKIDEXPIRED/" SCOPE, SIGNED, DATE);
	is(verify(&trial), MISMATCH, "only who has the secret is told that the key is expired");
	begin(&trial);
	add_header(&trial, "X-Amz-Security-Token", "token");
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, SIGNED ";x-amz-security-token", DATE);
	is(verify(&trial), VALID, "a session token");
	is(verify_by(refusing, &trial, NOW),
	   UNRECOGNIZED " The security token included in the request is invalid",
	   "one that is refused");
	begin(&trial);
	add_header(&trial, "X-Amz-Security-Token", "token");
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, SIGNED, DATE);
	is(verify(&trial),
	   INVALID " 'X-Amz-Security-Token' must be a 'SignedHeader' in the AWS Authorization.",
	   "one that is not signed");
	signatures_free(refusing);
}

/* Whatever is changed, the signature is wrong. */
static void
test_mismatch(void)
{
	const SignatureSettings debug = {.debug = true};
	Signatures *debugging = signatures_new(keys, &debug);
	Trial trial;
	char *signature;

	begin(&trial);
	sign_trial(&trial, "wrong", 5, KEY "/" SCOPE, SIGNED, DATE);
	is(verify(&trial), MISMATCH, "another secret");
	is(verify_by(debugging, &trial, NOW),
	   MISMATCH "\n\nThe Canonical String for this request should have been\n'POST\n/\n\n"
				"host:localhost:8000\nx-amz-date:" DATE "\nx-amz-target:" TARGET "\n\n" SIGNED "\n"
				"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'\n\n"
				"The String-to-Sign should have been\n'AWS4-HMAC-SHA256\n" DATE "\n" SCOPE "\n"
				"9677a15d58e222619aaa30e344d3a170faf5f688153d9cf10492f6e526f9eac2'\n",
	   "with the strings that should have been signed");
	begin_signed(&trial);
	trial.request.body = "{ ";
	is(verify(&trial), MISMATCH, "another body");
	begin_signed(&trial);
	trial.request.body_size = 1;
	is(verify(&trial), MISMATCH, "a shorter body");
	begin_signed(&trial);
	trial.request.query = "a=b";
	is(verify(&trial), MISMATCH, "another query");
	begin_signed(&trial);
	trial.request.path = "/x";
	is(verify(&trial), MISMATCH, "another path");
	begin_signed(&trial);
	trial.request.method = "PUT";
	is(verify(&trial), MISMATCH, "another method");
	for (int i = 0; i < 64; i++)
	{
		begin_signed(&trial);
		signature = strstr(trial.authorization, "Signature=") + 10;
		signature[i] = signature[i] == '0' ? '1' : '0';
		if (strcmp(verify(&trial), MISMATCH) != 0)
			ok(false, "digit %d of the signature", i);
	}
	for (int i = 0; i < 64; i++)
	{
		begin_signed(&trial);
		strstr(trial.authorization, "Signature=")[10 + i] = '\0';
		if (strstr(verify(&trial), VALID) != NULL)
			ok(false, "signature cut after %d digits", i);
	}
	begin_signed(&trial);
	strcat(trial.authorization, "0");
	is(verify(&trial), MISMATCH, "a longer signature");
	begin_signed(&trial);
	signature = strstr(trial.authorization, "Signature=") + 10;
	for (char *c = signature; *c != '\0'; c++)
		*c = *c >= 'a' ? (char) (*c - 'a' + 'A') : *c;
	is(verify(&trial), MISMATCH, "a signature in upper case");
	signatures_free(debugging);
}

/* A key of zeros stands for a derived key that is not in the cache: it must open nothing. */
static void
test_zero_key(void)
{
	static const unsigned char zeros[HASH_SIZE];
	static const char scope[] = "20130609/never-used/dynamodb/aws4_request";
	HeaderNames names;
	Text canonical = {0};
	Text to_sign = {0};
	char hash[HASH_HEX_SIZE];
	char signature[HASH_HEX_SIZE];
	Trial trial;

	begin(&trial);
	header_names_parse(SIGNED, strlen(SIGNED), &names);
	hash_hex(trial.request.body, trial.request.body_size, hash);
	canonical_request(&trial.request, &names, hash, &canonical);
	string_to_sign(DATE, scope, &canonical, &to_sign);
	sign(zeros, &to_sign, signature);
	snprintf(trial.authorization, sizeof(trial.authorization),
			 "AWS4-HMAC-SHA256 Credential=" KEY "/%s, SignedHeaders=" SIGNED ", Signature=%s",
			 scope, signature);
	add_header(&trial, "Authorization", trial.authorization);
	is(verify(&trial), MISMATCH, "a key of zeros");
	header_names_free(&names);
	text_free(&canonical);
	text_free(&to_sign);
}

/* Every prefix of the header is refused, and none is read beyond its end. */
static void
test_truncated(void)
{
	Trial trial;
	size_t length;
	bool refused = true;

	begin_signed(&trial);
	length = strlen(trial.authorization);
	for (size_t i = 0; i < length; i++)
	{
		char *header;

		begin_signed(&trial);
		header = strndup(trial.authorization, i);
		set_header(&trial, "Authorization", header);
		refused &= strstr(verify(&trial), VALID) == NULL;
		free(header);
	}
	ok(refused, "truncated headers");
}

static void
test_body_hash(void)
{
	static const char *const wrong[] = {
		"UNSIGNED-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "0",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"};
	static const char names[] = "host;x-amz-content-sha256;x-amz-date;x-amz-target";
	Trial trial;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
	{
		begin(&trial);
		add_header(&trial, "X-Amz-Content-SHA256", wrong[i]);
		sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, names, DATE);
		is(verify(&trial), MISMATCH, wrong[i]);
	}
	begin(&trial);
	add_header(&trial, "x-amz-content-sha256",
			   "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, names, DATE);
	is(verify(&trial), VALID, "the hash of the body");
	begin(&trial);
	add_header(&trial, "x-amz-content-sha256",
			   "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, SIGNED, DATE);
	is(verify(&trial),
	   INVALID " 'x-amz-content-sha256' must be a 'SignedHeader' in the AWS Authorization.",
	   "the hash is not signed");
}

static void
test_forms(void)
{
	Trial trial;
	char *c;

	begin_signed(&trial);
	for (c = trial.authorization; (c = strstr(c, ", ")) != NULL;)
		memmove(c + 1, c + 2, strlen(c + 1));
	is(verify(&trial), VALID, "commas without blanks");
	begin_signed(&trial);
	for (c = trial.authorization; (c = strchr(c, ',')) != NULL;)
		*c = ' ';
	is(verify(&trial), VALID, "blanks without commas");
	begin_signed(&trial);
	set_header(&trial, "X-Amz-Target", "   " TARGET "\t ");
	is(verify(&trial), VALID, "blanks around a value");
	begin(&trial);
	trial.request.query = "b=1&a";
	sign_trial(&trial, SECRET, strlen(SECRET), KEY "/" SCOPE, SIGNED, DATE);
	is(verify(&trial), VALID, "a query that is signed");
	trial.request.query = "a&b=1";
	is(verify(&trial), VALID, "in any order");
}

/* Secrets of all lengths, which change and come back. */
static void
test_secrets(void)
{
	char secret[MAX_SECRET_SIZE + 1];
	bool all = true;
	Trial trial;
	AccessKey key;

	memset(secret, 's', sizeof(secret));
	for (size_t length = 1; length <= MAX_SECRET_SIZE; length++)
	{
		secret[length - 1] = (char) ('a' + length % 26);
		key = make_key(KEY, "");
		key.secret_length = length;
		memcpy(key.secret, secret, length);
		keys_replace(keys, &key, 1);
		begin(&trial);
		sign_trial(&trial, secret, length, KEY "/" SCOPE, SIGNED, DATE);
		all &= strcmp(verify(&trial), VALID) == 0;
		all &= strcmp(verify(&trial), VALID) == 0;
		begin_signed(&trial);
		all &= strcmp(verify(&trial), MISMATCH) == 0;
	}
	ok(all, "secrets of 1 to %d bytes", MAX_SECRET_SIZE);

	key = make_key(KEY, SECRET);
	keys_replace(keys, &key, 1);
	begin_signed(&trial);
	is(verify(&trial), VALID, "the first secret");
	key = make_key(KEY, "another");
	keys_replace(keys, &key, 1);
	is(verify(&trial), MISMATCH, "a derived key goes with its secret");
	keys_replace(keys, NULL, 0);
	is(verify(&trial), UNKNOWN, "and with its access key");
	key = make_key(KEY, SECRET);
	key.enabled = false;
	keys_replace(keys, &key, 1);
	is(verify(&trial), UNKNOWN, "disabled");
	key.enabled = true;
	keys_replace(keys, &key, 1);
	is(verify(&trial), VALID, "enabled again");
}

/* More derived keys than the cache has places. */
static void
test_many_regions(void)
{
	bool all = true;

	for (int round = 0; round < 2; round++)
	{
		for (int i = 0; i < 3000; i++)
		{
			char credential[256];
			Trial trial;

			snprintf(credential, sizeof(credential),
					 KEY "/20130609/region-%0*d/dynamodb/aws4_request", i % 100, i);
			begin(&trial);
			sign_trial(&trial, SECRET, strlen(SECRET), credential, SIGNED, DATE);
			all &= strcmp(verify(&trial), VALID) == 0;
		}
	}
	ok(all, "many regions");
}

/* What is told of the region of a request with this header. */
static const char *
region_of(const char *authorization)
{
	static char region[REGION_SIZE];
	Trial trial;

	begin_with(&trial, authorization);
	memset(region, '?', sizeof(region));
	signature_region(&trial.request, region);
	return region;
}

#define CREDENTIAL(region) \
	"AWS4-HMAC-SHA256 Credential=a/20130609/" region "/dynamodb/aws4_request, " \
	"SignedHeaders=" SIGNED ", Signature=0"
#define NINE "abcdefgh-"

static void
test_region(void)
{
	Trial trial;
	char region[REGION_SIZE];

	is(region_of(CREDENTIAL("eu-west-1")), "eu-west-1", "the region of a request");
	is(region_of(CREDENTIAL("local")), "local", "one that AWS does not have");
	is(region_of("AWS4-HMAC-SHA256 Credential=a/b/c/d/e"), "c", "whatever else is wrong");
	is(region_of(CREDENTIAL(NINE NINE NINE NINE NINE NINE NINE)),
	   NINE NINE NINE NINE NINE NINE NINE, "63 characters");
	is(region_of(CREDENTIAL(NINE NINE NINE NINE NINE NINE NINE "i")), "", "64 characters");
	is(region_of(CREDENTIAL("")), "", "an empty one");
	is(region_of(CREDENTIAL("EU-west-1")), "", "capital letters");
	is(region_of(CREDENTIAL("eu_west")), "", "other signs");
	is(region_of(CREDENTIAL("eu:1:table")), "", "colons");
	is(region_of(CREDENTIAL("eu\"1")), "", "quotation marks");
	is(region_of(CREDENTIAL("\xc3\xa4")), "", "other letters");
	is(region_of("AWS4-HMAC-SHA256 Credential=a/b/c/d"), "", "four elements");
	is(region_of("AWS4-HMAC-SHA256 Credential=a/b/c/d/e, Credential=a/b/c/d/e"), "", "two scopes");
	is(region_of("AWS4-HMAC-SHA256 Signature=0"), "", "no scope");
	is(region_of("Bearer Credential=a/b/c/d/e"), "", "another scheme");
	is(region_of(""), "", "an empty header");
	begin(&trial);
	memset(region, '?', sizeof(region));
	signature_region(&trial.request, region);
	is(region, "", "no header");
}

int
main(void)
{
	const SignatureSettings settings = {0};
	AccessKey all[3] = {make_key(KEY, SECRET), make_key("AKIDDISABLED", SECRET),
						make_key("AKIDEXPIRED", SECRET)};

	all[1].enabled = false;
	all[2].valid_until = NOW;
	keys = keys_new();
	any_region = signatures_new(keys, &settings);
	if (keys == NULL || any_region == NULL || !keys_replace(keys, all, 3))
		return 1;
	test_presence();
	test_parts();
	test_date();
	test_clock();
	test_date_header();
	test_signed_headers();
	test_algorithm();
	test_scope();
	test_keys();
	test_mismatch();
	test_zero_key();
	test_truncated();
	test_body_hash();
	test_forms();
	test_many_regions();
	test_region();
	test_secrets();
	signatures_free(any_region);
	keys_free(keys);
	return failures > 0;
}
