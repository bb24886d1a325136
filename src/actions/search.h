/*
 * search.h
 *	  SearchVectors: the items of a vector index whose vectors are nearest to one.
 */
#ifndef DYNAMO_TABLE_ACTIONS_SEARCH_H
#define DYNAMO_TABLE_ACTIONS_SEARCH_H

#include "actions/actions.h"
#include "catalog/vector.h"
#include "store/vector.h"

/* What is not given is NULL. */
typedef struct SearchRequest
{
	text *table;
	text *index;
	int nvalues;
	const float *values; /* NULL: not all of them are numbers that fit */
	int64 top_k;
	ExprRequest *expressions;
	Jsonb *names; /* of these, and their values */
	const DynItem *expression_values;
	text *condition;
	text *projection;
} SearchRequest;

/* Called for each item of a result, the best first; the datum lives as long as the call. */
typedef void (*SearchCallback)(Datum item, float score, void *arg);

#define SEARCH_LARGEST_TOP_K 100

/* Has a search be for entries that a condition, which may be NULL, lets through. */
extern void search_set_condition(StoreSearch *search, const Expr *condition);

/* Sets *table to that of the request. */
extern void action_search(const SearchRequest *request, SearchCallback callback, void *arg,
						  const DynTable **table);

#endif
