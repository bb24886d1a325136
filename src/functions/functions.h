/*
 * functions.h
 *	  The typed SQL functions of items and tables: a front end over the actions.
 *
 *		item.c				dyn_get(), dyn_put(), dyn_update(), dyn_delete()
 *		read.c				dyn_query(), dyn_scan(), and their pages
 *		several.c			batches and transactions
 *		alter_table.c		dyn_alter_table(): settings of a table
 *		table_chart.c		dyn_table_chart(): item collections, as people draw them
 *		collection_pages.c	dyn_collection_pages(): on how many pages collections are
 */
#ifndef DYNAMO_TABLE_FUNCTIONS_FUNCTIONS_H
#define DYNAMO_TABLE_FUNCTIONS_FUNCTIONS_H

#include "funcapi.h"

/* Add a row of one column to the result of a set-returning function. */
static inline void
return_row(ReturnSetInfo *result, Datum value, bool isnull)
{
	tuplestore_putvalues(result->setResult, result->setDesc, &value, &isnull);
}

#endif
