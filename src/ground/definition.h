/*
 * definition.h
 *	  The definition of a table that can have no triggers, in a constraint that is always true.
 *
 * It has the arguments that the derive trigger would have.  Any role can give such a constraint to a
 * table of its own, so what it says counts for distributed tables and their shards alone, see
 * dyn_derive_arguments() in ground/trigger.h.
 */
#ifndef DYNAMO_TABLE_GROUND_DEFINITION_H
#define DYNAMO_TABLE_GROUND_DEFINITION_H

#include "access/tupdesc.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"

#define DEFINITION_CONSTRAINT "dynamo_definition"

extern bool definition_is(Relation rel, const ConstrCheck *check);
extern bool definition_exists(Relation rel);

/* Lists of char *. */
extern List *definition_read(Relation rel);
extern List *definition_parse(const char *expression);
extern char *definition_sql(List *arguments);

#endif
