/*
 * move.h
 *	  Moves rows to pages that the caller names, by updates that change nothing.
 *
 *		move.c		a row leaves its page, whatever room that has
 *		spread.c	which rows are with the others of their collection
 *
 * The transaction is SERIALIZABLE: only then a serializable reader of the row learns that a later
 * writer of it, which finds the new version, conflicts with what was read.
 */
#ifndef DYNAMO_TABLE_AM_MOVE_H
#define DYNAMO_TABLE_AM_MOVE_H

#include "storage/block.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"

typedef struct DynMover DynMover;

/* A DynRowPlace is where a row is, and the bytes that it has there. */
typedef struct DynRowPlace
{
	ItemPointerData tid;
	uint16 size;
} DynRowPlace;

typedef enum DynMoved
{
	DYN_MOVED,
	DYN_LEFT, /* it is locked, changed or gone, or its page could not be filled */
	DYN_NO_ROOM /* the page that was named has none for it */
} DynMoved;

/*
 * Begins to move rows of a table that has no exclusion constraint and is locked RowExclusive, under
 * an active snapshot.  Expressions of indexes run with the present user's rights.
 */
extern DynMover *dyn_mover_begin(Relation rel);

/* Moves a row to a page.  It never waits for a row.  *tid becomes the new place. */
extern DynMoved dyn_mover_move(DynMover *mover, ItemPointer tid, BlockNumber block);

/* Ends what dyn_mover_begin() began; after an error, the end of the transaction does. */
extern void dyn_mover_end(DynMover *mover);

/* Returns the part of a page that is free up to the fillfactor, after removing what is dead to all. */
extern float dyn_page_free(Relation rel, BlockNumber block);

/* Returns the part of a page that so many rows of that size fill. */
extern float dyn_page_share(Relation rel, int rows, Size size);

/* Returns a page that is nearly empty and has the room that a row needs, or InvalidBlockNumber. */
extern BlockNumber dyn_empty_page(Relation rel, Size size);

/* Returns a page that has room for a row of so many bytes, be it a new one. */
extern BlockNumber dyn_page_with_room(Relation rel, Size size);

/* Returns a new page. */
extern BlockNumber dyn_new_page(Relation rel);

/* Keeps a page from being found by those who look for room; or tells them of its room. */
extern void dyn_hide_page(Relation rel, BlockNumber block);
extern void dyn_tell_room(Relation rel, BlockNumber block);

/*
 * Returns whether rows are with the others: those on a page fill so much of it, and all of their
 * collection so many pages.
 */
extern bool dyn_is_together(float here, float all);

/*
 * Finds the rows of a page, of MaxHeapTuplesPerPage at most, unless most of them are with the others
 * of their collections; then it returns -1.
 */
extern int dyn_spread_rows(Relation rel, Relation index, BlockNumber block, DynRowPlace *rows);

#endif
