/*
 * changed.c
 *	  Which items are to be made again when rows have changed.
 *
 * The rows are those of one statement, or a portion of them.  For each role that their table has in
 * a step, one statement finds what belongs to all of them.  Rows that new rows refer to are locked
 * FOR SHARE before, so that their change is either seen, or finds the new rows.
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

#include "ground/errors.h"
#include "migrate/collide.h"
#include "migrate/refresh.h"
#include "store/store.h"

/* Related rows by which rows are searched at a time, and items that are remembered. */
#define FOUND_BY 100
#define MOST_FOUND 20000

/*
 * What is known of a step
 */

/* The same value as the attribute's, so that no expression has to be computed. */
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
make_follow(const MigrationStep *step)
{
	StepFollow *follow = palloc0(sizeof(StepFollow));
	int n = step->nkeys;
	bool plain = true;

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
same_values(const StepRelation *relation, const Datum *a, const Datum *b)
{
	for (int i = 0; i < relation->npairs; i++)
	{
		Form_pg_attribute column = TupleDescAttr(relation->desc, relation->pairs[i].column - 1);

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

/*
 * Locks the rows of a relation that new rows refer to.  A lock needs more rights than reading, so
 * it is taken as the relation's owner, as foreign keys do; no data is returned.
 */
static void
lock_referred(const Change *change, MigrationStep *step, const StepRelation *relation,
			  const StepChild *link)
{
	SelectOptions options = {.which = SELECT_LOCK, .relation = relation, .link = link};
	Datum *values = palloc(relation->npairs * sizeof(Datum));
	Several referred;
	Datum *arrays;
	Relation rel;
	Oid user;
	int context;
	int nest;

	several_init(&referred, relation->npairs, change->n);
	for (int i = 0; i < relation->npairs; i++)
		referred.types[i] =
			step_type(link != NULL ? &link->relation : &step->source, relation->pairs[i].other);
	for (int i = 0; i < change->n; i++)
	{
		if (get_columns(change->new[i], RelationGetDescr(change->source), relation, true, values))
			add_values(&referred, values);
	}
	if (referred.n == 0)
		return;
	rel = relation_open(relation->relid, RowShareLock);
	nest = migration_enter();
	arrays = several_arrays(&referred, 0, referred.n);
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	step_execute(step, &options, arrays);
	SetUserIdAndSecContext(user, context);
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
	relation_close(rel, NoLock);
}

/*
 * Rows of the source
 */

/* What makes the keys, of rows whose columns have it. */
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

/* What makes the keys, by a statement that computes it. */
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

static void
source_changed(Change *change, MigrationStep *step)
{
	Refresh **old;
	Refresh **new;

	for (int i = 0; i < step->nparents; i++)
		lock_referred(change, step, &step->parents[i].relation, NULL);
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
	SelectOptions options = {.which = SELECT_REFERRING, .relation = by->relation, .link = by->link};
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
	if (several->n > 0 && same_values(relation, values, last))
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

static void
related_changed(Change *change, MigrationStep *step, const StepRelation *relation,
				const StepChild *link)
{
	TupleDesc desc = RelationGetDescr(change->source);
	Size size = relation->npairs * sizeof(Datum);
	Datum *old = palloc(size);
	Datum *new = palloc(size);
	Datum *last = palloc(size);
	Several several;

	several_init(&several, relation->npairs, 2 * change->n);
	for (int i = 0; i < relation->npairs; i++)
		several.types[i] = step_type(relation, relation->pairs[i].column);
	for (int i = 0; i < change->n; i++)
	{
		if (get_columns(change->old[i], desc, relation, false, old))
			add_other_values(relation, &several, old, last);
		if (get_columns(change->new[i], desc, relation, false, new))
			add_other_values(relation, &several, new, last);
	}
	for (int first = 0; first < several.n; first += FOUND_BY)
		add_referring(change, &(Referring){step, relation, link}, &several, first,
					  Min(several.n - first, FOUND_BY));
}

static void
child_changed(Change *change, MigrationStep *step, const StepChild *child)
{
	for (int i = 0; i < child->njoins; i++)
		lock_referred(change, step, &child->joins[i], child);
	related_changed(change, step, &child->relation, NULL);
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
	if (step->source.relid == relid)
		source_changed(change, step);
	for (int i = 0; i < step->nparents; i++)
	{
		if (step->parents[i].relation.relid == relid)
			related_changed(change, step, &step->parents[i].relation, NULL);
	}
	for (int i = 0; i < step->nchildren; i++)
	{
		const StepChild *child = &step->children[i];

		if (child->relation.relid == relid)
			child_changed(change, step, child);
		for (int k = 0; k < child->njoins; k++)
		{
			if (child->joins[k].relid == relid)
				related_changed(change, step, &child->joins[k], child);
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
