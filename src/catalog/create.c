/*
 * create.c
 *	  dyn_create_table() and dyn_drop_table(): plain DDL, written for the caller.
 *
 * The DDL can also be written by hand: a table of items is fully described by pg_catalog; see
 * docs/reference/tables.md.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog/create.h"
#include "catalog/definition/arn.h"
#include "catalog/definition/description.h"
#include "catalog/distribute.h"
#include "catalog/entries.h"
#include "catalog/follower.h"
#include "catalog/key.h"
#include "catalog/lookup.h"
#include "catalog/shape.h"
#include "catalog/vector.h"
#include "server/arguments.h"
#include "server/attempt.h"
#include "server/catalogs.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/name.h"
#include "server/work/brief_lock.h"
#include "server/work/owned.h"

static void
fail_exists(ItemSpan name)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
					errmsg("table \"%.*s\" already exists", (int) name.len, name.data),
					errwords("Table already exists: %.*s", (int) name.len, name.data)));
}

/*
 * Returns the schema that a new table is made in, and sets the name of its relation: the schema
 * that the name begins with, or the one that CREATE TABLE takes.
 */
Oid
dyn_creation_schema(ItemSpan name, char **relation)
{
	char *schema;
	List *path;

	dyn_check_name("table", name);
	dyn_split_name(name, &schema, relation);
	if (schema != NULL && OidIsValid(get_namespace_oid(schema, true)))
		return get_namespace_oid(schema, false);
	path = fetch_search_path(false);
	if (path == NIL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_SCHEMA),
						errmsg("no schema has been selected to create in")));
	*relation = dyn_identifier(name);
	return linitial_oid(path);
}

static const char *
creation_name(ItemSpan name, Oid *namespace, char **relation)
{
	*namespace = dyn_creation_schema(name, relation);
	extension_keep_schema(*namespace);
	if (OidIsValid(get_relname_relid(*relation, *namespace)))
		fail_exists(name);
	dyn_count_missing();
	return quote_qualified_identifier(get_namespace_name(*namespace), *relation);
}

static void
require_object(const Jsonb *definitions, bool local)
{
	if (!JB_ROOT_IS_OBJECT(definitions))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("%s must be a JSON object with the names of indexes as its members",
						local ? "local_indexes" : "global_indexes"),
				 errdetail("It has the form %s.", local ? "{\"LSI1\": " LOCAL_INDEX_FORM "}"
														: "{\"GSI1\": " GLOBAL_INDEX_FORM "}")));
}

/* Adds definitions of indexes: a JSON object, with the indexes' names as its members. */
static void
add_indexes(DynShape *shape, Jsonb *definitions, bool local)
{
	Datum datum;

	require_object(definitions, local);
	datum = DirectFunctionCall1(dyn_item_from_jsonb, JsonbPGetDatum(definitions));
	for (ItemMembers m = item_members(item_root(DatumGetDynItem(datum))); item_next(&m);)
		shape->indexes =
			lappend(shape->indexes, dyn_index_spec_parse(m.name, m.value, local, shape->keys[0]));
}

static void
add_key(DynShape *shape, text *spec)
{
	ItemSpan attribute;
	ItemType type;
	int i = shape->nkeys++;

	shape->keys[i] = text_span(spec);
	dyn_parse_key_spec(shape->keys[i], &attribute, &type);
}

static void
check_keys(const DynShape *shape)
{
	ItemSpan attributes[DYN_MAX_KEYS];
	ItemType type;

	for (int i = 0; i < shape->nkeys; i++)
		dyn_parse_key_spec(shape->keys[i], &attributes[i], &type);
	if (shape->nkeys == 2 && item_compare_bytes(attributes[0], attributes[1]) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("partition key and sort key must be different attributes"),
				 errwords("Both the Hash Key and the Range Key element in the KeySchema have "
						  "the same name")));
}

/* Names may have any characters, but "pk S, sk S" is rather meant as two keys. */
static void
warn_of_list(const DynShape *shape)
{
	ItemSpan attribute;
	ItemType type;
	const char *name;

	if (shape->nkeys > 1)
		return;
	dyn_parse_key_spec(shape->keys[0], &attribute, &type);
	name = item_quoted(attribute);
	if (strstr(name, " S,") != NULL || strstr(name, " N,") != NULL || strstr(name, " B,") != NULL)
		ereport(WARNING, (errmsg("the partition key is the attribute \"%s\"", name),
						  errhint("A sort key is an argument of its own.")));
}

static void
create_relation(const DynShape *shape, int64 fillfactor)
{
	int ncolumns = list_length(dyn_shape_columns(shape));
	const char *parameters = dyn_covering_parameters(shape, NULL);
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE TABLE %s (%s %s.dyn_item NOT NULL", shape->qualified,
					 quote_identifier(DYN_ITEM_COLUMN), shape->extension);
	for (int i = 0; i < ncolumns; i++)
		appendStringInfo(&sql, ", %s%s", dyn_shape_column_sql(shape, i),
						 i < shape->nkeys ? " NOT NULL" : "");
	appendStringInfoString(&sql, ", PRIMARY KEY (");
	for (int i = 0; i < shape->nkeys; i++)
	{
		const DynShapeColumn *column = list_nth(dyn_shape_columns(shape), i);

		appendStringInfo(&sql, "%s%s", i > 0 ? ", " : "", quote_identifier(column->column));
	}
	appendStringInfo(&sql, "), %s) USING dynamo_table WITH (fillfactor = " INT64_FORMAT "%s%s)",
					 dyn_shape_constraint_sql(shape), fillfactor, *parameters == '\0' ? "" : ", ",
					 parameters);
	dyn_execute(sql.data);
	for (int i = 0; i < ncolumns; i++)
	{
		char *statistics = dyn_shape_statistics_sql(shape, i);

		if (statistics != NULL)
			dyn_execute(psprintf("ALTER TABLE %s %s", shape->qualified, statistics));
	}
}

/* Creates the indexes; two with the same keys share a btree. */
static void
create_indexes(const DynShape *shape, Oid namespace, const char *relation)
{
	List *done = NIL;
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);
		char *keys = dyn_shape_index_sql(shape, spec, "", false);
		char *name;

		if (keys == NULL || spec->distribution == DYN_DISTRIBUTE_KEY ||
			list_member(done, makeString(keys)))
			continue;
		name = dyn_index_relation_name(namespace, relation, spec->name);
		dyn_execute(dyn_shape_index_sql(shape, spec, name, false));
		done = lappend(done, makeString(keys));
	}
}

/*
 * Creates the table.  Two sessions that create a table of one name at the same time both get past
 * creation_name(); the second one gets this error instead of a violation of a catalog's unique
 * index.
 */
static void
create_table(const DynShape *shape, int64 fillfactor, ItemSpan name)
{
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		create_relation(shape, fillfactor);
	}
	PG_CATCH();
	{
		int code = geterrcode();

		if (code != ERRCODE_DUPLICATE_TABLE && code != ERRCODE_DUPLICATE_OBJECT &&
			code != ERRCODE_UNIQUE_VIOLATION)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		fail_exists(name);
	}
	PG_END_TRY();
}

/* A relation's name is the table's, unless that is too long for one. */
static void
keep_long_name(DynShape *shape, ItemSpan name, const char *relation)
{
	const char *dot = memchr(name.data, '.', name.len);

	/* what comes after a schema */
	if (dot != NULL && strcmp(dyn_identifier(name), relation) != 0)
		name = (ItemSpan){dot + 1, name.len - (uint32) (dot + 1 - name.data)};
	if (name.len >= NAMEDATALEN)
		shape->settings.name = name;
}

/* Names the relations of entries, which are made when the table is distributed. */
static void
name_entries(const DynShape *shape, Oid namespace, const char *relation)
{
	ListCell *cell;

	foreach (cell, shape->indexes)
	{
		DynIndexSpec *spec = lfirst(cell);

		if (spec->distribution == DYN_DISTRIBUTE_KEY)
			spec->entries = item_span(dyn_index_relation_name(namespace, relation, spec->name));
	}
}

/* Makes a table of items; the shape has no names for its relations yet. */
void
dyn_create(DynShape *shape, ItemSpan given, int64 fillfactor)
{
	ItemSpan name = dyn_table_name(given);
	Oid namespace;
	char *relation;

	check_keys(shape);
	/* before rows of catalogs are locked, which takes a transaction ID */
	PreventCommandIfReadOnly("CREATE TABLE");
	shape->extension = extension_keep_own_schema();
	dyn_shape_check(shape);
	shape->qualified = creation_name(name, &namespace, &relation);
	keep_long_name(shape, name, relation);
	SPI_connect();
	create_table(shape, fillfactor, name);
	shape->relid = get_relname_relid(relation, namespace);
	name_entries(shape, namespace, relation);
	dyn_shape_write_trigger(shape);
	create_indexes(shape, namespace, relation);
	SPI_finish();
}

/*
 * Unless it is there
 */

typedef struct Creation
{
	DynShape *shape;
	text *name;
	int64 fillfactor;
	const DynDistribution *how; /* NULL: it is not distributed */
} Creation;

static void
create_wanted(void *arg)
{
	const Creation *wanted = arg;

	if (wanted->how == NULL)
		dyn_entries_forbid(wanted->shape);
	dyn_create(wanted->shape, text_span(wanted->name), wanted->fillfactor);
	if (wanted->how != NULL)
		dyn_distribute(wanted->shape->relid, wanted->how);
}

pg_noreturn static void
fail_differs(const DynTable *table, const char *difference)
{
	ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
					errmsg("table \"%s\" already exists, and is another one", table->name),
					errdetail_internal("%s", difference)));
}

static void
check_same_keys(const DynTable *table, const DynShape *there, const DynShape *wanted)
{
	bool same = there->nkeys == wanted->nkeys;

	for (int i = 0; same && i < there->nkeys; i++)
		same = item_compare_bytes(there->keys[i], wanted->keys[i]) == 0;
	if (!same)
		fail_differs(table, psprintf("Its key is \"%s\"%s.", item_quoted(there->keys[0]),
									 there->nkeys == 1
										 ? ", without a sort key"
										 : psprintf(", \"%s\"", item_quoted(there->keys[1]))));
}

/* Checks the indexes: global ones may have been made since, but local ones cannot. */
static void
check_same_indexes(const DynTable *table, const DynShape *there, const DynShape *wanted)
{
	ListCell *cell;

	foreach (cell, wanted->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);
		const DynIndexSpec *found = dyn_shape_index(there, spec->name);

		if (found == NULL)
			fail_differs(table, psprintf("It has no index \"%s\".", item_quoted(spec->name)));
		if (!dyn_index_spec_equal(found, spec))
			fail_differs(table, psprintf("Its index \"%s\" is defined as %s.",
										 item_quoted(spec->name), dyn_index_spec_print(found)));
	}
	foreach (cell, there->indexes)
	{
		const DynIndexSpec *spec = lfirst(cell);

		if (spec->local && dyn_shape_index(wanted, spec->name) == NULL)
			fail_differs(table, psprintf("It has a local index \"%s\".", item_quoted(spec->name)));
	}
}

static void
check_same(const Creation *wanted)
{
	DynTable *table;
	Relation rel = dyn_table_open(wanted->name, AccessShareLock, &table);
	const DynShape *there = dyn_shape_of(rel, table);

	check_same_keys(table, there, wanted->shape);
	check_same_indexes(table, there, wanted->shape);
	if (table->distributed != (wanted->how != NULL))
		fail_differs(table, table->distributed ? "It is distributed." : "It is not distributed.");
	ereport(NOTICE, (errcode(ERRCODE_DUPLICATE_TABLE),
					 errmsg("table \"%s\" already exists, skipping", table->name)));
	relation_close(rel, AccessShareLock);
}

/* Creates the table unless it is there, which another session may cause: so it is tried first. */
static void
create_unless_there(Creation *wanted)
{
	ErrorData *error = attempt(create_wanted, wanted);

	if (error == NULL)
		return;
	if (error->sqlerrcode != ERRCODE_DYN_RESOURCE_IN_USE)
		ReThrowError(error);
	check_same(wanted);
}

/*
 * dyn_create_table(table_name, partition_key, sort_key, global_indexes, local_indexes, fillfactor,
 * distributed, colocate_with, shard_count, if_not_exists)
 */
PG_FUNCTION_INFO_V1(dyn_create_table);
Datum
dyn_create_table(PG_FUNCTION_ARGS)
{
	DynShape shape = {0};
	bool distributed = argument_flag(fcinfo, 6, false);
	DynDistribution how;
	Creation wanted = {.shape = &shape, .how = distributed ? &how : NULL};

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(5))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("table name, partition key and fillfactor must not be null")));
	if (!distributed && (!PG_ARGISNULL(7) || !PG_ARGISNULL(8)))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("colocate_with and shard_count are for distributed tables"),
						errhint("Add distributed => true.")));
	if (distributed)
		how = dyn_distribution_read(fcinfo, 7);
	wanted.name = PG_GETARG_TEXT_PP(0);
	wanted.fillfactor = PG_GETARG_INT64(5);
	add_key(&shape, PG_GETARG_TEXT_PP(1));
	if (!PG_ARGISNULL(2))
		add_key(&shape, PG_GETARG_TEXT_PP(2));
	check_keys(&shape);
	warn_of_list(&shape);
	for (int i = 3; i < 5; i++)
	{
		if (!PG_ARGISNULL(i))
			add_indexes(&shape, PG_GETARG_JSONB_P(i), i == 4);
	}
	if (argument_flag(fcinfo, 9, false))
		create_unless_there(&wanted);
	else
		create_wanted(&wanted);
	PG_RETURN_VOID();
}

/* Checks rights as DROP TABLE does. */
static void
check_may_drop(Relation rel)
{
	if (!object_ownercheck(RelationRelationId, RelationGetRelid(rel), GetUserId()) &&
		!schema_ownercheck(RelationGetNamespace(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, RelationGetRelationName(rel));
}

static void
check_protection(Oid relid)
{
	if (description_read(relid)->deletion_protection)
		dyn_error(ERRCODE_DYN_VALIDATION,
				  "Resource cannot be deleted as it is currently protected against deletion. "
				  "Disable deletion protection first.");
}

/* Raises an error for what depends on the table and does not go with it. */
static void
check_dependents(Relation rel)
{
	dyn_follower_refuse(rel, "dropped");
	SPI_connect();
	dyn_dependents_refuse(rel, NULL, NIL, NIL);
	SPI_finish();
}

/*
 * Drops a table, which is closed here, and with cascade what depends on it.  It was looked up under
 * a weaker lock, which is released before the stronger one is taken, so by then the name may belong
 * to another table.
 */
void
dyn_drop(Relation rel, DynTable *table, bool cascade)
{
	Oid relid = RelationGetRelid(rel);
	char *name = pstrdup(table->name);
	List *entries = NIL;
	ListCell *cell;
	Oid owner;
	char *sql;

	check_may_drop(rel);
	check_protection(relid);
	if (!cascade)
		check_dependents(rel);
	relation_close(rel, AccessShareLock);
	brief_lock(relid, AccessExclusiveLock);
	rel = try_relation_open(relid, NoLock);
	table = rel == NULL ? NULL : dyn_schema(rel);
	if (table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("table \"%s\" does not exist", name),
						errwords("Requested resource not found: Table: %s not found", name)));
	check_protection(relid);
	if (!cascade)
		check_dependents(rel);
	for (int i = 0; i < table->nindexes; i++)
	{
		if (table->indexes[i].entries != NULL)
			entries = lappend_oid(entries, table->indexes[i].relid);
	}
	for (int i = 0; i < table->nvectors; i++)
	{
		if (dyn_vector_is_distributed(&table->vectors[i]))
			entries = lappend_oid(entries, table->vectors[i].relid);
	}
	owner = rel->rd_rel->relowner;
	relation_close(rel, NoLock);
	extension_keep_schema(get_rel_namespace(relid));
	sql = psprintf("DROP TABLE %s%s", catalogs_qualified(relid), cascade ? " CASCADE" : "");
	SPI_connect();
	dyn_execute(sql);
	foreach (cell, entries)
		dyn_entries_drop(lfirst_oid(cell), owner);
	SPI_finish();
}

PG_FUNCTION_INFO_V1(dyn_drop_table);
Datum
dyn_drop_table(PG_FUNCTION_ARGS)
{
	DynTable *table;
	Relation rel =
		dyn_table_open(argument_required_text(fcinfo, 0, "table_name"), AccessShareLock, &table);

	dyn_drop(rel, table, argument_flag(fcinfo, 1, false));
	PG_RETURN_VOID();
}
