/*
 * follower.h
 *	  Triggers of other tables that write to a table of items: followers of its migrations.
 *
 * A follower's WHEN is a condition that is always true and names the table of items as a constant
 * of type regclass.  So the server knows that the trigger depends on that table: DROP TABLE is
 * refused, or with CASCADE drops the trigger and says so.  The condition is a part of the trigger's
 * definition, so a dump has it too.
 */
#ifndef DYNAMO_TABLE_CATALOG_FOLLOWER_H
#define DYNAMO_TABLE_CATALOG_FOLLOWER_H

#include "access/htup.h"
#include "utils/relcache.h"

/* The names of these triggers begin with this.  The name of the migration is their argument. */
#define DYN_FOLLOW_TRIGGER "~dynamo_follow"

/* Returns a copy of its row of pg_trigger, or NULL if the trigger is gone. */
extern HeapTuple dyn_follower_trigger(Oid oid);

/* Returns the migration that follows a partition without a trigger for TRUNCATE, or NULL. */
extern char *dyn_follower_of_partition(Oid relid);

extern char *dyn_follower_condition(const char *qualified);
extern char *dyn_follower_literal(const char *migration);
extern void dyn_follower_refuse(Relation rel, const char *done);

#endif
