/*
 * placement.h
 *	  Where rows go: the rows of one collection onto the same pages.
 *
 * A collection is the rows that share the first column of the primary key.  Everything here is a
 * hint: a wrong or stale one costs a row its place, never anything else.
 */
#ifndef DYNAMO_TABLE_AM_PLACEMENT_H
#define DYNAMO_TABLE_AM_PLACEMENT_H

#include "am/neighbour.h"
#include "utils/relcache.h"

/* This is the setting dynamo_table.placement. */
extern bool dyn_placement_enabled;

/*
 * A DynProbe is what one descent of the primary key's btree found for a row that may be inserted,
 * for a writer that has to know whether the key is there, and would descend once more for its place
 * if it is not.
 */
typedef struct DynProbe
{
	Oid relid;
	uint32 key; /* a hash of the whole key */
	DynNeighbours neighbours;
} DynProbe;

/*
 * Look for a key.  The caller holds RowExclusiveLock on both relations; index is the primary key
 * of rel, valid and ready, and key has the values of its key columns, none of them null or out of
 * line.  It may be of one column only, and placement may be off: entries are told all the same.
 *
 * False: nothing was learned.  Another session may insert an entry at once, which only the insert's
 * own uniqueness check finds out.
 */
extern bool dyn_placement_probe(Relation rel, Relation index, const Datum *key, DynProbe *probe);

/*
 * Let the next insert into that relation use it, if it inserts that key; whatever else it inserts
 * drops it, as does the end of the transaction or of a subtransaction.
 */
extern void dyn_placement_offer(const DynProbe *probe);

#endif
