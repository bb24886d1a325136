/*
 * plain.c
 *	  Whether rows of a table can be read and written without the executor.
 *
 * This is decided once for each schema.  Adding a policy, rule, trigger, constraint, column, index
 * or child table invalidates the relcache entry, and with it the schema.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "am/am.h"
#include "catalog/derive.h"
#include "catalog/key.h"

static bool
is_plain(Relation rel, const DynTable *table)
{
	return rel->rd_rel->relkind == RELKIND_RELATION && dyn_am_is_ours(rel) &&
		   !RELATION_IS_OTHER_TEMP(rel) && !rel->rd_rel->relrowsecurity && !table->unsupported;
}

/* The place of a column in the table's keys, or -1. */
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

/* Keys of indexes may be absent, and keys of type N may have as many digits as an item's number. */
static bool
takes_what_is_derived(Form_pg_attribute column, int place, int nkeys)
{
	return place >= 0 && (place < nkeys || !column->attnotnull) && column->atttypmod == -1;
}

static bool
has_only_our_columns(Relation rel, const DynTable *table)
{
	TupleDesc desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (column->attisdropped)
			continue;
		if (column->attgenerated != '\0' || column->attidentity != '\0')
			return false;
		if (column->attnum == table->item_attnum)
		{
			/* a domain has constraints of its own */
			if (column->atttypid != table->item_type)
				return false;
		}
		else if (!takes_what_is_derived(column, column_place(table, column->attnum), table->nkeys))
			return false;
	}
	return true;
}

/* The one whose function derives, which then cannot be but for each row that is written. */
static bool
is_our_trigger(const Trigger *trigger)
{
	return strcmp(trigger->tgname, DYN_DERIVE_TRIGGER) == 0 &&
		   trigger->tgenabled == TRIGGER_FIRES_ALWAYS &&
		   trigger->tgtype == (TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_INSERT |
							   TRIGGER_TYPE_UPDATE) &&
		   trigger->tgqual == NULL && trigger->tgnattr == 0;
}

/* Triggers that are disabled have no say. */
static bool
has_only_our_trigger(Relation rel)
{
	int ours = 0;

	for (int i = 0; i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		if (trigger->tgenabled == TRIGGER_DISABLED)
			continue;
		if (!is_our_trigger(trigger))
			return false;
		ours++;
	}
	return ours == 1;
}

static bool
is_column(const Node *node, AttrNumber attnum)
{
	return IsA(node, Var) && ((const Var *) node)->varattno == attnum;
}

/* Whether dyn_keys_match() is told of a column what the schema says. */
static bool
spec_fits(const DynTable *table, const char *text, const Node *column)
{
	ItemSpan attribute;
	ItemType type;
	int place;

	dyn_parse_key_spec((ItemSpan){text, (uint32) strlen(text)}, &attribute, &type);
	if (!IsA(column, Var))
		return false;
	place = column_place(table, ((const Var *) column)->varattno);
	return place >= 0 && table->keys[place].type == type &&
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
 * dyn_keys_match() of what the schema says: it holds for whatever dyn_derive() has derived.
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

/* The same for an index that covers all columns. */
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

static bool
has_only_our_constraint(Relation rel, const DynTable *table)
{
	const TupleConstr *constraints = RelationGetDescr(rel)->constr;

	for (int i = 0; constraints != NULL && i < constraints->num_check; i++)
	{
		if (!constraint_fits(table, constraints->check[i].ccbin))
			return false;
	}
	return true;
}

/* Whether a btree has exactly the rows in which all of its columns are set. */
static bool
index_fits(const DynTable *table, const DynIndex *index)
{
	Relation btree = index_open(index->relid, AccessShareLock);
	List *predicate = RelationGetIndexPredicate(btree);
	bool fits = !btree->rd_index->indisunique && btree->rd_index->indnatts == index->ncolumns;

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

static bool
primary_key_fits(const DynTable *table)
{
	Relation btree = index_open(table->primary.relid, AccessShareLock);
	bool fits = btree->rd_index->indimmediate && btree->rd_index->indnatts == table->nkeys;

	index_close(btree, AccessShareLock);
	return fits;
}

/* Indexes with the same keys may share a btree, also with the table's primary key. */
static void
add_btree(DynTable *table, const DynIndex *index)
{
	if (index->relid == table->primary.relid)
		return;
	for (int i = 0; i < table->nbtrees; i++)
	{
		if (table->btrees[i]->relid == index->relid)
			return;
	}
	if (OidIsValid(index->relid))
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

static bool
has_only_our_indexes(Relation rel, const DynTable *table)
{
	List *btrees = RelationGetIndexList(rel);
	ListCell *cell;

	if (!list_member_oid(btrees, table->primary.relid) || !primary_key_fits(table))
		return false;
	foreach (cell, btrees)
	{
		bool fits = lfirst_oid(cell) == table->primary.relid;

		for (int i = 0; i < table->nbtrees && !fits; i++)
			fits =
				lfirst_oid(cell) == table->btrees[i]->relid && index_fits(table, table->btrees[i]);
		if (!fits)
			return false;
	}
	return true;
}

/* Of a schema that is read otherwise. */
void
dyn_read_plainness(Relation rel, DynTable *table)
{
	list_btrees(table);
	table->plain = is_plain(rel, table);
	table->bare = table->plain && !rel->rd_rel->relispartition && rel->rd_rules == NULL &&
				  has_only_our_columns(rel, table) && has_only_our_trigger(rel) &&
				  has_only_our_constraint(rel, table) && has_only_our_indexes(rel, table);
}
