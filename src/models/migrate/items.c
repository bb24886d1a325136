/*
 * items.c
 *	  dynamo_internal.migration_items(): the items that a migration makes of its rows; and
 *	  dynamo_internal.migration_key(): the keys of items of its entities.
 */
#include "postgres.h"

#include "access/relation.h"
#include "funcapi.h"
#include "storage/proc.h"
#include "utils/builtins.h"

#include "actions/actions.h"
#include "catalog/key.h"
#include "models/migrate/migrate.h"
#include "server/arguments.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/progress.h"
#include "server/sql.h"
#include "store/plan.h"
#include "store/store.h"

typedef struct ItemsOutput
{
	const DynTable *table;
	ReturnSetInfo *result;
	int64 rows; /* of the step */
	double expected;
	TimestampTz told;
} ItemsOutput;

static bool
put_item(const MigrationRow *row, void *arg)
{
	ItemsOutput *output = arg;
	DynItem *key =
		row->item == NULL ? NULL : dyn_key_item(output->table, &output->table->primary, row->item);
	/* "orphan: no row of shop.customers has …" */
	const char *problem = row->problem == ROW_OK
							  ? NULL
							  : psprintf("%s: %s", row_problem_names[row->problem], row->message);

	sql_put(output->result, SQL_VALUES(SQL_TEXT(row->step->name),
									   SQL_TEXT(row_name(row->step, row->tuple, row->desc)),
									   SQL_POINTER(InvalidOid, key),
									   SQL_POINTER(InvalidOid, row->item), SQL_TEXT(problem)));
	output->rows++;
	if (progress_is_due(&output->told))
		ereport(NOTICE,
				(errmsg("migration \"%s\", step \"%s\": %s rows read", row->step->migration->name,
						row->step->name, progress_count(output->rows, output->expected))));
	return true;
}

PG_FUNCTION_INFO_V1(dyn_migration_items);
Datum
dyn_migration_items(PG_FUNCTION_ARGS)
{
	ItemsOutput output = {.result = (ReturnSetInfo *) fcinfo->resultinfo};
	text *step = argument_text(fcinfo, 1);
	Migration *migration;
	DynTable *table;
	RightsBefore before;
	Relation rel;

	argument_require(fcinfo, 0, "migration");
	InitMaterializedSRF(fcinfo, 0);
	store_connect();
	rel = migration_open_to_run(text_span(PG_GETARG_TEXT_PP(0)), AccessShareLock, &table,
								&migration, &before);
	output.table = table;
	for (int i = 0; i < migration->nsteps; i++)
	{
		if (step != NULL && &migration->steps[i] != migration_step(migration, text_span(step)))
			continue;
		output.rows = 0;
		output.expected = step_expected_rows(&migration->steps[i]);
		step_read_all(&migration->steps[i], rel, table, put_item, &output);
	}
	migration_close(rel, &before);
	SPI_finish();
	return (Datum) 0;
}

/*
 * Holds what the calls in one query share.  The migration and the table live as long as the transaction, which
 * a call site may outlive: the check of a domain does so in a variable of a procedure that commits.
 */
typedef struct KeyCall
{
	LocalTransactionId transaction;
	Migration *migration;
	DynTable *table;
} KeyCall;

static KeyCall *
key_call(FunctionCallInfo fcinfo)
{
	MemoryContext old;
	KeyCall *call = fcinfo->flinfo->fn_extra;

	if (call != NULL && call->transaction == my_local_xid())
		return call;
	store_connect();
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	if (call == NULL)
		call = palloc(sizeof(KeyCall));
	call->transaction = InvalidLocalTransactionId;
	fcinfo->flinfo->fn_extra = call;
	relation_close(migration_open(text_span(PG_GETARG_TEXT_PP(0)), AccessShareLock, &call->table,
								  &call->migration),
				   NoLock);
	MemoryContextSwitchTo(old);
	SPI_finish();
	call->transaction = my_local_xid();
	return call;
}

/* Returns the key of an item if the migration makes its entity, or if any entity will do. */
PG_FUNCTION_INFO_V1(dyn_migration_key);
Datum
dyn_migration_key(PG_FUNCTION_ARGS)
{
	KeyCall *call = key_call(fcinfo);
	DynItem *item = PG_GETARG_DYN_ITEM(1);
	bool found = PG_GETARG_BOOL(2);

	for (int i = 0; i < call->migration->nsteps && !found; i++)
		found = entity_has(call->migration->steps[i].entity, item);
	if (!found)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(dyn_key_item(call->table, &call->table->primary, item));
}
