/*
 * state.c
 *	  A backend's state of the tables that it writes: whether placement applies, and which pages it
 *	  wrote last.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_am_d.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "am/place.h"
#include "catalog/definition/table_settings.h"
#include "catalog/definition/trigger.h"
#include "server/compat.h"
#include "server/invalidate.h"

/* With more entries than this, those of dropped tables are searched for and removed. */
#define MANY_TABLES 256

/* The table remembers recent pages from so many rows on, and so many at most; 8 bytes each. */
#define MIN_RECENT 256
#define MAX_RECENT 65536

static HTAB *states = NULL;
static MemoryContext states_context = NULL;

/* Goes up when locks may have been released in the middle of a transaction. */
static uint32 age = 0;

/* Only marks entries: the interrupted code may hold a pointer to one. */
static void
mark_invalid(Oid relid)
{
	HASH_SEQ_STATUS scan;
	DynPlaceState *state;

	if (OidIsValid(relid))
	{
		state = hash_search(states, &relid, HASH_FIND, NULL);
		if (state != NULL)
			state->valid = false;
		return;
	}
	hash_seq_init(&scan, states);
	while ((state = hash_seq_search(&scan)) != NULL)
		state->valid = false;
}

static Subscriber subscriber = {.relation_changed = mark_invalid};

static void
end_of_subtransaction(SubXactEvent event, SubTransactionId own, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB || event == SUBXACT_EVENT_COMMIT_SUB)
		age++;
}

/*
 * Returns the number of subtransactions that this backend has ended so far.  What was noted under
 * another number may be out of date, because the end of a subtransaction can release locks.
 */
uint32
dyn_place_age(void)
{
	return age;
}

/* Registers the callback that counts ends of subtransactions.  Called once by dyn_am_init(). */
void
dyn_place_init(void)
{
	RegisterSubXactCallback(end_of_subtransaction, NULL);
}

static void
create_states(void)
{
	HASHCTL ctl;

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(DynPlaceState);
	states_context =
		AllocSetContextCreate(CacheMemoryContext, "dynamo_table placement", ALLOCSET_SMALL_SIZES);
	ctl.hcxt = states_context;
	states = hash_create("dynamo_table placement", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	invalidation_subscribe(&subscriber);
}

static void
forget_recent(DynPlaceState *state)
{
	if (state->recent != NULL)
		pfree(state->recent);
	state->recent = NULL;
	state->nrecent = state->noted = 0;
}

static void
remove_invalid(void)
{
	HASH_SEQ_STATUS scan;
	DynPlaceState *state;

	hash_seq_init(&scan, states);
	while ((state = hash_seq_search(&scan)) != NULL)
	{
		if (state->valid)
			continue;
		forget_recent(state);
		hash_search(states, &state->relid, HASH_REMOVE, NULL);
	}
}

/* Returns the column that makes collections, if the key is a btree of at least two columns. */
static AttrNumber
collection_column(Oid oid)
{
	Relation index;
	AttrNumber result = InvalidAttrNumber;

	/* the lock that writers of the table take on its indexes */
	if (!ConditionalLockRelationOid(oid, RowExclusiveLock))
		return result;
	index = RelationIdGetRelation(oid);
	if (index != NULL && index->rd_rel->relam == BTREE_AM_OID &&
		IndexRelationGetNumberOfKeyAttributes(index) > 1)
		result = index->rd_index->indkey.values[0];
	if (index != NULL)
		RelationClose(index);
	UnlockRelationOid(oid, RowExclusiveLock);
	return result;
}

/* Returns the switch of a table of items, which is on where there is none. */
static bool
switched_on(Relation rel)
{
	List *arguments = dyn_derive_arguments(rel);
	ListCell *cell;
	DynSettings settings;
	MemoryContext context;
	MemoryContext old;
	bool result = true;

	foreach (cell, arguments)
	{
		if (!dyn_settings_is_argument(lfirst(cell)))
			continue;
		context = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table settings",
										ALLOCSET_SMALL_SIZES);
		old = MemoryContextSwitchTo(context);
		dyn_settings_parse(lfirst(cell), &settings);
		result = !settings.no_placement;
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
	return result;
}

static void
forget_pages(DynPlaceState *state, Oid file)
{
	state->file = file;
	state->blocks = 0;
	state->transaction = InvalidLocalTransactionId;
	state->last = InvalidBlockNumber;
	state->newcomers.block = state->rest.block = state->growing.block = InvalidBlockNumber;
	state->half.block = state->moved.block = InvalidBlockNumber;
	state->run = 0;
	state->newcomer_share = 0.5f;
	state->rows = 0;
	state->pairs = 0;
	state->collection_rows = state->difference = state->product = 0;
	for (int i = 0; i < DYN_SIZE_CLASSES; i++)
		state->kept[i] = -1;
	forget_recent(state);
}

/* Blocks survive, unless the table has a new file. */
static DynPlaceState *
build_state(Relation rel)
{
	Oid relid = RelationGetRelid(rel);
	Oid index = primary_key_index(rel);
	AttrNumber column = OidIsValid(index) ? collection_column(index) : InvalidAttrNumber;
	bool applies = column != InvalidAttrNumber && switched_on(rel);
	bool known;
	DynPlaceState *state;

	if (hash_get_num_entries(states) > MANY_TABLES)
		remove_invalid();
	state = hash_search(states, &relid, HASH_ENTER, &known);
	if (!known)
		*state = (DynPlaceState){.relid = relid};
	if (!known || state->file != rel->rd_rel->relfilenode)
		forget_pages(state, rel->rd_rel->relfilenode);
	state->index = index;
	state->column = column;
	state->applies = applies;
	state->valid = true;
	return state;
}

/* Forgets the pages of a table that is about to lose them, and keeps its file. */
void
dyn_place_emptied(Relation rel)
{
	DynPlaceState *state = dyn_place_find(RelationGetRelid(rel));

	if (state != NULL)
		forget_pages(state, rel->rd_rel->relfilenode);
}

/* Returns what the backend knows of a table, even if it was invalidated; NULL if nothing. */
DynPlaceState *
dyn_place_find(Oid relid)
{
	return states == NULL ? NULL : hash_search(states, &relid, HASH_FIND, NULL);
}

/*
 * Returns what the backend knows of a table, after reading the catalogs if that is missing or was
 * invalidated.  The caller has the table open and locked.
 */
DynPlaceState *
dyn_place_state(Relation rel)
{
	DynPlaceState *state;

	if (states == NULL)
		create_states();
	state = dyn_place_find(RelationGetRelid(rel));
	return state != NULL && state->valid ? state : build_state(rel);
}

/*
 * No other session can truncate the table while this session holds its lock, but one may have done
 * so since the blocks were noted: after an earlier transaction, or after a subtransaction released
 * the lock.  Blocks that this session itself truncates have been forgotten, see
 * dyn_place_emptied().
 */
void
dyn_place_check_blocks(DynPlaceState *state, Relation rel)
{
	if (state->transaction == my_local_xid() && state->age == age)
		return;
	state->blocks = RelationGetNumberOfBlocks(rel);
	state->transaction = my_local_xid();
	state->age = age;
}

/*
 * Returns whether a block is known to exist in the table.  The caller has called
 * dyn_place_check_blocks() under its present lock.
 */
bool
dyn_place_block_is_good(const DynPlaceState *state, BlockNumber block)
{
	return block != InvalidBlockNumber && block < state->blocks;
}

/* Returns where this backend has put the last row of a collection, or InvalidBlockNumber. */
BlockNumber
dyn_place_recall(const DynPlaceState *state, uint32 collection)
{
	const DynRecentPage *recent;

	if (state->collection == collection && dyn_place_block_is_good(state, state->last))
		return state->last;
	if (state->nrecent == 0)
		return InvalidBlockNumber;
	recent = &state->recent[collection & (state->nrecent - 1)];
	if (recent->collection != collection)
		recent = &state->recent[(collection & (state->nrecent - 1)) ^ 1];
	if (recent->collection == collection && dyn_place_block_is_good(state, recent->block))
		return recent->block;
	return InvalidBlockNumber;
}

/* Remembers a page: of two collections that meet, the earlier one goes to the place beside. */
static void
put_recent(DynPlaceState *state, DynRecentPage page)
{
	uint32 i = page.collection & (state->nrecent - 1);

	if (state->recent[i].collection != page.collection)
		state->recent[i ^ 1] = state->recent[i];
	state->recent[i] = page;
}

/* Makes room for those who write much. */
static void
grow_recent(DynPlaceState *state)
{
	uint32 n = Max(2 * state->nrecent, MIN_RECENT);
	DynRecentPage *before = state->recent;
	uint32 nbefore = state->nrecent;

	state->recent = MemoryContextAlloc(states_context, n * sizeof(DynRecentPage));
	state->nrecent = n;
	state->noted = 0;
	/* an invalid block */
	memset(state->recent, 0xFF, n * sizeof(DynRecentPage));
	for (uint32 i = 0; i < nbefore; i++)
		put_recent(state, before[i]);
	if (before != NULL)
		pfree(before);
}

/*
 * Remembers the block that has just got a row of a collection, so that the next row of it is aimed
 * there.  The collection is given by its hash.
 */
void
dyn_place_note(DynPlaceState *state, uint32 collection, BlockNumber block)
{
	state->run = state->collection == collection ? state->run + 1 : 1;
	state->collection = collection;
	state->last = block;
	state->blocks = Max(state->blocks, block + 1);
	if (++state->noted > 2 * Max(state->nrecent, MIN_RECENT / 2) && state->nrecent < MAX_RECENT)
		grow_recent(state);
	if (state->nrecent > 0)
		put_recent(state, (DynRecentPage){collection, block});
}
