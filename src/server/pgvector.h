/*
 * pgvector.h
 *	  What is used of the extension "vector": its type, distances and indexes.
 *
 * This extension works without it.  Functions are called by their symbols in its library, so no name
 * of a schema is looked up where vectors are read and written, and nobody's function can stand in
 * for one of them.
 */
#ifndef DYNAMO_TABLE_SERVER_PGVECTOR_H
#define DYNAMO_TABLE_SERVER_PGVECTOR_H

#include "fmgr.h"

#define PGVECTOR_PLAIN 2000 /* dimensions that fit into a page, and that hnsw takes as a vector */
#define PGVECTOR_HALF 4000 /* dimensions that hnsw takes as a halfvec */
#define PGVECTOR_HALF_END 65520.0f /* what has no nearest number in a halfvec */
#define PGVECTOR_HALF_DIGITS 5 /* of that */

/* This is a value of the type "vector", as it is stored. */
typedef struct PgVector
{
	int32 header; /* of a varlena */
	int16 dimensions;
	int16 unused;
	float values[FLEXIBLE_ARRAY_MEMBER];
} PgVector;

/* These are functions of the library, in the order of pgvector_functions. */
typedef enum PgvectorSymbol
{
	PGVECTOR_INPUT,
	PGVECTOR_COSINE,
	PGVECTOR_L2,
	PGVECTOR_INNER_PRODUCT, /* negative */
	PGVECTOR_TO_HALFVEC
} PgvectorSymbol;

extern PGFunction pgvector_symbol(PgvectorSymbol symbol);
extern bool pgvector_is_vector(Oid type);
extern Oid pgvector_require(void);
extern PgVector *pgvector_new(int dimensions);

#endif
