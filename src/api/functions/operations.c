/*
 * operations.c
 *	  dyn_operations, and its reset: what was counted of operations.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "actions/operation.h"
#include "api/functions/functions.h"
#include "catalog/rights.h"

static const char *const operation_names[] = {[OPERATION_GET] = "GetItem",
											  [OPERATION_PUT] = "PutItem",
											  [OPERATION_UPDATE] = "UpdateItem",
											  [OPERATION_DELETE] = "DeleteItem",
											  [OPERATION_QUERY] = "Query",
											  [OPERATION_SCAN] = "Scan",
											  [OPERATION_BATCH_GET] = "BatchGetItem",
											  [OPERATION_BATCH_WRITE] = "BatchWriteItem",
											  [OPERATION_TRANSACT_GET] = "TransactGetItems",
											  [OPERATION_TRANSACT_WRITE] = "TransactWriteItems",
											  [OPERATION_SEARCH_VECTORS] = "SearchVectors"};

/* The columns are relation, operation, index_name, the counts in their order, stats_since. */
static void
return_counted(ReturnSetInfo *result, const CountedOperation *counted)
{
	Datum values[4 + NCOUNTS];
	bool nulls[4 + NCOUNTS] = {false};

	values[0] = ObjectIdGetDatum(counted->key.relid);
	values[1] = CStringGetTextDatum(operation_names[counted->key.kind]);
	nulls[2] = counted->index[0] == '\0';
	values[2] = nulls[2] ? (Datum) 0 : CStringGetTextDatum(counted->index);
	for (int i = 0; i < NCOUNTS; i++)
		values[3 + i] = Int64GetDatum((int64) counted->counts[i]);
	values[3 + NCOUNTS] = TimestampTzGetDatum(counted->since);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Returns whether the key's table or, of another database, that is there. */
static bool
is_there(const OperationKey *key)
{
	if (key->database == MyDatabaseId)
		return get_rel_relkind(key->relid) != '\0';
	return SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(key->database));
}

/* operations() returns the counts of the tables that the caller may see the state of. */
PG_FUNCTION_INFO_V1(dyn_operations);
Datum
dyn_operations(PG_FUNCTION_ARGS)
{
	CountedOperation *counted;
	int n;

	InitMaterializedSRF(fcinfo, 0);
	counted = counters_read(&n);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_there(&counted[i].key))
			counters_forget(&counted[i].key);
		else if (counted[i].key.database == MyDatabaseId && rights_to_see(counted[i].key.relid))
			return_counted((ReturnSetInfo *) fcinfo->resultinfo, &counted[i]);
	}
	return (Datum) 0;
}

/* reset_operations() forgets what was counted in this database. */
PG_FUNCTION_INFO_V1(dyn_reset_operations);
Datum
dyn_reset_operations(PG_FUNCTION_ARGS)
{
	int n;
	CountedOperation *counted = counters_read(&n);

	for (int i = 0; i < n; i++)
	{
		if (counted[i].key.database == MyDatabaseId)
			counters_forget(&counted[i].key);
	}
	PG_RETURN_VOID();
}
