/*
 * actions.h
 *	  The actions: what a request does, whoever asks for it.
 *
 * Actions validate everything before they read anything.  The front ends hand over arguments
 * and take results; no rule is in them.
 */
#ifndef DYNAMO_TABLE_ACTIONS_ACTIONS_H
#define DYNAMO_TABLE_ACTIONS_ACTIONS_H

#include "catalog/key.h"

typedef enum ReturnValues
{
	RETURN_NONE,
	RETURN_ALL_OLD
} ReturnValues;

typedef struct QueryRequest
{
	text *table;
	ItemSpan key_condition;
	struct ExprRequest *expressions;
	DynItem *start_key; /* or NULL */
	int64 max_items; /* 0: all */
	bool forward;
} QueryRequest;

/* Called for each item of a result. */
typedef void (*ResultCallback)(Datum item, void *arg);

extern DynItem *action_get(text *table, const DynItem *key);
extern DynItem *action_put(text *table, const DynItem *item, ReturnValues return_values);
extern DynItem *action_delete(text *table, const DynItem *key, ReturnValues return_values);
extern void action_query(const QueryRequest *request, ResultCallback callback, void *arg);

#endif
