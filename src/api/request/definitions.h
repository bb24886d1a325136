/*
 * definitions.h
 *	  How requests define tables and indexes: AttributeDefinitions, KeySchema, Projection …
 */
#ifndef DYNAMO_TABLE_API_REQUEST_DEFINITIONS_H
#define DYNAMO_TABLE_API_REQUEST_DEFINITIONS_H

#include "api/request/members.h"
#include "catalog/definition/description.h"
#include "catalog/shape.h"

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

/* What is given of ProvisionedThroughput, OnDemandThroughput or WarmThroughput. */
typedef struct Throughput
{
	RequestInteger read;
	RequestInteger write;
} Throughput;

/* All three, of a table or an index. */
typedef struct Throughputs
{
	Throughput provisioned;
	Throughput maximum;
	Throughput warm;
} Throughputs;

/* SSESpecification */
typedef struct Encryption
{
	bool given;
	bool enabled;
	int type; /* SSEType; -1: none */
} Encryption;

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
	Throughputs throughputs;
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
extern void request_read_provisioned(JsonReader *reader, void *throughput);
extern void request_read_on_demand(JsonReader *reader, void *throughput);
extern void request_read_warm(JsonReader *reader, void *throughput);
extern void request_read_global_index(JsonReader *reader, void *definition);
extern void request_read_global_indexes(JsonReader *reader, void *list);
extern void request_read_local_indexes(JsonReader *reader, void *list);
extern void request_read_stream(JsonReader *reader, void *specification);
extern void request_read_table_class(JsonReader *reader, void *class);
extern void request_read_encryption(JsonReader *reader, void *encryption);

extern void request_check_stream(const StreamSpecification *stream, bool create);
extern void request_check_encryption(const Encryption *encryption);

extern void request_set_keys(DynShape *shape, List *keys, List *attributes);
extern DynIndexSpec *request_index_spec(const IndexDefinition *definition, bool local,
										const DynShape *shape, DynDescription *description,
										List *attributes);
extern void request_use_attribute(ItemSpan spec, List *attributes);
extern void request_check_used(List *attributes, bool has_indexes);
extern bool request_has_units(const Throughputs *given);
extern void request_set_units(DynUnits *units, const Throughputs *given, const ItemSpan *index);

#endif
