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
#include "am/move.h"
#include "am/place.h"
#include "am/placement.h"
#include "server/compat.h"

/* So many rows of one collection in succession are a load in key order, which is kept. */
#define LONG_RUN 8

/* As many as a look at a leaf counts to a side make a large collection, however short they are. */
#define MANY_NEIGHBOURS 64

/* A collection gets a page of its own if its rows fill this part of one. */
#define OWNER 0.66f

/*
 * Where collections are alike and grow, one that fills so much of a page gets room in proportion:
 * it meets one other, or three others, or else as many as bring it this part of a page each.
 * docs/benchmarks.md, Placement, has what other values do.
 */
#define EARLY_OWNER 0.5f
#define MEETS_ONE 0.28f
#define MEETS_THREE 0.07f
#define MEETING 0.5f

/* The first rows of collections fill these parts of a page: where they are alike, and elsewhere. */
#define NEWCOMERS 0.28f
#define NEWCOMERS_NOT_ALIKE 0.33f

/*
 * Of collections that are to fill a page together one more meets there if it has this part of
 * its room at least: some get a second page then, or else a quarter of the page stays empty.
 */
#define ROUNDED_UP 0.3f

/* This is OWNER in pages for an update: what moved rows leave is for the collection too. */
#define MOVED_OWNER 3

/* One of the first rows, which tell little, may change the share by one in so many at most. */
#define ROWS_TO_LEARN 16

/* So many first rows in succession are other collections than those that came before. */
#define NEWCOMERS_IN_A_ROW 256

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

/* Returns how many collections a look-up looks at besides its own: now and then a pair. */
static int
collections_beside(const DynPlaceState *state)
{
	if (state->pairs == 0)
		return DYN_BESIDE;
	return state->rows % 16 == 0 ? DYN_PAIR : 0;
}

/*
 * Looks up a key in the primary key's btree and fills the probe with what it finds.  Returns false,
 * with the probe unset, if the index is being rebuilt by this backend.  The caller holds
 * RowExclusiveLock on both relations.
 */
bool
dyn_placement_probe(Relation rel, Relation index, const Datum *key, DynProbe *probe)
{
	const DynPlaceState *state = dyn_placement_enabled ? dyn_place_state(rel) : NULL;
	bool placed = state != NULL && state->applies;

	if (ReindexIsProcessingIndex(RelationGetRelid(index)))
		return false;
	probe->relid = RelationGetRelid(rel);
	probe->key = hash_key(index, key, IndexRelationGetNumberOfKeyAttributes(index));
	dyn_neighbours(rel, index, key, placed ? DYN_NEIGHBOUR_BLOCKS : 0,
				   placed ? collections_beside(state) : 0, &probe->neighbours);
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

/* Returns a hash of a row's collection. */
uint32
dyn_row_collection(Relation index, TupleTableSlot *slot)
{
	AttrNumber number = index->rd_index->indkey.values[0];
	Form_pg_attribute column = TupleDescAttr(slot->tts_tupleDescriptor, number - 1);
	bool isnull;
	Datum value = slot_getattr(slot, number, &isnull);

	return isnull ? 0 : datum_image_hash(value, column->attbyval, column->attlen);
}

/* Returns how many rows of a row's collection are near it in the primary key's btree, it among them. */
int
dyn_rows_near(Relation rel, Relation index, TupleTableSlot *slot)
{
	DynNeighbours neighbours = {0};
	RowKey key;

	if (fetch_key(index, slot, &key))
		dyn_neighbours(rel, index, key.values, DYN_NEIGHBOUR_BLOCKS, 0, &neighbours);
	free_key(&key);
	return Max(neighbours.count, 1);
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

/* Returns whether so many rows are a collection that has pages of its own. */
static bool
is_large(Relation rel, int count, Size size)
{
	return count >= MANY_NEIGHBOURS || dyn_page_share(rel, count, size) >= OWNER;
}

/*
 * Returns a neighbours' page that has room.  A page that is being written is passed by.  Where the
 * collection is large, a writer of many rows then opens one for itself; any other waits, lest each
 * leave a page behind.
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

/*
 * Takes note of whether a row is the first one of its collection.  A table of several entities may
 * be filled one after the other, so a long succession of first rows ends what was before it.
 */
static void
count_row(DynPlaceState *state, bool newcomer)
{
	state->rows++;
	state->newcomers_in_a_row = newcomer ? state->newcomers_in_a_row + 1 : 0;
	if (state->newcomers_in_a_row >= NEWCOMERS_IN_A_ROW)
		state->newcomer_share = 1;
	else
		state->newcomer_share += ((newcomer ? 1 : 0) - state->newcomer_share) /
								 Max(Min(state->rows, DYN_ROWS_THAT_COUNT), ROWS_TO_LEARN);
}

/*
 * Takes note of the sizes of collections.  Two that are seen at once tell how alike they are, which
 * a change of all in the course of time does not touch.
 */
static void
count_collections(DynPlaceState *state, const DynNeighbours *neighbours)
{
	for (int i = 0; i + 1 < neighbours->nbeside; i += 2)
	{
		float one = neighbours->beside[i];
		float other = neighbours->beside[i + 1];
		float weight;

		state->pairs = Min(state->pairs + 1, DYN_PAIRS_THAT_COUNT);
		weight = 1.0f / state->pairs;
		state->collection_rows += weight * ((one + other) / 2 - state->collection_rows);
		state->difference += weight * ((one - other) * (one - other) / 2 - state->difference);
		state->product += weight * (one * other - state->product);
	}
}

/*
 * Returns whether the table's collections do not grow, so that new ones will have as many rows as
 * they have.  Then there are as many first rows among those that come as collections among those
 * that are there.  Where all begin at once, collections of one row look like that at first, and
 * longer the less this is exact.
 */
static bool
collections_are_settled(const DynPlaceState *state)
{
	float rows = state->collection_rows;

	return state->pairs >= ROWS_TO_LEARN / 2 &&
		   state->newcomer_share * rows > Max(0.6f, 0.995f - 0.1f * (rows - 1));
}

/*
 * Returns how many rows a new collection will have if collections do not grow: as many as others
 * have, or fewer if fewer come of late for each first row.
 */
static float
expected_rows(const DynPlaceState *state)
{
	return state->collection_rows * state->newcomer_share > 1 ? 1 / state->newcomer_share
															  : state->collection_rows;
}

/*
 * Returns whether the table's collections have much the same number of rows: their variance is
 * less than half of the square of the mean.
 */
static bool
collections_are_alike(const DynPlaceState *state)
{
	return state->difference < 0.5f * state->product;
}

static int
rows_in_part(Relation rel, Size size, float part)
{
	return Max(1, (int) (part / dyn_page_share(rel, 1, size) + 0.5f));
}

/* Returns how many collections that will have so many more rows fill a page together. */
static int
collections_in_page(Relation rel, Size size, float rows)
{
	return Max(1, (int) (1 / dyn_page_share(rel, 1, size) / Max(rows, 1) + 1 - ROUNDED_UP));
}

/* Returns how many collections that grow, and fill that part of a page, share one. */
static int
growing_in_page(float part)
{
	if (part >= MEETS_ONE)
		return 2;
	return part >= MEETS_THREE ? 4 : (int) (MEETING / part);
}

/* Returns a page for a row of a collection of which so many rows are near the place. */
static BlockNumber
choose_page(Relation rel, DynPlaceState *state, int count, Size size)
{
	Size needed = dyn_needed_space(rel, size);
	float part = dyn_page_share(rel, count, size);
	float rest = expected_rows(state) - count;
	int meet = collections_in_page(rel, size, rest);
	int newcomers = rows_in_part(rel, size, NEWCOMERS);

	if (is_large(rel, count, size))
		return dyn_own_page(rel, state, needed);
	if (rest > 0 && collections_are_settled(state))
	{
		if (meet == 1)
			return dyn_own_page(rel, state, needed);
		return count == 0 ? dyn_newcomer_page(rel, state, size, meet)
						  : dyn_growing_page(rel, state, &state->rest, size, meet);
	}
	if (!collections_are_alike(state))
		return dyn_newcomer_page(rel, state, size, rows_in_part(rel, size, NEWCOMERS_NOT_ALIKE));
	if (part >= EARLY_OWNER || (count == 0 && meet == 1))
		return dyn_own_page(rel, state, needed);
	if (count == 0)
		return dyn_newcomer_page(rel, state, size, Min(newcomers, meet));
	if (part < MEETS_THREE && newcomers * part <= MEETING)
		return dyn_newcomer_page(rel, state, size, newcomers);
	return dyn_growing_page(rel, state, part >= MEETS_ONE ? &state->half : &state->growing, size,
							growing_in_page(part));
}

/* Returns the page for a row that has no room beside its neighbours. */
static BlockNumber
open_page(Relation rel, Relation index, DynPlaceState *state, const RowKey *key,
		  DynNeighbours *neighbours, const Aim *aimed, Size size)
{
	Size needed = dyn_needed_space(rel, size);
	BlockNumber block;

	if (neighbours->count > 0)
	{
		/* before it gets one more page, all that it has near the place */
		dyn_neighbours(rel, index, key->values, DYN_NEIGHBOUR_BLOCKS_MAX, 0, neighbours);
		block =
			page_of_neighbours(rel, neighbours, needed, !is_large(rel, neighbours->count, size));
		if (block != InvalidBlockNumber)
			return block;
	}
	if (aimed->update)
		return neighbours->count >= MANY_NEIGHBOURS ||
					   dyn_page_share(rel, neighbours->count + 1, size) >= MOVED_OWNER
				   ? dyn_own_page(rel, state, needed)
				   : dyn_moved_page(rel, state, needed);
	/* rows that come in order stay in order */
	if (neighbours->count == 0 && state->run >= LONG_RUN &&
		dyn_place_block_is_good(state, state->last) && dyn_page_takes(rel, state->last, needed))
		return state->last;
	return choose_page(rel, state, neighbours->count, size);
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
				dyn_neighbours(rel, index, key.values, DYN_NEIGHBOUR_BLOCKS,
							   collections_beside(state), &neighbours);
			count_row(state, neighbours.count == 0);
			count_collections(state, &neighbours);
			wait = dyn_place_recall(state, aimed->collection) == InvalidBlockNumber ||
				   !is_large(rel, neighbours.count, size);
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
