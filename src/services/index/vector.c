/*
 * vector.c
 *	  dyn_create_vector_index(): a vector index of a table that is in use; and its end.
 *
 * The index is declared under a lock that keeps all others out for a moment: its entries relation is
 * made, without rows, and the trigger that writes them.  From then on every write has its entry.  The
 * entries of older rows are made in batches, under locks of the rows that are as short.  Then an index
 * of type hnsw is built, where one is asked for, and the materialized view counts as populated: that
 * is the state of the index.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "commands/matview.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "catalog/distribute.h"
#include "catalog/entries.h"
#include "catalog/lookup.h"
#include "catalog/resource.h"
#include "catalog/rights.h"
#include "server/arguments.h"
#include "server/catalogs.h"
#include "server/errors.h"
#include "server/extension.h"
#include "services/index/index.h"
#include "services/index/lacking.h"
#include "store/vector.h"

/*
 * Checks
 */

/* Raises an error for what DynamoDB refuses with words behind DYN_INVALID_WORDS, or does not have. */
#define fail_vector(words, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_DYN_VALIDATION), errmsg(__VA_ARGS__), \
			 errwords_if((words) == NULL ? NULL : psprintf(DYN_INVALID_WORDS "%s", (words)))))

static void
check_others(const DynTable *table, const DynVectorSpec *spec)
{
	const char *name = item_quoted(spec->index.name);

	if (dyn_find_index(table, spec->index.name) != NULL)
		fail_vector(psprintf("Duplicate index name: %s", item_quoted_words(spec->index.name)),
					"table \"%s\" has an index \"%s\" already", table->name, name);
	if (table->nvectors >= DYN_MAX_VECTORS)
		fail_vector(
			psprintf("VectorIndex count exceeds the per-table limit of %d", DYN_MAX_VECTORS),
			"a table has at most %d vector indexes", DYN_MAX_VECTORS);
	for (int i = 0; i < table->nvectors; i++)
	{
		const DynVectorSpec *other = table->vectors[i].spec;

		if (item_compare_bytes(other->attribute, spec->attribute) == 0 &&
			other->dimensions != spec->dimensions)
			fail_vector(psprintf("Conflicting attribute definition for '%s'. All VectorIndexes on "
								 "the same vector attribute must use the same dimensions.",
								 item_quoted(spec->attribute)),
						"vectors \"%s\" have " INT64_FORMAT " dimensions in index \"%s\"",
						item_quoted(spec->attribute), other->dimensions,
						item_quoted(other->index.name));
	}
}

/* Refuses tables whose entries could not be kept. */
static void
check_table(Relation rel, const DynTable *table)
{
	if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table \"%s\" can have no vector index", table->name),
						errdetail("It is temporary or unlogged.")));
}

/*
 * Returns whether the index is there already, in use or in the making; it is an error if that is one
 * that is defined otherwise.
 */
static bool
is_there(const DynTable *table, const DynVectorSpec *spec)
{
	const DynVector *there = dyn_find_vector(table, spec->index.name);

	if (there == NULL)
		return false;
	if (strcmp(dyn_vector_spec_words(there->spec), dyn_vector_spec_words(spec)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_RESOURCE_IN_USE),
				 errmsg("a vector index \"%s\" of table \"%s\" with another definition is there",
						item_quoted(spec->index.name), table->name),
				 errdetail("It is defined as %s.", dyn_vector_spec_words(there->spec)),
				 errhint("Call dyn_drop_index to remove it.")));
	return true;
}

/*
 * Declaration
 */

/* Returns the names of the entries' columns, and their definitions if extension is not NULL. */
static char *
columns_sql(const DynTable *table, const DynVectorSpec *spec, const char *types,
			const char *extension)
{
	static const char *const names[] = {"partition_key", "sort_key"};
	StringInfoData sql;
	ItemSpan attribute;
	ItemType type;

	initStringInfo(&sql);
	if (extension == NULL)
		appendStringInfoString(&sql, "vector, filters");
	else
		appendStringInfo(&sql, "vector %s.vector(" INT64_FORMAT "), filters %s.dyn_item", types,
						 spec->dimensions, extension);
	for (int i = 0; i < table->nkeys; i++)
		appendStringInfo(&sql, ", %s %s", names[i],
						 extension == NULL ? "" : dyn_shape_type_sql(table->keys[i].type));
	if (spec->hash.len > 0)
	{
		dyn_parse_key_spec(spec->hash, &attribute, &type);
		appendStringInfo(&sql, ", hash_key %s", extension == NULL ? "" : dyn_shape_type_sql(type));
	}
	return sql.data;
}

/*
 * Takes away what default privileges give to others: whoever sees entries sees what policies on the
 * items may hide.
 */
static void
revoke_from_others(Oid entries)
{
	List *roles = NIL;
	ListCell *cell;

	sql_execute(
		"SELECT DISTINCT CASE WHEN a.grantee OPERATOR(pg_catalog.=) 0::pg_catalog.oid THEN 'PUBLIC'"
		" ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)::pg_catalog.text)"
		" END FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a"
		" WHERE c.oid OPERATOR(pg_catalog.=) $1"
		" AND a.grantee OPERATOR(pg_catalog.<>) c.relowner",
		false, 0, SQL_VALUES(SQL_OID(entries)));
	for (uint64 i = 0; i < SPI_processed; i++)
		roles = lappend(roles, sql_text(SPI_tuptable, i, 1));
	foreach (cell, roles)
		dyn_execute(psprintf("REVOKE ALL ON %s FROM %s", catalogs_qualified(entries),
							 (char *) lfirst(cell)));
}

/* Returns the statement that makes the entries of a table of one node, without rows. */
static char *
view_sql(const char *qualified, const DynTable *table, const DynVectorSpec *spec,
		 const char *columns)
{
	return psprintf(
		"CREATE MATERIALIZED VIEW %s (%s) USING heap WITH (toast_tuple_target = 8160) AS SELECT e.*"
		" FROM " DYN_INTERNAL ".vector_entries(%s::pg_catalog.regclass, %s::pg_catalog.text)"
		" AS e(%s) WITH NO DATA",
		qualified, columns_sql(table, spec, NULL, NULL), quote_literal_cstr(table->qualified),
		quote_literal_cstr(span_string(spec->index.name)), columns);
}

static Oid
make_entries(Relation rel, const DynTable *table, const DynVectorSpec *spec, Oid vector_schema)
{
	const char *columns =
		columns_sql(table, spec, quote_identifier(get_namespace_name(vector_schema)),
					extension_keep_own_schema());
	const char *key = table->nkeys > 1 ? "partition_key, sort_key" : "partition_key";
	const char *kind = table->distributed ? "TABLE" : "MATERIALIZED VIEW";
	char *schema = get_namespace_name(RelationGetNamespace(rel));
	char *name = dyn_index_relation_name(RelationGetNamespace(rel), RelationGetRelationName(rel),
										 spec->index.name);
	char *qualified = quote_qualified_identifier(schema, name);
	Oid relid;

	if (table->distributed)
		dyn_execute(psprintf("CREATE TABLE %s (%s, PRIMARY KEY (%s)) USING heap"
							 " WITH (toast_tuple_target = 8160)",
							 qualified, columns, key));
	else
		dyn_execute(view_sql(qualified, table, spec, columns));
	relid = get_relname_relid(name, RelationGetNamespace(rel));
	/* out of line only what does not fit into a page */
	dyn_execute(
		psprintf("ALTER %s %s ALTER COLUMN vector SET STORAGE %s,"
				 " ALTER COLUMN vector SET STATISTICS 0, ALTER COLUMN filters SET STATISTICS 0",
				 kind, qualified, spec->dimensions <= PGVECTOR_PLAIN ? "PLAIN" : "EXTERNAL"));
	if (!table->distributed)
		dyn_execute(psprintf("CREATE UNIQUE INDEX ON %s (%s)", qualified, key));
	if (spec->hash.len > 0)
		dyn_execute(psprintf("CREATE INDEX ON %s (hash_key)", qualified));
	revoke_from_others(relid);
	if (table->distributed)
		dyn_distribute_entries(relid, table->relid, DYN_ENTRY_KEY_COLUMN, true);
	return relid;
}

/* Writes the definition of a distributed table, which has made an index's entries. */
static void
write_definition(DynShape *shape, const DynVectorSpec *spec, Oid entries)
{
	DynVectorSpec *made = palloc(sizeof(DynVectorSpec));

	*made = *spec;
	made->index.entries = item_span(get_rel_name(entries));
	made->index.status = DYN_INDEX_CREATING;
	shape->vectors = lappend(shape->vectors, made);
	dyn_shape_write_trigger(shape);
}

static void
make_triggers(const char *table, const DynVectorSpec *spec, Oid entries)
{
	const char *trigger = quote_identifier(dyn_vector_trigger_name(spec->index.name));

	dyn_execute(
		psprintf("CREATE CONSTRAINT TRIGGER %s AFTER INSERT OR UPDATE OR DELETE ON %s FROM %s"
				 " NOT DEFERRABLE FOR EACH ROW EXECUTE FUNCTION " DYN_INTERNAL ".keep_vectors(%s)",
				 trigger, table, catalogs_qualified(entries),
				 quote_literal_cstr(dyn_vector_spec_print(spec))));
	dyn_execute(psprintf("CREATE OR REPLACE TRIGGER \"" DYN_VECTORS_TRUNCATED_TRIGGER
						 "\" AFTER TRUNCATE ON %s EXECUTE FUNCTION " DYN_INTERNAL
						 ".vectors_truncated()",
						 table));
	/* also for changes of a subscription */
	dyn_execute(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s, ENABLE ALWAYS TRIGGER "
						 "\"" DYN_VECTORS_TRUNCATED_TRIGGER "\"",
						 table, trigger));
}

/*
 * Declares an index in the caller's transaction, which has locked the table so that no other session
 * uses it, and has connected to SPI.  Closes the relation.  What is made is the table's owner's.
 */
void
index_build_declare_vector(Relation rel, const DynTable *table, const DynVectorSpec *spec)
{
	Oid vector_schema = pgvector_require();
	char *qualified = pstrdup(table->qualified);
	DynShape *shape = table->distributed ? dyn_shape_of(rel, table) : NULL;
	Oid relid = RelationGetRelid(rel);
	const DynVector *made;
	Relation entries;
	RightsBefore before;
	Oid entries_oid;

	check_table(rel, table);
	check_others(table, spec);
	/* what is named here keeps its name until the transaction ends */
	extension_keep_schema(vector_schema);
	extension_keep_schema(RelationGetNamespace(rel));
	rights_take(rel->rd_rel->relowner, 0, &before);
	entries_oid = make_entries(rel, table, spec, vector_schema);
	relation_close(rel, NoLock);
	if (shape != NULL)
		write_definition(shape, spec, entries_oid);
	else
		make_triggers(qualified, spec, entries_oid);
	rights_give_back(&before);

	rel = relation_open(relid, NoLock);
	table = dyn_schema(rel);
	made = dyn_find_vector(table, spec->index.name);
	if (made == NULL)
		elog(ERROR, "vector index \"%s\" is not there", item_quoted(spec->index.name));
	entries = relation_open(made->relid, NoLock);
	dyn_vector_check_fits(table, dyn_find_vector(table, spec->index.name), entries);
	relation_close(entries, NoLock);
	relation_close(rel, NoLock);
}

/*
 * Build
 */

/* Finds the index again in a new transaction; it may have been dropped. */
static DynVector *
find_vector(const IndexBuild *work, const DynTable *table)
{
	DynVector *vector = dyn_find_vector(table, work->name);

	if (vector == NULL)
		index_build_fail_dropped(work);
	return vector;
}

/* Does so for an index that is to be built. */
static DynVector *
find_to_build(const IndexBuild *work, const DynTable *table)
{
	DynVector *vector = find_vector(work, table);

	dyn_vector_check_owned(table, vector);
	return vector;
}

#define FIRST_BATCH 16 /* blocks */
#define LONG_BATCH 60.0 /* milliseconds: smaller ones then */
#define SHORT_BATCH 25.0

typedef struct Fill
{
	IndexBuild *work;
	Oid filenode; /* a rewrite puts rows elsewhere */
	BlockNumber next;
	BlockNumber end; /* as of the start: what comes later has its entries */
	BlockNumber batch;
	TimestampTz told;
	StoreVectorFill rows;
} Fill;

/* Begins at the beginning, or again. */
static void
fill_start(Fill *fill, Relation rel)
{
	fill->filenode = rel->rd_rel->relfilenode;
	fill->next = 0;
	fill->end = RelationGetNumberOfBlocks(rel);
	fill->work->blocks_total = fill->end;
	fill->rows.locked = NIL;
	fill->rows.left_out = 0;
}

static void
fill_batch(Fill *fill, Relation rel, DynTable *table, DynVector *vector)
{
	BlockNumber to = Min(fill->next + fill->batch, fill->end);
	instr_time begin;

	INSTR_TIME_SET_CURRENT(begin);
	store_vector_fill(rel, table, vector, fill->next, to, &fill->rows);
	fill->next = to;
	fill->batch = lacking_next_batch(fill->batch, begin, SHORT_BATCH, LONG_BATCH);
}

/* Does so for a row that was locked; the transaction holds no other one, so it can wait. */
static void
fill_row(Fill *fill, Relation rel, DynTable *table, DynVector *vector)
{
	ItemPointer tid = linitial(fill->rows.locked);

	fill->rows.locked = list_delete_first(fill->rows.locked);
	store_vector_fill_row(rel, table, vector, tid, &fill->rows);
}

/* Makes the entries of all rows that lack them, in many transactions. */
static void
fill_entries(IndexBuild *work)
{
	Fill fill = {.work = work,
				 .batch = FIRST_BATCH,
				 .told = GetCurrentTimestamp(),
				 .rows = {.context = work->procedure.context}};
	bool more = true;

	ereport(NOTICE, (errmsg("%s: making entries", work->procedure.what)));
	index_build_progress(work, INDEX_BUILD_BACKFILL);
	while (more)
	{
		DynTable *table;
		Relation rel = index_build_open(work, RowExclusiveLock, &table);
		DynVector *vector = find_to_build(work, table);

		procedure_commit_lazily();
		if (fill.filenode != rel->rd_rel->relfilenode)
			fill_start(&fill, rel);
		if (fill.next < fill.end)
			fill_batch(&fill, rel, table, vector);
		else if (fill.rows.locked != NIL)
			fill_row(&fill, rel, table, vector);
		else
			more = false;
		relation_close(rel, NoLock);
		work->blocks_done = fill.next;
		work->items = fill.rows.items;
		work->left_out = fill.rows.left_out;
		index_build_tell(work, &fill.told);
	}
}

static void
fill_shards(IndexBuild *work)
{
	ereport(NOTICE, (errmsg("%s: making entries", work->procedure.what)));
	index_build_progress(work, INDEX_BUILD_BACKFILL);
	index_build_backfill_shards(work);
}

/*
 * The candidates that the build keeps: with pgvector's default of 64 a search among vectors in clusters
 * misses one in ten of the nearest, and with these one in five hundred.  A build takes twice as long.
 */
#define HNSW_CONSTRUCTION 200

/*
 * Returns the statement that builds pgvector's index of a relation; the expression is a column or in
 * parentheses.
 */
char *
index_build_hnsw_sql(const DynVectorSpec *spec, bool concurrently, const char *relation,
					 const char *expression)
{
	return psprintf("CREATE INDEX %sON %s USING hnsw (%s %s.%s) WITH (ef_construction = %d)",
					concurrently ? "CONCURRENTLY " : "", relation, expression,
					quote_identifier(get_namespace_name(pgvector_require())),
					store_vector_operators(spec), HNSW_CONSTRUCTION);
}

/* Returns a value as a vector, of the type that such an index takes. */
char *
index_build_hnsw_value(const DynVectorSpec *spec, const char *value)
{
	return psprintf("(%s::%s.%s(" INT64_FORMAT "))", value,
					quote_identifier(get_namespace_name(pgvector_require())),
					dyn_vector_has_halves(spec) ? "halfvec" : "vector", spec->dimensions);
}

/* Returns the statement that builds the index of type hnsw, or drops what is left of an attempt. */
static char *
hnsw_sql(const DynVector *vector, bool concurrently)
{
	const DynVectorSpec *spec = vector->spec;
	Oid remains = store_vector_hnsw(vector, false);

	if (OidIsValid(store_vector_hnsw(vector, true)))
		return NULL;
	if (OidIsValid(remains))
		return psprintf("DROP INDEX %s%s", concurrently ? "CONCURRENTLY " : "",
						catalogs_qualified(remains));
	return index_build_hnsw_sql(spec, concurrently, catalogs_qualified(vector->relid),
								dyn_vector_has_halves(spec) ? index_build_hnsw_value(spec, "vector")
															: "vector");
}

/* The entries of the index that is worked on. */
static Oid entries_to_lock;

static List *
entries_of(Oid relid)
{
	return OidIsValid(entries_to_lock) ? list_make1_oid(entries_to_lock) : NIL;
}

/* Returns the entries relation, or InvalidOid if it is not one of the table's owner. */
static Oid
own_entries(const DynTable *table, const DynVector *vector)
{
	return dyn_vector_is_owned(table, vector) ? vector->relid : InvalidOid;
}

/* Locks the table and these entries in a new transaction, without keeping others waiting. */
static Relation
open_with_entries(IndexBuild *work, LOCKMODE mode, DynTable **table)
{
	Relation rel;

	work->procedure.also = entries_of;
	rel = index_build_open_briefly(work, mode, table);
	work->procedure.also = NULL;
	if (own_entries(*table, find_vector(work, *table)) != entries_to_lock)
		index_build_fail_dropped(work);
	return rel;
}

/* Returns that statement, in the memory of the procedure. */
static char *
next_hnsw_sql(IndexBuild *work)
{
	DynTable *table;
	Relation rel = index_build_open(work, AccessShareLock, &table);
	const DynVector *vector = find_to_build(work, table);
	char *sql = vector->spec->method == DYN_SEARCH_HNSW ? hnsw_sql(vector, true) : NULL;

	entries_to_lock = vector->relid;
	relation_close(rel, NoLock);
	return sql;
}

/* Says that all items have their entries, which are locked. */
static void
set_built(DynVector *vector)
{
	Relation entries = relation_open(vector->relid, NoLock);

	SetMatViewPopulatedState(entries, true);
	relation_close(entries, NoLock);
}

/* Does the rest for an index that is declared. */
void
index_build_make_vector(IndexBuild *work)
{
	DynTable *table;
	Relation rel;
	char *sql;

	work->vector = true;
	index_build_fill_once(work, work->distributed ? fill_shards : fill_entries);
	while ((sql = next_hnsw_sql(work)) != NULL)
	{
		index_build_progress(work, INDEX_BUILD_BTREE);
		ereport(NOTICE, (errmsg("%s: building", work->procedure.what)));
		index_build_run_statement(work, sql);
	}
	if (work->distributed)
		index_build_declare_status(work, INDEX_BUILD_ACTIVATE, DYN_INDEX_ACTIVE);
	else
	{
		rel = open_with_entries(work, ShareUpdateExclusiveLock, &table);
		index_build_progress(work, INDEX_BUILD_ACTIVATE);
		set_built(find_to_build(work, table));
		relation_close(rel, NoLock);
	}
	procedure_next_transaction(&work->procedure);
	ereport(NOTICE,
			(errmsg("%s of table \"%s\" is active", work->procedure.what, work->procedure.table),
			 errdetail("Items filled in: %lld. Items whose vector or hash key is not valid: %lld.",
					   (long long) work->items, (long long) work->left_out),
			 work->left_out == 0 ? 0 : errhint("Call dyn_index_violations for a list of them.")));
}

/*
 * Completes an index of a table without rows, which nobody else uses, in the transaction that has
 * declared it.  Closes the relation.
 */
void
index_build_finish_empty_vector(Relation rel, const DynTable *table, ItemSpan name)
{
	DynVector *vector = dyn_find_vector(table, name);
	DynShape *shape = table->distributed ? dyn_shape_of(rel, table) : NULL;
	RightsBefore before;
	char *sql;

	if (vector->spec->method == DYN_SEARCH_HNSW)
	{
		rights_take(rel->rd_rel->relowner, 0, &before);
		while ((sql = hnsw_sql(vector, false)) != NULL)
			dyn_execute(sql);
		rights_give_back(&before);
	}
	if (shape == NULL)
		set_built(vector);
	else
		dyn_shape_vector(shape, name)->index.status = DYN_INDEX_ACTIVE;
	relation_close(rel, NoLock);
	if (shape != NULL)
		dyn_shape_write_trigger(shape);
}

/*
 * dyn_create_vector_index(table_name, index_name, attribute, dimensions, distance, method, hash_key,
 * filters, projection, non_key_attributes, if_not_exists)
 */

static int
get_spans(FunctionCallInfo fcinfo, int i, const char *name, ItemSpan **spans)
{
	int n = 0;
	Datum *elements =
		PG_ARGISNULL(i) ? NULL : argument_elements(PG_GETARG_ARRAYTYPE_P(i), name, &n);

	*spans = palloc((n + 1) * sizeof(ItemSpan));
	for (int k = 0; k < n; k++)
		(*spans)[k] = item_span(TextDatumGetCString(elements[k]));
	return n;
}

static ItemSpan
get_span(FunctionCallInfo fcinfo, int i)
{
	text *argument = argument_text(fcinfo, i);

	return argument == NULL ? (ItemSpan){"", 0} : item_span(text_to_cstring(argument));
}

static DynVectorSpec *
parse_definition(FunctionCallInfo fcinfo, const IndexBuild *work)
{
	DynVectorSpec *spec = palloc0(sizeof(DynVectorSpec));

	argument_require(fcinfo, 2, "attribute");
	argument_require(fcinfo, 3, "dimensions");
	spec->index.name = work->name;
	spec->attribute = get_span(fcinfo, 2);
	spec->dimensions = PG_GETARG_INT64(3);
	spec->distance = (DynDistance) argument_choice(fcinfo, 4, "distance", 0, dyn_distance_names);
	spec->method =
		(DynSearchMethod) argument_choice(fcinfo, 5, "method", 0, dyn_search_method_names);
	spec->hash = get_span(fcinfo, 6);
	spec->nfilters = get_spans(fcinfo, 7, "filters", &spec->filters);
	spec->index.projection =
		(DynProjection) argument_choice(fcinfo, 8, "projection", 0, dyn_projection_names);
	spec->index.nincluded = get_spans(fcinfo, 9, "non_key_attributes", &spec->index.included);
	dyn_vector_spec_check(spec, false);
	return spec;
}

/* Returns whether a call with if_not_exists has nothing to do. */
static bool
is_active(const IndexBuild *work, const DynTable *table, bool if_not_exists)
{
	if (!dyn_vector_is_built(dyn_find_vector(table, work->name)))
		return false;
	if (!if_not_exists)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("index \"%s\" of table \"%s\" already exists", work->index,
							   work->procedure.table)));
	index_build_tell_exists(work);
	return true;
}

static void
create_vector(IndexBuild *work, FunctionCallInfo fcinfo, Relation rel, DynTable *table)
{
	DynVectorSpec *spec = parse_definition(fcinfo, work);
	bool there = is_there(table, spec);

	(void) pgvector_require();
	check_table(rel, table);
	if (!there)
		check_others(table, spec);
	else if (is_active(work, table, argument_flag(fcinfo, 10, false)))
	{
		relation_close(rel, NoLock);
		return;
	}
	relation_close(rel, NoLock);
	if (!there)
	{
		rel = index_build_open_briefly(work, AccessExclusiveLock, &table);
		index_build_progress(work, INDEX_BUILD_DECLARE);
		index_build_declare_vector(rel, table, spec);
	}
	index_build_make_vector(work);
}

PG_FUNCTION_INFO_V1(dyn_create_vector_index);
Datum
dyn_create_vector_index(PG_FUNCTION_ARGS)
{
	IndexBuild *work = palloc0(sizeof(IndexBuild));

	work->procedure.name = "dyn_create_vector_index";
	index_build_run(work, fcinfo, false, create_vector);
	PG_RETURN_VOID();
}

/*
 * Drop
 */

/* Takes an index from the definition, and then its entries from the shards; closes the relation. */
static void
forget_distributed(Relation rel, const DynTable *table, const DynVector *vector)
{
	DynShape *shape = dyn_shape_of(rel, table);
	Oid entries = vector->relid;
	Oid owner = rel->rd_rel->relowner;

	shape->vectors = list_delete_ptr(shape->vectors, dyn_shape_vector(shape, vector->index.name));
	relation_close(rel, NoLock);
	dyn_shape_write_trigger(shape);
	dyn_entries_drop(entries, owner);
}

/*
 * Drops an index in a transaction that has locked the table and its entries so that no other session
 * uses them.  Closes the relation.  A relation that is not its owner's is left as it is.
 */
void
index_build_forget_vector(Relation rel, const DynTable *table, ItemSpan name, bool cascade)
{
	const DynVector *vector = dyn_find_vector(table, name);
	Oid relid = RelationGetRelid(rel);
	bool last = table->nvectors == 1;
	ObjectAddress object;

	if (dyn_vector_is_distributed(vector))
	{
		forget_distributed(rel, table, vector);
		return;
	}
	/* the trigger goes with its relation */
	if (dyn_vector_is_owned(table, vector))
		ObjectAddressSet(object, RelationRelationId, vector->relid);
	else
		ObjectAddressSet(object, TriggerRelationId, get_trigger_oid(relid, vector->trigger, false));
	relation_close(rel, NoLock);
	PushActiveSnapshot(GetTransactionSnapshot());
	performDeletion(&object, cascade ? DROP_CASCADE : DROP_RESTRICT, 0);
	CommandCounterIncrement();
	ObjectAddressSet(object, TriggerRelationId,
					 get_trigger_oid(relid, DYN_VECTORS_TRUNCATED_TRIGGER, true));
	if (last && OidIsValid(object.objectId))
		performDeletion(&object, DROP_RESTRICT, 0);
	PopActiveSnapshot();
}

/* Drops a vector index in transactions of their own; closes the relation. */
void
index_build_drop_vector(IndexBuild *work, Relation rel, const DynTable *table)
{
	DynTable *again;

	entries_to_lock = own_entries(table, dyn_find_vector(table, work->name));
	relation_close(rel, NoLock);
	rel = open_with_entries(work, AccessExclusiveLock, &again);
	index_build_progress(work, INDEX_BUILD_DROP);
	index_build_forget_vector(rel, again, work->name, work->cascade);
}
