/*
 * changed.c
 *	  Which items are to be made again when rows have changed.
 *
 * The rows are those of one statement, or a portion of them.  For each role that their table has
 * in a step, one statement finds what belongs to all of them.  Rows that new rows refer to are
 * locked FOR SHARE before, so that their change is either seen, or finds the new rows; and so are
 * those that these refer to in their turn.  Where one is not there, the values are locked (see
 * absent.c).
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "catalog/rights.h"
#include "models/migrate/collide.h"
#include "models/migrate/refresh.h"
#include "server/errors.h"
#include "server/sql.h"
#include "store/store.h"

/* Rows are searched by so many related rows at a time, and so many items are remembered. */
#define FOUND_BY 100
#define MOST_FOUND 20000

/*
 * What is known of a step
 */

/* Returns whether a column has the attribute's value, so that no expression has to be computed. */
static bool
is_column(const MigrationStep *step, const StepAttribute *attribute)
{
	Form_pg_attribute column;

	if (attribute->column == InvalidAttrNumber)
		return false;
	column = TupleDescAttr(step->source.desc, attribute->column - 1);
	return column->atttypid == attribute->attribute->type.sql &&
		   (attribute->attribute->type.typmod < 0 ||
			attribute->attribute->type.typmod == column->atttypmod);
}

static StepFollow *
make_follow(MigrationStep *step)
{
	StepFollow *follow = palloc0(sizeof(StepFollow));
	int n = step->nkeys;
	bool plain = true;

	step_find_guards(step);
	follow->is_told = step_key_is_told(step);
	follow->is_shared = step->nparents > 0 || step->nchildren > 0 || !follow->is_told;
	follow->desc = CreateTemplateTupleDesc(n + step_key_attributes(step));
	follow->columns = palloc(follow->desc->natts * sizeof(AttrNumber));
	for (int i = 0; i < n; i++)
	{
		follow->columns[i] = step->keys[i].attnum;
		TupleDescInitEntry(follow->desc, (AttrNumber) (i + 1), "key", step->keys[i].type, -1, 0);
	}
	for (int i = 0; i < step->attributes.n; i++)
	{
		const StepAttribute *attribute = &step->attributes.list[i];

		if (!step_makes_key(step, attribute->attribute))
			continue;
		plain = plain && is_column(step, attribute);
		follow->columns[n++] = attribute->column;
		TupleDescInitEntry(follow->desc, (AttrNumber) n, "attribute",
						   attribute->attribute->type.sql, -1, 0);
	}
	if (!plain)
		follow->columns = NULL;
	return follow;
}

/* Returns what following the step needs to know, which lives as long as the step. */
StepFollow *
step_follow(MigrationStep *step)
{
	MemoryContext old;

	if (step->follow == NULL)
	{
		old = MemoryContextSwitchTo(step->migration->context);
		step->follow = make_follow(step);
		MemoryContextSwitchTo(old);
	}
	return step->follow;
}

/* Raises an error if policies may hide rows, which would be missing in items. */
static void
check_row_security(const MigrationStep *step)
{
	ListCell *cell;

	foreach (cell, step_relations(step))
	{
		const StepRelation *relation = lfirst(cell);

		if (check_enable_rls(relation->relid, InvalidOid, true) == RLS_ENABLED)
			ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
							errmsg("row-level security may hide rows of %s from migration \"%s\"",
								   relation->name, step->migration->name)));
	}
}

/*
 * Columns by which rows belong together
 */

/* Gets the values of some columns; false if one is NULL, so that no row matches. */
static bool
get_columns(HeapTuple tuple, TupleDesc desc, const StepRelation *relation, bool other,
			Datum *values)
{
	if (tuple == NULL)
		return false;
	for (int i = 0; i < relation->npairs; i++)
	{
		bool isnull;

		values[i] = heap_getattr(
			tuple, other ? relation->pairs[i].other : relation->pairs[i].column, desc, &isnull);
		if (isnull)
			return false;
	}
	return true;
}

static bool
same_values(const StepRelation *relation, bool other, const Datum *a, const Datum *b)
{
	for (int i = 0; i < relation->npairs; i++)
	{
		const StepPair *pair = &relation->pairs[i];
		Form_pg_attribute column = other ? TupleDescAttr(relation->other->desc, pair->other - 1)
										 : TupleDescAttr(relation->desc, pair->column - 1);

		if (!datumIsEqual(a[i], b[i], column->attbyval, column->attlen))
			return false;
	}
	return true;
}

static void
add_values(Several *several, const Datum *values)
{
	for (int i = 0; i < several->ncolumns; i++)
		several->values[i][several->n] = values[i];
	several->n++;
}

/* Makes room for values of so many rows by which the relation and the other one belong together. */
static void
init_values(Several *several, const StepRelation *relation, bool other, int max)
{
	several_init(several, relation->npairs, max);
	for (int i = 0; i < relation->npairs; i++)
		several->types[i] = other ? step_type(relation->other, relation->pairs[i].other)
								  : step_type(relation, relation->pairs[i].column);
}

/* Takes values of new rows; only those that the old ones have not, if these alone matter. */
static void
take_new_values(const Change *change, const StepRelation *relation, bool other, bool added,
				Several *several)
{
	TupleDesc desc = RelationGetDescr(change->source);
	Datum *old = palloc(relation->npairs * sizeof(Datum));
	Datum *new = palloc(relation->npairs * sizeof(Datum));

	init_values(several, relation, other, change->n);
	for (int i = 0; i < change->n; i++)
	{
		if (!get_columns(change->new[i], desc, relation, other, new))
			continue;
		if (added && get_columns(change->old[i], desc, relation, other, old) &&
			same_values(relation, other, old, new))
			continue;
		add_values(several, new);
	}
}

/* Locks values by which rows belong together, for want of a foreign key. */
static void
lock_values(const StepRelation *relation, bool refers, const Several *several)
{
	int nest = migration_enter();

	absent_lock(relation, refers, several);
	migration_leave(nest);
}

/* Locks the values of rows that others may refer to, as far as the transaction adds them. */
static void
lock_added(const Change *change, const StepRelation *relation, bool other)
{
	Several added;

	if (!absent_is_possible(relation))
		return;
	take_new_values(change, relation, other, true, &added);
	lock_values(relation, false, &added);
}

/* Returns the values that the statement found no row for. */
static Several
values_without(const Several *several, const StepRelation *relation, bool other,
			   const SPITupleTable *rows)
{
	bool *found = palloc0(Max(several->n, 1) * sizeof(bool));
	Datum *values = palloc(relation->npairs * sizeof(Datum));
	Several without;

	init_values(&without, relation, other, several->n);
	for (uint64 i = 0; i < rows->numvals; i++)
		found[DatumGetInt64(sql_value(rows, i, 1)) - 1] = true;
	for (int i = 0; i < several->n; i++)
	{
		if (found[i])
			continue;
		for (int k = 0; k < relation->npairs; k++)
			values[k] = several->values[k][i];
		add_values(&without, values);
	}
	return without;
}

/* Executes SELECT_LOCK or SELECT_PRESENT; SPI has the result. */
static void
find_values(MigrationStep *step, const StepRelation *relation, SelectWhich which,
			const Several *several)
{
	SelectOptions options = {.which = which, .relation = relation};
	int nest = migration_enter();

	step_execute(step, &options, several_arrays(several, 0, several->n));
	migration_leave(nest);
}

/*
 * Locks rows.  A lock needs more rights than reading, so it is taken as the relation's owner, as
 * foreign keys do.  No code of a type of the other relation's owner runs then, see sql_on().
 */
static void
lock_rows(MigrationStep *step, const StepRelation *relation, const Several *several)
{
	Relation rel = relation_open(relation->relid, RowShareLock);
	RightsBefore before;

	if (!migration_may_follow(step->migration->relid, relation->relid))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("the owner of migration \"%s\" has not the rights of the owner of %s",
						step->migration->name, relation->name)));
	rights_take(rel->rd_rel->relowner, SECURITY_NOFORCE_RLS, &before);
	find_values(step, relation, SELECT_LOCK, several);
	rights_give_back(&before);
	relation_close(rel, NoLock);
}

/* Takes what rows that were locked refer to, in columns from this one on. */
static void
take_next_values(const StepRelation *next, const SPITupleTable *rows, int column, Several *several)
{
	Datum *values = palloc(next->npairs * sizeof(Datum));

	init_values(several, next, true, (int) rows->numvals);
	for (uint64 i = 0; i < rows->numvals; i++)
	{
		bool isnull = false;

		for (int k = 0; k < next->npairs && !isnull; k++)
			values[k] = sql_nullable(rows, i, column + k, &isnull);
		if (!isnull)
			add_values(several, values);
	}
}

/*
 * Locks the rows of a relation that values refer to, and then what these rows refer to.  Values
 * without a row are locked themselves; they may have one by then.
 */
static void
lock_chain(MigrationStep *step, const StepRelation *relation, const Several *several, bool again)
{
	SPITupleTable *rows;
	Several without;
	int column = 2;

	check_stack_depth();
	if (several->n == 0)
		return;
	lock_rows(step, relation, several);
	rows = SPI_tuptable;
	without = values_without(several, relation, true, rows);
	for (int i = 0; i < step->nparents; i++)
	{
		const StepRelation *next = &step->parents[i].relation;
		Several values;

		if (next->other != relation)
			continue;
		take_next_values(next, rows, column, &values);
		column += next->npairs;
		lock_chain(step, next, &values, false);
	}
	SPI_freetuptable(rows);
	if (again || !absent_is_possible(relation))
		return;
	lock_values(relation, true, &without);
	lock_chain(step, relation, &without, true);
}

/* Locks the rows of a relation that new rows refer to. */
static void
lock_referred(const Change *change, MigrationStep *step, const StepRelation *relation)
{
	Several referred;

	take_new_values(change, relation, true, false, &referred);
	lock_chain(step, relation, &referred, false);
}

/*
 * Rows of the source
 */

/* Takes what makes the keys, of rows whose columns have it. */
static void
take_columns(const Change *change, const StepFollow *follow, HeapTuple *rows, HeapTuple *found)
{
	int natts = follow->desc->natts;
	Datum *values = palloc(natts * sizeof(Datum));
	bool *nulls = palloc(natts * sizeof(bool));

	for (int i = 0; i < change->n; i++)
	{
		if (rows[i] == NULL)
			continue;
		for (int k = 0; k < natts; k++)
			values[k] = heap_getattr(rows[i], follow->columns[k], RelationGetDescr(change->source),
									 &nulls[k]);
		found[i] = heap_form_tuple(follow->desc, values, nulls);
	}
}

/* Computes what makes the keys, by a statement. */
static void
compute_columns(const Change *change, MigrationStep *step, HeapTuple *rows, HeapTuple *found)
{
	SelectOptions options = {.which = SELECT_ROW};
	uint64 taken = 0;
	Several several;
	int nest;

	several_init(&several, 1, change->n);
	several.types[0] = step->source.desc->tdtypeid;
	for (int i = 0; i < change->n; i++)
	{
		if (rows[i] != NULL)
			several.values[0][several.n++] =
				heap_copy_tuple_as_datum(rows[i], RelationGetDescr(change->source));
	}
	if (several.n == 0)
		return;
	nest = migration_enter();
	step_execute(step, &options, several_arrays(&several, 0, several.n));
	if (SPI_processed != (uint64) several.n)
		elog(ERROR, "%d rows make " UINT64_FORMAT " keys", several.n, SPI_processed);
	for (int i = 0; i < change->n; i++)
	{
		if (rows[i] != NULL)
			found[i] = heap_copytuple(SPI_tuptable->vals[taken++]);
	}
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
}

typedef struct KeyTry
{
	const Change *change;
	Refresh *refresh;
} KeyTry;

static void
try_keys(void *arg)
{
	KeyTry *try = arg;
	Refresh *refresh = try->refresh;

	refresh->item = row_build_keys(row_builder(refresh->step, try->change->rel, try->change->table),
								   refresh->tuple, step_follow(refresh->step)->desc);
	dyn_key_of_item(try->change->table, refresh->item, &refresh->key);
}

/* Makes a refresh of the item of a row.  *error: the row has no valid key. */
static Refresh *
make_refresh(const Change *change, MigrationStep *step, HeapTuple tuple, ErrorData **error)
{
	Refresh *refresh = palloc0(sizeof(Refresh));
	KeyTry try = {change, refresh};

	refresh->step = step;
	refresh->tuple = tuple;
	*error = row_try(try_keys, &try);
	return refresh;
}

/* Raises the error about a row without a valid key, unless the step does not take the row. */
static void
check_unwanted(const Refresh *refresh, const ErrorData *error)
{
	SelectOptions options = {.which = SELECT_KEY};
	TupleDesc desc = step_follow(refresh->step)->desc;
	int nest = migration_enter();
	char *name = row_name(refresh->step, refresh->tuple, desc);
	Datum *values;
	bool *nulls;
	uint64 found;
	int n;

	deconstruct_array(row_position(refresh->step, refresh->tuple, desc), TEXTOID, -1, false,
					  TYPALIGN_INT, &values, &nulls, &n);
	step_execute(refresh->step, &options, values);
	found = SPI_processed;
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
	if (found > 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("row %s cannot become an item: %s", name, error->message)));
}

/* Returns the items of the old or the new rows; NULL of a row that has none. */
static Refresh **
refreshes_of(const Change *change, MigrationStep *step, bool is_old)
{
	StepFollow *follow = step_follow(step);
	HeapTuple *rows = is_old ? change->old : change->new;
	HeapTuple *found = palloc0(change->n * sizeof(HeapTuple));
	Refresh **refreshes = palloc0(change->n * sizeof(Refresh *));

	if (follow->columns != NULL)
		take_columns(change, follow, rows, found);
	else
		compute_columns(change, step, rows, found);
	for (int i = 0; i < change->n; i++)
	{
		ErrorData *error;
		Refresh *refresh;

		CHECK_FOR_INTERRUPTS();
		if (found[i] == NULL)
			continue;
		refresh = make_refresh(change, step, found[i], &error);
		refresh->is_old = is_old;
		if (error == NULL)
			refreshes[i] = refresh;
		else if (!is_old) /* an old row without a key had no item */
			check_unwanted(refresh, error);
	}
	return refreshes;
}

/* Locks the parents of new rows of the source, or of a parent. */
static void
lock_next(const Change *change, MigrationStep *step, const StepRelation *relation)
{
	for (int i = 0; i < step->nparents; i++)
	{
		if (step->parents[i].relation.other == relation)
			lock_referred(change, step, &step->parents[i].relation);
	}
}

static void
source_changed(Change *change, MigrationStep *step)
{
	Refresh **old;
	Refresh **new;

	lock_next(change, step, &step->source);
	for (int i = 0; i < step->nchildren; i++)
		lock_added(change, &step->children[i].relation, true);
	old = refreshes_of(change, step, true);
	new = refreshes_of(change, step, false);
	for (int i = 0; i < change->n; i++)
	{
		if (old[i] != NULL &&
			!(new[i] != NULL &&store_key_compare(change->table, &old[i]->key, &new[i]->key) == 0))
			change->refreshes = lappend(change->refreshes, old[i]);
		if (new[i] != NULL)
			change->refreshes = lappend(change->refreshes, new[i]);
	}
}

/*
 * Parents, children and what they are joined with
 */

/* Returns the list with the items of all rows of the source that related rows belong to. */
List *
change_find_referring(const Change *change, const Referring *by, List *refreshes)
{
	SelectOptions options = {.which = SELECT_REFERRING, .relation = by->relation};
	int nest = migration_enter();

	step_execute(by->step, &options, by->values);
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++)
	{
		ErrorData *error;
		Refresh *refresh;

		CHECK_FOR_INTERRUPTS();
		refresh = make_refresh(change, by->step, heap_copytuple(SPI_tuptable->vals[i]), &error);
		/* a row without a valid key has no item, and a related row does not give it one */
		if (error != NULL)
			continue;
		refresh->by = by;
		refreshes = lappend(refreshes, refresh);
	}
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
	return refreshes;
}

/* Adds the values of a row, unless they are those of the row before. */
static void
add_other_values(const StepRelation *relation, Several *several, const Datum *values, Datum *last)
{
	if (several->n > 0 && same_values(relation, false, values, last))
		return;
	add_values(several, values);
	memcpy(last, values, relation->npairs * sizeof(Datum));
}

/*
 * Adds the items of all rows that some of the related rows belong to.  These can be many more, so
 * the items are made again as soon as they are too many to be remembered.
 */
static void
add_referring(Change *change, const Referring *what, const Several *several, int first, int n)
{
	MemoryContext old = MemoryContextSwitchTo(change->found);
	Referring *by = palloc(sizeof(Referring));
	int nest = migration_enter();

	*by = *what;
	by->values = several_arrays(several, first, n);
	migration_leave(nest);
	change->refreshes = change_find_referring(change, by, change->refreshes);
	if (list_length(change->refreshes) >= MOST_FOUND)
	{
		change_refresh(change);
		change->refreshes = NIL;
		MemoryContextReset(change->found);
	}
	MemoryContextSwitchTo(old);
}

/* Gets the values of old and new rows by which rows of the source belong to them. */
static void
take_values(const Change *change, const StepRelation *relation, Several *several)
{
	TupleDesc desc = RelationGetDescr(change->source);
	Size size = relation->npairs * sizeof(Datum);
	Datum *old = palloc(size);
	Datum *new = palloc(size);
	Datum *last = palloc(size);

	init_values(several, relation, false, 2 * change->n);
	for (int i = 0; i < change->n; i++)
	{
		if (get_columns(change->old[i], desc, relation, false, old))
			add_other_values(relation, several, old, last);
		if (get_columns(change->new[i], desc, relation, false, new))
			add_other_values(relation, several, new, last);
	}
}

static void
add_related(Change *change, MigrationStep *step, const StepRelation *relation,
			const Several *several)
{
	for (int first = 0; first < several->n; first += FOUND_BY)
		add_referring(change, &(Referring){step, relation}, several, first,
					  Min(several->n - first, FOUND_BY));
}

static void
related_changed(Change *change, MigrationStep *step, const StepRelation *relation)
{
	Several several;

	take_values(change, relation, &several);
	add_related(change, step, relation, &several);
}

static void
parent_changed(Change *change, MigrationStep *step, const StepRelation *relation)
{
	lock_added(change, relation, false);
	lock_next(change, step, relation);
	related_changed(change, step, relation);
}

/* Returns whether an index proves that one row of the source at most has the child's values. */
static bool
belongs_to_one(const StepRelation *relation)
{
	Bitmapset *columns = NULL;

	for (int i = 0; i < relation->npairs; i++)
		columns = bms_add_member(columns, relation->pairs[i].other);
	return step_columns_are_unique(relation->other, columns);
}

/*
 * Locks values of children whose row of the source is not there.  If there may be several such
 * rows, one that is there says nothing of the others.
 */
static void
lock_sources(MigrationStep *step, const StepRelation *relation, const Several *several)
{
	SPITupleTable *rows;
	Several without;

	if (!absent_is_possible(relation) || several->n == 0)
		return;
	if (!belongs_to_one(relation))
	{
		lock_values(relation, true, several);
		return;
	}
	find_values(step, relation, SELECT_PRESENT, several);
	rows = SPI_tuptable;
	without = values_without(several, relation, false, rows);
	SPI_freetuptable(rows);
	lock_values(relation, true, &without);
}

static void
child_changed(Change *change, MigrationStep *step, const StepChild *child)
{
	Several several;

	for (int i = 0; i < child->njoins; i++)
		lock_referred(change, step, &child->joins[i]);
	take_values(change, &child->relation, &several);
	lock_sources(step, &child->relation, &several);
	add_related(change, step, &child->relation, &several);
}

static void
join_changed(Change *change, MigrationStep *step, const StepRelation *relation)
{
	lock_added(change, relation, false);
	related_changed(change, step, relation);
}

/* Finds the items to make again, in all roles that the table has in the step. */
static bool
step_changed(Change *change, MigrationStep *step)
{
	Oid relid = RelationGetRelid(change->source);
	bool concerned = false;
	ListCell *cell;

	foreach (cell, step_relations(step))
		concerned = concerned || ((StepRelation *) lfirst(cell))->relid == relid;
	if (!concerned)
		return false;
	check_row_security(step);
	(void) step_follow(step);
	if (step->source.relid == relid)
		source_changed(change, step);
	for (int i = 0; i < step->nparents; i++)
	{
		if (step->parents[i].relation.relid == relid)
			parent_changed(change, step, &step->parents[i].relation);
	}
	for (int i = 0; i < step->nchildren; i++)
	{
		const StepChild *child = &step->children[i];

		if (child->relation.relid == relid)
			child_changed(change, step, child);
		for (int k = 0; k < child->njoins; k++)
		{
			if (child->joins[k].relid == relid)
				join_changed(change, step, &child->joins[k]);
		}
	}
	return true;
}

/* Sets change->refreshes, as far as they are not made already.  False: no step reads the table. */
bool
change_find(Change *change)
{
	bool concerned = false;

	change->refreshes = NIL;
	for (int i = 0; i < change->migration->nsteps; i++)
		concerned |= step_changed(change, &change->migration->steps[i]);
	return concerned;
}
