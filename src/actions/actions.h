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
#include "expr/expr.h"
#include "store/store.h"

typedef enum ReturnValues
{
	RETURN_NONE,
	RETURN_ALL_OLD,
	RETURN_UPDATED_OLD,
	RETURN_ALL_NEW,
	RETURN_UPDATED_NEW
} ReturnValues;

/* A request for one item.  What is not given is NULL. */
typedef struct ItemRequest
{
	text *table;
	DynItem *item; /* the item to put, or the key */
	ExprRequest *expressions; /* names and values, where there is an expression */
	text *projection;
	text *condition;
	text *update;
	ReturnValues return_values;
	bool old_on_failure; /* a failed condition tells the item */
} ItemRequest;

typedef struct QueryRequest
{
	text *table;
	ExprRequest *expressions;
	text *key_condition;
	text *filter;
	text *projection;
	DynItem *start_key; /* or NULL */
	int64 max_items; /* 0: all */
	bool forward;
} QueryRequest;

/* Called for each item of a result; the datum lives as long as the call. */
typedef void (*ResultCallback)(Datum item, void *arg);

/* get.c, put.c, update.c, delete.c: what is returned is an item or NULL */
extern DynItem *action_get(const ItemRequest *request);
extern DynItem *action_put(const ItemRequest *request);
extern DynItem *action_update(const ItemRequest *request);
extern DynItem *action_delete(const ItemRequest *request);

/* query.c */
extern void action_query(const QueryRequest *request, ResultCallback callback, void *arg);

/* condition.c */
extern Expr *action_condition(const ItemRequest *request);
extern void action_check_condition(const ItemRequest *request, const Expr *condition,
								   const DynItem *item);

/* change.c */
extern void action_change_locked(DynTable *table, const DynKeyValues *key, StoreChange change,
								 void *arg);

/* keys.c */
extern void action_forbid_keys(const DynTable *table, const Expr *expr, const char *kind,
							   const char *hint);

static inline ItemSpan
action_span(const text *t)
{
	return (ItemSpan){VARDATA_ANY(t), VARSIZE_ANY_EXHDR(t)};
}

#endif
