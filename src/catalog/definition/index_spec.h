/*
 * index_spec.h
 *	  How a secondary index is declared, and how the derive trigger's arguments keep it.
 *
 * As an argument it is a JSON object, like
 *
 *		{"name": "GSI1", "type": "global", "partition_key": ["GSI1PK S"],
 *		 "sort_key": ["GSI1SK S"], "projection": "INCLUDE", "non_key_attributes": ["Role"]}
 *
 * with "status": "CREATING" or "DELETING" until its creation or removal has finished, with
 * "covering": "column", "entry_limit" and "compression" if its btree carries what it projects (see
 * catalog/carried.h), and with "entries", the name of the relation of its entries, if these are
 * distributed by its own key (see catalog/entries.h).
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_INDEX_SPEC_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_INDEX_SPEC_H

#include "catalog/definition/key_spec.h"
#include "catalog/definition/table_settings.h"

#define DYN_MAX_KEY_PART 4 /* attributes of a partition or sort key of an index */
#define DYN_MAX_INDEX_KEYS (2 * DYN_MAX_KEY_PART)
#define DYN_MAX_ENTRY_LIMIT 2704 /* the largest entry that nbtree allows */

typedef enum DynProjection
{
	DYN_PROJECT_ALL,
	DYN_PROJECT_KEYS_ONLY,
	DYN_PROJECT_INCLUDE
} DynProjection;

typedef enum DynCompression
{
	DYN_COMPRESSION_NONE, /* nothing is carried */
	DYN_COMPRESSION_PGLZ,
	DYN_COMPRESSION_LZ4
} DynCompression;

/* Says how the entries of an index of a distributed table are distributed. */
typedef enum DynIndexDistribution
{
	DYN_DISTRIBUTE_TABLE, /* with its items: they are in the shard of these */
	DYN_DISTRIBUTE_KEY /* by the key of the index: they are a table of their own */
} DynIndexDistribution;

typedef struct DynIndexSpec
{
	ItemSpan name;
	bool local;
	DynIndexStatus status; /* as the argument has it: ACTIVE even if there is no btree */
	int npartition;
	int nkeys;
	ItemSpan keys[DYN_MAX_INDEX_KEYS]; /* "name TYPE"; a local index has the table's first */
	DynProjection projection;
	int nincluded;
	ItemSpan *included; /* in byte order */
	bool covering; /* its btree includes a derived column of what it projects */
	int64 entry_limit; /* bytes of an entry that carries something; if it is covering */
	DynCompression compression; /* of what it carries */
	DynIndexDistribution distribution;
	ItemSpan
		entries; /* the relation of entries that are distributed by key, in the table's schema */
} DynIndexSpec;

/* These are shown to people as the form of a definition that they give. */
#define GLOBAL_INDEX_FORM "{\"partition_key\": \"GSI1PK S\", \"sort_key\": \"GSI1SK S\"}"
#define LOCAL_INDEX_FORM "{\"sort_key\": \"LSI1SK S\"}"

extern const char *const dyn_projection_names[]; /* by DynProjection, then NULL */
extern const char *const dyn_compression_names[]; /* by DynCompression, then NULL */
extern const char *const dyn_distribution_names[]; /* by DynIndexDistribution, then NULL */

extern DynIndexSpec *dyn_index_spec_parse_argument(const char *json);
extern DynIndexSpec *dyn_index_spec_parse(ItemSpan name, ItemSpan definition, bool local,
										  ItemSpan table_key);
extern char *dyn_index_spec_print(const DynIndexSpec *spec);
extern bool dyn_index_spec_equal(const DynIndexSpec *a, const DynIndexSpec *b);
extern void dyn_index_spec_check(const DynIndexSpec *spec);
extern void dyn_index_spec_check_projection(DynIndexSpec *spec, bool stored);

#endif
