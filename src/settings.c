/*
 * settings.c
 *	  DynamoDB's limits as settings; their defaults are DynamoDB's values.
 *
 * They hold for everybody, so superusers set them, and those who have been granted SET on the
 * parameter.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "settings.h"

int dyn_max_page_size;
int dyn_max_local_indexes;
int dyn_max_global_indexes;
int dyn_max_projected_attributes;
int dyn_item_collection_size_limit;

void
dyn_settings_init(void)
{
	DefineCustomIntVariable(
		"dynamo_table.max_page_size", "Sets the size of a page of a query or scan.",
		"A page ends with the item that reaches it.", &dyn_max_page_size, 1024 * 1024, 1,
		1024 * 1024 * 1024, PGC_SUSET, GUC_UNIT_BYTE, NULL, NULL, NULL);
	DefineCustomIntVariable("dynamo_table.max_local_indexes",
							"Sets how many local indexes a table can have.", NULL,
							&dyn_max_local_indexes, 5, 0, 1000, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("dynamo_table.max_global_indexes",
							"Sets how many global indexes a table can have.", NULL,
							&dyn_max_global_indexes, 20, 0, 1000, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("dynamo_table.max_projected_attributes",
							"Sets how many attributes all indexes of a table can include.",
							"An attribute counts once for each index that includes it.",
							&dyn_max_projected_attributes, 100, 0, 100000, PGC_SUSET, 0, NULL, NULL,
							NULL);
	DefineCustomIntVariable("dynamo_table.item_collection_size_limit",
							"Sets the size that an item collection can have in a table with local "
							"indexes.",
							"It is the size of its items and of their copies in these indexes.",
							&dyn_item_collection_size_limit, 10 * 1024 * 1024, 1, PG_INT32_MAX,
							PGC_SUSET, GUC_UNIT_KB, NULL, NULL, NULL);
}
