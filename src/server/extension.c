/*
 * extension.c
 *	  Whether an extension is installed in this database, where, and in which version.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "commands/extension.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "server/errors.h"
#include "server/extension.h"
#include "server/library.h"

#define OWN_NAME "dynamo_table"

/* Returns the row of an extension, copied; NULL if it is not installed in this database. */
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

/* Returns the schema, or InvalidOid if the extension is not installed in this database. */
static Oid
find_schema(const char *name)
{
	Relation rel = table_open(ExtensionRelationId, AccessShareLock);
	HeapTuple tuple = find_extension(rel, name);

	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple) ? ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace
								   : InvalidOid;
}

/*
 * Returns the version of an extension's objects in this database, and sets *schema to their schema; NULL
 * if it is not installed.
 */
char *
extension_version_of(const char *name, Oid *schema)
{
	Relation rel = table_open(ExtensionRelationId, AccessShareLock);
	HeapTuple tuple = find_extension(rel, name);
	bool isnull = true;
	Datum version = (Datum) 0;

	if (HeapTupleIsValid(tuple))
	{
		*schema = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
		version = heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(rel), &isnull);
	}
	table_close(rel, AccessShareLock);
	return isnull ? NULL : TextDatumGetCString(version);
}

/* Returns the version of this extension's objects in this database; NULL if it is not installed. */
char *
extension_version(void)
{
	Oid schema;

	return extension_version_of(OWN_NAME, &schema);
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
	library_check(ERROR);
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

/*
 * Returns the extension's schema, quoted for SQL.  It is an error if the extension is gone: another
 * session may drop it, or the schema with it, at any time.
 */
const char *
extension_schema(void)
{
	Oid schema = find_schema(OWN_NAME);
	const char *name = OidIsValid(schema) ? get_namespace_name(schema) : NULL;

	if (name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("extension \"%s\" does not exist", OWN_NAME)));
	return quote_identifier(name);
}

/*
 * Keeps a schema from being renamed or dropped until the transaction ends, by a lock on it, which newer
 * minor releases of PostgreSQL take to rename it, and as SELECT … FOR KEY SHARE of its row does, for
 * others take none.  It is an error if another transaction renames or drops it: what the caller has
 * locked must not wait for that.  One that is gone is none of ours: whoever opens what was in it finds
 * that out.
 */
void
extension_keep_schema(Oid schema)
{
	bool kept = ConditionalLockDatabaseObject(NamespaceRelationId, schema, 0, AccessShareLock);
	Relation rel = table_open(NamespaceRelationId, RowShareLock);
	HeapTuple tuple = SearchSysCacheCopy1(NAMESPACEOID, ObjectIdGetDatum(schema));
	Buffer buffer = InvalidBuffer;
	TM_FailureData failure;

	if (kept && HeapTupleIsValid(tuple))
		kept = heap_lock_tuple(rel, tuple, GetCurrentCommandId(true), LockTupleKeyShare,
							   LockWaitSkip, false, &buffer, &failure) == TM_Ok;
	if (!kept)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_RESOURCE_IN_USE),
				 errmsg("another transaction renames or drops a schema"), errhint("Try again.")));
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	table_close(rel, NoLock);
}

/* Does the same for the extension's schema, which is returned as extension_schema() does. */
const char *
extension_keep_own_schema(void)
{
	extension_keep_schema(find_schema(OWN_NAME));
	return extension_schema();
}

/* Returns whether an object, in a schema, is PostgreSQL's, Citus' or the extension's. */
bool
extension_has(Oid class, Oid object, Oid schema)
{
	Oid extension;

	if (schema == PG_CATALOG_NAMESPACE || object < FirstNormalObjectId)
		return true;
	/* an object of none is not that of one that has been dropped meanwhile */
	extension = getExtensionOfObject(class, object);
	return OidIsValid(extension) && extension == get_extension_oid(OWN_NAME, true);
}

/* Returns a relation of another extension, or InvalidOid if that is not installed in this database. */
Oid
extension_relation(const char *extension, const char *name)
{
	Oid schema = find_schema(extension);

	return OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
}
