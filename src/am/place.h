/*
 * place.h
 *	  Declarations that the parts of placement share.
 */
#ifndef DYNAMO_TABLE_AM_PLACE_H
#define DYNAMO_TABLE_AM_PLACE_H

#include "access/tupdesc.h"
#include "executor/tuptable.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

#define DYN_SIZE_CLASSES 2

/* A session judges by this many rows, and by so many pairs of collections, what a table's are like. */
#define DYN_ROWS_THAT_COUNT 1024
#define DYN_PAIRS_THAT_COUNT 256

typedef struct DynRecentPage
{
	uint32 collection;
	BlockNumber block;
} DynRecentPage;

typedef struct DynSharedPage
{
	BlockNumber block; /* or InvalidBlockNumber */
	int collections; /* that this backend has let in */
} DynSharedPage;

/*
 * A DynPlaceState is what a backend knows of a table.  An entry keeps its address until
 * dyn_place_find() or dyn_place_state() is called next.
 */
typedef struct DynPlaceState
{
	Oid relid; /* the hash key */
	bool valid;
	bool applies; /* to rows of this table, as long as the setting is on */
	Oid index; /* the primary key's */
	AttrNumber column; /* of the table, the first one of that key */
	Oid file;

	/* Blocks below this are good while that is the present transaction, and the present age. */
	BlockNumber blocks;
	LocalTransactionId transaction;
	uint32 age;

	/* Where the last row went: what collection, as a hash, and how many in a row were of it. */
	BlockNumber last;
	uint32 collection;
	int run;

	/* The same for collections of late, found by their hash. */
	DynRecentPage *recent;
	uint32 nrecent; /* a power of two, or 0 */
	uint32 noted;

	/* Pages that this backend lets small collections share. */
	DynSharedPage newcomers; /* for first rows */
	DynSharedPage rest; /* for what of a small collection does not fit beside its first rows */
	DynSharedPage growing; /* the same, where collections grow */
	DynSharedPage half; /* for what does not fit there */
	DynSharedPage moved; /* for what has outgrown its page */

	/* The share of first rows among the rows of late, and how many of the last ones are first rows. */
	float newcomer_share;
	uint32 newcomers_in_a_row;
	uint32 rows;

	/*
	 * What pairs of neighbouring collections of the table tell: the mean of their rows, half of the
	 * square of the difference, and the product.
	 */
	float collection_rows;
	float difference;
	float product;
	int pairs;

	/* What is left of long rows in the table, see size.c */
	float kept[DYN_SIZE_CLASSES];
} DynPlaceState;

/* state.c */
extern void dyn_place_init(void);
extern DynPlaceState *dyn_place_state(Relation rel);
extern DynPlaceState *dyn_place_find(Oid relid);
extern void dyn_place_emptied(Relation rel);
extern void dyn_place_check_blocks(DynPlaceState *state, Relation rel);
extern bool dyn_place_block_is_good(const DynPlaceState *state, BlockNumber block);
extern BlockNumber dyn_place_recall(const DynPlaceState *state, uint32 collection);
extern void dyn_place_note(DynPlaceState *state, uint32 collection, BlockNumber block);
extern uint32 dyn_place_age(void);

/* size.c */
extern Size dyn_row_size(TupleTableSlot *slot);
extern Size dyn_stored_size(const DynPlaceState *state, Size size);
extern void dyn_learn_size(DynPlaceState *state, Relation rel, ItemPointer tid, Size size);

/* placement.c */
extern uint32 dyn_row_collection(Relation index, TupleTableSlot *slot);
extern int dyn_rows_near(Relation rel, Relation index, TupleTableSlot *slot);

/* page.c */
typedef enum DynRoom
{
	DYN_ROOM,
	DYN_FULL,
	DYN_BUSY
} DynRoom;

extern Size dyn_needed_space(Relation rel, Size size);
extern DynRoom dyn_page_room(Relation rel, BlockNumber block, Size needed);
extern bool dyn_page_takes(Relation rel, BlockNumber block, Size needed);
extern Size dyn_page_pruned(Relation rel, BlockNumber block);
extern BlockNumber dyn_own_page(Relation rel, DynPlaceState *state, Size needed);
extern BlockNumber dyn_newcomer_page(Relation rel, DynPlaceState *state, Size size, int most);
extern BlockNumber dyn_growing_page(Relation rel, DynPlaceState *state, DynSharedPage *page,
									Size size, int most);
extern BlockNumber dyn_moved_page(Relation rel, DynPlaceState *state, Size needed);

#endif
