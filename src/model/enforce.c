/*
 * enforce.c
 *	  Written by helper "entities", who replaces this file.
 */
#include "postgres.h"

#include "model/entity.h"

void
entity_enforce(Relation rel, const DynTable *table, const DynItem *item)
{
	elog(ERROR, "entities cannot be enforced yet");
}
