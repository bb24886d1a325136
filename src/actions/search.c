/*
 * search.c
 *	  SearchVectors: the items of a vector index whose vectors are nearest to one.
 *
 * The store finds keys by the entries of the index, and the items are read as any are, with the
 * rights of the caller.  An item that policies hide, or that has expired, is no result; then more
 * are asked for, until there are as many as are wanted, or no more.  So nothing is hidden after the
 * cut.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "actions/authorize.h"
#include "actions/search.h"
#include "catalog/definition/vector_spec.h"
#include "catalog/expiry.h"
#include "catalog/rights.h"
#include "server/errors.h"
#include "store/range.h"
#include "store/vector.h"

/* How many times as many results are asked for where some may be hidden, and then where they were. */
#define HIDDEN_FOUND 4
#define MORE_FOUND 8

typedef struct SearchCall
{
	const SearchRequest *request;
	SearchCallback callback;
	void *arg;
	const DynTable **result_table;
	OperationTable *counted;
	FrontCall call;
	DynVector *vector;
	const Expr *condition;
	const Expr *projection;
	StoreClearance clearance;
	StoreSearch search;
	MemoryContext context; /* of the results */
	int taken;
	DynItem *items[SEARCH_LARGEST_TOP_K];
	float scores[SEARCH_LARGEST_TOP_K];
} SearchCall;

#define fail_search(words, ...) \
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg(__VA_ARGS__), errwords("%s", words)))

static void
check_top_k(const SearchRequest *request)
{
	if (request->top_k < 1 || request->top_k > SEARCH_LARGEST_TOP_K)
		fail_search(psprintf("Provided TopK value '" INT64_FORMAT "' is out of valid range. The "
							 "value must be between 1 and %d inclusive",
							 request->top_k, SEARCH_LARGEST_TOP_K),
					"top_k must be between 1 and %d", SEARCH_LARGEST_TOP_K);
}

/* Raises an error unless the caller may read the table, also if nothing is found. */
static void
check_rights(Relation rel)
{
	if (!rights_to_read(RelationGetRelid(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, RelationGetRelationName(rel));
}

static void
find_index(SearchCall *s)
{
	ItemSpan name = text_span(s->request->index);
	const DynTable *table = s->call.table;

	s->vector = dyn_find_vector(table, name);
	if (s->vector == NULL)
		dyn_fail_no_index(
			table, name, ERRCODE_DYN_VALIDATION,
			psprintf("The table does not have the specified index: %s", item_quoted_words(name)));
	if (!dyn_vector_is_built(s->vector))
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("vector index \"%s\" of table \"%s\" cannot be searched", item_quoted(name),
					table->name),
			 errdetail("Its status is CREATING."),
			 errhint("Wait until it is built, or call dyn_create_vector_index again if that was "
					 "interrupted."),
			 errwords("Cannot search backfilling vector index: %s", item_quoted_words(name))));
	if (!dyn_vector_is_shown(s->vector, GetActiveSnapshot()))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("vector index \"%s\" of table \"%s\" was built after the snapshot of "
						"this transaction",
						item_quoted(name), table->name)));
}

static void
set_query(SearchCall *s)
{
	const SearchRequest *request = s->request;
	PgVector *query;

	if (request->values == NULL)
		fail_search("Search vector contains invalid values. All values in the search vector must "
					"be a 32-bit floating-point number attribute",
					"the vector has an element that is not a number of 32-bit floating point");
	if (request->nvalues != s->vector->spec->dimensions)
		fail_search(psprintf("Input search vector dimension %d does not match vector index "
							 "dimension " INT64_FORMAT,
							 request->nvalues, s->vector->spec->dimensions),
					"the vector has %d dimensions, and index \"%s\" " INT64_FORMAT,
					request->nvalues, item_quoted(s->vector->index.name),
					s->vector->spec->dimensions);
	query = pgvector_new(request->nvalues);
	memcpy(query->values, request->values, request->nvalues * sizeof(float));
	s->search.query = query;
}

static bool
is_in_schema(const DynVector *vector, ItemSpan attribute)
{
	for (int i = 0; i < vector->nschema; i++)
	{
		if (item_compare_bytes(vector->schema[i].attribute, attribute) == 0)
			return true;
	}
	return false;
}

static bool
accepts(const DynItem *attributes, void *arg)
{
	return expr_matches(arg, attributes);
}

/* Sets the hash key that the condition requires. */
static void
set_hash(StoreSearch *search, const Expr *condition)
{
	const DynVector *vector = search->vector;
	const DynKey *hash = vector->index.hash;
	bool alone;
	ItemSpan value;

	if (hash == NULL)
		return;
	if (condition == NULL)
		fail_search(
			"SearchConditionExpression must be provided when SearchSchema has a HASH key",
			"index \"%s\" has a hash key, which the condition must require to equal a value",
			item_quoted(vector->index.name));
	if (!expr_requires(condition, hash->attribute, &value, &alone))
		fail_search("SearchConditionExpression must have all HASH attributes",
					"the condition must require the hash key \"%s\" to equal a value",
					item_quoted(hash->attribute));
	dyn_key_check(hash, true, value);
	search->hashed = true;
	search->hash = dyn_key_datum(hash->type, item_payload(value));
	if (alone)
		search->accepts = NULL;
}

/* Has a search be for entries that a condition, which may be NULL, lets through. */
void
search_set_condition(StoreSearch *search, const Expr *condition)
{
	const DynVector *vector = search->vector;
	const ItemSpan *attributes;
	int n = 0;

	if (condition != NULL)
	{
		attributes = expr_attributes(condition, &n);
		for (int i = 0; i < n; i++)
		{
			if (!is_in_schema(vector, attributes[i]) || expr_looks_into(condition, attributes[i]))
				fail_search(
					psprintf("SearchConditionExpression must not contain any attributes that "
							 "is not in SearchSchema. Invalid attribute: %s",
							 item_quoted_words(attributes[i])),
					"attribute \"%s\" is neither the hash key nor a filter of index \"%s\"",
					item_quoted(attributes[i]), item_quoted(vector->index.name));
		}
		search->accepts = accepts;
		search->arg = (void *) condition;
	}
	set_hash(search, condition);
}

/* Sets by what the nodes of shards are asked. */
static void
set_asked(StoreSearch *search, const SearchRequest *request)
{
	StringInfoData values;

	initStringInfo(&values);
	if (request->expression_values == NULL)
		appendStringInfoString(&values, "{}");
	else
		item_print_attributes(&values, item_root(request->expression_values));
	search->condition = request->condition != NULL ? request->condition : cstring_to_text("");
	search->names = request->names != NULL
						? request->names
						: DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
	search->values = cstring_to_text_with_len(values.data, values.len);
}

static void
search_open(SearchCall *s)
{
	const SearchRequest *request = s->request;

	check_top_k(request);
	if (request->condition != NULL)
		s->condition = expr_condition(request->expressions, EXPR_SEARCH_CONDITION,
									  text_span(request->condition));
	if (request->projection != NULL)
		s->projection = expr_projection(request->expressions, text_span(request->projection));
	expr_request_done(request->expressions);
	action_open(NULL, request->table, AccessShareLock, &s->call);
	*s->result_table = s->call.table;
	check_rights(s->call.rel);
	find_index(s);
	operation_opened(s->counted, s->call.rel, s->vector->index.name);
	set_query(s);
	s->search.table = s->call.table;
	s->search.vector = s->vector;
	search_set_condition(&s->search, s->condition);
	if (s->call.table->distributed)
		set_asked(&s->search, request);
	authorize(s->call.table, &s->vector->index, s->search.hashed ? ACTION_QUERY : ACTION_SCAN,
			  s->search.hashed ? 1 : 0, &s->search.hash, &s->clearance);
}

static DynItem *
returned_item(const SearchCall *s, const DynItem *item)
{
	DynItem *part = dyn_vector_part(s->call.table, s->vector, item, s->projection != NULL);

	return s->projection == NULL ? part : expr_project(s->projection, part);
}

/* Keeps a result, unless its item is hidden. */
static void
take(SearchCall *s, const DynItem *item, float score)
{
	DynTable *table = s->call.table;
	MemoryContext row = CurrentMemoryContext;

	if (item == NULL)
		return;
	s->counted->read++;
	/* the item is the truth, whatever its entry says: grants cover it by its hash key */
	if ((s->condition != NULL && !expr_matches(s->condition, item)) ||
		(expiry_hides(table) && expiry_has_passed(table, item)))
		return;
	MemoryContextSwitchTo(s->context);
	s->items[s->taken] = returned_item(s, item);
	s->scores[s->taken++] = score;
	MemoryContextSwitchTo(row);
}

/* Fetches the items of what was found where that is better than to read each when its turn comes. */
static StoreFetched *
fetch(const SearchCall *s, const StoreFound *found, int n)
{
	DynTable *table = s->call.table;
	StoreFetched *fetched = palloc0(n * sizeof(StoreFetched));
	DynKeyValues *keys = palloc(n * sizeof(DynKeyValues));

	for (int i = 0; i < n; i++)
	{
		keys[i].nkeys = table->nkeys;
		memcpy(keys[i].values, found[i].key, table->nkeys * sizeof(Datum));
		fetched[i].key = &keys[i];
		if (table->distributed)
			fetched[i].given = store_range_item(table, &table->primary, keys[i].values);
	}
	store_fetch(table, n, fetched, NULL);
	return fetched;
}

/* Keeps the results of what was found, from one on, as far as they are wanted. */
static void
take_all(SearchCall *s, const StoreFound *found, int from, int n)
{
	MemoryContext row =
		AllocSetContextCreate(CurrentMemoryContext, "found items", ALLOCSET_DEFAULT_SIZES);
	StoreReader *reader = store_reader();

	while (from < n && s->taken < s->request->top_k)
	{
		int next = Min(n - from, (int) s->request->top_k - s->taken);
		MemoryContext old = MemoryContextSwitchTo(row);
		StoreFetched *fetched = fetch(s, found + from, next);

		for (int i = 0; i < next; i++, from++)
		{
			CHECK_FOR_INTERRUPTS();
			take(s,
				 fetched[i].known ? fetched[i].item
								  : store_read(reader, s->call.table, fetched[i].key, NULL),
				 found[from].score);
		}
		MemoryContextSwitchTo(old);
		MemoryContextReset(row);
	}
	store_reader_close(reader);
	MemoryContextDelete(row);
}

/* Returns whether there may be items that the caller does not see. */
static bool
hides(const SearchCall *s)
{
	const DynTable *table = s->call.table;

	return expiry_hides(table) || (table->row_security && !OidIsValid(s->clearance.relid) &&
								   check_enable_rls(table->relid, InvalidOid, true) == RLS_ENABLED);
}

/*
 * Finds results until there are as many as are wanted, or no more.  Where an approximate search has
 * not found enough, its results are dropped: those of the exact search that follows are in another
 * order.
 */
static void
find_all(SearchCall *s)
{
	int from = 0;
	int n;

	s->search.most = (int) s->request->top_k * (hides(s) ? HIDDEN_FOUND : 1);
	for (;;)
	{
		StoreFound *found;

		n = store_search(&s->search, &found);
		take_all(s, found, from, n);
		if (s->taken == s->request->top_k || n < s->search.most)
			return;
		from = s->search.approximate ? 0 : n;
		if (s->search.approximate)
			s->taken = s->counted->read = 0;
		s->search.exact = true;
		s->search.most = (int) Min((int64) n * MORE_FOUND, MaxAllocSize / sizeof(StoreFound));
		if (s->search.most <= n)
			return;
	}
}

static void
run_search(Operation *operation, void *arg)
{
	SearchCall *s = arg;
	ErrorContextCallback callback;

	s->counted = &operation->table;
	s->context = CurrentMemoryContext;
	search_open(s);
	store_begin_cleared(&callback, &s->clearance);
	find_all(s);
	store_end(&callback);
	s->counted->returned = s->taken;
	for (int i = 0; i < s->taken; i++)
		s->callback(PointerGetDatum(s->items[i]), s->scores[i], s->arg);
	relation_close(s->call.rel, NoLock);
}

/* Calls back for each item that a request returns, the best first. */
void
action_search(const SearchRequest *request, SearchCallback callback, void *arg,
			  const DynTable **table)
{
	Operation operation = {.kind = OPERATION_SEARCH_VECTORS};
	SearchCall call = {.request = request, .callback = callback, .arg = arg, .result_table = table};

	operation_run(&operation, run_search, &call);
}
