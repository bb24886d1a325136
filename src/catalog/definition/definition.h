/*
 * definition.h
 *	  What a table of items is, as it is written down with the table.
 *
 *		key_spec.c			how a key attribute is declared: "name TYPE"
 *		index_spec.c		how a secondary index is declared
 *		vector_spec.c		how a vector index is declared
 *		table_settings.c	what a table has beside keys and indexes
 *		stream_label.c		labels of streams
 *		stream_shards.c		the numbers of their shards, and whose children they are
 *		trigger.c			the triggers that keep these: finding them, and when they fire
 *		definition.c		the constraint that keeps these of a table that can have no triggers
 *		description.c		what is said of a table only to be described
 *		label.c				security labels of tables: the provider, reading and writing
 *		arn.c				ARNs of tables, indexes and streams
 *		settings.c			DynamoDB's limits of tables and requests, as settings
 *
 * The definition of a table that can have no triggers is in a constraint that is always true.  It
 * has the arguments that the derive trigger would have.  Any role can give such a constraint to a
 * table of its own, so what it says counts for distributed tables and their shards alone, see
 * dyn_derive_arguments() in catalog/definition/trigger.h.
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_DEFINITION_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_DEFINITION_H

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
