/*
 * key_grant.c
 *	  What a table's policies grant by leading keys, and whether that covers a request.
 *
 * A grant is a policy whose condition is one call of dynamo_internal.key_granted() with constants,
 * besides the key.  Policies are their table owner's: constants may be anything of their types.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "rewrite/rowsecurity.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "catalog/key.h"
#include "catalog/key_grant.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/server.h"

const char *const dyn_action_names[] = {"GetItem",
										"BatchGetItem",
										"Query",
										"Scan",
										"ConditionCheckItem",
										"PutItem",
										"UpdateItem",
										"DeleteItem",
										"BatchWriteItem",
										"PartiQLSelect",
										"PartiQLInsert",
										"PartiQLUpdate",
										"PartiQLDelete",
										NULL};

/*
 * Reading
 */

static bool
is_key_granted(Oid function)
{
	char *name = get_func_name(function);
	char *schema = name == NULL ? NULL : get_namespace_name(get_func_namespace(function));

	return schema != NULL && strcmp(name, "key_granted") == 0 && strcmp(schema, DYN_INTERNAL) == 0;
}

/* Returns the bits of actions that are listed, with commas between them. */
static uint32
read_actions(const char *list)
{
	uint32 actions = 0;

	for (const char *name = list; *name != '\0';)
	{
		size_t len = strcspn(name, ",");

		for (int i = 0; i < DYN_NACTIONS; i++)
		{
			if (strlen(dyn_action_names[i]) == len && memcmp(dyn_action_names[i], name, len) == 0)
				actions |= ACTION_BIT(i);
		}
		name += len + (name[len] == ',');
	}
	return actions;
}

/* Returns elements that are not NULL, as copies. */
static ItemSpan *
read_keys(ArrayType *array, int *n)
{
	Datum *elements;
	bool *nulls;
	ItemSpan *keys;
	int count;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	keys = palloc(Max(count, 1) * sizeof(ItemSpan));
	*n = 0;
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i])
			keys[(*n)++] = text_span(DatumGetTextPCopy(elements[i]));
	}
	return keys;
}

/* Fills in the grant of a condition; returns false if it is none. */
static bool
read_call(Node *condition, DynKeyGrant *grant)
{
	static const Oid types[] = {TEXTOID, TEXTOID, TEXTARRAYOID};
	const Const *arguments[lengthof(types)];
	const FuncExpr *call = (const FuncExpr *) condition;

	if (condition == NULL || !IsA(condition, FuncExpr) || !is_key_granted(call->funcid) ||
		list_length(call->args) != lengthof(types) + 1)
		return false;
	for (int i = 0; i < lengthof(types); i++)
	{
		arguments[i] = list_nth(call->args, i + 1);
		if (!IsA(arguments[i], Const) || arguments[i]->consttype != types[i])
			return false;
	}
	if (!arguments[0]->constisnull)
		grant->actions = read_actions(TextDatumGetCString(arguments[0]->constvalue));
	if (!arguments[1]->constisnull)
		grant->index = text_span(DatumGetTextPCopy(arguments[1]->constvalue));
	grant->any_key = arguments[2]->constisnull;
	if (!grant->any_key)
		grant->keys = read_keys(DatumGetArrayTypePCopy(arguments[2]->constvalue), &grant->nkeys);
	return true;
}

static bool
is_true(const Expr *condition)
{
	const Const *value = (const Const *) condition;

	return condition != NULL && IsA(condition, Const) && !value->constisnull &&
		   DatumGetBool(value->constvalue);
}

static void
read_roles(const ArrayType *roles, DynKeyGrant *grant)
{
	Size size = (Size) ARR_DIMS(roles)[0] * sizeof(Oid);

	grant->nroles = ARR_DIMS(roles)[0];
	grant->roles = memcpy(palloc(size), ARR_DATA_PTR(roles), size);
}

/* Returns whether a policy that is permissive shows everything. */
static bool
shows_all(char command, const Expr *qual, const Expr *check)
{
	return command == '*' && is_true(qual) && (check == NULL || is_true(check));
}

/* Returns what the policies of a relation grant, in the current memory context. */
const DynKeyGrants *
dyn_read_key_grants(Relation rel)
{
	DynKeyGrants *grants = palloc0(sizeof(DynKeyGrants));
	ListCell *cell;

	if (!rel->rd_rel->relrowsecurity || rel->rd_rsdesc == NULL)
		return grants;
	grants->grants = palloc0(Max(list_length(rel->rd_rsdesc->policies), 1) * sizeof(DynKeyGrant));
	foreach (cell, rel->rd_rsdesc->policies)
	{
		const RowSecurityPolicy *policy = lfirst(cell);
		DynKeyGrant *grant = &grants->grants[grants->n];
		const Expr *condition = policy->qual != NULL ? policy->qual : policy->with_check_qual;

		if (!policy->permissive)
		{
			grants->restricted = grants->foreign = true;
			continue;
		}
		*grant = (DynKeyGrant){.policy = pstrdup(policy->policy_name)};
		grant->all = shows_all(policy->polcmd, policy->qual, policy->with_check_qual);
		if (!grant->all && !read_call((Node *) condition, grant))
		{
			grants->foreign = true;
			continue;
		}
		read_roles(policy->roles, grant);
		grants->any |= !grant->all;
		grants->n++;
	}
	return grants;
}

/*
 * Matching
 *
 * A pattern is IAM's: * stands for any characters and ? for one; ${*}, ${?} and ${$} for these
 * themselves, and ${role} for the name of the current user.
 */

typedef struct Pattern
{
	char *bytes;
	bool *wild; /* the byte is a * or ? that stands for others */
	int len;
} Pattern;

static void
add_bytes(Pattern *pattern, const char *bytes, size_t len, bool wild)
{
	memcpy(pattern->bytes + pattern->len, bytes, len);
	memset(pattern->wild + pattern->len, wild, len * sizeof(bool));
	pattern->len += (int) len;
}

/* Returns the length of a variable with its braces at a place, and sets what it stands for; or 0. */
static uint32
take_variable(ItemSpan text, uint32 at, const char *role, const char **value)
{
	static const char *const names[][2] = {
		{"${*}", "*"}, {"${?}", "?"}, {"${$}", "$"}, {"${role}", NULL}};

	for (int i = 0; i < lengthof(names); i++)
	{
		uint32 len = (uint32) strlen(names[i][0]);

		if (text.len - at >= len && memcmp(text.data + at, names[i][0], len) == 0)
		{
			*value = names[i][1] != NULL ? names[i][1] : role;
			return len;
		}
	}
	return 0;
}

static Pattern
expand(ItemSpan text, const char *role)
{
	/* "${role}" may become longer than it is */
	Size size = (Size) text.len * NAMEDATALEN / 4 + NAMEDATALEN;
	Pattern pattern = {palloc(size), palloc(size * sizeof(bool)), 0};

	for (uint32 i = 0; i < text.len;)
	{
		const char *value;
		uint32 len = take_variable(text, i, role, &value);

		if (len > 0)
			add_bytes(&pattern, value, strlen(value), false);
		else
			add_bytes(&pattern, text.data + i, 1, text.data[i] == '*' || text.data[i] == '?');
		i += Max(len, 1);
	}
	return pattern;
}

/*
 * Matches as LIKE does: a * takes more only where what follows it does not match.  That takes the
 * product of both lengths, which are those that a caller or a table's owner likes.
 */
static bool
matches(const Pattern *pattern, ItemSpan value)
{
	uint32 at = 0;
	int i = 0;
	int star = -1;
	uint32 taken = 0;

	while (at < value.len)
	{
		bool wild = i < pattern->len && pattern->wild[i];

		CHECK_FOR_INTERRUPTS();
		if (wild && pattern->bytes[i] == '*')
		{
			star = i++;
			taken = at;
		}
		else if (wild)
		{
			at +=
				Min(value.len - at, (uint32) pg_utf_mblen((const unsigned char *) value.data + at));
			i++;
		}
		else if (i < pattern->len && pattern->bytes[i] == value.data[at])
		{
			at++;
			i++;
		}
		else if (star >= 0)
		{
			taken += Min(value.len - taken,
						 (uint32) pg_utf_mblen((const unsigned char *) value.data + taken));
			at = taken;
			i = star + 1;
		}
		else
			return false;
	}
	while (i < pattern->len && pattern->wild[i] && pattern->bytes[i] == '*')
		i++;
	return i == pattern->len;
}

/* Returns the actions that a pattern names, which need not begin with "dynamodb:". */
uint32
dyn_actions_of(ItemSpan pattern)
{
	static const char service[] = "dynamodb:";
	uint32 prefix = sizeof(service) - 1;
	uint32 actions = 0;
	Pattern lower;

	if (pattern.len >= prefix && pg_strncasecmp(pattern.data, service, prefix) == 0)
		pattern = (ItemSpan){pattern.data + prefix, pattern.len - prefix};
	lower = expand((ItemSpan){asc_tolower(pattern.data, pattern.len), pattern.len}, "");
	for (int i = 0; i < DYN_NACTIONS; i++)
	{
		const char *name = dyn_action_names[i];
		uint32 len = (uint32) strlen(name);

		if (matches(&lower, (ItemSpan){asc_tolower(name, len), len}))
			actions |= ACTION_BIT(i);
	}
	return actions;
}

/* Raises an error for a pattern with a variable that there is not. */
void
dyn_check_key_pattern(ItemSpan pattern)
{
	for (uint32 i = 0; i + 1 < pattern.len;)
	{
		const char *value;
		uint32 len = take_variable(pattern, i, "", &value);

		if (len == 0 && pattern.data[i] == '$' && pattern.data[i + 1] == '{')
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("invalid leading key \"%.*s\"", (int) pattern.len, pattern.data),
					 errdetail("It has a variable other than ${role}, ${*}, ${?} and ${$}.")));
		i += Max(len, 1);
	}
}

static ItemSpan
base64(const struct varlena *bytes)
{
	int len;
	char *text =
		item_base64((ItemSpan){VARDATA_ANY(bytes), (uint32) VARSIZE_ANY_EXHDR(bytes)}, &len);

	return (ItemSpan){text, (uint32) len};
}

/* Takes back the escapes of a key column, see key.c. */
static ItemSpan
unescaped(const struct varlena *column)
{
	const char *in = VARDATA_ANY(column);
	Size len = VARSIZE_ANY_EXHDR(column);
	char *out;
	uint32 n = 0;

	if (memchr(in, 1, len) == NULL)
		return (ItemSpan){in, (uint32) len};
	out = palloc(len);
	for (Size i = 0; i < len; i++)
		out[n++] = in[i] == 1 && i + 1 < len ? in[++i] - 1 : in[i];
	return (ItemSpan){out, n};
}

/* Returns a column's value as policies write it: numbers without zeros at the end, bytes as base64. */
static ItemSpan
written(Oid type, Datum value)
{
	char *number;

	if (type == BYTEAOID)
		return base64(PG_DETOAST_DATUM_PACKED(value));
	if (type == TEXTOID)
		return unescaped(PG_DETOAST_DATUM_PACKED(value));
	number = numeric_normalize(DatumGetNumeric(value));
	return (ItemSpan){number, (uint32) strlen(number)};
}

static bool
any_matches(int n, const ItemSpan *patterns, ItemSpan value)
{
	const char *role = GetUserNameFromId(GetUserId(), true);

	for (int i = 0; i < n && role != NULL; i++)
	{
		Pattern pattern = expand(patterns[i], role);
		bool found = matches(&pattern, value);

		pfree(pattern.bytes);
		pfree(pattern.wild);
		if (found)
			return true;
	}
	return false;
}

/*
 * dynamo_internal.key_granted(key "any", actions text, index text, leading_keys text[]): the
 * condition of a policy.  True if the key is there and matches one of the leading keys, or these
 * are NULL.
 */
PG_FUNCTION_INFO_V1(dyn_key_granted);
Datum
dyn_key_granted(PG_FUNCTION_ARGS)
{
	Oid type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	ItemSpan *keys;
	int n;

	if (PG_ARGISNULL(0) || (type != TEXTOID && type != NUMERICOID && type != BYTEAOID))
		PG_RETURN_BOOL(false);
	if (PG_ARGISNULL(3))
		PG_RETURN_BOOL(true);
	keys = read_keys(PG_GETARG_ARRAYTYPE_P(3), &n);
	PG_RETURN_BOOL(any_matches(n, keys, written(type, PG_GETARG_DATUM(0))));
}

/*
 * Requests
 */

static bool
is_for(const DynKeyGrant *grant, Oid user)
{
	for (int i = 0; i < grant->nroles; i++)
	{
		if (grant->roles[i] == ACL_ID_PUBLIC || has_privs_of_role(user, grant->roles[i]))
			return true;
	}
	return false;
}

static Expr *
policy_expression(Relation policies, HeapTuple tuple, AttrNumber attnum)
{
	bool isnull;
	Datum tree = heap_getattr(tuple, attnum, RelationGetDescr(policies), &isnull);

	return isnull ? NULL : (Expr *) stringToNode(TextDatumGetCString(tree));
}

/* Returns whether the policy is one that shows the user everything. */
static bool
shows_all_to(Relation policies, HeapTuple tuple, Oid user)
{
	DynKeyGrant grant = {0};
	bool isnull;
	Datum roles;

	if (!shows_all(((Form_pg_policy) GETSTRUCT(tuple))->polcmd,
				   policy_expression(policies, tuple, Anum_pg_policy_polqual),
				   policy_expression(policies, tuple, Anum_pg_policy_polwithcheck)))
		return false;
	roles = heap_getattr(tuple, Anum_pg_policy_polroles, RelationGetDescr(policies), &isnull);
	read_roles(DatumGetArrayTypeP(roles), &grant);
	return is_for(&grant, user);
}

/*
 * Returns whether row-level security may hide rows of a relation from the current user: it applies,
 * and no policy shows the user everything, or there are restrictive ones.  The relation need not be
 * locked, and may be gone.
 */
bool
dyn_policies_hide(Oid relid)
{
	bool restricted = false;
	bool all = false;
	Relation policies;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	if (check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED)
		return false;
	policies = table_open(PolicyRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_policy_polrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(policies, PolicyPolrelidPolnameIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		if (!((Form_pg_policy) GETSTRUCT(tuple))->polpermissive)
			restricted = true;
		else if (!all)
			all = shows_all_to(policies, tuple, GetUserId());
	}
	systable_endscan(scan);
	table_close(policies, AccessShareLock);
	return restricted || !all;
}

/*
 * Returns whether the current user may read all items of a table: privileges and policies keep none
 * away.  False if the table is gone.
 */
bool
dyn_reads_all(Oid relid)
{
	bool missing = false;

	return pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing) == ACLCHECK_OK &&
		   !dyn_policies_hide(relid);
}

/* Returns whether all values are granted, as ForAllValues has it: also if there are none. */
static bool
covers_values(const DynKeyGrant *grant, const DynTable *table, const DynIndex *index, int nvalues,
			  const Datum *values)
{
	for (int i = 0; i < nvalues && !grant->any_key; i++)
	{
		const DynKey *key =
			index->hash != NULL ? index->hash : dyn_index_key(table, index, i % index->npartition);

		if (!any_matches(grant->nkeys, grant->keys,
						 written(dyn_key_column_type(key->type), values[i])))
			return false;
	}
	return true;
}

/*
 * Returns whether grants for the current user cover an action on the table or an index.  The values
 * are those of the partition keys that the request names: one grant has to cover all of them, since
 * a request is allowed as a whole.
 */
DynGranted
dyn_key_granted_for(const DynTable *table, const DynIndex *index, DynAction action, int nvalues,
					const Datum *values)
{
	DynGranted result = GRANTED_NOTHING;
	Oid user = GetUserId();

	for (int i = 0; i < table->grants->n; i++)
	{
		const DynKeyGrant *grant = &table->grants->grants[i];

		if (!is_for(grant, user))
			continue;
		if (grant->all)
			return GRANTED_ALL;
		if (result == GRANTED_NOTHING)
			result = GRANTED_OTHERS;
		if ((grant->actions & ACTION_BIT(action)) != 0 &&
			item_compare_bytes(grant->index, index->name) == 0 &&
			covers_values(grant, table, index, nvalues, values))
			result = GRANTED_KEYS;
	}
	return result;
}
