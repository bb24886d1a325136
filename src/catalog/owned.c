/*
 * owned.c
 *	  Getting at the extension's own tables, which nobody has rights on but their owner.
 *
 * What is done with them is done as him, with no way out for what it calls, and a search_path of its
 * own.  An error leaves these rights by ending the transaction or subtransaction.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "catalog/owned.h"

/* InvalidOid: it is not installed in this database. */
Oid
owned_extension_schema(void)
{
	Relation rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	Oid schema = InvalidOid;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("dynamo_table"));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		schema = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return schema;
}

Oid
owned_table(Oid schema, const char *name)
{
	Oid relid = get_relname_relid(name, schema);

	if (!OidIsValid(relid))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("table \"%s\" of the extension is missing", name)));
	return relid;
}

static Oid
relation_owner(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/* Have the rights of the owner of a table until owned_end(). */
void
owned_begin(Oid relid, OwnedRights *before)
{
	Oid owner = relation_owner(relid);

	before->nest = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	GetUserIdAndSecContext(&before->user, &before->context);
	SetUserIdAndSecContext(owner, before->context | SECURITY_LOCAL_USERID_CHANGE |
									  SECURITY_RESTRICTED_OPERATION);
}

void
owned_end(const OwnedRights *before)
{
	SetUserIdAndSecContext(before->user, before->context);
	AtEOXact_GUC(true, before->nest);
}

/*
 * One statement as the owner of a table, connected to SPI, which has the result.  Where the statement says
 * %1$s, it gets the extension's schema, quoted.
 */
uint64
owned_execute(Oid schema, const char *name, const char *statement, int nargs, Oid *types,
			  Datum *values, const char *nulls)
{
	char *sql = psprintf(statement, quote_identifier(get_namespace_name(schema)));
	OwnedRights before;
	int result;

	owned_begin(owned_table(schema, name), &before);
	/* a background worker has no portal that has one */
	PushActiveSnapshot(GetTransactionSnapshot());
	result = SPI_execute_with_args(sql, nargs, types, values, nulls, false, 0);
	PopActiveSnapshot();
	owned_end(&before);
	if (result < 0)
		elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(result));
	return SPI_processed;
}
