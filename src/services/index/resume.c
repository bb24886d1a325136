/*
 * resume.c
 *	  The rest of what was begun: dyn_resume_index(), which workers call.
 *
 * The state of the table says what is left to do: an index that is CREATING is built, one that is
 * DELETING removed.  It is for UpdateTable, which can only begin the work, and after an
 * interruption.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "server/errors.h"
#include "server/extension.h"
#include "services/index/index.h"

/* Returns what was begun; that is ACTIVE if there is nothing left to do. */
static DynIndexStatus
begun(const IndexBuild *work, Relation rel, const DynTable *table)
{
	const DynIndexSpec *spec = dyn_shape_index(dyn_shape_of(rel, table), work->name);

	if (spec == NULL)
		dyn_fail_no_index(table, work->name, ERRCODE_DYN_RESOURCE_NOT_FOUND, NULL);
	return spec->status;
}

/* Does the rest of what was begun. */
void
index_build_resume(IndexBuild *work, DynIndexStatus status)
{
	if (status == DYN_INDEX_CREATING)
	{
		index_build_check_row_security(work);
		index_build_make(work);
	}
	else if (status == DYN_INDEX_DELETING)
		index_build_remove_index(work);
	else
		ereport(NOTICE, (errmsg("%s of table \"%s\" is not being %s", work->procedure.what,
								work->procedure.table,
								work->ttl ? "enabled or disabled" : "created or deleted")));
}

static void
resume_build(IndexBuild *work, FunctionCallInfo fcinfo, Relation rel, DynTable *table)
{
	const DynVector *vector = dyn_find_vector(table, work->name);
	DynIndexStatus status;

	if (vector != NULL && !dyn_vector_is_built(vector))
	{
		relation_close(rel, NoLock);
		index_build_make_vector(work);
		return;
	}
	status = vector != NULL ? DYN_INDEX_ACTIVE : begun(work, rel, table);

	relation_close(rel, NoLock);
	index_build_resume(work, status);
}

PG_FUNCTION_INFO_V1(dyn_resume_index);
Datum
dyn_resume_index(PG_FUNCTION_ARGS)
{
	IndexBuild *work = palloc0(sizeof(IndexBuild));

	work->procedure.name = DYN_INTERNAL ".resume_index";
	index_build_run(work, fcinfo, true, resume_build);
	PG_RETURN_VOID();
}
