/*
 * signature.c
 *	  Whether a request is signed by one of the access keys: AWS's Signature Version 4.
 *
 * The checks are in the order of the service.  Those that need no key come first; the rest costs the
 * same whether the key is known or not, and is decided at the end.
 */
#include "signature.h"

#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "date.h"
#include "derived.h"
#include "utf8.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define SERVICE "dynamodb"
#define TERMINATOR "aws4_request"
#define DAY_SIZE 9 /* YYYYMMDD with the NUL */
#define CLOCK_SKEW (15 * 60) /* in seconds */

#define INCOMPLETE "com.amazon.coral.service#IncompleteSignatureException"
#define INVALID "com.amazon.coral.service#InvalidSignatureException"
#define MISSING "com.amazon.coral.service#MissingAuthenticationTokenException"
#define UNRECOGNIZED "com.amazon.coral.service#UnrecognizedClientException"
#define EXPIRED "com.amazon.coral.service#ExpiredTokenException"
#define INTERNAL "com.amazonaws.dynamodb.v20120810#InternalServerError"

struct Signatures
{
	Keys *keys;
	DerivedKeys *derived;
	char *region; /* or NULL */
	bool refuse_tokens;
	bool debug;
	AccessKey nobody; /* in place of keys that are not known */
};

/* A Check is what is known of a request while it is checked.  Texts are freed at the end. */
typedef struct Check
{
	const SignedRequest *request;
	Refusal *refusal;
	Text header; /* Authorization */
	Authorization authorization;
	Credential credential;
	HeaderNames names; /* that are signed */
	Text date_header;
	char date[DATE_SIZE];
	char day[DAY_SIZE]; /* of the date */
	time_t time;
	Text scope;
	Text region; /* of the scope */
	Text canonical;
	Text to_sign;
	AccessKey key;
	bool failed; /* memory or OpenSSL */
} Check;

/* Makes what checks signatures by these keys. */
Signatures *
signatures_new(Keys *keys, const SignatureSettings *settings)
{
	Signatures *signatures = calloc(1, sizeof(*signatures));

	if (signatures == NULL)
		return NULL;
	signatures->keys = keys;
	signatures->refuse_tokens = settings->refuse_tokens;
	signatures->debug = settings->debug;
	signatures->derived = derived_keys_new();
	if (settings->region != NULL && *settings->region != '\0')
		signatures->region = strdup(settings->region);
	signatures->nobody.secret_length = 40;
	if (signatures->derived == NULL ||
		(settings->region != NULL && *settings->region != '\0' && signatures->region == NULL))
	{
		signatures_free(signatures);
		return NULL;
	}
	return signatures;
}

/* Cleanse and free. */
void
signatures_free(Signatures *signatures)
{
	if (signatures == NULL)
		return;
	derived_keys_free(signatures->derived);
	free(signatures->region);
	free(signatures);
}

/* Refuse the request with this message, which is taken.  Returns false. */
static bool
refuse_text(Check *check, const char *type, const char *reason, Text *message)
{
	if (message->data != NULL)
		utf8_repair(message->data, message->length);
	*check->refusal = (Refusal){type, reason, text_take(message)};
	return false;
}

/* Refuse the request: the strings, up to a NULL, are the message.  Returns false. */
static bool __attribute__((sentinel))
refuse(Check *check, const char *type, const char *reason, ...)
{
	Text message = {0};
	va_list strings;
	const char *string;

	va_start(strings, reason);
	while ((string = va_arg(strings, const char *)) != NULL)
		text_add(&message, string, strlen(string));
	va_end(strings);
	return refuse_text(check, type, reason, &message);
}

/* Memory is lacking, or OpenSSL fails.  Returns false. */
static bool
signature_fail(Check *check)
{
	*check->refusal = (Refusal){INTERNAL, "internal", NULL};
	return false;
}

/* Joins the values of all headers of this name, without blanks around and with ", " between. */
static void
join_headers(const SignedRequest *request, const char *name, Text *joined)
{
	for (size_t i = 0; i < request->header_count; i++)
	{
		const Header *header = &request->headers[i];
		const char *value = header->value + strspn(header->value, " \t");
		size_t length;

		if (!header_is(header, name))
			continue;
		length = strlen(value);
		while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
			length--;
		text_add_strings(joined, joined->length > 0 ? ", " : "", NULL);
		text_add(joined, value, length);
	}
}

/* Returns whether the query has a parameter that presigned requests have. */
static bool
is_presigned(const char *query)
{
	static const char name[] = "X-Amz-Algorithm";

	while (query != NULL && *query != '\0')
	{
		size_t length = strcspn(query, "&");

		if (length >= strlen(name) && strncmp(query, name, strlen(name)) == 0 &&
			(length == strlen(name) || query[strlen(name)] == '='))
			return true;
		query += length;
		query += *query == '&';
	}
	return false;
}

/* Checks whether there is a signature: GW30, GW31 and GW42. */
static bool
check_presence(Check *check)
{
	bool presigned = is_presigned(check->request->query);

	join_headers(check->request, "Authorization", &check->header);
	if (check->header.failed)
		return signature_fail(check);
	if (check->header.length > 0 && presigned)
		return refuse(check, INVALID, "presigned",
					  "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as "
					  "HTTP header.",
					  NULL);
	if (check->header.length == 0 || !authorization_is_ours(check->header.data))
		return refuse(check, MISSING, presigned ? "presigned" : "missing",
					  "Request is missing Authentication Token", NULL);
	return true;
}

/* Checks whether all its parts are there: GW32. */
static bool
check_parts(Check *check)
{
	Authorization *authorization = &check->authorization;
	bool credential;
	bool signature;

	authorization_parse(check->header.data, authorization);
	credential = authorization->credential.length > 0;
	signature = authorization->signature.length > 0;
	join_headers(check->request, "X-Amz-Date", &check->date_header);
	if (check->date_header.length == 0)
		join_headers(check->request, "Date", &check->date_header);
	if (check->date_header.failed)
		return signature_fail(check);
	if (credential && signature && authorization->signed_headers.data != NULL &&
		check->date_header.length > 0)
		return true;
	return refuse(check, INCOMPLETE, "incomplete",
				  credential ? "" : "Authorization header requires 'Credential' parameter. ",
				  signature ? "" : "Authorization header requires 'Signature' parameter. ",
				  authorization->signed_headers.data != NULL
					  ? ""
					  : "Authorization header requires 'SignedHeaders' parameter. ",
				  check->date_header.length > 0
					  ? ""
					  : "Authorization header requires existence of either a 'X-Amz-Date' or a "
						"'Date' header. ",
				  "Authorization=", check->header.data, NULL);
}

/* Checks whether it is of this quarter of an hour: GW33 and GW34. */
static bool
check_date(Check *check, time_t now)
{
	char bound[DATE_SIZE];
	char now_text[DATE_SIZE];

	if (!date_parse_basic(check->date_header.data, &check->time) &&
		!date_parse_http(check->date_header.data, &check->time))
		return refuse(check, INCOMPLETE, "incomplete",
					  "Date must be in ISO-8601 'basic format'. Got '", check->date_header.data,
					  "'. See http://en.wikipedia.org/wiki/ISO_8601", NULL);
	date_print_basic(check->time, check->date);
	memcpy(check->day, check->date, DAY_SIZE - 1);
	date_print_basic(now, now_text);
	if (check->time < now - CLOCK_SKEW)
	{
		date_print_basic(now - CLOCK_SKEW, bound);
		return refuse(check, INVALID, "clock", "Signature expired: ", check->date,
					  " is now earlier than ", bound, " (", now_text, " - 15 min.)", NULL);
	}
	if (check->time > now + CLOCK_SKEW)
	{
		date_print_basic(now + CLOCK_SKEW, bound);
		return refuse(check, INVALID, "clock", "Signature not yet current: ", check->date,
					  " is still later than ", bound, " (", now_text, " + 15 min.)", NULL);
	}
	return true;
}

/* Returns the first header that says what the request is and is not signed, or NULL. */
static const char *
unsigned_header(const Check *check)
{
	for (size_t i = 0; i < check->request->header_count; i++)
	{
		const char *name = check->request->headers[i].name;

		if (strncasecmp(name, "x-amz-", 6) == 0 && !header_names_have(&check->names, name))
			return name;
	}
	return NULL;
}

/* Checks whether all is signed that matters: GW35. */
static bool
check_signed_headers(Check *check)
{
	Part list = check->authorization.signed_headers;
	const char *name;

	if (!header_names_parse(list.data, list.length, &check->names))
		return signature_fail(check);
	if (!header_names_have(&check->names, "host"))
		return refuse(check, INVALID, "signed_headers",
					  "'Host' must be a 'SignedHeader' in the AWS Authorization.", NULL);
	name = unsigned_header(check);
	if (name != NULL)
		return refuse(check, INVALID, "signed_headers", "'", name,
					  "' must be a 'SignedHeader' in the AWS Authorization.", NULL);
	return true;
}

/* Add a part between quotation marks. */
static void
add_quoted(Text *message, const char *before, Part part, const char *after)
{
	text_add_strings(message, before, "'", NULL);
	text_add(message, part.data, part.length);
	text_add_strings(message, "'", after, NULL);
}

/* Checks whether it is the algorithm that there is: GW36. */
static bool
check_algorithm(Check *check)
{
	Part algorithm = check->authorization.algorithm;
	Text message = {0};

	if (part_is(algorithm, ALGORITHM))
		return true;
	add_quoted(&message, "Unsupported AWS 'algorithm': ", algorithm,
			   " (only " ALGORITHM " for now). ");
	return refuse_text(check, INCOMPLETE, "incomplete", &message);
}

/* Adds what is wrong with the scope, sentence by sentence. */
static void
add_scope_errors(const Signatures *signatures, const Check *check, Text *errors)
{
	const Credential *credential = &check->credential;

	if (credential->region.length == 0 ||
		(signatures->region != NULL && !part_is(credential->region, signatures->region)))
		add_quoted(errors, "Credential should be scoped to a valid region, not ",
				   credential->region, ". ");
	if (!part_is(credential->service, SERVICE))
		text_add_strings(errors, "Credential should be scoped to correct service: '" SERVICE "'. ",
						 NULL);
	if (!part_is(credential->terminator, TERMINATOR))
		add_quoted(errors,
				   "Credential should be scoped with a valid terminator: '" TERMINATOR "', not ",
				   credential->terminator, ". ");
	if (!part_is(credential->day, check->day))
	{
		add_quoted(errors,
				   "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
				   "from HTTP: ",
				   credential->day, " != '");
		text_add_strings(errors, check->day, "', from '", check->date, "'.", NULL);
	}
}

/* Checks whether it is for this service, today: GW37. */
static bool
check_scope(const Signatures *signatures, Check *check)
{
	Part credential = check->authorization.credential;
	Text message = {0};

	if (!credential_parse(credential, &check->credential))
	{
		add_quoted(&message,
				   "Credential must have exactly 5 slash-delimited elements, e.g. "
				   "keyid/date/region/service/term, got ",
				   credential, "");
		return refuse_text(check, INCOMPLETE, "incomplete", &message);
	}
	add_scope_errors(signatures, check, &message);
	if (message.failed || message.length > 0)
		return refuse_text(check, INVALID, "scope", &message);
	text_add(&check->region, check->credential.region.data, check->credential.region.length);
	return !check->region.failed || signature_fail(check);
}

/* Makes what the client should have signed.  GW39. */
static bool
make_strings(Check *check, const char *body_hash)
{
	text_add_strings(&check->scope, check->day, "/", check->region.data, "/" SERVICE "/" TERMINATOR,
					 NULL);
	canonical_request(check->request, &check->names, body_hash, &check->canonical);
	return !check->scope.failed && !check->canonical.failed &&
		   string_to_sign(check->date, check->scope.data, &check->canonical, &check->to_sign) &&
		   !check->to_sign.failed;
}

/* Finds the key that the request names, or nobody's.  Returns whether it may be used at all. */
static bool
find_key(Signatures *signatures, Check *check)
{
	Part part = check->credential.key_id;
	char key_id[KEY_ID_SIZE];

	if (part.length < sizeof(key_id))
	{
		memcpy(key_id, part.data, part.length);
		key_id[part.length] = '\0';
		if (keys_find(signatures->keys, key_id, &check->key) && check->key.enabled)
			return true;
	}
	check->key = signatures->nobody;
	return false;
}

/* Returns whether the signature is by this derived key. */
static bool
signed_by(Check *check, const unsigned char key[HASH_SIZE])
{
	Part signature = check->authorization.signature;
	char right[HASH_HEX_SIZE];

	if (!sign(key, &check->to_sign, right))
	{
		check->failed = true;
		return false;
	}
	return signature.length == HASH_HEX_SIZE - 1 &&
		   CRYPTO_memcmp(signature.data, right, HASH_HEX_SIZE - 1) == 0;
}

/*
 * Returns whether the key has signed it.  Only a right signature is cheap, by the cache: a wrong
 * one costs the same with a key that is known, that is not, that was used today and that was not.
 */
static bool
signed_by_key(Signatures *signatures, Check *check)
{
	const DerivedFrom from = {check->key.version, check->day, check->region.data};
	unsigned char derived[HASH_SIZE] = {0};
	bool cached = derived_keys_find(signatures->derived, &from, derived);
	bool right = signed_by(check, derived) && cached;

	if (!right)
	{
		check->failed |= !signing_key(check->key.secret, check->key.secret_length, check->day,
									  check->region.data, SERVICE, derived);
		right = !check->failed && signed_by(check, derived);
		if (right && check->key.version != 0)
			derived_keys_keep(signatures->derived, &from, derived);
	}
	OPENSSL_cleanse(derived, sizeof(derived));
	return right;
}

/* Returns whether the hash of the body that the client tells, if it does, is right. */
static bool
told_hash_is_right(Check *check, const char *body_hash)
{
	Text told = {0};
	bool right;

	join_headers(check->request, "x-amz-content-sha256", &told);
	check->failed |= told.failed;
	right = told.length == 0 || strcmp(told.data, body_hash) == 0;
	text_free(&told);
	return right;
}

/* Refuse a signature that does not match.  GW40. */
static bool
refuse_mismatch(const Signatures *signatures, Check *check)
{
	static const char mismatch[] =
		"The request signature we calculated does not match the signature you provided. Check your "
		"AWS Secret Access Key and signing method. Consult the service documentation for details.";

	if (!signatures->debug)
		return refuse(check, INVALID, "signature", mismatch, NULL);
	return refuse(check, INVALID, "signature", mismatch,
				  "\n\nThe Canonical String for this request should have been\n'",
				  check->canonical.data, "'\n\nThe String-to-Sign should have been\n'",
				  check->to_sign.data, "'\n", NULL);
}

/* Returns whether there is a session token, which no key of ours has. */
static bool
has_token(Check *check)
{
	Text token = {0};
	bool there;

	join_headers(check->request, "X-Amz-Security-Token", &token);
	check->failed |= token.failed;
	there = token.length > 0;
	text_free(&token);
	return there;
}

/* Checks whether it is signed by a key that is valid: GW38 to GW43. */
static bool
check_signature(Signatures *signatures, Check *check, time_t now)
{
	char body_hash[HASH_HEX_SIZE];
	bool known;
	bool right;
	bool token;

	if (!hash_hex(check->request->body, check->request->body_size, body_hash) ||
		!make_strings(check, body_hash))
		return signature_fail(check);
	token = signatures->refuse_tokens && has_token(check);
	known = find_key(signatures, check);
	right = signed_by_key(signatures, check);
	right &= told_hash_is_right(check, body_hash);
	if (check->failed)
		return signature_fail(check);
	if (!known)
		return refuse(check, UNRECOGNIZED, "key",
					  "The security token included in the request is invalid.", NULL);
	if (!right)
		return refuse_mismatch(signatures, check);
	if (token)
		return refuse(check, UNRECOGNIZED, "token",
					  "The security token included in the request is invalid", NULL);
	if (check->key.valid_until <= now)
		return refuse(check, EXPIRED, "expired_key",
					  "The security token included in the request is expired", NULL);
	return true;
}

static void
check_free(Check *check)
{
	text_free(&check->header);
	text_free(&check->date_header);
	text_free(&check->scope);
	text_free(&check->region);
	text_free(&check->canonical);
	text_free(&check->to_sign);
	header_names_free(&check->names);
	OPENSSL_cleanse(&check->key, sizeof(check->key));
}

/* Returns whether the request is signed, and by whom. */
bool
signature_verify(Signatures *signatures, const SignedRequest *request, time_t now, Caller *caller,
				 Refusal *refusal)
{
	Check check = {.request = request, .refusal = refusal};
	bool valid;

	*refusal = (Refusal){0};
	valid = check_presence(&check) && check_parts(&check) && check_date(&check, now) &&
			check_signed_headers(&check) && check_algorithm(&check) &&
			check_scope(signatures, &check) && check_signature(signatures, &check, now);
	if (valid)
		*caller = check.key.caller;
	check_free(&check);
	return valid;
}

/* Finds the region that the request says it is signed for. */
void
signature_region(const SignedRequest *request, char region[REGION_SIZE])
{
	Text header = {0};
	Authorization authorization = {0};
	Credential credential = {0};

	join_headers(request, "Authorization", &header);
	if (!header.failed && header.length > 0 && authorization_is_ours(header.data))
		authorization_parse(header.data, &authorization);
	if (authorization.credential.data == NULL ||
		!credential_parse(authorization.credential, &credential))
		credential.region = (Part){0};
	region_keep(credential.region, region);
	text_free(&header);
}
