/*
 * routed.c
 *	  Distributing the functions by which calls are sent to other nodes.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "catalog/distribute.h"
#include "catalog/rights.h"
#include "catalog/table.h"
#include "server/extension.h"
#include "server/sql.h"

static Oid
extension_owner(void)
{
	HeapTuple tuple =
		SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(get_namespace_oid(DYN_INTERNAL, false)));
	Oid owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "schema \"%s\" is missing", DYN_INTERNAL);
	owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * Distributes the functions that take partition keys of a type as a table is, which is distributed by
 * such a key, unless they are distributed as another table that there still is.  Citus sends the
 * calls of a function to where one group of colocated tables has its shards; calls of tables of
 * other groups stay where they are.  The functions are the extension's, so this is done with the
 * rights of its owner.  The caller is connected to SPI.
 */
void
dyn_distribute_routed(const char *qualified, Oid type)
{
	RightsBefore before;

	rights_take(extension_owner(), 0, &before);
	/* without copies of shards, and by hash, or Citus refuses */
	sql_execute(
		"SELECT pg_catalog.create_distributed_function(f.oid, 'partition_key', $1)"
		" FROM (SELECT f.oid FROM pg_catalog.pg_proc f LEFT JOIN pg_catalog.pg_dist_object o"
		" ON o.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND o.objid = f.oid"
		" WHERE f.pronamespace = '" DYN_INTERNAL "'::pg_catalog.regnamespace"
		" AND f.proname ~ '^" DYN_ROUTED_PREFIX "' AND f.proargtypes[f.pronargs - 1] = $2"
		" AND NOT EXISTS (SELECT FROM pg_catalog.pg_dist_partition d"
		" WHERE d.colocationid = o.colocationid)"
		" AND EXISTS (SELECT FROM pg_catalog.pg_dist_partition d WHERE d.logicalrelid"
		" = $1::pg_catalog.regclass AND d.partmethod = 'h' AND d.repmodel = 's') OFFSET 0) f",
		false, 0, SQL_VALUES(SQL_TEXT(qualified), SQL_OID(type)));
	rights_give_back(&before);
}
