/*
 * fetched.h
 *	  The row that an index scan has fetched last: a hint for who writes the row that it has read.
 */
#ifndef DYNAMO_TABLE_AM_FETCHED_H
#define DYNAMO_TABLE_AM_FETCHED_H

#include "access/tableam.h"

/*
 * Sets *tid to the table's row that was fetched last; returns false if another table's was since.
 * Where the tid leads may be anything by now, or nothing, but it is a page of the table.
 */
extern bool dyn_fetched(Relation rel, ItemPointer tid);

#endif
