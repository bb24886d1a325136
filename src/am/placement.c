/*
 * placement.c
 *	  Inserts and updates that keep the rows of a collection on the same pages.
 *
 * Heap puts a row into the relation's target block, if it fits.  So the target is set before
 * heap's own callback is called, and no code of heap's is repeated.  Two rules make that cheap in
 * space.  A page is aimed at only if it has room: heap looks for another page otherwise, and the
 * next aim would forget that one.  And afterwards the target is what it was, so that rows which
 * are not aimed fill the page that they were filling.
 *
 * No buffer is locked and no pin is held when heap's code runs.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "catalog/index.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/datum.h"

#include "am/am.h"
#include "am/place.h"
#include "am/placement.h"
#include "server/compat.h"

/* So many rows of one collection in succession are a load in key order, which is kept. */
#define LONG_RUN 8

/* As many as a look at a leaf counts to a side make a large collection, however short they are. */
#define MANY_NEIGHBOURS 64

/*
 * A collection that fills this part of a page gets one of its own.  When each that outgrew its page
 * got one, 1 M items of skewed collections took 1,124 MB, and 289 MB in a heap.  The second part
 * holds once collections are large: 15 % makes 5.86 pages per collection, 18 % 6.05
 * (docs/benchmarks.md).
 */
#define OWNER 0.66f
#define EARLY_OWNER 0.15f

/* This is OWNER in pages for an update: what moved rows leave is for the collection too. */
#define MOVED_OWNER 3

/*
 * Collections are large, some 25 rows and more, if fewer rows than this share are first ones.  The
 * Zipf table of docs/benchmarks.md took 411 MB at 6 %, rather than 357 MB.
 */
#define FEW_NEWCOMERS 0.04f

/* One of the first rows, which tell little, may change the share by one in so many at most. */
#define ROWS_TO_LEARN 16

bool dyn_placement_enabled = true;

/* This is what was offered for the next insert; of no relation: nothing. */
static DynProbe offered;
static LocalTransactionId offered_transaction;
static uint32 offered_age;

/* An Aim lives from before heap's callback until after it. */
typedef struct Aim
{
	BlockNumber previous;
	BlockNumber block; /* InvalidBlockNumber: none */
	uint32 collection;
	Size size;
	bool update;
} Aim;

/* A RowKey holds the primary key's values of a row. */
typedef struct RowKey
{
	int n;
	Datum values[INDEX_MAX_KEYS];
	Datum copies[INDEX_MAX_KEYS]; /* to be freed; 0: none */
} RowKey;

static uint32
hash_key(Relation index, const Datum *key, int n)
{
	uint32 hash = 0;

	for (int i = 0; i < n; i++)
	{
		Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), i);

		hash = hash_combine(hash, datum_image_hash(key[i], column->attbyval, column->attlen));
	}
	return hash;
}

/* Comparisons run under a lock on the leaf, where nothing should be fetched from elsewhere. */
static bool
fetch_key(Relation index, TupleTableSlot *slot, RowKey *key)
{
	key->n = IndexRelationGetNumberOfKeyAttributes(index);
	for (int i = 0; i < key->n; i++)
	{
		bool isnull;
		Datum value = slot_getattr(slot, index->rd_index->indkey.values[i], &isnull);

		key->copies[i] = (Datum) 0;
		if (isnull)
		{
			key->n = i;
			return false;
		}
		if (TupleDescAttr(RelationGetDescr(index), i)->attlen == -1 &&
			(VARATT_IS_EXTERNAL(DatumGetPointer(value)) ||
			 VARATT_IS_COMPRESSED(DatumGetPointer(value))))
			value = key->copies[i] = PointerGetDatum(PG_DETOAST_DATUM(value));
		key->values[i] = value;
	}
	return true;
}

static void
free_key(RowKey *key)
{
	for (int i = 0; i < key->n; i++)
	{
		if (key->copies[i] != (Datum) 0)
			pfree(DatumGetPointer(key->copies[i]));
	}
}

/*
 * Returns the primary key's index, or NULL if it is in no state to be searched.  Executors hold
 * this lock already; it never waits, so that it cannot be part of a deadlock.
 */
static Relation
open_index(Oid oid)
{
	Relation index;

	if (ReindexIsProcessingIndex(oid) || !ConditionalLockRelationOid(oid, RowExclusiveLock))
		return NULL;
	index = RelationIdGetRelation(oid);
	if (index != NULL && index->rd_index->indisprimary && index->rd_index->indisvalid &&
		index->rd_index->indisready && index->rd_index->indislive)
		return index;
	if (index != NULL)
		RelationClose(index);
	UnlockRelationOid(oid, RowExclusiveLock);
	return NULL;
}

/*
 * Looks up a key in the primary key's btree and fills the probe with what it finds.  Returns false,
 * with the probe unset, if the index is being rebuilt by this backend.  The caller holds
 * RowExclusiveLock on both relations.
 */
bool
dyn_placement_probe(Relation rel, Relation index, const Datum *key, DynProbe *probe)
{
	bool placed = dyn_placement_enabled && dyn_place_state(rel)->applies;

	if (ReindexIsProcessingIndex(RelationGetRelid(index)))
		return false;
	probe->relid = RelationGetRelid(rel);
	probe->key = hash_key(index, key, IndexRelationGetNumberOfKeyAttributes(index));
	dyn_neighbours(rel, index, key, placed ? DYN_NEIGHBOUR_BLOCKS : 0, &probe->neighbours);
	return true;
}

/*
 * Keeps a copy of a probe for the next insert into its relation, which uses it if it inserts the
 * same key in the same transaction, with no end of a subtransaction in between.  Any other insert
 * into the relation drops it.
 */
void
dyn_placement_offer(const DynProbe *probe)
{
	offered = *probe;
	offered_transaction = my_local_xid();
	offered_age = dyn_place_age();
}

/* Discards what is offered for the relation, which is out of date. */
static void
drop_offer(Relation rel)
{
	if (offered.relid == RelationGetRelid(rel))
		offered.relid = InvalidOid;
}

/* Takes the offered probe for the relation, which is used now or dropped. */
static bool
take_offer(Relation rel, Relation index, const RowKey *key, DynNeighbours *neighbours)
{
	if (offered.relid != RelationGetRelid(rel))
		return false;
	offered.relid = InvalidOid;
	if (offered_transaction != my_local_xid() || offered_age != dyn_place_age() ||
		offered.key != hash_key(index, key->values, key->n))
		return false;
	*neighbours = offered.neighbours;
	return true;
}

/*
 * Returns a neighbours' page that has room.  A page that is being written is passed by; a writer of
 * many rows then opens one for itself, and any other waits, lest each leave a page behind.
 */
static BlockNumber
page_of_neighbours(Relation rel, const DynNeighbours *neighbours, Size needed, bool wait)
{
	BlockNumber busy = InvalidBlockNumber;

	for (int i = 0; i < neighbours->nblocks; i++)
	{
		BlockNumber block = neighbours->blocks[i];
		DynRoom room = dyn_page_room(rel, block, needed);

		if (room == DYN_ROOM)
			return block;
		if (room == DYN_BUSY && busy == InvalidBlockNumber)
			busy = block;
	}
	if (wait && busy != InvalidBlockNumber && dyn_page_takes(rel, busy, needed))
		return busy;
	return InvalidBlockNumber;
}

/* Returns whether rows that are no longer the first of their collection are nearly all. */
static bool
collections_are_large(const DynPlaceState *state)
{
	return state->newcomer_share < FEW_NEWCOMERS;
}

static void
count_row(DynPlaceState *state, bool newcomer)
{
	state->rows = Min(state->rows + 1, DYN_ROWS_THAT_COUNT);
	state->newcomer_share +=
		((newcomer ? 1 : 0) - state->newcomer_share) / Max(state->rows, ROWS_TO_LEARN);
}

static bool
owns_pages(Relation rel, const DynPlaceState *state, int count, const Aim *aimed, Size size)
{
	float part = collections_are_large(state) ? EARLY_OWNER : OWNER;

	if (aimed->update)
		part = MOVED_OWNER;

	return count >= MANY_NEIGHBOURS || (count > 0 && dyn_page_share(rel, count + 1, size) >= part);
}

/* Returns the page for a row that has no room beside its neighbours. */
static BlockNumber
open_page(Relation rel, Relation index, DynPlaceState *state, const RowKey *key,
		  DynNeighbours *neighbours, const Aim *aimed, Size size)
{
	Size needed = dyn_needed_space(rel, size);
	BlockNumber block;

	if (neighbours->edge || owns_pages(rel, state, neighbours->count, aimed, size))
	{
		/* before it gets one more page, all that it has near the place */
		dyn_neighbours(rel, index, key->values, DYN_NEIGHBOUR_BLOCKS_MAX, neighbours);
		block = page_of_neighbours(rel, neighbours, needed, false);
		if (block != InvalidBlockNumber)
			return block;
	}
	if (owns_pages(rel, state, neighbours->count, aimed, size))
		return dyn_own_page(rel, state, needed);
	if (aimed->update)
		return dyn_moved_page(rel, state, needed);
	if (neighbours->count > 0 && collections_are_large(state))
		return dyn_growing_page(rel, state, needed);
	/* rows that come in order stay in order */
	if (neighbours->count == 0 && state->run >= LONG_RUN &&
		dyn_place_block_is_good(state, state->last) && dyn_page_takes(rel, state->last, needed))
		return state->last;
	return dyn_newcomer_page(rel, state, needed);
}

/* Returns the page for a row whose key is looked up. */
static BlockNumber
look_up(Relation rel, DynPlaceState *state, TupleTableSlot *slot, const Aim *aimed)
{
	Relation index = open_index(state->index);
	Size size = dyn_stored_size(state, aimed->size);
	BlockNumber block = InvalidBlockNumber;
	bool wait;
	DynNeighbours neighbours;
	RowKey key;

	if (index == NULL)
		return block;
	/* taking the lock may have let an invalidation in */
	if (state->valid)
	{
		if (fetch_key(index, slot, &key))
		{
			if (!take_offer(rel, index, &key, &neighbours))
				dyn_neighbours(rel, index, key.values, DYN_NEIGHBOUR_BLOCKS, &neighbours);
			count_row(state, neighbours.count == 0);
			wait = dyn_place_recall(state, aimed->collection) == InvalidBlockNumber;
			block = page_of_neighbours(rel, &neighbours, dyn_needed_space(rel, size), wait);
			if (block == InvalidBlockNumber)
				block = open_page(rel, index, state, &key, &neighbours, aimed, size);
		}
		free_key(&key);
	}
	index_close(index, RowExclusiveLock);
	return block;
}

/* Returns the state of a table whose rows are placed, or NULL.  New files are heap's. */
static DynPlaceState *
state_to_place(Relation rel, TableOptions options)
{
	DynPlaceState *state;

	if (!dyn_placement_enabled || (options & (TABLE_INSERT_SKIP_FSM | TABLE_INSERT_FROZEN)) != 0)
		return NULL;
	state = dyn_place_state(rel);
	return state->applies ? state : NULL;
}

/* Chooses a page for a row that is inserted, or replaces an old one, and aims at it. */
static void
aim(Relation rel, ItemPointer old, TupleTableSlot *slot, TableOptions options, Aim *aimed)
{
	DynPlaceState *state = state_to_place(rel, options);
	Form_pg_attribute column;
	BlockNumber recent;
	Datum value;
	bool isnull;
	Size size;

	aimed->block = InvalidBlockNumber;
	if (state == NULL)
		return;
	aimed->size = dyn_row_size(slot);
	aimed->update = old != NULL;
	size = dyn_stored_size(state, aimed->size);
	/* an update that stays on its page, as most do, costs a look at that page */
	if (old != NULL &&
		dyn_page_room(rel, ItemPointerGetBlockNumber(old), MAXALIGN(size)) != DYN_FULL)
		return;

	aimed->previous = RelationGetTargetBlock(rel);
	value = slot_getattr(slot, state->column, &isnull);
	if (isnull)
		return;
	column = TupleDescAttr(RelationGetDescr(rel), state->column - 1);
	aimed->collection = datum_image_hash(value, column->attbyval, column->attlen);
	/* fetching a value from out of line may have let an invalidation in */
	if (!state->valid)
		return;

	/* the page that has got the last row of the collection, without a look into the index */
	dyn_place_check_blocks(state, rel);
	recent = dyn_place_recall(state, aimed->collection);
	if (recent != InvalidBlockNumber && dyn_page_takes(rel, recent, dyn_needed_space(rel, size)))
	{
		count_row(state, false);
		aimed->block = recent;
	}
	else
		aimed->block = look_up(rel, state, slot, aimed);
	if (aimed->block != InvalidBlockNumber)
		RelationSetTargetBlock(rel, aimed->block);
}

/* Take note of where the row went, and put the target back. */
static void
placement_finish(Relation rel, const Aim *aimed, ItemPointer tid)
{
	DynPlaceState *state = dyn_place_find(RelationGetRelid(rel));
	BlockNumber block = ItemPointerGetBlockNumber(tid);

	/* a probe that was not used must not outlive the state that it describes */
	drop_offer(rel);
	if (aimed->block == InvalidBlockNumber)
		return;
	if (block == aimed->block)
		RelationSetTargetBlock(rel, aimed->previous);
	if (state == NULL || !state->valid)
		return;
	dyn_place_note(state, aimed->collection, block);
	dyn_learn_size(state, rel, tid, aimed->size);
}

/* A bulk insert has a page of its own, which heap would prefer to the target block. */
static BulkInsertState
bulk_page(const Aim *aimed, BulkInsertState bistate)
{
	return aimed->block == InvalidBlockNumber ? bistate : NULL;
}

/*
 * This is the callback tuple_insert: it calls heap's, with the relation's target block set to a
 * page for the row's collection if placement applies to the table.
 */
void
dyn_tuple_insert(Relation rel, TupleTableSlot *slot, CommandId cid, TableOptions options,
				 BulkInsertState bistate)
{
	Aim aimed;

	aim(rel, NULL, slot, options, &aimed);
	GetHeapamTableAmRoutine()->tuple_insert(rel, slot, cid, options, bulk_page(&aimed, bistate));
	placement_finish(rel, &aimed, &slot->tts_tid);
}

/*
 * This is the callback multi_insert, which COPY calls for tables without row triggers: it inserts
 * row by row with dyn_tuple_insert() if placement applies to the table, and otherwise calls heap's.
 */
void
dyn_multi_insert(Relation rel, TupleTableSlot **slots, int n, CommandId cid, TableOptions options,
				 BulkInsertState bistate)
{
	if (state_to_place(rel, options) == NULL)
	{
		drop_offer(rel);
		GetHeapamTableAmRoutine()->multi_insert(rel, slots, n, cid, options, bistate);
		return;
	}
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		dyn_tuple_insert(rel, slots[i], cid, options, bistate);
	}
}

/*
 * This is the callback tuple_insert_speculative: it calls heap's, with the target block set as by
 * dyn_tuple_insert().
 */
void
dyn_tuple_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid,
							 TableOptions options, BulkInsertState bistate, uint32 token)
{
	Aim aimed;

	aim(rel, NULL, slot, options, &aimed);
	GetHeapamTableAmRoutine()->tuple_insert_speculative(rel, slot, cid, options,
														bulk_page(&aimed, bistate), token);
	placement_finish(rel, &aimed, &slot->tts_tid);
}

/*
 * This is the callback tuple_update: it calls heap's, with the target block set as by
 * dyn_tuple_insert() if the old version's page has no room for the new one.
 */
TM_Result
dyn_tuple_update(Relation rel, ItemPointer old, TupleTableSlot *slot, CommandId cid,
				 UPDATE_OPTIONS_DECLARED Snapshot snapshot, Snapshot crosscheck, bool wait,
				 TM_FailureData *failure, LockTupleMode *mode, UpdateIndexes *update_indexes)
{
	Aim aimed;
	TM_Result result;

	aim(rel, old, slot, 0, &aimed);
	result =
		GetHeapamTableAmRoutine()->tuple_update(rel, old, slot, cid, UPDATE_OPTIONS snapshot,
												crosscheck, wait, failure, mode, update_indexes);
	if (result == TM_Ok)
		placement_finish(rel, &aimed, &slot->tts_tid);
	else if (aimed.block != InvalidBlockNumber)
		RelationSetTargetBlock(rel, aimed.previous);
	return result;
}

/*
 * Cuts the file off on the spot, without a new one and without an invalidation that would show it,
 * for TRUNCATE of a table whose file is of the same transaction and ON COMMIT DELETE ROWS.
 */
void
dyn_relation_truncate(Relation rel)
{
	drop_offer(rel);
	dyn_place_emptied(rel);
	GetHeapamTableAmRoutine()->relation_nontransactional_truncate(rel);
}
