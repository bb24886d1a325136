/*
 * vector_search.c
 *	  The nearest entries of a vector index.
 *
 * Without an index of type hnsw each entry is looked at, or each one of a hash key, which is exact.
 * With one, entries come in the order of their distance, as far as that index knows it; if it ends
 * before there are as many as are wanted, the search is done again by looking at each: no search
 * finds less than there is.
 *
 * Scores are computed of the entries in either case.  Equal ones are in the order of the items'
 * keys.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/genam.h"
#include "access/relation.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_opclass.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "storage/predicate.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "catalog/rights.h"
#include "server/catalogs.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"
#include "store/range.h"
#include "store/vector.h"

/*
 * Up to so many entries of a hash key are always looked at one by one, and not found by an index of
 * type hnsw.  So are those of an index that has no more, once a search by hnsw has not found
 * enough.
 */
#define FEW_ENTRIES 20000

/*
 * A search in an index of type hnsw keeps candidates: more of them make it slower and more
 * complete.  The nearest quarter of them is all that is near; between farther ones entries are
 * missing.  So a search looks at a quarter of its candidates.  If the condition lets too few of
 * them through, but at least one in twenty, the search is done again with more candidates.  If it
 * does not find enough then, or the condition lets fewer through, each entry is looked at.
 */
#define LEAST_CANDIDATES 200
#define MOST_CANDIDATES 1000 /* that hnsw.ef_search can have */
#define CANDIDATES_FOR_EACH 4 /* that is looked at */
#define MOST_FOR_EACH 20 /* that is wanted */

/* This is a search on its way. */
typedef struct Search
{
	const StoreSearch *request;
	Relation entries;
	TupleTableSlot *slot;
	PGFunction distance;
	FunctionCallInfo call; /* of that, with the vector that is searched for */
	MemoryContext context; /* of the result */
	MemoryContext row; /* reset for each entry */
	float last; /* the rank of the entry that was taken last */
	int seen; /* entries of an index of type hnsw that were looked at */
	int nfound;
	StoreFound *found; /* a heap, of which the first is the worst; in order at the end */
} Search;

/*
 * Scores
 */

static float
clipped(double value)
{
	return value > FLT_MAX ? FLT_MAX : value < -FLT_MAX ? -FLT_MAX : (float) value;
}

/* Sets score and rank by pgvector's distance. */
static void
set_score(DynDistance kind, double distance, StoreFound *found)
{
	switch (kind)
	{
		case DYN_DISTANCE_COSINE:
			/* one of them is zero and has no direction */
			found->score = isnan(distance) ? 1.0f : 1.0f - (float) (1.0 - distance);
			found->score = Max(0.0f, Min(2.0f, found->score));
			found->rank = found->score;
			break;
		case DYN_DISTANCE_EUCLIDEAN:
			found->score = isnan(distance) ? FLT_MAX : clipped(distance);
			found->rank = found->score;
			break;
		case DYN_DISTANCE_DOT_PRODUCT:
			found->score = isnan(distance) ? -FLT_MAX : clipped(-distance);
			found->rank = -found->score;
			break;
	}
}

static int
compare_found(const Search *s, const StoreFound *a, const StoreFound *b)
{
	const DynTable *table = s->request->table;
	int cmp = 0;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	for (int i = 0; i < table->nkeys && cmp == 0; i++)
		cmp = store_column_compare(table->keys[i].type, a->key[i], b->key[i]);
	return cmp;
}

static void
swap_found(StoreFound *a, StoreFound *b)
{
	StoreFound c = *a;

	*a = *b;
	*b = c;
}

/* Has the worst one of the first n come to the top. */
static void
sift_down(const Search *s, int i, int n)
{
	for (;;)
	{
		int worst = i;

		for (int child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
		{
			if (compare_found(s, &s->found[child], &s->found[worst]) > 0)
				worst = child;
		}
		if (worst == i)
			return;
		swap_found(&s->found[i], &s->found[worst]);
		i = worst;
	}
}

static void
sift_up(const Search *s, int i)
{
	for (; i > 0 && compare_found(s, &s->found[i], &s->found[(i - 1) / 2]) > 0; i = (i - 1) / 2)
		swap_found(&s->found[i], &s->found[(i - 1) / 2]);
}

static void
copy_key(const Search *s, StoreFound *found)
{
	MemoryContext old = MemoryContextSwitchTo(s->context);

	for (int i = 0; i < s->request->table->nkeys; i++)
		found->key[i] = PointerGetDatum(PG_DETOAST_DATUM_COPY(found->key[i]));
	MemoryContextSwitchTo(old);
}

/* Keeps one that is among the best so far. */
static void
keep(Search *s, StoreFound *found)
{
	if (s->nfound < s->request->most)
	{
		copy_key(s, found);
		s->found[s->nfound] = *found;
		sift_up(s, s->nfound++);
	}
	else if (compare_found(s, found, &s->found[0]) < 0)
	{
		for (int i = 0; i < s->request->table->nkeys; i++)
			pfree(DatumGetPointer(s->found[0].key[i]));
		copy_key(s, found);
		s->found[0] = *found;
		sift_down(s, 0, s->nfound);
	}
}

static void
sort_found(Search *s)
{
	for (int n = s->nfound - 1; n > 0; n--)
	{
		swap_found(&s->found[0], &s->found[n]);
		sift_down(s, 0, n);
	}
}

/*
 * Entries
 */

static Datum
column(const Search *s, int attnum)
{
	bool isnull;
	Datum datum = slot_getattr(s->slot, attnum, &isnull);

	if (isnull)
		elog(ERROR, "an entry of a vector index lacks a column");
	return datum;
}

/* Returns whether the entry in the slot is searched for. */
static bool
accepted(const Search *s)
{
	const StoreSearch *request = s->request;

	return request->accepts == NULL ||
		   request->accepts(DatumGetDynItem(column(s, DYN_FILTERS_COLUMN)), request->arg);
}

/* Returns whether it has the hash key that is searched for. */
static bool
has_hash(const Search *s)
{
	const StoreSearch *request = s->request;
	int attnum = dyn_vector_ncolumns(request->table, request->vector);

	return !request->hashed || store_column_compare(request->vector->index.hash->type,
													column(s, attnum), request->hash) == 0;
}

/* Takes the entry in the slot, if it is one that is searched for. */
static void
take(Search *s, bool check_hash)
{
	MemoryContext old = MemoryContextSwitchTo(s->row);
	StoreFound found = {0};

	CHECK_FOR_INTERRUPTS();
	if ((!check_hash || has_hash(s)) && accepted(s))
	{
		s->call->args[0].value = column(s, DYN_VECTOR_COLUMN);
		set_score(s->request->vector->spec->distance, DatumGetFloat8(s->distance(s->call)), &found);
		found.place = s->slot->tts_tid;
		s->last = found.rank;
		if (s->nfound < s->request->most || found.rank <= s->found[0].rank)
		{
			for (int i = 0; i < s->request->table->nkeys; i++)
				found.key[i] = column(s, DYN_ENTRY_KEY_COLUMN + i);
			keep(s, &found);
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(s->row);
}

/*
 * Exact searches
 */

static void
search_all(Search *s)
{
	TableScanDesc scan = begin_table_scan(s->entries, GetActiveSnapshot());

	while (table_scan_getnextslot(scan, ForwardScanDirection, s->slot))
		take(s, true);
	table_endscan(scan);
}

/* Returns the btree of the hash key, or NULL: somebody has dropped it. */
static Relation
open_hash_index(const Search *s)
{
	List *indexes = RelationGetIndexList(s->entries);
	int attnum = dyn_vector_ncolumns(s->request->table, s->request->vector);
	ListCell *cell;

	foreach (cell, indexes)
	{
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);
		const FormData_pg_index *form = index->rd_index;

		if (index->rd_rel->relam == BTREE_AM_OID && form->indisvalid && !form->indcheckxmin &&
			form->indkey.values[0] == attnum &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
			return index;
		index_close(index, AccessShareLock);
	}
	return NULL;
}

static IndexScanDesc
begin_hash_scan(const Search *s, Relation index)
{
	IndexScanDesc scan = begin_index_scan(s->entries, index, GetActiveSnapshot(), 1);
	ScanKeyData key;

	store_scan_key(&key, 0, s->request->vector->index.hash->type, 0, BTEqualStrategyNumber,
				   s->request->hash);
	index_rescan(scan, &key, 1, NULL, 0);
	return scan;
}

/* Looks at each entry that may be searched for, by the btree of the hash key where there is one. */
static void
search_exactly(Search *s)
{
	Relation index = s->request->hashed ? open_hash_index(s) : NULL;
	IndexScanDesc scan;

	if (index == NULL)
	{
		search_all(s);
		return;
	}
	scan = begin_hash_scan(s, index);
	while (index_getnext_slot(scan, ForwardScanDirection, s->slot))
		take(s, false);
	index_endscan(scan);
	index_close(index, AccessShareLock);
}

/* Returns whether a hash key has few entries, going by its btree alone. */
static bool
hash_is_small(const Search *s)
{
	Relation index = open_hash_index(s);
	IndexScanDesc scan;
	int n = 0;

	if (index == NULL)
		return false;
	scan = begin_hash_scan(s, index);
	while (n <= FEW_ENTRIES && index_getnext_tid(scan, ForwardScanDirection) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		n++;
	}
	index_endscan(scan);
	index_close(index, AccessShareLock);
	return n <= FEW_ENTRIES;
}

/*
 * Searches by hnsw
 */

/* Returns the operator class of a distance, which is in the schema of pgvector. */
const char *
store_vector_operators(const DynVectorSpec *spec)
{
	static const char *const names[][2] = {
		[DYN_DISTANCE_COSINE] = {"vector_cosine_ops", "halfvec_cosine_ops"},
		[DYN_DISTANCE_EUCLIDEAN] = {"vector_l2_ops", "halfvec_l2_ops"},
		[DYN_DISTANCE_DOT_PRODUCT] = {"vector_ip_ops", "halfvec_ip_ops"}};

	return names[spec->distance][spec->dimensions > PGVECTOR_PLAIN];
}

/* Returns the operator of a distance, in the same schema. */
const char *
store_vector_operator(const DynVectorSpec *spec)
{
	static const char *const names[] = {[DYN_DISTANCE_COSINE] = "<=>",
										[DYN_DISTANCE_EUCLIDEAN] = "<->",
										[DYN_DISTANCE_DOT_PRODUCT] = "<#>"};

	return names[spec->distance];
}

/* Returns whether an index has the vectors, or those as halfvec where they are too long for one. */
static bool
has_vectors(const DynVectorSpec *spec, HeapTuple tuple)
{
	const FormData_pg_index *form = (Form_pg_index) GETSTRUCT(tuple);
	const FuncExpr *cast;
	FmgrInfo flinfo;
	List *expressions;
	bool isnull;
	Datum stored;

	if (spec->dimensions <= PGVECTOR_PLAIN)
		return form->indkey.values[0] == DYN_VECTOR_COLUMN;
	stored = SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indexprs, &isnull);
	if (isnull)
		return false;
	expressions = castNode(List, stringToNode(TextDatumGetCString(stored)));
	cast = linitial(expressions);
	if (list_length(expressions) != 1 || !IsA(cast, FuncExpr) || cast->args == NIL ||
		!IsA(linitial(cast->args), Var) ||
		linitial_node(Var, cast->args)->varattno != DYN_VECTOR_COLUMN)
		return false;
	for (int i = 1; i < list_length(cast->args); i++)
	{
		if (!IsA(list_nth(cast->args, i), Const))
			return false;
	}
	fmgr_info(cast->funcid, &flinfo);
	return flinfo.fn_addr == pgvector_symbol(PGVECTOR_TO_HALFVEC);
}

/* Returns whether indexes of the entries have expressions or predicates that the owner has put there. */
bool
store_vector_has_code(const DynVector *vector, Relation entries)
{
	List *indexes = RelationGetIndexList(entries);
	bool code = false;
	ListCell *cell;

	foreach (cell, indexes)
	{
		HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(cell)));

		if (!HeapTupleIsValid(tuple))
			continue;
		code = code || !heap_attisnull(tuple, Anum_pg_index_indpred, NULL) ||
			   (!heap_attisnull(tuple, Anum_pg_index_indexprs, NULL) &&
				!(vector->spec->dimensions > PGVECTOR_PLAIN && has_vectors(vector->spec, tuple)));
		ReleaseSysCache(tuple);
	}
	return code;
}

/*
 * Returns whether an index orders all vectors by that distance.  Only superusers can make operator
 * classes, so the name tells what it does.
 */
static bool
orders_vectors(const DynVectorSpec *spec, Oid index, bool valid)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	HeapTuple operators = NULL;
	bool orders = false;
	Datum classes;
	bool isnull;

	if (!HeapTupleIsValid(tuple))
		return false;
	classes = SysCacheGetAttr(INDEXRELID, tuple, Anum_pg_index_indclass, &isnull);
	operators = SearchSysCache1(
		CLAOID, ObjectIdGetDatum(((oidvector *) DatumGetPointer(classes))->values[0]));
	if (HeapTupleIsValid(operators))
	{
		Form_pg_opclass form = (Form_pg_opclass) GETSTRUCT(operators);

		orders = form->opcmethod == get_index_am_oid("hnsw", true) &&
				 strcmp(NameStr(form->opcname), store_vector_operators(spec)) == 0 &&
				 ((Form_pg_index) GETSTRUCT(tuple))->indisvalid == valid &&
				 heap_attisnull(tuple, Anum_pg_index_indpred, NULL) && has_vectors(spec, tuple);
		ReleaseSysCache(operators);
	}
	ReleaseSysCache(tuple);
	return orders;
}

static Oid
find_hnsw(Relation entries, const DynVectorSpec *spec, bool valid)
{
	List *indexes = RelationGetIndexList(entries);
	ListCell *cell;

	foreach (cell, indexes)
	{
		if (orders_vectors(spec, lfirst_oid(cell), valid))
			return lfirst_oid(cell);
	}
	return InvalidOid;
}

/* Returns an index of type hnsw on the entries, valid or not. */
Oid
store_vector_hnsw(const DynVector *vector, bool valid)
{
	Relation entries = try_relation_open(vector->relid, AccessShareLock);
	Oid index = InvalidOid;

	if (entries != NULL)
	{
		index = find_hnsw(entries, vector->spec, valid);
		relation_close(entries, AccessShareLock);
	}
	return index;
}

static bool
is_zero(const PgVector *vector)
{
	for (int i = 0; i < vector->dimensions; i++)
	{
		if (vector->values[i] != 0)
			return false;
	}
	return true;
}

/* Returns whether an index of type hnsw can be asked for what is near a vector. */
static bool
hnsw_takes(const DynVectorSpec *spec, const PgVector *query)
{
	for (int i = 0; spec->dimensions > PGVECTOR_PLAIN && i < query->dimensions; i++)
	{
		if (fabsf(query->values[i]) >= PGVECTOR_HALF_END)
			return false;
	}
	return spec->distance != DYN_DISTANCE_COSINE || !is_zero(query);
}

/* Has the scan keep candidates for so many entries; returns at how many it can look. */
static int
set_hnsw(int entries)
{
	const char *now = GetConfigOption("hnsw.ef_search", true, false);
	int candidates = Max(LEAST_CANDIDATES, CANDIDATES_FOR_EACH * entries);

	candidates = Min(Max(candidates, now == NULL ? 0 : atoi(now)), MOST_CANDIDATES);
	(void) set_config_option("hnsw.ef_search", psprintf("%d", candidates), PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("hnsw.iterative_scan", "strict_order", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return Max(entries, candidates / CANDIDATES_FOR_EACH);
}

static Datum
hnsw_query(const StoreSearch *request)
{
	if (request->vector->spec->dimensions <= PGVECTOR_PLAIN)
		return PointerGetDatum(request->query);
	return DirectFunctionCall3(pgvector_symbol(PGVECTOR_TO_HALFVEC),
							   PointerGetDatum(request->query), Int32GetDatum(-1),
							   BoolGetDatum(false));
}

/* Looks at the nearest entries, so many of them or more; returns whether enough are searched for. */
static bool
scan_hnsw(Search *s, Relation index, int entries)
{
	int most = s->request->most;
	int nest = NewGUCNestLevel();
	ScanKeyData key = {.sk_flags = SK_ORDER_BY, .sk_attno = 1};
	int limit = set_hnsw(entries);
	IndexScanDesc scan;

	key.sk_argument = hnsw_query(s->request);
	scan = begin_ordered_scan(s->entries, index, GetActiveSnapshot());
	index_rescan(scan, NULL, 0, &key, 1);
	s->nfound = s->seen = 0;
	/* with those that are as near as the last one, of which keys decide */
	while ((s->nfound < most ? s->seen < limit
							 : s->last <= s->found[0].rank && s->seen < MOST_FOR_EACH * most) &&
		   index_getnext_slot(scan, ForwardScanDirection, s->slot))
	{
		s->seen++;
		take(s, true);
	}
	index_endscan(scan);
	AtEOXact_GUC(false, nest);
	return s->nfound == most;
}

static bool
are_few(Relation entries)
{
	BlockNumber pages;
	double tuples;
	double visible;

	table_relation_estimate_size(entries, NULL, &pages, &tuples, &visible);
	return tuples <= FEW_ENTRIES;
}

/* Searches by an index of type hnsw.  Returns false if there may be more than it has found. */
static bool
search_by_hnsw(Search *s, Oid relid)
{
	Relation index = index_open(relid, AccessShareLock);
	int most = s->request->most;
	bool enough = scan_hnsw(s, index, most);

	if (!enough && s->nfound * MOST_FOR_EACH >= s->seen && !are_few(s->entries))
		enough = scan_hnsw(s, index, Max(most, Min(MOST_FOR_EACH * most, MOST_CANDIDATES / 2)));
	index_close(index, AccessShareLock);
	if (!enough)
		return false;
	/* zero vectors, whose score is 1, are not in an index by cosine */
	return s->request->vector->spec->distance != DYN_DISTANCE_COSINE || s->found[0].score < 1.0f;
}

/* Returns the index of type hnsw that serves a search, or InvalidOid. */
static Oid
choose_hnsw(const Search *s)
{
	const DynVectorSpec *spec = s->request->vector->spec;
	Oid index;

	if (spec->method != DYN_SEARCH_HNSW || s->request->exact ||
		!hnsw_takes(spec, s->request->query))
		return InvalidOid;
	index = find_hnsw(s->entries, spec, true);
	return !OidIsValid(index) || (s->request->hashed && hash_is_small(s)) ? InvalidOid : index;
}

/*
 * Searches of a distributed table
 */

/* Returns whether the shard of the hash key alone has its items. */
static bool
is_routed(const StoreSearch *request)
{
	return request->hashed && item_compare_bytes(request->vector->index.hash->attribute,
												 request->table->keys[0].attribute) == 0;
}

/* Asks for the nearest entries of each shard; $1 is what is searched for, and the others nearest()'s. */
static char *
shards_sql(const StoreSearch *request, bool hides)
{
	const DynTable *table = request->table;
	const char *schema = quote_identifier(get_namespace_name(pgvector_require()));
	const char *keys[] = {"partition_key", "sort_key"};
	StringInfoData sql;

	initStringInfo(&sql);
	if (hides)
		appendStringInfo(&sql, "SELECT vector OPERATOR(%s.%s) $1::%s.vector", schema,
						 store_vector_operator(request->vector->spec), schema);
	else
		appendStringInfo(&sql, "SELECT " DYN_INTERNAL ".vector_distance(%s, $2, $1)",
						 DYN_ITEM_COLUMN);
	for (int i = 0; i < table->nkeys; i++)
	{
		if (!hides)
			keys[i] = quote_identifier(table->keys[i].column);
		appendStringInfo(&sql, ", %s", keys[i]);
	}
	appendStringInfo(&sql,
					 " FROM %s TABLESAMPLE " DYN_INTERNAL ".nearest($2, $1, $3, $4, $5, $6, $7)",
					 hides ? catalogs_qualified(request->vector->relid) : table->qualified);
	if (is_routed(request))
		appendStringInfo(&sql, " WHERE %s OPERATOR(pg_catalog.=) $8", keys[0]);
	return hides ? sql_on_rows(request->vector->relid, sql.data) : sql_on(table->relid, sql.data);
}

static Datum
query_array(const PgVector *query)
{
	Datum *values = palloc(query->dimensions * sizeof(Datum));

	for (int i = 0; i < query->dimensions; i++)
		values[i] = Float4GetDatum(query->values[i]);
	return PointerGetDatum(
		construct_array(values, query->dimensions, FLOAT4OID, sizeof(float4), true, TYPALIGN_INT));
}

/* Takes a row, unless the vector of the item is not one any more. */
static void
take_answer(Search *s, uint64 row)
{
	bool none;
	double distance = DatumGetFloat8(sql_nullable(SPI_tuptable, row, 1, &none));
	StoreFound found = {0};

	set_score(s->request->vector->spec->distance, none ? 0 : distance, &found);
	for (int i = 0; i < s->request->table->nkeys; i++)
		found.key[i] = sql_value(SPI_tuptable, row, 2 + i);
	if (!none)
		keep(s, &found);
}

/*
 * Citus opens more connections to a node after so many milliseconds, each for this statement alone.
 * One takes as much of the processor as some 10,000 vectors.
 */
#define SLOW_START "50"

static void
ask_shards(Search *s, const char *sql)
{
	const StoreSearch *request = s->request;
	int nest = NewGUCNestLevel();

	(void) set_config_option("citus.executor_slow_start_interval", SLOW_START, PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	SPI_connect();
	sql_execute(
		sql, true, 0, is_routed(request) ? 8 : 7,
		(SqlValue[]){SQL_VALUE(FLOAT4ARRAYOID, query_array(request->query)),
					 SQL_TEXT(dyn_vector_spec_print(request->vector->spec)),
					 SQL_VALUE(TEXTOID, PointerGetDatum(request->condition)),
					 SQL_VALUE(JSONBOID, PointerGetDatum(request->names)),
					 SQL_VALUE(TEXTOID, PointerGetDatum(request->values)), SQL_INT4(request->most),
					 SQL_BOOL(request->exact),
					 SQL_VALUE(dyn_key_column_type(request->table->keys[0].type), request->hash)});
	for (uint64 i = 0; i < SPI_processed; i++)
		take_answer(s, i);
	SPI_finish();
	AtEOXact_GUC(false, nest);
}

/*
 * Raises an error unless the entries of all shards are there, and the owner's; also if code of the
 * owner on them would find temporary tables, where the owner's role reads them.
 */
static void
check_entries(const StoreSearch *request, bool hides)
{
	Relation entries = try_relation_open(request->vector->relid, AccessShareLock);

	if (entries == NULL)
		dyn_vector_fail_dropped(request->table, request->vector);
	dyn_vector_check_fits(request->table, request->vector, entries);
	if (hides)
		rights_check_temporary(entries);
	relation_close(entries, NoLock);
}

/*
 * Has Citus ask the shards.  What is found among the entries of each shard is sorted here, as it is
 * there.  The caller's role samples the items: a transaction in which it has written may not use
 * another one.  Where policies would hide rows of that sample, the owner's role samples the
 * entries.
 */
static int
search_shards(StoreSearch *request, StoreFound **found)
{
	const DynTable *table = request->table;
	bool hides =
		table->row_security && check_enable_rls(table->relid, InvalidOid, true) == RLS_ENABLED;
	Search s = {.request = request,
				.context = CurrentMemoryContext,
				.found = palloc(request->most * sizeof(StoreFound))};
	RightsBefore before;

	check_entries(request, hides);
	if (hides)
		rights_take(rights_owner(table->relid), 0, &before);
	ask_shards(&s, shards_sql(request, hides));
	if (hides)
		rights_give_back(&before);
	sort_found(&s);
	request->approximate = request->vector->spec->method == DYN_SEARCH_HNSW && !request->exact;
	*found = s.found;
	return s.nfound;
}

/* Returns a vector of the dimensions of an index. */
PgVector *
store_vector_query(const DynVectorSpec *spec, const ArrayType *array)
{
	PgVector *query = pgvector_new((int) spec->dimensions);

	if (ARR_NDIM(array) != 1 || ARR_HASNULL(array) || ARR_ELEMTYPE(array) != FLOAT4OID ||
		ARR_DIMS(array)[0] != query->dimensions)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the vector must have %d dimensions", query->dimensions)));
	memcpy(query->values, ARR_DATA_PTR(array), query->dimensions * sizeof(float));
	return query;
}

static PGFunction
distance_function(const DynVectorSpec *spec)
{
	static const PgvectorSymbol distances[] = {[DYN_DISTANCE_COSINE] = PGVECTOR_COSINE,
											   [DYN_DISTANCE_EUCLIDEAN] = PGVECTOR_L2,
											   [DYN_DISTANCE_DOT_PRODUCT] = PGVECTOR_INNER_PRODUCT};

	return pgvector_symbol(distances[spec->distance]);
}

/* Holds what a statement needs to know of the index, and what is searched for. */
typedef struct Distance
{
	DynVector vector;
	const PgVector *query;
} Distance;

static Distance *
make_distance(FunctionCallInfo fcinfo)
{
	MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	const DynVectorSpec *spec = dyn_vector_spec_parse(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	Distance *distance = palloc0(sizeof(Distance));

	dyn_vector_set(&(DynTable){0}, spec, &distance->vector);
	distance->query = store_vector_query(spec, PG_GETARG_ARRAYTYPE_P(2));
	MemoryContextSwitchTo(old);
	return distance;
}

/* vector_distance(item, definition, vector) returns pgvector's distance of an item from a vector. */
PG_FUNCTION_INFO_V1(dyn_vector_distance);
Datum
dyn_vector_distance(PG_FUNCTION_ARGS)
{
	Distance *distance = fcinfo->flinfo->fn_extra;
	PgVector *vector;

	if (distance == NULL)
		distance = fcinfo->flinfo->fn_extra = make_distance(fcinfo);
	vector = dyn_vector_value(&distance->vector, PG_GETARG_DYN_ITEM(0));
	if (vector == NULL)
		PG_RETURN_NULL();
	return DirectFunctionCall2(distance_function(distance->vector.spec), PointerGetDatum(vector),
							   PointerGetDatum(distance->query));
}

/*
 * Tells serializable transactions that all items of the table are read: which ones are nearest
 * depends on all.  PostgreSQL takes rows of a materialized view, as the entries are, for rows that
 * nobody writes.
 */
static void
count_as_read(const DynTable *table)
{
	Relation rel = table_open(table->relid, NoLock);

	PredicateLockRelation(rel, GetActiveSnapshot());
	table_close(rel, NoLock);
}

static void
search_begin(Search *s, const StoreSearch *request)
{
	*s = (Search){.request = request, .context = CurrentMemoryContext};
	s->entries = try_relation_open(request->vector->relid, AccessShareLock);
	if (s->entries == NULL)
		dyn_vector_fail_dropped(request->table, request->vector);
	dyn_vector_check_fits(request->table, request->vector, s->entries);
	count_as_read(request->table);
	s->slot = table_slot_create(s->entries, NULL);
	s->distance = distance_function(request->vector->spec);
	s->call = palloc0(SizeForFunctionCallInfo(2));
	InitFunctionCallInfoData(*s->call, NULL, 2, InvalidOid, NULL, NULL);
	s->call->args[1].value = PointerGetDatum(request->query);
	s->row = AllocSetContextCreate(CurrentMemoryContext, "entry of a vector index",
								   ALLOCSET_SMALL_SIZES);
	s->found = palloc(request->most * sizeof(StoreFound));
}

/* Finds the nearest entries; what is returned is in the current memory context. */
int
store_search(StoreSearch *request, StoreFound **found)
{
	Search s;
	Oid index;

	if (request->table->distributed)
		return search_shards(request, found);
	search_begin(&s, request);
	index = choose_hnsw(&s);
	request->approximate = OidIsValid(index) && search_by_hnsw(&s, index);
	if (!request->approximate)
	{
		s.nfound = 0;
		search_exactly(&s);
	}
	sort_found(&s);
	ExecDropSingleTupleTableSlot(s.slot);
	relation_close(s.entries, NoLock);
	MemoryContextDelete(s.row);
	*found = s.found;
	return s.nfound;
}
