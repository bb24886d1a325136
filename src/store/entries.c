/*
 * entries.c
 *	  The entries of indexes that are distributed by their own key: written with their items, checked.
 *
 * They are written by statements, which Citus routes to the shard of an entry, in the transaction
 * of the item, whose row is locked: nobody else writes the entry of its key.  Citus commits in two
 * phases what is on several nodes.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "catalog/entries.h"
#include "catalog/key.h"
#include "server/attempt.h"
#include "server/errors.h"
#include "server/sql.h"
#include "store/entries.h"
#include "store/shard.h"
#include "store/spi_store.h"

/* These statements come for each index, beside those of the stores. */
typedef enum EntryStatement
{
	ENTRY_PUT,
	ENTRY_DELETE,
	ENTRY_GET,
	ENTRY_STATEMENTS
} EntryStatement;

/*
 * Gives the session the rights to read an index of a table.  The caller must be allowed to read all
 * of the table: policies are about its rows.
 */
void
store_entries_begin(const DynTable *table, const DynIndex *index, RightsBefore *before)
{
	AclResult result = pg_class_aclcheck(table->relid, GetUserId(), ACL_SELECT);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_TABLE, table->name);
	if (check_enable_rls(table->relid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" of table \"%s\" cannot be read under row-level security",
						item_quoted(index->name), table->name),
				 errdetail("It is distributed by its key, and policies are about rows of the "
						   "table.")));
	dyn_entries_take(table, index, before);
}

/*
 * Statements
 */

static void
append_columns(StringInfo sql, const DynTable *table, const DynIndex *index)
{
	for (int i = 0; i < index->ncolumns; i++)
		appendStringInfo(sql, "%s%s", i > 0 ? ", " : "",
						 quote_identifier(dyn_index_key(table, index, i)->column));
}

/* Inserts an entry, or replaces the item of one that is there. */
static void
append_put(StringInfo sql, const DynTable *table, const DynIndex *index)
{
	appendStringInfo(sql, "INSERT INTO %s AS old (", index->entries);
	append_columns(sql, table, index);
	appendStringInfoString(sql, ", " DYN_ITEM_COLUMN ") VALUES (");
	for (int i = 0; i <= index->ncolumns; i++)
		appendStringInfo(sql, "%s$%d", i > 0 ? ", " : "", i + 1);
	appendStringInfoString(sql, ") ON CONFLICT (");
	append_columns(sql, table, index);
	appendStringInfoString(sql, ") DO UPDATE SET " DYN_ITEM_COLUMN " = EXCLUDED." DYN_ITEM_COLUMN
								" WHERE pg_catalog.record_image_ne(ROW(old." DYN_ITEM_COLUMN
								"), ROW(EXCLUDED." DYN_ITEM_COLUMN "))");
}

/* The parameters are the columns of the index, and then the item. */
static char *
entry_sql(const DynTable *table, const DynIndex *index, EntryStatement statement)
{
	StringInfoData sql;

	initStringInfo(&sql);
	if (statement == ENTRY_PUT)
	{
		append_put(&sql, table, index);
		return sql.data;
	}
	appendStringInfo(&sql, "%s FROM %s",
					 statement == ENTRY_DELETE ? "DELETE" : "SELECT " DYN_ITEM_COLUMN,
					 index->entries);
	for (int i = 0; i < index->ncolumns; i++)
		appendStringInfo(&sql, "%s%s OPERATOR(pg_catalog.=) $%d", i > 0 ? " AND " : " WHERE ",
						 quote_identifier(dyn_index_key(table, index, i)->column), i + 1);
	return sql.data;
}

/* Returns what an index has of the item of a row. */
static const DynItem *
entry_item(const DynTable *table, const DynIndex *index, const DynRow *row)
{
	return index->projection == DYN_PROJECT_ALL ? row->item
												: dyn_index_part(table, index, row->item);
}

/*
 * Makes the error of a node that has no shard of the entries a serialization failure.  The node
 * commits its part of the transaction that makes or drops the index later or earlier than this node
 * does, and the next attempt may succeed.
 */
void
store_entries_missing(void *arg)
{
	if (geterrcode() != ERRCODE_UNDEFINED_TABLE && geterrcode() != ERRCODE_DYN_RESOURCE_NOT_FOUND)
		return;
	errcode(ERRCODE_T_R_SERIALIZATION_FAILURE);
	errmsg("could not serialize access due to the creation or removal of an index");
}

/*
 * Runs a statement on the entry of a row, with the rights of the owner.  The caller is connected to
 * SPI, which has the result.
 */
static void
entry_run(DynTable *table, const DynIndex *index, EntryStatement statement, const DynRow *row)
{
	int shape = -1 - (int) (index - table->indexes) * ENTRY_STATEMENTS - (int) statement;
	int n = index->ncolumns;
	Oid types[DYN_MAX_INDEX_COLUMNS + 1];
	Datum values[DYN_MAX_INDEX_COLUMNS + 1];
	SPIExecuteOptions options = {.read_only = statement == ENTRY_GET};
	ErrorContextCallback callback = {.previous = error_context_stack,
									 .callback = store_entries_missing};
	StorePlan *plan;

	for (int i = 0; i < n; i++)
	{
		types[i] = dyn_key_column_type(dyn_index_key(table, index, i)->type);
		values[i] = row->values[index->columns[i]];
	}
	if (statement == ENTRY_PUT)
	{
		types[n] = table->item_type;
		values[n++] = PointerGetDatum(entry_item(table, index, row));
	}
	plan = store_find_plan(table, shape);
	if (plan == NULL)
		plan = store_prepare_on(table, shape, index->relid, entry_sql(table, index, statement), n,
								types, true);
	options.params = store_parameters(n, types, values);
	error_context_stack = &callback;
	store_execute(plan, &options);
	error_context_stack = callback.previous;
}

typedef struct UnseenEntry
{
	DynTable *table;
	const DynIndex *index;
	const DynRow *row;
} UnseenEntry;

static void
put_and_delete(void *arg)
{
	const UnseenEntry *entry = arg;

	entry_run(entry->table, entry->index, ENTRY_PUT, entry->row);
	entry_run(entry->table, entry->index, ENTRY_DELETE, entry->row);
}

/*
 * Deletes an entry that is not seen: its node has not committed yet its part of a transaction that
 * the item's node has committed, or the entry is newer than the snapshot.  The entry is inserted
 * first, which waits for whoever has inserted it before, and fails if the snapshot is older.  If it
 * is too large for the btree, nobody has inserted it: its item is older than the index, whose build
 * has met it or will.
 */
static void
delete_unseen(DynTable *table, const DynIndex *index, const DynRow *row)
{
	UnseenEntry entry = {table, index, row};
	ErrorData *error = attempt(put_and_delete, &entry);

	if (error != NULL && error->sqlerrcode != ERRCODE_PROGRAM_LIMIT_EXCEEDED)
		ReThrowError(error);
}

/*
 * Writes an entry, and keeps its shard where it is: a statement that has waited for a move of the
 * shard does not see rows that were moved to this node.
 */
static void
entry_write(DynTable *table, const DynIndex *index, EntryStatement statement, const DynRow *row)
{
	RightsBefore before;

	dyn_entries_take(table, index, &before);
	store_shard_keep(dyn_schema_entries(table, index), row->values[index->columns[0]]);
	store_connect();
	entry_run(table, index, statement, row);
	if (statement == ENTRY_DELETE && SPI_processed == 0)
		delete_unseen(table, index, row);
	SPI_finish();
	rights_give_back(&before);
}

/*
 * Writing
 */

/* Returns whether an item is in an index. */
static bool
has_entry(const DynIndex *index, const DynRow *row)
{
	for (int i = 0; row != NULL && i < index->ncolumns; i++)
	{
		if (row->nulls[index->columns[i]])
			return false;
	}
	return row != NULL;
}

static bool
same_place(const DynTable *table, const DynIndex *index, const DynRow *a, const DynRow *b)
{
	for (int i = 0; i < index->ncolumns; i++)
	{
		int column = index->columns[i];

		if (store_column_compare(table->keys[column].type, a->values[column], b->values[column]) !=
			0)
			return false;
	}
	return true;
}

static bool
same_item(const DynItem *a, const DynItem *b)
{
	return item_compare_bytes(item_root(a), item_root(b)) == 0;
}

/*
 * Writes the entries of an item that this transaction has written.  old is its row before that, and
 * row the one that is there; either is NULL if there is none.  The table may be a shard.
 */
void
store_entries_write(DynTable *table, const DynRow *old, const DynRow *row)
{
	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];
		bool was;
		bool is;

		if (!dyn_index_is_kept(index))
			continue;
		was = has_entry(index, old);
		is = has_entry(index, row);
		if (was && is && same_place(table, index, old, row))
		{
			if (same_item(entry_item(table, index, old), entry_item(table, index, row)))
				continue;
		}
		else if (was)
			entry_write(table, index, ENTRY_DELETE, old);
		if (is)
			entry_write(table, index, ENTRY_PUT, row);
	}
}

/* Makes the entry of an item that is older than its index, under a lock of its row. */
void
store_entries_fill(Relation rel, DynTable *table, const DynIndex *index, const DynKeyValues *key)
{
	const DynItem *item;
	const DynRow *row;

	store_shard_keep(table, key->values[0]);
	item = spi_lock(table, key, STORE_LOCK_CHECK);
	row = item == NULL ? NULL : dyn_derive(rel, table, item);
	if (has_entry(index, row))
		entry_write(table, index, ENTRY_PUT, row);
}

/*
 * What is wrong with them: a step of dyn_check_table()
 */

/* What differs is read so many times: no snapshot shows all nodes. */
#define CHECK_READS 3
#define CHECK_PAUSE_MS 50

typedef struct EntryDigest
{
	uint64 a;
	uint64 b;
} EntryDigest;

typedef struct EntriesCheck
{
	TableCheck *check;
	const DynIndex *index;
	HTAB *entries; /* digests of those for which no item was found */
	bool again; /* they are read for the second time */
	int64 missing;
	int64 wrong;
	int64 surplus;
} EntriesCheck;

/* Returns what an index has for a row; NULL if that is nothing. */
static const DynItem *
find_entry(const EntriesCheck *c, const DynRow *row)
{
	MemoryContext context = CurrentMemoryContext;
	const DynItem *found = NULL;
	RightsBefore before;

	dyn_entries_take(c->check->table, c->index, &before);
	store_connect();
	entry_run(c->check->table, c->index, ENTRY_GET, row);
	if (SPI_processed > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		found = (const DynItem *) PG_DETOAST_DATUM_COPY(sql_value(SPI_tuptable, 0, 1));
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	rights_give_back(&before);
	return found;
}

/* Returns the row of the item that a key has by now; NULL if there is none. */
static const DynRow *
row_now(const EntriesCheck *c, const DynItem *item)
{
	DynKeyValues key;

	dyn_key_of_item(c->check->table, item, &key);
	item = spi_get(c->check->table, &key);
	return item == NULL ? NULL : dyn_derive(c->check->rel, c->check->table, item);
}

/* Compares the entry of an item with it. */
static void
check_item(EntriesCheck *c, const DynItem *item)
{
	const DynRow *row = dyn_derive(c->check->rel, c->check->table, item);

	for (int reads = 1; has_entry(c->index, row); reads++)
	{
		const DynItem *entry = find_entry(c, row);

		if (entry != NULL && same_item(entry, entry_item(c->check->table, c->index, row)))
			return;
		if (reads == CHECK_READS)
		{
			c->missing += entry == NULL;
			c->wrong += entry != NULL;
			return;
		}
		pg_usleep(CHECK_PAUSE_MS * 1000L);
		row = row_now(c, item);
	}
}

/* Looks for the item of an entry, whose columns are those of a row. */
static void
check_entry(EntriesCheck *c, const DynRow *entry)
{
	const DynTable *table = c->check->table;

	for (int reads = 1;; reads++)
	{
		const DynItem *item = spi_get(c->check->table, &entry->key);
		const DynRow *row = item == NULL ? NULL : dyn_derive(c->check->rel, table, item);

		if (has_entry(c->index, row) && same_place(table, c->index, row, entry))
			return;
		if (reads == CHECK_READS)
			break;
		pg_usleep(CHECK_PAUSE_MS * 1000L);
		if (find_entry(c, entry) == NULL)
			return;
	}
	c->surplus++;
}

/* Returns what tells an entry from others, by its columns, in their order, and its item. */
static EntryDigest
digest(const DynIndex *index, const Datum *columns, const DynItem *item)
{
	EntryDigest digest = {0, 0};

	for (int i = 0; i <= index->ncolumns; i++)
	{
		const struct varlena *bytes =
			PG_DETOAST_DATUM_PACKED(i < index->ncolumns ? columns[i] : PointerGetDatum(item));
		const unsigned char *data = (const unsigned char *) VARDATA_ANY(bytes);
		int len = (int) VARSIZE_ANY_EXHDR(bytes);

		digest.a = hash_combine64(digest.a, DatumGetUInt64(hash_any_extended(data, len, 0)));
		digest.b = hash_combine64(digest.b, DatumGetUInt64(hash_any_extended(data, len, 1)));
	}
	return digest;
}

/* Looks for the entry of an item, first among those that were read. */
static bool
take_item(void *arg, const SPITupleTable *rows, uint64 i)
{
	EntriesCheck *c = arg;
	const DynTable *table = c->check->table;
	const DynItem *item = DatumGetDynItem(sql_value(rows, i, 1));
	const DynRow *row = dyn_derive(c->check->rel, table, item);
	Datum columns[DYN_MAX_INDEX_COLUMNS];
	EntryDigest wanted;

	if (!has_entry(c->index, row))
		return true;
	for (int k = 0; k < c->index->ncolumns; k++)
		columns[k] = row->values[c->index->columns[k]];
	wanted = digest(c->index, columns, entry_item(table, c->index, row));
	if (hash_search(c->entries, &wanted, HASH_REMOVE, NULL) == NULL)
		check_item(c, item);
	return true;
}

/* Reads an entry, or, in the second reading, looks for the item of one that no item had. */
static bool
take_entry(void *arg, const SPITupleTable *rows, uint64 i)
{
	EntriesCheck *c = arg;
	const DynTable *table = c->check->table;
	int n = c->index->ncolumns;
	Datum columns[DYN_MAX_INDEX_COLUMNS];
	Datum values[DYN_MAX_COLUMNS] = {0};
	DynRow entry = {.values = values, .key = {.nkeys = table->nkeys}};
	EntryDigest found;

	for (int k = 0; k < n; k++)
		values[c->index->columns[k]] = columns[k] = sql_value(rows, i, k + 1);
	found = digest(c->index, columns, DatumGetDynItem(sql_value(rows, i, n + 1)));
	if (!c->again)
		(void) hash_search(c->entries, &found, HASH_ENTER, NULL);
	else if (hash_search(c->entries, &found, HASH_FIND, NULL) != NULL)
	{
		memcpy(entry.key.values, values, table->nkeys * sizeof(Datum));
		check_entry(c, &entry);
	}
	return true;
}

static void
read_entries(EntriesCheck *c)
{
	StringInfoData sql;
	RightsBefore before;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	append_columns(&sql, c->check->table, c->index);
	appendStringInfo(&sql, ", " DYN_ITEM_COLUMN " FROM %s", c->index->entries);
	dyn_entries_take(c->check->table, c->index, &before);
	sql_scan(sql_on(c->index->relid, sql.data), take_entry, c);
	rights_give_back(&before);
}

/* Compares the entries of an index with the items, whatever is written meanwhile. */
static void
compare_entries(void *arg)
{
	EntriesCheck *c = arg;
	const DynTable *table = c->check->table;
	HASHCTL ctl = {.keysize = sizeof(EntryDigest),
				   .entrysize = sizeof(EntryDigest),
				   .hcxt = CurrentMemoryContext};
	RightsBefore before;

	dyn_entries_take(table, c->index, &before);
	rights_give_back(&before);
	if (!c->check->reads)
		return;
	c->entries =
		hash_create("dynamo_table entries", 1024, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	store_connect();
	read_entries(c);
	sql_scan(sql_on(table->relid, psprintf("SELECT " DYN_ITEM_COLUMN " FROM %s", table->qualified)),
			 take_item, c);
	c->again = true;
	if (hash_get_num_entries(c->entries) > 0)
		read_entries(c);
	SPI_finish();
	hash_destroy(c->entries);
}

/* Reports what is wrong with the entries of each index of a table. */
void
store_entries_check(TableCheck *check)
{
	for (int i = 0; check->table != NULL && i < check->table->nindexes; i++)
	{
		EntriesCheck c = {check, &check->table->indexes[i]};
		const char *object = psprintf("index \"%s\"", item_quoted(c.index->name));
		const char *problem;

		/* what is being built is reported elsewhere */
		if (c.index->entries == NULL || c.index->status != DYN_INDEX_ACTIVE)
			continue;
		problem = check_try(compare_entries, &c);
		if (problem == NULL && (c.missing > 0 || c.wrong > 0 || c.surplus > 0))
			problem = psprintf("its entries are not those of the items: " INT64_FORMAT
							   " are missing, " INT64_FORMAT " wrong, " INT64_FORMAT " of no item",
							   c.missing, c.wrong, c.surplus);
		if (problem != NULL)
			check_report(check, object, problem,
						 "If that stays so when nothing is being committed, drop the index and "
						 "create it again.");
	}
}
