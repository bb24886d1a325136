/*
 * table.c
 *	  dyn_check_table(): how a table differs from what it was made as, and how to mend it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "catalog/check/check.h"
#include "catalog/definition/arn.h"
#include "catalog/definition/description.h"
#include "catalog/derive.h"
#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "server/attempt.h"
#include "server/catalogs.h"
#include "server/citus.h"
#include "server/errors.h"
#include "server/sql.h"

/*
 * Rows
 */

/* Adds a problem of the relation check->rel to the result.  The strings are copied. */
void
check_report(TableCheck *check, const char *object, const char *problem, const char *advice)
{
	sql_put(check->result,
			SQL_VALUES(SQL_OID(RelationGetRelid(check->rel)), SQL_TEXT(object), SQL_TEXT(problem),
					   SQL_TEXT(advice), SQL_POINTER(InvalidOid, NULL), SQL_POINTER(TIDOID, NULL)));
}

/* Adds a problem of one row to the result.  All values are copied. */
void
check_report_row(TableCheck *check, const CheckRow *row)
{
	sql_put(check->result,
			SQL_VALUES(SQL_OID(row->relid), SQL_TEXT("item"), SQL_TEXT(row->problem),
					   SQL_TEXT(row->advice), SQL_NULLABLE(InvalidOid, row->key, row->key == 0),
					   SQL_POINTER(TIDOID, row->place)));
}

/* Adds what is wrong with a part of the label; problem may be NULL. */
void
check_report_label(TableCheck *check, const char *what, const char *problem, const char *advice)
{
	if (problem != NULL)
		check_report(check, "security label", psprintf("its %s cannot be read: %s", what, problem),
					 advice);
}

/*
 * Tries a step.  Returns the message of an error that is about the table, or NULL; other errors are
 * raised.
 */
const char *
check_try(void (*step)(void *arg), void *arg)
{
	ErrorData *error = attempt(step, arg);
	int category;

	if (error == NULL)
		return NULL;
	category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
	if (category == ERRCODE_OPERATOR_INTERVENTION || category == ERRCODE_INSUFFICIENT_RESOURCES ||
		category == ERRCODE_TRANSACTION_ROLLBACK || error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		ReThrowError(error);
	return error->detail == NULL ? psprintf("%s", error->message)
								 : psprintf("%s: %s", error->message, error->detail);
}

/*
 * One relation
 */

static void
read_table(void *arg)
{
	TableCheck *check = arg;

	check->table = dyn_schema_any(check->rel);
}

/*
 * Counts the table's keys: the columns of the primary key, or, if there is none, the arguments of
 * the derive trigger that are no JSON objects.
 */
static void
count_keys(TableCheck *check)
{
	List *arguments = dyn_derive_arguments(check->rel);
	int n = 0;

	check->primary = check_find_primary(check->rel);
	if (OidIsValid(check->primary))
	{
		Relation index = index_open(check->primary, AccessShareLock);

		n = IndexRelationGetNumberOfKeyAttributes(index);
		index_close(index, AccessShareLock);
	}
	while (!OidIsValid(check->primary) && n < list_length(arguments) &&
		   *(const char *) list_nth(arguments, n) != '{')
		n++;
	check->nkeys = Min(n, DYN_MAX_KEYS);
}

/* Reads the shape from the derive trigger's arguments, since the schema may not be readable. */
static void
read_shape(void *arg)
{
	TableCheck *check = arg;
	List *arguments = dyn_derive_arguments(check->rel);
	DynShape *shape;

	if (list_length(arguments) < check->nkeys || check->nkeys == 0)
		return;
	shape = dyn_shape_read(arguments, check->nkeys);
	shape->relid = RelationGetRelid(check->rel);
	shape->qualified = check->qualified;
	shape->extension = check->extension;
	dyn_shape_check(shape);
	check->shape = shape;
}

static void
read_description(void *arg)
{
	(void) description_read(RelationGetRelid(((TableCheck *) arg)->rel));
}

/* Returns whether it has a definition and no trigger, as a distributed table or its shard. */
static bool
is_distributed(Relation rel)
{
	return dyn_is_distributed(rel) || OidIsValid(citus_shard_of(rel));
}

static void
check_structure(TableCheck *check, Relation rel)
{
	const char *unreadable;
	const char *unshaped;

	check->rel = rel;
	check->qualified = catalogs_qualified(RelationGetRelid(rel));
	check->table = NULL;
	check->shape = NULL;
	check->distributed = is_distributed(rel);
	count_keys(check);
	unreadable = check_try(read_table, check);
	unshaped = check_try(read_shape, check);
	if (unreadable != NULL || unshaped != NULL)
		check_report(
			check, "table", unreadable != NULL ? unreadable : unshaped,
			"Do what is advised below. If that is nothing, make the table what the arguments "
			"of trigger \"" DYN_DERIVE_TRIGGER "\" say, or restore its definition from a dump.");
	if (dyn_unsupported(rel) != NULL)
		check_report(check, "table", dyn_unsupported(rel),
					 "No function uses such a table. Move its items into one without: "
					 "dyn_create_table() and INSERT … SELECT item.");
	check_triggers(check);
	check_columns(check);
	check_primary_key(check);
	check_constraint(check);
	check_indexes(check);
	if (check->table != NULL)
		check_report_label(check, "settings", check_try(read_description, check),
						   "Correct \"settings\" in the label, or restore it from a dump.");
	for (int i = 0; check_steps[i] != NULL; i++)
		check_steps[i](check);
}

/*
 * All of them
 */

/* Opens the table for a role that may read it; other roles get no lock on it. */
static Relation
open_table(ItemSpan name)
{
	Oid relid = dyn_table_lookup(dyn_table_name(name));
	char *relation = get_rel_name(relid);
	Relation rel = NULL;

	/* it may be dropped at any moment before it is locked */
	if (relation != NULL)
	{
		bool missing = false;
		AclResult result = pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT, &missing);

		if (!missing && result != ACLCHECK_OK)
			aclcheck_error(result, OBJECT_TABLE, relation);
		rel = try_relation_open(relid, AccessShareLock);
	}
	if (rel == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("table \"%.*s\" does not exist", (int) name.len, name.data)));
	return rel;
}

static bool
is_table(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_RELATION ||
		   rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
}

/* Requires that at least the column or the derive trigger of a table of items is left. */
static void
require_remains(Relation rel)
{
	Oid type =
		get_atttype(RelationGetRelid(rel), get_attnum(RelationGetRelid(rel), DYN_ITEM_COLUMN));
	bool found = OidIsValid(type) && dyn_is_item_type(getBaseType(type));

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
		found |= strcmp(rel->trigdesc->triggers[i].tgname, DYN_DERIVE_TRIGGER) == 0;
	if (!found || !is_table(rel))
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("\"%s\" is not a table of items", RelationGetRelationName(rel)),
						errdetail("It is no table with a column \"%s\" of items or trigger \"%s\".",
								  DYN_ITEM_COLUMN, DYN_DERIVE_TRIGGER)));
}

/*
 * There may be thousands of partitions, so memory is reset after each.  A foreign table among them
 * is not checked.
 */
static void
check_partitions(TableCheck *check, Relation parent)
{
	MemoryContext context;
	ListCell *cell;

	if (parent->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return;
	context =
		AllocSetContextCreate(CurrentMemoryContext, "dyn_check_table", ALLOCSET_DEFAULT_SIZES);
	foreach (cell, find_all_inheritors(RelationGetRelid(parent), AccessShareLock, NULL))
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		Relation rel = relation_open(lfirst_oid(cell), NoLock);

		CHECK_FOR_INTERRUPTS();
		if (rel != parent && is_table(rel))
			check_structure(check, rel);
		relation_close(rel, NoLock);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}

/* dyn_check_table(table_name, max_problems) */
PG_FUNCTION_INFO_V1(dyn_check_table);
Datum
dyn_check_table(PG_FUNCTION_ARGS)
{
	TableCheck check = {0};
	int64 max = PG_ARGISNULL(1) ? -1 : PG_GETARG_INT64(1);
	RightsBefore before;
	Relation rel;
	bool hidden;

	if (PG_ARGISNULL(0))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("table name must not be null")));
	if (!PG_ARGISNULL(1) && max < 0)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("max_problems must not be negative")));
	InitMaterializedSRF(fcinfo, 0);
	rel = open_table(text_span(PG_GETARG_TEXT_PP(0)));
	require_remains(rel);
	check.result = (ReturnSetInfo *) fcinfo->resultinfo;
	check.extension =
		quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));
	hidden = check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED;
	check.reads = max != 0 && !hidden;
	check_partitions(&check, rel);
	check_structure(&check, rel);
	if (hidden)
		ereport(NOTICE, (errmsg("row-level security may hide items of table \"%s\" from the check",
								RelationGetRelationName(rel))));
	rights_take_for_rows(rel, false, &before);
	SPI_connect();
	check_items(&check, max);
	SPI_finish();
	rights_give_back(&before);
	relation_close(rel, NoLock);
	return (Datum) 0;
}
