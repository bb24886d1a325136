/*
 * placeholder.c
 *	  Keeping an item absent until the transaction ends.
 *
 * An absent item cannot be locked.  But the unique index lets nobody pass who inserts a key that
 * another transaction has inserted, as long as that runs, even if it has deleted it again.  So a
 * placeholder is inserted and deleted at once; then plain SQL and COPY wait too.
 *
 * It goes past the executor, into the table and its primary key alone: it is no row, and no
 * trigger, constraint, policy or other index has a say in it.  It takes no privileges: the caller
 * has looked for the item under a lock, which takes more privileges than to refer to a row by a
 * foreign key, and has asked policies where they limit the role (write_hold_absent()).  Logical
 * decoding does not see the insert.  It sees the delete, between marks that say what that is.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/attempt.h"
#include "server/mark.h"
#include "store/spi_store.h"

static DynItem *
make_placeholder(const DynItem *item)
{
	Size len = VARSIZE_ANY_EXHDR(item);
	DynItem *placeholder = palloc(VARHDRSZ + len);

	SET_VARSIZE(placeholder, VARHDRSZ + len);
	memcpy(VARDATA(placeholder), VARDATA_ANY(item), len);
	*VARDATA(placeholder) = ITEM_FORMAT_PLACEHOLDER;
	return placeholder;
}

static void
fill_slot(TupleTableSlot *slot, const DynTable *table, const DynKeyValues *key, const DynItem *item)
{
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	slot->tts_values[table->item_attnum - 1] = PointerGetDatum(make_placeholder(item));
	slot->tts_isnull[table->item_attnum - 1] = false;
	for (int i = 0; i < table->nkeys; i++)
	{
		slot->tts_values[table->keys[i].attnum - 1] = key->values[i];
		slot->tts_isnull[table->keys[i].attnum - 1] = false;
	}
	ExecStoreVirtualTuple(slot);
}

/* Raises unique_violation if there is an item of that key. */
static void
insert_and_delete(Relation rel, const DynKeyValues *key, const DynItem *item)
{
	const DynTable *table = dyn_schema_any(rel);
	Relation index = index_open(table->primary.relid, RowExclusiveLock);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	bool nulls[DYN_MAX_INDEX_COLUMNS] = {false};
	DynMarked marked;

	fill_slot(slot, table, key, item);
	table_tuple_insert(rel, slot, GetCurrentCommandId(true), TABLE_INSERT_NO_LOGICAL, NULL);
	index_insert(index, (Datum *) key->values, nulls, &slot->tts_tid, rel, UNIQUE_CHECK_YES, false,
				 BuildIndexInfo(index));
	/* a command cannot delete what it inserted */
	CommandCounterIncrement();
	dyn_mark_start(&marked, DYN_MARK_PLACEHOLDER, RelationGetRelid(rel));
	simple_table_tuple_delete(rel, &slot->tts_tid, InvalidSnapshot);
	dyn_mark_end(&marked);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, NoLock);
}

/* Inserts and deletes the row in the partition that the key belongs to. */
static void
insert_and_delete_routed(Relation rel, const DynKeyValues *key, const DynItem *item)
{
	EState *estate = CreateExecutorState();
	ModifyTableState *state = makeNode(ModifyTableState);
	ResultRelInfo *root = makeNode(ResultRelInfo);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	PartitionTupleRouting *routing;

	InitResultRelInfo(root, rel, 0, NULL, 0);
	state->ps.state = estate;
	state->operation = CMD_INSERT;
	state->mt_nrels = 1;
	state->resultRelInfo = root;
	state->rootResultRelInfo = root;
	routing = ExecSetupPartitionTupleRouting(estate, rel);
	fill_slot(slot, dyn_schema(rel), key, item);
	insert_and_delete(ExecFindPartition(state, root, routing, slot, estate)->ri_RelationDesc, key,
					  item);
	ExecCleanupTupleRouting(state, routing);
	ExecDropSingleTupleTableSlot(slot);
	ExecResetTupleTable(estate->es_tupleTable, false);
	FreeExecutorState(estate);
}

/* Returns whether a key stays absent by itself, since no partition takes it. */
static bool
stays_absent(Relation rel, const ErrorData *error)
{
	return rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE &&
		   error->sqlerrcode == ERRCODE_CHECK_VIOLATION;
}

typedef struct Placeholder
{
	Relation rel;
	const DynKeyValues *key;
	const DynItem *item;
} Placeholder;

static void
try_placeholder(void *arg)
{
	const Placeholder *placeholder = arg;

	if (placeholder->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		insert_and_delete_routed(placeholder->rel, placeholder->key, placeholder->item);
	else
		insert_and_delete(placeholder->rel, placeholder->key, placeholder->item);
}

/*
 * Keeps the item of that key absent until the transaction ends; item has its key attributes.
 * False if by now there is one.
 */
bool
placeholder_hold(Relation rel, const DynKeyValues *key, const DynItem *item)
{
	Placeholder placeholder = {rel, key, item};
	ErrorData *error = attempt(try_placeholder, &placeholder);

	if (error == NULL || stays_absent(rel, error))
		return true;
	if (error->sqlerrcode != ERRCODE_UNIQUE_VIOLATION)
		ReThrowError(error);
	/* what the transaction's snapshot does not show ends it */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access due to concurrent update")));
	return false;
}
