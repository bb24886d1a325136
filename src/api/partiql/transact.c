/*
 * transact.c
 *	  Statements as the actions of a transaction.
 *
 * What is wrong with a statement by itself is an error of the whole.  What does not fit its table is
 * the reason of that statement, and all are examined for one.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"

#include "api/partiql/compile.h"
#include "api/partiql/plan.h"
#include "api/partiql/several.h"
#include "catalog/lookup.h"
#include "server/errors.h"

/* Raises an error that has just been caught once more, as one of that statement of a transaction. */
void
partiql_fail_part(int number, const ErrorData *error)
{
	const char *known = words_of(error);
	/* the error that is raised has other words in their place */
	const char *words = pstrdup(known == NULL ? error->message : known);

	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("statement %d of the transaction: %s", number + 1, error->message),
					errwords("Validation failed in TransactStatements[%d]: %s", number, words),
					error->detail == NULL ? 0 : errdetail_internal("%s", error->detail)));
	pg_unreachable();
}

/* Raises an error that only transactions have, with the number of the statement. */
pg_noreturn static void
transact_fail(int number, const char *words, const char *message)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("statement %d of the transaction: %s", number + 1, message),
					errwords("Validation failed in TransactStatements[%d]: %s", number, words)));
	pg_unreachable();
}

/*
 * Fitting a statement to its table
 */

typedef struct Fitting
{
	const PartiqlBound *bound;
	const DynTable *table;
	PartiqlKeyUse use;
	PartiqlKey key;
} Fitting;

static void
find_key(void *arg)
{
	Fitting *fitting = arg;

	fitting->key = partiql_find_key(fitting->bound, fitting->table, fitting->use);
}

static void
plan_reads(void *arg)
{
	const Fitting *fitting = arg;

	(void) partiql_plan(fitting->bound, fitting->table, &fitting->table->primary);
}

/* It reads one item by its key.  What it reads otherwise is told first. */
static void
fit_get(Fitting *fitting, int number)
{
	ErrorData *error;

	find_key(fitting);
	if (fitting->key.missing < 0 && fitting->key.others == NIL)
		return;
	error = action_try(plan_reads, fitting);
	if (error != NULL)
		partiql_fail_part(number, error);
	transact_fail(
		number,
		"Select statements within ExecuteTransaction must specify the primary key in the where "
		"clause.",
		"SELECT reads other than one item by its key");
}

static void
fit_check(Fitting *fitting, int number, TransactAction *action)
{
	find_key(fitting);
	if (fitting->key.missing >= 0 || fitting->key.others == NIL)
		transact_fail(number, "EXISTS() must contain a single item read with additional condition",
					  "EXISTS is no condition of one item");
	action->request.built.condition = partiql_build_joined(fitting->bound, fitting->key.others);
}

/* An incomplete key is told as that of any other write. */
static void
fit_write(Fitting *fitting, TransactAction *action)
{
	ErrorData *error = action_try(find_key, fitting);

	if (error != NULL)
		action->invalid = action_invalid(error);
	else if (fitting->key.others != NIL)
		action->request.built.condition = fitting->bound->condition;
}

static void
fit(const PartiqlBound *bound, const DynTable *table, int number, TransactAction *action)
{
	Fitting fitting = {bound, table, PARTIQL_KEY_WRITTEN};

	if (bound->compiled->statement->returning != PARTIQL_RETURNING_NOTHING)
		transact_fail(number, "RETURNING clause is not supported in ExecuteTransaction.",
					  "a transaction returns no items that it has written");
	switch (action->kind)
	{
		case TRANSACT_PUT:
			return;
		case TRANSACT_UPDATE:
		case TRANSACT_DELETE:
			fit_write(&fitting, action);
			break;
		case TRANSACT_CHECK:
			fitting.use = PARTIQL_KEY_CHECKED;
			fit_check(&fitting, number, action);
			break;
		case TRANSACT_GET:
			fitting.use = PARTIQL_KEY_READ;
			fit_get(&fitting, number);
			break;
	}
	action->request.item = fitting.key.item;
}

/*
 * Actions
 */

static TransactKind
action_kind(PartiqlKind kind)
{
	switch (kind)
	{
		case PARTIQL_SELECT:
			break;
		case PARTIQL_INSERT:
			return TRANSACT_PUT;
		case PARTIQL_UPDATE:
			return TRANSACT_UPDATE;
		case PARTIQL_DELETE:
			return TRANSACT_DELETE;
		case PARTIQL_EXISTS:
			return TRANSACT_CHECK;
	}
	return TRANSACT_GET;
}

/* Returns a statement and its parameters, each with its length. */
static bytea *
statement_content(const PartiqlBound *bound)
{
	const PartiqlStatement *statement = bound->compiled->statement;
	StringInfoData content;
	bytea *result;

	initStringInfo(&content);
	appendBinaryStringInfo(&content, (const char *) &statement->text.len, sizeof(uint32));
	appendBinaryStringInfo(&content, statement->text.data, (int) statement->text.len);
	for (int i = 0; i < statement->nparameters; i++)
	{
		appendBinaryStringInfo(&content, (const char *) &bound->values[i].len, sizeof(uint32));
		appendBinaryStringInfo(&content, bound->values[i].data, (int) bound->values[i].len);
	}
	result = palloc(VARHDRSZ + content.len);
	SET_VARSIZE(result, VARHDRSZ + content.len);
	memcpy(VARDATA(result), content.data, content.len);
	pfree(content.data);
	return result;
}

static void
check_source(const PartiqlStatement *statement, int number)
{
	if (statement->index.data == NULL)
		return;
	if (statement->kind == PARTIQL_EXISTS)
		transact_fail(number, "EXISTS() must contain a single item read with additional condition",
					  "EXISTS reads an index");
	transact_fail(number, "Reads on indices are not supported within transactions.",
				  "transactions do not read indexes");
}

/*
 * Sets *action to what a statement asks for.  Its table stays locked.  Raises ERRCODE_DYN_VALIDATION
 * if the statement cannot be part of a transaction.
 */
void
partiql_set_action(const PartiqlBound *bound, int number, TransactAction *action)
{
	const PartiqlStatement *statement = bound->compiled->statement;
	LOCKMODE lockmode = statement->kind == PARTIQL_SELECT ? AccessShareLock : RowExclusiveLock;
	DynTable *table;
	Relation rel;

	check_source(statement, number);
	*action = (TransactAction){.kind = action_kind(statement->kind)};
	partiql_begin_request(bound, &action->request);
	action->content = statement_content(bound);
	rel = dyn_table_find(statement->table, lockmode, &table);
	if (rel == NULL)
	{
		action->invalid = (CancelReason){
			.code = "ResourceNotFound",
			.message = psprintf("table \"%s\" does not exist", item_quoted(statement->table)),
			.words = DYN_NOT_FOUND_WORDS};
		return;
	}
	fit(bound, table, number, action);
	relation_close(rel, NoLock);
}
