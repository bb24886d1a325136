/*
 * count.c
 *	  What a pass over the items finds, before the table is detached and after it.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/builtins.h"

#include "detach/detach.h"
#include "ground/errors.h"
#include "ground/sql.h"

/*
 * In DynamoDB JSON: an odd number of backslashes, so that the last one begins an escape.  Most items
 * have not even the letters.
 */
#define HAS_NUL \
	"pg_catalog.strpos(%s::%s.dyn_item::pg_catalog.text, E'\\\\u0000') > 0" \
	" AND %s::%s.dyn_item::pg_catalog.text" \
	" ~ E'(^|[^\\\\\\\\])(\\\\\\\\\\\\\\\\)*\\\\\\\\u0000'"

static int64
column_value(int column)
{
	return DatumGetInt64(sql_value(SPI_tuptable, 0, column));
}

static void
select_one(const Detach *detach, const char *sql)
{
	MemoryContext context = CurrentMemoryContext;

	if (SPI_execute(sql_on(detach->relid, sql), false, 0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not count items");
	MemoryContextSwitchTo(context);
}

static void
append_count(StringInfo sql, const char *condition)
{
	appendStringInfo(sql, "%spg_catalog.count(*) FILTER (WHERE %s)",
					 sql->len > strlen("SELECT ") ? ", " : "", condition);
}

static char *
nul_condition(const Detach *detach)
{
	const char *item = quote_identifier(DYN_ITEM_COLUMN);
	const char *extension = detach->table->extension;

	return psprintf(HAS_NUL, item, extension, item, extension);
}

/* Note what the items have that the format cannot hold, and count the rows of views. */
void
detach_count(Detach *detach)
{
	StringInfoData sql;
	ListCell *cell;
	int64 unfit;

	if (detach->format == DETACH_DYNAMODB)
		return;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	append_count(&sql, nul_condition(detach));
	foreach (cell, detach->views)
		append_count(&sql, ((const DetachView *) lfirst(cell))->before);
	appendStringInfo(&sql, " FROM %s", detach->table->qualified);
	select_one(detach, sql.data);
	unfit = column_value(1);
	foreach (cell, detach->views)
		((DetachView *) lfirst(cell))->rows = column_value(foreach_current_index(cell) + 2);
	SPI_freetuptable(SPI_tuptable);
	if (unfit > 0)
		detach->problems = lappend(
			detach->problems,
			psprintf("strings with U+0000, which jsonb and text cannot hold, are in " INT64_FORMAT
					 " items; format 'dynamodb' can hold them",
					 unfit));
}

static void
check_view(const DetachView *view, int64 rows)
{
	if (rows != view->rows)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("view %s would have " INT64_FORMAT " rows, not " INT64_FORMAT,
							   view->qualified, rows, view->rows),
						errdetail("Items of entity \"%s\" do not agree with its declaration.",
								  item_quoted(view->entity->name)),
						errhint("Call dyn_check_entities() to list them, or drop the view.")));
}

/* Raise an error if a view has other rows than before. */
void
detach_count_again(const Detach *detach)
{
	StringInfoData sql;
	ListCell *cell;

	if (detach->views == NIL)
		return;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT ");
	foreach (cell, detach->views)
		append_count(&sql, ((const DetachView *) lfirst(cell))->after);
	appendStringInfo(&sql, " FROM %s t", detach->table->qualified);
	select_one(detach, sql.data);
	foreach (cell, detach->views)
		check_view(lfirst(cell), column_value(foreach_current_index(cell) + 1));
	SPI_freetuptable(SPI_tuptable);
}
