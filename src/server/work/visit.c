/*
 * visit.c
 *	  The worker of a service: it visits a database, and ends.
 *
 * It is a session of the bootstrap superuser.  What belongs to others must not run with these rights;
 * that is for the service to see to.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "server/work/background.h"
#include "server/work/visit.h"

/* It may be connected to a database, or as a role, with settings of its own. */
static const char *const settings[][2] = {{"search_path", "pg_catalog, pg_temp"},
										  {"default_transaction_isolation", "read committed"},
										  {"lock_timeout", "500ms"},
										  {"statement_timeout", "0"},
										  {"transaction_timeout", "0"},
										  {"idle_in_transaction_session_timeout", "0"}};

/*
 * Says that the worker is at work on a relation, for the case that it ends meanwhile, perhaps with
 * the server.
 */
void
visit_begin_work(Visit *visit, Oid relid)
{
	if (relid != visit->relid)
		trace_write(visit, MyDatabaseId, relid);
	visit->relid = relid;
	visit_publish(visit);
}

/* Says that it is at work on none. */
void
visit_end_work(Visit *visit)
{
	visit_begin_work(visit, InvalidOid);
}

/*
 * What is looked at in each database now and then, for services of which there may be no visit.
 */

#define MAX_LOOKS 4

static void (*looks[MAX_LOOKS])(void);
static int nlooks = 0;

/* Adds something to look at.  It is called outside of a transaction, and raises no errors. */
void
visit_add_look(void (*look)(void))
{
	Assert(nlooks < MAX_LOOKS);
	looks[nlooks++] = look;
}

/* Looks at all of it, in a visit of a service that comes to each database. */
void
visit_look(void)
{
	for (int i = 0; i < nlooks; i++)
		looks[i]();
}

static Visit current;

/* Clears the trace, whatever ends the worker but a crash. */
static void
end_trace(int code, Datum arg)
{
	trace_write(&current, InvalidOid, InvalidOid);
}

/* This is the entry point of the worker.  Its argument is the number of its visit. */
void
dyn_visit_main(Datum number)
{
	Visit *visit = &current;
	const Service *service;

	background_start();
	if (!visit_find(DatumGetUInt32(number), visit))
		return;
	service = services[visit->service];
	visit->began = GetCurrentTimestamp();
	visit_publish(visit);
	if (!service->resident)
	{
		before_shmem_exit(end_trace, 0);
		trace_write(visit, visit->database, InvalidOid);
	}
	background_connect(visit->database, InvalidOid, InvalidOid);
	background_settings(settings, lengthof(settings));
	visit->answer = service->visit(visit);
	visit_end_work(visit);
}
