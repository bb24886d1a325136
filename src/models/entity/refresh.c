/*
 * refresh.c
 *	  dyn_refresh_entity(): the keys that the templates of an entity make now, and the copies that it has,
 *	  for items that are there.
 */
#include "postgres.h"

#include "access/relation.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"

#include "models/entity/copy.h"
#include "server/arguments.h"
#include "server/work/procedure.h"
#include "services/job/items.h"

typedef struct Refresh
{
	ItemSpan name;
	bool from_keys; /* attributes that items lack are made of their keys */
	const Entity *entity; /* of the transaction, as are all of the table */
	List *entities;
	EntityCopies *copies; /* NULL: it has none; of the transaction as well */
} Refresh;

/* Returns what the work is known by: the declaration, and what is made. */
static const char *
fingerprint(Relation rel, const Refresh *refresh)
{
	const ModelDeclaration *found =
		model_find(model_declarations(rel, MODEL_ENTITY), refresh->name);

	return found == NULL ? ""
						 : psprintf("%s%s", refresh->from_keys ? "from keys: " : "", found->json);
}

/* Finds the entity.  A job does not make keys by two declarations, since it would not go back. */
static void
find_entity(ItemJob *work, Relation rel, DynTable *table)
{
	Refresh *refresh = work->arg;

	refresh->entity = entity_find(rel, table, refresh->name);
	refresh->entities = entities_of(rel, table);
	if (strcmp(fingerprint(rel, refresh), work->fingerprint) != 0)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("entity \"%s\" of table \"%s\" was declared again meanwhile",
							   work->name, work->table),
						errhint("Call dyn_refresh_entity again.")));
	refresh->copies = copies_open(rel, table, refresh->entity);
}

static bool
is_of_entity(ItemJob *work, const DynItem *item)
{
	const Refresh *refresh = work->arg;

	return entity_has(refresh->entity, item) ||
		   (refresh->from_keys && entity_by_keys(refresh->entities, item) == refresh->entity);
}

/* Returns the item with the attributes that its keys say, if that is asked for. */
static const DynItem *
completed(const Refresh *refresh, const DynItem *item)
{
	return refresh->from_keys ? entity_completed(refresh->entity, item) : item;
}

static void
note_item(ItemJob *work, const DynItem *item)
{
	const Refresh *refresh = work->arg;

	if (refresh->copies != NULL)
		copies_note(refresh->copies, completed(refresh, item));
}

static void
read_owners(ItemJob *work)
{
	EntityCopies *copies = ((Refresh *) work->arg)->copies;

	if (copies != NULL)
		copies_read(copies);
}

static DynItem *
refreshed(ItemJob *work, const DynItem *item)
{
	const Refresh *refresh = work->arg;

	item = completed(refresh, item);
	return refresh->copies == NULL
			   ? entity_rekeyed(refresh->entity, item)
			   : entity_restored(refresh->entity, copies_shown(refresh->copies, item), item);
}

/*
 * Waits for transactions that may have looked the entity up before it was declared: what they write
 * by the old declaration must be there when items are read.  No lock is taken, so no session queues
 * behind this one, and nothing is held but a transaction without a snapshot.
 */
static void
await_writers(Oid relid)
{
	LOCKTAG tag;

	procedure_commit(NULL);
	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
	WaitForLockers(tag, ShareLock, false);
}

PG_FUNCTION_INFO_V1(dyn_refresh_entity);
Datum
dyn_refresh_entity(PG_FUNCTION_ARGS)
{
	Refresh refresh = {0};
	ItemJob work = {.procedure = "dyn_refresh_entity",
					.kind = "refresh",
					.arg = &refresh,
					.open = find_entity,
					.wants = is_of_entity,
					.note = note_item,
					.look_up = read_owners,
					.change = refreshed};
	DynTable *table;
	Relation rel;

	procedure_connect(fcinfo, work.procedure);
	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "entity");
	work.table_name = PG_GETARG_TEXT_PP(0);
	work.name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	refresh.name = item_span(work.name);
	item_job_arguments(&work, fcinfo, 2);
	argument_require(fcinfo, 6, "from_keys");
	refresh.from_keys = PG_GETARG_BOOL(6);
	rel = item_job_open(&work, &table);
	(void) entity_find(rel, table, refresh.name);
	work.fingerprint = fingerprint(rel, &refresh);
	relation_close(rel, AccessShareLock);
	await_writers(work.relid);
	item_job_run(&work);
	SPI_finish();
	PG_RETURN_VOID();
}
