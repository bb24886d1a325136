/*
 * settings.h
 *	  DynamoDB's limits, as far as they are settings, and what the administrator decides for requests.
 *
 * Only limits that actions and DDL check are settings.  The limits of items and expressions are
 * not: immutable functions check them, whose results may not depend on settings.
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_SETTINGS_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_SETTINGS_H

/* dynamo_table.max_page_size is the number of bytes that end a page of a Query or Scan. */
extern int dyn_max_page_size;

/* dynamo_table.max_batch_get_keys, max_batch_writes and max_batch_size (bytes) limit a batch. */
extern int dyn_max_batch_get_keys;
extern int dyn_max_batch_writes;
extern int dyn_max_batch_size;

/* dynamo_table.max_transaction_actions and max_transaction_size (bytes) limit a transaction. */
extern int dyn_max_transaction_actions;
extern int dyn_max_transaction_size;

/* dynamo_table.max_local_indexes and max_global_indexes limit a table. */
extern int dyn_max_local_indexes;
extern int dyn_max_global_indexes;

/* dynamo_table.max_projected_attributes limits those of INCLUDE, over all indexes of a table. */
extern int dyn_max_projected_attributes;

/* dynamo_table.covering_entry_limit limits the bytes of an entry of a new covering index. */
extern int dyn_covering_entry_limit;

/* dynamo_table.covering_indexes says whether indexes that requests create are covering. */
extern bool dyn_covering_indexes;

/* dynamo_table.vector_index_method is the method of vector indexes that requests create. */
extern int dyn_vector_index_method;

/* dynamo_table.distribute_new_tables says whether CreateTable distributes the table by Citus. */
extern bool dyn_distribute_new_tables;
extern int dyn_distribute_new_indexes; /* a DynIndexDistribution */

/* dynamo_table.item_collection_size_limit is that of a table with local indexes, in kB. */
extern int dyn_item_collection_size_limit;

/* dynamo_table.continuous_backups says whether tables can have point-in-time recovery declared. */
enum
{
	DYN_BACKUPS_REFUSE,
	DYN_BACKUPS_ARCHIVE, /* where the server archives its WAL */
	DYN_BACKUPS_ACCEPT
};
extern int dyn_continuous_backups;

/* Called once by _PG_init. */
extern void dyn_settings_init(void);

#endif
