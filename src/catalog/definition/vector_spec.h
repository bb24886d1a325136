/*
 * vector_spec.h
 *	  How a vector index is declared, and how the arguments of its trigger keep it.
 *
 * It is the argument of the trigger that keeps the index, a JSON object, like
 *
 *		{"name": "embeddings", "attribute": "embedding", "dimensions": 384, "distance": "COSINE",
 *		 "method": "exact", "hash_key": "tenant S", "filters": ["lang S"], "projection": "ALL"}
 *
 * A distributed table has it in an argument of its definition, with the name of the table of
 * entries, and the status.
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_VECTOR_SPEC_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_VECTOR_SPEC_H

#include "catalog/definition/index_spec.h"

#define DYN_MAX_VECTORS 5 /* vector indexes of a table */
#define DYN_MAX_DIMENSIONS 4096
#define DYN_MAX_FILTERS 20

typedef enum DynDistance
{
	DYN_DISTANCE_COSINE,
	DYN_DISTANCE_EUCLIDEAN,
	DYN_DISTANCE_DOT_PRODUCT
} DynDistance;

typedef enum DynSearchMethod
{
	DYN_SEARCH_EXACT,
	DYN_SEARCH_HNSW
} DynSearchMethod;

typedef struct DynVectorSpec
{
	DynIndexSpec index; /* its name, what it projects, its entries and status; the rest is zero */
	ItemSpan attribute; /* that has the vectors */
	int64 dimensions;
	DynDistance distance;
	DynSearchMethod method;
	ItemSpan hash; /* "name TYPE"; of length 0: searches need not name a value */
	int nfilters;
	ItemSpan *filters; /* "name TYPE" */
} DynVectorSpec;

extern const char *const dyn_distance_names[]; /* these end with NULL */
extern const char *const dyn_search_method_names[];

extern DynVectorSpec *dyn_vector_spec_parse(const char *json);
extern char *dyn_vector_spec_print(const DynVectorSpec *spec);
extern bool dyn_vector_spec_is_argument(const char *argument);
extern DynVectorSpec *dyn_vector_spec_parse_argument(const char *argument);
extern char *dyn_vector_spec_print_argument(const DynVectorSpec *spec);
extern char *dyn_vector_spec_words(const DynVectorSpec *spec);
extern void dyn_vector_spec_check(DynVectorSpec *spec, bool stored);

#endif
