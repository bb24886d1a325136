/*
 * execute.c
 *	  Statements by the actions.
 *
 * Whatever can be wrong with a statement by itself was told when it was compiled and bound.  Then
 * come the table, the index, the keys, and what the index projects.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "api/partiql/compile.h"
#include "api/partiql/plan.h"
#include "catalog/lookup.h"
#include "server/arguments.h"
#include "server/errors.h"

/* This is the setting dynamo_table.partiql_scans. */
static bool scans = true;

/* Defines the setting dynamo_table.partiql_scans.  Called once by _PG_init(). */
void
partiql_init(void)
{
	/* whoever limits a role by ALTER ROLE does not want the role to set it back */
	DefineCustomBoolVariable("dynamo_table.partiql_scans",
							 "Lets PartiQL statements read all of a table or an index.",
							 "Off: SELECT has to require the partition key to equal values.",
							 &scans, true, PGC_SUSET, 0, NULL, NULL, NULL);
}

/* Raises ERRCODE_DYN_VALIDATION for EXISTS(), which is no statement outside of a transaction. */
void
partiql_forbid_exists(const PartiqlCompiled *compiled)
{
	if (compiled->statement->kind == PARTIQL_EXISTS)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("EXISTS is only for the writes of ExecuteTransaction"),
						errwords("EXISTS can only be used in ExecuteTransaction write requests.")));
}

/* Raises ERRCODE_DYN_VALIDATION for COUNT(*) of an index, which is no column (docs/semantics.md, SV30). */
void
partiql_forbid_count(const PartiqlCompiled *compiled)
{
	if (compiled->statement->count != NULL)
		partiql_fail_column(compiled->statement, compiled->statement->count);
}

/*
 * Reads
 */

/* DynamoDB's PartiQL cannot read such indexes, whatever else is wrong (docs/semantics.md, PQ1A). */
static void
check_keys(const DynIndex *index)
{
	if (index->npartition > 1 || index->nkeys > 2)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("index \"%s\" has keys of several attributes, which PartiQL cannot "
							   "read",
							   item_quoted(index->name)),
						errwords("PartiQL statements cannot be executed on tables with "
								 "multi-attribute HASH keys or multi-attribute RANGE keys.")));
}

/* Checks the index of a SELECT in a batch, which is told before all else that is wrong. */
void
partiql_check_index(const PartiqlBound *bound, const DynTable *table)
{
	const DynIndex *index = dyn_find_index(table, bound->compiled->statement->index);

	if (index != NULL)
		check_keys(index);
	partiql_forbid_count(bound->compiled);
}

static const DynIndex *
find_index(const PartiqlCompiled *compiled, const DynTable *table)
{
	const PartiqlStatement *statement = compiled->statement;
	const DynIndex *index = dyn_find_index(table, statement->index);

	dyn_refuse_vector(table, statement->index);
	if (index == NULL)
		dyn_fail_no_index(table, statement->index, ERRCODE_DYN_VALIDATION,
						  "The table does not have the specified index");
	check_keys(index);
	partiql_forbid_count(compiled);
	return dyn_active_index(table, statement->index);
}

static void
check_consistent(const PartiqlCall *call, const DynIndex *index)
{
	if (call->consistent && !dyn_index_is_table(index) && !index->local)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("consistent reads are not supported on global index \"%s\"",
							   item_quoted(index->name)),
						errwords("Strongly consistent read is not supported on Global Secondary "
								 "Indexes")));
}

/* A keyed read of an index refuses conditions on what the index does not project. */
static void
check_projected(const PartiqlPlan *plan)
{
	List *attributes = partiql_unprojected(plan);
	StringInfoData names;
	ListCell *cell;

	if (attributes == NIL)
		return;
	initStringInfo(&names);
	foreach (cell, attributes)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
						 item_quoted_words(*(const ItemSpan *) lfirst(cell)));
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("index \"%s\" does not project attributes of the condition",
						   item_quoted(plan->index->name)),
					errwords(DYN_INVALID_WORDS "Secondary index %s does not project one or more "
											   "filter attributes: [%s]",
							 item_quoted_words(plan->index->name), names.data)));
}

/* Raises ERRCODE_INSUFFICIENT_PRIVILEGE if all is read, and may not be. */
static void
check_scan(const PartiqlPlan *plan)
{
	if (scans || !plan->scan)
		return;
	ereport(
		ERROR,
		(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
		 errmsg("scans by PartiQL statements are not allowed"),
		 dyn_index_is_table(plan->index)
			 ? errdetail("The statement would read all of table \"%s\".", plan->table->name)
			 : errdetail("The statement would read all of index \"%s\" of table \"%s\".",
						 item_quoted(plan->index->name), plan->table->name),
		 errhint("Require the partition key to equal a value in each branch of the condition; see "
				 "the setting \"dynamo_table.partiql_scans\"."),
		 errwords("Statements that scan are not allowed. The partition key must equal a value "
				  "(= or IN) in each branch of the WHERE clause.")));
}

/* Sets the bounds of the sort key, of which one that equals a value is no range. */
static void
set_bounds(const PartiqlPlan *plan, const PartiqlRead *read, StoreRange *range)
{
	if (read->lower.given && read->lower.inclusive && read->upper.given && read->upper.inclusive &&
		store_column_compare(dyn_index_key(plan->table, plan->index, 1)->type, read->lower.value,
							 read->upper.value) == 0)
	{
		range->equal[range->nequal++] = read->lower.value;
		return;
	}
	range->lower = read->lower;
	range->upper = read->upper;
}

/* Sets the stretches that a plan reads; a scan is one of all. */
static void
set_ranges(const PartiqlPlan *plan, RangesRequest *request)
{
	request->nranges = plan->scan ? 1 : plan->nreads;
	request->ranges = palloc0(Max(request->nranges, 1) * sizeof(StoreRange));
	for (int i = 0; i < request->nranges; i++)
	{
		StoreRange *range = &request->ranges[i];

		range->forward = plan->forward;
		if (plan->scan)
			continue;
		range->equal[range->nequal++] = plan->reads[i].partition;
		set_bounds(plan, &plan->reads[i], range);
	}
}

/* A token may be of a table that had other keys under the same name: then it begins in no stretch. */
static void
check_start(const PartiqlCall *call, const RangesRequest *request)
{
	if (call->start_key == NULL || request->first < request->nranges)
		return;
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("next_token continues a read that the statement does not have"),
					errdetail("The table or the index had other keys when the token was made."),
					errwords("The provided starting key is outside query boundaries based on "
							 "provided conditions")));
}

/* Sets the condition, unless the stretches say all of it, and the rest that a SELECT asks for. */
static void
set_read(const PartiqlCall *call, const PartiqlPlan *plan, ReadRequest *request)
{
	const PartiqlStatement *statement = call->bound->compiled->statement;

	if (statement->index.data != NULL)
		request->index = span_text(statement->index);
	request->expressions = expr_request(NULL, NULL);
	request->consistent = call->consistent;
	request->paged = call->paged;
	request->page_size = call->page_size;
	request->max_items = call->max_items;
	request->start_key = call->start_key;
	request->parts = plan->scan;
	if (!plan->exact)
		request->built.condition = call->bound->condition;
	request->built.projection = call->bound->projection;
}

/* Plans what a SELECT reads of the table that is open. */
static PartiqlPlan *
make_plan(const PartiqlCall *call, const DynTable *table)
{
	const PartiqlStatement *statement = call->bound->compiled->statement;
	const DynIndex *index =
		statement->index.data == NULL ? &table->primary : find_index(call->bound->compiled, table);
	PartiqlPlan *plan;

	check_consistent(call, index);
	plan = partiql_plan(call->bound, table, index);
	check_projected(plan);
	check_scan(plan);
	return plan;
}

/*
 * Runs a SELECT: calls callback for each item that it returns, and fills in *result, whose last key is
 * allocated in the current memory context.  Returns the number of the read in which a page ended.
 */
int
partiql_select(const PartiqlCall *call, ResultCallback callback, void *arg, ReadResult *result)
{
	RangesRequest request = {.first = call->first_read};
	PartiqlPlan *plan;
	FrontCall open;
	int read;

	action_open(&call->front, span_text(call->bound->compiled->statement->table), AccessShareLock,
				&open);
	request.read.call = &open;
	plan = make_plan(call, open.table);
	set_read(call, plan, &request.read);
	set_ranges(plan, &request);
	check_start(call, &request);
	if (call->explainer != NULL)
		partiql_explain_plan(call->explainer, call->bound, plan, &request);
	read = action_ranges(&request, callback, arg, result);
	relation_close(open.rel, NoLock);
	return read;
}

/*
 * Writes
 */

static ReturnValues
return_values(PartiqlReturning returning)
{
	switch (returning)
	{
		case PARTIQL_RETURNING_NOTHING:
			break;
		case PARTIQL_RETURNING_ALL_OLD:
			return RETURN_ALL_OLD;
		case PARTIQL_RETURNING_ALL_NEW:
		case PARTIQL_RETURNING_MODIFIED_NEW:
			return RETURN_ALL_NEW;
		case PARTIQL_RETURNING_MODIFIED_OLD:
			return RETURN_UPDATED_OLD;
	}
	return RETURN_NONE;
}

/* Begins a request with what a statement for one item asks for, but for its key and condition. */
void
partiql_begin_request(const PartiqlBound *bound, ItemRequest *request)
{
	const PartiqlStatement *statement = bound->compiled->statement;

	*request = (ItemRequest){0};
	request->table = span_text(statement->table);
	request->expressions = expr_request(NULL, NULL);
	request->return_values = return_values(statement->returning);
	request->item = bound->item;
	request->insert = statement->kind == PARTIQL_INSERT;
	if (statement->kind == PARTIQL_UPDATE)
		request->absent = ABSENT_FAILS;
	if (statement->kind == PARTIQL_DELETE)
		request->absent = ABSENT_PASSES;
	request->built.update = bound->update;
	request->built.projection = bound->projection;
}

/* Sets the key; what is more than the key in the condition has to hold for the item. */
static void
set_key(const PartiqlBound *bound, ItemRequest *request)
{
	PartiqlKey key = partiql_whole_key(bound, request->call->table);

	request->item = key.item;
	if (key.others != NIL)
		request->built.condition = bound->condition;
}

/*
 * MODIFIED NEW is what is at the paths of the statement after the update.  UPDATED_NEW is what the
 * update has written, which differs for elements of lists that were removed or appended.
 */
static DynItem *
execute_update(const PartiqlBound *bound, const ItemRequest *request)
{
	DynItem *item = action_update(request);

	if (bound->compiled->statement->returning == PARTIQL_RETURNING_MODIFIED_NEW)
		return expr_updated_old(bound->update, item);
	return item;
}

/* Runs INSERT, UPDATE or DELETE.  Returns what RETURNING asks for, or NULL if that is nothing. */
DynItem *
partiql_write(const PartiqlCall *call)
{
	const PartiqlBound *bound = call->bound;
	FrontCall front = call->front;
	ItemRequest request;
	FrontCall open;
	DynItem *item;

	partiql_begin_request(bound, &request);
	front.statement = true;
	request.call = &front;
	request.old_on_failure = call->old_on_failure;
	if (request.insert)
		return action_put(&request);
	action_open(&front, request.table, RowExclusiveLock, &open);
	request.call = &open;
	set_key(bound, &request);
	if (bound->compiled->statement->kind == PARTIQL_UPDATE)
		item = execute_update(bound, &request);
	else
		item = action_delete(&request);
	relation_close(open.rel, NoLock);
	return item;
}
