/*
 * operation.h
 *	  What is counted of operations: calls, and what has come of them.
 *
 * Each call of an action is an operation on one or several tables.  It counts when it ends, also by
 * an error, if by then the table was found and the caller had the right to use it.  Counts are of
 * attempts, as those of pg_stat: a transaction that is rolled back does not take them back.
 *
 * counters.c keeps the counts in shared memory; they are there if the library is preloaded.
 */
#ifndef DYNAMO_TABLE_ACTIONS_OPERATION_H
#define DYNAMO_TABLE_ACTIONS_OPERATION_H

#include "datatype/timestamp.h"

#include "catalog/table.h"

typedef enum OperationKind
{
	OPERATION_GET,
	OPERATION_PUT,
	OPERATION_UPDATE,
	OPERATION_DELETE,
	OPERATION_QUERY,
	OPERATION_SCAN,
	OPERATION_BATCH_GET,
	OPERATION_BATCH_WRITE,
	OPERATION_TRANSACT_GET,
	OPERATION_TRANSACT_WRITE,
	OPERATION_SEARCH_VECTORS
} OperationKind;

/* This is a table of an operation, or an index of it, and the items of a call that succeeds. */
typedef struct OperationTable
{
	struct OperationTable *next;
	bool counts; /* false: it has not been opened, or is not to be counted */
	Oid relid;
	ItemSpan index; /* of length 0: the table itself */
	int64 read; /* items that were looked at */
	int64 returned; /* of these */
	int64 written; /* items that were put, updated or deleted */
} OperationTable;

/* This is a call on its way. */
typedef struct Operation
{
	OperationKind kind;
	bool condition_failed; /* of an action of a transaction */
	OperationTable table; /* the only one of a single action */
	OperationTable *others; /* those of a batch or transaction */
} Operation;

extern void operation_run(Operation *operation, void (*run)(Operation *operation, void *arg),
						  void *arg);
extern void operation_opened(OperationTable *table, Relation rel, ItemSpan index);
extern OperationTable *operation_table(Operation *operation, Relation rel);

/*
 * Counters
 */

typedef enum Count
{
	COUNT_CALLS,
	COUNT_ERRORS,
	COUNT_CONDITIONAL_FAILURES,
	COUNT_CONFLICTS,
	COUNT_READ,
	COUNT_RETURNED,
	COUNT_WRITTEN
} Count;

#define NCOUNTS (COUNT_WRITTEN + 1)
#define MAX_COUNTED_NAME 255 /* bytes; the rest of an index's name is left out */

typedef struct OperationKey
{
	Oid database;
	Oid relid;
	uint32 kind;
	uint32 index; /* a hash of its name, 0: the table itself */
} OperationKey;

/* Tells what was counted of one kind of operation on a table or an index. */
typedef struct CountedOperation
{
	OperationKey key;
	char index[MAX_COUNTED_NAME + 1]; /* empty: the table itself */
	TimestampTz since;
	uint64 counts[NCOUNTS];
} CountedOperation;

extern void counters_init(void);
extern bool counters_are_on(void);
extern void counters_add(OperationKind kind, const OperationTable *table,
						 const int64 counts[NCOUNTS]);
extern CountedOperation *counters_read(int *n);
extern void counters_forget(const OperationKey *key);

#endif
