/*
 * capacity.h
 *	  ConsumedCapacity and ItemCollectionMetrics: what DynamoDB would count.
 */
#ifndef DYNAMO_TABLE_REQUEST_CAPACITY_H
#define DYNAMO_TABLE_REQUEST_CAPACITY_H

#include "actions/actions.h"
#include "ground/json_writer.h"

/* ReturnConsumedCapacity. */
typedef enum CapacityDetail
{
	CAPACITY_NONE,
	CAPACITY_TOTAL,
	CAPACITY_INDEXES
} CapacityDetail;

extern const char *const capacity_details[];
#define RETURN_CAPACITY(type, field) \
	{ \
		"ReturnConsumedCapacity", MEMBER_CHOICE, offsetof(type, field), \
			.choices = capacity_details, .set = "INDEXES, TOTAL, NONE" \
	}

/* In half units, which an eventually consistent read takes. */
typedef struct Capacity
{
	const DynTable *table;
	int64 of_table;
	int64 *of_indexes; /* in the table's order */
	const char *direction; /* the member that says so again, of a transaction; or NULL */
} Capacity;

/* What is done with items, and how consistently. */
typedef enum CapacityKind
{
	CAPACITY_READ,
	CAPACITY_CONSISTENT_READ,
	CAPACITY_TRANSACTION_READ,
	CAPACITY_WRITE,
	CAPACITY_TRANSACTION_WRITE
} CapacityKind;

extern void capacity_init(Capacity *capacity, const DynTable *table);

/* Blocks of an index, or of the table, of what is read as one. */
extern int64 capacity_read_blocks(Size bytes);
extern void capacity_add_read(Capacity *capacity, const DynIndex *index, int64 blocks,
							  CapacityKind kind);

/* One item as it was and is now, NULL if there is none; where nothing was written, twice the same. */
extern void capacity_add_item(Capacity *capacity, const DynItem *old, const DynItem *new,
							  CapacityKind kind);

/* An object; its name is NULL in an array.  The table is named as the request has it. */
extern void capacity_print(JsonWriter *out, const char *name, ItemSpan table, CapacityDetail detail,
						   const Capacity *capacity);

/* ReturnItemCollectionMetrics, and what it returns: nothing where collections have no limit. */
extern const char *const metrics_choices[];
#define RETURN_METRICS(type, field) \
	{ \
		"ReturnItemCollectionMetrics", MEMBER_CHOICE, offsetof(type, field), \
			.choices = metrics_choices, .set = "SIZE, NONE" \
	}
extern void metrics_print(JsonWriter *out, const char *name, const ItemMeasure *measure);

#endif
