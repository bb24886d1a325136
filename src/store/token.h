/*
 * token.h
 *	  Which requests were done already: idempotency tokens.
 */
#ifndef DYNAMO_TABLE_STORE_TOKEN_H
#define DYNAMO_TABLE_STORE_TOKEN_H

#include "postgres.h"

#define DYN_TOKEN_MINUTES 10 /* that a token is remembered */

/* This is a token of the current user. */
typedef struct RequestToken
{
	text *token;
	bool statements; /* those of statements are tokens of their own */
	bool shared; /* so are those of requests on distributed tables, by all nodes */
} RequestToken;

extern bool token_claim(const RequestToken *token, bytea *request, bytea **returned);
extern void token_answer(const RequestToken *token, bytea *returned);

#endif
