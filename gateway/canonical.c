/*
 * canonical.c
 *	  The strings and the keys of AWS's Signature Version 4, made from a request.
 *
 * Whoever has the id of a key can send what they like here, so the work is at most n log n of the
 * size of the header: headers are sorted, and a name counts once however often it is listed.
 */
#include "canonical.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TERMINATOR "aws4_request"

/* A Parameter is one of the query, both parts encoded. */
typedef struct Parameter
{
	size_t name; /* where it begins in the text */
	size_t value;
} Parameter;

/* This is libcrypto's SHA-256: to look it up takes as long as to hash what is signed. */
static struct
{
	pthread_once_t once;
	EVP_MD *hash; /* NULL: there is none */
	EVP_MAC_CTX *hmac; /* without a key, to be copied */
} sha256 = {.once = PTHREAD_ONCE_INIT};

static void
fetch_sha256(void)
{
	OSSL_PARAM parameters[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char[]){"SHA256"}, 0),
		OSSL_PARAM_construct_end()};
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);

	sha256.hash = EVP_MD_fetch(NULL, "SHA256", NULL);
	sha256.hmac = mac == NULL ? NULL : EVP_MAC_CTX_new(mac);
	EVP_MAC_free(mac);
	if (sha256.hmac == NULL || EVP_MAC_CTX_set_params(sha256.hmac, parameters) == 1)
		return;
	EVP_MAC_CTX_free(sha256.hmac);
	sha256.hmac = NULL;
}

/* Returns a letter in lower case, in ASCII only, whatever the locale. */
static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

/* Returns whether the signers of the SDKs take the character for a blank. */
static bool
is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Split a list of names at the semicolons. */
static size_t
split_names(char *list, size_t length, const char **names)
{
	size_t count = 0;
	size_t start = 0;

	for (size_t i = 0; i <= length; i++)
	{
		if (i < length && list[i] != ';')
		{
			list[i] = lower(list[i]);
			continue;
		}
		list[i] = '\0';
		if (i > start)
			names[count++] = list + start;
		start = i + 1;
	}
	return count;
}

/* Sort names, and remove those that are there already. */
static size_t
sort_names(const char **names, size_t count)
{
	size_t kept = 0;

	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; i < count; i++)
	{
		if (kept == 0 || strcmp(names[i], names[kept - 1]) != 0)
			names[kept++] = names[i];
	}
	return kept;
}

/* Parses the names in a list. */
bool
header_names_parse(const char *list, size_t length, HeaderNames *names)
{
	*names = (HeaderNames){0};
	names->buffer = malloc(length + 1);
	names->names = malloc((length / 2 + 1) * sizeof(*names->names));
	if (names->buffer == NULL || names->names == NULL)
	{
		header_names_free(names);
		return false;
	}
	memcpy(names->buffer, list, length);
	names->count = split_names(names->buffer, length, names->names);
	names->count = sort_names(names->names, names->count);
	return true;
}

/* Returns whether a name, in any case, is among them. */
bool
header_names_have(const HeaderNames *names, const char *name)
{
	size_t low = 0;
	size_t high = names->count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;
		int order = strcasecmp(name, names->names[middle]);

		if (order == 0)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* Free the names. */
void
header_names_free(HeaderNames *names)
{
	free(names->buffer);
	free(names->names);
	*names = (HeaderNames){0};
}

static void
add_hex(const unsigned char *data, size_t size, char *hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++)
	{
		*hex++ = digits[data[i] >> 4];
		*hex++ = digits[data[i] & 15];
	}
	*hex = '\0';
}

/* Computes the hash of these bytes. */
bool
hash_hex(const void *data, size_t size, char hex[HASH_HEX_SIZE])
{
	unsigned char hash[HASH_SIZE];

	pthread_once(&sha256.once, fetch_sha256);
	if (sha256.hash == NULL || EVP_Digest(data, size, hash, NULL, sha256.hash, NULL) != 1)
		return false;
	add_hex(hash, HASH_SIZE, hex);
	return true;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Add a part of the query: unreserved characters as they are, all others as %XX. */
static void
add_encoded(Text *text, const char *part, size_t length)
{
	static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
									 "0123456789-._~";
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < length; i++)
	{
		unsigned char c = (unsigned char) part[i];

		if (c == '%' && length - i > 2 && hex_digit(part[i + 1]) >= 0 &&
			hex_digit(part[i + 2]) >= 0)
		{
			c = (unsigned char) (hex_digit(part[i + 1]) << 4 | hex_digit(part[i + 2]));
			i += 2;
		}
		if (c != '\0' && strchr(unreserved, c) != NULL)
			text_add_char(text, (char) c);
		else
		{
			char encoded[3] = {'%', digits[c >> 4], digits[c & 15]};

			text_add(text, encoded, sizeof(encoded));
		}
	}
}

static int
compare_parameters(const void *a, const void *b, void *text)
{
	const Parameter *left = a;
	const Parameter *right = b;
	const char *data = ((const Text *) text)->data;
	int order = strcmp(data + left->name, data + right->name);

	return order != 0 ? order : strcmp(data + left->value, data + right->value);
}

/* Encode the parameters of a query one by one, each part with a NUL at its end. */
static size_t
encode_parameters(const char *query, Text *encoded, Parameter *parameters)
{
	size_t count = 0;

	while (*query != '\0')
	{
		size_t length = strcspn(query, "&");
		const char *equals = memchr(query, '=', length);
		size_t name_length = equals != NULL ? (size_t) (equals - query) : length;

		if (length > 0)
		{
			Parameter *parameter = &parameters[count++];

			parameter->name = encoded->length;
			add_encoded(encoded, query, name_length);
			text_add_char(encoded, '\0');
			parameter->value = encoded->length;
			if (equals != NULL)
				add_encoded(encoded, equals + 1, length - name_length - 1);
			text_add_char(encoded, '\0');
		}
		query += length;
		if (*query == '&')
			query++;
	}
	return count;
}

/* Add the parameters of the query, sorted. */
static void
add_query(Text *canonical, const char *query)
{
	Text encoded = {0};
	Parameter *parameters;
	size_t count;

	if (query == NULL || *query == '\0')
		return;
	parameters = malloc((strlen(query) / 2 + 1) * sizeof(*parameters));
	if (parameters == NULL)
	{
		canonical->failed = true;
		return;
	}
	count = encode_parameters(query, &encoded, parameters);
	if (encoded.failed)
		canonical->failed = true;
	else
	{
		qsort_r(parameters, count, sizeof(*parameters), compare_parameters, &encoded);
		for (size_t i = 0; i < count; i++)
			text_add_strings(canonical, i > 0 ? "&" : "", encoded.data + parameters[i].name, "=",
							 encoded.data + parameters[i].value, NULL);
	}
	text_free(&encoded);
	free(parameters);
}

/* Add a value without blanks around it, and with one between its words. */
static void
add_value(Text *canonical, const char *value)
{
	bool first = true;

	for (;;)
	{
		size_t length = 0;

		while (is_blank(*value))
			value++;
		if (*value == '\0')
			return;
		while (value[length] != '\0' && !is_blank(value[length]))
			length++;
		if (!first)
			text_add_char(canonical, ' ');
		text_add(canonical, value, length);
		value += length;
		first = false;
	}
}

/* Compares headers by name; those of one name stay in the order in which they were received. */
static int
compare_headers(const void *a, const void *b)
{
	const Header *left = *(const Header *const *) a;
	const Header *right = *(const Header *const *) b;
	int order = strcasecmp(left->name, right->name);

	if (order != 0)
		return order;
	return left < right ? -1 : left > right;
}

/* Add the lines of the signed headers: one a name, with all its values. */
static void
add_headers(Text *canonical, const SignedRequest *request, const HeaderNames *names)
{
	size_t count = request->header_count;
	const Header **sorted = malloc((count + 1) * sizeof(*sorted));
	size_t next = 0;

	if (sorted == NULL)
	{
		canonical->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		sorted[i] = &request->headers[i];
	qsort(sorted, count, sizeof(*sorted), compare_headers);
	for (size_t i = 0; i < names->count; i++)
	{
		const char *separator = ":";

		text_add_strings(canonical, names->names[i], NULL);
		while (next < count && strcasecmp(sorted[next]->name, names->names[i]) < 0)
			next++;
		for (; next < count && strcasecmp(sorted[next]->name, names->names[i]) == 0; next++)
		{
			text_add_strings(canonical, separator, NULL);
			add_value(canonical, sorted[next]->value);
			separator = ",";
		}
		text_add_strings(canonical, *separator == ':' ? ":\n" : "\n", NULL);
	}
	free(sorted);
}

/* Add the canonical request. */
void
canonical_request(const SignedRequest *request, const HeaderNames *signed_headers,
				  const char *body_hash, Text *canonical)
{
	text_add_strings(canonical, request->method, "\n", request->path, "\n", NULL);
	add_query(canonical, request->query);
	text_add_char(canonical, '\n');
	add_headers(canonical, request, signed_headers);
	text_add_char(canonical, '\n');
	for (size_t i = 0; i < signed_headers->count; i++)
		text_add_strings(canonical, i > 0 ? ";" : "", signed_headers->names[i], NULL);
	text_add_strings(canonical, "\n", body_hash, NULL);
}

/* Add what is signed. */
bool
string_to_sign(const char *date, const char *scope, const Text *canonical, Text *to_sign)
{
	char hash[HASH_HEX_SIZE];

	if (!hash_hex(canonical->data, canonical->length, hash))
		return false;
	text_add_strings(to_sign, "AWS4-HMAC-SHA256\n", date, "\n", scope, "\n", hash, NULL);
	return true;
}

static bool
hmac(const void *key, size_t key_length, const void *data, size_t size,
	 unsigned char result[HASH_SIZE])
{
	EVP_MAC_CTX *context;
	size_t length = 0;
	bool done;

	pthread_once(&sha256.once, fetch_sha256);
	context = sha256.hmac == NULL ? NULL : EVP_MAC_CTX_dup(sha256.hmac);
	done = context != NULL && EVP_MAC_init(context, key, key_length, NULL) == 1 &&
		   EVP_MAC_update(context, data, size) == 1 &&
		   EVP_MAC_final(context, result, &length, HASH_SIZE) == 1 && length == HASH_SIZE;
	EVP_MAC_CTX_free(context);
	return done;
}

/* Derives the key of a day, region and service. */
bool
signing_key(const void *secret, size_t secret_length, const char *day, const char *region,
			const char *service, unsigned char key[HASH_SIZE])
{
	const char *parts[] = {day, region, service, TERMINATOR};
	Text prefixed = {0};
	bool done;

	text_add_strings(&prefixed, "AWS4", NULL);
	text_add(&prefixed, secret, secret_length);
	done = !prefixed.failed && hmac(prefixed.data, prefixed.length, day, strlen(day), key);
	for (size_t i = 1; done && i < sizeof(parts) / sizeof(*parts); i++)
		done = hmac(key, HASH_SIZE, parts[i], strlen(parts[i]), key);
	if (prefixed.data != NULL)
		OPENSSL_cleanse(prefixed.data, prefixed.length);
	text_free(&prefixed);
	return done;
}

/* Signs a text. */
bool
sign(const unsigned char key[HASH_SIZE], const Text *to_sign, char hex[HASH_HEX_SIZE])
{
	unsigned char signature[HASH_SIZE];

	if (!hmac(key, HASH_SIZE, to_sign->data, to_sign->length, signature))
		return false;
	add_hex(signature, HASH_SIZE, hex);
	return true;
}
