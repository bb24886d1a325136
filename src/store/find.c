/*
 * find.c
 *	  The row of a key, by one descent of the primary key's btree.
 *
 * The descent tells which entries have the key, and lets the leaf go before a row is looked at.
 * That is sound without the pin by which an index scan keeps VACUUM away.  A row that a snapshot
 * shows is not removed, nor is its entry; and an entry that was removed meanwhile, so that another
 * row stands in its place, is known by that row's key.  Under a dirty snapshot a row may be missed
 * that came after the descent: whoever uses one inserts next, and the insert checks.
 *
 * A serializable transaction has to say what it has looked at, even where it has found nothing,
 * which an index scan does; it also tells of snapshots that are too old, and of an index that is
 * being built anew.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "pgstat.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "am/fetched.h"
#include "server/compat.h"
#include "store/find.h"
#include "store/plan.h"
#include "store/range.h"

/* Returns a copy of the found row's item, fetched from TOAST, in the caller's memory context. */
DynItem *
find_row_item(const RowFinder *finder)
{
	struct varlena *item;
	DynItem *copy;
	Datum datum;
	bool isnull;

	datum = slot_getattr(finder->row, finder->table->item_attnum, &isnull);
	store_forbid_null(isnull);
	item = PG_DETOAST_DATUM_PACKED(datum);
	if (PointerGetDatum(item) != datum)
		return (DynItem *) item;
	copy = palloc(VARSIZE_ANY(item));
	memcpy(copy, item, VARSIZE_ANY(item));
	return copy;
}

/* Returns whether the row that was found has the key; its columns are canonical, so bytes tell. */
bool
find_row_has_key(const RowFinder *finder, const DynKeyValues *key)
{
	for (int i = 0; i < finder->table->nkeys; i++)
	{
		bool isnull;
		Datum datum = slot_getattr(finder->row, finder->table->keys[i].attnum, &isnull);

		if (isnull || !datum_image_eq(datum, key->values[i], false, -1))
			return false;
	}
	return true;
}

/*
 * Sets the finder's row to the row that one of the entries leads to and the snapshot shows.
 * Returns FIND_NONE if there is none, and FIND_UNSURE if the entries are not complete or have led
 * to a row of another key.
 */
FindResult
find_row_by_entries(const RowFinder *finder, Snapshot snapshot, const DynKeyValues *key,
					const DynNeighbours *entries)
{
	IndexFetchTableData *fetch;
	bool found = false;

	if (!entries->complete)
		return FIND_UNSURE;
	pgstat_count_index_scan(finder->primary);
	if (entries->nentries == 0)
		return FIND_NONE;
	fetch = begin_index_fetch(finder->rel);
	for (int i = 0; i < entries->nentries && !found; i++)
	{
		ItemPointerData tid = entries->entries[i];
		bool again = false;

		found = table_index_fetch_tuple(fetch, &tid, snapshot, finder->row, &again, NULL);
	}
	table_index_fetch_end(fetch);
	pgstat_count_index_tuples(finder->primary, entries->nentries);
	if (!found)
		return FIND_NONE;
	pgstat_count_heap_fetch(finder->primary);
	return find_row_has_key(finder, key) ? FIND_ROW : FIND_UNSURE;
}

/*
 * Sets the finder's row to the row of a key that the snapshot shows, by an index scan.  Returns
 * false if there is none.
 */
bool
find_row_by_scan(const RowFinder *finder, Snapshot snapshot, const DynKeyValues *key)
{
	ScanKeyData keys[DYN_MAX_KEYS];
	IndexScanDesc scan =
		begin_index_scan(finder->rel, finder->primary, snapshot, finder->table->nkeys);
	bool found;

	for (int i = 0; i < finder->table->nkeys; i++)
		store_scan_key(&keys[i], 0, finder->table->keys[i].type, i, BTEqualStrategyNumber,
					   key->values[i]);
	index_rescan(scan, keys, finder->table->nkeys, NULL, 0);
	found = index_getnext_slot(scan, ForwardScanDirection, finder->row);
	index_endscan(scan);
	return found;
}

/*
 * Returns whether the row that was read last is the one: the snapshot shows it, and it has the key,
 * which no other row has then.
 */
static bool
is_fetched(const RowFinder *finder, Snapshot snapshot, const DynKeyValues *key)
{
	ItemPointerData tid;

	return dyn_fetched(finder->rel, &tid) &&
		   table_tuple_fetch_row_version(finder->rel, &tid, snapshot, finder->row) &&
		   find_row_has_key(finder, key);
}

/* Finds the row of that key that an MVCC snapshot shows. */
bool
find_row(const RowFinder *finder, Snapshot snapshot, const DynKeyValues *key)
{
	DynNeighbours entries;
	FindResult result;

	Assert(IsMVCCSnapshot(snapshot));
	if (IsolationIsSerializable() || OldSnapshotThresholdActive() ||
		ReindexIsProcessingIndex(RelationGetRelid(finder->primary)))
		return find_row_by_scan(finder, snapshot, key);
	if (finder->after_read && is_fetched(finder, snapshot, key))
		return true;
	dyn_neighbours(finder->rel, finder->primary, key->values, 0, 0, &entries);
	result = find_row_by_entries(finder, snapshot, key, &entries);
	if (result == FIND_UNSURE)
		return find_row_by_scan(finder, snapshot, key);
	return result == FIND_ROW;
}
