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

/* ACTIVE if there is nothing left to do. */
static DynIndexStatus
begun(const GsiWork *work, Relation rel, const DynTable *table)
{
	const DynIndexSpec *spec = dyn_shape_index(dyn_shape_of(rel, table), work->name);

	if (spec == NULL)
		dyn_fail_no_index(table, work->name, ERRCODE_DYN_RESOURCE_NOT_FOUND, NULL);
	return spec->status;
}

/* The rest of what was begun. */
void
gsi_resume(GsiWork *work, DynIndexStatus status)
{
	if (status == DYN_INDEX_CREATING)
	{
		gsi_check_row_security(work);
		gsi_build_index(work);
	}
	else if (status == DYN_INDEX_DELETING)
		gsi_remove_index(work);
	else
		ereport(NOTICE, (errmsg("%s of table \"%s\" is not being %s", work->procedure.what,
								work->procedure.table,
								work->ttl ? "enabled or disabled" : "created or deleted")));
}

static void
resume(GsiWork *work, FunctionCallInfo fcinfo, Relation rel, DynTable *table)
{
	DynIndexStatus status = begun(work, rel, table);

	relation_close(rel, NoLock);
	gsi_resume(work, status);
}

PG_FUNCTION_INFO_V1(dyn_resume_index);
Datum
dyn_resume_index(PG_FUNCTION_ARGS)
{
	GsiWork *work = palloc0(sizeof(GsiWork));

	work->procedure.name = DYN_INTERNAL ".resume_index";
	gsi_run(work, fcinfo, true, resume);
	PG_RETURN_VOID();
}
