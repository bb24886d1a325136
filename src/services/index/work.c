/*
 * work.c
 *	  Where procedures on an index, or on time to live, begin and end.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/backend_progress.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "server/errors.h"
#include "services/index/index.h"

/* Reads the names: the first argument is of the table, and the second of an index, if any. */
static void
read_names(FunctionCallInfo fcinfo, IndexBuild *work)
{
	text *name;

	if (PG_ARGISNULL(0) || (!work->ttl && PG_ARGISNULL(1)))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg(work->ttl ? "table name must not be null"
										 : "table name and index name must not be null")));
	if (work->ttl)
		return;
	name = PG_GETARG_TEXT_P_COPY(1);
	index_build_name(work, (ItemSpan){VARDATA(name), VARSIZE(name) - VARHDRSZ});
}

static Relation
open_argument(FunctionCallInfo fcinfo, bool by_oid, DynTable **table)
{
	Relation rel;

	if (!by_oid)
		return dyn_table_open(PG_GETARG_TEXT_PP(0), AccessShareLock, table);
	rel = rights_open(PG_GETARG_OID(0), AccessShareLock);
	*table = rel == NULL ? NULL : dyn_schema(rel);
	if (*table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("relation %u is not a table of items", PG_GETARG_OID(0))));
	return rel;
}

/* Shows the progress; work begins with its procedure. */
static void
show_progress(Procedure *procedure)
{
	index_build_progress_show((IndexBuild *) procedure);
}

static Relation
work_begin(IndexBuild *work, FunctionCallInfo fcinfo, bool by_oid, DynTable **table)
{
	Relation rel;

	read_names(fcinfo, work);
	rel = open_argument(fcinfo, by_oid, table);
	rights_require_plain_table(rel, work->ttl ? work->procedure.what : "indexes");
	work->temporary = rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP;
	work->distributed = (*table)->distributed;
	work->procedure.begun = show_progress;
	if (!procedure_begin(&work->procedure, rel))
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_IN_USE),
						errmsg("an index of table \"%s\" is being created or dropped by another "
							   "session",
							   work->procedure.table)));
	return rel;
}

/*
 * Sets up work in the caller's transaction, on a table that is locked for it; a background worker may
 * do the rest.  Raises an error unless the current user owns the table.
 */
void
index_build_begin_in_transaction(IndexBuild *work, Relation rel, const DynTable *table)
{
	work->procedure.relid = RelationGetRelid(rel);
	work->procedure.table = table->name;
	rights_require_plain_table(rel, work->ttl ? work->procedure.what : "indexes");
}

/* Ends work, also after an error, in whatever state that has left the transaction. */
static void
work_end(IndexBuild *work)
{
	procedure_end(&work->procedure);
	place_leave(&work->place);
	pgstat_progress_end_command();
}

/*
 * Runs a procedure whose first argument names the table, or is its OID. body is called in the first
 * transaction, the caller's: it only reads, under a lock that does not block reads and writes but
 * is too weak for what follows, and closes the relation.
 */
void
index_build_run(IndexBuild *work, FunctionCallInfo fcinfo, bool by_oid, IndexBuildBody body)
{
	DynTable *table;
	Relation rel;

	procedure_connect(fcinfo, work->procedure.name);
	PG_TRY();
	{
		rel = work_begin(work, fcinfo, by_oid, &table);
		body(work, fcinfo, rel, table);
	}
	PG_FINALLY();
	{
		work_end(work);
	}
	PG_END_TRY();
	SPI_finish();
}

static Relation
work_describe(const IndexBuild *work, Relation rel, DynTable **table)
{
	*table = dyn_schema(rel);
	if (*table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("\"%s\" is no table of items any more", work->procedure.table)));
	return rel;
}

/* Opens the table in a new transaction, see procedure_open(). */
Relation
index_build_open(IndexBuild *work, LOCKMODE mode, DynTable **table)
{
	return work_describe(work, procedure_open(&work->procedure, mode), table);
}

/* Does the same under a lock that others wait for, see procedure_open_briefly(). */
Relation
index_build_open_briefly(IndexBuild *work, LOCKMODE mode, DynTable **table)
{
	return work_describe(work, procedure_open_briefly(&work->procedure, mode), table);
}
