/*
 * authorization.h
 *	  The Authorization header of Signature Version 4, taken apart.
 */
#ifndef GATEWAY_AUTHORIZATION_H
#define GATEWAY_AUTHORIZATION_H

#include <stdbool.h>
#include <stddef.h>

#define REGION_SIZE 64 /* of the name of a region, with the NUL */

/* A Part is one of the header, not terminated.  "data" is NULL if it is not there. */
typedef struct Part
{
	const char *data;
	size_t length;
} Part;

/* An Authorization has parts that point into the header. */
typedef struct Authorization
{
	Part algorithm;
	Part credential;
	Part signed_headers;
	Part signature;
} Authorization;

/* A Credential is what Credential holds between its slashes. */
typedef struct Credential
{
	Part key_id;
	Part day;
	Part region;
	Part service;
	Part terminator;
} Credential;

/* Returns whether the header is of a signature of AWS, version 4, at all. */
extern bool authorization_is_ours(const char *header);

/* Take the header apart.  A parameter that is there more than once counts as missing. */
extern void authorization_parse(const char *header, Authorization *authorization);

/* Take Credential apart.  Slashes at its end do not count.  False if it has not 5 elements. */
extern bool credential_parse(Part text, Credential *credential);

/* Keep the region, if it can be the name of one: it goes into answers.  Otherwise nothing. */
extern void region_keep(Part text, char region[REGION_SIZE]);

/* Returns whether the part is this string. */
extern bool part_is(Part part, const char *string);

#endif
