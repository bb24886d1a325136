/*
 * search.c
 *	  SearchVectors: the items of a vector index whose vectors are nearest to one.
 *
 * The store finds keys by the entries of the index, and the items are read as any are, with the rights
 * of the caller.  An item that policies hide, or that has expired, is no result; then more are asked
 * for, until there are as many as are wanted, or no more.  So nothing is hidden after the cut.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/acl.h"
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
set_hash(SearchCall *s)
{
	const DynKey *hash = s->vector->index.hash;
	bool alone;
	ItemSpan value;

	if (hash == NULL)
		return;
	if (s->condition == NULL)
		fail_search(
			"SearchConditionExpression must be provided when SearchSchema has a HASH key",
			"index \"%s\" has a hash key, which the condition must require to equal a value",
			item_quoted(s->vector->index.name));
	if (!expr_requires(s->condition, hash->attribute, &value, &alone))
		fail_search("SearchConditionExpression must have all HASH attributes",
					"the condition must require the hash key \"%s\" to equal a value",
					item_quoted(hash->attribute));
	dyn_key_check(hash, true, value);
	s->search.hashed = true;
	s->search.hash = dyn_key_datum(hash->type, item_payload(value));
	if (alone)
		s->search.accepts = NULL;
}

static void
set_condition(SearchCall *s)
{
	const ItemSpan *attributes;
	int n = 0;

	if (s->condition != NULL)
	{
		attributes = expr_attributes(s->condition, &n);
		for (int i = 0; i < n; i++)
		{
			if (!is_in_schema(s->vector, attributes[i]) ||
				expr_looks_into(s->condition, attributes[i]))
				fail_search(
					psprintf("SearchConditionExpression must not contain any attributes that "
							 "is not in SearchSchema. Invalid attribute: %s",
							 item_quoted_words(attributes[i])),
					"attribute \"%s\" is neither the hash key nor a filter of index \"%s\"",
					item_quoted(attributes[i]), item_quoted(s->vector->index.name));
		}
		s->search.accepts = accepts;
		s->search.arg = (void *) s->condition;
	}
	set_hash(s);
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
	set_condition(s);
	authorize(s->call.table, &s->vector->index, s->search.hashed ? ACTION_QUERY : ACTION_SCAN,
			  s->search.hashed ? 1 : 0, &s->search.hash, &s->clearance);
	s->search.table = s->call.table;
	s->search.vector = s->vector;
}

static DynItem *
returned_item(const SearchCall *s, const DynItem *item)
{
	DynItem *part = dyn_vector_part(s->call.table, s->vector, item, s->projection != NULL);

	return s->projection == NULL ? part : expr_project(s->projection, part);
}

/* Keeps a result, unless its item is hidden. */
static void
take(SearchCall *s, StoreReader *reader, const StoreFound *found)
{
	DynTable *table = s->call.table;
	DynKeyValues key = {table->nkeys};
	MemoryContext row = CurrentMemoryContext;
	DynItem *item;

	CHECK_FOR_INTERRUPTS();
	memcpy(key.values, found->key, table->nkeys * sizeof(Datum));
	item = store_read(reader, table, &key, NULL);
	if (item == NULL)
		return;
	s->counted->read++;
	/* the item is the truth, whatever its entry says: grants cover it by its hash key */
	if ((s->condition != NULL && !expr_matches(s->condition, item)) ||
		(expiry_hides(table) && expiry_has_passed(table, item)))
		return;
	MemoryContextSwitchTo(s->context);
	s->items[s->taken] = returned_item(s, item);
	s->scores[s->taken++] = found->score;
	MemoryContextSwitchTo(row);
}

/* Keeps the results of what was found, from one on, as far as they are wanted. */
static void
take_all(SearchCall *s, const StoreFound *found, int from, int n)
{
	MemoryContext row =
		AllocSetContextCreate(CurrentMemoryContext, "found item", ALLOCSET_DEFAULT_SIZES);
	StoreReader *reader = store_reader();

	for (int i = from; i < n && s->taken < s->request->top_k; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(row);

		take(s, reader, &found[i]);
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
 * Finds results until there are as many as are wanted, or no more.  What an approximate index has found
 * is dropped where it was not enough: what comes next is in another order.
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
