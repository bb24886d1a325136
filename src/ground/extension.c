/*
 * extension.c
 *	  Whether an extension is installed in this database, where, and in which version.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "ground/extension.h"
#include "ground/library.h"

#define OWN_NAME "dynamo_table"

/* The row of an extension, copied; NULL if it is not installed in this database. */
static HeapTuple
find_extension(Relation rel, const char *name)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(name));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		tuple = heap_copytuple(tuple);
	systable_endscan(scan);
	return tuple;
}

/* InvalidOid: the extension is not installed in this database. */
static Oid
find_schema(const char *name)
{
	Relation rel = table_open(ExtensionRelationId, AccessShareLock);
	HeapTuple tuple = find_extension(rel, name);

	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple) ? ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace
								   : InvalidOid;
}

/* Returns the version of the extension's objects in this database; NULL if it is not installed. */
char *
extension_version(void)
{
	Relation rel = table_open(ExtensionRelationId, AccessShareLock);
	HeapTuple tuple = find_extension(rel, OWN_NAME);
	bool isnull = true;
	Datum version = (Datum) 0;

	if (HeapTupleIsValid(tuple))
		version = heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(rel), &isnull);
	table_close(rel, AccessShareLock);
	return isnull ? NULL : TextDatumGetCString(version);
}

/*
 * Returns whether the extension is installed in this database.  Without it a schema that is named
 * DYN_INTERNAL is not the extension's.  It is an error if it is installed in a version that the
 * library does not work with.
 */
bool
extension_installed(void)
{
	if (!OidIsValid(find_schema(OWN_NAME)))
		return false;
	library_check();
	return true;
}

/*
 * Keeps the extension, if it is there, from being dropped until the transaction ends.  DROP EXTENSION
 * locks it before any of its tables, so a transaction that takes this lock first cannot deadlock with
 * that.  Returns false if the lock would have to be waited for, and wait is not set.
 */
bool
extension_lock(bool wait)
{
	Oid extension = get_extension_oid(OWN_NAME, true);

	if (OidIsValid(extension) && !wait)
		return ConditionalLockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
	if (OidIsValid(extension))
		LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
	return true;
}

/* Another session may drop the extension, or the schema with it, at any time. */
static const char *
quoted_schema(const char *extension)
{
	Oid schema = find_schema(extension);
	const char *name = OidIsValid(schema) ? get_namespace_name(schema) : NULL;

	return name == NULL ? NULL : quote_identifier(name);
}

/* Returns the extension's schema, quoted for SQL.  It is an error if the extension is gone. */
const char *
extension_schema(void)
{
	const char *schema = quoted_schema(OWN_NAME);

	if (schema == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("extension \"%s\" does not exist", OWN_NAME)));
	return schema;
}

/*
 * Returns the schema of another extension, quoted for SQL, or NULL if it is not installed in this
 * database.
 */
const char *
extension_schema_of(const char *name)
{
	return quoted_schema(name);
}
