/*
 * token.h
 *	  Which requests were done already: idempotency tokens.
 */
#ifndef DYNAMO_TABLE_STORE_TOKEN_H
#define DYNAMO_TABLE_STORE_TOKEN_H

#include "catalog/table.h"

#define DYN_TOKEN_MINUTES 10 /* that a token is remembered */

extern bool token_claim(const DynTable *table, bool statements, text *token, bytea *request);

#endif
