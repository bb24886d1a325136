/*
 * target.c
 *	  The items of a request for several: their tables, and the one order of all calls.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/rel.h"

#include "actions/several.h"
#include "catalog/lookup.h"
#include "server/citus.h"
#include "server/errors.h"

/* This is a table of a request, opened once for all actions that name it alike. */
typedef struct TargetTable
{
	text *name;
	ItemWriter writer;
	OperationTable *counted;
} TargetTable;

struct TargetTables
{
	LOCKMODE lockmode;
	PartUnderWay *part; /* of the request, see BatchGetRequest */
	const Node *site; /* the same */
	Operation *operation;
	List *tables; /* of TargetTable */
	bool others; /* some are not distributed */
};

/*
 * Returns an empty set of tables, to be opened by target_open() under lockmode.  It is allocated in
 * the current memory context.  part and site are the request's, or NULL; the operation counts for
 * all tables.
 */
TargetTables *
target_tables(LOCKMODE lockmode, PartUnderWay *part, const Node *site, Operation *operation)
{
	TargetTables *tables = palloc0(sizeof(TargetTables));

	tables->lockmode = lockmode;
	tables->part = part;
	tables->site = site;
	tables->operation = operation;
	return tables;
}

/*
 * Has the whole call write to shards by statements.  It must do so if one of the tables is not
 * distributed: such a table has triggers, which may write to the same shards by statements.
 */
static void
leave_shards_to_statements(const TargetTables *tables)
{
	ListCell *cell;

	foreach (cell, tables->tables)
		store_writer_by_statements(((TargetTable *) lfirst(cell))->writer.store);
}

static TargetTable *
open_table(TargetTables *tables, text *name)
{
	TargetTable *opened;
	FrontCall call;
	ListCell *cell;

	foreach (cell, tables->tables)
	{
		opened = lfirst(cell);
		if (item_compare_bytes(text_span(opened->name), text_span(name)) == 0)
			return opened;
	}
	action_open(&(FrontCall){.site = tables->site}, name, tables->lockmode, &call);
	opened = palloc(sizeof(TargetTable));
	opened->name = name;
	opened->counted = operation_table(tables->operation, call.rel);
	write_open(&opened->writer, &call);
	tables->tables = lappend(tables->tables, opened);
	tables->others |= !call.table->distributed;
	if (tables->others)
		leave_shards_to_statements(tables);
	return opened;
}

/*
 * Sets the relation and table of a target to those with the given name or ARN, which is opened once
 * for all targets that name it alike.  Raises an error if there is no such table.  The pointer to
 * the name is kept.
 */
void
target_open(TargetTables *tables, text *name, ItemTarget *target)
{
	TargetTable *opened;

	target_begin(tables, target);
	opened = open_table(tables, name);
	target->writer = &opened->writer;
	target->counted = opened->counted;
	target->rel = target->writer->rel;
	target->table = target->writer->table;
}

/* Notes that what follows is done to that target. */
void
target_begin(const TargetTables *tables, const ItemTarget *target)
{
	if (tables->part != NULL)
		*tables->part = (PartUnderWay){.number = target->part};
}

/* Notes that what follows is done to several targets, of which this is the first. */
void
target_begin_several(const TargetTables *tables, const ItemTarget *first)
{
	if (tables->part != NULL)
		*tables->part = (PartUnderWay){.number = first->part, .others = true};
}

/* Locks stay. */
void
target_close(TargetTables *tables)
{
	ListCell *cell;

	foreach (cell, tables->tables)
	{
		TargetTable *opened = lfirst(cell);

		write_close(&opened->writer);
		relation_close(opened->writer.rel, NoLock);
	}
}

/* Compares tables; a distributed one has other OIDs on each node, but one name, and comes last. */
static int
compare_tables(const DynTable *x, const DynTable *y)
{
	if (x->distributed != y->distributed)
		return x->distributed ? 1 : -1;
	return x->distributed ? strcmp(x->qualified, y->qualified) : x->relid < y->relid ? -1 : 1;
}

static int
compare_targets(const void *a, const void *b)
{
	const ItemTarget *x = *(ItemTarget *const *) a;
	const ItemTarget *y = *(ItemTarget *const *) b;

	if (x->table->relid != y->table->relid)
		return compare_tables(x->table, y->table);
	return store_key_compare(x->table, &x->write.key, &y->write.key);
}

/* Returns whether any of the tables is distributed. */
bool
target_any_distributed(const ItemTarget *targets, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (targets[i].table->distributed)
			return true;
	}
	return false;
}

/*
 * Returns the targets in the order in which all calls lock them: by table and primary key.  So
 * calls wait for each other in one direction only.  Raises an error if an item is there twice: what
 * is the subject of the message, and words are DynamoDB's.
 */
ItemTarget **
target_sort(ItemTarget *targets, int n, const char *what, const char *words)
{
	ItemTarget **sorted = palloc(n * sizeof(ItemTarget *));

	for (int i = 0; i < n; i++)
		sorted[i] = &targets[i];
	qsort(sorted, n, sizeof(ItemTarget *), compare_targets);
	for (int i = 1; i < n; i++)
	{
		if (compare_targets(&sorted[i - 1], &sorted[i]) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("%s names an item of table \"%s\" twice", what, sorted[i]->table->name),
					 errwords("%s", words),
					 errdetail("It is number %d and number %d.",
							   Min(sorted[i - 1]->number, sorted[i]->number) + 1,
							   Max(sorted[i - 1]->number, sorted[i]->number) + 1)));
	}
	return sorted;
}

/*
 * Leaves the shards to statements unless all that is written is on this node, or Citus can commit
 * it in two phases.  Called before the first write; claims says that the call claims a token, which
 * may be on another node.
 */
void
target_place(const TargetTables *tables, ItemTarget *const *sorted, int n, bool claims)
{
	bool may = !claims || citus_can_join();

	for (int i = 0; may && i < n; i++)
		may = store_writer_may_write(sorted[i]->writer->store, &sorted[i]->write.key);
	if (!may)
		leave_shards_to_statements(tables);
}

/*
 * Counting
 */

/*
 * Reports an item that was read or written to the meter, which may be NULL.  old and new are the
 * item before and after the action; NULL means that there is none.
 */
void
target_measure(const ItemMeter *meter, const ItemTarget *target, const DynItem *old,
			   const DynItem *new)
{
	ItemMeasure measure = {.table = target->table, .old = old, .new = new};

	if (meter != NULL)
		meter->item(target->part, &measure, meter->arg);
}

static bool
same_collection(const ItemTarget *a, const ItemTarget *b)
{
	if (a->table->relid != b->table->relid)
		return false;
	for (int i = 0; i < a->table->primary.npartition; i++)
	{
		if (store_column_compare(a->table->keys[i].type, a->write.key.values[i],
								 b->write.key.values[i]) != 0)
			return false;
	}
	return true;
}

/* Measures collections of tables with local indexes, after all writes (docs/semantics.md, R17). */
void
target_measure_collections(const ItemMeter *meter, ItemTarget *const *sorted, int n)
{
	ErrorContextCallback callback;
	if (meter == NULL || meter->collection == NULL)
		return;
	for (int i = 0; i < n; i++)
	{
		DynTable *table = sorted[i]->table;
		ItemMeasure measure = {.table = table};

		if (dyn_local_indexes(table) == 0 || (i > 0 && same_collection(sorted[i - 1], sorted[i])))
			continue;
		store_begin_cleared(&callback, &sorted[i]->writer->clearance);
		measure.collection_key = collection_key(table, &sorted[i]->write.key);
		measure.collection_size = collection_size(table, &sorted[i]->write.key);
		store_end(&callback);
		meter->collection(sorted[i]->part, &measure, meter->arg);
	}
}
