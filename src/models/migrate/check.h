/*
 * check.h
 *	  Comparing what rows make with what is there.
 */
#ifndef DYNAMO_TABLE_MODELS_MIGRATE_CHECK_H
#define DYNAMO_TABLE_MODELS_MIGRATE_CHECK_H

#include "funcapi.h"

#include "models/migrate/migrate.h"

/* Returns the key attributes of an item. */
extern DynItem *item_key(const DynTable *table, const DynItem *item);

#endif
