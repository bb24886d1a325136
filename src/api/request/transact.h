/*
 * transact.h
 *	  DynamoDB's TransactItems: JSON to actions.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_TRANSACT_H
#define DYNAMO_TABLE_API_REQUEST_TRANSACT_H

#include "actions/several.h"
#include "item/reader.h"

/* This is about actions that DynamoDB does not have, of a layer above (see dynamo_table.c). */
typedef struct TransactOthers
{
	const char *const *names; /* of them, and NULL */
	void (*read)(JsonReader *reader, int number, TransactAction *action); /* by number of a name */
	/* makes what was read so what the actions layer does: items, keys and forms */
	void (*resolve)(TransactRequest *request);
	/* adds the puts and deletes that a JSON array has of them to those of a table */
	void (*add_to_batch)(const text *array, BatchWriteTable *table);
} TransactOthers;

extern const TransactOthers *const transact_others;

extern void request_transact_writes(JsonReader *reader, const TransactOthers *others,
									TransactRequest *request);
extern void request_transact_gets(JsonReader *reader, TransactRequest *request);

#endif
