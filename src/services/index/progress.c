/*
 * progress.c
 *	  What the view dyn_jobs shows of the building and dropping of an index, or of time to live.
 *
 * Extensions have no progress commands of their own, so the work is shown as a CREATE INDEX, with a
 * number as its subcommand that the server never has there.  The view knows the work by that
 * number.  Blocks and tuples are where CREATE INDEX has them.
 */
#include "postgres.h"

#include "commands/progress.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"

#include "services/index/index.h"

#define PROGRESS_MARKER INT64CONST(0x44594e) /* see the view in the install script */
#define PROGRESS_PHASE 17
#define PROGRESS_LEFT_OUT 18
#define PROGRESS_TTL 19

/*
 * Returns whether the session shows the work already.  The rollback of a subtransaction ends that,
 * and a commit does not.  To begin again with each transaction would make the row vanish for a
 * moment.
 */
static bool
is_shown(const IndexBuild *work)
{
	return MyBEEntry != NULL && MyBEEntry->st_progress_command == PROGRESS_COMMAND_CREATE_INDEX &&
		   MyBEEntry->st_progress_command_target == work->procedure.relid &&
		   MyBEEntry->st_progress_param[PROGRESS_CREATEIDX_COMMAND] == PROGRESS_MARKER;
}

/*
 * Writes the state of the work into the session's progress entry, which dyn_jobs reads.
 * The rollback of a subtransaction clears the entry, so each new transaction shows the state again.
 */
void
index_build_progress_show(const IndexBuild *work)
{
	static const int params[] = {PROGRESS_CREATEIDX_COMMAND,
								 PROGRESS_PHASE,
								 PROGRESS_SCAN_BLOCKS_TOTAL,
								 PROGRESS_SCAN_BLOCKS_DONE,
								 PROGRESS_CREATEIDX_TUPLES_DONE,
								 PROGRESS_LEFT_OUT,
								 PROGRESS_TTL};
	int64 values[] = {PROGRESS_MARKER, work->phase,    work->blocks_total, work->blocks_done,
					  work->items,     work->left_out, work->ttl};

	if (!is_shown(work))
		pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, work->procedure.relid);
	pgstat_progress_update_multi_param(lengthof(params), params, values);
}

/* Enters a phase of the work and shows it. */
void
index_build_progress(IndexBuild *work, IndexBuildPhase phase)
{
	work->phase = phase;
	index_build_progress_show(work);
}
