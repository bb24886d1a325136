/*
 * asked_read.c
 *	  The reads that answer a query, and the places in indexes that they need.
 *
 * What a query compares with constants is known from the beginning, and so is what it compares with
 * that.  A relation can be read if the columns of a partition key are known; then so is all else of
 * its rows, by which other relations are read.  A new place is worth it if it reads less, or has the
 * order in which the last rows are wanted.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "models/propose/asked.h"

/* A collection of more items is not read for some of them. */
#define LARGE 100

/* So many rows are taken for those of a table of which none are seen. */
#define UNKNOWN_ROWS 1e9

/* A request has this limit if a parameter says how many rows are wanted. */
#define EXAMPLE_LIMIT 20

/* A column of a large table with fewer values is of little use in a key. */
#define FEW_VALUES 5

/*
 * What columns are good for
 */

/* Returns whether keys sort by the column's values, or by their bytes. */
static bool
is_sorted(const AskedUse *use, bool by_bytes)
{
	const ProposeColumn *column = asked_column(use);
	Oid type = getBaseType(column->value.sql);
	bool is_text = type == TEXTOID || type == VARCHAROID || type == BPCHAROID;

	return propose_can_be_key(column) && (by_bytes || !is_text) &&
		   (column->value.type == ITEM_S || column->width > 0);
}

static bool
is_range(const AskedUse *use)
{
	return use->known.level < 0 && (use->tests & (ASKED_LOW | ASKED_HIGH)) != 0 &&
		   is_sorted(use, false);
}

/* Returns whether there are rows, or may be some, that lack a column. */
static bool
may_lack(const AskedUse *use)
{
	return !asked_column(use)->required && asked_column(use)->data.filled < 1;
}

/* Returns how many rows have the same values of some columns: on average, or at most. */
static double
rows_by(const ProposeTable *table, const List *columns, bool most)
{
	double rows = table->rows < 1 ? UNKNOWN_ROWS : table->rows;
	ListCell *cell;

	if (propose_are_in(table->key, columns))
		return 1;
	foreach (cell, columns)
	{
		const ProposeData *data = &table->columns[lfirst_int(cell)].data;

		rows = most && data->most > 0 ? Min(rows, data->most) : rows / Max(data->distinct, 1);
	}
	return rows;
}

/*
 * What is known
 */

/* Tells what is known of a column of which nothing was known, and so of those that are equal to it. */
static void
tell(AskedUse *use, AskedKnown known)
{
	ListCell *cell;

	check_stack_depth();
	if (use->known.level >= 0)
		return;
	use->known = known;
	foreach (cell, use->equals)
		tell(lfirst(cell), known);
}

/* Begins with what conditions tell. */
static void
begin(AskedQuery *asked)
{
	ListCell *cell;

	asked->reads = NIL;
	foreach (cell, asked->uses)
		((AskedUse *) lfirst(cell))->known.level = -1;
	foreach (cell, asked->uses)
	{
		AskedUse *use = lfirst(cell);
		int equal = use->tests & ASKED_EQUAL;

		if (equal != 0)
			tell(use, (AskedKnown){0, equal == ASKED_TEST(ASKED_ANY_OF), use});
	}
}

/*
 * Places
 */

/* Returns the columns by which rows are to be sorted; or -1: keys do not sort so. */
static List *
order_columns(const AskedQuery *asked, const AskedRelation *relation, bool *backward)
{
	List *columns = NIL;
	ListCell *cell;

	foreach (cell, asked->order)
	{
		const AskedOrder *order = lfirst(cell);
		const AskedUse *by = order->by;

		if (by != NULL && by->known.level >= 0 && !by->known.several)
			continue;
		*backward = columns == NIL ? order->descending : *backward;
		if (by == NULL || by->relation != relation || order->descending != *backward ||
			!is_sorted(by, true))
			return list_make1_int(-1);
		columns = lappend_int(columns, by->column);
	}
	return columns;
}

/* Returns the columns that the sort key of a place begins with. */
static List *
sort_columns(const AskedQuery *asked, const AskedRelation *relation)
{
	bool backward;
	List *columns = order_columns(asked, relation, &backward);
	ListCell *cell;

	for (int i = 0; i < relation->table->ncolumns; i++)
	{
		if (is_range(&relation->uses[i]))
			return columns != NIL && linitial_int(columns) == i ? columns : list_make1_int(i);
	}
	foreach (cell, columns)
	{
		if (lfirst_int(cell) < 0 || may_lack(&relation->uses[lfirst_int(cell)]))
			return NIL;
	}
	return columns;
}

/*
 * Returns the columns of a partition key with the fewest rows: the own key, those of a foreign key,
 * or another column that is of use.
 */
static List *
partition_columns(const AskedRelation *relation)
{
	const ProposeTable *table = relation->table;
	List *known = NIL;
	List *candidates = list_make1(table->key);
	List *best = NIL;
	ListCell *cell;

	for (int i = 0; i < table->nforeign; i++)
	{
		if (table->foreign[i].parent != NULL)
			candidates = lappend(candidates, table->foreign[i].columns);
	}
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (relation->uses[i].known.level < 0)
			continue;
		known = lappend_int(known, i);
		/* a key with the column has much fewer rows than without it */
		if (propose_can_be_key(&table->columns[i]) &&
			(table->rows < LARGE || table->columns[i].data.distinct >= FEW_VALUES))
			candidates = lappend(candidates, list_make1_int(i));
	}
	foreach (cell, candidates)
	{
		if (propose_are_in(lfirst(cell), known) &&
			(best == NIL || rows_by(table, lfirst(cell), false) < rows_by(table, best, false)))
			best = lfirst(cell);
	}
	foreach (cell, best == NIL ? NIL : known)
	{
		int i = lfirst_int(cell);

		if (list_member_int(best, i) || !propose_can_be_key(&table->columns[i]) ||
			table->columns[i].data.distinct <= 1 || relation->uses[i].known.several ||
			rows_by(table, best, false) <= LARGE)
			continue;
		best = lappend_int(list_copy(best), i);
		list_sort(best, list_int_cmp);
	}
	return best;
}

/* Returns the place by which a relation is read best; NULL: there is none. */
static ProposePlace *
make_place(const AskedQuery *asked, const AskedRelation *relation)
{
	List *columns = partition_columns(relation);
	List *sort = sort_columns(asked, relation);

	/* all rows in one partition: a range of them is read, or the last ones, whatever they are */
	if (columns == NIL && (sort == NIL || asked->filtered ||
						   (!is_range(&relation->uses[linitial_int(sort)]) &&
							(asked->limit == 0 || asked->compared))))
		return NULL;
	return propose_make_place(asked->proposal, relation->table->entity, columns, sort);
}

/*
 * The read of one relation
 */

/* Notes that a read needs the value of a column.  Returns whether it is known. */
static bool
needs(AskedRead *read, const AskedUse *use)
{
	read->level = Max(read->level, use->known.level);
	read->each |= use->known.level >= 0 && use->known.several;
	return use->known.level >= 0;
}

/* Returns the read by a place; NULL: a column is not known, or it would read all rows. */
static AskedRead *
read_by(const AskedQuery *asked, AskedRelation *relation, ProposePlace *place)
{
	AskedRead *read = palloc0(sizeof(AskedRead));
	List *wanted = order_columns(asked, relation, &read->backward);
	List *rest = NIL;
	ListCell *cell;

	read->relation = relation;
	read->place = place;
	foreach (cell, propose_key_columns(place->partition))
	{
		if (!needs(read, &relation->uses[lfirst_int(cell)]))
			return NULL;
	}
	foreach (cell, place->sort)
	{
		const ProposePart *part = lfirst(cell);
		const AskedUse *use = part->literal == NULL ? &relation->uses[part->column] : NULL;

		if (rest == NIL && (use == NULL || needs(read, use)))
			read->sort = lappend(read->sort, lfirst(cell));
		else if (use != NULL)
		{
			if (rest == NIL && is_range(use))
				read->range = use;
			else if (use->known.level < 0 && may_lack(use))
				return NULL; /* an item whose sort key lacks a column is not in the index */
			rest = lappend_int(rest, use->column);
		}
	}
	read->gets_item = place->index == 0 && rest == NIL;
	read->in_order = equal(wanted, list_truncate(rest, list_length(wanted)));
	read->backward &= read->in_order;
	if (propose_key_columns(place->partition) == NIL && read->range == NULL &&
		(asked->limit == 0 || asked->order == NIL || !read->in_order))
		return NULL;
	return read;
}

/* Returns whether its key says more than whose collection it is. */
static bool
is_bounded(const AskedRead *read)
{
	return read->gets_item || read->range != NULL || propose_key_columns(read->sort) != NIL;
}

/* What a read is worth: the less it reads, the more. */
static double
worth(const AskedQuery *asked, const AskedRead *read)
{
	const List *columns = propose_key_columns(read->place->partition);
	double rows = rows_by(read->relation->table, columns, false);

	return (read->gets_item ? 1000 : 0) - (columns == NIL ? 500 : 0) +
		   (is_bounded(read) ? 40 : -20 * Min(rows / LARGE / 2, 5)) +
		   (asked->limit != 0 && read->in_order ? 20 : 0) - 2000 * read->level;
}

/* Returns the best read of one of the relations.  make: that may be by a place that is not there yet. */
static AskedRead *
best_read(const AskedQuery *asked, const List *relations, bool make)
{
	AskedRead *best = NULL;
	ListCell *cell;

	CHECK_FOR_INTERRUPTS();
	foreach (cell, relations)
	{
		AskedRelation *relation = lfirst(cell);
		const ProposeEntity *entity = relation->table->entity;
		List *places;
		ListCell *other;

		if (entity == NULL)
			return NULL;
		places = lcons(entity->places[0], list_copy(entity->wanted));
		foreach (other, make ? lappend(places, make_place(asked, relation)) : places)
		{
			ProposePlace *place = lfirst(other);
			AskedRead *read = place != NULL && (make || place->index >= 0)
								  ? read_by(asked, relation, place)
								  : NULL;

			if (read != NULL && (best == NULL || worth(asked, read) > worth(asked, best)))
				best = read;
		}
	}
	return best;
}

/*
 * All reads of a query
 */

/* Adds a read: all columns of what it gives are known. */
static void
take_read(AskedQuery *asked, AskedRead *read)
{
	const ProposeTable *table = read->relation->table;
	double rows = rows_by(table, propose_key_columns(read->place->partition), true);
	bool several = read->each || (!read->gets_item && rows > 1);

	read->level++;
	asked->reads = lappend(asked->reads, read);
	for (int i = 0; i < table->ncolumns; i++)
		tell(&read->relation->uses[i],
			 (AskedKnown){read->level, several, &read->relation->uses[i]});
}

/*
 * Returns whether one read gives the items of one parent, and itself: it is in their collection of
 * the table, in which no others are, or is to be beside the last of them in their index.
 */
static bool
are_together(const AskedQuery *asked, const AskedRead *read, const AskedRead *head, bool make)
{
	const ProposePlace *place = read->place;
	const ProposeForeignKey *foreign = place->foreign;
	const char *collection = propose_first_literal(place->partition);
	List *sorts = propose_key_columns(place->sort);
	int inside = 0;
	ListCell *cell;
	ListCell *other;

	if (!head->gets_item || read->gets_item || foreign == NULL || !foreign->to_key ||
		place->entity == head->place->entity || foreign->parent->entity != head->place->entity ||
		propose_key_columns(read->sort) != NIL)
		return false;
	forboth(cell, foreign->columns, other, foreign->parent_columns)
	{
		if (read->relation->uses[lfirst_int(cell)].known.source !=
			head->relation->uses[lfirst_int(other)].known.source)
			return false;
	}
	foreach (cell, asked->proposal->entities)
	{
		const ProposePlace *main = ((const ProposeEntity *) lfirst(cell))->places[0];

		inside += strcmp(propose_first_literal(main->partition), collection) == 0;
	}
	if (place->index == 0)
		return asked->limit == 0 && read->range == NULL && inside == 2 &&
			   strcmp(propose_first_literal(head->place->partition), collection) == 0;
	/* "~" is behind what sorts, unless that is text */
	if ((sorts != NIL && !is_sorted(&read->relation->uses[linitial_int(sorts)], false)) ||
		(asked->limit != 0 && !read->backward) ||
		(read->range != NULL && (read->range->tests & ASKED_HIGH) != 0))
		return false;
	return make || (place->head != NULL && place->head->index >= 0);
}

/* Leaves out reads of what other ones give, too; make: and makes the places for that. */
static void
put_together(AskedQuery *asked, bool make)
{
	ListCell *cell;

	foreach (cell, asked->reads)
	{
		const AskedRead *head = lfirst(cell);
		ListCell *other = list_head(asked->reads);
		AskedRead *read;

		while (other != NULL && !are_together(asked, lfirst(other), head, make))
			other = lnext(asked->reads, other);
		if (other == NULL)
			continue;
		read = lfirst(other);
		if (read->place->index != 0 && read->place->head == NULL)
			propose_add_head(asked->proposal, read->place, head->place->entity);
		read->head = head->place->entity;
		asked->reads = foreach_delete_current(asked->reads, cell);
	}
}

/* Plans the reads, none if a relation cannot be read; make: and the places for them. */
static void
plan(AskedQuery *asked, bool make)
{
	List *rest = asked->kind == ASKED_READS ? list_copy(asked->relations) : NIL;

	begin(asked);
	while (rest != NIL)
	{
		AskedRead *best = best_read(asked, rest, make);

		if (best == NULL)
		{
			asked->reads = NIL;
			return;
		}
		if (best->place->index != 0)
			best->place->entity->wanted =
				list_append_unique_ptr(best->place->entity->wanted, best->place);
		take_read(asked, best);
		rest = list_delete_ptr(rest, best->relation);
	}
	put_together(asked, make);
}

/* Adds the places that questions need to what entities want. */
void
propose_asked_places(const Proposal *proposal)
{
	ListCell *cell;

	/* a place that is sorted answers questions that want no order, too */
	for (int sorted = 1; sorted >= 0; sorted--)
	{
		foreach (cell, proposal->questions)
		{
			AskedQuery *asked = lfirst(cell);

			if (!sorted || asked->order != NIL)
				plan(asked, true);
		}
	}
}

/*
 * The answer
 */

/*
 * Returns whether there are conditions on its rows that their key does not say.  What ends with a column
 * is not kept from having its upper bound.
 */
static bool
leaves_conditions(const AskedQuery *asked, const AskedRead *read)
{
	const ProposePart *last = llast(read->place->sort);
	List *said =
		list_concat(propose_key_columns(read->place->partition), propose_key_columns(read->sort));
	bool left = asked->filtered;

	for (int i = 0; i < read->relation->table->ncolumns; i++)
	{
		const AskedUse *use = &read->relation->uses[i];

		if (use == read->range)
			left |= last->column == i && (use->tests & ASKED_TEST(BTLessStrategyNumber)) != 0;
		else
			left |= use->tests != 0 && !list_member_int(said, i);
	}
	return left;
}

/* leaves: further conditions decide which of the rows are wanted. */
static void
answer_read(AskedQuery *asked, AskedRead *read, bool leaves)
{
	const ProposeTable *table = read->relation->table;
	List *partition = propose_key_columns(read->place->partition);
	double rows = rows_by(table, partition, true);
	bool sorted = false;
	bool part;
	ListCell *cell;

	foreach (cell, asked->order)
	{
		const AskedUse *by = ((const AskedOrder *) lfirst(cell))->by;

		sorted |= by == NULL || by->relation == read->relation;
		if (by != NULL && by->relation == read->relation && read->in_order && !is_sorted(by, false))
			asked_note(asked, "%s sorts by its bytes", asked_column(by)->name);
	}
	part = asked->limit != 0 && (sorted || list_length(asked->reads) == 1);
	if (part && read->in_order && !leaves)
	{
		read->limit = asked->limit > 0 ? asked->limit : EXAMPLE_LIMIT;
		if (asked->limit < 0)
			asked_note(asked, "Limit is an example");
	}
	else if (rows > LARGE &&
			 ((part && sorted) || (!is_bounded(read) && (asked->computed || leaves))))
	{
		asked->kind = ASKED_VIEWS;
		asked_note(asked, "a collection of %s %s would be read for a part of it",
				   rows < UNKNOWN_ROWS ? psprintf("up to %.0f", rows) : "an unknown number of",
				   read->place->entity->name);
	}
	if (sorted && !read->in_order)
		asked_note(asked, "the reader sorts");
	if (read->head != NULL)
		asked_note(asked, "%s and %s in one collection", read->head->name,
				   read->place->entity->name);
	if (read->each)
		asked_note(asked, "a read of %s for each %s", read->place->entity->name,
				   propose_columns(table, partition));
	asked->each |= read->each;
}

/* Finds the reads that answer a query, when all places are chosen. */
void
asked_answer(AskedQuery *asked)
{
	Bitmapset *levels = NULL;
	bool leaves = false;
	ListCell *cell;

	plan(asked, false);
	if (asked->kind == ASKED_READS && asked->reads == NIL)
	{
		asked->kind = ASKED_VIEWS;
		asked_note(asked, "no key leads from the values to all of its rows");
	}
	foreach (cell, asked->reads)
		leaves |= leaves_conditions(asked, lfirst(cell));
	if (leaves)
		asked_note(asked, "further conditions are the reader's");
	foreach (cell, asked->reads)
	{
		AskedRead *read = lfirst(cell);

		/* those of one level that get items are one BatchGetItem */
		asked->nreads += !read->gets_item || !bms_is_member(read->level, levels);
		if (read->gets_item)
			levels = bms_add_member(levels, read->level);
		else /* who wants the last rows reads more of them, whatever relation the condition is on */
			answer_read(asked, read, asked->limit != 0 ? leaves : leaves_conditions(asked, read));
	}
	if (asked->nreads < list_length(asked->reads))
		asked_note(asked, "one BatchGetItem gets items of several");
	if (asked->computed)
		asked_note(asked, "the reader computes the result");
}
