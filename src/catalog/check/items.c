/*
 * items.c
 *	  The rows of the table: whether items are valid, and columns agree with them.
 *
 * The executor reads the rows, with the caller's privileges and policies, and does not look into
 * items. Here an item is looked into only after its bytes were validated.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/carried.h"
#include "catalog/check/check.h"
#include "catalog/derive.h"
#include "catalog/key.h"
#include "server/catalogs.h"
#include "server/progress.h"
#include "server/sql.h"

/* These are the columns of the query: where the row is, the item, then the derived columns. */
enum
{
	RESULT_RELATION = 1,
	RESULT_PLACE,
	RESULT_ITEM,
	RESULT_COLUMNS
};

typedef struct ItemScan
{
	TableCheck *check;
	int64 left; /* problems that may be reported; -1: any number */
	bool filled[DYN_MAX_COLUMNS]; /* no index build is still filling the column */
	int64 done;
	TimestampTz told;
	/* of the row */
	Oid relid;
	ItemPointer place;
	Datum values[DYN_MAX_COLUMNS];
	bool nulls[DYN_MAX_COLUMNS];
	Datum key;
} ItemScan;

/*
 * Reporting
 */

/* Rows of several shards have the same place. */
static char *
where_key_sql(const ItemScan *scan)
{
	const DynTable *table = scan->check->table;
	StringInfoData sql;

	if (table == NULL)
		return pstrdup("WHERE …");
	initStringInfo(&sql);
	for (int i = 0; i < table->nkeys; i++)
	{
		bool varlena;
		Oid output;

		getTypeOutputInfo(dyn_key_column_type(table->keys[i].type), &output, &varlena);
		appendStringInfo(&sql, "%s%s = %s", i == 0 ? "WHERE " : " AND ",
						 quote_identifier(table->keys[i].column),
						 quote_literal_cstr(OidOutputFunctionCall(output, scan->values[i])));
	}
	return sql.data;
}

/* Returns a WHERE clause that finds the row. */
static char *
where_sql(const ItemScan *scan)
{
	char *place;

	if (scan->place == NULL)
		return where_key_sql(scan);
	place = DatumGetCString(DirectFunctionCall1(tidout, PointerGetDatum(scan->place)));

	return psprintf("WHERE ctid = '%s'", place);
}

static void
build_key(void *arg)
{
	ItemScan *scan = arg;
	const DynTable *table = scan->check->table;
	ItemBuilder builder;

	item_build_init(&builder, 64);
	item_build_begin(&builder, ITEM_M);
	for (int i = 0; i < table->nkeys; i++)
	{
		item_build_name(&builder, table->keys[i].attribute);
		dyn_key_build(&builder, table->keys[i].type, scan->values[i]);
	}
	if (item_build_end(&builder) == ITEM_BUILD_OK)
		scan->key = PointerGetDatum(item_build_finish(&builder));
}

/*
 * Returns the key that the columns give, since the item may not be readable; unknown if they are
 * not a valid key.
 */
static Datum
key_of(ItemScan *scan)
{
	const DynTable *table = scan->check->table;

	scan->key = (Datum) 0;
	if (table == NULL)
		return scan->key;
	for (int i = 0; i < table->nkeys; i++)
	{
		if (scan->nulls[i])
			return scan->key;
	}
	(void) check_try(build_key, scan);
	return scan->key;
}

static void
items_report(ItemScan *scan, const char *problem, const char *advice)
{
	CheckRow row = {scan->relid, scan->place, 0, problem, advice};

	if (scan->left == 0)
		return;
	row.key = key_of(scan);
	check_report_row(scan->check, &row);
	if (scan->left > 0)
		scan->left--;
}

static void
report_invalid(ItemScan *scan, const char *problem)
{
	items_report(scan, problem,
				 psprintf("Put the item again, perhaps from a backup, after DELETE FROM %s %s;",
						  catalogs_qualified(scan->relid), where_sql(scan)));
}

/*
 * Reports an item that is stored under another key than its own.  Plain SQL can move it, but not
 * from one partition to another.
 */
static void
report_moved(ItemScan *scan, const DynKey *key)
{
	const char *problem =
		psprintf("column \"%s\" of the key is not what the item has", key->column);
	const char *relation = catalogs_qualified(scan->relid);

	if (scan->place == NULL || scan->relid != scan->check->table->relid)
		report_invalid(scan, problem);
	else
		items_report(
			scan, problem,
			psprintf("WITH moved AS (DELETE FROM %s %s RETURNING %s) INSERT INTO %s (%s) TABLE "
					 "moved;",
					 relation, where_sql(scan), DYN_ITEM_COLUMN, relation, DYN_ITEM_COLUMN));
}

static void
report_column(ItemScan *scan, const DynKey *key, const char *problem)
{
	if (scan->place == NULL)
	{
		report_invalid(scan, psprintf("column \"%s\" %s", key->column, problem));
		return;
	}
	items_report(scan, psprintf("column \"%s\" %s", key->column, problem),
				 psprintf("UPDATE %s SET %s = %s %s;", catalogs_qualified(scan->relid),
						  DYN_ITEM_COLUMN, DYN_ITEM_COLUMN, where_sql(scan)));
}

/*
 * A row
 */

static bool
is_same(const ItemScan *scan, int i, const DynKey *key, ItemSpan value)
{
	return datum_image_eq(scan->values[i], dyn_key_datum(key->type, item_payload(value)), false,
						  -1);
}

/* Checks the table's keys.  Returns whether they are right; only then other columns are checked. */
static bool
check_keys(ItemScan *scan, const ItemChildren *attributes)
{
	const DynTable *table = scan->check->table;

	for (int i = 0; i < table->nkeys; i++)
	{
		const DynKey *key = &table->keys[i];
		ItemSpan value = {NULL, 0};
		const char *problem = item_find(attributes, key->attribute, &value)
								  ? dyn_key_problem(key, i == 0, value)
								  : "is missing";

		if (problem == NULL && !scan->nulls[i] && is_same(scan, i, key, value))
			continue;
		if (problem == NULL)
			report_moved(scan, key);
		else
			report_invalid(
				scan, psprintf("key attribute \"%s\" %s", item_quoted(key->attribute), problem));
		return false;
	}
	return true;
}

/* Without a value readers of the index get the row, so none is no error, but not what it is for. */
static void
check_carried(ItemScan *scan, int i, const DynItem *item, bool none)
{
	const DynKey *key = &scan->check->table->keys[i];
	const DynItem *value;

	if (scan->nulls[i])
	{
		if (!none && scan->filled[i])
			report_column(scan, key, "is empty, and its index has room for what the item has");
		return;
	}
	value = DatumGetDynItem(scan->values[i]);
	if (item_compare_bytes(text_span(value), text_span(dyn_carried_part(key->carried, item))) != 0)
		report_column(scan, key, "is not what the item has");
}

/*
 * Checks columns of indexes.  The column of an index that leaves the item out may be NULL or not,
 * but it never has another value than the item's.
 */
static void
check_derived(ItemScan *scan, const ItemChildren *attributes, const DynItem *item)
{
	const DynTable *table = scan->check->table;
	const DynRow *row = dyn_derive(scan->check->rel, table, item);

	for (int i = table->nkeys; i < table->ncolumns; i++)
	{
		const DynKey *key = &table->keys[i];
		ItemSpan value = {NULL, 0};

		if (key->carried != NULL)
			check_carried(scan, i, item, row->nulls[i]);
		else if (scan->nulls[i])
		{
			if (!row->nulls[i] && !row->troubled[i] && scan->filled[i])
				report_column(scan, key, "is empty, and the item has its attribute");
		}
		else if (!item_find(attributes, key->attribute, &value) ||
				 dyn_key_problem(key, true, value) != NULL || !is_same(scan, i, key, value))
			report_column(scan, key, "is not what the item has");
	}
}

static void
check_row(ItemScan *scan, Datum datum, bool isnull)
{
	ItemChildren attributes;
	DynItem *item;

	if (isnull)
	{
		report_invalid(scan, "the item is null");
		return;
	}
	item = DatumGetDynItem(datum);
	if (!item_is_sound(item))
	{
		report_invalid(scan, "its bytes are not those of an item");
		return;
	}
	if (scan->check->table == NULL)
		return;
	attributes = item_children(item_root(item));
	if (check_keys(scan, &attributes))
		check_derived(scan, &attributes, item);
}

/*
 * All rows
 */

/* Finds the columns that no build is still filling: those of indexes that are active. */
static void
find_filled(ItemScan *scan)
{
	const TableCheck *check = scan->check;

	for (int i = 0; i < check->table->nindexes; i++)
	{
		const DynIndex *index = &check->table->indexes[i];
		const DynIndexSpec *spec =
			check->shape == NULL ? NULL : dyn_shape_index(check->shape, index->name);

		for (int k = 0; k < index->ncolumns; k++)
			scan->filled[index->columns[k]] |= spec != NULL && spec->status == DYN_INDEX_ACTIVE;
		if (index->carried != NULL)
			scan->filled[index->carried_column] = spec != NULL && spec->status == DYN_INDEX_ACTIVE;
	}
	if (check->table->ttl != NULL)
		scan->filled[check->table->ttl->columns[0]] =
			check->table->settings.ttl_status == DYN_INDEX_ACTIVE;
}

static bool
read_row(void *arg, const SPITupleTable *rows, uint64 row)
{
	ItemScan *scan = arg;
	int ncolumns = scan->check->table == NULL ? 0 : scan->check->table->ncolumns;
	bool isnull;
	Datum item;

	scan->relid = DatumGetObjectId(sql_value(rows, row, RESULT_RELATION));
	scan->place = (ItemPointer) DatumGetPointer(sql_nullable(rows, row, RESULT_PLACE, &isnull));
	if (isnull)
		scan->place = NULL;
	for (int i = 0; i < ncolumns; i++)
		scan->values[i] = sql_nullable(rows, row, RESULT_COLUMNS + i, &scan->nulls[i]);
	item = sql_nullable(rows, row, RESULT_ITEM, &isnull);
	check_row(scan, item, isnull);
	scan->done++;
	if (row + 1 == rows->numvals && progress_is_due(&scan->told))
		ereport(NOTICE, (errmsg("check of table \"%s\": %s items read",
								RelationGetRelationName(scan->check->rel),
								progress_count(scan->done, scan->check->rel->rd_rel->reltuples))));
	return scan->left != 0;
}

static bool
has_items(Relation rel)
{
	AttrNumber attnum = get_attnum(RelationGetRelid(rel), DYN_ITEM_COLUMN);

	return attnum != InvalidAttrNumber &&
		   dyn_is_item_type(getBaseType(get_atttype(RelationGetRelid(rel), attnum)));
}

/*
 * Validates the rows of the table and of its partitions, and reports at most max problems; -1 means
 * all.  The caller is connected to SPI.  Privileges and row-level security of the current user
 * apply, so rows that policies hide are not checked.
 */
void
check_items(TableCheck *check, int64 max)
{
	ItemScan scan = {check, max};
	StringInfoData sql;

	if (max == 0 || !has_items(check->rel))
		return;
	initStringInfo(&sql);
	/* those of a shard say nothing on this node */
	appendStringInfo(
		&sql, "SELECT %s, %s",
		dyn_is_distributed(check->rel)
			? psprintf("%u::pg_catalog.oid, NULL::pg_catalog.tid", RelationGetRelid(check->rel))
			: "tableoid, ctid",
		quote_identifier(DYN_ITEM_COLUMN));
	for (int i = 0; check->table != NULL && i < check->table->ncolumns; i++)
		appendStringInfo(&sql, ", %s", quote_identifier(check->table->keys[i].column));
	/* a table of items must not have inheritance children, whose keys are their own */
	appendStringInfo(&sql, " FROM %s%s",
					 check->rel->rd_rel->relkind == RELKIND_RELATION ? "ONLY " : "",
					 check->qualified);
	if (check->table != NULL)
		find_filled(&scan);
	sql_scan(sql_on(RelationGetRelid(check->rel), sql.data), read_row, &scan);
	if (scan.left == 0)
		ereport(NOTICE, (errmsg("stopped after %lld problems of items", (long long) max)));
}
