/*
 * query.c
 *	  Query: a contiguous stretch of one item collection.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "errors.h"

/* The terms of a key condition by the key that they are about. */
static void
match_terms(const DynTable *table, const ExprKeyCondition *condition,
			const ExprKeyTerm *terms[DYN_MAX_KEYS])
{
	for (int i = 0; i < condition->nterms; i++)
	{
		const ExprKeyTerm *term = &condition->terms[i];
		StringInfoData name;
		int key = 0;

		while (key < table->nkeys &&
			   item_compare_bytes(table->keys[key].attribute, term->attribute) != 0)
			key++;
		if (key < table->nkeys)
		{
			terms[key] = term;
			continue;
		}
		initStringInfo(&name);
		item_quote(&name, term->attribute);
		ereport(
			ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("invalid KeyConditionExpression: \"%s\" is not a key attribute of table \"%s\"",
					name.data, table->name)));
	}
}

static void
check_terms(const DynTable *table, const ExprKeyTerm *const terms[DYN_MAX_KEYS])
{
	StringInfoData name;

	for (int i = 0; i < table->nkeys; i++)
	{
		if (terms[i] == NULL)
			continue;
		dyn_key_check(&table->keys[i], i == 0, terms[i]->value[0]);
		if (terms[i]->op == EXPR_KEY_BETWEEN)
			dyn_key_check(&table->keys[i], i == 0, terms[i]->value[1]);
	}
	if (terms[0] != NULL && terms[0]->op == EXPR_KEY_EQ)
		return;
	initStringInfo(&name);
	item_quote(&name, table->keys[0].attribute);
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid KeyConditionExpression: it must require the partition key "
						   "\"%s\" to equal a value",
						   name.data)));
}

/* A bound as an attribute value, so that it can be compared with a start key. */
typedef struct Bound
{
	bool given;
	bool inclusive;
	ItemSpan value; /* payload */
	bool prefix; /* the upper end of all that begin with value */
} Bound;

typedef struct Bounds
{
	Bound lower;
	Bound upper;
} Bounds;

static void
set_bound(Bound *bound, ItemSpan value, bool inclusive)
{
	bound->given = true;
	bound->inclusive = inclusive;
	bound->value = item_payload(value);
}

static void
bounds_of_term(const ExprKeyTerm *term, Bounds *bounds)
{
	switch (term->op)
	{
		case EXPR_KEY_EQ:
			set_bound(&bounds->lower, term->value[0], true);
			set_bound(&bounds->upper, term->value[0], true);
			break;
		case EXPR_KEY_LT:
		case EXPR_KEY_LE:
			set_bound(&bounds->upper, term->value[0], term->op == EXPR_KEY_LE);
			break;
		case EXPR_KEY_GT:
		case EXPR_KEY_GE:
			set_bound(&bounds->lower, term->value[0], term->op == EXPR_KEY_GE);
			break;
		case EXPR_KEY_BETWEEN:
			set_bound(&bounds->lower, term->value[0], true);
			set_bound(&bounds->upper, term->value[1], true);
			break;
		case EXPR_KEY_BEGINS_WITH:
			set_bound(&bounds->lower, term->value[0], true);
			set_bound(&bounds->upper, term->value[0], false);
			bounds->upper.prefix = true;
			break;
	}
}

/* Whether a value lies above the upper bound; with a prefix: above all that begin with it. */
static bool
above(ItemType type, const Bound *upper, ItemSpan value)
{
	if (upper->prefix)
		value.len = Min(value.len, upper->value.len);
	return dyn_key_compare(type, value, upper->value) > 0;
}

/*
 * Continue after the sort key of the start key: it becomes the bound at the end where reading
 * begins, unless that bound is further on already.
 */
static void
start_after(ItemType type, Bounds *bounds, ItemSpan start, bool forward)
{
	Bound *bound = forward ? &bounds->lower : &bounds->upper;

	if (bound->given)
	{
		if (forward && dyn_key_compare(type, start, bound->value) < 0)
			return;
		if (!forward && above(type, bound, start))
			return;
	}
	*bound = (Bound){true, false, start, false};
}

static StoreBound
store_bound(ItemType type, const Bound *bound)
{
	StoreBound result = {bound->given, bound->inclusive, (Datum) 0};

	if (bound->prefix)
		result.given = dyn_key_prefix_end(type, bound->value, &result.value);
	else if (bound->given)
		result.value = dyn_key_datum(type, bound->value);
	return result;
}

/* Where to begin, checked: a full key in the collection that is read. */
static ItemSpan
check_start_key(const DynTable *table, const DynItem *start_key, ItemSpan partition)
{
	DynKeyValues ignored;

	dyn_key_exact(table, &table->primary, start_key, &ignored);
	if (dyn_key_compare(table->keys[0].type,
						item_payload(dyn_key_attribute(table, &table->primary, start_key, 0)),
						partition) != 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the start key has another partition key than the key condition")));
	if (table->nkeys == 1)
		return (ItemSpan){NULL, 0};
	return item_payload(dyn_key_attribute(table, &table->primary, start_key, 1));
}

typedef struct QueryState
{
	const Expr *filter;
	const Expr *projection;
	MemoryContext context; /* for the work on one item */
	ResultCallback callback;
	void *arg;
	int64 left; /* items that may still be returned; below 0: any number */
} QueryState;

static bool
receive_item(Datum datum, void *arg)
{
	QueryState *state = arg;
	MemoryContext old = MemoryContextSwitchTo(state->context);
	bool matches = true;

	if (state->filter != NULL || state->projection != NULL)
	{
		DynItem *item = DatumGetDynItem(datum);

		matches = state->filter == NULL || expr_matches(state->filter, item);
		if (matches && state->projection != NULL)
			item = expr_project(state->projection, item);
		datum = PointerGetDatum(item);
	}
	if (matches)
	{
		state->callback(datum, state->arg);
		state->left--;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->context);
	return state->left != 0;
}

static void
read_range(DynTable *table, const QueryRequest *request, ItemSpan partition, const Bounds *bounds,
		   QueryState *state)
{
	StoreRange range = {0};

	range.forward = request->forward;
	range.partition = dyn_key_datum(table->keys[0].type, partition);
	range.lower = store_bound(table->keys[1].type, &bounds->lower);
	range.upper = store_bound(table->keys[1].type, &bounds->upper);
	state->context = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table query item",
										   ALLOCSET_DEFAULT_SIZES);
	store_begin();
	store_range(table, &range, receive_item, state);
	store_end();
	MemoryContextDelete(state->context);
}

/* Everything is checked before anything is read. */
void
action_query(const QueryRequest *request, ResultCallback callback, void *arg)
{
	const ExprKeyCondition *condition =
		expr_key_condition(request->expressions, action_span(request->key_condition));
	const ExprKeyTerm *terms[DYN_MAX_KEYS] = {NULL};
	QueryState state = {
		.callback = callback, .arg = arg, .left = request->max_items > 0 ? request->max_items : -1};
	Bounds bounds = {0};
	DynTable *table;
	Relation rel;
	ItemSpan partition;
	bool ended = false;

	if (request->filter != NULL)
		state.filter =
			expr_condition(request->expressions, EXPR_FILTER, action_span(request->filter));
	if (request->projection != NULL)
		state.projection = expr_projection(request->expressions, action_span(request->projection));
	expr_request_done(request->expressions);
	rel = dyn_table_open(request->table, AccessShareLock, &table);
	match_terms(table, condition, terms);
	check_terms(table, terms);
	/* Spec row F03: what the key condition decides is none of the filter's business. */
	if (state.filter != NULL)
		action_forbid_keys(table, state.filter, "FilterExpression",
						   "Conditions on keys belong into the key condition.");
	partition = item_payload(terms[0]->value[0]);
	if (terms[1] != NULL)
		bounds_of_term(terms[1], &bounds);
	if (request->start_key != NULL)
	{
		ItemSpan start = check_start_key(table, request->start_key, partition);

		ended = table->nkeys == 1;
		if (!ended)
			start_after(table->keys[1].type, &bounds, start, request->forward);
	}
	if (!ended)
		read_range(table, request, partition, &bounds, &state);
	relation_close(rel, NoLock);
}
