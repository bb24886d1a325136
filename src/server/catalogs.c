/*
 * catalogs.c
 *	  Rows of the server's catalogs that have an OID, and names of relations for SQL.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "server/catalogs.h"

static List *
read_rows(Snapshot snapshot, Oid catalog, Oid index, int nkeys, ScanKeyData *keys)
{
	Relation rel = table_open(catalog, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, index, OidIsValid(index), snapshot, nkeys, keys);
	List *rows = NIL;
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		CHECK_FOR_INTERRUPTS();
		rows = lappend(rows, heap_copytuple(tuple));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return rows;
}

/*
 * Returns copies of the rows of a catalog that have an OID in a column and that a snapshot shows,
 * in the order of an index that has the column, best as its first one; InvalidOid is no index.
 * SnapshotSelf shows rows as they are at the moment, also while the command that changes them goes
 * on.
 */
List *
catalogs_shown(Snapshot snapshot, Oid catalog, Oid index, AttrNumber column, Oid value)
{
	ScanKeyData key;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(value));
	return read_rows(snapshot, catalog, index, 1, &key);
}

/* Returns the current ones of these rows. */
List *
catalogs_rows(Oid catalog, Oid index, AttrNumber column, Oid value)
{
	return catalogs_shown(NULL, catalog, index, column, value);
}

/* Returns a copy of the row of a relation that a snapshot shows, or NULL. */
HeapTuple
catalogs_relation_shown(Snapshot snapshot, Oid relid)
{
	List *rows =
		catalogs_shown(snapshot, RelationRelationId, ClassOidIndexId, Anum_pg_class_oid, relid);

	return rows == NIL ? NULL : linitial(rows);
}

/* Returns the first of the current rows, or NULL. */
HeapTuple
catalogs_row(Oid catalog, Oid index, AttrNumber column, Oid value)
{
	List *rows = catalogs_rows(catalog, index, column, value);

	return rows == NIL ? NULL : linitial(rows);
}

/* Returns the OIDs of all objects in a catalog that depend on a relation, or on a column of it. */
List *
catalogs_dependents(Oid relid, Oid catalog)
{
	List *dependents = NIL;
	ScanKeyData keys[2];
	ListCell *cell;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	foreach (cell, read_rows(NULL, DependRelationId, DependReferenceIndexId, lengthof(keys), keys))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT((HeapTuple) lfirst(cell));

		if (form->classid == catalog)
			dependents = lappend_oid(dependents, form->objid);
	}
	list_sort(dependents, list_oid_cmp);
	list_deduplicate_oid(dependents);
	return dependents;
}

/* Returns the name of a relation with its schema, quoted; NULL if it is gone. */
char *
catalogs_qualified(Oid relid)
{
	char *name = get_rel_name(relid);
	char *schema = name == NULL ? NULL : get_namespace_name(get_rel_namespace(relid));

	return schema == NULL ? NULL : quote_qualified_identifier(schema, name);
}

/* Returns whether a relation is there, and is no temporary one of another session. */
bool
catalogs_within_reach(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Form_pg_class form;
	bool within;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	within =
		form->relpersistence != RELPERSISTENCE_TEMP || !isOtherTempNamespace(form->relnamespace);
	ReleaseSysCache(tuple);
	return within;
}
