/*
 * lookup.c
 *	  From DynamoDB's names to relations and columns.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/definition/arn.h"
#include "catalog/definition/definition.h"
#include "catalog/definition/trigger.h"
#include "catalog/distribute.h"
#include "catalog/listing.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "catalog/table.h"
#include "server/compat.h"
#include "server/errors.h"

#define NAME_PREFIX_LENGTH 54

/* These take some 800 bytes each. */
#define MAX_MISSING_NAMES 1000

/* See dyn_expect_tables(). */
static ArrayType *expected_tables = NULL;

static bool
is_reserved_column(const char *name)
{
	static const char *const reserved[] = {DYN_ITEM_COLUMN, "ctid", "xmin",    "cmin",
										   "xmax",          "cmax", "tableoid"};

	for (int i = 0; i < lengthof(reserved); i++)
	{
		if (strcmp(name, reserved[i]) == 0)
			return true;
	}
	return false;
}

static char *
hashed_identifier(ItemSpan name)
{
	int clip = pg_encoding_mbcliplen(PG_UTF8, name.data, name.len, NAME_PREFIX_LENGTH);

	return psprintf("%.*s_%08x", clip, name.data,
					hash_bytes((const unsigned char *) name.data, (int) name.len));
}

/* Returns the identifier for a name of DynamoDB's: the name itself, unless it is too long. */
char *
dyn_identifier(ItemSpan name)
{
	char *identifier = span_string(name);

	return strlen(identifier) == name.len && name.len < NAMEDATALEN ? identifier
																	: hashed_identifier(name);
}

/* Returns a name for a column, which must differ from those that every table of items has. */
char *
dyn_column_identifier(ItemSpan name)
{
	char *identifier = dyn_identifier(name);

	return is_reserved_column(identifier) ? hashed_identifier(name) : identifier;
}

/* Splits "schema.table" at the first dot; schema is NULL if there is none. */
void
dyn_split_name(ItemSpan name, char **schema, char **relation)
{
	const char *dot = memchr(name.data, '.', name.len);
	ItemSpan rest = name;

	*schema = NULL;
	if (dot != NULL && dot > name.data && dot + 1 < name.data + name.len)
	{
		ItemSpan first = {name.data, (uint32) (dot - name.data)};

		*schema = dyn_identifier(first);
		rest = (ItemSpan){dot + 1, name.len - first.len - 1};
	}
	*relation = dyn_identifier(rest);
}

/*
 * Returns DynamoDB's name of a table.  A name that is too long for a relation is in the settings,
 * and counts until the relation is renamed.
 */
ItemSpan
dyn_name_of_relation(const char *relation, const DynSettings *settings)
{
	if (settings != NULL && settings->name.len > 0 &&
		strcmp(dyn_identifier(settings->name), relation) == 0)
		return settings->name;
	return item_span(relation);
}

/*
 * Counts a name that is not there, and clears the caches of names after so many.  The server would
 * remember each name until the session ends, and a client may send any text.
 */
void
dyn_count_missing(void)
{
	static uint32 names = 0;

	if (++names % MAX_MISSING_NAMES != 0)
		return;
	CatalogCacheFlushCatalog(RelationRelationId);
	CatalogCacheFlushCatalog(NamespaceRelationId);
}

static Oid
lookup_relation(const char *schema, const char *relation, RightsWanted *wanted)
{
	return RangeVarGetRelidExtended(
		makeRangeVar(unconstify(char *, schema), unconstify(char *, relation), -1), wanted->mode,
		RVR_MISSING_OK | (wanted->at_once ? RVR_SKIP_LOCKED : 0), rights_check_name, wanted);
}

static bool
may_use_schema(const char *name)
{
	Oid namespace = get_namespace_oid(name, true);

	return OidIsValid(namespace) &&
		   schema_aclcheck(namespace, GetUserId(), ACL_USAGE) == ACLCHECK_OK;
}

/*
 * Looks a whole name with a dot up by the search_path, but not among temporary tables, which are
 * always searched: whoever calls a function of another role could put one where "schema.table" is
 * missing.
 */
static Oid
lookup_whole(const char *relation, RightsWanted *wanted)
{
	List *path = fetch_search_path(false);
	Oid relid = InvalidOid;
	ListCell *cell;

	foreach (cell, path)
	{
		char *schema =
			isAnyTempNamespace(lfirst_oid(cell)) ? NULL : get_namespace_name(lfirst_oid(cell));

		if (schema != NULL && !OidIsValid(relid))
			relid = lookup_relation(schema, relation, wanted);
	}
	list_free(path);
	return relid;
}

/*
 * Looks a name up as "schema.table" first, and then the whole name by the search_path.  So a name
 * with its schema means the same table in every session, as in SQL: nobody can put another table in
 * its place, not even a temporary one.  An error about a schema that the role may not use is raised
 * only if nothing else is found.
 */
static Oid
lookup_table(ItemSpan name, RightsWanted *wanted)
{
	char *schema;
	char *relation;
	Oid relid = InvalidOid;

	Assert(wanted->mode <= RowExclusiveLock);
	dyn_split_name(name, &schema, &relation);
	if (schema != NULL && may_use_schema(schema))
		relid = lookup_relation(schema, relation, wanted);
	if (!OidIsValid(relid))
		relid = schema == NULL ? lookup_relation(NULL, relation, wanted)
							   : lookup_whole(dyn_identifier(name), wanted);
	if (!OidIsValid(relid) && schema != NULL)
		relid = lookup_relation(schema, relation, wanted);
	if (!OidIsValid(relid))
		dyn_count_missing();
	return relid;
}

/* Returns the relation of a table's name, not opened or locked; it may be no table of items. */
Oid
dyn_table_lookup(ItemSpan name)
{
	RightsWanted wanted = {.mode = NoLock};

	return lookup_table(name, &wanted);
}

/* Locks the relation of a table's name.  False, with nothing locked, if it would have to wait. */
bool
dyn_table_lock_at_once(text *name, LOCKMODE lockmode)
{
	RightsWanted wanted = {.mode = lockmode, .at_once = true};

	return OidIsValid(lookup_table(dyn_table_name(text_span(name)), &wanted));
}

/*
 * Restricts names to those of certain distributed tables, given as a schema and a relation by
 * turns.  If there are none, or tables is NULL, names may be of any table.  Whoever sends a request
 * to the node of a shard knows the table from another node, where the name may mean another one.
 */
void
dyn_expect_tables(ArrayType *tables)
{
	expected_tables = tables != NULL && ARR_NDIM(tables) > 0 ? tables : NULL;
}

static bool
is_expected(Relation rel, const DynTable *table)
{
	const char *schema = get_namespace_name(RelationGetNamespace(rel));
	Datum *names;
	bool *nulls;
	int n;

	if (table == NULL || !table->distributed || schema == NULL)
		return false;
	deconstruct_array(expected_tables, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &n);
	for (int i = 0; i + 1 < n; i += 2)
	{
		if (!nulls[i] && !nulls[i + 1] && strcmp(TextDatumGetCString(names[i]), schema) == 0 &&
			strcmp(TextDatumGetCString(names[i + 1]), RelationGetRelationName(rel)) == 0)
			return true;
	}
	return false;
}

static void
check_expected(Relation rel, const DynTable *table)
{
	if (expected_tables != NULL && !is_expected(rel, table))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
				 errmsg("\"%s\" is another table on this node", RelationGetRelationName(rel)),
				 errwords(DYN_NOT_FOUND_WORDS)));
}

static Relation
find_table(ItemSpan name, RightsWanted wanted, DynTable **table)
{
	ItemSpan span = dyn_table_name(name);
	Oid relid = lookup_table(span, &wanted);
	Relation rel;

	if (!OidIsValid(relid))
		return NULL;
	rel = relation_open(relid, NoLock);
	*table = dyn_schema(rel);
	check_expected(rel, *table);
	if (*table != NULL)
		return rel;
	relation_close(rel, wanted.mode);
	return NULL;
}

/*
 * Opens and locks the table of that name or ARN; NULL if there is no such table of items.  Raises
 * an error if the current user has no privilege on it.
 */
Relation
dyn_table_find(ItemSpan name, LOCKMODE lockmode, DynTable **table)
{
	return find_table(name, (RightsWanted){.mode = lockmode}, table);
}

/* Does so for callers that show only the state of the table. */
Relation
dyn_table_find_state(ItemSpan name, DynTable **table)
{
	return find_table(name, (RightsWanted){.mode = AccessShareLock, .state = true}, table);
}

static char *
without_quotes(ItemSpan name)
{
	char *plain = palloc(name.len + 1);
	char *end = plain;

	for (uint32 i = 0; i < name.len; i++)
	{
		if (name.data[i] != '"')
			*end++ = name.data[i];
	}
	*end = '\0';
	return plain;
}

/*
 * Returns what may be meant by a name that does not exist: a table of items whose name differs in
 * case, quotes or the schema alone, or a schema.  NULL if there is none.
 */
static const char *
missing_hint(ItemSpan name)
{
	char *plain = without_quotes(name);
	ListCell *cell;

	foreach (cell, dyn_listed_tables(NULL))
	{
		Oid relid = lfirst_oid(cell);
		Oid namespace = get_rel_namespace(relid);
		char *relation = get_rel_name(relid);
		char *schema = get_namespace_name(namespace);
		char *qualified;

		if (relation == NULL || schema == NULL || isAnyTempNamespace(namespace))
			continue;
		qualified = psprintf("%s.%s", schema, relation);
		if ((pg_strcasecmp(plain, relation) == 0 || pg_strcasecmp(plain, qualified) == 0) &&
			rights_to_see(relid))
			return psprintf("There is a table \"%s\".",
							dyn_is_named_alone(relid) ? relation : qualified);
	}
	if (OidIsValid(get_namespace_oid(plain, true)))
		return psprintf("A table in schema \"%s\" has the name \"%s.table\".", plain, plain);
	return NULL;
}

pg_noreturn static void
fail_missing(text *name, ItemSpan span)
{
	const char *hint = missing_hint(span);

	ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
					errmsg("table \"%s\" does not exist", text_to_cstring(name)),
					hint == NULL ? 0 : errhint("%s", hint),
					err_generic_string(PG_DIAG_TABLE_NAME, span_string(span)),
					errwords(DYN_NOT_FOUND_WORDS)));
}

pg_noreturn static void
fail_other_relation(Relation rel)
{
	char kind = rel->rd_rel->relkind;
	bool table = kind == RELKIND_RELATION || kind == RELKIND_PARTITIONED_TABLE;

	ereport(ERROR,
			(errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
			 errmsg("\"%s\" is not a table of items", RelationGetRelationName(rel)),
			 table ? errdetail("It has no trigger \"%s\".", DYN_DERIVE_TRIGGER)
				   : errdetail_relkind_not_supported(kind),
			 errhint("%s", definition_exists(rel)
							   ? DYN_UNDISTRIBUTED_HINT
							   : "Give the name of a table that dyn_create_table() has made."),
			 errwords(DYN_NOT_FOUND_WORDS)));
}

static Relation
open_table(text *name, RightsWanted wanted, DynTable **table)
{
	ItemSpan span = dyn_table_name(text_span(name));
	Oid relid = lookup_table(span, &wanted);
	Relation rel;

	if (!OidIsValid(relid))
		fail_missing(name, span);
	rel = relation_open(relid, NoLock);
	*table = dyn_schema(rel);
	check_expected(rel, *table);
	if (*table == NULL)
		fail_other_relation(rel);
	return rel;
}

/* Finds a relation by an OID that a caller gives, which need not be the OID of a relation. */
Relation
dyn_open_given(Oid relid)
{
	Relation rel = rights_open(relid, AccessShareLock);

	if (rel == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("relation with OID %u does not exist", relid)));
	return rel;
}

/* Does as dyn_table_find(), or raises an error that says more. */
Relation
dyn_table_open(text *name, LOCKMODE lockmode, DynTable **table)
{
	return open_table(name, (RightsWanted){.mode = lockmode}, table);
}

/* Does so for callers that show only the state of the table. */
Relation
dyn_table_open_state(text *name, DynTable **table)
{
	return open_table(name, (RightsWanted){.mode = AccessShareLock, .state = true}, table);
}
