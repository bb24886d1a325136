/*
 * query.c
 *	  Query: a contiguous stretch of one collection of the table or of an index.
 */
#include "postgres.h"

#include "actions/read.h"
#include "server/errors.h"

static char *
key_name(const Read *read, int i)
{
	return item_quoted(dyn_index_key(read->table, read->index, i)->attribute);
}

/* Returns whether a key condition has a term on the index's key of that number. */
static bool
has_term(const Read *read, const ExprKeyCondition *condition, int key)
{
	ItemSpan attribute = dyn_index_key(read->table, read->index, key)->attribute;

	for (int i = 0; i < condition->nterms; i++)
	{
		if (item_compare_bytes(condition->terms[i].attribute, attribute) == 0)
			return true;
	}
	return false;
}

/* Returns a hint that lists the index's keys, and which others have the attribute. */
static const char *
no_key_hint(const Read *read, ItemSpan attribute)
{
	const DynTable *table = read->table;
	StringInfoData others;

	initStringInfo(&others);
	if (dyn_index_has_key(table, &table->primary, attribute))
		appendStringInfoString(&others, ", the table");
	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];

		if (index->status == DYN_INDEX_ACTIVE && dyn_index_has_key(table, index, attribute))
			appendStringInfo(&others, ", index \"%s\"", item_quoted(index->name));
	}
	return psprintf("Key attributes are %s. \"%s\" is %s%s.",
					dyn_key_names(table, read->index, read->index->nkeys), item_quoted(attribute),
					others.len > 0 ? "in the key of " : "in no key, and can be in the filter",
					others.len > 0 ? others.data + strlen(", ") : "");
}

/* Returns the name of a key as DynamoDB's words quote it. */
static char *
words_name(const Read *read, int i)
{
	return item_quoted_words(dyn_index_key(read->table, read->index, i)->attribute);
}

/* Returns what DynamoDB says of a key without a condition, or not one by which an index is read. */
static const char *
missed_words(const Read *read, int key)
{
	return psprintf("Query condition missed key schema element: %s", words_name(read, key));
}

#define UNSUPPORTED "Query key condition not supported"

/* Returns what DynamoDB says of a condition on what is no key: that another one is missing. */
static const char *
no_key_words(const Read *read, const ExprKeyCondition *condition)
{
	if (condition->nterms > read->index->nkeys)
		return UNSUPPORTED;
	for (int key = 0; key < read->index->nkeys; key++)
	{
		if (!has_term(read, condition, key))
			return missed_words(read, key);
	}
	return UNSUPPORTED;
}

static void
fail_no_key(const Read *read, const ExprKeyCondition *condition, ItemSpan attribute)
{
	bool of_table = dyn_index_is_table(read->index);

	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("invalid %s: \"%s\" is not a key attribute of %s \"%s\"", condition->parameter,
					item_quoted(attribute), of_table ? "table" : "index",
					of_table ? read->table->name : item_quoted(read->index->name)),
			 errwords("%s", no_key_words(read, condition)),
			 errhint("%s", no_key_hint(read, attribute))));
}

static void
fail_number(const Read *read, const ExprKeyCondition *condition)
{
	int nkeys = read->index->nkeys;

	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid %s: it has %d conditions, and the key has the attributes %s",
						   condition->parameter, condition->nterms,
						   dyn_key_names(read->table, read->index, nkeys)),
					read->request->built.key_condition != NULL
						? errwords("Conditions can be of length 1 or 2 only")
						: errwords("The number of query conditions (%d) exceeds the number of key "
								   "attributes defined in the schema (%d)",
								   condition->nterms, nkeys)));
}

/* Raises the error for a term, or NULL, that does not say what the partition key has to equal. */
static void
fail_partition(const Read *read, const char *parameter, const ExprKeyTerm *term, int key)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid %s: it must require the partition key \"%s\" to equal a value",
						   parameter, key_name(read, key)),
					errwords("%s", term == NULL ? missed_words(read, key) : UNSUPPORTED)));
}

/* Returns what DynamoDB says of a sort key's condition after keys that need not be equal. */
static const char *
unequal_words(const Read *read, const ExprKeyTerm *const *terms, int key)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = read->index->npartition; i < key; i++)
	{
		if (terms[i] == NULL || terms[i]->op != EXPR_KEY_EQ)
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", words_name(read, i));
	}
	return psprintf("RANGE key attributes %s must have equality conditions specified in the query "
					"because a condition is present on key attribute %s",
					names.data, words_name(read, key));
}

/* Raises the error for a key with a condition after one that need not equal anything. */
static void
fail_unequal(const Read *read, const char *parameter, const ExprKeyTerm *const *terms, int unequal,
			 int key)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid %s: it must require \"%s\" to equal a value, since it has a "
						   "condition on \"%s\"",
						   parameter, key_name(read, unequal), key_name(read, key)),
					errwords("%s", unequal_words(read, terms, key))));
}

static StoreBound
query_bound(ItemType type, ItemSpan value, bool inclusive)
{
	return (StoreBound){true, inclusive, dyn_key_datum(type, item_payload(value))};
}

static void
set_bounds(ItemType type, const ExprKeyTerm *term, StoreRange *range)
{
	switch (term->op)
	{
		case EXPR_KEY_EQ:
			Assert(false);
			break;
		case EXPR_KEY_LT:
		case EXPR_KEY_LE:
			range->upper = query_bound(type, term->value[0], term->op == EXPR_KEY_LE);
			break;
		case EXPR_KEY_GT:
		case EXPR_KEY_GE:
			range->lower = query_bound(type, term->value[0], term->op == EXPR_KEY_GE);
			break;
		case EXPR_KEY_BETWEEN:
			range->lower = query_bound(type, term->value[0], true);
			range->upper = query_bound(type, term->value[1], true);
			break;
		case EXPR_KEY_BEGINS_WITH:
			range->lower = query_bound(type, term->value[0], true);
			range->upper.given =
				dyn_key_prefix_end(type, item_payload(term->value[0]), &range->upper.value);
			break;
	}
}

/* Sets the terms of a key condition by the key that they are about. */
static void
match_terms(const Read *read, const ExprKeyCondition *condition, const ExprKeyTerm **terms)
{
	for (int i = 0; i < condition->nterms; i++)
	{
		const ExprKeyTerm *term = &condition->terms[i];
		int key = 0;

		while (key < read->index->nkeys &&
			   item_compare_bytes(dyn_index_key(read->table, read->index, key)->attribute,
								  term->attribute) != 0)
			key++;
		if (key == read->index->nkeys)
			fail_no_key(read, condition, term->attribute);
		terms[key] = term;
	}
}

/* Opens a query.  Everything is checked before anything is read. */
static void
open_query(Read *read, const ReadCall *call, OperationTable *counted, StoreRange *range)
{
	const QueryRequest *request = call->request;
	const ExprKeyCondition *condition = request->read.built.key_condition;
	const ExprKeyTerm *terms[DYN_MAX_INDEX_KEYS] = {NULL};
	const DynIndex *index;
	const Expr *parsed = NULL;

	read_check(&request->read);
	if (request->key_condition != NULL)
		parsed = expr_key_condition(request->read.expressions, text_span(request->key_condition));
	read_begin(read, &request->read, call, counted);
	if (parsed != NULL)
		condition = expr_key_terms(parsed);
	read_open(read);
	read_forbid_unprojected(read);
	index = read->index;

	/*
	 * Three or more conditions that are more than the key has attributes are refused at once, other
	 * ones by what they are about: so are two on a key of one attribute (docs/semantics.md, SV09).
	 */
	if (condition->nterms > Max(index->nkeys, 2))
		fail_number(read, condition);
	match_terms(read, condition, terms);
	for (int i = 0; i < index->nkeys; i++)
	{
		const DynKey *key = dyn_index_key(read->table, index, i);
		bool partition = i < index->npartition;

		if (terms[i] != NULL)
			dyn_key_check(key, partition, terms[i]->value[0]);
		if (terms[i] != NULL && terms[i]->op == EXPR_KEY_BETWEEN)
			dyn_key_check(key, partition, terms[i]->value[1]);
	}

	/*
	 * Equality on the whole partition key, and then on sort key attributes from the first on; the
	 * one after them may have another condition.  Everything else is no stretch of an index.
	 */
	*range = (StoreRange){.index = index, .forward = request->forward};
	read_set_range(read, range);
	for (int i = 0; i < index->nkeys && terms[i] != NULL && terms[i]->op == EXPR_KEY_EQ; i++)
		range->equal[range->nequal++] = dyn_key_datum(dyn_index_key(read->table, index, i)->type,
													  item_payload(terms[i]->value[0]));
	if (range->nequal < index->npartition)
		fail_partition(read, condition->parameter, terms[range->nequal], range->nequal);
	for (int i = range->nequal + 1; i < index->nkeys; i++)
	{
		if (terms[i] != NULL)
			fail_unequal(read, condition->parameter, terms, range->nequal, i);
	}
	if (range->nequal < index->nkeys && terms[range->nequal] != NULL)
		set_bounds(dyn_index_key(read->table, index, range->nequal)->type, terms[range->nequal],
				   range);

	/* keys are for the key condition, and not for the filter (docs/semantics.md, F03) */
	if (read->filter != NULL)
		action_forbid_keys(read->table, index, read->filter,
						   "Conditions on keys belong into the key condition.");
	read_check_paths(read);
}

static void
run_query(Operation *operation, void *arg)
{
	StoreRange range;
	Read read;

	open_query(&read, arg, &operation->table, &range);
	read_authorize(&read, ACTION_QUERY, 1, &range);
	read_start(&read, &range);
	read_range(&read, &range);
	read_tell_meter(&read);
	read_close(&read);
}

/*
 * Runs a Query: calls callback for each item that it returns, in the order that the request asks
 * for, and fills in *result, whose last key is allocated in the current memory context.  The
 * callback is not called if only the count is selected.  The request is checked before anything is
 * read.
 */
void
action_query(const QueryRequest *request, ResultCallback callback, void *arg, ReadResult *result)
{
	Operation operation = {.kind = OPERATION_QUERY};
	ReadCall call = {request, callback, arg, result, 0};

	operation_run(&operation, run_query, &call);
}

/* Raises an error for what is wrong with a request, without reading. */
void
action_check_query(const QueryRequest *request)
{
	ReadResult result;
	StoreRange range;
	Read read;

	open_query(&read, &(ReadCall){.request = request, .result = &result}, NULL, &range);
	read_close(&read);
}
