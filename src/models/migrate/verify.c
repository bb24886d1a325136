/*
 * verify.c
 *	  dyn_verify_migration(), dyn_preview_migration(): what rows make beside what is there.
 *
 * One query joins both sides by the key, with the memory that queries have.
 */
#include "postgres.h"

#include "access/relation.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "actions/actions.h"
#include "catalog/key.h"
#include "models/migrate/collide.h"
#include "models/migrate/migrate.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/progress.h"
#include "server/sql.h"
#include "store/plan.h"
#include "store/store.h"

/* These are columns of both queries. */
enum
{
	STEP = 1,
	SOURCE_ROW,
	MADE,
	PROBLEM,
	THERE
};

typedef struct Comparison
{
	Migration *migration;
	DynTable *table;
	RightsBefore before;
	ReturnSetInfo *result;
	const SPITupleTable *page;
	uint64 at; /* of the page */
	int64 rows;
	int64 equal;
	int64 read; /* of the queries, for progress */
	TimestampTz told;
	/* of a dry run */
	HTAB *collisions;
	int64 samples;
	int64 left; /* of the step */
	const char *step;
} Comparison;

/*
 * Differences
 */

static void
append_difference(StringInfo out, ItemSpan name, const char *what)
{
	appendStringInfo(out, "%s\"%s\" %s", out->len > 0 ? ", " : "", item_quoted(name), what);
}

/*
 * Returns a text on the attributes in which two items differ, like: "a" is missing, "b" differs.
 * NULL if they are equal.
 */
static char *
item_difference(const DynItem *made, const DynItem *there)
{
	StringInfoData out;
	ItemSpan other;

	initStringInfo(&out);
	for (ItemMembers m = item_members(item_root(made)); item_next(&m);)
	{
		if (!item_lookup(item_root(there), m.name, &other))
			append_difference(&out, m.name, "is missing");
		else if (item_compare_bytes(m.value, other) != 0)
			append_difference(&out, m.name, "differs");
	}
	for (ItemMembers m = item_members(item_root(there)); item_next(&m);)
	{
		if (!item_lookup(item_root(made), m.name, &other))
			append_difference(&out, m.name, "is not of the row");
	}
	return out.len > 0 ? out.data : NULL;
}

/*
 * Columns
 */

static char *
column_text(const Comparison *c, int column)
{
	bool isnull;
	Datum value = sql_nullable(c->page, c->at, column, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

static DynItem *
column_item(const Comparison *c, int column)
{
	bool isnull;
	Datum value = sql_nullable(c->page, c->at, column, &isnull);

	return isnull ? NULL : DatumGetDynItem(value);
}

static const Entity *
entity_of_step(const Comparison *c, const char *step)
{
	return migration_step(c->migration, item_span(step))->entity;
}

static char *
entity_name(const Comparison *c, const char *step, const DynItem *item)
{
	const Entity *entity = step != NULL ? entity_of_step(c, step) : NULL;

	for (int i = 0; i < c->migration->nsteps && entity == NULL; i++)
	{
		if (entity_has(c->migration->steps[i].entity, item))
			entity = c->migration->steps[i].entity;
	}
	return entity == NULL ? NULL : span_string(entity->name);
}

/* Takes a row of a query, and tells of progress. */
static void
take_row(Comparison *c, const SPITupleTable *rows, uint64 i)
{
	c->page = rows;
	c->at = i;
	c->read++;
	if (i + 1 == rows->numvals && progress_is_due(&c->told))
		ereport(NOTICE, (errmsg("migration \"%s\": %lld rows and items compared",
								c->migration->name, (long long) c->read)));
}

static char *
items_sql(const Comparison *c, bool of_entities)
{
	const char *item = quote_identifier(DYN_ITEM_COLUMN);
	const char *key =
		psprintf(DYN_INTERNAL ".migration_key(%s, %s, %s)", quote_literal_cstr(c->migration->name),
				 item, of_entities ? "false" : "true");

	const char *table = c->table->qualified;

	/* its items are fetched first: other nodes have not the tables of the migration */
	if (c->table->distributed)
		table = psprintf("(SELECT %s FROM %s OFFSET 0) AS i", item, table);
	return psprintf("(SELECT %s AS item, %s AS key FROM %s%s)", item, key, table,
					of_entities ? psprintf(" WHERE %s IS NOT NULL", key) : "");
}

static void
verify_begin(FunctionCallInfo fcinfo, Comparison *c, Relation *rel)
{
	argument_require(fcinfo, 0, "migration");
	InitMaterializedSRF(fcinfo, 0);
	c->result = (ReturnSetInfo *) fcinfo->resultinfo;
	store_connect();
	*rel = migration_open_to_run(text_span(PG_GETARG_TEXT_PP(0)), AccessShareLock, &c->table,
								 &c->migration, &c->before);
}

/*
 * Verifying
 */

static void
put_difference(Comparison *c, const char *step, const DynItem *key_of, const char *difference)
{
	DynItem *key = key_of == NULL ? NULL : dyn_key_item(c->table, &c->table->primary, key_of);

	sql_put(c->result, SQL_VALUES(SQL_TEXT(step), SQL_TEXT(entity_name(c, step, key_of)),
								  SQL_TEXT(column_text(c, SOURCE_ROW)),
								  SQL_POINTER(InvalidOid, key), SQL_TEXT(difference)));
}

/* Puts what no row or item is different in. */
static void
put_remark(Comparison *c, const MigrationStep *step, const char *remark)
{
	static const ItemSpan none = {NULL, 0};

	sql_put(c->result, SQL_VALUES(SQL_TEXT(step == NULL ? NULL : step->name),
								  sql_span(step == NULL ? none : step->entity->name),
								  SQL_TEXT(NULL), SQL_POINTER(InvalidOid, NULL), SQL_TEXT(remark)));
}

static bool
verify_row(void *arg, const SPITupleTable *rows, uint64 i)
{
	Comparison *c = arg;
	char *step;
	DynItem *made;
	DynItem *there;
	const char *difference;

	take_row(c, rows, i);
	step = column_text(c, STEP);
	made = column_item(c, MADE);
	there = column_item(c, THERE);
	if (step != NULL)
		c->rows++;
	if (step == NULL)
		difference = "no row makes the item";
	else if (made == NULL)
		difference = column_text(c, PROBLEM);
	else if (there == NULL)
		difference = "there is no item";
	else
		difference = item_difference(made, there);
	if (difference == NULL)
		c->equal++;
	else
		put_difference(c, step, made != NULL ? made : there, difference);
	return true;
}

static void
put_new_columns(Comparison *c, const MigrationStep *step)
{
	ListCell *cell;

	foreach (cell, step_new_columns(step))
		put_remark(c, step,
				   psprintf("column \"%s\" of %s was added after the migration was declared",
							item_quoted(item_span(lfirst(cell))), step->source.name));
}

/* Puts what is to be known about tables that the migration follows. */
static void
put_tables(Comparison *c, const char *before, const List *tables, const char *after)
{
	ListCell *cell;

	foreach (cell, tables)
		put_remark(c, NULL, psprintf("%s %s %s", before, (const char *) lfirst(cell), after));
}

PG_FUNCTION_INFO_V1(dyn_verify_migration);
Datum
dyn_verify_migration(PG_FUNCTION_ARGS)
{
	Comparison c = {0};
	Relation rel;

	verify_begin(fcinfo, &c, &rel);
	sql_scan(sql_on(c.table->relid,
					psprintf("SELECT m.step, m.source_row, m.item, m.problem, t.item"
							 " FROM " DYN_INTERNAL ".migration_items(%s) AS m FULL JOIN %s AS t"
							 " ON t.key OPERATOR(%s.=) m.key",
							 quote_literal_cstr(c.migration->name), items_sql(&c, true),
							 c.table->extension)),
			 verify_row, &c);
	for (int i = 0; i < c.migration->nsteps; i++)
		put_new_columns(&c, &c.migration->steps[i]);
	put_tables(&c, "triggers of", migration_disabled(c.migration),
			   "do not fire as they were made, so changes may be missed; call "
			   "dyn_follow_migration() twice, first with enabled => false");
	if (!migration_truncate_is_refused())
		put_tables(
			&c, "partition", migration_later_partitions(c.migration),
			"came after the following began, so a session without the library can truncate it; "
			"call dyn_follow_migration() twice in one transaction, first with enabled => false");
	ereport(NOTICE, (errmsg("migration \"%s\": %lld rows compared, %lld equal", c.migration->name,
							(long long) c.rows, (long long) c.equal)));
	migration_close(rel, &c.before);
	SPI_finish();
	return (Datum) 0;
}

/*
 * Dry run
 */

/* Returns the problem that a row would have; NULL: none. */
static const char *
dry_problem(const Comparison *c, const char *step, const DynItem *made)
{
	const char *problem = column_text(c, PROBLEM);
	const DynItem *there = column_item(c, THERE);
	const Collision *collision = collision_of_row(c->collisions, step, column_text(c, SOURCE_ROW));
	const char *difference;

	if (problem != NULL)
		return problem;
	if (collision != NULL)
		return psprintf("collision: %s makes the same item%s", collision->other,
						collision->loses ? ", and comes before it" : "");
	difference = made != NULL && there != NULL ? item_difference(made, there) : NULL;
	return difference == NULL ? NULL : psprintf("conflict: there is another item: %s", difference);
}

static bool
dry_row(void *arg, const SPITupleTable *rows, uint64 i)
{
	Comparison *c = arg;
	char *step;
	DynItem *made;
	const char *problem;

	take_row(c, rows, i);
	step = column_text(c, STEP);
	made = column_item(c, MADE);
	problem = dry_problem(c, step, made);
	if (problem != NULL || c->left-- > 0)
		sql_put(c->result, SQL_VALUES(SQL_TEXT(step), SQL_TEXT(entity_name(c, step, made)),
									  SQL_TEXT(column_text(c, SOURCE_ROW)),
									  SQL_POINTER(InvalidOid, made), SQL_TEXT(problem)));
	return true;
}

PG_FUNCTION_INFO_V1(dyn_preview_migration);
Datum
dyn_preview_migration(PG_FUNCTION_ARGS)
{
	Comparison c = {0};
	Relation rel;

	verify_begin(fcinfo, &c, &rel);
	c.samples = PG_ARGISNULL(1) ? PG_INT64_MAX : PG_GETARG_INT64(1);
	if (c.samples < 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("samples must not be negative")));
	c.collisions = collisions_find(c.migration);
	for (int i = 0; i < c.migration->nsteps; i++)
	{
		c.left = c.samples;
		sql_scan(
			sql_on(c.table->relid, psprintf("SELECT m.step, m.source_row, m.item, m.problem, t.item"
											" FROM " DYN_INTERNAL ".migration_items(%s, %s)"
											" WITH ORDINALITY AS m"
											" LEFT JOIN %s AS t ON t.key OPERATOR(%s.=) m.key"
											" ORDER BY m.ordinality",
											quote_literal_cstr(c.migration->name),
											quote_literal_cstr(c.migration->steps[i].name),
											items_sql(&c, false), c.table->extension)),
			dry_row, &c);
	}
	migration_close(rel, &c.before);
	SPI_finish();
	return (Datum) 0;
}
