/*
 * canonical.h
 *	  The strings and the keys of AWS's Signature Version 4, made from a request.
 */
#ifndef DYNAMO_GATEWAY_CANONICAL_H
#define DYNAMO_GATEWAY_CANONICAL_H

#include <stdbool.h>
#include <stddef.h>

#define HASH_SIZE 32
#define HASH_HEX_SIZE 65 /* with the NUL */

/* One field of the request's header, with surrounding blanks or without. */
typedef struct Header
{
	const char *name;
	const char *value;
} Header;

/* A request as it was received.  Nothing of it is copied. */
typedef struct SignedRequest
{
	const char *method;
	const char *path; /* as received, without the query */
	const char *query; /* as received, what follows the "?"; NULL or "": none */
	const Header *headers;
	size_t header_count;
	const void *body; /* as received: before it is inflated */
	size_t body_size;
} SignedRequest;

/* Text that grows.  After a lack of memory "failed" is set and nothing is added any more. */
typedef struct Text
{
	char *data; /* always with a NUL at the end, or NULL while it is empty */
	size_t length;
	size_t capacity;
	bool failed;
} Text;

extern void text_add(Text *text, const char *data, size_t length);
extern void text_add_string(Text *text, const char *string);
extern void text_free(Text *text);

/* The hash of these bytes in hexadecimal digits.  False if OpenSSL fails. */
extern bool hash_hex(const void *data, size_t size, char hex[HASH_HEX_SIZE]);

/*
 * The canonical request: "signed_headers" has the names in lower case in the order of the alphabet
 * with semicolons between.
 */
extern void canonical_request(const SignedRequest *request, const char *signed_headers,
							  const char *body_hash, Text *canonical);

/* What is signed: of the date (ISO 8601), the scope (date/region/service/aws4_request) and the
 * canonical request. */
extern void string_to_sign(const char *date, const char *scope, const Text *canonical,
						   Text *to_sign);

/* The key that requests of this day, region and service are signed with. */
extern bool signing_key(const void *secret, size_t secret_length, const char *date,
						const char *region, const char *service, unsigned char key[HASH_SIZE]);

/* The signature of a string by such a key, in hexadecimal digits. */
extern bool sign(const unsigned char key[HASH_SIZE], const Text *to_sign, char hex[HASH_HEX_SIZE]);

#endif
