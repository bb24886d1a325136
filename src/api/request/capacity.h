/*
 * capacity.h
 *	  ConsumedCapacity and ItemCollectionMetrics: what DynamoDB would count.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_CAPACITY_H
#define DYNAMO_TABLE_API_REQUEST_CAPACITY_H

#include "actions/actions.h"
#include "item/json_writer.h"

/* This is ReturnConsumedCapacity. */
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

/* This is counted in half units, which an eventually consistent read takes. */
typedef struct Capacity
{
	const DynTable *table;
	int64 of_table;
	int64 *of_indexes; /* in the table's order */
	int64 *of_vectors; /* bytes, the same of vector indexes */
	const char *direction; /* the member that says so again, of a transaction; or NULL */
} Capacity;

/* Says what is done with items, and how consistently. */
typedef enum CapacityKind
{
	CAPACITY_READ,
	CAPACITY_CONSISTENT_READ,
	CAPACITY_TRANSACTION_READ,
	CAPACITY_WRITE,
	CAPACITY_TRANSACTION_WRITE
} CapacityKind;

extern void capacity_init(Capacity *capacity, const DynTable *table);

/* This is what is read of a table or index, stretch by stretch.  It must not be moved or copied. */
typedef struct ReadCapacity
{
	ReadMeter meter;
	int64 blocks;
	int64 fetched; /* blocks of items that a local index's entries led to */
} ReadCapacity;

extern void read_capacity_begin(ReadCapacity *capacity);
extern void read_capacity_print(JsonWriter *out, ItemSpan table, CapacityDetail detail,
								const ReadCapacity *capacity, const ReadResult *result,
								bool consistent);

/* Adds an item as it was and as it is now, NULL if there is none; an item only read is both. */
extern void capacity_add_item(Capacity *capacity, const DynItem *old, const DynItem *new,
							  CapacityKind kind);

/* Adds a write of a transaction that was done before, by its size then. */
extern void capacity_add_replay(Capacity *capacity, Size size);

/* Prints an object; its name is NULL in an array.  The table is named as the request has it. */
extern void capacity_print(JsonWriter *out, const char *name, ItemSpan table, CapacityDetail detail,
						   const Capacity *capacity);

/* Prints what a request takes that does something with one item. */
extern void item_capacity_print(JsonWriter *out, ItemSpan table, CapacityDetail detail,
								const ItemMeasure *measure, CapacityKind kind);

/* These are ReturnItemCollectionMetrics and its answer: nothing where collections are unlimited. */
extern const char *const metrics_choices[];
#define RETURN_METRICS(type, field) \
	{ \
		"ReturnItemCollectionMetrics", MEMBER_CHOICE, offsetof(type, field), \
			.choices = metrics_choices, .set = "SIZE, NONE" \
	}
extern void metrics_print(JsonWriter *out, const char *name, const ItemMeasure *measure);

#endif
