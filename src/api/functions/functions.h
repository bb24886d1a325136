/*
 * functions.h
 *	  The typed SQL functions of items and tables: a front end over the actions.
 *
 *		item.c				dyn_get(), dyn_put(), dyn_update(), dyn_delete()
 *		read.c				dyn_query(), dyn_scan(), and their pages
 *		search.c			dyn_search(): items by their vectors
 *		page.c				the items of a page
 *		several.c			batches and transactions
 *		statement.c			dyn_execute(), dyn_execute_page(), dyn_explain_statement(): PartiQL
 *		alter_table.c		dyn_alter_table(): settings of a table
 *		table_chart.c		dyn_table_chart(): item collections, as people draw them
 *		operations.c		dyn_operations: what was counted of operations
 *		table_statistics.c	dyn_table_statistics(): what a table has
 *		collection_pages.c	on how many pages collections are
 */
#ifndef DYNAMO_TABLE_API_FUNCTIONS_FUNCTIONS_H
#define DYNAMO_TABLE_API_FUNCTIONS_FUNCTIONS_H

#include "funcapi.h"
#include "utils/array.h"
#include "utils/tuplestore.h"

#include "actions/actions.h"

/* Adds a row of one column to the result of a set-returning function. */
static inline void
return_row(ReturnSetInfo *result, Datum value, bool isnull)
{
	tuplestore_putvalues(result->setResult, result->setDesc, &value, &isnull);
}

/* Does so with an item that an action gives. */
static inline void
return_item(Datum item, void *result)
{
	return_row(result, item, false);
}

/* read.c */
extern const char *store_name(const char *refusal, bool remote);

/* collection_pages.c */
extern void collection_pages_read(Relation rel, const DynTable *table);

/* page.c */
typedef struct ResultPage
{
	TupleDesc desc;
	Oid item_type;
	MemoryContext context;
	ArrayBuildState *items;
	bool empty;
} ResultPage;

extern void page_begin(FunctionCallInfo fcinfo, ResultPage *page);
extern void page_add(Datum item, void *page);
extern Datum page_items(const ResultPage *page);

#endif
