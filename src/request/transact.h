/*
 * transact.h
 *	  DynamoDB's TransactItems: JSON to actions.
 */
#ifndef DYNAMO_TABLE_REQUEST_TRANSACT_H
#define DYNAMO_TABLE_REQUEST_TRANSACT_H

#include "actions/several.h"
#include "item/reader.h"

extern void request_transact_writes(JsonReader *reader, TransactRequest *request);
extern void request_transact_gets(JsonReader *reader, TransactRequest *request);

#endif
