/*
 * request.h
 *	  Requests for items of entities: what the actions are asked for, by the attributes of the
 *	  application.
 */
#ifndef DYNAMO_TABLE_MODELS_ENTITY_REQUEST_H
#define DYNAMO_TABLE_MODELS_ENTITY_REQUEST_H

#include "actions/actions.h"
#include "api/request/transact.h"
#include "models/entity/entity.h"

/* Opens one by its table's name, which stays locked; it is valid until the transaction ends. */
extern const Entity *entity_open(text *table_name, text *name, LOCKMODE lockmode);

/* Returns whether the type attribute of an item says that it is of another entity. */
extern bool entity_is_another(const Entity *entity, const DynItem *stored);

/*
 * These say what a request is for, and the form in which it sees items.  The attributes may be
 * those of a whole item, or only those that the table's key is made of.
 */
extern void entity_request_put(const Entity *entity, const DynItem *attributes,
							   ItemRequest *request);
extern void entity_request_update(const Entity *entity, DynItem *attributes, ItemRequest *request);
extern void entity_request_key(const Entity *entity, const DynItem *attributes,
							   ItemRequest *request);

/*
 * These are PutEntity, UpdateEntity, DeleteEntity and CheckEntity in transactions and batches.
 * What does not fit its entity becomes a reason; tables stay locked.
 */
extern const TransactOthers entity_actions;

#endif
