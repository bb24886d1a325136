/*
 * signature.h
 *	  Whether a request is signed by one of the access keys: AWS's Signature Version 4.
 *
 * The refusals, their order and their words are the service's, see GW30 to GW43 in the
 * specification.
 */
#ifndef GATEWAY_SIGNATURE_H
#define GATEWAY_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "authorization.h"
#include "canonical.h"
#include "keys.h"

typedef struct SignatureSettings
{
	const char *region; /* the only one that keys may be scoped to; NULL or "": any */
	bool refuse_tokens; /* session tokens, which no key has; otherwise they do not matter */
	bool debug; /* a mismatch shows the strings that should have been signed */
} SignatureSettings;

/* A Refusal says why a request is refused.  Its status is 400, and 500 if there is no message. */
typedef struct Refusal
{
	const char *type; /* "com.amazon.coral.service#InvalidSignatureException" ... */
	const char *reason; /* a word for metrics: "missing", "incomplete", "clock", "signature" ... */
	char *message; /* UTF-8, to be freed; NULL: memory or OpenSSL failed */
} Refusal;

typedef struct Signatures Signatures;

/*
 * Makes what checks signatures by these keys, with a cache of derived ones.  NULL without memory.
 */
extern Signatures *signatures_new(Keys *keys, const SignatureSettings *settings);

/*
 * Returns whether the request is signed at this time: true and who signed it, or false and why not.
 * May be called by any thread.  Takes a copy of the secret while it works, and hashes the whole
 * body.
 */
extern bool signature_verify(Signatures *signatures, const SignedRequest *request, time_t now,
							 Caller *caller, Refusal *refusal);

/*
 * Finds the region that the request says it is signed for, whether its signature is right or not.
 * Nothing if it says none, or one whose name no region can have.
 */
extern void signature_region(const SignedRequest *request, char region[REGION_SIZE]);

/* Cleanse and free; the keys stay. */
extern void signatures_free(Signatures *signatures);

#endif
