/*
 * neighbour.c
 *	  Another extension's library beside ours: it leaves one slot for relcache callbacks, has
 *	  functions that are called as some of ours, and hooks in the planner and in the log.
 */
#include "postgres.h"

#include "fmgr.h"
#include "optimizer/paths.h"
#include "utils/inval.h"

PG_MODULE_MAGIC;

/* Of ten slots the server takes three: for cached plans, composite types, and logical decoding. */
#define SLOTS 6

extern PGDLLEXPORT void _PG_init(void);
extern PGDLLEXPORT int64 ttl_back_off(int failures);
extern PGDLLEXPORT bool item_validate(const char *data, Size len);
extern PGDLLEXPORT void *attempt(void (*step)(void *arg), void *arg);

static void
ignore(Datum arg, Oid relid)
{
}

static set_rel_pathlist_hook_type next_hook;
static int64 planned;

static void
count_planned(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	planned++;
	if (next_hook != NULL)
		next_hook(root, rel, rti, rte);
}

static emit_log_hook_type next_log_hook;
static int64 heard;

static void
count_heard(ErrorData *error)
{
	if (error->sqlerrcode == MAKE_SQLSTATE('Y', 'D', '0', '0', '2'))
		heard++;
	if (next_log_hook != NULL)
		next_log_hook(error);
}

void
_PG_init(void)
{
	next_log_hook = emit_log_hook;
	emit_log_hook = count_heard;
	next_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = count_planned;
	for (int i = 0; i < SLOTS; i++)
		CacheRegisterRelcacheCallback(ignore, (Datum) 0);
}

int64
ttl_back_off(int failures)
{
	return -failures;
}

bool
item_validate(const char *data, Size len)
{
	elog(ERROR, "item_validate() of another library was called");
}

void *
attempt(void (*step)(void *arg), void *arg)
{
	elog(ERROR, "attempt() of another library was called");
}

PG_FUNCTION_INFO_V1(neighbour_answers);
Datum
neighbour_answers(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(ttl_back_off(PG_GETARG_INT32(0)));
}

/* How many errors of a condition our hook has seen. */
PG_FUNCTION_INFO_V1(neighbour_heard);
Datum
neighbour_heard(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(heard);
}

/* How many relations the planner has asked our hook about. */
PG_FUNCTION_INFO_V1(neighbour_planned);
Datum
neighbour_planned(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(planned);
}
