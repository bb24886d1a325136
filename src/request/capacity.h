/*
 * capacity.h
 *	  ConsumedCapacity: what DynamoDB would count.  Nothing is limited by it.
 */
#ifndef DYNAMO_TABLE_REQUEST_CAPACITY_H
#define DYNAMO_TABLE_REQUEST_CAPACITY_H

#include "catalog/table.h"
#include "item/item.h"

/* ReturnConsumedCapacity. */
typedef enum CapacityDetail
{
	CAPACITY_NONE,
	CAPACITY_TOTAL,
	CAPACITY_INDEXES
} CapacityDetail;

extern const char *const capacity_details[];

/* In half units, which an eventually consistent read takes. */
typedef struct Capacity
{
	const DynTable *table;
	int64 of_table;
	int64 *of_indexes; /* in the table's order */
} Capacity;

/* How consistent a read is. */
typedef enum CapacityRead
{
	CAPACITY_EVENTUAL,
	CAPACITY_CONSISTENT,
	CAPACITY_TRANSACTION
} CapacityRead;

extern void capacity_init(Capacity *capacity, const DynTable *table);

/* Blocks of an index, or of the table, of what is read as one. */
extern int64 capacity_read_blocks(Size bytes);
extern void capacity_add_read(Capacity *capacity, const DynIndex *index, int64 blocks,
							  CapacityRead read);

/* One item; NULL: there is none. */
extern void capacity_add_get(Capacity *capacity, const DynItem *item, CapacityRead read);
extern void capacity_add_write(Capacity *capacity, const DynItem *old, const DynItem *new,
							   bool transaction);

/* An object; its name is NULL in an array.  The table is named as the request has it. */
extern void capacity_print(StringInfo out, const char *name, ItemSpan table, CapacityDetail detail,
						   const Capacity *capacity);

#endif
