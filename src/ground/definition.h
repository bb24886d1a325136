/*
 * definition.h
 *	  The definition of a table that can have no triggers, in a constraint that is always true.
 */
#ifndef DYNAMO_TABLE_GROUND_DEFINITION_H
#define DYNAMO_TABLE_GROUND_DEFINITION_H

#include "access/tupdesc.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

#define DEFINITION_CONSTRAINT "dynamo_definition"

extern const char *definition_text(const char *expression);
extern bool definition_is(const ConstrCheck *check);
extern List *definition_read(Relation rel); /* of char * */
extern char *definition_sql(List *arguments);

#endif
