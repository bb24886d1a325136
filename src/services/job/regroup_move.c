/*
 * regroup_move.c
 *	  Where rows go, and which have to make room.
 *
 * Rows go to pages where others of their collection are together, if these have room.  What fills
 * more than a page gets pages to itself, and what is left after that shares one with other rests.
 * A page to be filled is one that is nearly empty, or one whose rows are spread, which then make
 * room: they go wherever a row has left, and are moved once more when their own collection's turn
 * comes.  So a table grows only if all of its pages have rows that are together.
 *
 * What has left takes its place until no snapshot shows it any more.  Rows that are to be moved to
 * such a page wait for that, lest the table grow.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "services/job/regroup.h"

/* A transaction has no more pages make room than these, and looks at no more. */
#define PAGES_OF_TRANSACTION 4
#define PAGES_TO_TRY 256

/* A page that has made room is worth filling if so much of it is free. */
#define WORTH_FILLING 0.5f

static bool
is_there(const Regroup *r, BlockNumber block)
{
	return block != InvalidBlockNumber && block < RelationGetNumberOfBlocks(r->rel);
}

/* Notes that a row has moved. */
static void
note_move(Regroup *r, BlockNumber before)
{
	r->mover = GetCurrentTransactionId();
	r->moves++;
	if (r->left.n == 0 || r->left.blocks[r->left.n - 1] != before)
		regroup_add_page(r, &r->left, before);
}

static void
note_ours(Regroup *r, BlockNumber block)
{
	MemoryContext old = MemoryContextSwitchTo(r->procedure.context);

	r->ours = bms_add_member(r->ours, (int) block);
	MemoryContextSwitchTo(old);
}

static bool
is_ours(const Regroup *r, BlockNumber block)
{
	return bms_is_member((int) block, r->ours);
}

/*
 * Pages to be filled
 */

/* Returns what the plan's rows from the next to the end fill, or more than most pages. */
static float
rest_of_rows(const Regroup *r, int end, float most)
{
	float rest = 0;

	for (int i = r->row; i < end && rest <= most; i++)
		rest += dyn_page_share(r->rel, 1, r->plan.rows[i].size);
	return rest;
}

/* Returns a page that is empty, or InvalidBlockNumber: one has to make room. */
static BlockNumber
next_empty(Regroup *r, Size size)
{
	while (r->empty.next < r->empty.n)
	{
		BlockNumber block = r->empty.blocks[r->empty.next++];

		if (is_there(r, block) && dyn_page_free(r->rel, block) >= WORTH_FILLING)
			return block;
	}
	return dyn_empty_page(r->rel, size);
}

/* Opens a page for the piece; what has more room of the one before and the shared one is shared. */
static bool
open_page(Regroup *r, Size size)
{
	BlockNumber block = next_empty(r, size);

	if (block == InvalidBlockNumber && r->cursor < RelationGetNumberOfBlocks(r->rel))
		return false;
	if (block == InvalidBlockNumber)
		block = dyn_new_page(r->rel);
	if (is_there(r, r->page) && (!is_there(r, r->shared) ||
								 dyn_page_free(r->rel, r->shared) < dyn_page_free(r->rel, r->page)))
		r->shared = r->page;
	dyn_hide_page(r->rel, block);
	note_ours(r, block);
	r->page = r->opened = block;
	return true;
}

/* Returns whether all of the rest of a collection has room on a page. */
static bool
takes_rest(const Regroup *r, BlockNumber block, float rest)
{
	return is_there(r, block) && dyn_page_free(r->rel, block) >= rest;
}

/* Returns the page for the next row of the piece, or InvalidBlockNumber if it lacks one. */
static BlockNumber
choose_page(Regroup *r, Size size)
{
	const RegroupPiece *piece = &r->plan.pieces[r->piece];
	float rest;

	if (r->own < piece->own_end)
		return r->plan.own.blocks[r->own];
	if (r->filling == r->piece)
		return r->page;
	rest = rest_of_rows(r, piece->end, 1);
	if (takes_rest(r, r->shared, rest))
		r->page = r->shared;
	else if (!takes_rest(r, r->page, rest) && !open_page(r, size))
		return InvalidBlockNumber;
	r->filling = r->piece;
	return r->page;
}

/* Returns whether this transaction has moved rows off a page, where its fillers are still. */
static bool
was_left(const Regroup *r, BlockNumber block)
{
	for (int i = r->left_before; i < r->left.n; i++)
		if (r->left.blocks[i] == block)
			return true;
	return false;
}

/* Notes that the page has no room for the row; one that fits no page that is empty is left. */
static void
leave_page(Regroup *r, BlockNumber block)
{
	if (r->own < r->plan.pieces[r->piece].own_end)
	{
		if (was_left(r, block))
			r->has_to_end = true;
		else
			r->own++;
		return;
	}
	r->filling = -1;
	if (block == r->opened)
		r->row++;
}

/* Moves the next row of the piece, or notes that it lacks a page. */
static void
move_next(Regroup *r, DynMover *mover)
{
	DynRowPlace *row = &r->plan.rows[r->row];
	BlockNumber before = ItemPointerGetBlockNumber(&row->tid);
	BlockNumber block = choose_page(r, row->size);
	DynMoved moved;

	r->lacks_room = r->has_to_end = block == InvalidBlockNumber;
	if (r->lacks_room)
		return;
	moved = is_there(r, block) ? dyn_mover_move(mover, &row->tid, block) : DYN_NO_ROOM;
	if (moved == DYN_NO_ROOM)
	{
		leave_page(r, block);
		return;
	}
	r->opened = InvalidBlockNumber;
	r->row++;
	if (moved == DYN_MOVED)
	{
		note_move(r, before);
		r->moved++;
	}
}

static void
begin_piece(Regroup *r)
{
	const RegroupPiece *piece = &r->plan.pieces[r->piece];

	r->row = Max(r->row, piece->first);
	r->own = Max(r->own, piece->own);
}

/*
 * Moves as many of the plan's rows as a transaction may, or until one lacks a page: then the caller
 * has some make room.  It ends too where the next row's page will have room after its end.
 */
void
regroup_move(Regroup *r)
{
	DynMover *mover = dyn_mover_begin(r->rel);

	r->lacks_room = r->has_to_end = false;
	r->left_before = r->left.n;
	while (r->piece < r->plan.npieces && r->moves < ROWS_OF_TRANSACTION && !r->has_to_end)
	{
		CHECK_FOR_INTERRUPTS();
		begin_piece(r);
		if (r->row < r->plan.pieces[r->piece].end)
			move_next(r, mover);
		else
			r->piece++;
	}
	dyn_mover_end(mover);
}

/*
 * Making room
 */

/* Notes where a row will be when the transaction has committed, if it is one of the plan's. */
static void
follow_row(Regroup *r, const ItemPointerData *before, const ItemPointerData *now)
{
	const PlacedRow *entry = hash_search(r->plan.places, before, HASH_FIND, NULL);

	if (entry != NULL)
		r->followed[r->nfollowed++] = (PlacedRow){*now, entry->row};
}

/* Tells the plan where those rows are now. */
static void
find_followed(Regroup *r)
{
	for (int i = 0; i < r->nfollowed; i++)
	{
		const PlacedRow *followed = &r->followed[i];
		DynRowPlace *row = &r->plan.rows[followed->row];
		PlacedRow *entry;

		(void) hash_search(r->plan.places, &row->tid, HASH_REMOVE, NULL);
		row->tid = followed->tid;
		entry = hash_search(r->plan.places, &row->tid, HASH_ENTER, NULL);
		entry->row = followed->row;
	}
	r->nfollowed = 0;
}

/* Moves a row to any other page that has room for it. */
static void
make_way(Regroup *r, DynMover *mover, const DynRowPlace *row)
{
	ItemPointerData tid = row->tid;
	DynMoved moved;

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_there(r, r->hole))
			r->hole = dyn_page_with_room(r->rel, row->size);
		moved = dyn_mover_move(mover, &tid, r->hole);
		if (moved == DYN_NO_ROOM)
		{
			dyn_tell_room(r->rel, r->hole);
			r->hole = InvalidBlockNumber;
		}
	} while (moved == DYN_NO_ROOM);
	if (moved == DYN_LEFT)
		return;
	note_move(r, ItemPointerGetBlockNumber(&row->tid));
	follow_row(r, &row->tid, &tid);
}

/* Has the rows of a page make room; returns false if they are together. */
static bool
empty_page(Regroup *r, DynMover *mover, BlockNumber block)
{
	DynRowPlace *rows = palloc(MaxHeapTuplesPerPage * sizeof(DynRowPlace));
	int n = dyn_spread_rows(r->rel, r->index, block, rows);

	if (n >= 0)
	{
		dyn_hide_page(r->rel, block);
		note_ours(r, block);
		regroup_add_page(r, &r->emptied, block);
		if (r->hole == block)
			r->hole = InvalidBlockNumber;
	}
	for (int i = 0; i < n; i++)
		make_way(r, mover, &rows[i]);
	pfree(rows);
	return n >= 0;
}

/* Has the rows of some of the next pages make room, for what is left of the plan. */
void
regroup_make_room(Regroup *r)
{
	DynMover *mover = dyn_mover_begin(r->rel);
	BlockNumber end = RelationGetNumberOfBlocks(r->rel);
	float wanted = rest_of_rows(r, r->plan.nrows, PAGES_OF_TRANSACTION);

	for (int i = 0;
		 i < PAGES_TO_TRY && wanted > 0 && r->moves < ROWS_OF_TRANSACTION && r->cursor < end; i++)
	{
		BlockNumber block = r->cursor++;

		CHECK_FOR_INTERRUPTS();
		if (!is_ours(r, block) && empty_page(r, mover, block))
			wanted -= 1;
	}
	dyn_mover_end(mover);
}

/*
 * Looks at the pages that rows have left, when no snapshot shows what was there: those that have made
 * room are to be filled, and of others those who look for room are told.
 */
void
regroup_look_at_left(Regroup *r)
{
	find_followed(r);
	for (int i = 0; i < r->left.n; i++)
		if (!is_ours(r, r->left.blocks[i]) && is_there(r, r->left.blocks[i]))
			dyn_tell_room(r->rel, r->left.blocks[i]);
	if (r->empty.next == r->empty.n)
		r->empty.next = r->empty.n = 0;
	for (int i = 0; i < r->emptied.n; i++)
		regroup_add_page(r, &r->empty, r->emptied.blocks[i]);
	r->left.n = r->emptied.n = 0;
}
