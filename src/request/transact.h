/*
 * transact.h
 *	  DynamoDB's TransactItems: JSON to actions.
 */
#ifndef DYNAMO_TABLE_REQUEST_TRANSACT_H
#define DYNAMO_TABLE_REQUEST_TRANSACT_H

#include "actions/several.h"
#include "item/parse.h"

extern void request_transact_writes(ItemParser *p, TransactRequest *request);
extern void request_transact_gets(ItemParser *p, TransactRequest *request);

#endif
