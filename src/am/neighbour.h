/*
 * neighbour.h
 *	  The position of a key in its btree, and where the rows beside it are.
 */
#ifndef DYNAMO_TABLE_AM_NEIGHBOUR_H
#define DYNAMO_TABLE_AM_NEIGHBOUR_H

#include "storage/block.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"

/*
 * So many pages are returned.  Few: the newest one of the neighbours of the collection, which is
 * the likeliest to have room, and those of the rows below and above.  Many: the newest ones.
 */
#define DYN_NEIGHBOUR_BLOCKS 3
#define DYN_NEIGHBOUR_BLOCKS_MAX 16

/*
 * So many collections below are looked at, at most.  They tell how large collections are in this
 * table.  One of which entries are on another leaf is left out, unless there are DYN_MANY_ENTRIES
 * on this one, which is also the largest number that is told.
 */
#define DYN_BESIDE 16
#define DYN_PAIR 2
#define DYN_MANY_ENTRIES 32

/* This many versions of a row have their entries returned. */
#define DYN_KEY_ENTRIES 8

typedef struct DynNeighbours
{
	bool complete; /* all entries that have the key are told */
	int nentries;
	ItemPointerData entries[DYN_KEY_ENTRIES]; /* of these, what is not dead to all */
	int count; /* entries of the collection near the place, on its leaf */
	int nbeside;
	int beside[DYN_BESIDE]; /* entries of the collections below */
	bool edge; /* they reach an edge of the leaf, and may go on beyond it */
	int nblocks;
	BlockNumber blocks[DYN_NEIGHBOUR_BLOCKS_MAX]; /* distinct, the best first */
} DynNeighbours;

/*
 * Finds neighbours on so many pages as max_blocks says, one of these; 0: looks for the key only.
 * max_beside limits the collections below that are looked at; where the key is the first of its
 * collection, a pair of them is looked at in any case.
 *
 * The caller has had RowExclusiveLock on the table since before the call for as long as it uses
 * the blocks.  VACUUM removes index entries before it truncates, and truncates under
 * AccessExclusiveLock, so these blocks are within the table.
 */
extern void dyn_neighbours(Relation table, Relation index, const Datum *key, int max_blocks,
						   int max_beside, DynNeighbours *found);

#endif
