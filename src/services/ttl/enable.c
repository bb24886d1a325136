/*
 * enable.c
 *	  dyn_enable_ttl(), dyn_disable_ttl() and dyn_ttl_resume().
 *
 * Called outside a transaction block they do all of the work, in many transactions.  Inside one
 * they do what UpdateTimeToLive does: declare it, and leave the rest to a background worker.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "catalog/resource.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/extension.h"
#include "services/index/index.h"
#include "services/ttl/service.h"
#include "services/ttl/ttl.h"

/* Wanted is what dyn_enable_ttl() is to make. */
typedef struct Wanted
{
	ItemSpan table;
	ItemSpan attribute;
	int hide_expired; /* -1: not said */
	bool if_not_exists;
} Wanted;

static void
tell_who_sweeps(const char *table)
{
	service_notice(
		&ttl_service,
		psprintf("expired items of table \"%s\" are removed by dyn_sweep_ttl only", table));
}

/* Returns whether all that is wanted is another choice about expired items. */
static bool
only_hides(const DynTable *table, const Wanted *wanted)
{
	return wanted->hide_expired >= 0 && table->ttl != NULL &&
		   table->ttl->status == DYN_INDEX_ACTIVE &&
		   item_compare_bytes(table->ttl->name, wanted->attribute) == 0 &&
		   wanted->hide_expired != table->settings.hide_expired;
}

static Wanted
read_wanted(FunctionCallInfo fcinfo)
{
	return (Wanted){text_span(PG_GETARG_TEXT_PP(0)), text_span(PG_GETARG_TEXT_PP(1)),
					PG_ARGISNULL(2) ? -1 : PG_GETARG_BOOL(2), argument_flag(fcinfo, 3, false)};
}

/* Returns whether time to live is as it is wanted, and is not to be enabled again. */
static bool
is_there(const IndexBuild *work, const DynTable *table, const Wanted *wanted)
{
	if (!wanted->if_not_exists || table->ttl == NULL || table->ttl->status != DYN_INDEX_ACTIVE ||
		item_compare_bytes(table->ttl->name, wanted->attribute) != 0)
		return false;
	ereport(NOTICE, (errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("time to live of table \"%s\" is enabled already, skipping",
							work->procedure.table)));
	return true;
}

static void
enable(IndexBuild *work, FunctionCallInfo fcinfo, Relation rel, DynTable *table)
{
	Wanted wanted = read_wanted(fcinfo);
	bool hide = only_hides(table, &wanted);

	index_build_check_row_security(work);
	if (!hide && is_there(work, table, &wanted))
	{
		relation_close(rel, NoLock);
		return;
	}
	if (!hide)
	{
		ttl_check_enable(table, wanted.attribute);
		ttl_check_declaration(rel, table, wanted.attribute);
	}
	relation_close(rel, NoLock);
	rel =
		index_build_open_briefly(work, hide ? ShareRowExclusiveLock : AccessExclusiveLock, &table);
	/* what was begun goes on as it was begun */
	if (wanted.hide_expired < 0 && table->ttl != NULL && table->ttl->status == DYN_INDEX_CREATING)
		wanted.hide_expired = table->settings.hide_expired;
	if (hide)
		ttl_set_hide(rel, table, wanted.hide_expired);
	else if (!ttl_declare(work, rel, table, wanted.attribute, wanted.hide_expired > 0))
		index_build_make(work);
	procedure_next_transaction(&work->procedure);
	if (!hide)
		tell_who_sweeps(work->procedure.table);
}

/*
 * Enables time to live in the caller's transaction.  Raises an error unless the current user owns the
 * table.  If the table has pages, a background worker does the rest after the commit, so it must not
 * be a temporary table.  procedure is the name of what the user called, for messages.
 */
void
ttl_enable(ItemSpan name, ItemSpan attribute, bool hide_expired, const char *procedure)
{
	IndexBuild work = {0};
	DynTable *table;
	Relation rel;

	resource_keep_procedures_away(name);
	rel = resource_lock(name, AccessExclusiveLock, &table);
	ttl_check_enable(table, attribute);
	/* another session has done the same meanwhile */
	if (table->ttl != NULL && table->ttl->status == DYN_INDEX_CREATING)
		dyn_error(ERRCODE_DYN_VALIDATION, "TimeToLive is already enabled");
	ttl_begin_work(&work, procedure);
	index_build_begin_in_transaction(&work, rel, table);
	index_build_check_row_security(&work);
	if (!index_build_is_empty(rel, table))
		resource_require_permanent(rel, "Call dyn_enable_ttl outside of a transaction.");
	SPI_connect();
	if (!ttl_declare(&work, rel, table, attribute, hide_expired))
		index_build_resume_later(&work, table);
	SPI_finish();
}

/* Disables time to live in the caller's transaction, by the same rules as ttl_enable(). */
void
ttl_disable(ItemSpan name, const char *procedure)
{
	IndexBuild work = {0};
	DynShape *shape;
	DynTable *table;
	Relation rel;

	resource_keep_procedures_away(name);
	rel = resource_lock(name, AccessExclusiveLock, &table);
	ttl_check_disable(table);
	ttl_begin_work(&work, procedure);
	index_build_begin_in_transaction(&work, rel, table);
	SPI_connect();
	index_build_check_dependents(&work, rel, table);
	if (index_build_is_empty(rel, table))
		index_build_forget_index(&work, rel, table, false);
	else
	{
		resource_require_permanent(rel, "Call dyn_disable_ttl outside of a transaction.");
		shape = dyn_shape_of(rel, table);
		*index_build_status(&work, shape) = DYN_INDEX_DELETING;
		relation_close(rel, NoLock);
		dyn_shape_write_trigger(shape);
		index_build_resume_later(&work, table);
	}
	SPI_finish();
}

static void
enable_in_transaction(const Wanted *wanted)
{
	DynTable *table;
	Relation rel = resource_open(wanted->table, &table);
	bool hide = only_hides(table, wanted);

	relation_close(rel, AccessShareLock);
	if (hide)
	{
		rel = resource_lock(wanted->table, ShareRowExclusiveLock, &table);
		SPI_connect();
		ttl_set_hide(rel, table, wanted->hide_expired);
		SPI_finish();
		return;
	}
	ttl_enable(wanted->table, wanted->attribute, wanted->hide_expired > 0, "dyn_enable_ttl");
	tell_who_sweeps(table->name);
}

/* dyn_enable_ttl(table_name, attribute, hide_expired) */
PG_FUNCTION_INFO_V1(dyn_enable_ttl);
Datum
dyn_enable_ttl(PG_FUNCTION_ARGS)
{
	IndexBuild *work = palloc0(sizeof(IndexBuild));
	Wanted wanted;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("table name and attribute must not be null")));
	if (!procedure_can_commit(fcinfo))
	{
		wanted = read_wanted(fcinfo);
		enable_in_transaction(&wanted);
		PG_RETURN_VOID();
	}
	ttl_begin_work(work, "dyn_enable_ttl");
	index_build_run(work, fcinfo, false, enable);
	PG_RETURN_VOID();
}

static void
disable(IndexBuild *work, FunctionCallInfo fcinfo, Relation rel, DynTable *table)
{
	ttl_check_disable(table);
	index_build_check_dependents(work, rel, table);
	relation_close(rel, NoLock);
	index_build_declare_status(work, INDEX_BUILD_DROP, DYN_INDEX_DELETING);
	index_build_remove_index(work);
}

/* dyn_disable_ttl(table_name, cascade) */
PG_FUNCTION_INFO_V1(dyn_disable_ttl);
Datum
dyn_disable_ttl(PG_FUNCTION_ARGS)
{
	IndexBuild *work = palloc0(sizeof(IndexBuild));

	work->cascade = argument_flag(fcinfo, 1, false);
	/* the worker that goes on with a request only knows what the table's definition says */
	if (!procedure_can_commit(fcinfo) && !PG_ARGISNULL(0) && !work->cascade)
	{
		ttl_disable(text_span(PG_GETARG_TEXT_PP(0)), "dyn_disable_ttl");
		PG_RETURN_VOID();
	}
	ttl_begin_work(work, "dyn_disable_ttl");
	index_build_run(work, fcinfo, false, disable);
	PG_RETURN_VOID();
}

static void
resume(IndexBuild *work, FunctionCallInfo fcinfo, Relation rel, DynTable *table)
{
	DynIndexStatus status = table->settings.ttl_status;

	ttl_check_disable(table);
	relation_close(rel, NoLock);
	index_build_resume(work, status);
}

/* dyn_ttl_resume(relation): the rest of what was begun */
PG_FUNCTION_INFO_V1(dyn_ttl_resume);
Datum
dyn_ttl_resume(PG_FUNCTION_ARGS)
{
	IndexBuild *work = palloc0(sizeof(IndexBuild));

	ttl_begin_work(work, DYN_INTERNAL ".resume_ttl");
	index_build_run(work, fcinfo, true, resume);
	PG_RETURN_VOID();
}
