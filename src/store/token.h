/*
 * token.h
 *	  Which requests were done already: idempotency tokens.
 */
#ifndef DYNAMO_TABLE_STORE_TOKEN_H
#define DYNAMO_TABLE_STORE_TOKEN_H

#include "postgres.h"

#define DYN_TOKEN_MINUTES 10 /* that a token is remembered */

extern bool token_claim(bool statements, text *token, bytea *request, bytea **returned);
extern void token_answer(bool statements, text *token, bytea *returned);

#endif
