/*
 * body.h
 *	  The body of a request: collected piece by piece and inflated, up to a limit.
 */
#ifndef GATEWAY_BODY_H
#define GATEWAY_BODY_H

#include <stdbool.h>
#include <stddef.h>

/* This is in bytes, as received and again after it is inflated.  The fuzzer has a smaller one. */
#ifndef BODY_LIMIT
#define BODY_LIMIT (16 * 1024 * 1024)
#endif

/* Starts as all zeros. */
typedef struct Body
{
	char *data; /* with a NUL after the last byte; NULL: nothing was added */
	size_t size;
	size_t capacity;
} Body;

typedef enum BodyResult
{
	BODY_OK,
	BODY_TOO_LARGE, /* status 413 */
	BODY_BROKEN, /* not what Content-Encoding says: SerializationException */
	BODY_NO_MEMORY
} BodyResult;

typedef enum BodyEncoding
{
	BODY_IDENTITY,
	BODY_GZIP,
	BODY_DEFLATE,
	BODY_UNKNOWN_ENCODING /* status 415 */
} BodyEncoding;

/* Add what was received.  Memory grows with what arrives, whatever Content-Length promises. */
extern BodyResult body_add(Body *body, const void *data, size_t size);

/* Returns what the value of Content-Encoding asks for; NULL: there is none.  More than one encoding
 * is unknown. */
extern BodyEncoding body_encoding(const char *content_encoding);

/* Inflate "received", which is not BODY_IDENTITY, into "body", which is empty. */
extern BodyResult body_inflate(const Body *received, BodyEncoding encoding, Body *body);

extern void body_free(Body *body);

#endif
