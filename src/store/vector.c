/*
 * vector.c
 *	  The entries of vector indexes, which are written with their items.
 *
 * A trigger AFTER each row writes them, so calls, plain SQL, COPY, imports and sweeps all do.  It
 * compares the old and the new item: an update of other attributes does not touch the entries
 * relation.
 *
 * The trigger holds the row of the item, so nobody else writes the entry of its key.  While an
 * index is built, rows that are older than its trigger may lack their entries: then each update
 * makes the entry anew, and the build makes those of all rows that nobody has touched, under a lock
 * of each.
 *
 * Entries are found by what is committed now, and not by the transaction's snapshot: a build may
 * have made one that the snapshot does not show.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "catalog/lookup.h"
#include "catalog/rights.h"
#include "server/catalogs.h"
#include "server/errors.h"
#include "server/extension.h"
#include "server/sql.h"
#include "server/work/brief_lock.h"
#include "store/entries.h"
#include "store/find.h"
#include "store/range.h"
#include "store/shard.h"
#include "store/vector.h"

/*
 * Writing
 */

typedef struct EntryWriter
{
	const DynTable *table;
	const DynVector *vector;
	Relation rel;
	Relation key_index;
	EState *estate;
	ResultRelInfo *info;
	TupleTableSlot *slot;
	RightsBefore before;
} EntryWriter;

/* Returns whether an index is that of the items' keys. */
static bool
is_key_index(const DynTable *table, Relation index)
{
	const FormData_pg_index *form = index->rd_index;

	if (!form->indisunique || !form->indisvalid || form->indnkeyatts != table->nkeys)
		return false;
	for (int i = 0; i < table->nkeys; i++)
	{
		if (form->indkey.values[i] != DYN_ENTRY_KEY_COLUMN + i)
			return false;
	}
	return heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
}

pg_noreturn static void
fail_key_index(const DynTable *table, const DynVector *vector)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("vector index \"%s\" of table \"%s\" has lost the index of its keys",
						   item_quoted(vector->index.name), table->name),
					errhint("Drop the vector index and create it again.")));
}

static void
find_key_index(EntryWriter *w)
{
	for (int i = 0; i < w->info->ri_NumIndices; i++)
	{
		if (is_key_index(w->table, w->info->ri_IndexRelationDescs[i]))
			w->key_index = w->info->ri_IndexRelationDescs[i];
	}
	if (w->key_index == NULL)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("vector index \"%s\" of table \"%s\" has lost the index of its keys",
							   item_quoted(w->vector->index.name), w->table->name),
						errhint("Drop the vector index and create it again.")));
}

/*
 * Refuses a session with temporary tables where the owner has put code of its own into indexes,
 * which would find them.
 */
static void
check_temporary(const DynVector *vector, Relation entries)
{
	Oid namespace;
	Oid toast_namespace;

	GetTempNamespaceState(&namespace, &toast_namespace);
	if (OidIsValid(namespace) && store_vector_has_code(vector, entries))
		rights_check_temporary(entries);
}

/* Begins writing with the rights of the owner, who may have put expressions into indexes. */
static void
entries_open(EntryWriter *w, const DynTable *table, DynVector *vector)
{
	*w = (EntryWriter){.table = table, .vector = vector};
	w->rel = try_relation_open(vector->relid, RowExclusiveLock);
	if (w->rel == NULL)
		dyn_vector_fail_dropped(table, vector);
	dyn_vector_check_fits(table, vector, w->rel);
	check_temporary(vector, w->rel);
	rights_take(w->rel->rd_rel->relowner, 0, &w->before);
	w->estate = CreateExecutorState();
	w->info = makeNode(ResultRelInfo);
	InitResultRelInfo(w->info, w->rel, 1, NULL, 0);
	ExecOpenIndices(w->info, false);
	find_key_index(w);
	w->slot = table_slot_create(w->rel, NULL);
}

static void
entries_close(EntryWriter *w)
{
	ExecDropSingleTupleTableSlot(w->slot);
	ExecCloseIndices(w->info);
	FreeExecutorState(w->estate);
	rights_give_back(&w->before);
	relation_close(w->rel, NoLock);
}

/* Sets the slot to the entry of an item's key; returns false if there is none. */
static bool
entry_find(const EntryWriter *w, Snapshot snapshot, const DynKeyValues *item)
{
	IndexScanDesc scan = begin_index_scan(w->rel, w->key_index, snapshot, w->table->nkeys);
	ScanKeyData keys[DYN_MAX_KEYS];
	bool found;

	for (int i = 0; i < w->table->nkeys; i++)
		store_scan_key(&keys[i], 0, w->table->keys[i].type, i, BTEqualStrategyNumber,
					   item->values[i]);
	index_rescan(scan, keys, w->table->nkeys, NULL, 0);
	found = index_getnext_slot(scan, ForwardScanDirection, w->slot);
	index_endscan(scan);
	return found;
}

static void
entry_delete(const EntryWriter *w, const DynKeyValues *key)
{
	TM_FailureData failure;
	ItemPointerData tid;

	if (!entry_find(w, SnapshotSelf, key))
		return;
	tid = w->slot->tts_tid;
	ExecClearTuple(w->slot);
	if (delete_version(w->rel, &tid, GetCurrentCommandId(true), InvalidSnapshot, &failure) != TM_Ok)
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access due to concurrent update")));
	CommandCounterIncrement();
}

static void
entry_insert(const EntryWriter *w, const DynVectorEntry *entry)
{
	int n = dyn_vector_ncolumns(w->table, w->vector);

	ExecClearTuple(w->slot);
	memcpy(w->slot->tts_values, entry->values, n * sizeof(Datum));
	memcpy(w->slot->tts_isnull, entry->nulls, n * sizeof(bool));
	ExecStoreVirtualTuple(w->slot);
	table_tuple_insert(w->rel, w->slot, GetCurrentCommandId(true), 0, NULL);
	(void) insert_index_entries(w->info, w->slot, w->estate);
	ResetPerTupleExprContext(w->estate);
	CommandCounterIncrement();
}

/*
 * The trigger
 */

static void
check_call(FunctionCallInfo fcinfo, bool row)
{
	const TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(trigger->tg_event) ||
		(row ? !TRIGGER_FIRED_FOR_ROW(trigger->tg_event)
			 : !TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event)))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("this function must be called by a trigger %s",
						row ? "AFTER INSERT OR UPDATE OR DELETE FOR EACH ROW" : "AFTER TRUNCATE")));
}

static const DynItem *
item_of(const TriggerData *trigger, const DynTable *table, HeapTuple tuple)
{
	bool isnull;
	Datum datum =
		heap_getattr(tuple, table->item_attnum, RelationGetDescr(trigger->tg_relation), &isnull);

	return isnull ? NULL : DatumGetDynItem(datum);
}

/* Finds the index whose trigger is called. */
static DynVector *
vector_of(const TriggerData *trigger, const DynTable *table)
{
	for (int i = 0; table != NULL && i < table->nvectors; i++)
	{
		if (strcmp(table->vectors[i].trigger, trigger->tg_trigger->tgname) == 0)
			return &table->vectors[i];
	}
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("trigger \"%s\" of table \"%s\" is not that of a vector index",
					trigger->tg_trigger->tgname, RelationGetRelationName(trigger->tg_relation))));
}

/* Returns whether the row that a trigger is told of is there as it is told. */
static bool
is_current(const TriggerData *trigger, HeapTuple tuple)
{
	TupleTableSlot *slot = table_slot_create(trigger->tg_relation, NULL);
	bool current =
		table_tuple_fetch_row_version(trigger->tg_relation, &tuple->t_self, SnapshotSelf, slot);

	ExecDropSingleTupleTableSlot(slot);
	return current;
}

/* Returns the item that a key has by now; NULL if there is none. */
static const DynItem *
item_now(Relation rel, const DynTable *table, const DynKeyValues *key)
{
	RowFinder finder = {.table = table,
						.rel = rel,
						.primary = index_open(table->primary.relid, AccessShareLock),
						.row = table_slot_create(rel, NULL)};
	const DynItem *item =
		find_row_by_scan(&finder, SnapshotSelf, key) ? find_row_item(&finder) : NULL;

	ExecDropSingleTupleTableSlot(finder.row);
	index_close(finder.primary, AccessShareLock);
	return item;
}

/* Sets the places of what was found to those of the items, of which some may be gone; returns how many are not. */
int
store_found_items(Relation rel, const DynTable *table, StoreFound *found, int n)
{
	RowFinder finder = {.table = table,
						.rel = rel,
						.primary = index_open(table->primary.relid, AccessShareLock),
						.row = table_slot_create(rel, NULL)};
	DynKeyValues key = {table->nkeys};
	int there = 0;

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		memcpy(key.values, found[i].key, table->nkeys * sizeof(Datum));
		if (!find_row_by_scan(&finder, GetActiveSnapshot(), &key))
			continue;
		found[there] = found[i];
		found[there++].place = finder.row->tts_tid;
		ExecClearTuple(finder.row);
	}
	ExecDropSingleTupleTableSlot(finder.row);
	index_close(finder.primary, AccessShareLock);
	return there;
}

/* Returns whether the entry in the slot is this one. */
static bool
same_entry(const EntryWriter *w, const DynVectorEntry *entry)
{
	TupleDesc desc = RelationGetDescr(w->rel);

	slot_getallattrs(w->slot);
	for (int i = 0; i < desc->natts; i++)
	{
		if (w->slot->tts_isnull[i] != entry->nulls[i] ||
			(!entry->nulls[i] &&
			 !datum_image_eq(w->slot->tts_values[i], entry->values[i], false, -1)))
			return false;
	}
	return true;
}

/* Has a key the entry of an item, or none. */
static void
entry_set(const EntryWriter *w, const DynKeyValues *key, const DynItem *item)
{
	DynVectorEntry entry;

	entry_delete(w, key);
	if (item != NULL && dyn_vector_entry(w->table, w->vector, item, &entry))
		entry_insert(w, &entry);
}

/*
 * Shards
 */

/* Sets a vector index of a shard to the entries of the shard, which are where it is, by one of its hashes. */
static void
set_entries(const DynTable *shard, const DynVector *vector, int32 hash, DynVector *here)
{
	if (OidIsValid(vector->relid))
		dyn_vector_check_owned(shard, vector);
	*here = *vector;
	here->relid = OidIsValid(vector->relid)
					  ? store_shard_of_hash(dyn_schema_entries(shard, &vector->index), hash)
					  : InvalidOid;
	here->fits = false;
	if (!OidIsValid(here->relid))
		dyn_vector_fail_dropped(shard, vector);
}

/* Does so for an open shard. */
void
store_vector_of_shard(Relation rel, const DynTable *shard, const DynVector *vector, DynVector *here)
{
	CitusRange range;

	if (!OidIsValid(citus_shard_range(RelationGetRelid(rel), &range)))
		dyn_vector_fail_dropped(shard, vector);
	set_entries(shard, vector, range.from, here);
}

/*
 * Writes the entries of a key of a shard, whose row this transaction has written: those of its
 * item, or none.  The entry is compared with the one that is there, and not with the row before, so
 * it does not matter whether a build has come to the row.
 */
void
dyn_vectors_write(Relation shard, const DynTable *table, const DynKeyValues *key,
				  const DynItem *item)
{
	MemoryContext work =
		AllocSetContextCreate(CurrentMemoryContext, "entries of vectors", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	int32 hash = store_hash(table, key->values[0]);
	ErrorContextCallback callback = {.previous = error_context_stack,
									 .callback = store_entries_missing};

	error_context_stack = &callback;
	for (int i = 0; i < table->nvectors; i++)
	{
		DynVectorEntry entry;
		EntryWriter writer;
		DynVector here;
		bool is;

		set_entries(table, &table->vectors[i], hash, &here);
		entries_open(&writer, table, &here);
		is = item != NULL && dyn_vector_entry(table, &here, item, &entry);
		if (!entry_find(&writer, SnapshotSelf, key) || !is || !same_entry(&writer, &entry))
			entry_set(&writer, key, item);
		entries_close(&writer);
	}
	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
}

/*
 * The trigger
 */

/*
 * Writes the entry of a row's key.  The row may have been changed again by then, as by another
 * trigger, and this one may have been called for that change before.  So the entry is that of the
 * item that has the key at the moment.
 */
PG_FUNCTION_INFO_V1(dyn_keep_vectors);
Datum
dyn_keep_vectors(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = (TriggerData *) fcinfo->context;
	const DynItem *old = NULL;
	const DynItem *new = NULL;
	HeapTuple row = NULL;
	DynKeyValues key;
	EntryWriter writer;
	DynVector *vector;
	DynTable *table;

	check_call(fcinfo, true);
	table = dyn_schema_any(trigger->tg_relation);
	vector = vector_of(trigger, table);
	if (!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		old = item_of(trigger, table, trigger->tg_trigtuple);
	if (!TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
	{
		row = TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ? trigger->tg_trigtuple
														 : trigger->tg_newtuple;
		new = item_of(trigger, table, row);
	}
	/* a build leaves rows alone that are updated after it has begun */
	if (old != NULL && new != NULL && dyn_vector_same(vector, old, new) &&
		dyn_vector_is_built(vector))
		return PointerGetDatum(NULL);
	if (old == NULL && (new == NULL || !dyn_vector_has(vector, new)))
		return PointerGetDatum(NULL);
	dyn_key_of_item(table, new != NULL ? new : old, &key);
	entries_open(&writer, table, vector);
	entry_set(&writer, &key,
			  new != NULL &&is_current(trigger, row) ? new
													 : item_now(trigger->tg_relation, table, &key));
	entries_close(&writer);
	return PointerGetDatum(NULL);
}

/* Empties the entries of a table that has been emptied, by having them made of what is left. */
PG_FUNCTION_INFO_V1(dyn_vectors_truncated);
Datum
dyn_vectors_truncated(PG_FUNCTION_ARGS)
{
	const TriggerData *trigger = (TriggerData *) fcinfo->context;
	const DynTable *table;
	RightsBefore before;

	check_call(fcinfo, false);
	table = dyn_schema_any(trigger->tg_relation);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int i = 0; table != NULL && i < table->nvectors; i++)
	{
		const DynVector *vector = &table->vectors[i];
		bool built = dyn_vector_is_built(vector);

		if (!dyn_vector_is_owned(table, vector))
			continue;
		brief_lock(vector->relid, AccessExclusiveLock);
		if (!dyn_vector_is_owned(table, vector))
			continue;
		rights_check_temporary(trigger->tg_relation);
		rights_take(trigger->tg_relation->rd_rel->relowner, 0, &before);
		(void) SPI_execute(psprintf("REFRESH MATERIALIZED VIEW %s%s",
									catalogs_qualified(vector->relid),
									built ? "" : " WITH NO DATA"),
						   false, 0);
		rights_give_back(&before);
	}
	SPI_finish();
	return PointerGetDatum(NULL);
}

/*
 * All entries of a table
 */

typedef void (*VectorRow)(const DynItem *item, ItemPointer tid, void *arg);

/* Calls for the items in a range of blocks, in memory that is reset after each. */
static void
for_items(Relation rel, const DynTable *table, TableScanDesc scan, VectorRow row, void *arg)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "item", ALLOCSET_DEFAULT_SIZES);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	bool ranged = (scan->rs_flags & SO_TYPE_TIDRANGESCAN) != 0;

	while (ranged ? table_scan_getnextslot_tidrange(scan, ForwardScanDirection, slot)
				  : table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		MemoryContext old = MemoryContextSwitchTo(context);
		bool isnull;
		Datum datum = slot_getattr(slot, table->item_attnum, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (!isnull)
			row(DatumGetDynItem(datum), &slot->tts_tid, arg);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(context);
}

typedef struct Entries
{
	ReturnSetInfo *result;
	const DynTable *table;
	const DynVector *vector;
} Entries;

static void
put_entry(const DynItem *item, ItemPointer tid, void *arg)
{
	const Entries *entries = arg;
	DynVectorEntry entry;

	if (dyn_vector_entry(entries->table, entries->vector, item, &entry))
		tuplestore_putvalues(entries->result->setResult, entries->result->setDesc, entry.values,
							 entry.nulls);
}

/*
 * Returns the entries that a vector index must have.  The query of its materialized view is this,
 * which PostgreSQL runs as the view's owner.  The snapshot is a new one: by then a refresh keeps
 * all others from writing entries, and the statement's may be older than some.
 */
PG_FUNCTION_INFO_V1(dyn_vector_entries);
Datum
dyn_vector_entries(PG_FUNCTION_ARGS)
{
	Entries entries = {(ReturnSetInfo *) fcinfo->resultinfo};
	Relation rel = dyn_open_given(PG_GETARG_OID(0));
	ItemSpan name = text_span(PG_GETARG_TEXT_PP(1));
	TableScanDesc scan;

	rights_require_owner(rel);
	entries.table = dyn_schema(rel);
	if (entries.table == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("\"%s\" is no table of items", RelationGetRelationName(rel))));
	entries.vector = dyn_find_vector(entries.table, name);
	if (entries.vector == NULL)
		dyn_fail_no_index(entries.table, name, ERRCODE_DYN_RESOURCE_NOT_FOUND, NULL);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (!dyn_vector_columns_fit(entries.table, entries.vector, entries.result->setDesc))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("these are not the columns of the entries of index \"%s\"",
							   item_quoted(name))));
	PushActiveSnapshot(GetLatestSnapshot());
	scan = begin_table_scan(rel, GetActiveSnapshot());
	for_items(rel, entries.table, scan, put_entry, &entries);
	table_endscan(scan);
	PopActiveSnapshot();
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

/*
 * Rows that were there before an index
 */

typedef struct RowFill
{
	Relation rel;
	TupleTableSlot *locked; /* the row of an item */
	EntryWriter writer;
	LockWaitPolicy wait;
	StoreVectorFill *fill;
} RowFill;

/*
 * Makes the entry of an item under a lock of its row.  A row that somebody has updated or deleted
 * needs none: the trigger has seen to it.
 */
static void
fill_item(const DynItem *item, ItemPointer tid, void *arg)
{
	RowFill *f = arg;
	const DynVector *vector = f->writer.vector;
	DynVectorProblem problem;
	DynVectorEntry entry;
	TM_FailureData failure;
	TM_Result result;
	DynKeyValues key;

	if (!dyn_vector_entry(f->writer.table, vector, item, &entry))
	{
		f->fill->left_out += dyn_vector_problem(vector, item, &problem);
		return;
	}
	dyn_key_of_item(f->writer.table, item, &key);
	if (entry_find(&f->writer, SnapshotSelf, &key))
		return;
	result = table_tuple_lock(f->rel, tid, GetActiveSnapshot(), f->locked,
							  GetCurrentCommandId(false), LockTupleShare, f->wait, 0, &failure);
	ExecClearTuple(f->locked);
	if (result == TM_WouldBlock)
	{
		MemoryContext old = MemoryContextSwitchTo(f->fill->context);
		ItemPointer kept = palloc(sizeof(ItemPointerData));

		*kept = *tid;
		f->fill->locked = lappend(f->fill->locked, kept);
		MemoryContextSwitchTo(old);
	}
	if (result != TM_Ok || entry_find(&f->writer, SnapshotSelf, &key))
		return;
	entry_insert(&f->writer, &entry);
	f->fill->items++;
}

static void
fill_range(Relation rel, DynTable *table, DynVector *vector, ItemPointer first, ItemPointer last,
		   LockWaitPolicy wait, StoreVectorFill *fill)
{
	RowFill f = {.rel = rel, .wait = wait, .fill = fill};
	TableScanDesc scan;

	PushActiveSnapshot(GetLatestSnapshot());
	f.locked = table_slot_create(rel, NULL);
	entries_open(&f.writer, table, vector);
	scan = begin_tid_scan(rel, GetActiveSnapshot(), first, last);
	for_items(rel, table, scan, fill_item, &f);
	table_endscan(scan);
	entries_close(&f.writer);
	ExecDropSingleTupleTableSlot(f.locked);
	PopActiveSnapshot();
}

/*
 * Makes the entries of the items in blocks of a table that lack them: the blocks begin with from
 * and end before to.  Rows that others have locked are listed.
 */
void
store_vector_fill(Relation rel, DynTable *table, DynVector *vector, BlockNumber from,
				  BlockNumber to, StoreVectorFill *fill)
{
	ItemPointerData first;
	ItemPointerData last;

	ItemPointerSet(&first, from, 1);
	ItemPointerSet(&last, to - 1, MaxOffsetNumber);
	fill_range(rel, table, vector, &first, &last, LockWaitSkip, fill);
}

/* Does so for a row, for which it waits; the transaction has locked no other one. */
void
store_vector_fill_row(Relation rel, DynTable *table, DynVector *vector, ItemPointer tid,
					  StoreVectorFill *fill)
{
	fill_range(rel, table, vector, tid, tid, LockWaitBlock, fill);
}

/*
 * What is wrong with them: steps of dyn_check_table()
 */

typedef struct EntryCheck
{
	EntryWriter at; /* of which entry_find() has need */
	Snapshot snapshot;
	int64 expected;
	int64 missing;
	int64 wrong;
	int64 surplus; /* of no item */
} EntryCheck;

static Relation
open_key_index(const DynTable *table, Relation entries)
{
	List *indexes = RelationGetIndexList(entries);
	ListCell *cell;

	foreach (cell, indexes)
	{
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);

		if (is_key_index(table, index))
			return index;
		index_close(index, AccessShareLock);
	}
	return NULL;
}

static void
check_item(const DynItem *item, ItemPointer tid, void *arg)
{
	EntryCheck *check = arg;
	DynVectorEntry entry;
	DynKeyValues key;

	if (!dyn_vector_entry(check->at.table, check->at.vector, item, &entry))
		return;
	check->expected++;
	dyn_key_of_item(check->at.table, item, &key);
	if (!entry_find(&check->at, check->snapshot, &key))
		check->missing++;
	else if (!same_entry(&check->at, &entry))
		check->wrong++;
	ExecClearTuple(check->at.slot);
}

static int64
count_entries(EntryCheck *check)
{
	TableScanDesc scan = begin_table_scan(check->at.rel, check->snapshot);
	int64 n = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, check->at.slot))
	{
		CHECK_FOR_INTERRUPTS();
		n++;
	}
	table_endscan(scan);
	return n;
}

/* Compares entries and items as one snapshot shows them; unless reads, looks at what is there only. */
static void
compare_entries(EntryCheck *c, Relation rel, DynTable *table, DynVector *vector, bool reads)
{
	Relation entries = try_relation_open(vector->relid, AccessShareLock);
	TableScanDesc scan;

	if (entries == NULL)
		dyn_vector_fail_dropped(table, vector);
	dyn_vector_check_fits(table, vector, entries);
	c->at = (EntryWriter){table, vector, entries, open_key_index(table, entries)};
	if (c->at.key_index == NULL)
		fail_key_index(table, vector);
	if (reads)
	{
		c->snapshot = GetActiveSnapshot();
		c->at.slot = table_slot_create(entries, NULL);
		scan = begin_table_scan(rel, c->snapshot);
		for_items(rel, table, scan, check_item, c);
		table_endscan(scan);
		c->surplus = count_entries(c) - (c->expected - c->missing);
		ExecDropSingleTupleTableSlot(c->at.slot);
	}
	index_close(c->at.key_index, AccessShareLock);
	relation_close(entries, AccessShareLock);
}

#define COUNTS INT64_FORMAT " " INT64_FORMAT " " INT64_FORMAT

/* check_vectors(shard, index_name) returns how many entries of a shard are missing, wrong, and of no item. */
PG_FUNCTION_INFO_V1(dyn_check_vectors);
Datum
dyn_check_vectors(PG_FUNCTION_ARGS)
{
	Relation rel = dyn_open_given(PG_GETARG_OID(0));
	DynTable *table;
	DynVector *vector;
	EntryCheck c = {0};
	DynVector here;

	rights_require_owner(rel);
	table = dyn_schema_shard(rel);
	vector = table == NULL ? NULL : dyn_find_vector(table, text_span(PG_GETARG_TEXT_PP(1)));
	if (vector == NULL)
		ereport(ERROR, (errcode(ERRCODE_DYN_RESOURCE_NOT_FOUND),
						errmsg("\"%s\" is no shard with such a vector index",
							   RelationGetRelationName(rel))));
	store_vector_of_shard(rel, table, vector, &here);
	compare_entries(&c, rel, table, &here, true);
	relation_close(rel, AccessShareLock);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(COUNTS, c.missing, c.wrong, c.surplus)));
}

/* Has the nodes compare the entries of each shard. */
static void
compare_shards(EntryCheck *c, const DynTable *table, const DynVector *vector)
{
	SPI_connect();
	sql_execute("SELECT success, result FROM pg_catalog.run_command_on_shards($1,"
				" pg_catalog.format('SELECT " DYN_INTERNAL ".check_vectors(%%L, %L)',"
				" pg_catalog.replace($2, '%', '%%')))",
				false, 0,
				SQL_VALUES(SQL_VALUE(REGCLASSOID, ObjectIdGetDatum(table->relid)),
						   sql_span(vector->index.name)));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		const char *answer = sql_text_or_null(SPI_tuptable, i, 2);
		EntryCheck one;

		if (!DatumGetBool(sql_value(SPI_tuptable, i, 1)) || answer == NULL ||
			sscanf(answer, COUNTS, &one.missing, &one.wrong, &one.surplus) != 3)
			ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
							errmsg("its entries in a shard cannot be looked at: %s",
								   answer == NULL ? "" : answer)));
		c->missing += one.missing;
		c->wrong += one.wrong;
		c->surplus += one.surplus;
	}
	SPI_finish();
}

typedef struct VectorCheck
{
	TableCheck *check;
	DynVector *vector;
} VectorCheck;

/* Checks one index; an error is a row of the result too. */
static void
check_vector(void *arg)
{
	const VectorCheck *one = arg;
	TableCheck *check = one->check;
	DynVector *vector = one->vector;
	bool reads = check->reads && dyn_vector_is_built(vector);
	bool distributed = dyn_vector_is_distributed(vector);
	EntryCheck c = {0};

	compare_entries(&c, check->rel, check->table, vector, reads && !distributed);
	if (reads && distributed)
		compare_shards(&c, check->table, vector);
	if (c.missing > 0 || c.wrong > 0 || c.surplus > 0)
		check_report(check, psprintf("vector index \"%s\"", item_quoted(vector->index.name)),
					 psprintf("its entries are not those of the items: " INT64_FORMAT
							  " are missing, " INT64_FORMAT " wrong, " INT64_FORMAT " of no item",
							  c.missing, c.wrong, c.surplus),
					 distributed ? "Drop the index and create it again."
								 : psprintf("Run REFRESH MATERIALIZED VIEW %s.",
											catalogs_qualified(vector->relid)));
}

/* Reports what is wrong with the vector indexes of a table. */
void
store_vector_check(TableCheck *check)
{
	for (int i = 0; check->table != NULL && i < check->table->nvectors; i++)
	{
		VectorCheck one = {check, &check->table->vectors[i]};
		const char *problem = check_try(check_vector, &one);
		const char *object = psprintf("vector index \"%s\"", item_quoted(one.vector->index.name));

		if (problem != NULL)
			check_report(check, object, problem, "Drop the index and create it again.");
		else if (!dyn_vector_is_built(one.vector))
			check_report(check, object, "it is not built",
						 "Call dyn_create_vector_index again, with the same arguments.");
	}
}
