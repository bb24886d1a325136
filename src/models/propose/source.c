/*
 * source.c
 *	  The tables that "sources" names: tables, or all tables of a schema as "schema.*".
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/regproc.h"
#include "utils/rls.h"
#include "utils/varlena.h"

#include "catalog/listing.h"
#include "catalog/rights.h"
#include "catalog/table.h"
#include "models/propose/propose.h"
#include "server/arguments.h"
#include "server/catalogs.h"
#include "server/compat.h"
#include "server/errors.h"

/* The caller must be able to read all columns of what is looked at, unless it is gone. */
static void
require_select(Oid relid)
{
	const char *name;

	if (rights_to_read(relid, GetUserId()))
		return;
	name = get_rel_name(relid);
	if (name != NULL)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)), name);
}

static bool
may_be_source(char relkind)
{
	return relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE ||
		   relkind == RELKIND_VIEW || relkind == RELKIND_MATVIEW ||
		   relkind == RELKIND_FOREIGN_TABLE;
}

static List *
add_named(List *relids, const char *name)
{
	RightsWanted wanted = {.mode = AccessShareLock};
	List *names = qualified_name_list(name);
	Oid relid = RangeVarGetRelidExtended(makeRangeVarFromNameList(names), AccessShareLock, 0,
										 rights_check_name, &wanted);

	if (!may_be_source(get_rel_relkind(relid)))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is neither a table nor a view", get_rel_name(relid))));
	return list_append_unique_oid(relids, relid);
}

/* Partitions, child tables and members of extensions have no rows of their own, or none of users. */
static bool
is_listed(const FormData_pg_class *form)
{
	return (form->relkind == RELKIND_RELATION || form->relkind == RELKIND_PARTITIONED_TABLE ||
			form->relkind == RELKIND_FOREIGN_TABLE) &&
		   form->relpersistence != RELPERSISTENCE_TEMP && !form->relispartition &&
		   !has_superclass(form->oid) &&
		   !OidIsValid(getExtensionOfObject(RelationRelationId, form->oid));
}

/* Returns OIDs in the order of the index, by name.  The tables are not locked, and may be gone. */
static List *
list_schema(Oid schema)
{
	List *relids = NIL;
	ListCell *cell;

	foreach (cell, catalogs_rows(RelationRelationId, ClassNameNspIndexId,
								 Anum_pg_class_relnamespace, schema))
	{
		const FormData_pg_class *form = (FormData_pg_class *) GETSTRUCT((HeapTuple) lfirst(cell));

		relids = is_listed(form) ? lappend_oid(relids, form->oid) : relids;
	}
	return relids;
}

/*
 * Locks all tables, and holds none while it waits for another one of the schema: a session that has
 * locked that may be about to drop them.
 */
static void
lock_all(const List *relids)
{
	Oid relid;

	while (OidIsValid(relid = dyn_try_lock_all(relids, AccessShareLock)))
	{
		CHECK_FOR_INTERRUPTS();
		LockRelationOid(relid, AccessShareLock);
		UnlockRelationOid(relid, AccessShareLock);
	}
}

/*
 * Returns whether a table is a source, now that it is locked.  It may have been dropped, moved or
 * attached to a partitioned table since it was listed, and tables of items are none.
 */
static bool
is_source(Oid relid, Oid schema)
{
	Relation rel = try_relation_open(relid, NoLock);
	bool result;

	if (rel == NULL)
		return false;
	result =
		RelationGetNamespace(rel) == schema && is_listed(rel->rd_rel) && dyn_schema(rel) == NULL;
	relation_close(rel, NoLock);
	return result;
}

static List *
add_schema(List *relids, const char *name)
{
	Oid schema = LookupExplicitNamespace(name, false);
	List *tables = list_schema(schema);
	ListCell *cell;

	foreach (cell, tables)
		require_select(lfirst_oid(cell));
	lock_all(tables);
	foreach (cell, tables)
	{
		Oid relid = lfirst_oid(cell);

		CHECK_FOR_INTERRUPTS();
		if (is_source(relid, schema))
			relids = list_append_unique_oid(relids, relid);
		else
			UnlockRelationOid(relid, AccessShareLock);
	}
	return relids;
}

/* Returns the schema of "schema.*", or NULL. */
static char *
schema_of_all(const char *name)
{
	size_t len = strlen(name);
	List *names;

	if (len < 3 || strcmp(name + len - 2, ".*") != 0)
		return NULL;
	names = qualified_name_list(pnstrdup(name, len - 2));
	return list_length(names) == 1 ? strVal(linitial(names)) : NULL;
}

/* Returns whether rows may depend on the user: those of a view, or a foreign table or partition. */
static bool
depends_on_reader(Relation rel)
{
	ListCell *cell;

	if (rel->rd_rel->relkind == RELKIND_VIEW || rel->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		return true;
	if (!rel->rd_rel->relhassubclass)
		return false;
	foreach (cell, find_all_inheritors(RelationGetRelid(rel), AccessShareLock, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE)
			return true;
	}
	return false;
}

/*
 * Returns why the rows of a source are not to be looked at, or NULL.  They are read with the rights
 * of its owner (see read.c), which must show nothing that the caller does not see.  To run the
 * policies of row-level security would be to run the owner's code with the caller's rights.
 */
static const char *
why_unseen(Relation rel)
{
	Oid relid = RelationGetRelid(rel);
	Oid owner = rel->rd_rel->relowner;

	if (check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
		return "row-level security hides some from you";
	if (!has_privs_of_role(GetUserId(), owner) && depends_on_reader(rel))
		return "they may depend on who reads them, and you have not the rights of its owner";
	if (!rights_to_read(relid, owner) ||
		schema_aclcheck(RelationGetNamespace(rel), owner, ACL_USAGE) != ACLCHECK_OK)
		return "its owner may not read it";
	return NULL;
}

static void
open_source(ProposeTable *table, Oid relid)
{
	Relation rel = relation_open(relid, AccessShareLock);

	require_select(relid);
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table \"%s\" is temporary", RelationGetRelationName(rel)),
						errdetail("A migration reads its sources in many sessions.")));
	table->relid = relid;
	table->relkind = rel->rd_rel->relkind;
	table->has_children = table->relkind == RELKIND_RELATION && dyn_has_children(rel);
	table->owner = rel->rd_rel->relowner;
	table->unseen = why_unseen(rel);
	table->schema = get_namespace_name(RelationGetNamespace(rel));
	table->name = pstrdup(RelationGetRelationName(rel));
	table->qualified = quote_qualified_identifier(table->schema, table->name);
	relation_close(rel, NoLock);
}

/*
 * Sets the tables of the proposal, locked for reading.  The caller must have SELECT on each of
 * them.
 */
void
propose_sources(Proposal *proposal, ArrayType *sources)
{
	int n;
	Datum *names = argument_elements(sources, "sources", &n);
	List *relids = NIL;
	ListCell *cell;

	for (int i = 0; i < n; i++)
	{
		char *name = TextDatumGetCString(names[i]);
		char *schema = schema_of_all(name);

		relids = schema != NULL ? add_schema(relids, schema) : add_named(relids, name);
	}
	if (relids == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("sources must name at least one table")));
	proposal->tables = palloc0(list_length(relids) * sizeof(ProposeTable));
	foreach (cell, relids)
		open_source(&proposal->tables[proposal->ntables++], lfirst_oid(cell));
}
