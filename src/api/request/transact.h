/*
 * transact.h
 *	  DynamoDB's TransactItems: JSON to actions.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_TRANSACT_H
#define DYNAMO_TABLE_API_REQUEST_TRANSACT_H

#include "actions/several.h"
#include "item/reader.h"

/* Actions that DynamoDB does not have. */
typedef struct TransactOthers
{
	const char *const *names; /* of them, and NULL */
	void (*read)(JsonReader *reader, int number, TransactAction *action); /* by number of a name */
} TransactOthers;

extern void request_transact_writes(JsonReader *reader, const TransactOthers *others,
									TransactRequest *request);
extern void request_transact_gets(JsonReader *reader, TransactRequest *request);

#endif
