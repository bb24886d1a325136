/*
 * regroup.h
 *	  dyn_regroup(): moves the rows of collections that lie on many pages to fewer.
 *
 *		regroup.c			the procedure: its transactions, pauses, VACUUM
 *		regroup_choose.c	reads collections and chooses what is to be moved
 *		regroup_move.c		where rows go, and which have to make room
 *
 * A part of the table is read, and a plan is made of what is to be moved.  Then that is done, in
 * transactions of some hundred rows.  Between transactions, the plan and lists of pages are all
 * that is known, and rows and pages may have changed: a row that is not where it was stays, and
 * the room of a page is looked at before it gets a row.
 */
#ifndef DYNAMO_TABLE_SERVICES_JOB_REGROUP_H
#define DYNAMO_TABLE_SERVICES_JOB_REGROUP_H

#include "access/htup_details.h"

#include "am/move.h"
#include "catalog/key.h"
#include "nodes/bitmapset.h"
#include "server/work/job.h"
#include "server/work/statement.h"
#include "utils/hsearch.h"

/* A transaction moves no more rows than these, or the rows of one page more that make room. */
#define ROWS_OF_TRANSACTION 128

/* A RegroupPiece is what is to be moved of a collection, in the order of the keys. */
typedef struct RegroupPiece
{
	int first; /* of the plan's rows */
	int end;
	int own; /* the first of the plan's pages where the others are */
	int own_end;
} RegroupPiece;

/* RegroupPages is a list of pages. */
typedef struct RegroupPages
{
	int n;
	int next; /* those before it were used */
	int max;
	BlockNumber *blocks;
} RegroupPages;

/* A PlacedRow tells which of the plan's rows is at a place. */
typedef struct PlacedRow
{
	ItemPointerData tid;
	int row;
} PlacedRow;

typedef struct RegroupPlan
{
	DynRowPlace *rows; /* that are to be moved */
	int nrows;
	int max_rows;
	RegroupPiece *pieces;
	int npieces;
	int max_pieces;
	RegroupPages own;
	HTAB *places; /* of PlacedRow */
	int64 read;
	bool end; /* of the chunk */
	ArrayType *position; /* of the last key that was read; NULL: none */
} RegroupPlan;

typedef struct Regroup
{
	Procedure procedure;
	Place place; /* for VACUUM */
	JobChunk chunk;
	int64 max_rate;
	MemoryContext plan_context;
	RegroupPlan plan;

	/* how far the plan is carried out */
	int piece;
	int row;
	int own;
	int64 moved; /* of its rows */

	int filling; /* the piece that gets the page to itself; -1: none */
	BlockNumber page;
	BlockNumber shared; /* where the rests of several collections go */
	BlockNumber opened; /* the last page that was chosen to be filled */
	BlockNumber hole; /* where rows go that make room */
	BlockNumber cursor; /* the next page that may have to make room */
	bool lacks_room; /* until rows have made some */
	bool has_to_end; /* the transaction */
	int nfollowed; /* of the plan's rows, that it has had make room */
	PlacedRow followed[ROWS_OF_TRANSACTION + MaxHeapTuplesPerPage]; /* where they are then */
	int left_before; /* it: so many pages were left */
	RegroupPages left; /* pages that rows have left */
	RegroupPages emptied; /* the same, to make room */
	RegroupPages empty; /* pages that have made room */
	Bitmapset *ours; /* pages that were chosen to be filled */
	TransactionId mover; /* the last one that has moved rows */
	int64 moves; /* in this transaction */
	int64 dead; /* versions that VACUUM has to remove */
	double expected; /* rows of the table */
	Oid file; /* of the table, when the plan was made */

	/* of the transaction */
	Relation rel;
	Relation index;
	DynTable *table;
} Regroup;

extern void regroup_add_page(Regroup *r, RegroupPages *pages, BlockNumber block);

/* regroup_choose.c: makes a plan, in a transaction that has the table open, under a snapshot */
extern void regroup_choose(Regroup *r);

/*
 * regroup_move.c: moves rows of the plan, or rows that are in their way; which have left is found
 * out when no snapshot shows them on their old pages any more
 */
extern void regroup_move(Regroup *r);
extern void regroup_make_room(Regroup *r);
extern void regroup_look_at_left(Regroup *r);

#endif
