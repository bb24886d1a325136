/*
 * detach.c
 *	  dyn_detach(): looks the table up, and carries its plan out.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "catalog/distribute.h"
#include "catalog/lookup.h"
#include "catalog/resource.h"
#include "catalog/rights.h"
#include "catalog/vector.h"
#include "models/detach/detach.h"
#include "server/arguments.h"
#include "server/catalogs.h"
#include "server/errors.h"
#include "server/sql.h"
#include "server/work/brief_lock.h"

static const char *const format_names[] = {"jsonb", "dynamodb", "columns", NULL};

/*
 * The table
 */

static Relation
open_owned(text *name, DynTable **table)
{
	Relation rel = dyn_table_open(name, AccessShareLock, table);

	rights_require_plain_table(rel, "the items");
	dyn_refuse_distributed(rel, "be detached",
						   "Its rows are in shards, which would keep their items.",
						   "Call dyn_undistribute_table() first.");
	return rel;
}

/*
 * Locks the table, the views that are made again, and the entries of vector indexes, all at once: who reads
 * a view locks it before the table.
 */
static Relation
open_to_change(text *name, DetachFormat format, DynTable **table)
{
	Relation rel = open_owned(name, table);
	List *relids = format == DETACH_COLUMNS ? detach_views_of_owner(rel) : NIL;
	Oid relid = RelationGetRelid(rel);
	Oid item_type = (*table)->item_type;

	for (int i = 0; i < (*table)->nvectors; i++)
	{
		if (dyn_vector_is_owned(*table, &(*table)->vectors[i]))
			relids = lappend_oid(relids, (*table)->vectors[i].relid);
	}
	relids = lappend_oid(relids, relid);
	relation_close(rel, AccessShareLock);
	resource_keep_procedures_away(text_span(name));
	brief_lock_all(relids, AccessExclusiveLock);
	/* the names that statements have stay those of what they mean */
	extension_keep_schema(get_rel_namespace(relid));
	extension_keep_schema(dyn_type_schema(item_type));
	rel = open_owned(name, table);
	if (!list_member_oid(relids, RelationGetRelid(rel)))
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("table \"%s\" was replaced meanwhile", (*table)->name),
						errhint("Try again.")));
	return rel;
}

/*
 * The plan
 */

static void
detach_refuse(const Detach *detach)
{
	const char *detail = "";
	ListCell *cell;

	if (detach->problems == NIL)
		return;
	foreach (cell, detach->problems)
		detail = psprintf("%s%s%s.", detail, *detail == '\0' ? "" : "\n", (char *) lfirst(cell));
	ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					errmsg("table \"%s\" cannot be detached", detach->table->name),
					errdetail("%s", detail),
					detach->format == DETACH_COLUMNS
						? 0
						: errhint("Format 'columns' keeps views of entities.")));
}

/* Returns how many rows of a relation meet a condition, of those that ALTER TABLE rewrites. */
int64
detach_count(Oid relid, const char *condition)
{
	int64 rows;

	SPI_execute_snapshot(
		SPI_prepare(sql_on(relid, psprintf("SELECT pg_catalog.count(*) FROM %s t WHERE %s",
										   catalogs_qualified(relid), condition)),
					0, NULL),
		NULL, NULL, GetLatestSnapshot(), InvalidSnapshot, false, false, 0);
	rows = DatumGetInt64(sql_value(SPI_tuptable, 0, 1));
	SPI_freetuptable(SPI_tuptable);
	return rows;
}

static void
require_independent(Oid relid)
{
	List *names = detach_dependents(relid, NIL, NIL, NIL);

	if (names != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("%s would still depend on the extension", (char *) linitial(names))));
}

static void
make_view(Detach *detach, const DetachView *view)
{
	char *sql = detach_view_sql(detach, view);
	int64 rows;

	dyn_execute(sql);
	detach->steps = lappend(detach->steps, psprintf("%s;", sql));
	rows = detach_count(view->relid, "true");
	if (rows != view->rows)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("view %s would have " INT64_FORMAT " rows, not " INT64_FORMAT,
							   catalogs_qualified(view->relid), rows, view->rows),
						errdetail("Items do not agree with the declarations of their entities."),
						errhint("Call dyn_check_entities() to list them, or drop the view.")));
	require_independent(view->relid);
}

static void
detach_execute(Detach *detach)
{
	ListCell *cell;

	foreach (cell, detach->views)
	{
		DetachView *view = lfirst(cell);

		view->rows = detach_count(view->relid, "true");
	}
	foreach (cell, detach->steps)
	{
		CHECK_FOR_INTERRUPTS();
		if (*(const char *) lfirst(cell) != '-')
			dyn_execute(lfirst(cell));
	}
	foreach (cell, detach->views)
		make_view(detach, lfirst(cell));
	require_independent(detach->relid);
}

/* dyn_detach(table_name, format, dry_run) */
PG_FUNCTION_INFO_V1(dyn_detach);
Datum
dyn_detach(PG_FUNCTION_ARGS)
{
	text *name = argument_required_text(fcinfo, 0, "table_name");
	Detach detach = {0};
	DynTable *table;
	RightsBefore before;
	bool dry_run;
	Relation rel;

	argument_require(fcinfo, 1, "format");
	argument_require(fcinfo, 2, "dry_run");
	dry_run = PG_GETARG_BOOL(2);
	detach.format = (DetachFormat) argument_choice(fcinfo, 1, "format", 0, format_names);
	rel = dry_run ? open_owned(name, &table) : open_to_change(name, detach.format, &table);
	detach.relid = RelationGetRelid(rel);
	detach.table = table;
	detach.shape = dyn_shape_of(rel, table);
	SPI_connect();
	/* policies hide nothing that is rewritten from what is counted */
	rights_take(rel->rd_rel->relowner, SECURITY_NOFORCE_RLS, &before);
	detach_plan(&detach, rel);
	relation_close(rel, NoLock);
	if (!dry_run)
	{
		detach_refuse(&detach);
		detach_execute(&detach);
	}
	rights_give_back(&before);
	return_texts(fcinfo, detach.steps);
	SPI_finish();
	return (Datum) 0;
}
