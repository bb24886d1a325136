/*
 * resource.h
 *	  The tables that requests are about.
 */
#ifndef DYNAMO_TABLE_REQUEST_RESOURCE_H
#define DYNAMO_TABLE_REQUEST_RESOURCE_H

#include "catalog/table.h"
#include "request/members.h"

extern Relation request_open_table(ItemSpan name, DynTable **table);
extern Relation request_lock_table(ItemSpan name, LOCKMODE mode, DynTable **table);
extern void request_check_owner(Relation rel);
extern ItemSpan request_read_table_name(JsonReader *reader);
extern void request_write_settings(Relation rel, const DynTable *table,
								   const DynSettings *settings);

#endif
