/*
 * table.h
 *	  The schema of a table of items, read from pg_catalog and cached.
 *
 * A table is a table of items if it has a column "item" of type dyn_item, a primary key, and the
 * derive trigger.  The primary key's columns are the table's keys in order; the trigger's first
 * arguments say which attribute and type each is derived from.  One more argument for each
 * secondary index is its definition, see catalog/definition/index_spec.h, and the last one may be
 * settings, see catalog/definition/table_settings.h.  A distributed table, which can have no
 * trigger, has the same arguments in a constraint, see catalog/definition/definition.h.
 *
 *		schema.c		the cache of tables, for each backend
 *		index.c			secondary indexes: their btrees, what they project
 *		plain.c			whether rows can be read and written without the executor
 *		extras.c		what a table has beside what is its own
 *		unsupported.c	tables that have the shape but cannot be used
 *		lookup.c		from DynamoDB's names to relations and columns
 *		kinds.h			kinds of items that a layer above declares
 *		rights.c		which roles may know of a relation and lock it
 *		resource.c		tables as calls name them: found, locked, their settings changed
 *		listing.c		the tables of the database, by what they have
 *		local_shards.c	shards on this node of tables that Citus distributes
 *		size.c			how large a table and its indexes are
 *		describe.c		a table as DynamoDB describes it
 *		key.c			rules of key values, and the columns derived from them
 *		derive.c		what the columns of a row are by its item: trigger and constraint
 *		carried.c		what the entries of covering indexes carry
 *		covering.c		storage parameters of tables with covering indexes
 *		entries.c		indexes that are distributed by their own key
 *		entries_guard.c	what keeps others from writing to tables with such indexes
 *		vector.c		vector indexes, and the entries that items have in them
 *		unchanged.c		rows that a write would leave as they are
 *		expiry.c		when items expire, and which of them a table hides
 *		shape.c			the DDL of a table: columns, constraint, trigger, indexes
 *		create.c		dyn_create_table() and dyn_drop_table()
 *		dependents.c	what keeps a table, or columns of it, from being dropped
 *		shard_guard.c	the constraint that keeps rows out of wrong shards
 *		distribute.c	dyn_distribute_table() and dyn_undistribute_table()
 *		node_error.c	errors that nodes of Citus tell each other
 *		share_tokens.c	the table of tokens, distributed with the first table of items
 *		key_grant.c		what policies grant by leading keys
 *		key_grant_declare.c	dyn_grant_keys() and dyn_revoke_keys()
 *		follower.c		triggers of other tables that write to one
 */
#ifndef DYNAMO_TABLE_CATALOG_TABLE_H
#define DYNAMO_TABLE_CATALOG_TABLE_H

#include "lib/stringinfo.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "catalog/definition/index_spec.h"
#include "catalog/definition/trigger.h"
#include "item/json_writer.h"

#define DYN_KEYS_CONSTRAINT "dynamo_keys"
#define DYN_ITEM_COLUMN "item"
#define DYN_TTL_COLUMN "~ttl"
#define DYN_MAX_INDEX_COLUMNS (DYN_MAX_INDEX_KEYS + DYN_MAX_KEYS)

/* A table has at most so many derived columns: dyn_keys_match() has two more arguments. */
#define DYN_MAX_COLUMNS (FUNC_MAX_ARGS - 2)

/* carried.h */
typedef struct DynCarried DynCarried;

/* This is a key attribute and its derived column, or that of what a covering index carries. */
typedef struct DynKey
{
	ItemSpan attribute; /* of what is carried: empty, which no key is */
	ItemType type; /* S, N or B; of what is carried M */
	AttrNumber attnum;
	const char *column;
	const DynCarried *carried; /* NULL: it is a key */
} DynKey;

/*
 * This is a secondary index, or the table's own key as one.  Its entries are ordered by its
 * columns: those of the partition key, of the sort key, and of the table's keys that are not among
 * them.
 */
typedef struct DynIndex
{
	ItemSpan name; /* of length 0: the table itself */
	bool local;
	DynIndexStatus status;
	DynProjection projection;
	int nincluded;
	ItemSpan *included; /* the attributes that INCLUDE names, in byte order */
	int npartition; /* attributes of the partition key */
	int nkeys; /* of partition and sort key */
	int ncolumns;
	int columns[DYN_MAX_INDEX_COLUMNS]; /* as places in the table's keys */
	Oid relid; /* the btree, if there is a valid one; or the relation of entries, if it is there */
	const char
		*entries; /* that relation, quoted, of an index that is distributed by its key; or NULL */
	bool covering;
	const DynCarried *carried; /* what entries have as their last column; NULL: nothing */
	int carried_column; /* the place of that in the table's keys */
	const DynKey *hash; /* of a vector index: its key, which has no column; or NULL */
} DynIndex;

/*
 * Tells what a table has beside its own columns, constraint, triggers and indexes, and a write has
 * to obey; see extras.c.
 */
typedef struct DynExtras
{
	bool any; /* of these, but for columns that are just there */
	bool triggers; /* for whatever they fire; foreign keys are triggers */
	bool delete_triggers; /* for deletions */
	bool before_insert; /* FOR EACH ROW */
	bool before_update;
	bool before_delete;
	bool columns; /* which stay as they are when an item is replaced */
	bool computed; /* columns with a default or an expression, or of a domain; derived ones too */
	bool constraints; /* CHECK and NOT NULL */
	Bitmapset *own_checks; /* places of the table's own constraint in its tuple descriptor */
	int nindexes;
	Oid *indexes; /* valid or not */
} DynExtras;

/*
 * This is an entry of the schema cache.  It lives until the end of the transaction in which it was
 * looked up, even if it is invalidated meanwhile, so callers may keep the pointer during a call.
 */
typedef struct DynTable
{
	Oid relid; /* hash key */
	bool valid;
	TransactionId changed; /* what has written its row of pg_class */
	Oid toast; /* its TOAST table */
	MemoryContext context;
	const char *qualified; /* quoted, for SQL */
	const char *name; /* for messages */
	const char *extension; /* schema of the extension's types and operators, quoted */
	AttrNumber item_attnum;
	Oid item_type;
	bool row_security; /* policies may hide rows */
	bool rules;
	bool enforced; /* only items of declared entities may be stored */
	bool distributed; /* its rows are in shards, which Citus manages */
	bool shard; /* it is one of these, which only the store opens */
	bool entries; /* it has those of an index, and nothing is known of it but the first key */
	bool unsupported; /* it cannot be used, see unsupported.c */
	const char *read_refusal; /* why it cannot be read without the executor, or NULL; see plain.c */
	const char *write_refusal; /* why it cannot be written so, or NULL */
	const struct DynKeyGrants *grants; /* see key_grant.h */
	DynExtras extras; /* if it can be read so */
	int nkeys; /* 1: partition key only */
	int nattributes; /* key attributes: the table's, then those of indexes only */
	int ncolumns; /* derived columns: of the key attributes, of time to live, then what indexes carry */
	DynKey *keys;
	DynIndex primary;
	int nindexes;
	DynIndex *indexes; /* in the order of the trigger's arguments */
	DynIndex *ttl; /* time to live as an index of one column; NULL if there is none */
	int nbtrees; /* btrees of its indexes beside the primary key's, each once */
	const DynIndex **btrees; /* they have exactly the rows in which their columns are set */
	int nvectors;
	struct DynVector *vectors; /* vector indexes, see vector.h */
	DynSettings settings;
	struct StoreShards *shards; /* of a distributed table, see store/shard.c */
	struct StorePlan *plans; /* the SPI store's kept plans, see store/plan.c */
} DynTable;

static inline bool
dyn_index_is_table(const DynIndex *index)
{
	return index->name.len == 0;
}

/* Returns the i-th column of an index. */
static inline const DynKey *
dyn_index_key(const DynTable *table, const DynIndex *index, int i)
{
	return &table->keys[index->columns[i]];
}

/* Returns whether the attribute is a key of an index, or of the table as its primary index. */
static inline bool
dyn_index_has_key(const DynTable *table, const DynIndex *index, ItemSpan attribute)
{
	for (int i = 0; i < index->nkeys; i++)
	{
		if (item_compare_bytes(dyn_index_key(table, index, i)->attribute, attribute) == 0)
			return true;
	}
	return false;
}

/* schema.c */
extern Oid dyn_type_schema(Oid type);
extern DynTable *dyn_schema(Relation rel);
extern DynTable *dyn_schema_any(Relation rel);
extern DynTable *dyn_schema_shard(Relation rel);
extern DynTable *dyn_schema_entries(const DynTable *table, const DynIndex *index);
extern void dyn_refuse_shard(Relation rel);

/* unsupported.c */
extern bool dyn_has_children(Relation rel);
extern bool dyn_is_distributed(Relation rel);
extern const char *dyn_unsupported(Relation rel);

/* index.c */
extern const DynIndex *dyn_find_index(const DynTable *table, ItemSpan name);
pg_noreturn extern void dyn_fail_no_index(const DynTable *table, ItemSpan name, int code,
										  const char *words);
extern void dyn_refuse_vector(const DynTable *table, ItemSpan name);
extern const DynIndex *dyn_active_index(const DynTable *table, ItemSpan name);
extern bool dyn_index_projects(const DynTable *table, const DynIndex *index, ItemSpan attribute);
extern Size dyn_index_part_size(const DynTable *table, const DynIndex *index, const DynItem *item,
								ItemSizeRule rule);
extern Size dyn_index_entry_size(const DynTable *table, const DynIndex *index, const DynItem *item);
extern DynItem *dyn_index_part(const DynTable *table, const DynIndex *index, const DynItem *item);
extern DynItem *dyn_index_part_but(const DynTable *table, const DynIndex *index,
								   const DynItem *item, ItemSpan attribute, bool with_it);
extern bool dyn_index_has(const DynTable *table, const DynIndex *index, const DynItem *item);
extern int dyn_local_indexes(const DynTable *table);

#endif
