/*
 * definitions.h
 *	  How requests define tables and indexes: AttributeDefinitions, KeySchema, Projection …
 */
#ifndef DYNAMO_TABLE_REQUEST_DEFINITIONS_H
#define DYNAMO_TABLE_REQUEST_DEFINITIONS_H

#include "catalog/shape.h"
#include "ground/description.h"
#include "request/members.h"

/* An element of KeySchema. */
typedef struct KeyElement
{
	ItemSpan attribute;
	int range; /* KeyType */
} KeyElement;

/* An element of AttributeDefinitions. */
typedef struct AttributeDefinition
{
	ItemSpan name;
	int type; /* of the names S, N, B in this order */
	bool used;
} AttributeDefinition;

/* ProvisionedThroughput */
typedef struct Throughput
{
	RequestInteger read;
	RequestInteger write;
} Throughput;

/* An element of GlobalSecondaryIndexes or LocalSecondaryIndexes. */
typedef struct IndexDefinition
{
	ItemSpan name;
	List *keys; /* of KeyElement */
	struct
	{
		int type; /* -1: not given */
		List *included; /* of ItemSpan */
	} projection;
	Throughput throughput;
} IndexDefinition;

/* StreamSpecification */
typedef struct StreamSpecification
{
	bool given;
	bool enabled;
	int view; /* StreamViewType; -1: none */
} StreamSpecification;

/* Of MEMBER_CUSTOM. */
extern void request_read_attributes(JsonReader *reader, void *list);
extern void request_read_key_schema(JsonReader *reader, void *list);
extern void request_read_throughput(JsonReader *reader, void *throughput);
extern void request_read_global_index(JsonReader *reader, void *definition);
extern void request_read_global_indexes(JsonReader *reader, void *list);
extern void request_read_local_indexes(JsonReader *reader, void *list);
extern void request_read_stream(JsonReader *reader, void *specification);
extern void request_read_encryption(JsonReader *reader, void *unused);

extern void request_set_keys(DynShape *shape, List *keys, List *attributes);
extern DynIndexSpec *request_index_spec(const IndexDefinition *definition, bool local,
										const DynShape *shape, DynDescription *description,
										List *attributes);
extern void request_use_attribute(ItemSpan spec, List *attributes);
extern void request_check_used(List *attributes);
extern DynCapacity request_capacity(const Throughput *throughput);

#endif
