/*
 * resource.h
 *	  The tables that requests are about.
 */
#ifndef DYNAMO_TABLE_REQUEST_RESOURCE_H
#define DYNAMO_TABLE_REQUEST_RESOURCE_H

#include "catalog/indexspec.h"
#include "index/index.h"
#include "request/members.h"

extern Relation request_open_table(ItemSpan name, DynTable **table);
extern Relation request_open_state(ItemSpan name, DynTable **table);
extern Relation request_lock_table(ItemSpan name, LOCKMODE mode, DynTable **table);
extern void request_check_owner(Relation rel);
extern void request_keep_procedures_away(ItemSpan name);
extern void request_begin_work(GsiWork *work, Relation rel, const DynTable *table);
extern void request_require_permanent(Relation rel, const char *hint);
extern ItemSpan request_read_table_name(JsonReader *reader);
extern void request_write_shape(Relation rel, DynShape *shape);
extern void request_write_settings(Relation rel, const DynTable *table,
								   const DynSettings *settings);

/* table_list.c */
extern void request_check_limit(int64 limit, int max);

/* ttl.c */
extern void request_enable_ttl(ItemSpan name, ItemSpan attribute, bool hide_expired,
							   const char *procedure);
extern void request_disable_ttl(ItemSpan name, const char *procedure);

#endif
