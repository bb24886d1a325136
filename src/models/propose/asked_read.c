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
is_sorted(const ProposeColumn *column, bool by_bytes)
{
	Oid type = getBaseType(column->value.sql);
	bool is_text = type == TEXTOID || type == VARCHAROID || type == BPCHAROID;

	return propose_can_be_key(column) && (by_bytes || !is_text) &&
		   (column->value.type == ITEM_S || column->width > 0);
}

/* Returns whether a key with the column has much fewer rows than without it. */
static bool
is_useful(const ProposeTable *table, int column)
{
	return propose_can_be_key(&table->columns[column]) &&
		   (table->rows < LARGE || table->columns[column].data.distinct >= FEW_VALUES);
}

static bool
has_bounds(const AskedUse *use)
{
	return use->low != ASKED_NONE || use->high != ASKED_NONE;
}

static bool
is_range(const AskedRelation *relation, int column)
{
	return has_bounds(&relation->uses[column]) &&
		   is_sorted(&relation->table->columns[column], false);
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

static bool
carry(AskedColumn a, AskedColumn b, int from)
{
	const AskedUse *known = &a.relation->uses[a.column];
	AskedUse *use = &b.relation->uses[b.column];

	if (known->level < 0 || use->level >= 0 || b.relation->position < from)
		return false;
	use->level = known->level;
	use->source = known->source;
	use->several = known->several;
	return true;
}

static void
spread(const AskedQuery *asked)
{
	bool changed = true;

	while (changed)
	{
		ListCell *cell;

		CHECK_FOR_INTERRUPTS();
		changed = false;
		foreach (cell, asked->joins)
		{
			const AskedJoin *join = lfirst(cell);

			changed |= carry(join->a, join->b, join->from) || carry(join->b, join->a, join->from);
		}
	}
}

/* Begins with what conditions tell.  Returns false if it is no query of entities alone. */
static bool
begin(AskedQuery *asked)
{
	ListCell *cell;

	if (asked->kind != ASKED_READS || asked->command == CMD_INSERT)
		return false;
	asked->reads = NIL;
	foreach (cell, asked->relations)
	{
		AskedRelation *relation = lfirst(cell);

		relation->done = false;
		if (relation->table == NULL || relation->table->entity == NULL)
			return false;
		for (int i = 0; i < relation->table->ncolumns; i++)
		{
			AskedUse *use = &relation->uses[i];

			use->level = use->equal == ASKED_NONE ? -1 : 0;
			use->source = ++asked->nsources;
			use->several = use->equal == ASKED_ANY_OF;
		}
	}
	spread(asked);
	return true;
}

/*
 * Places
 */

/* Returns the columns by which rows of a relation are to be sorted; *all: that is the whole order. */
static List *
order_columns(const AskedQuery *asked, const AskedRelation *relation, bool *all, bool *backward)
{
	List *columns = NIL;
	ListCell *cell;

	*all = true;
	*backward = false;
	foreach (cell, asked->order)
	{
		const AskedOrder *order = lfirst(cell);
		const AskedColumn *by = &order->by;

		if (by->relation != NULL && by->relation->uses[by->column].level >= 0 &&
			!by->relation->uses[by->column].several)
			continue;
		*backward = columns == NIL ? order->descending : *backward;
		*all &= by->relation == relation && order->descending == *backward &&
				is_sorted(&relation->table->columns[by->column], true);
		if (!*all)
			break;
		columns = lappend_int(columns, by->column);
	}
	return columns;
}

/* Returns the columns that the sort key of a place begins with. */
static List *
sort_columns(const AskedQuery *asked, const AskedRelation *relation)
{
	bool all;
	bool backward;
	List *columns = order_columns(asked, relation, &all, &backward);
	ListCell *cell;

	for (int i = 0; i < relation->table->ncolumns; i++)
	{
		if (is_range(relation, i))
			return columns != NIL && linitial_int(columns) == i ? columns : list_make1_int(i);
	}
	foreach (cell, columns)
	{
		const ProposeColumn *column = &relation->table->columns[lfirst_int(cell)];

		if (!column->required && column->data.filled < 1)
			return NIL;
	}
	return columns;
}

/*
 * Returns the columns of a partition key with the fewest rows: the own key, a foreign key, or another
 * column that is of use.  *foreign: the foreign key.
 */
static List *
partition_columns(const AskedRelation *relation, const ProposeForeignKey **foreign)
{
	const ProposeTable *table = relation->table;
	List *known = NIL;
	List *best = NIL;

	for (int i = 0; i < table->ncolumns; i++)
	{
		if (relation->uses[i].level >= 0)
			known = lappend_int(known, i);
	}
	if (propose_are_in(table->key, known))
		return table->key;
	for (int i = 0; i < table->nforeign + table->ncolumns; i++)
	{
		int column = i - table->nforeign;
		const ProposeForeignKey *key = column < 0 ? &table->foreign[i] : NULL;
		List *columns = key != NULL ? key->columns : list_make1_int(column);

		if ((key != NULL ? key->parent == NULL : !is_useful(table, column)) ||
			!propose_are_in(columns, known) ||
			(best != NIL && rows_by(table, columns, false) >= rows_by(table, best, false)))
			continue;
		best = columns;
		*foreign = key;
	}
	for (int i = 0; i < table->ncolumns && best != NIL; i++)
	{
		if (list_member_int(known, i) && !list_member_int(best, i) &&
			propose_can_be_key(&table->columns[i]) && table->columns[i].data.distinct > 1 &&
			!relation->uses[i].several && rows_by(table, best, false) > LARGE)
		{
			best = lappend_int(list_copy(best), i);
			list_sort(best, list_int_cmp);
			*foreign = NULL;
		}
	}
	return best;
}

/* Returns the place by which a relation is read best; NULL: there is none. */
static ProposePlace *
make_place(const AskedQuery *asked, const AskedRelation *relation)
{
	const ProposeTable *table = relation->table;
	const ProposeForeignKey *foreign = NULL;
	List *columns = partition_columns(relation, &foreign);
	List *sort = sort_columns(asked, relation);
	ProposePlace *place = palloc(sizeof(ProposePlace));

	*place = (ProposePlace){foreign != NULL ? PLACE_PARENT : PLACE_COLUMNS, foreign,
							.entity = table->entity, .index = -1};
	/* all rows in one partition: a range of them is read, or the last ones, whatever they are */
	if (columns == NIL &&
		(sort == NIL || asked->filtered ||
		 (!is_range(relation, linitial_int(sort)) && (!asked->limited || asked->compared))))
		return NULL;
	if (columns == table->key)
	{
		place->purpose = PLACE_OWN;
		place->partition = propose_own_key(asked->proposal, table->entity);
		place->sort = propose_head_key(table->entity);
		return place;
	}
	place->partition = foreign != NULL
						   ? propose_parent_key(asked->proposal, foreign)
						   : propose_columns_key(asked->proposal, table->entity, columns);
	place->sort = propose_child_key(asked->proposal, table->entity, foreign, sort);
	return place;
}

/* Adds the place of a read to those that its entity wants. */
static void
want(const AskedRead *read)
{
	ProposeTable *table = read->relation->table;
	if (read->place == NULL || list_member_ptr(table->entity->wanted, read->place))
		return;
	table->entity->wanted = lappend(table->entity->wanted, read->place);
	propose_mark_key(table, propose_key_columns(read->partition));
	propose_mark_key(table, propose_key_columns(read->place->sort));
}

/*
 * The read of one relation
 */

/* Notes whether the items come in the order that the query wants. */
static void
take_order(const AskedQuery *asked, AskedRead *read, const ProposeKey *sort)
{
	List *wanted = order_columns(asked, read->relation, &read->in_order, &read->backward);
	int n = 0;

	for (int i = list_length(read->sort); i < list_length(sort) && n < list_length(wanted); i++)
	{
		const ProposePart *part = list_nth(sort, i);

		if (part->literal == NULL)
			read->in_order &= part->column == list_nth_int(wanted, n++);
	}
	read->in_order &= n == list_length(wanted);
	read->backward &= read->in_order;
}

/* Returns the read by a place, or by the table's key; NULL: a column is not known. */
static AskedRead *
read_by(const AskedQuery *asked, AskedRelation *relation, ProposePlace *place)
{
	const ProposeEntity *entity = relation->table->entity;
	ProposeKey *partition = place == NULL ? entity->partition : place->partition;
	ProposeKey *sort = place == NULL ? entity->sort : place->sort;
	AskedRead *read = palloc0(sizeof(AskedRead));
	ListCell *cell;

	*read = (AskedRead){relation, entity, place, partition, .range = -1};
	foreach (cell, list_concat_copy(partition, sort))
	{
		ProposePart *part = lfirst(cell);
		const AskedUse *use = part->literal != NULL ? NULL : &relation->uses[part->column];
		bool in_partition = foreach_current_index(cell) < list_length(partition);

		if (use != NULL && use->level < 0 && in_partition)
			return NULL;
		if (use != NULL && use->level < 0)
		{
			read->range = is_range(relation, part->column) ? part->column : -1;
			break;
		}
		if (use != NULL)
		{
			read->level = Max(read->level, use->level);
			read->each |= use->level > 0 && use->several;
		}
		if (!in_partition)
			read->sort = lappend(read->sort, part);
	}
	/* an item whose sort key lacks a column is not in the index */
	foreach (cell, propose_key_columns(sort))
	{
		int i = lfirst_int(cell);
		const ProposeColumn *column = &relation->table->columns[i];

		if (!column->required && column->data.filled < 1 && i != read->range &&
			relation->uses[i].level < 0)
			return NULL;
	}
	read->gets_item = place == NULL && list_length(read->sort) == list_length(sort);
	take_order(asked, read, sort);
	/* a collection of all rows is never read as a whole */
	return propose_key_columns(partition) != NIL || read->range >= 0 ||
				   (asked->limited && asked->order != NIL && read->in_order)
			   ? read
			   : NULL;
}

/* Returns whether its key says more than whose collection it is. */
static bool
is_bounded(const AskedRead *read)
{
	return read->gets_item || read->range >= 0 || propose_key_columns(read->sort) != NIL;
}

/* What a read is worth: the less it reads, the more. */
static double
worth(const AskedQuery *asked, const AskedRead *read)
{
	const List *columns = propose_key_columns(read->partition);
	double rows = rows_by(read->relation->table, columns, false);

	return (read->gets_item ? 1000 : 0) - (columns == NIL ? 500 : 0) +
		   (is_bounded(read) ? 40 : -20 * Min(rows / LARGE / 2, 5)) +
		   (asked->limited && asked->order != NIL && read->in_order ? 20 : 0) - 2000 * read->level;
}

static AskedRead *
better(const AskedQuery *asked, AskedRead *a, AskedRead *b)
{
	if (a == NULL || b == NULL)
		return a == NULL ? b : a;
	return worth(asked, b) > worth(asked, a) ? b : a;
}

/* make: by a place that is not there yet, if that is better. */
static AskedRead *
best_read(const AskedQuery *asked, AskedRelation *relation, bool make)
{
	AskedRead *best = read_by(asked, relation, NULL);
	ProposePlace *made = make ? make_place(asked, relation) : NULL;
	ListCell *cell;

	foreach (cell, relation->table->entity->wanted)
	{
		ProposePlace *place = lfirst(cell);

		if (make || place->index >= 0)
			best = better(asked, best, read_by(asked, relation, place));
	}
	return made == NULL ? best : better(asked, best, read_by(asked, relation, made));
}

/*
 * All reads of a query
 */

/* Adds a read: all columns of what it gives are known. */
static void
take_read(AskedQuery *asked, AskedRead *read)
{
	const ProposeTable *table = read->relation->table;
	bool one = read->gets_item || rows_by(table, propose_key_columns(read->partition), true) <= 1;

	read->level++;
	read->relation->done = true;
	asked->reads = lappend(asked->reads, read);
	for (int i = 0; i < table->ncolumns; i++)
	{
		AskedUse *use = &read->relation->uses[i];

		use->several = use->level < 0 ? read->each || !one : use->several;
		use->level = use->level < 0 ? read->level : use->level;
	}
	spread(asked);
}

/*
 * Returns whether one read gives the items of one parent, and itself: it is in their collection of
 * the table, in which no others are, or is to be beside the last of them in their index.
 */
static bool
are_together(const AskedQuery *asked, const AskedRead *read, const AskedRead *head, bool make)
{
	const ProposePlace *place = read->place;
	const ProposeForeignKey *foreign = place == NULL ? read->entity->owner : place->foreign;
	int inside = 0;
	ListCell *cell;

	if (!head->gets_item || read->gets_item || read->level != head->level || read->each ||
		head->each || read->entity == head->entity || foreign == NULL || !foreign->to_key ||
		foreign->parent->entity != head->entity || propose_key_columns(read->sort) != NIL)
		return false;
	/* "~" is behind what sorts, unless that is text */
	if (place != NULL && list_length(place->sort) > 1 &&
		!is_sorted(&read->relation->table->columns[((ProposePart *) lsecond(place->sort))->column],
				   false))
		return false;
	for (int i = 0; i < list_length(foreign->columns); i++)
	{
		if (read->relation->uses[list_nth_int(foreign->columns, i)].source !=
			head->relation->uses[list_nth_int(foreign->parent_columns, i)].source)
			return false;
	}
	foreach (cell, asked->proposal->entities)
		inside += strcmp(propose_first_literal(((const ProposeEntity *) lfirst(cell))->partition),
						 propose_first_literal(read->partition)) == 0;
	if (place == NULL)
		return !make && !asked->limited && read->range < 0 && inside == 2;
	if ((asked->limited && !read->backward) ||
		(read->range >= 0 && read->relation->uses[read->range].high != ASKED_NONE))
		return false;
	return make ? place->head == NULL : place->head != NULL && place->head->index >= 0;
}

static void
put_together(AskedQuery *asked, bool make)
{
	ListCell *cell;

	foreach (cell, asked->reads)
	{
		const AskedRead *head = lfirst(cell);
		AskedRead *read = NULL;
		ListCell *other;

		foreach (other, asked->reads)
		{
			if (are_together(asked, lfirst(other), head, make))
				read = lfirst(other);
		}
		if (read != NULL && make)
			propose_add_head(asked->proposal, read->place, head->relation->table->entity);
		if (read == NULL || make)
			continue;
		read->head = head->entity;
		asked->reads = foreach_delete_current(asked->reads, cell);
	}
}

/* Plans the reads, none if a relation cannot be read; make: and the places for them. */
static void
plan(AskedQuery *asked, bool make)
{
	bool more = begin(asked);

	while (more)
	{
		AskedRead *best = NULL;
		ListCell *cell;

		CHECK_FOR_INTERRUPTS();
		more = false;
		foreach (cell, asked->relations)
		{
			AskedRelation *relation = lfirst(cell);

			if (!relation->done)
				best = better(asked, best, best_read(asked, relation, make));
			more |= !relation->done;
		}
		if (more && best == NULL)
		{
			asked->reads = NIL;
			return;
		}
		if (more && make)
			want(best);
		if (more)
			take_read(asked, best);
	}
	put_together(asked, make);
}

/* Adds the places that questions need to what entities want. */
void
propose_asked_places(const Proposal *proposal)
{
	/* a place that is sorted answers questions that want no order, too */
	for (int pass = 0; pass < 2; pass++)
	{
		ListCell *cell;

		foreach (cell, proposal->questions)
		{
			if (pass > 0 || ((const AskedQuery *) lfirst(cell))->order != NIL)
				plan(lfirst(cell), true);
		}
	}
}

/*
 * The answer
 */

#define note(...) (asked->notes = lappend(asked->notes, psprintf(__VA_ARGS__)))

/*
 * Returns whether there are conditions on its rows that their key does not say.  What ends with a column
 * is not kept from having its upper bound.
 */
static bool
leaves_conditions(const AskedQuery *asked, const AskedRead *read)
{
	const ProposeKey *sort = read->place == NULL ? read->entity->sort : read->place->sort;
	bool left = asked->filtered;

	for (int i = 0; i < read->relation->table->ncolumns; i++)
	{
		const AskedUse *use = &read->relation->uses[i];

		if (list_member_int(propose_key_columns(read->partition), i) ||
			list_member_int(propose_key_columns(read->sort), i))
			continue;
		left |= i == read->range
					? use->high == ASKED_BELOW && ((ProposePart *) llast(sort))->column == i
					: use->equal != ASKED_NONE || has_bounds(use);
	}
	return left;
}

static void
answer_read(AskedQuery *asked, AskedRead *read)
{
	const ProposeTable *table = read->relation->table;
	double rows = rows_by(table, propose_key_columns(read->partition), true);
	bool sorted = false;
	bool leaves = leaves_conditions(asked, read);
	bool part;
	ListCell *cell;

	if (leaves)
		note("further conditions are the reader's");
	if (read->gets_item)
		return;
	foreach (cell, asked->order)
	{
		const AskedColumn *by = &((const AskedOrder *) lfirst(cell))->by;

		sorted |= by->relation == NULL || by->relation == read->relation;
		if (by->relation == read->relation && read->in_order &&
			!is_sorted(&table->columns[by->column], false))
			note("%s sorts by its bytes", table->columns[by->column].name);
	}
	part = asked->limited && (sorted || list_length(asked->reads) == 1);
	/* who wants the last rows reads more of them, whatever relation the condition is on */
	foreach (cell, asked->limited ? asked->reads : NIL)
		leaves |= leaves_conditions(asked, lfirst(cell));
	if (rows > LARGE && (part && sorted ? !read->in_order || leaves
										: !is_bounded(read) && (asked->computed || leaves)))
	{
		asked->kind = ASKED_VIEWS;
		note("a collection of %s %s would be read for a part of it",
			 rows < UNKNOWN_ROWS ? psprintf("up to %.0f", rows) : "an unknown number of",
			 read->entity->name);
	}
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (list_member_int(propose_key_columns(read->partition), i) &&
			read->relation->uses[i].equal == ASKED_ANY_OF)
			note("a read for each %s", table->columns[i].name);
	}
	if (!leaves && part && (read->in_order || !sorted))
		read->limit = asked->limit > 0 ? asked->limit : EXAMPLE_LIMIT;
	if (read->limit > 0 && asked->limit == 0)
		note("Limit is an example");
	if (sorted && !read->in_order)
		note("the reader sorts");
	if (read->head != NULL)
		note("%s and %s in one collection", read->head->name, read->entity->name);
	if (read->each)
		note("a read of %s for each row found before", read->entity->name);
	asked->each |= read->each;
}

/* Finds the reads that answer a query, when all places are chosen. */
void
asked_answer(AskedQuery *asked)
{
	Bitmapset *levels = NULL;
	ListCell *cell;

	plan(asked, false);
	foreach (cell, asked->reads)
	{
		AskedRead *read = lfirst(cell);

		answer_read(asked, read);
		/* those of one level that get items are one BatchGetItem */
		asked->nreads += !read->gets_item || !bms_is_member(read->level, levels);
		if (read->gets_item)
			levels = bms_add_member(levels, read->level);
	}
	if (asked->nreads < list_length(asked->reads))
		note("one BatchGetItem gets items of several");
	if (asked->computed)
		note("the reader computes the result");
	if (asked->kind != ASKED_READS || asked->reads != NIL || asked->command == CMD_INSERT)
		return;
	asked->kind = ASKED_VIEWS;
	asked->problem = "no key leads from the values to all of its rows";
}
