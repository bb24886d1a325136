/*
 * key_grant_declare.c
 *	  dyn_grant_keys(), dyn_revoke_keys(), and the list of what they have granted.
 *
 * A grant is a policy for each command of SQL that its actions amount to, and one for the actions
 * that only calls have.  The first grant enables row-level security, and gives each role that has
 * privileges a policy that shows it everything, so that for these nothing changes.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/policy.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/key_grant.h"
#include "catalog/listing.h"
#include "catalog/resource.h"
#include "catalog/rights.h"
#include "catalog/vector.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"

#define KEYS_POLICY "dynamo_keys_"
#define OTHERS_POLICY "dynamo_others_"

/*
 * What a command of SQL needs: the actions that allow all that it can do with the items of a key.
 * A SELECT reads collections, which GetItem does not.  The last entry has the actions that only
 * calls have.
 */
static const struct
{
	const char *command;
	uint32 actions;
} commands[] = {{"SELECT", ACTION_BIT(ACTION_QUERY) | ACTION_BIT(ACTION_SCAN) |
							   ACTION_BIT(ACTION_PARTIQL_SELECT)},
				{"INSERT", ACTION_BIT(ACTION_PUT_ITEM) | ACTION_BIT(ACTION_PARTIQL_INSERT)},
				{"UPDATE", ACTION_BIT(ACTION_UPDATE_ITEM) | ACTION_BIT(ACTION_PARTIQL_UPDATE)},
				{"DELETE", ACTION_BIT(ACTION_DELETE_ITEM) | ACTION_BIT(ACTION_PARTIQL_DELETE)},
				{NULL, ACTION_BIT(ACTION_GET_ITEM) | ACTION_BIT(ACTION_BATCH_GET_ITEM) |
						   ACTION_BIT(ACTION_CONDITION_CHECK_ITEM) |
						   ACTION_BIT(ACTION_BATCH_WRITE_ITEM)}};

/* These read, and name an index. */
#define INDEX_ACTIONS commands[0].actions
#define READ_ACTIONS \
	(INDEX_ACTIONS | ACTION_BIT(ACTION_GET_ITEM) | ACTION_BIT(ACTION_BATCH_GET_ITEM))
/* What each privilege is for; all that write lock rows, which takes UPDATE. */
#define INSERT_ACTIONS \
	(commands[1].actions | commands[2].actions | ACTION_BIT(ACTION_BATCH_WRITE_ITEM))
#define DELETE_ACTIONS (commands[3].actions | ACTION_BIT(ACTION_BATCH_WRITE_ITEM))
/* These need not name a key. */
#define KEYLESS_ACTIONS (ACTION_BIT(ACTION_SCAN) | ACTION_BIT(ACTION_PARTIQL_SELECT))

/* This is a call of either function. */
typedef struct Declaration
{
	Oid relid;
	Oid owner;
	AttrNumber natts;
	DynTable *table;
	const char *qualified;
	Oid role;
	uint32 actions; /* 0: all that there are, on the table and its indexes */
	ItemSpan index;
	const char *keys; /* as a literal of SQL; NULL: any */
} Declaration;

static char *
action_list(uint32 actions, const char *between)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < DYN_NACTIONS; i++)
	{
		if ((actions & ACTION_BIT(i)) != 0)
			appendStringInfo(&list, "%s%s", list.len > 0 ? between : "", dyn_action_names[i]);
	}
	return list.data;
}

/*
 * Arguments
 */

static uint32
read_actions(ArrayType *array)
{
	uint32 actions = 0;
	int n;
	Datum *elements = argument_elements(array, "actions", &n);

	for (int i = 0; i < n; i++)
	{
		ItemSpan pattern = text_span(DatumGetTextPP(elements[i]));
		uint32 named = dyn_actions_of(pattern);

		if (named == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("action \"%.*s\" cannot be granted", (int) pattern.len, pattern.data),
					 errdetail("Actions on items are %s.",
							   action_list(ACTION_BIT(DYN_NACTIONS) - 1, ", "))));
		actions |= named;
	}
	if (actions == 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("actions must not be empty")));
	return actions;
}

static int
compare_texts(const void *a, const void *b)
{
	return item_compare_bytes(text_span(DatumGetTextPP(*(const Datum *) a)),
							  text_span(DatumGetTextPP(*(const Datum *) b)));
}

/* Returns leading keys in order and each once, as an array in a literal of SQL. */
static char *
keys_literal(Datum *elements, int n)
{
	int kept = 0;
	char *array;

	qsort(elements, n, sizeof(Datum), compare_texts);
	for (int i = 0; i < n; i++)
	{
		if (kept == 0 || compare_texts(&elements[kept - 1], &elements[i]) != 0)
			elements[kept++] = elements[i];
	}
	array = OidOutputFunctionCall(
		F_ARRAY_OUT,
		PointerGetDatum(construct_array(elements, kept, TEXTOID, -1, false, TYPALIGN_INT)));
	return psprintf("%s::pg_catalog.text[]", quote_literal_cstr(array));
}

static char *
read_keys(ArrayType *array)
{
	int n;
	Datum *elements = argument_elements(array, "leading_keys", &n);

	if (n == 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("leading_keys must not be empty"),
						errhint("NULL stands for all keys.")));
	for (int i = 0; i < n; i++)
		dyn_check_key_pattern(text_span(DatumGetTextPP(elements[i])));
	return keys_literal(elements, n);
}

static Datum *
texts(int n, const ItemSpan *spans)
{
	Datum *elements = palloc(Max(n, 1) * sizeof(Datum));

	for (int i = 0; i < n; i++)
		elements[i] = PointerGetDatum(span_text(spans[i]));
	return elements;
}

static char *
grant_keys_literal(const DynKeyGrant *grant)
{
	return grant->any_key ? NULL : keys_literal(texts(grant->nkeys, grant->keys), grant->nkeys);
}

/* Reads the arguments, and locks the table for its owner. */
static void
declaration_begin(FunctionCallInfo fcinfo, Declaration *d)
{
	Relation rel;

	argument_require(fcinfo, 1, "role");
	*d = (Declaration){.role = PG_GETARG_OID(1)};
	if (!SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(d->role)))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("role with OID %u does not exist", d->role)));
	if (!PG_ARGISNULL(2))
		d->actions = read_actions(PG_GETARG_ARRAYTYPE_P(2));
	if (!PG_ARGISNULL(3))
		d->keys = read_keys(PG_GETARG_ARRAYTYPE_P(3));
	if (!PG_ARGISNULL(4))
		d->index = text_span(PG_GETARG_TEXT_PP(4));
	rel = resource_lock(text_span(argument_required_text(fcinfo, 0, "table_name")),
						AccessExclusiveLock, &d->table);
	rights_require_plain_table(rel, "grants by leading keys");
	if (d->table->distributed)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("distributed table \"%s\" cannot have grants by leading keys",
							   d->table->name)));
	extension_keep_schema(RelationGetNamespace(rel));
	d->relid = RelationGetRelid(rel);
	d->owner = rel->rd_rel->relowner;
	d->natts = RelationGetNumberOfAttributes(rel);
	/* the lock stays; statements that alter it must find it closed */
	relation_close(rel, NoLock);
	d->qualified = d->table->qualified;
	SPI_connect();
}

static void
run(const char *sql)
{
	if (SPI_execute(sql, false, 0) < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(SPI_result));
}

/*
 * Policies
 */

static const char *
role_name(Oid role)
{
	return quote_identifier(GetUserNameFromId(role, false));
}

/* Returns a name that no policy of the table has; numbers go up, so the search begins there. */
static const char *
new_name(const Declaration *d, const char *prefix)
{
	for (int i = d->table->grants->n + 1;; i++)
	{
		char *name = psprintf("%s%d", prefix, i);

		if (!OidIsValid(get_relation_policy_oid(d->relid, name, true)))
			return quote_identifier(name);
	}
}

/* Makes the policy of a command, or of what calls do alone, which shows nothing to SQL. */
static void
create_policy(const Declaration *d, const char *command, uint32 actions, ItemSpan index,
			  const char *keys)
{
	char *condition;

	condition = psprintf(
		DYN_INTERNAL ".key_granted(%s, %s::pg_catalog.text, %s::pg_catalog.text, %s)",
		command == NULL ? "NULL::pg_catalog.text" : quote_identifier(d->table->keys[0].column),
		quote_literal_cstr(action_list(actions, ",")),
		index.len == 0 ? "NULL" : quote_literal_cstr(span_string(index)),
		keys == NULL ? "NULL::pg_catalog.text[]" : keys);
	run(psprintf(
		"CREATE POLICY %s ON %s AS PERMISSIVE FOR %s TO %s %s (%s)", new_name(d, KEYS_POLICY),
		d->qualified, command == NULL ? "SELECT" : command, role_name(d->role),
		command != NULL && strcmp(command, "INSERT") == 0 ? "WITH CHECK" : "USING", condition));
}

static void
create_policies(const Declaration *d, uint32 actions, ItemSpan index, const char *keys)
{
	if (index.len > 0 && actions != 0)
		create_policy(d, NULL, actions, index, keys);
	for (int i = 0; i < lengthof(commands) && index.len == 0; i++)
	{
		if ((actions & commands[i].actions) != 0)
			create_policy(d, commands[i].command, actions & commands[i].actions, index, keys);
	}
}

static void
drop_policy(const Declaration *d, const char *policy)
{
	run(psprintf("DROP POLICY %s ON %s", quote_identifier(policy), d->qualified));
}

static bool
is_of_role(const Declaration *d, const DynKeyGrant *grant)
{
	return grant->nroles == 1 && grant->roles[0] == d->role;
}

static bool
is_of_others(const DynKeyGrant *grant)
{
	return grant->all && strncmp(grant->policy, OTHERS_POLICY, strlen(OTHERS_POLICY)) == 0;
}

/* Returns whether a grant is for the same keys of the same table or index. */
static bool
is_same(const Declaration *d, const DynKeyGrant *grant)
{
	const char *keys;

	if (grant->all || !is_of_role(d, grant) || item_compare_bytes(grant->index, d->index) != 0)
		return false;
	keys = grant_keys_literal(grant);
	return keys == NULL || d->keys == NULL ? keys == d->keys : strcmp(keys, d->keys) == 0;
}

/*
 * Other roles
 */

static List *
add_grantees(List *roles, const Declaration *d, bool isnull, Datum datum)
{
	Acl *acl = isnull ? NULL : DatumGetAclPCopy(datum);

	for (int i = 0; acl != NULL && i < ACL_NUM(acl); i++)
	{
		Oid grantee = ACL_DAT(acl)[i].ai_grantee;

		if (grantee == ACL_ID_PUBLIC)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("PUBLIC has privileges on table \"%s\"", d->table->name),
					 errdetail("Row-level security cannot leave these to all roles but one."),
					 errhint("Revoke them from PUBLIC, and grant them to roles.")));
		if (grantee != d->role)
			roles = list_append_unique_oid(roles, grantee);
	}
	return roles;
}

/* Returns the roles that have privileges on the table or on a column, and its owner. */
static List *
roles_with_privileges(const Declaration *d)
{
	List *roles = list_make1_oid(d->owner);
	Oid relid = d->relid;
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool isnull;
	Datum acl;

	acl = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	roles = add_grantees(roles, d, isnull, acl);
	ReleaseSysCache(tuple);
	for (AttrNumber i = 1; i <= d->natts; i++)
	{
		tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(i));
		acl = SysCacheGetAttr(ATTNUM, tuple, Anum_pg_attribute_attacl, &isnull);
		roles = add_grantees(roles, d, isnull, acl);
		ReleaseSysCache(tuple);
	}
	return roles;
}

/* Warns if a policy that shows everything is for a role whose rights the limited role has. */
static void
warn_of_other_rights(const Declaration *d, Oid role)
{
	if (role == ACL_ID_PUBLIC || has_privs_of_role(d->role, role))
		ereport(WARNING,
				(errmsg("grants by leading keys do not limit role \"%s\"",
						GetUserNameFromId(d->role, false)),
				 errdetail(
					 "It has the rights of %s, to which policies of table \"%s\" show everything.",
					 role == ACL_ID_PUBLIC ? "PUBLIC" : role_name(role), d->table->name)));
}

static void
enable_row_security(const Declaration *d)
{
	ListCell *cell;

	foreach (cell, roles_with_privileges(d))
	{
		run(psprintf("CREATE POLICY %s ON %s TO %s USING (true)", new_name(d, OTHERS_POLICY),
					 d->qualified, role_name(lfirst_oid(cell))));
		warn_of_other_rights(d, lfirst_oid(cell));
	}
	run(psprintf("ALTER TABLE %s ENABLE ROW LEVEL SECURITY", d->qualified));
}

/* The role's own policy that shows everything goes; those of roles that it has the rights of stay. */
static void
limit_role(const Declaration *d)
{
	for (int i = 0; i < d->table->grants->n; i++)
	{
		const DynKeyGrant *grant = &d->table->grants->grants[i];

		if (is_of_others(grant) && is_of_role(d, grant))
			drop_policy(d, grant->policy);
		else if (grant->all)
		{
			for (int k = 0; k < grant->nroles; k++)
				warn_of_other_rights(d, grant->roles[k]);
		}
	}
}

/*
 * Functions
 */

static void
check_role(const Declaration *d)
{
	if (superuser_arg(d->role) || has_bypassrls_privilege(d->role) ||
		has_privs_of_role(d->role, d->owner))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("role \"%s\" cannot be limited to leading keys",
						GetUserNameFromId(d->role, false)),
				 errdetail(
					 "It is a superuser, has BYPASSRLS, or has the rights of the table's owner.")));
}

static void
check_index(const Declaration *d)
{
	uint32 others = d->actions & ~INDEX_ACTIONS;

	if (d->index.len == 0)
		return;
	if (dyn_find_index(d->table, d->index) == NULL && dyn_find_vector(d->table, d->index) == NULL)
		dyn_fail_no_index(d->table, d->index, ERRCODE_DYN_RESOURCE_NOT_FOUND,
						  "Requested resource not found");
	if (others != 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("indexes have no action %s", action_list(others, ", ")),
						errdetail("Actions on indexes are %s.", action_list(INDEX_ACTIONS, ", "))));
}

/* ForAllValues is true where there are no values. */
static void
warn_of_keyless(const Declaration *d)
{
	uint32 keyless = d->actions & KEYLESS_ACTIONS;

	if (keyless != 0 && d->keys != NULL)
		ereport(WARNING,
				(errmsg("leading keys do not limit requests without a key"),
				 errdetail("By a call of %s role \"%s\" can read all items of %s \"%s\".",
						   action_list(keyless, ", "), GetUserNameFromId(d->role, false),
						   d->index.len > 0 ? "index" : "table",
						   d->index.len > 0 ? span_string(d->index) : d->table->name),
				 errhint("Grant Query without Scan and PartiQLSelect to keep items of other keys "
						 "away.")));
}

/* Grants actions on the items of leading keys to a role. */
PG_FUNCTION_INFO_V1(dyn_grant_keys);
Datum
dyn_grant_keys(PG_FUNCTION_ARGS)
{
	Declaration d;
	uint32 actions;

	argument_require(fcinfo, 2, "actions");
	declaration_begin(fcinfo, &d);
	/* a pattern means those that an index has */
	if (d.index.len > 0 && d.actions == ACTION_BIT(DYN_NACTIONS) - 1)
		d.actions = INDEX_ACTIONS;
	check_role(&d);
	check_index(&d);
	warn_of_keyless(&d);
	if (!d.table->row_security)
		enable_row_security(&d);
	limit_role(&d);
	actions = d.actions;
	for (int i = 0; i < d.table->grants->n; i++)
	{
		if (is_same(&d, &d.table->grants->grants[i]))
			actions &= ~d.table->grants->grants[i].actions;
	}
	create_policies(&d, actions, d.index, d.keys);
	run(psprintf(
		"GRANT SELECT%s%s%s ON TABLE %s TO %s", (d.actions & INSERT_ACTIONS) != 0 ? ", INSERT" : "",
		(d.actions & ~READ_ACTIONS) != 0 ? ", UPDATE" : "",
		(d.actions & DELETE_ACTIONS) != 0 ? ", DELETE" : "", d.qualified, role_name(d.role)));
	SPI_finish();
	PG_RETURN_VOID();
}

/* Returns the actions of a grant that the call leaves; all of them if it is not meant. */
static uint32
left_actions(const Declaration *d, const DynKeyGrant *grant)
{
	if (grant->all || !is_of_role(d, grant))
		return grant->actions;
	if (d->actions == 0)
		return 0;
	return is_same(d, grant) ? grant->actions & ~d->actions : grant->actions;
}

/* What the first grant has done is undone after the last one, unless others have made policies. */
static void
disable_row_security(const Declaration *d)
{
	const DynKeyGrants *grants = d->table->grants;

	for (int i = 0; i < grants->n; i++)
	{
		if (is_of_others(&grants->grants[i]))
			drop_policy(d, grants->grants[i].policy);
	}
	run(psprintf("ALTER TABLE %s DISABLE ROW LEVEL SECURITY", d->qualified));
}

/* Revokes actions on the items of leading keys from a role, or all that it was granted. */
PG_FUNCTION_INFO_V1(dyn_revoke_keys);
Datum
dyn_revoke_keys(PG_FUNCTION_ARGS)
{
	const DynKeyGrants *grants;
	bool others = false;
	bool of_role = false;
	int left = 0;
	int changed = 0;
	Declaration d;

	declaration_begin(fcinfo, &d);
	grants = d.table->grants;
	for (int i = 0; i < grants->n; i++)
	{
		const DynKeyGrant *grant = &grants->grants[i];
		uint32 actions = left_actions(&d, grant);

		others |= is_of_others(grant);
		if (grant->all || actions != 0)
		{
			left += !is_of_others(grant);
			of_role |= !grant->all && is_of_role(&d, grant);
		}
		if (grant->all || actions == grant->actions)
			continue;
		changed++;
		drop_policy(&d, grant->policy);
		create_policies(&d, actions, grant->index, grant_keys_literal(grant));
	}
	if (changed == 0)
		ereport(NOTICE, (errmsg("role \"%s\" has no such grants on table \"%s\"",
								GetUserNameFromId(d.role, false), d.table->name)));
	else if (!of_role)
		run(psprintf("REVOKE ALL ON TABLE %s FROM %s", d.qualified, role_name(d.role)));
	if (changed > 0 && left == 0 && others && !grants->foreign)
		disable_row_security(&d);
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * The list
 */

static void
put_grants(ReturnSetInfo *result, const DynListed *listed, void *arg)
{
	int n = listed->table == NULL ? 0 : listed->table->grants->n;

	for (int i = 0; i < n; i++)
	{
		const DynKeyGrant *grant = &listed->table->grants->grants[i];
		ArrayType *keys = grant->any_key
							  ? NULL
							  : construct_array(texts(grant->nkeys, grant->keys), grant->nkeys,
												TEXTOID, -1, false, TYPALIGN_INT);

		for (int k = 0; k < grant->nroles && !grant->all; k++)
			sql_put(result,
					SQL_VALUES(SQL_VALUE(REGCLASSOID, ObjectIdGetDatum(listed->relid)),
							   SQL_VALUE(REGROLEOID, ObjectIdGetDatum(grant->roles[k])),
							   grant->index.len == 0 ? SQL_TEXT(NULL) : sql_span(grant->index),
							   SQL_POINTER(TEXTARRAYOID, keys),
							   SQL_TEXT(action_list(grant->actions, ","))));
	}
}

/* dynamo_internal.key_grants(): grants of tables that the caller may read, a row for each policy. */
PG_FUNCTION_INFO_V1(dyn_list_key_grants);
Datum
dyn_list_key_grants(PG_FUNCTION_ARGS)
{
	dyn_list(fcinfo, dyn_listed_tables(NULL), put_grants, NULL);
	return (Datum) 0;
}
