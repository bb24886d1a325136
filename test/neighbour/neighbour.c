/*
 * neighbour.c
 *	  Another extension's library beside ours: it leaves one slot for relcache callbacks, and has
 *	  functions that are called as some of ours.
 */
#include "postgres.h"

#include "fmgr.h"
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

void
_PG_init(void)
{
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
