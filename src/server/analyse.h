/*
 * analyse.h
 *	  What a query says, whose text may be anybody's: it is analysed, never planned or executed.
 */
#ifndef DYNAMO_TABLE_SERVER_ANALYSE_H
#define DYNAMO_TABLE_SERVER_ANALYSE_H

#include "nodes/parsenodes.h"

extern Query *analyse_query(const char *text, void (*names)(void *arg, Oid relid), void *arg);

#endif
