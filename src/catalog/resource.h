/*
 * resource.h
 *	  Tables as calls name them, by name or ARN: to read them, to describe them, to change what they
 *	  are.
 */
#ifndef DYNAMO_TABLE_CATALOG_RESOURCE_H
#define DYNAMO_TABLE_CATALOG_RESOURCE_H

#include "catalog/shape.h"

extern Relation resource_open(ItemSpan name, DynTable **table);
extern Relation resource_open_state(ItemSpan name, DynTable **table);
extern Relation resource_lock(ItemSpan name, LOCKMODE mode, DynTable **table);
extern void resource_keep_procedures_away(ItemSpan name);
extern void resource_require_permanent(Relation rel, const char *hint);
extern void resource_write_shape(Relation rel, DynShape *shape);

#endif
