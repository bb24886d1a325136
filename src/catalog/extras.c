/*
 * extras.c
 *	  What a table of items has beside its own columns, constraint, triggers and indexes.
 *
 * A write of the direct store has to obey all of it, and has nothing to do for a table without.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/carried.h"
#include "catalog/definition/definition.h"
#include "catalog/derive.h"
#include "catalog/extras.h"
#include "catalog/key.h"
#include "catalog/shard_guard.h"

/* Returns the place of a column in the table's keys, or -1. */
static int
column_place(const DynTable *table, AttrNumber attnum)
{
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (table->keys[i].attnum == attnum)
			return i;
	}
	return -1;
}

/*
 * Constraints
 */

static bool
is_column(const Node *node, AttrNumber attnum)
{
	return IsA(node, Var) && ((const Var *) node)->varattno == attnum;
}

/* Returns whether dyn_keys_match() is told of a column what the schema says. */
static bool
spec_fits(const DynTable *table, const char *text, const Node *column)
{
	ItemSpan spec = {text, (uint32) strlen(text)};
	ItemSpan attribute;
	ItemType type;
	int place;

	if (!IsA(column, Var))
		return false;
	place = column_place(table, ((const Var *) column)->varattno);
	if (place < 0)
		return false;
	if (dyn_carried_is_spec(spec))
		return table->keys[place].carried != NULL &&
			   dyn_carried_equal(table->keys[place].carried, dyn_carried_parse(spec));
	dyn_parse_key_spec(spec, &attribute, &type);
	return table->keys[place].type == type &&
		   item_compare_bytes(table->keys[place].attribute, attribute) == 0;
}

static bool
specs_fit(const DynTable *table, const Const *specs, List *columns)
{
	Datum *elements;
	bool *nulls;
	int n;

	if (specs->constisnull || specs->consttype != TEXTARRAYOID)
		return false;
	deconstruct_array(DatumGetArrayTypeP(specs->constvalue), TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &n);
	if (n != list_length(columns))
		return false;
	for (int i = 0; i < n; i++)
	{
		if (nulls[i] || !spec_fits(table, TextDatumGetCString(elements[i]), list_nth(columns, i)))
			return false;
	}
	return true;
}

/*
 * Returns whether a constraint is dyn_keys_match() of what the schema says: then it holds for
 * whatever dyn_derive() has derived.
 *
 * The expression is looked at as it is stored.  The planner would call the immutable functions in
 * it, which the owner has chosen, with the rights of the session that reads the schema.
 */
static bool
constraint_fits(const DynTable *table, const char *expression)
{
	const FuncExpr *call = stringToNode(expression);
	FmgrInfo flinfo;

	if (!IsA(call, FuncExpr) || list_length(call->args) < 3)
		return false;
	fmgr_info(call->funcid, &flinfo);
	return flinfo.fn_addr == dyn_keys_match &&
		   is_column(linitial(call->args), table->item_attnum) && IsA(lsecond(call->args), Const) &&
		   specs_fit(table, lsecond(call->args), list_copy_tail(call->args, 2));
}

/* Returns whether a constraint is such a call for an index that covers all columns. */
bool
dyn_constraint_covers(const DynTable *table, const char *expression)
{
	bool covered[DYN_MAX_COLUMNS] = {false};
	bool all = constraint_fits(table, expression);
	List *columns =
		all ? list_copy_tail(((const FuncExpr *) stringToNode(expression))->args, 2) : NIL;
	ListCell *cell;

	foreach (cell, columns)
		covered[column_place(table, ((const Var *) lfirst(cell))->varattno)] = true;
	for (int i = 0; i < table->ncolumns; i++)
		all = all && covered[i];
	return all;
}

/* Returns whether the catalog says that the columns of all rows match their items. */
bool
dyn_columns_are_valid(Relation rel, const DynTable *table)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;

	for (int i = 0; constraints != NULL && i < constraints->num_check; i++)
	{
		if (constraints->check[i].ccvalid &&
			dyn_constraint_covers(table, constraints->check[i].ccbin))
			return true;
	}
	return false;
}

/* Reads the constraints that others have added; NOT NULL of other columns counts too. */
static void
read_constraints(Relation rel, DynTable *table)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;

	for (int i = 0; constraints != NULL && i < constraints->num_check; i++)
	{
		if (constraint_fits(table, constraints->check[i].ccbin) ||
			definition_is(rel, &constraints->check[i]) ||
			shard_guard_is(table, constraints->check[i].ccbin))
			table->extras.own_checks = bms_add_member(table->extras.own_checks, i);
		else
			table->extras.constraints = true;
	}
}

/*
 * Columns
 */

/*
 * Returns whether an insert has to compute a column: its default or that of its type, its
 * expression, or whether a domain takes NULL.  The default of a column that is derived is
 * overwritten, but evaluated.
 */
static bool
is_computed(Form_pg_attribute column, int place)
{
	return column->atthasdef || column->attidentity != '\0' || column->attgenerated != '\0' ||
		   (place < 0 && (get_typtype(column->atttypid) == TYPTYPE_DOMAIN ||
						  get_typdefault(column->atttypid) != NULL));
}

static void
read_columns(Relation rel, DynTable *table)
{
	TupleDesc desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);
		int place = column_place(table, column->attnum);

		if (column->attisdropped || column->attnum == table->item_attnum ||
			(place >= 0 && place < table->nkeys))
			continue;
		table->extras.columns |= place < 0;
		table->extras.computed |= is_computed(column, place);
		if (place < 0 && column->attnotnull)
			table->extras.constraints = true;
	}
}

/*
 * Triggers
 */

#define WRITTEN_ROWS \
	(TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE)

/*
 * Returns whether a trigger is ours: the call that writes does its work, unless others change the
 * row after that.  A call enforces entities whenever the trigger for it exists.
 */
static bool
is_own_trigger(const DynTable *table, const Trigger *trigger)
{
	return strcmp(trigger->tgname, DYN_DERIVE_TRIGGER) == 0 ||
		   (table->enforced && trigger->tgtype == WRITTEN_ROWS &&
			strcmp(trigger->tgname, DYN_ENFORCE_TRIGGER) == 0);
}

/* Returns whether an enabled trigger of others may change a row that is inserted or updated. */
bool
dyn_may_rewrite(const DynTable *table, const Trigger *trigger)
{
	return trigger->tgenabled != TRIGGER_DISABLED && !is_own_trigger(table, trigger) &&
		   TRIGGER_FOR_ROW(trigger->tgtype) && TRIGGER_FOR_BEFORE(trigger->tgtype) &&
		   (TRIGGER_FOR_INSERT(trigger->tgtype) || TRIGGER_FOR_UPDATE(trigger->tgtype));
}

static void
read_trigger(const Trigger *trigger, DynExtras *extras)
{
	extras->triggers = true;
	extras->delete_triggers |= TRIGGER_FOR_DELETE(trigger->tgtype) != 0;
	if (!TRIGGER_FOR_ROW(trigger->tgtype) || !TRIGGER_FOR_BEFORE(trigger->tgtype))
		return;
	extras->before_insert |= TRIGGER_FOR_INSERT(trigger->tgtype) != 0;
	extras->before_update |= TRIGGER_FOR_UPDATE(trigger->tgtype) != 0;
	extras->before_delete |= TRIGGER_FOR_DELETE(trigger->tgtype) != 0;
}

/* Reads the triggers, which foreign keys are as well. */
static void
read_triggers(Relation rel, DynTable *table)
{
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		if (trigger->tgenabled != TRIGGER_DISABLED && !is_own_trigger(table, trigger) &&
			!TRIGGER_FOR_TRUNCATE(trigger->tgtype))
			read_trigger(trigger, &table->extras);
	}
}

/*
 * Indexes
 */

/* Returns whether a btree has exactly the rows in which all of its columns are set. */
static bool
index_fits(const DynTable *table, const DynIndex *index)
{
	Relation btree = index_open(index->relid, AccessShareLock);
	List *predicate = RelationGetIndexPredicate(btree);
	int nattributes = index->ncolumns + (index->carried != NULL ? 1 : 0);
	bool fits = !btree->rd_index->indisunique && btree->rd_index->indnatts == nattributes;

	/* find_btree() has seen that each test is of one of the index's columns */
	for (int i = 0; i < index->ncolumns; i++)
	{
		bool tested = index->columns[i] < table->nkeys;
		ListCell *cell;

		foreach (cell, predicate)
			tested |= is_column((Node *) lfirst_node(NullTest, cell)->arg,
								dyn_index_key(table, index, i)->attnum);
		fits &= tested;
	}
	index_close(btree, AccessShareLock);
	return fits;
}

/* Adds a btree once: indexes with the same keys may share it, also with the primary key. */
static void
add_btree(DynTable *table, const DynIndex *index)
{
	if (index->relid == table->primary.relid || index->entries != NULL)
		return;
	for (int i = 0; i < table->nbtrees; i++)
	{
		if (table->btrees[i]->relid == index->relid)
			return;
	}
	if (OidIsValid(index->relid) && index_fits(table, index))
		table->btrees[table->nbtrees++] = index;
}

static void
list_btrees(DynTable *table)
{
	table->btrees = palloc((table->nindexes + 1) * sizeof(DynIndex *));
	for (int i = 0; i < table->nindexes; i++)
		add_btree(table, &table->indexes[i]);
	if (table->ttl != NULL)
		add_btree(table, table->ttl);
}

/* Reads the other indexes: also those that are not valid, but none that is being dropped. */
static void
read_indexes(Relation rel, DynTable *table)
{
	List *indexes = RelationGetIndexList(rel);
	ListCell *cell;

	table->extras.indexes = palloc(list_length(indexes) * sizeof(Oid));
	foreach (cell, indexes)
	{
		bool ours = lfirst_oid(cell) == table->primary.relid;

		for (int i = 0; i < table->nbtrees; i++)
			ours |= lfirst_oid(cell) == table->btrees[i]->relid;
		if (!ours)
			table->extras.indexes[table->extras.nindexes++] = lfirst_oid(cell);
	}
}

/* Completes a schema that is read otherwise by its btrees, and what is there beside them. */
void
dyn_read_extras(Relation rel, DynTable *table)
{
	DynExtras *extras = &table->extras;

	list_btrees(table);
	read_constraints(rel, table);
	read_columns(rel, table);
	read_triggers(rel, table);
	read_indexes(rel, table);
	extras->any =
		extras->triggers || extras->computed || extras->constraints || extras->nindexes > 0;
}
