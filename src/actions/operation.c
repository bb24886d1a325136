/*
 * operation.c
 *	  Calls of actions, counted when they end.
 */
#include "postgres.h"

#include "utils/rel.h"

#include "actions/operation.h"
#include "server/errors.h"

/*
 * Notes that the table is found, and that the operation is about this index of it, or about itself.
 * A table that this transaction has created is not counted: if it is rolled back, nobody drops it,
 * and its counts would stay.
 */
void
operation_opened(OperationTable *table, Relation rel, ItemSpan index)
{
	table->relid = RelationGetRelid(rel);
	table->counts = rel->rd_createSubid == InvalidSubTransactionId;
	table->index = index;
}

/*
 * Returns the table as one of a batch or transaction, which counts once for it by whatever names
 * the request has it.  It is allocated in the current memory context.
 */
OperationTable *
operation_table(Operation *operation, Relation rel)
{
	static const ItemSpan itself = {NULL, 0};
	OperationTable *table;

	for (table = operation->others; table != NULL; table = table->next)
	{
		if (table->relid == RelationGetRelid(rel))
			return table;
	}
	table = palloc0(sizeof(OperationTable));
	operation_opened(table, rel, itself);
	table->next = operation->others;
	operation->others = table;
	return table;
}

/* Returns whether a condition has failed, as one that PartiQL's INSERT has: there is no item. */
static bool
is_conditional_failure(const Operation *operation, int sqlstate)
{
	return sqlstate == ERRCODE_DYN_CONDITIONAL_CHECK_FAILED ||
		   sqlstate == ERRCODE_DYN_DUPLICATE_ITEM ||
		   (sqlstate == ERRCODE_DYN_TRANSACTION_CANCELED && operation->condition_failed);
}

/* Returns whether another transaction was in the way. */
static bool
is_conflict(int sqlstate)
{
	return sqlstate == ERRCODE_DYN_TRANSACTION_CONFLICT ||
		   sqlstate == ERRCODE_DYN_TRANSACTION_IN_PROGRESS ||
		   sqlstate == ERRCODE_T_R_SERIALIZATION_FAILURE ||
		   sqlstate == ERRCODE_T_R_DEADLOCK_DETECTED || sqlstate == ERRCODE_LOCK_NOT_AVAILABLE;
}

static void
count_success(OperationKind kind, const OperationTable *table)
{
	const int64 counts[NCOUNTS] = {[COUNT_CALLS] = 1,
								   [COUNT_READ] = table->read,
								   [COUNT_RETURNED] = table->returned,
								   [COUNT_WRITTEN] = table->written};

	if (table->counts)
		counters_add(kind, table, counts);
}

static void
count_failure(const Operation *operation, const OperationTable *table, int sqlstate)
{
	const int64 counts[NCOUNTS] = {[COUNT_CALLS] = 1,
								   [COUNT_ERRORS] = 1,
								   [COUNT_CONDITIONAL_FAILURES] =
									   is_conditional_failure(operation, sqlstate),
								   [COUNT_CONFLICTS] = is_conflict(sqlstate)};

	if (table->counts)
		counters_add(operation->kind, table, counts);
}

/*
 * Runs an operation, and counts it with each of its tables.  Errors pass on.
 */
void
operation_run(Operation *operation, void (*run)(Operation *operation, void *arg), void *arg)
{
	if (!counters_are_on())
	{
		run(operation, arg);
		return;
	}
	PG_TRY();
	{
		run(operation, arg);
	}
	PG_CATCH();
	{
		int sqlstate = geterrcode();

		count_failure(operation, &operation->table, sqlstate);
		for (const OperationTable *t = operation->others; t != NULL; t = t->next)
			count_failure(operation, t, sqlstate);
		PG_RE_THROW();
	}
	PG_END_TRY();
	count_success(operation->kind, &operation->table);
	for (const OperationTable *t = operation->others; t != NULL; t = t->next)
		count_success(operation->kind, t);
}
