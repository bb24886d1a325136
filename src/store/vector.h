/*
 * vector.h
 *	  The entries of vector indexes: written with the items, and searched.
 *
 * Entries are read and written without the executor, and without a look at privileges on them:
 * nobody but the owner has any.  Callers see to the privileges on the table.  What is found is the
 * key of an item; whoever reads the item reads it with the rights of the caller.
 */
#ifndef DYNAMO_TABLE_STORE_VECTOR_H
#define DYNAMO_TABLE_STORE_VECTOR_H

#include "storage/block.h"
#include "utils/array.h"
#include "utils/jsonb.h"

#include "catalog/check/check.h"
#include "catalog/vector.h"
#include "server/pgvector.h"

/* Returns whether an entry's attributes that conditions may name are what is searched for. */
typedef bool (*StoreSearchAccepts)(const DynItem *attributes, void *arg);

/* This is a search for the nearest entries that the active snapshot shows. */
typedef struct StoreSearch
{
	DynTable *table;
	DynVector *vector;
	const PgVector *query;
	bool hashed; /* only entries that have this hash key */
	Datum hash;
	StoreSearchAccepts accepts; /* NULL: all */
	void *arg;
	int most; /* how many are wanted */
	bool exact; /* whatever the method of the index is */
	/* a distributed table's shards are asked by these, which are not NULL */
	text *condition;
	Jsonb *names;
	text *values; /* as JSON */
	bool approximate; /* set: what was found may not be the nearest */
} StoreSearch;

typedef struct StoreFound
{
	float score;
	float rank; /* the score, or its negative where the largest is the best */
	ItemPointerData place; /* of the entry, unless shards were asked */
	Datum key[DYN_MAX_KEYS];
} StoreFound;

/* Returns how many were found, which is fewer than most if there are no more; the best first. */
extern int store_search(StoreSearch *search, StoreFound **found);

extern PgVector *store_vector_query(const DynVectorSpec *spec, const ArrayType *array);
extern int store_found_items(Relation rel, const DynTable *table, StoreFound *found, int n);

/* Tells what has become of rows that are older than an index. */
typedef struct StoreVectorFill
{
	MemoryContext context; /* of the list */
	List *locked; /* of ItemPointer: rows that other sessions have locked */
	int64 items; /* that have got entries */
	int64 left_out; /* that have a vector which no entry can be made of */
} StoreVectorFill;

extern void store_vector_fill(Relation rel, DynTable *table, DynVector *vector, BlockNumber from,
							  BlockNumber to, StoreVectorFill *fill);
extern void store_vector_fill_row(Relation rel, DynTable *table, DynVector *vector, ItemPointer tid,
								  StoreVectorFill *fill);

/* Sets a vector index of an open shard to its entries. */
extern void store_vector_of_shard(Relation rel, const DynTable *shard, const DynVector *vector,
								  DynVector *here);

/* Returns the index of type hnsw by which it is searched, valid or not; InvalidOid: there is none. */
extern Oid store_vector_hnsw(const DynVector *vector, bool valid);
/* This is a step of dyn_check_table(). */
extern void store_vector_check(TableCheck *check);

/* Returns whether indexes of the entries have expressions or predicates that this extension did not make. */
extern bool store_vector_has_code(const DynVector *vector, Relation entries);
extern const char *store_vector_operators(const DynVectorSpec *spec);
extern const char *store_vector_operator(const DynVectorSpec *spec);

#endif
