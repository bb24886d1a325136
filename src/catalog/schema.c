/*
 * schema.c
 *	  The per-backend cache of table schemas.
 *
 * A schema is read from the relcache (trigger descriptor, primary key, indexes), which shows the
 * newest committed catalogs and not the transaction's snapshot: a REPEATABLE READ writer that began
 * before an index was added must still derive the index's column.
 *
 * Invalidation only marks an entry, since it may come at any moment; the next look-up replaces it.
 * Replaced and invalid entries are freed when the transaction ends: until then a caller may hold a
 * pointer to one.  So a session that creates and drops many tables does not accumulate entries.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/derive.h"
#include "catalog/entries.h"
#include "catalog/extras.h"
#include "catalog/key.h"
#include "catalog/key_grant.h"
#include "catalog/lookup.h"
#include "catalog/shape.h"
#include "catalog/vector.h"
#include "server/citus.h"
#include "server/errors.h"
#include "server/invalidate.h"
#include "server/library.h"

typedef struct SchemaEntry
{
	Oid relid; /* hash key */
	DynTable *table;
} SchemaEntry;

static HTAB *schemas = NULL;
static MemoryContext schema_context = NULL;
static List *retired = NIL; /* replaced entries, in schema_context */

/* This tells whether any entry in the hash table is invalid. */
static bool some_invalid = false;

/* Counts invalidations, so that one that arrives while a schema is read is not lost. */
static uint64 invalidations = 0;

static void
mark_invalid(Oid relid)
{
	HASH_SEQ_STATUS scan;
	SchemaEntry *entry;

	invalidations++;
	if (OidIsValid(relid))
	{
		entry = hash_search(schemas, &relid, HASH_FIND, NULL);
		if (entry != NULL)
		{
			entry->table->valid = false;
			some_invalid = true;
		}
		return;
	}
	hash_seq_init(&scan, schemas);
	while ((entry = hash_seq_search(&scan)) != NULL)
		entry->table->valid = false;
	some_invalid = true;
}

/* This asks for schemas, since tables are kept with their qualified names. */
static Subscriber subscriber = {.relation_changed = mark_invalid, .schemas = true};

static void
free_invalid(void)
{
	HASH_SEQ_STATUS scan;
	SchemaEntry *entry;

	hash_seq_init(&scan, schemas);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		DynTable *table = entry->table;

		if (table->valid)
			continue;
		hash_search(schemas, &entry->relid, HASH_REMOVE, NULL);
		MemoryContextDelete(table->context);
	}
	some_invalid = false;
}

static void
end_of_transaction(XactEvent event, void *arg)
{
	ListCell *cell;

	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PARALLEL_PRE_COMMIT ||
		event == XACT_EVENT_PRE_PREPARE)
		return;
	foreach (cell, retired)
		MemoryContextDelete(((DynTable *) lfirst(cell))->context);
	list_free(retired);
	retired = NIL;
	if (some_invalid)
		free_invalid();
}

static void
create_cache(void)
{
	HASHCTL ctl;

	schema_context =
		AllocSetContextCreate(CacheMemoryContext, "dynamo_table schemas", ALLOCSET_SMALL_SIZES);
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(SchemaEntry);
	ctl.hcxt = schema_context;
	schemas = hash_create("dynamo_table schemas", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	invalidation_subscribe(&subscriber);
	RegisterXactCallback(end_of_transaction, NULL);
}

static void
fail_shape(Relation rel, const char *detail)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
		 errmsg("table \"%s\" has not the shape of a table of items", RelationGetRelationName(rel)),
		 errdetail("%s", detail), errhint("Call dyn_check_table(), which tells what repairs it.")));
}

/*
 * Recognizes the type by its input function, as the derive trigger is recognized by its function.
 */
bool
dyn_is_item_type(Oid type)
{
	Oid input;
	Oid ignored;
	FmgrInfo flinfo;

	getTypeInputInfo(type, &input, &ignored);
	fmgr_info(input, &flinfo);
	return flinfo.fn_addr == dyn_item_in;
}

/* Returns the schema of a type: of that of items, the extension's. */
Oid
dyn_type_schema(Oid type)
{
	HeapTuple tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Oid namespace;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type);
	namespace = ((Form_pg_type) GETSTRUCT(tuple))->typnamespace;
	ReleaseSysCache(tuple);
	return namespace;
}

/*
 * Reads the item's column.  Any user can create a table with a column "item", so its type is
 * checked before its values are read as items.  If the type is a domain, the statements' parameters
 * have its base type, so that the domain's constraints are checked.
 */
static void
read_item_column(Relation rel, DynTable *table)
{
	bool nullable;

	table->item_attnum = get_attnum(table->relid, DYN_ITEM_COLUMN);
	if (table->item_attnum == InvalidAttrNumber)
		fail_shape(rel, "It has no column \"item\".");
	nullable = !TupleDescAttr(RelationGetDescr(rel), table->item_attnum - 1)->attnotnull;
	table->item_type = getBaseType(get_atttype(table->relid, table->item_attnum));
	if (!dyn_is_item_type(table->item_type))
		fail_shape(rel, "Column \"item\" must have type dyn_item.");
	if (nullable)
		fail_shape(rel, "Column \"item\" must be NOT NULL.");
	table->extension = quote_identifier(get_namespace_name(dyn_type_schema(table->item_type)));
}

/* Sets a key attribute and its column, whose type must hold and order the attribute's values. */
static void
set_key(Relation rel, DynKey *key, ItemSpan spec, AttrNumber attnum)
{
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(rel), attnum - 1);

	dyn_parse_key_spec(spec, &key->attribute, &key->type);
	key->attnum = attnum;
	key->carried = NULL;
	key->column = pstrdup(NameStr(column->attname));
	if (column->atttypid != dyn_key_column_type(key->type))
		fail_shape(rel, psprintf("Column \"%s\" must have type %s for a key of type %s.",
								 key->column, format_type_be(dyn_key_column_type(key->type)),
								 item_type_code(key->type)));
	if (key->type == ITEM_S && column->attcollation != C_COLLATION_OID)
		fail_shape(rel, psprintf("Column \"%s\" must have collation \"C\".", key->column));
}

/* Checks the primary key: if its columns changed places, each would get the other's attribute. */
static void
check_order(Relation rel, const DynTable *table)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		const char *own = dyn_identifier(table->keys[i].attribute);

		for (int j = 0; j < table->nkeys; j++)
		{
			if (j != i && strcmp(table->keys[j].column, own) == 0)
				fail_shape(
					rel,
					psprintf(
						"The primary key has column \"%s\" in another place than trigger \"%s\".",
						own, DYN_DERIVE_TRIGGER));
		}
	}
}

/* Reads the table's keys: the arguments name the attributes, and the primary key the columns. */
static void
read_table_keys(Relation rel, DynTable *table, List *arguments)
{
	Oid relid = primary_key_index(rel);
	Relation index;

	if (!OidIsValid(relid))
		fail_shape(rel, "It has no primary key.");
	index = relation_open(relid, AccessShareLock);
	table->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	if (table->nkeys > DYN_MAX_KEYS || list_length(arguments) < table->nkeys)
		fail_shape(rel, psprintf("The primary key has %d columns, and trigger \"%s\" %d arguments.",
								 table->nkeys, DYN_DERIVE_TRIGGER, list_length(arguments)));
	for (int i = 0; i < table->nkeys; i++)
	{
		char *argument = list_nth(arguments, i);

		set_key(rel, &table->keys[i], item_span(argument), index->rd_index->indkey.values[i]);
	}
	relation_close(index, AccessShareLock);
	table->ncolumns = table->nkeys;
	check_order(rel, table);
	table->primary = (DynIndex){.npartition = 1,
								.nkeys = table->nkeys,
								.ncolumns = table->nkeys,
								.columns = {0, 1},
								.carried_column = -1};
	table->primary.relid = relid;
}

/* Adds a key of an index, which is in the column that has the name of its attribute. */
static void
add_index_key(Relation rel, DynTable *table, ItemSpan spec)
{
	ItemSpan attribute;
	ItemType type;
	AttrNumber attnum;
	char *column;

	dyn_parse_key_spec(spec, &attribute, &type);
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (item_compare_bytes(table->keys[i].attribute, attribute) != 0)
			continue;
		if (table->keys[i].type != type)
			fail_shape(rel,
					   psprintf("Column \"%s\" is a key of two types.", table->keys[i].column));
		return;
	}
	if (table->ncolumns == DYN_MAX_COLUMNS)
		fail_shape(rel, psprintf("It has more than %d keys.", DYN_MAX_COLUMNS));
	column = dyn_column_identifier(attribute);
	attnum = get_attnum(table->relid, column);
	if (attnum <= 0)
		fail_shape(rel, psprintf("It has no column \"%s\" for the key of an index.", column));
	set_key(rel, &table->keys[table->ncolumns++], spec, attnum);
}

/* Reads definitions of indexes, and settings. */
static void
read_arguments(Relation rel, DynTable *table, List *arguments)
{
	int last = list_length(arguments) - table->nkeys;
	DynIndexSpec **specs = palloc(last * sizeof(DynIndexSpec *));
	int n = 0;

	for (int i = 0; i < last; i++)
	{
		char *argument = list_nth(arguments, table->nkeys + i);

		if (dyn_settings_is_argument(argument))
		{
			dyn_settings_parse(argument, &table->settings);
			continue;
		}
		if (dyn_vector_spec_is_argument(argument))
			continue;
		if (*argument != '{')
			fail_shape(rel, psprintf("The primary key has %d columns, and argument %d of trigger "
									 "\"%s\" is no definition of an index.",
									 table->nkeys, table->nkeys + i + 1, DYN_DERIVE_TRIGGER));
		specs[n] = dyn_index_spec_parse_argument(argument);
		for (int k = 0; k < specs[n]->nkeys; k++)
			add_index_key(rel, table, specs[n]->keys[k]);
		n++;
	}
	table->nattributes = table->ncolumns;
	table->nindexes = n;
	table->indexes = palloc0(n * sizeof(DynIndex));
	for (int i = 0; i < n; i++)
	{
		dyn_index_read(table, specs[i], &table->indexes[i]);
		table->indexes[i].status = specs[i]->status;
		dyn_entries_read(RelationGetNamespace(rel), specs[i], &table->indexes[i]);
	}
}

/* Reads the last columns: what covering indexes carry. */
static void
read_carried(Relation rel, DynTable *table)
{
	for (int i = 0; i < table->nindexes; i++)
	{
		DynIndex *index = &table->indexes[i];
		char *column = dyn_carried_column(index->name);
		AttrNumber attnum = get_attnum(table->relid, column);

		if (!index->covering)
			continue;
		if (table->ncolumns == DYN_MAX_COLUMNS)
			fail_shape(rel, psprintf("It has more than %d keys.", DYN_MAX_COLUMNS));
		if (attnum <= 0 || get_atttype(table->relid, attnum) != table->item_type)
			fail_shape(rel, psprintf("It has no column \"%s\" of type dyn_item for what index "
									 "\"%s\" carries.",
									 column, item_quoted(index->name)));
		index->carried_column = table->ncolumns;
		table->keys[table->ncolumns++] = (DynKey){.attribute = {"", 0},
												  .type = ITEM_M,
												  .attnum = attnum,
												  .column = column,
												  .carried = index->carried};
	}
}

/* Finds the btrees of indexes whose columns are known. */
static void
find_btrees(Relation rel, DynTable *table)
{
	for (int i = 0; i < table->nindexes; i++)
		dyn_index_find_btree(rel, table, table->indexes[i].status, &table->indexes[i]);
	if (table->ttl != NULL)
		dyn_index_find_btree(rel, table, table->settings.ttl_status, table->ttl);
}

/*
 * Reads time to live, which has a column of its own: its attribute may be a key as well, and of any
 * type.  So it comes last, and no search for a key finds it first.
 */
static void
read_ttl(Relation rel, DynTable *table)
{
	AttrNumber attnum = get_attnum(table->relid, DYN_TTL_COLUMN);
	DynIndex *ttl = palloc0(sizeof(DynIndex));

	if (table->ncolumns == DYN_MAX_COLUMNS)
		fail_shape(rel, psprintf("It has more than %d keys.", DYN_MAX_COLUMNS));
	if (attnum <= 0)
		fail_shape(rel, psprintf("It has no column \"%s\" for time to live.", DYN_TTL_COLUMN));
	set_key(rel, &table->keys[table->ncolumns++], dyn_key_spec(table->settings.ttl, "N"), attnum);
	*ttl = (DynIndex){.name = table->settings.ttl,
					  .npartition = 1,
					  .nkeys = 1,
					  .ncolumns = 1,
					  .columns = {table->nattributes},
					  .carried_column = -1};
	table->ttl = ttl;
}

static TransactionId
class_written_by(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	TransactionId xid;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	xid = HeapTupleHeaderGetXmin(tuple->t_data);
	ReleaseSysCache(tuple);
	return xid;
}

/* Returns NULL if the relation is no table of items. */
static DynTable *
read_schema(Relation rel)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table schema", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	uint64 before = invalidations;
	DynTable *table = palloc0(sizeof(DynTable));
	List *arguments = dyn_derive_arguments(rel);

	if (arguments == NIL)
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		return NULL;
	}
	library_check(ERROR);
	table->relid = RelationGetRelid(rel);
	table->changed = class_written_by(table->relid);
	table->toast = rel->rd_rel->reltoastrelid;
	table->context = context;
	table->name = pstrdup(RelationGetRelationName(rel));
	table->row_security = rel->rd_rel->relrowsecurity;
	table->rules = rel->rd_rules != NULL;
	table->qualified =
		quote_qualified_identifier(get_namespace_name(RelationGetNamespace(rel)), table->name);
	read_item_column(rel, table);
	table->keys = palloc(DYN_MAX_COLUMNS * sizeof(DynKey));
	read_table_keys(rel, table, arguments);
	read_arguments(rel, table, arguments);
	if (table->settings.ttl.len > 0)
		read_ttl(rel, table);
	read_carried(rel, table);
	find_btrees(rel, table);
	table->distributed = dyn_is_distributed(rel);
	table->shard = !table->distributed && dyn_trigger_find(rel, DYN_TRIGGER_DERIVE) == NULL;
	dyn_read_vectors(rel, table);
	table->unsupported = dyn_unsupported(rel) != NULL;
	table->enforced = dyn_trigger_find(rel, DYN_TRIGGER_ENFORCE) != NULL;
	table->grants = dyn_read_key_grants(rel);
	dyn_read_plainness(rel, table);
	table->valid = before == invalidations;
	MemoryContextSwitchTo(old);
	return table;
}

/* Puts a schema into the cache; one that is there lives on until the transaction ends. */
static void
keep_schema(DynTable *table)
{
	bool found;
	SchemaEntry *entry = hash_search(schemas, &table->relid, HASH_ENTER, &found);

	if (found)
	{
		MemoryContext old = MemoryContextSwitchTo(schema_context);

		retired = lappend(retired, entry->table);
		MemoryContextSwitchTo(old);
	}
	MemoryContextSetParent(table->context, schema_context);
	entry->table = table;
	some_invalid |= !table->valid;
}

/*
 * Returns the schema of an open relation, or NULL if it is no table of items.  Triggers and lists
 * use this, since they handle unsupported tables too.
 */
DynTable *
dyn_schema_any(Relation rel)
{
	Oid relid = RelationGetRelid(rel);
	SchemaEntry *entry;
	DynTable *table;

	if (schemas == NULL)
		create_cache();
	entry = hash_search(schemas, &relid, HASH_FIND, NULL);
	if (entry != NULL && entry->table->valid)
		return entry->table->entries ? NULL : entry->table;

	table = read_schema(rel);
	if (table != NULL)
		keep_schema(table);
	return table;
}

/*
 * Returns a schema of the relation of the entries of an index.  It has little more than what finds
 * the shard of an entry: the first key.
 */
DynTable *
dyn_schema_entries(const DynTable *table, const DynIndex *index)
{
	SchemaEntry *entry = hash_search(schemas, &index->relid, HASH_FIND, NULL);
	MemoryContext context;
	DynTable *entries;

	if (entry != NULL && entry->table->valid && entry->table->entries)
		return entry->table;
	context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table schema", ALLOCSET_SMALL_SIZES);
	entries = MemoryContextAllocZero(context, sizeof(DynTable));
	entries->keys = MemoryContextAllocZero(context, sizeof(DynKey));
	entries->keys[0].type = dyn_index_key(table, index, 0)->type;
	entries->keys[0].column = MemoryContextStrdup(context, dyn_index_key(table, index, 0)->column);
	/* those of a vector index are not read by statements */
	if (index->entries != NULL)
		entries->qualified = MemoryContextStrdup(context, index->entries);
	entries->grants = MemoryContextAllocZero(context, sizeof(DynKeyGrants));
	entries->nkeys = 1;
	entries->relid = index->relid;
	entries->context = context;
	entries->distributed = entries->entries = entries->valid = true;
	keep_schema(entries);
	return entries;
}

/* Refuses a shard: it holds one range of hashes, so a call on it would miss or misplace items. */
void
dyn_refuse_shard(Relation rel)
{
	Oid relid = citus_shard_of(rel);
	char *name = OidIsValid(relid) ? get_rel_name(relid) : NULL;

	if (name == NULL)
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("table \"%s\" cannot be used as a table of items", RelationGetRelationName(rel)),
		 errdetail("It is a shard of a distributed table."), errhint("Use table \"%s\".", name)));
}

/*
 * Returns the schema of a shard, for callers that have found it in Citus' catalogs, or NULL if it
 * has no definition.
 */
DynTable *
dyn_schema_shard(Relation rel)
{
	DynTable *table = dyn_schema_any(rel);

	return table != NULL && table->shard ? table : NULL;
}

/*
 * Returns the schema for callers that read or write items or change the table.  Raises an error for
 * an unsupported table, and for a shard.
 */
DynTable *
dyn_schema(Relation rel)
{
	DynTable *table = dyn_schema_any(rel);
	const char *detail;

	if (table != NULL && table->shard)
	{
		dyn_refuse_shard(rel);
		/* Citus has dropped or moved it, of which nothing has told */
		mark_invalid(RelationGetRelid(rel));
		return NULL;
	}
	if (table == NULL || !table->unsupported)
		return table;
	detail = dyn_unsupported(rel);
	if (detail != NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table \"%s\" cannot be used as a table of items",
							   RelationGetRelationName(rel)),
						errdetail("%s", detail)));
	/* no longer, of which nothing has told */
	mark_invalid(RelationGetRelid(rel));
	return dyn_schema_any(rel);
}
