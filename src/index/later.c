/*
 * later.c
 *	  Procedures that begin when a transaction has committed.
 *
 * A function cannot commit, so it declares what is to become of an index and leaves the rest to
 * a background worker, a session like the caller's.  The worker is registered when the transaction
 * has committed, at a moment at which nothing may fail: all that it is given fits into its slot.
 * What it has to do it finds in the table's schema, as any later call does if there is no worker,
 * or if it fails.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "index/index.h"

/* In the slot's own space. */
typedef struct Later
{
	Oid database;
	Oid session_user;
	Oid role; /* InvalidOid: the session user itself */
	Oid relid;
} Later;

typedef struct Pending
{
	Later later;
	char *table;
	const char *what;
	char *statement; /* which does the same */
} Pending;

StaticAssertDecl(sizeof(Later) <= BGW_EXTRALEN, "a worker's slot is too small");

static List *pending = NIL; /* of the transaction, in its memory */

static bool
start_worker(const Pending *what)
{
	BackgroundWorker worker;

	gsi_worker_describe(&worker, "dynamo_table index", "dyn_index_later_main", (Datum) 0);
	snprintf(worker.bgw_name, BGW_MAXLEN, "dynamo_table: indexes of table %s", what->table);
	memcpy(worker.bgw_extra, &what->later, sizeof(Later));
	return RegisterDynamicBackgroundWorker(&worker, NULL);
}

static void
warn(const Pending *what, const char *why)
{
	ereport(WARNING, (errmsg("%s to go on with %s of table \"%s\"", why, what->what, what->table),
					  errdetail("The transaction has only declared what is to be done."),
					  errhint("Run %s.", what->statement)));
}

static void
end_of_transaction(XactEvent event, void *arg)
{
	ListCell *cell;

	if (pending == NIL || event == XACT_EVENT_PRE_COMMIT)
		return;
	foreach (cell, pending)
	{
		if (event == XACT_EVENT_COMMIT && !start_worker(lfirst(cell)))
			warn(lfirst(cell), "no background worker is free");
		/* its commit comes in another session, perhaps */
		if (event == XACT_EVENT_PRE_PREPARE)
			warn(lfirst(cell), "a prepared transaction starts no background worker");
	}
	pending = NIL;
}

/* index: NULL for time to live. */
static char *
resume_call(const DynTable *table, const char *relation, const char *index)
{
	if (index == NULL)
		return psprintf("CALL %s.dyn_ttl_resume(%s)", table->extension, relation);
	return psprintf("CALL %s.dyn_resume_index(%s, %s)", table->extension, relation,
					quote_literal_cstr(index));
}

/* After the transaction's commit go on with an index that it has declared or disowned. */
void
gsi_resume_later(const GsiWork *work, const DynTable *table)
{
	static bool registered = false;
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	Pending *what = palloc(sizeof(Pending));

	if (!registered)
		RegisterXactCallback(end_of_transaction, NULL);
	registered = true;
	what->later.database = MyDatabaseId;
	gsi_worker_user(&what->later.session_user, &what->later.role);
	what->later.relid = table->relid;
	what->table = pstrdup(work->table);
	what->what = work->ttl ? "time to live" : "the index";
	what->statement =
		resume_call(table, quote_literal_cstr(table->qualified), work->ttl ? NULL : work->index);
	pending = lappend(pending, what);
	MemoryContextSwitchTo(old);
}

/*
 * The worker
 */

/* The calls that a table's schema asks for. */
static List *
calls_for(const DynTable *table)
{
	const char *relation = psprintf("%u", table->relid);
	List *calls = NIL;

	for (int i = 0; i < table->nindexes; i++)
	{
		const DynIndex *index = &table->indexes[i];

		if (index->status != DYN_INDEX_ACTIVE)
			calls = lappend(
				calls, resume_call(table, relation, pnstrdup(index->name.data, index->name.len)));
	}
	if (table->ttl != NULL && table->ttl->status != DYN_INDEX_ACTIVE)
		calls = lappend(calls, resume_call(table, relation, NULL));
	return calls;
}

/* The same in the memory that outlives the transaction. */
static List *
find_calls(Oid relid, MemoryContext context)
{
	List *calls = NIL;
	DynTable *table;
	Relation rel;

	StartTransactionCommand();
	/* the transaction that started us has committed, but may hold its locks for a moment more */
	gsi_await_turn(relid);
	PushActiveSnapshot(GetTransactionSnapshot());
	rel = try_relation_open(relid, AccessShareLock);
	table = rel == NULL ? NULL : dyn_schema(rel);
	if (table != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		calls = calls_for(table);
		MemoryContextSwitchTo(old);
	}
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	PopActiveSnapshot();
	CommitTransactionCommand();
	return calls;
}

void
dyn_index_later_main(Datum unused)
{
	List *calls;
	ListCell *cell;
	Later later;

	gsi_worker_start();
	memcpy(&later, MyBgworkerEntry->bgw_extra, sizeof(Later));
	gsi_worker_connect(later.database, later.session_user, later.role);
	calls = find_calls(later.relid, TopMemoryContext);
	foreach (cell, calls)
		gsi_worker_run(lfirst(cell));
}
