/*
 * lookup.h
 *	  From DynamoDB's names to relations and columns.
 */
#ifndef DYNAMO_TABLE_CATALOG_LOOKUP_H
#define DYNAMO_TABLE_CATALOG_LOOKUP_H

#include "utils/array.h"

#include "catalog/table.h"

#define DYN_NOT_FOUND_WORDS "Requested resource not found"
extern void dyn_count_missing(void);
extern void dyn_expect_tables(ArrayType *tables);
extern Oid dyn_table_lookup(ItemSpan name);
extern bool dyn_table_lock_at_once(text *name, LOCKMODE lockmode);
extern Relation dyn_table_open(text *name, LOCKMODE lockmode, DynTable **table);
extern Relation dyn_table_find(ItemSpan name, LOCKMODE lockmode, DynTable **table);
extern Relation dyn_open_given(Oid relid);
extern Relation dyn_table_open_state(text *name, DynTable **table);
extern Relation dyn_table_find_state(ItemSpan name, DynTable **table);
extern char *dyn_identifier(ItemSpan name);
extern char *dyn_column_identifier(ItemSpan name);
extern void dyn_split_name(ItemSpan name, char **schema, char **relation);
extern Oid dyn_creation_schema(ItemSpan name, char **relation);
extern ItemSpan dyn_name_of_relation(const char *relation, const DynSettings *settings);

#endif
