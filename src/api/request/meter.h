/*
 * meter.h
 *	  What a request for several items takes: capacity and collections, by table.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_METER_H
#define DYNAMO_TABLE_API_REQUEST_METER_H

#include "actions/several.h"
#include "api/request/capacity.h"

/* This is a table of a batch, or an action of a transaction. */
typedef struct MeterPart
{
	text *table; /* as it is named */
	CapacityKind kind;
	const char *operation; /* that privileges are for; NULL: the request's */
} MeterPart;

typedef struct RequestMeter
{
	ItemMeter meter;
	CapacityDetail detail;
	MemoryContext context;
	MeterPart *parts; /* for the caller to set */
	List *names; /* text *, of each table */
	List *capacities; /* Capacity *, of each */
	const DynTable *collected; /* whose collections are being written */
	JsonWriter collections;
} RequestMeter;

extern void meter_init(RequestMeter *meter, int detail, int metrics, int nparts);

/* Returns what the action counts with, or NULL if nothing is to be counted. */
extern const ItemMeter *meter_wanted(const RequestMeter *meter);

/* Prints ConsumedCapacity and ItemCollectionMetrics, as far as they are wanted. */
extern void meter_print(JsonWriter *response, RequestMeter *meter);

#endif
