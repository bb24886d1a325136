/*
 * query.c
 *	  Query: a contiguous stretch of one collection of the table or of an index.
 */
#include "postgres.h"

#include "actions/read.h"
#include "server/errors.h"

typedef const ExprKeyTerm *Terms[DYN_MAX_INDEX_KEYS];

static char *
key_name(const Read *read, int i)
{
	return item_quoted(dyn_index_key(read->table, read->index, i)->attribute);
}

/* Whether a key condition has a term on the index's key of that number. */
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

/* The keys that there are, and which others have the attribute. */
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

/* The same in DynamoDB's words. */
static char *
words_name(const Read *read, int i)
{
	return item_quoted_words(dyn_index_key(read->table, read->index, i)->attribute);
}

/* What DynamoDB says of a key that has no condition, or not one by which an index is read. */
static const char *
missed_words(const Read *read, int key)
{
	return psprintf("Query condition missed key schema element: %s", words_name(read, key));
}

#define UNSUPPORTED "Query key condition not supported"

/* ...and of a condition on what is no key: that another condition is missing. */
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

/*
 * More conditions than any key has are refused at once, other ones by what they are about.  Two on a key
 * of one attribute are of the latter, as before there were keys of several (docs/semantics.md, SV09).
 */
static void
check_number(const Read *read, const ExprKeyCondition *condition)
{
	int nkeys = read->index->nkeys;

	if (condition->nterms <= Max(nkeys, 2))
		return;
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

/* The terms of a key condition by the key that they are about. */
static void
match_terms(const Read *read, const ExprKeyCondition *condition, Terms terms)
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

static void
check_values(const Read *read, const Terms terms)
{
	for (int i = 0; i < read->index->nkeys; i++)
	{
		const DynKey *key = dyn_index_key(read->table, read->index, i);
		bool partition = i < read->index->npartition;

		if (terms[i] == NULL)
			continue;
		dyn_key_check(key, partition, terms[i]->value[0]);
		if (terms[i]->op == EXPR_KEY_BETWEEN)
			dyn_key_check(key, partition, terms[i]->value[1]);
	}
}

/* What DynamoDB says of those before a sort key attribute with a condition that need not be equal. */
static const char *
unequal_words(const Read *read, const Terms terms, int key)
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

/*
 * Equality on the whole partition key, and then on sort key attributes from the first on; the one
 * after them may have another condition.  Everything else is no stretch of an index.
 */
static void
check_terms(const Read *read, const ExprKeyCondition *condition, const Terms terms)
{
	const DynIndex *index = read->index;
	int equal = 0;

	while (equal < index->nkeys && terms[equal] != NULL && terms[equal]->op == EXPR_KEY_EQ)
		equal++;
	if (equal < index->npartition)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("invalid %s: it must require the partition key \"%s\" to equal a value",
						condition->parameter, key_name(read, equal)),
				 errwords("%s", terms[equal] == NULL ? missed_words(read, equal) : UNSUPPORTED)));
	for (int i = equal + 1; i < index->nkeys; i++)
	{
		if (terms[i] != NULL)
			ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
							errmsg("invalid %s: it must require \"%s\" to equal a value, since it "
								   "has a condition on \"%s\"",
								   condition->parameter, key_name(read, equal), key_name(read, i)),
							errwords("%s", unequal_words(read, terms, i))));
	}
}

static StoreBound
bound(ItemType type, ItemSpan value, bool inclusive)
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
			range->upper = bound(type, term->value[0], term->op == EXPR_KEY_LE);
			break;
		case EXPR_KEY_GT:
		case EXPR_KEY_GE:
			range->lower = bound(type, term->value[0], term->op == EXPR_KEY_GE);
			break;
		case EXPR_KEY_BETWEEN:
			range->lower = bound(type, term->value[0], true);
			range->upper = bound(type, term->value[1], true);
			break;
		case EXPR_KEY_BEGINS_WITH:
			range->lower = bound(type, term->value[0], true);
			range->upper.given =
				dyn_key_prefix_end(type, item_payload(term->value[0]), &range->upper.value);
			break;
	}
}

static void
set_range(const Read *read, const Terms terms, StoreRange *range)
{
	for (int i = 0; i < read->index->nkeys && terms[i] != NULL; i++)
	{
		ItemType type = dyn_index_key(read->table, read->index, i)->type;

		if (terms[i]->op == EXPR_KEY_EQ)
			range->equal[range->nequal++] = dyn_key_datum(type, item_payload(terms[i]->value[0]));
		else
			set_bounds(type, terms[i], range);
	}
}

/* Everything is checked before anything is read. */
static void
open_query(Read *read, const QueryRequest *request, ResultCallback callback, void *arg,
		   ReadResult *result, OperationTable *counted, Terms terms)
{
	const ExprKeyCondition *condition = request->read.built.key_condition;

	read_check(&request->read);
	if (request->key_condition != NULL)
		condition =
			expr_key_condition(request->read.expressions, text_span(request->key_condition));
	read_open(read, &request->read, callback, arg, result, counted);
	read_forbid_unprojected(read);
	check_number(read, condition);
	match_terms(read, condition, terms);
	check_values(read, terms);
	check_terms(read, condition, terms);
	/* keys are for the key condition, and not for the filter (docs/semantics.md, F03) */
	if (read->filter != NULL)
		action_forbid_keys(read->table, read->index, read->filter,
						   "Conditions on keys belong into the key condition.");
}

static void
run_query(Operation *operation, void *arg)
{
	const ReadCall *call = arg;
	const QueryRequest *request = call->request;
	Terms terms = {NULL};
	StoreRange range = {0};
	Read read;

	open_query(&read, request, call->callback, call->arg, call->result, &operation->table, terms);
	range.index = read.index;
	range.want = read_want(&read);
	range.forward = request->forward;
	range.likely = read_likely(&read);
	range.site = read.call.site;
	set_range(&read, terms, &range);
	read_start(&read, &range);
	read_range(&read, &range);
	read_tell_meter(&read);
	read_close(&read);
}

/*
 * Run a Query: call callback for each item that it returns, in the order that the request asks for,
 * and fill in *result, whose last key is allocated in the current memory context.  The callback is
 * not called if only the count is selected.  The request is checked before anything is read.
 */
void
action_query(const QueryRequest *request, ResultCallback callback, void *arg, ReadResult *result)
{
	Operation operation = {.kind = OPERATION_QUERY};
	ReadCall call = {request, callback, arg, result, 0};

	operation_run(&operation, run_query, &call);
}

/* What is wrong with a request, without reading. */
void
action_check_query(const QueryRequest *request)
{
	Terms terms = {NULL};
	ReadResult result;
	Read read;

	open_query(&read, request, NULL, NULL, &result, NULL, terms);
	read_close(&read);
}

/*
 * Returns whether a request reads the table itself, and sets *partition to the value of its partition
 * key.  Raises an error for what is wrong with the request.
 */
bool
action_query_partition(const QueryRequest *request, Datum *partition)
{
	Terms terms = {NULL};
	StoreRange range = {0};
	ReadResult result;
	Read read;
	bool whole;

	open_query(&read, request, NULL, NULL, &result, NULL, terms);
	whole = dyn_index_is_table(read.index);
	set_range(&read, terms, &range);
	*partition = range.equal[0];
	read_close(&read);
	return whole;
}
