/*
 * dependents.c
 *	  What keeps a table, or columns of it, from being dropped.
 *
 * DROP says so too, but only once it has the table locked against everybody, and has waited for
 * each of these objects, which may be anybody's; and a request that leaves the work to a background
 * worker has answered by then.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/create.h"
#include "catalog/table.h"
#include "server/errors.h"
#include "server/sql.h"

#define MOST_LISTED 10

/*
 * This finds what depends on relation $1 or its row type, or on its columns $2, and is not dropped
 * with them.  The views $3 are left out: they will do without the columns.  For the rule of a view,
 * it returns the view.
 */
static const char dependents_sql[] =
	"WITH found AS (SELECT classid, objid, objsubid, deptype FROM pg_catalog.pg_depend"
	" WHERE refclassid OPERATOR(pg_catalog.=) "
	"'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid"
	" AND refobjid OPERATOR(pg_catalog.=) $1"
	" AND ($2 IS NULL OR refobjsubid::pg_catalog.oid OPERATOR(pg_catalog.=) ANY ($2))"
	" UNION ALL SELECT d.classid, d.objid, d.objsubid, d.deptype FROM pg_catalog.pg_type t"
	" JOIN pg_catalog.pg_depend d"
	" ON d.refclassid OPERATOR(pg_catalog.=) "
	"'pg_catalog.pg_type'::pg_catalog.regclass::pg_catalog.oid"
	" AND (d.refobjid OPERATOR(pg_catalog.=) t.oid OR d.refobjid OPERATOR(pg_catalog.=) t.typarray)"
	" WHERE t.typrelid OPERATOR(pg_catalog.=) $1 AND $2 IS NULL)"
	" SELECT DISTINCT COALESCE("
	"pg_catalog.pg_describe_object('pg_catalog.pg_class'::pg_catalog.regclass, r.ev_class, 0),"
	" pg_catalog.pg_describe_object(f.classid, f.objid, f.objsubid), 'an object that is gone')"
	" COLLATE pg_catalog.\"C\""
	" FROM found f LEFT JOIN pg_catalog.pg_rewrite r ON r.oid OPERATOR(pg_catalog.=) f.objid"
	" AND f.classid OPERATOR(pg_catalog.=) "
	"'pg_catalog.pg_rewrite'::pg_catalog.regclass::pg_catalog.oid"
	" AND r.rulename OPERATOR(pg_catalog.=) '_RETURN'"
	" WHERE f.deptype OPERATOR(pg_catalog.=) 'n'"
	" AND (r.oid IS NULL OR r.ev_class OPERATOR(pg_catalog.<>) ALL ($3))"
	" AND NOT EXISTS (SELECT FROM found o WHERE o.deptype OPERATOR(pg_catalog.<>) 'n'"
	" AND o.classid OPERATOR(pg_catalog.=) f.classid AND o.objid OPERATOR(pg_catalog.=) f.objid"
	" AND o.objsubid OPERATOR(pg_catalog.=) f.objsubid) ORDER BY 1";

/* Returns numbers of columns as OIDs, for an array of these. */
static List *
column_numbers(Oid relid, List *names)
{
	List *numbers = NIL;
	ListCell *cell;

	foreach (cell, names)
		numbers = lappend_oid(numbers, get_attnum(relid, lfirst(cell)));
	return numbers;
}

/*
 * Raises ERRCODE_DYN_RESOURCE_IN_USE, with a list of them, if other objects depend on a table and
 * keep it from being dropped.  If what is not NULL, only those count that depend on the columns,
 * and the message says what the columns serve.  released are views that will do without the
 * columns.  The caller is connected to SPI.
 */
void
dyn_dependents_refuse(Relation rel, const char *what, List *columns, List *released)
{
	Oid relid = RelationGetRelid(rel);
	const char *table = RelationGetRelationName(rel);
	StringInfoData list;

	sql_execute(dependents_sql, true, MOST_LISTED + 1,
				SQL_VALUES(SQL_OID(relid),
						   SQL_NULLABLE(OIDARRAYOID, sql_oids(column_numbers(relid, columns)),
										what == NULL),
						   SQL_VALUE(OIDARRAYOID, sql_oids(released))));
	if (SPI_processed == 0)
		return;
	initStringInfo(&list);
	for (uint64 i = 0; i < Min(SPI_processed, MOST_LISTED); i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", sql_text(SPI_tuptable, i, 1));
	if (SPI_processed > MOST_LISTED)
		appendStringInfoString(&list, " and others");
	ereport(
		ERROR,
		(errcode(ERRCODE_DYN_RESOURCE_IN_USE),
		 what == NULL ? errmsg("other objects depend on table \"%s\"", table)
					  : errmsg("other objects depend on %s of table \"%s\"", what, table),
		 errdetail("They are %s.", list.data),
		 errhint("Drop them first. dyn_drop_table, dyn_drop_index and dyn_disable_ttl do so with "
				 "cascade => true."),
		 errwords("Attempt to change a resource which is still in use: Table is used by %s: %s",
				  list.data, table)));
}
