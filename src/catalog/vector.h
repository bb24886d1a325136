/*
 * vector.h
 *	  Vector indexes of a table: their definitions, and the entries that items have in them.
 *
 * A vector index has its entries in a materialized view of its own, its *entries relation*.  The
 * trigger that writes them names it (as a constraint trigger does by FROM) and has the definition
 * as its argument, so dumps, renames and drops need no code of ours: a dump has the trigger and the
 * view's definition, and a restore refreshes the view from the items.  The view's query calls
 * dynamo_internal.vector_entries().  It is populated once all items have their entries: before that
 * the index is being created.
 *
 * Nobody can write to a materialized view by SQL, or give it triggers, rules or policies.
 *
 * The entries of a distributed table are a table of the same columns, of the same owner, that is
 * distributed likewise: the entry of an item is in a shard that is always where the item's is.  The
 * definition of the table names it, and has the status.  The node of a shard keeps the entries of
 * what is written there, by the store and by nobody else: see entries_guard.c.
 */
#ifndef DYNAMO_TABLE_CATALOG_VECTOR_H
#define DYNAMO_TABLE_CATALOG_VECTOR_H

#include "access/tupdesc.h"
#include "utils/snapshot.h"

#include "catalog/definition/vector_spec.h"
#include "catalog/key.h"
#include "catalog/size.h"
#include "server/pgvector.h"

/* These are columns of an entry; those of the item's key follow, and that of the hash key is last. */
#define DYN_VECTOR_COLUMN 1
#define DYN_FILTERS_COLUMN 2
#define DYN_ENTRY_KEY_COLUMN 3
#define DYN_MAX_ENTRY_COLUMNS (DYN_ENTRY_KEY_COLUMN + DYN_MAX_KEYS)

#define DYN_VECTOR_TRIGGER "~dynamo_vector_" /* and the name of the index */
#define DYN_VECTORS_TRUNCATED_TRIGGER "~dynamo_vectors_truncated"

typedef struct DynVector
{
	const DynVectorSpec *spec;
	const char *trigger; /* its name; NULL: the table is distributed, or a shard */
	Oid relid; /* of the entries relation; of a shard: that of all shards */
	DynIndex index; /* its name, what it projects of an item, and its hash key */
	int nschema; /* attributes that conditions may name: of the hash key first */
	DynKey *schema;
	bool fits; /* the entries relation has been found to have the columns */
} DynVector;

static inline bool
dyn_vector_is_distributed(const DynVector *vector)
{
	return vector->trigger == NULL;
}

static inline bool
dyn_vector_has_hash(const DynVector *vector)
{
	return vector->spec->hash.len > 0;
}

static inline int
dyn_vector_ncolumns(const DynTable *table, const DynVector *vector)
{
	return DYN_ENTRY_KEY_COLUMN - 1 + table->nkeys + (dyn_vector_has_hash(vector) ? 1 : 0);
}

/* Holds an entry as a row of the entries relation. */
typedef struct DynVectorEntry
{
	Datum values[DYN_MAX_ENTRY_COLUMNS];
	bool nulls[DYN_MAX_ENTRY_COLUMNS];
} DynVectorEntry;

/* Says what is wrong with an item for a vector index: in our words, and in DynamoDB's or NULL. */
typedef struct DynVectorProblem
{
	const char *message;
	const char *words;
} DynVectorProblem;

extern void dyn_vector_set(const DynTable *table, const DynVectorSpec *spec, DynVector *vector);
extern void dyn_read_vectors(Relation rel, DynTable *table);
extern DynVector *dyn_find_vector(const DynTable *table, ItemSpan name);
pg_noreturn extern void dyn_vector_fail_dropped(const DynTable *table, const DynVector *vector);
extern DynSize dyn_vector_size(const DynVector *vector);
extern bool dyn_vector_is_built(const DynVector *vector);
extern bool dyn_vector_is_shown(const DynVector *vector, Snapshot snapshot);
extern bool dyn_vector_is_owned(const DynTable *table, const DynVector *vector);
extern bool dyn_vector_has_halves(const DynVectorSpec *spec);
extern bool dyn_vector_problem(const DynVector *vector, const DynItem *item,
							   DynVectorProblem *problem);
extern bool dyn_vector_same(const DynVector *vector, const DynItem *a, const DynItem *b);
extern bool dyn_vector_has(const DynVector *vector, const DynItem *item);
extern PgVector *dyn_vector_value(const DynVector *vector, const DynItem *item);
extern bool dyn_vector_entry(const DynTable *table, const DynVector *vector, const DynItem *item,
							 DynVectorEntry *entry);
extern bool dyn_vector_columns_fit(const DynTable *table, const DynVector *vector, TupleDesc desc);
extern void dyn_vector_check_owned(const DynTable *table, const DynVector *vector);
extern void dyn_vector_check_fits(const DynTable *table, DynVector *vector, Relation entries);
extern DynItem *dyn_vector_part(const DynTable *table, const DynVector *vector, const DynItem *item,
								bool with_vector);
extern const char *dyn_vector_trigger_name(ItemSpan index);
extern void dyn_vector_init(void);

/* store/vector.c */
extern PGDLLEXPORT Datum dyn_keep_vectors(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum dyn_vector_entries(PG_FUNCTION_ARGS);
extern void dyn_vectors_write(Relation shard, const DynTable *table, const DynKeyValues *key,
							  const DynItem *item);

#endif
