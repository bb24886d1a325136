/*
 * entity_actions.h
 *	  Actions on items of entities, in transactions and batches.
 */
#ifndef DYNAMO_TABLE_API_FUNCTIONS_ENTITY_ACTIONS_H
#define DYNAMO_TABLE_API_FUNCTIONS_ENTITY_ACTIONS_H

#include "api/request/transact.h"

/* PutEntity, UpdateEntity, DeleteEntity and CheckEntity, to be read among other actions. */
extern const TransactOthers entity_actions;

/*
 * Makes the actions that were read so what the actions layer does: items, keys and forms.  What
 * does not fit its entity becomes a reason; tables stay locked.
 */
extern void entity_actions_resolve(TransactRequest *request);

/* The same of a batch: adds the puts and deletes of entities to those of a table. */
extern void entity_actions_add(const text *entities, BatchWriteTable *table);

#endif
