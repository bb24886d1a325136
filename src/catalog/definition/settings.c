/*
 * settings.c
 *	  DynamoDB's limits as settings; their defaults are DynamoDB's values.  And what the administrator
 *	  decides for requests.
 *
 * They apply to all users, so only superusers can set them, and roles with the SET privilege on the
 * parameter.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "catalog/definition/index_spec.h"
#include "catalog/definition/settings.h"
#include "catalog/definition/vector_spec.h"
#include "item/item.h"

#define MAX_BYTES (1024 * 1024 * 1024)
#define MAX_COUNT 100000
#define MAX_INDEXES 1000

int dyn_max_page_size;
int dyn_max_batch_get_keys;
int dyn_max_batch_writes;
int dyn_max_batch_size;
int dyn_max_transaction_actions;
int dyn_max_transaction_size;
int dyn_max_local_indexes;
int dyn_max_global_indexes;
int dyn_max_projected_attributes;
int dyn_covering_entry_limit;
bool dyn_covering_indexes;
int dyn_vector_index_method = DYN_SEARCH_EXACT;
bool dyn_distribute_new_tables = false;
int dyn_distribute_new_indexes = DYN_DISTRIBUTE_TABLE;
int dyn_item_collection_size_limit;
int dyn_continuous_backups = DYN_BACKUPS_ARCHIVE; /* servers with asserts want the default here */

static void
limit(const char *name, const char *short_desc, const char *long_desc, int *value, int boot,
	  int min, int max, int flags)
{
	DefineCustomIntVariable(name, short_desc, long_desc, value, boot, min, max, PGC_SUSET, flags,
							NULL, NULL, NULL);
}

/* Defines the limits of one request. */
static void
init_request_limits(void)
{
	limit("dynamo_table.max_page_size", "Sets the size of a page of a query or scan.",
		  "A page ends with the item that reaches it.", &dyn_max_page_size, 1024 * 1024, 1,
		  MAX_BYTES, GUC_UNIT_BYTE);
	limit("dynamo_table.max_batch_get_keys", "Sets how many items a batch can read.", NULL,
		  &dyn_max_batch_get_keys, 100, 1, MAX_COUNT, 0);
	limit("dynamo_table.max_batch_writes", "Sets how many items a batch can write.", NULL,
		  &dyn_max_batch_writes, 25, 1, MAX_COUNT, 0);
	limit("dynamo_table.max_batch_size", "Sets the size of the items of a batch.",
		  "BatchGetItem leaves what would exceed it to the next request.", &dyn_max_batch_size,
		  16 * 1024 * 1024, ITEM_MAX_SIZE, MAX_BYTES, GUC_UNIT_BYTE);
	limit("dynamo_table.max_transaction_actions", "Sets how many actions a transaction can have.",
		  NULL, &dyn_max_transaction_actions, 100, 1, MAX_COUNT, 0);
	limit("dynamo_table.max_transaction_size",
		  "Sets the size of the request of a transaction, or of the items that it reads.", NULL,
		  &dyn_max_transaction_size, 4 * 1024 * 1024, 1, MAX_BYTES, GUC_UNIT_BYTE);
}

/* Defines the limits of a table. */
static void
init_table_limits(void)
{
	static const struct config_enum_entry distributions[] = {{"table", DYN_DISTRIBUTE_TABLE, false},
															 {"key", DYN_DISTRIBUTE_KEY, false},
															 {NULL, 0, false}};

	limit("dynamo_table.max_local_indexes", "Sets how many local indexes a table can have.", NULL,
		  &dyn_max_local_indexes, 5, 0, MAX_INDEXES, 0);
	limit("dynamo_table.max_global_indexes", "Sets how many global indexes a table can have.", NULL,
		  &dyn_max_global_indexes, 20, 0, MAX_INDEXES, 0);
	limit("dynamo_table.max_projected_attributes",
		  "Sets how many attributes all indexes of a table can include.",
		  "An attribute counts once for each index that includes it.",
		  &dyn_max_projected_attributes, 100, 0, MAX_COUNT, 0);
	DefineCustomIntVariable(
		"dynamo_table.covering_entry_limit",
		"Sets how long an entry of a covering index can be that is created.",
		"Reads get what does not fit from the table.  An index keeps the limit that it has.",
		&dyn_covering_entry_limit, 1000, 100, DYN_MAX_ENTRY_LIMIT, PGC_USERSET, GUC_UNIT_BYTE, NULL,
		NULL, NULL);
	DefineCustomBoolVariable("dynamo_table.covering_indexes",
							 "Sets whether indexes that requests create are covering.",
							 "CreateTable and UpdateTable have no parameter for it.",
							 &dyn_covering_indexes, false, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable(
		"dynamo_table.distribute_new_tables",
		"Sets whether tables that CreateTable creates are distributed by Citus.",
		"A worker of Citus has the coordinator create them.", &dyn_distribute_new_tables, false,
		PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable(
		"dynamo_table.distribute_new_indexes",
		"Sets by what global indexes that requests create in distributed tables "
		"are distributed.",
		"With the table they are in the shards of its items.  By their own key a "
		"query of one reads one shard.",
		&dyn_distribute_new_indexes, DYN_DISTRIBUTE_TABLE, distributions, PGC_USERSET, 0, NULL,
		NULL, NULL);
	limit("dynamo_table.item_collection_size_limit",
		  "Sets the size that an item collection can have in a table with local indexes.",
		  "It is the size of its items and of their copies in these indexes.",
		  &dyn_item_collection_size_limit, 10 * 1024 * 1024, 1, PG_INT32_MAX, GUC_UNIT_KB);
}

static void
init_decisions(void)
{
	static const struct config_enum_entry methods[] = {
		{"exact", DYN_SEARCH_EXACT, false}, {"hnsw", DYN_SEARCH_HNSW, false}, {NULL, 0, false}};
	static const struct config_enum_entry backups[] = {{"refuse", DYN_BACKUPS_REFUSE, false},
													   {"archive", DYN_BACKUPS_ARCHIVE, false},
													   {"accept", DYN_BACKUPS_ACCEPT, false},
													   {NULL, 0, false}};

	DefineCustomEnumVariable("dynamo_table.continuous_backups",
							 "Sets whether requests can enable point-in-time recovery of tables.",
							 "archive: where the server archives its WAL.", &dyn_continuous_backups,
							 DYN_BACKUPS_ARCHIVE, backups, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("dynamo_table.vector_index_method",
							 "Sets the method of vector indexes that requests create.",
							 "CreateTable and UpdateTable have no parameter for it.",
							 &dyn_vector_index_method, DYN_SEARCH_EXACT, methods, PGC_USERSET, 0,
							 NULL, NULL, NULL);
}

/* Defines these settings.  Called once by _PG_init(). */
void
dyn_settings_init(void)
{
	init_request_limits();
	init_table_limits();
	init_decisions();
}
