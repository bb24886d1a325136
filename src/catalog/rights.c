/*
 * rights.c
 *	  Privileges are checked before locks are taken.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_namespace.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "catalog/rights.h"
#include "server/compat.h"

#define WRITE_RIGHTS (ACL_INSERT | ACL_UPDATE | ACL_DELETE)

/* Returns whether a role has the rights of a relation's owner.  False if the relation is gone. */
bool
rights_owns(Oid relid, Oid role)
{
	Oid owner = rights_owner(relid);

	return OidIsValid(owner) && has_privs_of_role(role, owner);
}

static bool
has_one(Oid relid, Oid role, AclMode rights)
{
	bool missing = false;

	return pg_class_aclcheck_ext(relid, role, rights, &missing) == ACLCHECK_OK ||
		   (!missing && pg_attribute_aclcheck_all(relid, role, rights & ACL_ALL_RIGHTS_COLUMN,
												  ACLMASK_ANY) == ACLCHECK_OK);
}

/*
 * Returns whether a role owns a relation or has any privilege on it or on one of its columns.
 * False if the relation is gone.
 */
static bool
rights_any(Oid relid, Oid role)
{
	return has_one(relid, role, ACL_ALL_RIGHTS_RELATION) || rights_owns(relid, role);
}

/*
 * Returns whether the current user has the privileges of pg_monitor, and so may see the state of
 * all tables.
 */
bool
rights_of_monitor(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
}

/*
 * Returns whether the current user may see the state of a relation: it has any privilege on it, or
 * those of pg_monitor.
 */
bool
rights_to_see(Oid relid)
{
	return rights_of_monitor() || rights_any(relid, GetUserId());
}

/*
 * Returns whether the current user may see a table in lists: it has SELECT on the table, or the
 * privileges of pg_monitor.  False if the table is gone.
 */
bool
rights_to_list(Oid relid)
{
	bool missing = false;

	return pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK ||
		   (!missing && rights_of_monitor());
}

/*
 * Returns whether a role may read all columns of a relation.  False if the relation is gone.
 */
bool
rights_to_read(Oid relid, Oid role)
{
	bool missing = false;

	return pg_class_aclcheck_ext(relid, role, ACL_SELECT, &missing) == ACLCHECK_OK ||
		   (!missing &&
			pg_attribute_aclcheck_all(relid, role, ACL_SELECT, ACLMASK_ALL) == ACLCHECK_OK);
}

/* Returns whether a role owns the schema, and so may drop the table and has to look it up. */
static bool
owns_schema(Oid relid, Oid role)
{
	Oid schema = get_rel_namespace(relid);

	return OidIsValid(schema) && schema_ownercheck(schema, role);
}

static bool
may_lock(Oid relid, Oid role, LOCKMODE mode)
{
	if (mode < RowExclusiveLock)
		return rights_any(relid, role) || owns_schema(relid, role);
	return has_one(relid, role, WRITE_RIGHTS) || rights_owns(relid, role);
}

/*
 * Raises an error unless the current user, or the role wanted->owner, may lock the relation in the
 * wanted mode; with wanted->state, members of pg_monitor may too.  The name is for the message.
 * Returns if the relation is gone.
 */
static void
rights_check(Oid relid, const char *name, const RightsWanted *wanted)
{
	char kind = get_rel_relkind(relid);

	if (kind == '\0' || may_lock(relid, GetUserId(), wanted->mode) ||
		(wanted->state && rights_of_monitor()) ||
		(OidIsValid(wanted->owner) && may_lock(relid, wanted->owner, wanted->mode)))
		return;
	aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(kind), name);
}

/*
 * Calls rights_check() before the relation is locked, as a RangeVarGetRelidCallback.  Its argument
 * is a RightsWanted.
 */
void
rights_check_name(const RangeVar *name, Oid relid, Oid before, void *wanted)
{
	if (OidIsValid(relid))
		rights_check(relid, name->relname, wanted);
}

/*
 * Opens a relation by its OID and locks it, after rights_check().  mode is RowExclusiveLock at
 * most.  Returns NULL, with nothing locked, if the relation does not exist.
 */
Relation
rights_open(Oid relid, LOCKMODE mode)
{
	RightsWanted wanted = {.mode = mode};
	char *name = get_rel_name(relid);

	Assert(mode <= RowExclusiveLock);
	if (name == NULL)
		return NULL;
	rights_check(relid, name, &wanted);
	return try_relation_open(relid, mode);
}

/* Returns whether the session has temporary tables, or had some. */
bool
rights_have_temporary(void)
{
	Oid namespace;
	Oid toast_namespace;

	GetTempNamespaceState(&namespace, &toast_namespace);
	return OidIsValid(namespace);
}

/*
 * Refuses sessions with temporary tables, which are found by names without a schema whatever the
 * search_path is.  Triggers of the owner's that use such names would use a table of the caller's,
 * and call its triggers.
 */
void
rights_check_temporary(Relation rel)
{
	if (rights_have_temporary() && !has_privs_of_role(GetUserId(), rel->rd_rel->relowner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("a session with temporary tables cannot work on the rows of table \"%s\"",
						RelationGetRelationName(rel)),
				 errdetail("It would have the rights of the table's owner."),
				 errhint("Use another session, or a role that is a member of the owner.")));
}

/*
 * Gives the session the rights of a relation's owner, for statements on its rows, and lets deferred
 * triggers fire with them.
 */
void
rights_take_owner(Relation rel, int flags, RightsBefore *before)
{
	ConstraintsSetStmt all = {.type = T_ConstraintsSetStmt, .constraints = NIL, .deferred = false};

	rights_check_temporary(rel);
	AfterTriggerSetState(&all);
	rights_take(rel->rd_rel->relowner, flags, before);
}

/*
 * Gives the session the rights that statements of maintenance on a relation's rows have: the
 * owner's, where the caller has these and others.  The owner, and a role with some privileges on
 * the relation, keep their own.
 */
void
rights_take_for_rows(Relation rel, bool write, RightsBefore *before)
{
	Oid owner = rel->rd_rel->relowner;
	bool policies = check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED;
	int flags = policies ? 0 : SECURITY_NOFORCE_RLS;

	before->user = InvalidOid;
	if (GetUserId() == owner || !has_privs_of_role(GetUserId(), owner))
		return;
	if (write)
		rights_take_owner(rel, flags, before);
	else
		rights_take(owner, flags, before);
}

/* Raises an error unless the current user has the rights of the relation's owner. */
void
rights_require_owner(Relation rel)
{
	if (!object_ownercheck(RelationRelationId, RelationGetRelid(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
}

/*
 * Raises an error unless the current user owns the table, and it is neither partitioned nor a
 * partition.  what names, for the message, the part of the table that is to be changed.
 */
void
rights_require_plain_table(Relation rel, const char *what)
{
	rights_require_owner(rel);
	if (rel->rd_rel->relkind != RELKIND_RELATION || rel->rd_rel->relispartition)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s of table \"%s\" cannot be changed", what, RelationGetRelationName(rel)),
				 errdetail("It is partitioned, or a partition.")));
}
