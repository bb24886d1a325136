/*
 * probe.c
 *	  How many items of an entity have the same key, by some entries of an index.
 *
 * The statistics of a column count the values of all entities together.  The entries of one entity are
 * neighbours in an index, and those of one key too: so some hundred of them tell how many items a
 * key has, and all of them are counted if there are not more.
 *
 * Entries are counted whoever sees their items, also those that are only not removed yet: so rows are
 * not looked at, and it is known how much is read at most.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/itup.h"
#include "access/relscan.h"
#include "access/skey.h"
#include "access/table.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "ground/compat.h"
#include "view/member_plan.h"

/* Entries that are read in each place: a few pages. */
#define MAX_ENTRIES 200

/* A column of the index is compared with constants. */
typedef struct ColumnConditions
{
	int column;
	List *clauses; /* of OpExpr * */
} ColumnConditions;

typedef struct Conditions
{
	int n; /* columns but the first one */
	ColumnConditions columns[INDEX_MAX_KEYS];
} Conditions;

static const Const *
condition_value(const OpExpr *condition)
{
	return lsecond_node(Const, condition->args);
}

/* Those of the first column are what the index is read by. */
static int
make_scan_keys(List *clauses, const IndexOptInfo *index, ScanKeyData *keys)
{
	int n = 0;
	ListCell *cell;

	foreach (cell, clauses)
	{
		const OpExpr *condition = lfirst(cell);

		ScanKeyEntryInitialize(
			&keys[n++], 0, 1,
			(StrategyNumber) get_op_opfamily_strategy(condition->opno, index->opfamily[0]),
			InvalidOid, condition->inputcollid, get_opcode(condition->opno),
			condition_value(condition)->constvalue);
	}
	return n;
}

static void
find_conditions(const IndexOptInfo *index, List *calls, Conditions *conditions)
{
	conditions->n = 0;
	for (int i = 1; i < index->nkeycolumns; i++)
	{
		ListCell *cell;

		foreach (cell, calls)
		{
			const MemberCall *call = lfirst(cell);
			List *clauses =
				call->column->varattno == index->indexkeys[i] ? member_literal_clauses(call) : NIL;

			if (clauses == NIL)
				continue;
			conditions->columns[conditions->n++] = (ColumnConditions){i, clauses};
			break;
		}
	}
}

/* Whether an entry is one of the entity, as far as its key says. */
static bool
entry_matches(IndexScanDesc scan, const Conditions *conditions)
{
	for (int i = 0; i < conditions->n; i++)
	{
		ListCell *cell;
		bool null;
		Datum value = index_getattr(scan->xs_itup, conditions->columns[i].column + 1,
									scan->xs_itupdesc, &null);

		foreach (cell, conditions->columns[i].clauses)
		{
			const OpExpr *condition = lfirst(cell);

			if (null || !DatumGetBool(OidFunctionCall2Coll(get_opcode(condition->opno),
														   condition->inputcollid, value,
														   condition_value(condition)->constvalue)))
				return false;
		}
	}
	return true;
}

/* The entries of one key follow each other.  Returns whether there are no more. */
static bool
count_entries(IndexScanDesc scan, const Conditions *conditions, MemberProbe *probe)
{
	Form_pg_attribute column = TupleDescAttr(scan->xs_itupdesc, 0);
	Datum last = (Datum) 0;
	int before = 0; /* items of the keys before the last one */
	int items = 0;
	int keys = 0;
	bool all = false;
	BlockNumber block = InvalidBlockNumber;

	for (int i = 0; i < MAX_ENTRIES; i++)
	{
		Datum key;
		bool null;

		CHECK_FOR_INTERRUPTS();
		all = index_getnext_tid(scan, ForwardScanDirection) == NULL;
		if (all)
			break;
		key = index_getattr(scan->xs_itup, 1, scan->xs_itupdesc, &null);
		if (null || !entry_matches(scan, conditions))
			continue;
		if (keys == 0 || !datumIsEqual(key, last, column->attbyval, column->attlen))
		{
			before = items;
			keys++;
			last = datumCopy(key, column->attbyval, column->attlen);
		}
		probe->pairs += items > 0;
		probe->apart += items > 0 && block != ItemPointerGetBlockNumber(&scan->xs_heaptid);
		block = ItemPointerGetBlockNumber(&scan->xs_heaptid);
		items++;
	}
	/* the last key may have more */
	probe->items += all || keys < 2 ? items : before;
	probe->keys += all || keys < 2 ? keys : keys - 1;
	return all;
}

/* From the beginning of the range, and, if there is more, from each of the bounds. */
static void
read_index(IndexScanDesc scan, ScanKeyData *keys, int nkeys, List *bounds,
		   const Conditions *conditions, MemberProbe *probe)
{
	ListCell *cell;

	scan->xs_want_itup = true;
	/* else any number of them would be passed over */
	scan->ignore_killed_tuples = false;
	index_rescan(scan, keys, nkeys, NULL, 0);
	probe->all = count_entries(scan, conditions, probe);
	foreach (cell, probe->all ? NIL : bounds)
	{
		keys[0].sk_argument = PointerGetDatum(lfirst(cell));
		index_rescan(scan, keys, nkeys, NULL, 0);
		(void) count_entries(scan, conditions, probe);
	}
}

/*
 * Reads some entries of the items that the calls select, where an index begins with the column of one
 * of them, of which the clauses are: the ends of a range, within which the bounds are.
 */
void
member_probe(Oid relid, const IndexOptInfo *index, List *calls, List *clauses, List *bounds,
			 MemberProbe *probe)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table probe", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	/* the planner has locked both */
	Relation table = table_open(relid, NoLock);
	Relation btree = index_open(index->indexoid, NoLock);
	ScanKeyData *keys = palloc(list_length(clauses) * sizeof(ScanKeyData));
	int nkeys = make_scan_keys(clauses, index, keys);
	IndexScanDesc scan = begin_index_scan(table, btree, SnapshotAny, nkeys);
	Conditions conditions;

	*probe = (MemberProbe){0};
	find_conditions(index, calls, &conditions);
	read_index(scan, keys, nkeys, bounds, &conditions, probe);
	index_endscan(scan);
	index_close(btree, NoLock);
	table_close(table, NoLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
