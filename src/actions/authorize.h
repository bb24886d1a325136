/*
 * authorize.h
 *	  Whether grants by leading keys cover a request.
 */
#ifndef DYNAMO_TABLE_ACTIONS_AUTHORIZE_H
#define DYNAMO_TABLE_ACTIONS_AUTHORIZE_H

#include "actions/several.h"
#include "catalog/key_grant.h"

extern void authorize(const DynTable *table, const DynIndex *index, DynAction action, int nvalues,
					  const Datum *values, StoreClearance *clearance);
extern void authorize_write(ItemWriter *writer, DynAction action, const ItemWrite *write);
extern void authorize_batch(ItemTarget *const *targets, int n, DynAction action);

#endif
