/*
 * listing.c
 *	  Tables of ours in all of the database, by what they have.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "attempt.h"
#include "catalog/table.h"
#include "catalog/trigger.h"

/*
 * OIDs of all that may have a setting, as far as a trigger's name and arguments tell; connected to
 * SPI, in the current memory context.
 */
List *
dyn_tables_with_setting(const char *member)
{
	MemoryContext context = CurrentMemoryContext;
	List *tables = NIL;
	bool isnull;
	int result = SPI_execute(
		psprintf("SELECT tgrelid FROM pg_catalog.pg_trigger WHERE tgname OPERATOR(pg_catalog.=) %s"
				 " AND pg_catalog.\"position\"(tgargs, '\"%s\"'::pg_catalog.bytea)"
				 " OPERATOR(pg_catalog.>) 0 ORDER BY tgrelid",
				 quote_literal_cstr(DYN_DERIVE_TRIGGER), member),
		true, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	MemoryContextSwitchTo(context);
	for (uint64 i = 0; i < SPI_processed; i++)
		tables =
			lappend_oid(tables, DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[i],
															   SPI_tuptable->tupdesc, 1, &isnull)));
	SPI_freetuptable(SPI_tuptable);
	return tables;
}

typedef struct SchemaRead
{
	Relation rel;
	DynTable *table;
} SchemaRead;

static void
read_schema(void *arg)
{
	SchemaRead *read = arg;

	read->table = dyn_schema_any(read->rel);
}

/*
 * NULL if the table is none of ours, or is broken, which is no reason to show nothing of the others.
 * Reading the schema may fail anywhere.
 */
static DynTable *
try_schema(Relation rel)
{
	SchemaRead read = {rel, NULL};
	ErrorData *error = attempt(read_schema, &read);

	if (error == NULL)
		return read.table;
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED || error->sqlerrcode == ERRCODE_ADMIN_SHUTDOWN)
		ReThrowError(error);
	return NULL;
}

/* A table that was listed, under the lock of a reader; NULL if it is gone, broken, or none of ours. */
Relation
dyn_open_listed(Oid relid, DynTable **table)
{
	Relation rel = try_relation_open(relid, AccessShareLock);

	if (rel == NULL)
		return NULL;
	*table = try_schema(rel);
	if (*table != NULL && !RELATION_IS_OTHER_TEMP(rel))
		return rel;
	relation_close(rel, AccessShareLock);
	return NULL;
}
