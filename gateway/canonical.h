/*
 * canonical.h
 *	  The strings and the keys of AWS's Signature Version 4, made from a request.
 */
#ifndef GATEWAY_CANONICAL_H
#define GATEWAY_CANONICAL_H

#include <stdbool.h>
#include <stddef.h>
#include <strings.h>

#include "text.h"

#define HASH_SIZE 32
#define HASH_HEX_SIZE 65 /* with the NUL */

/* A Header is one field of the request's header, with surrounding blanks or without. */
typedef struct Header
{
	const char *name;
	const char *value;
} Header;

/* Returns whether this is the header's name.  Most differ in their first letter already. */
static inline bool
header_is(const Header *header, const char *name)
{
	return ((header->name[0] ^ name[0]) & ~0x20) == 0 && strcasecmp(header->name, name) == 0;
}

/* A SignedRequest is a request as it was received.  Nothing of it is copied. */
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

/* Names of headers in lower case, in the order of the alphabet, each once. */
typedef struct HeaderNames
{
	char *buffer; /* that the names are in */
	const char **names;
	size_t count;
} HeaderNames;

/* Parses the names in a list with semicolons between.  False without memory. */
extern bool header_names_parse(const char *list, size_t length, HeaderNames *names);
extern bool header_names_have(const HeaderNames *names, const char *name);
extern void header_names_free(HeaderNames *names);

/* Computes the hash of these bytes in hexadecimal digits.  False if OpenSSL fails. */
extern bool hash_hex(const void *data, size_t size, char hex[HASH_HEX_SIZE]);

/* Add the canonical request: the path is taken as it is. */
extern void canonical_request(const SignedRequest *request, const HeaderNames *signed_headers,
							  const char *body_hash, Text *canonical);

/* Add what is signed: of the date (ISO 8601), the scope (date/region/service/aws4_request) and the
 * canonical request.  False if OpenSSL fails. */
extern bool string_to_sign(const char *date, const char *scope, const Text *canonical,
						   Text *to_sign);

/* Derives the key of this day, region and service for signatures.  False if OpenSSL fails. */
extern bool signing_key(const void *secret, size_t secret_length, const char *day,
						const char *region, const char *service, unsigned char key[HASH_SIZE]);

/* Signs a text by such a key, in hexadecimal digits.  False if OpenSSL fails. */
extern bool sign(const unsigned char key[HASH_SIZE], const Text *to_sign, char hex[HASH_HEX_SIZE]);

#endif
