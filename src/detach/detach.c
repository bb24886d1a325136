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
#include "utils/tuplestore.h"

#include "catalog/resource.h"
#include "catalog/rights.h"
#include "detach/detach.h"
#include "ground/arguments.h"
#include "ground/errors.h"
#include "work/brief_lock.h"

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
 * Lock the table and the views that are made again, all at once: who reads a view locks it before the
 * table.
 */
static Relation
open_to_change(text *name, DetachFormat format, DynTable **table)
{
	Relation rel = open_owned(name, table);
	List *relids = format == DETACH_COLUMNS ? detach_views_of_owner(rel) : NIL;
	Oid relid = RelationGetRelid(rel);
	Oid item_type = (*table)->item_type;

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
refuse(const Detach *detach)
{
	StringInfoData detail;
	ListCell *cell;

	if (detach->problems == NIL)
		return;
	initStringInfo(&detail);
	foreach (cell, detach->problems)
		appendStringInfo(&detail, "%s%s.", detail.len > 0 ? "\n" : "", (const char *) lfirst(cell));
	ereport(ERROR, (errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
					errmsg("table \"%s\" cannot be detached", detach->table->name),
					errdetail("%s", detail.data),
					detach->format == DETACH_COLUMNS
						? 0
						: errhint("Format 'columns' keeps views of entities.")));
}

static void
execute(const Detach *detach)
{
	ListCell *cell;

	foreach (cell, detach->steps)
	{
		const DetachStep *step = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (step->is_statement)
			dyn_execute(step->text);
	}
	detach_count_again(detach);
	detach_check_independent(detach);
}

static void
return_plan(FunctionCallInfo fcinfo, const Detach *detach)
{
	List *lines = NIL;
	ListCell *cell;

	foreach (cell, detach->problems)
		lines = lappend(lines, detach_note(psprintf("Refused: %s.", (const char *) lfirst(cell))));
	foreach (cell, detach->steps)
	{
		const DetachStep *step = lfirst(cell);

		lines = lappend(lines, psprintf("%s%s", step->text, step->is_statement ? ";" : ""));
	}
	return_texts(fcinfo, lines);
}

/* dyn_detach(table_name, format, dry_run) */
PG_FUNCTION_INFO_V1(dyn_detach);
Datum
dyn_detach(PG_FUNCTION_ARGS)
{
	text *name = argument_required_text(fcinfo, 0, "table_name");
	MemoryContext context = CurrentMemoryContext;
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
	MemoryContextSwitchTo(context); /* the plan outlives SPI */
	/* policies hide nothing that is rewritten from what is counted */
	rights_take(rel->rd_rel->relowner, SECURITY_NOFORCE_RLS, &before);
	detach_plan(&detach, rel);
	relation_close(rel, NoLock);
	if (!dry_run)
	{
		refuse(&detach);
		execute(&detach);
	}
	rights_give_back(&before);
	SPI_finish();
	return_plan(fcinfo, &detach);
	return (Datum) 0;
}
