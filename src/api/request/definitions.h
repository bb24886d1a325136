/*
 * definitions.h
 *	  How requests define tables and indexes: AttributeDefinitions, KeySchema, Projection …
 */
#ifndef DYNAMO_TABLE_API_REQUEST_DEFINITIONS_H
#define DYNAMO_TABLE_API_REQUEST_DEFINITIONS_H

#include "api/request/members.h"
#include "catalog/definition/description.h"
#include "catalog/shape.h"
#include "catalog/vector.h"

/* This is an element of KeySchema. */
typedef struct KeyElement
{
	ItemSpan attribute;
	int range; /* KeyType */
} KeyElement;

/* This is an element of AttributeDefinitions. */
typedef struct AttributeDefinition
{
	ItemSpan name;
	int type; /* of the names S, N, B in this order */
	bool used;
} AttributeDefinition;

/* This is SSESpecification. */
typedef struct Encryption
{
	bool enabled;
	int type; /* SSEType; -1: none */
} Encryption;

/* This is an element of GlobalSecondaryIndexes or LocalSecondaryIndexes. */
typedef struct IndexDefinition
{
	DynIndexSpec spec; /* its keys and what it includes are set by request_index_spec() */
	List *keys; /* of KeyElement */
	List *included; /* of ItemSpan */
	DynUnits units;
} IndexDefinition;

/* This is an element of SearchSchema. */
typedef struct SearchElement
{
	ItemSpan attribute;
	int filter; /* SearchSchemaElementType */
} SearchElement;

/* This is an element of VectorIndexes, or the Create of one of VectorIndexUpdates. */
typedef struct VectorDefinition
{
	IndexDefinition index; /* its name, and what it projects */
	ItemSpan attribute;
	RequestInteger dimensions;
	int distance;
	List *schema; /* of SearchElement */
} VectorDefinition;

#define NO_PROJECTION ((DynProjection) -1) /* it is not given */

/* This is StreamSpecification. */
typedef struct StreamSpecification
{
	bool enabled;
	int view; /* StreamViewType; -1: none */
} StreamSpecification;

extern const RequestType request_attribute; /* AttributeDefinition */
extern const RequestType request_key; /* KeyElement */
extern const RequestType request_global_index; /* IndexDefinition */
extern const RequestType request_local_index;
extern const RequestType request_vector_index; /* VectorDefinition */
extern const RequestType request_stream; /* StreamSpecification */
extern const RequestType request_encryption; /* Encryption */
extern const RequestType request_provisioned; /* DynCapacity, of which nothing is said */
extern const RequestType request_maximum;
extern const RequestType request_warm;

/* These are the throughputs that a structure has as "units". */
#define UNITS_MEMBERS(type) \
	{"ProvisionedThroughput", MEMBER_PART, offsetof(type, units.provisioned), \
	 .of = &request_provisioned}, \
		{"OnDemandThroughput", MEMBER_PART, offsetof(type, units.maximum), \
		 .of = &request_maximum}, \
	{ \
		"WarmThroughput", MEMBER_PART, offsetof(type, units.warm), .of = &request_warm \
	}

extern void request_read_table_class(JsonReader *reader, void *class); /* DynTableClass */

extern void request_check_stream(const StreamSpecification *stream, bool create);
extern void request_check_encryption(const Encryption *encryption);

extern void request_set_keys(DynShape *shape, List *keys, List *attributes);
extern DynIndexSpec *request_index_spec(IndexDefinition *definition, const DynShape *shape,
										DynDescription *description, List *attributes);
extern DynVectorSpec *request_vector_spec(VectorDefinition *definition, List *attributes);
extern void request_check_vector_billing(DynBilling billing, bool any);
extern void request_check_attributes(const DynShape *shape, List *attributes);

#endif
