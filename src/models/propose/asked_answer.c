/*
 * asked_answer.c
 *	  What of the proposed table answers a query.
 *
 * Columns that a query says to be equal are of one class, and a class is known if one of its columns
 * is compared with a constant or a parameter.  A collection answers the query if the items of all
 * its relations are in it, with a partition key of the same known classes.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "models/propose/asked.h"

typedef enum Known
{
	NOT_KNOWN,
	KNOWN_LIST, /* it is one of several values */
	KNOWN_VALUE
} Known;

typedef struct Reading
{
	const Proposal *proposal;
	const AskedQuery *asked;
	int n; /* relations */
	ProposeTable **tables;
	int *into; /* the relation that refers to it and has what is needed of it; -1: it is read */
	List **copies; /* what that lacks: positions of columns */
	int *first; /* by the relation: of its columns among all */
	int *classes; /* by the column: another one of its class, or itself */
	Known *known; /* by the class */
} Reading;

static bool
is_dropped(const Reading *r, int relation)
{
	return r->into[relation] >= 0;
}

static void
drop_none(Reading *r)
{
	for (int i = 0; i < r->n; i++)
	{
		r->into[i] = -1;
		r->copies[i] = NIL;
	}
}

/*
 * Classes of equal columns
 */

static int
class_of(const Reading *r, int relation, int position)
{
	int i = r->first[relation] + position;

	while (r->classes[i] != i)
		i = r->classes[i];
	return i;
}

/* Returns the class of a column; -1: the proposal does not have the column. */
static int
find_class(const Reading *r, AskedColumn column)
{
	int position = propose_position(r->tables[column.relation], column.attnum);

	return position < 0 ? -1 : class_of(r, column.relation, position);
}

static Known
known(const Reading *r, int relation, int position)
{
	return r->known[class_of(r, relation, position)];
}

static void
set_classes(Reading *r)
{
	int total = 0;
	ListCell *cell;

	for (int i = 0; i < r->n; i++)
	{
		r->first[i] = total;
		total += r->tables[i]->ncolumns;
	}
	r->classes = palloc(total * sizeof(int));
	r->known = palloc0(total * sizeof(Known));
	for (int i = 0; i < total; i++)
		r->classes[i] = i;
	foreach (cell, r->asked->equalities)
	{
		const AskedEquality *equality = lfirst(cell);
		int a = find_class(r, equality->a);
		int b = find_class(r, equality->b);

		if (a >= 0 && b >= 0)
			r->classes[a] = b;
	}
	foreach (cell, r->asked->bounds)
	{
		const AskedBound *bound = lfirst(cell);
		int class = find_class(r, bound->column);

		if (class >= 0 && bound->test == ASKED_EQUAL)
			r->known[class] = KNOWN_VALUE;
		else if (class >= 0 && bound->test == ASKED_ANY_OF)
			r->known[class] = Max(r->known[class], KNOWN_LIST);
	}
}

/*
 * Collections
 */

static ProposeKey *
partition_at(const ProposeEntity *entity, int place)
{
	if (place < 0)
		return entity->partition;
	return entity->places[place] == NULL ? NIL : entity->places[place]->partition;
}

static ProposeKey *
sort_at(const ProposeEntity *entity, int place)
{
	if (place < 0)
		return entity->sort;
	return entity->places[place] == NULL ? NIL : entity->places[place]->sort;
}

/* Returns the partition key with classes in the place of columns; NULL if one is not known. */
static char *
known_partition(const Reading *r, int relation, int place)
{
	ProposeKey *key = partition_at(r->tables[relation]->entity, place);
	StringInfoData text;
	ListCell *cell;

	if (key == NIL)
		return NULL;
	initStringInfo(&text);
	foreach (cell, key)
	{
		const ProposePart *part = lfirst(cell);

		if (part->literal != NULL)
			appendStringInfoString(&text, part->literal);
		else if (known(r, relation, part->column) != NOT_KNOWN)
			appendStringInfo(&text, "<%d>", class_of(r, relation, part->column));
		else
			return NULL;
	}
	return text.data;
}

static const char *
first_literal(const ProposeKey *key)
{
	const ProposePart *part = key == NIL ? NULL : linitial(key);

	return part == NULL || part->literal == NULL ? "" : part->literal;
}

/* Returns whether a Query also gives items of entities that are not wanted. */
static bool
has_others(const Reading *r, const AskedRead *read)
{
	const char *partition = first_literal(read->partition);
	const char *sort = first_literal(read->sort);
	ListCell *cell;

	foreach (cell, r->proposal->entities)
	{
		const ProposeEntity *entity = lfirst(cell);
		const char *other = first_literal(sort_at(entity, read->place));

		if (list_member_ptr(read->entities, entity) ||
			strcmp(first_literal(partition_at(entity, read->place)), partition) != 0)
			continue;
		if (strncmp(other, sort, Min(strlen(sort), strlen(other))) == 0)
			return true;
	}
	return false;
}

/*
 * One relation: how much of the sort key is known
 */

static void
take_sort_key(const Reading *r, int relation, AskedRead *read)
{
	ProposeKey *sort = sort_at(r->tables[relation]->entity, read->place);
	ListCell *cell;

	foreach (cell, sort)
	{
		ProposePart *part = lfirst(cell);

		if (part->literal == NULL && known(r, relation, part->column) == NOT_KNOWN)
			break;
		read->sort = lappend(read->sort, part);
		read->nsort += part->literal == NULL ? 1 : 0;
	}
	read->whole = list_length(read->sort) == list_length(sort);
}

/* Returns whether keys with the part are in the order of the column's values. */
static bool
is_sorted(const ProposeColumn *column, const ProposePart *part)
{
	switch (getBaseType(column->value.sql))
	{
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
			return column->value.type == ITEM_S;
		default:
			return column->value.type == ITEM_N && part->format != NULL;
	}
}

/* Notes whether the items come in the order that the query wants. */
static void
take_order(const Reading *r, int relation, AskedRead *read)
{
	const ProposeTable *table = r->tables[relation];
	ProposeKey *sort = sort_at(table->entity, read->place);
	int next = list_length(read->sort);
	ListCell *cell;

	read->in_order = !r->asked->sorted;
	foreach (cell, r->asked->order)
	{
		const AskedOrder *order = lfirst(cell);
		int class = find_class(r, order->column);
		const ProposePart *part = NULL;

		if (class >= 0 && r->known[class] == KNOWN_VALUE)
			continue;
		while (next < list_length(sort) && (part == NULL || part->literal != NULL))
			part = list_nth(sort, next++);
		if (part == NULL || part->literal != NULL || class_of(r, relation, part->column) != class ||
			!is_sorted(&table->columns[part->column], part) ||
			(foreach_current_index(cell) > 0 && order->descending != read->backward))
			read->in_order = false;
		read->backward = order->descending;
	}
	read->backward = read->backward && read->in_order;
}

/* The attribute can be compared as the column is. */
static bool
can_filter(const ProposeColumn *column, AskedTest test)
{
	if (column->sql != NULL || test == ASKED_ANY_OF)
		return false;
	if (test == ASKED_EQUAL)
		return column->value.type == ITEM_S || column->value.type == ITEM_N ||
			   column->value.type == ITEM_BOOL;
	switch (getBaseType(column->value.sql))
	{
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return true;
		default:
			return column->value.type == ITEM_N;
	}
}

static bool
key_has_class(const Reading *r, int relation, const ProposeKey *key, int class)
{
	ListCell *cell;

	foreach (cell, key)
	{
		const ProposePart *part = lfirst(cell);

		if (part->literal == NULL && class_of(r, relation, part->column) == class)
			return true;
	}
	return false;
}

/* Returns whether a key says that a column is equal to a value, or one of several. */
static bool
key_says(const Reading *r, int relation, const AskedRead *read, const AskedBound *bound)
{
	int class = find_class(r, bound->column);

	return (bound->test == ASKED_EQUAL || bound->test == ASKED_ANY_OF) &&
		   (key_has_class(r, relation, read->partition, class) ||
			key_has_class(r, relation, read->sort, class));
}

/*
 * Adds the conditions that the key does not say, if the items are of one relation.  Returns false
 * if the read does not say all of them.
 */
static bool
take_filters(const Reading *r, int relation, bool alone, AskedRead *read)
{
	const ProposeTable *table = r->tables[relation];
	bool all = !r->asked->filtered;
	ListCell *cell;

	foreach (cell, r->asked->bounds)
	{
		const AskedBound *bound = lfirst(cell);
		int position = propose_position(table, bound->column.attnum);
		AskedFilter *filter;

		if (key_says(r, relation, read, bound))
			continue;
		if (!alone || bound->column.relation != relation || position < 0 ||
			!can_filter(&table->columns[position], bound->test))
		{
			all = false;
			continue;
		}
		filter = palloc(sizeof(AskedFilter));
		*filter = (AskedFilter){&table->columns[position], bound->test};
		read->filters = lappend(read->filters, filter);
	}
	return all;
}

/*
 * The best read
 */

static int
left_relations(const Reading *r, int *one)
{
	int left = 0;

	for (int i = 0; i < r->n; i++)
	{
		if (is_dropped(r, i))
			continue;
		if (left++ == 0)
			*one = i;
	}
	return left;
}

/* Returns a read of all relations in one collection of this place; NULL: there is none. */
static AskedRead *
read_at(const Reading *r, int place)
{
	AskedRead *read = palloc0(sizeof(AskedRead));
	char *partition = NULL;
	int relation = -1;

	read->place = place;
	for (int i = 0; i < r->n; i++)
	{
		char *other = is_dropped(r, i) ? NULL : known_partition(r, i, place);

		if (is_dropped(r, i))
			continue;
		if (other == NULL || (partition != NULL && strcmp(partition, other) != 0))
			return NULL;
		partition = other;
		if (relation < 0)
			relation = i;
		read->entities = list_append_unique_ptr(read->entities, r->tables[i]->entity);
	}
	read->partition = partition_at(r->tables[relation]->entity, place);
	if (left_relations(r, &relation) == 1)
	{
		take_sort_key(r, relation, read);
		take_order(r, relation, read);
	}
	else
		read->in_order = r->asked->order == NIL && !r->asked->sorted;
	read->others = !read->whole && has_others(r, read);
	return read;
}

static int
value_of(const AskedRead *read)
{
	return (read->whole && read->place < 0 ? 1000 : 0) + 10 * read->nsort +
		   (read->in_order ? 5 : 0) + (read->others ? 0 : 1);
}

static AskedRead *
best_read(const Reading *r)
{
	AskedRead *best = NULL;

	for (int place = -1; place < r->proposal->nindexes; place++)
	{
		AskedRead *read = read_at(r, place);

		if (read != NULL && (best == NULL || value_of(read) > value_of(best)))
			best = read;
	}
	return best;
}

static char *
join_texts(const List *texts, const char *between)
{
	StringInfoData text;
	ListCell *cell;

	initStringInfo(&text);
	foreach (cell, texts)
		appendStringInfo(&text, "%s%s", text.len > 0 ? between : "", (char *) lfirst(cell));
	return text.data;
}

/*
 * Rows that others refer to
 */

/* Returns the relation whose items have what is needed of it: itself, if it is not dropped. */
static int
into(const Reading *r, int relation)
{
	while (is_dropped(r, relation))
		relation = r->into[relation];
	return relation;
}

static bool
is_joined(const Reading *r, int child, const ProposeForeignKey *foreign, int parent)
{
	if (foreign->parent != r->tables[parent] || child == parent)
		return false;
	for (int i = 0; i < foreign->ncolumns; i++)
	{
		if (class_of(r, child, foreign->columns[i]) !=
			class_of(r, parent, foreign->parent_columns[i]))
			return false;
	}
	return true;
}

static bool
refers_to(const ProposeForeignKey *foreign, int position)
{
	for (int i = 0; i < foreign->ncolumns; i++)
	{
		if (foreign->parent_columns[i] == position)
			return true;
	}
	return false;
}

/* Returns the columns that the query uses of a parent, and that the rows that refer to it lack. */
static List *
missing_columns(const Reading *r, const ProposeForeignKey *foreign, int parent)
{
	const ProposeTable *table = r->tables[parent];
	const AskedRelation *relation = list_nth(r->asked->relations, parent);
	List *missing = NIL;

	for (int i = 0; i < table->ncolumns; i++)
	{
		if ((bms_is_member(0, relation->used) ||
			 bms_is_member(table->columns[i].attnum, relation->used)) &&
			!refers_to(foreign, i))
			missing = lappend_int(missing, i);
	}
	return missing;
}

/* Returns a foreign key of another relation's rows, to the relation; NULL: there is none. */
static const ProposeForeignKey *
referring(const Reading *r, int parent, int *child)
{
	for (*child = 0; *child < r->n; (*child)++)
	{
		const ProposeTable *table = r->tables[*child];

		if (into(r, *child) == parent)
			continue;
		for (int i = 0; i < table->nforeign; i++)
		{
			if (is_joined(r, *child, &table->foreign[i], parent))
				return &table->foreign[i];
		}
	}
	return NULL;
}

/* Does without a relation, if the rows that refer to it have copies of at most so many columns. */
static bool
drop_one(Reading *r, int max_copies)
{
	for (int parent = 0; parent < r->n; parent++)
	{
		int child;
		const ProposeForeignKey *foreign;
		List *missing;

		if (is_dropped(r, parent) || parent == r->asked->target)
			continue;
		foreign = referring(r, parent, &child);
		if (foreign == NULL)
			continue;
		missing = missing_columns(r, foreign, parent);
		if (list_length(missing) > max_copies)
			continue;
		r->into[parent] = child;
		r->copies[parent] = missing;
		return true;
	}
	return false;
}

/* Returns whether a column of a relation only leads to another one that is dropped. */
static bool
only_leads(const Reading *r, int relation, int position)
{
	const ProposeTable *table = r->tables[relation];

	for (int i = 0; i < table->nforeign; i++)
	{
		const ProposeForeignKey *foreign = &table->foreign[i];

		for (int k = 0; k < foreign->ncolumns; k++)
		{
			for (int parent = 0; foreign->columns[k] == position && parent < r->n; parent++)
			{
				if (r->into[parent] == relation && is_joined(r, relation, foreign, parent))
					return true;
			}
		}
	}
	return false;
}

/* Returns the copies that dropped relations need: "city.name in customer". */
static char *
copies_text(const Reading *r)
{
	List *texts = NIL;

	for (int parent = 0; parent < r->n; parent++)
	{
		List *names = NIL;
		ListCell *cell;

		foreach (cell, r->copies[parent])
		{
			if (!only_leads(r, parent, lfirst_int(cell)))
				names = lappend(names, psprintf("%s.%s", r->tables[parent]->name,
												r->tables[parent]->columns[lfirst_int(cell)].name));
		}
		if (names != NIL)
			texts = lappend(texts, psprintf("%s in %s", join_texts(names, ", "),
											r->tables[into(r, parent)]->name));
	}
	return join_texts(texts, ", ");
}

/* Returns the read, after dropping as few relations as need be; NULL: there is none. */
static AskedRead *
read_with_copies(Reading *r, int max_copies)
{
	AskedRead *read = best_read(r);

	while (read == NULL && drop_one(r, max_copies))
	{
		CHECK_FOR_INTERRUPTS();
		read = best_read(r);
	}
	return read;
}

/*
 * Another index
 */

static List *
known_columns(const Reading *r, int relation)
{
	const ProposeTable *table = r->tables[relation];
	List *names = NIL;

	for (int i = 0; i < table->ncolumns; i++)
	{
		if (known(r, relation, i) != NOT_KNOWN)
			names = lappend(names, (void *) table->columns[i].name);
	}
	return names;
}

static int
column_of_class(const Reading *r, int relation, int class)
{
	for (int i = 0; i < r->tables[relation]->ncolumns; i++)
	{
		if (class_of(r, relation, i) == class)
			return i;
	}
	return -1;
}

static bool
has_parent(const Reading *r, int child, const bool *has, int *parent)
{
	for (*parent = 0; *parent < r->n; (*parent)++)
	{
		for (int i = 0; has[*parent] && i < r->tables[child]->nforeign; i++)
		{
			if (is_joined(r, child, &r->tables[child]->foreign[i], *parent))
				return true;
		}
	}
	return false;
}

/*
 * Returns for all relations the partition keys of one known class.  Rows that lack the column may
 * have a copy of it from a row that they refer to.  NIL: a relation cannot have it.
 */
static List *
index_by_class(const Reading *r, int class)
{
	bool *has = palloc0(r->n * sizeof(bool));
	List *keys = NIL;
	bool changed = true;

	for (int i = 0; i < r->n; i++)
	{
		int column = column_of_class(r, i, class);

		has[i] = column >= 0;
		if (has[i])
			keys = lappend(
				keys, psprintf("%s.%s", r->tables[i]->name, r->tables[i]->columns[column].name));
	}
	while (changed)
	{
		changed = false;
		for (int i = 0; i < r->n; i++)
		{
			int parent;

			if (has[i] || !has_parent(r, i, has, &parent))
				continue;
			has[i] = changed = true;
			keys = lappend(keys, psprintf("a copy of it in %s", r->tables[i]->name));
		}
	}
	return list_length(keys) == r->n ? keys : NIL;
}

/* Returns what the sort key of the index would begin with. */
static char *
index_order(const Reading *r)
{
	List *names = NIL;
	ListCell *cell;

	foreach (cell, r->asked->bounds)
	{
		const AskedBound *bound = lfirst(cell);
		int position = propose_position(r->tables[bound->column.relation], bound->column.attnum);

		if (bound->test != ASKED_EQUAL && bound->test != ASKED_ANY_OF && position >= 0)
			return psprintf(", sorted by %s",
							r->tables[bound->column.relation]->columns[position].name);
	}
	foreach (cell, r->asked->order)
	{
		const AskedOrder *order = lfirst(cell);
		int position = propose_position(r->tables[order->column.relation], order->column.attnum);

		if (position >= 0)
			names =
				lappend(names, (void *) r->tables[order->column.relation]->columns[position].name);
	}
	return names == NIL ? "" : psprintf(", sorted by %s", join_texts(names, ", "));
}

/* Returns an index that would answer it, as a note; NULL: there is none. */
static char *
other_index(const Reading *r)
{
	if (r->n == 1)
	{
		List *names = known_columns(r, 0);

		if (names == NIL)
			return NULL;
		return psprintf("by %s of %s%s", join_texts(names, ", "), r->tables[0]->name,
						index_order(r));
	}
	for (int i = 0; i < r->n; i++)
	{
		for (int k = 0; k < r->tables[i]->ncolumns; k++)
		{
			int class = r->first[i] + k;
			List *keys = NIL;

			CHECK_FOR_INTERRUPTS();
			if (r->classes[class] == class && r->known[class] != NOT_KNOWN)
				keys = index_by_class(r, class);
			if (keys != NIL)
				return psprintf("by %s%s", join_texts(keys, " and "), index_order(r));
		}
	}
	return NULL;
}

/*
 * Joins of views, which look up the partners of each row by an index
 */

static bool
is_given(const Reading *r, int relation, const ProposeKey *key, const bool *given)
{
	bool columns = false;
	ListCell *cell;

	foreach (cell, key)
	{
		const ProposePart *part = lfirst(cell);

		if (part->literal == NULL && !given[class_of(r, relation, part->column)])
			return false;
		columns |= part->literal == NULL;
	}
	return columns;
}

/* Returns what given columns lead to a relation's rows by, as "book by GSI1"; NULL: nothing. */
static char *
asked_lookup(const Reading *r, int relation, const bool *given)
{
	const ProposeEntity *entity = r->tables[relation]->entity;

	if (is_given(r, relation, entity->partition, given))
		return psprintf("%s by its key", entity->view);
	for (int i = 0; i < r->proposal->nindexes; i++)
	{
		if (entity->places[i] == NULL ||
			!is_given(r, relation, entity->places[i]->partition, given))
			continue;
		return psprintf("%s by %s",
						propose_place_has_all(entity, i) ? entity->view : entity->index_views[i],
						propose_index_name(r->proposal, i));
	}
	return NULL;
}

/*
 * Returns how a join of views finds all rows from those that are given, or that it has found:
 * "author by its key, book by GSI1"; NULL: it reads all of some entity.
 */
static char *
lookups_of_views(const Reading *r)
{
	int last = r->n - 1;
	int total = r->first[last] + r->tables[last]->ncolumns;
	bool *given = palloc0((total + 1) * sizeof(bool));
	Bitmapset *left = bms_add_range(NULL, 0, last);
	List *texts = NIL;
	int i = -1;

	for (int class = 0; class < total; class ++)
		given[class] = r->known[class] != NOT_KNOWN;
	while ((i = bms_next_member(left, i)) >= 0)
	{
		char *text = asked_lookup(r, i, given);

		CHECK_FOR_INTERRUPTS();
		if (text == NULL)
			continue;
		texts = lappend(texts, text);
		left = bms_del_member(left, i);
		for (int k = 0; k < r->tables[i]->ncolumns; k++)
			given[class_of(r, i, k)] = true;
		i = -1;
	}
	return bms_is_empty(left) ? join_texts(texts, ", ") : NULL;
}

/*
 * The answer
 */

static AskedAnswer *
make_answer(AskedKind kind, const AskedRead *read, List *notes)
{
	AskedAnswer *answer = palloc(sizeof(AskedAnswer));

	*answer = (AskedAnswer){kind, read, notes};
	return answer;
}

/* Returns whether the query may be about sources: it names one, or a view. */
static bool
mentions_source(const Proposal *proposal, const AskedQuery *asked)
{
	ListCell *cell;

	foreach (cell, asked->mentioned)
	{
		if (propose_source(proposal, lfirst_oid(cell)) != NULL ||
			get_rel_relkind(lfirst_oid(cell)) == RELKIND_VIEW)
			return true;
	}
	return false;
}

/* Finds the table of each relation.  NULL, or the answer if one is no source. */
static AskedAnswer *
find_tables(Reading *r)
{
	int found = 0;
	const char *other = NULL;
	const char *keyless = NULL;

	for (int i = 0; i < r->n; i++)
	{
		Oid relid = ((AskedRelation *) list_nth(r->asked->relations, i))->relid;

		r->tables[i] = propose_source(r->proposal, relid);
		if (r->tables[i] == NULL)
			other = get_rel_name(relid);
		else
			found++;
		if (r->tables[i] != NULL && r->tables[i]->entity == NULL)
			keyless = r->tables[i]->name;
	}
	if (found == 0)
		return make_answer(ANSWER_ELSEWHERE, NULL, NIL);
	if (found < r->n)
		return make_answer(ANSWER_VIEWS, NULL,
						   list_make1(psprintf("%s is none of the sources",
											   other == NULL ? "a relation" : other)));
	if (keyless != NULL)
		return make_answer(ANSWER_VIEWS, NULL, list_make1(psprintf("%s has no key", keyless)));
	return NULL;
}

static bool
key_has_list(const Reading *r, int relation, const ProposeKey *key)
{
	ListCell *cell;

	foreach (cell, key)
	{
		const ProposePart *part = lfirst(cell);

		if (part->literal == NULL && known(r, relation, part->column) == KNOWN_LIST)
			return true;
	}
	return false;
}

/* Notes what the application does with what it reads. */
static List *
notes_of_read(const Reading *r, AskedRead *read)
{
	int relation = -1;
	int left = left_relations(r, &relation);
	List *notes = NIL;
	bool all = take_filters(r, relation, left == 1, read);

	if (key_has_list(r, relation, read->partition) || key_has_list(r, relation, read->sort))
		notes = lappend(notes, "one read for each value");
	if (left > 1)
		notes = lappend(notes, "all of them in one collection");
	if (read->whole && read->place < 0 && read->filters != NIL)
		all = false;
	if (!all)
		notes = lappend(notes, "further conditions are the reader's");
	if (r->asked->computed)
		notes = lappend(notes, "the reader computes the result");
	else if (!read->in_order && (read->place >= 0 || !read->whole))
		notes = lappend(notes, "the reader sorts");
	return notes;
}

static AskedAnswer *
answer_write(const Reading *r, AskedRead *read)
{
	const ProposeEntity *entity = r->tables[r->asked->target]->entity;
	const ProposeTable *table = entity->table;
	List *notes = NIL;
	int i = -1;

	if (r->asked->command == CMD_INSERT)
		return make_answer(ANSWER_WRITE, NULL,
						   list_make1(psprintf("dyn_put_entity of %s", entity->name)));
	notes = list_make1(psprintf(r->asked->command == CMD_DELETE ? "dyn_delete_entity of %s"
																: "dyn_update_entity of %s",
								entity->name));
	if (!read->whole || read->place >= 0)
		notes = lappend(notes, "for each item that is read");
	while ((i = bms_next_member(r->asked->assigned, i)) >= 0)
	{
		int position = propose_position(table, (AttrNumber) i);

		if (position >= 0 && (propose_key_has(entity->partition, position) ||
							  propose_key_has(entity->sort, position)))
			notes = lappend(notes, psprintf("%s is in the key of the table: such an update is a "
											"deletion and a put",
											table->columns[position].name));
	}
	return make_answer(ANSWER_WRITE, read, list_concat(notes, notes_of_read(r, read)));
}

/* Answers that no read gives all that is wanted: what would, and how views find it. */
static AskedAnswer *
answer_views(Reading *r)
{
	char *index = other_index(r);
	char *lookups = r->n > 1 ? lookups_of_views(r) : NULL;
	AskedKind kind = ANSWER_VIEWS;
	List *notes = NIL;

	if (index != NULL)
		notes = lappend(notes, psprintf("an index %s", index));
	if (read_with_copies(r, PG_INT32_MAX) != NULL)
		notes =
			lappend(notes, psprintf("%scopies of %s", index == NULL ? "" : "or ", copies_text(r)));
	if (notes != NIL)
		kind = ANSWER_INDEX;
	else
		notes =
			list_make1(r->asked->bounds == NIL ? "no column is compared with a value"
											   : "no key leads from the values to all of its rows");
	if (lookups != NULL)
		notes = lappend(notes, psprintf("views look up %s", lookups));
	return make_answer(kind, NULL, notes);
}

/* Returns the answer of a query whose relations are all known. */
static AskedAnswer *
answer_tables(Reading *r)
{
	AskedRead *read;

	if (r->asked->command == CMD_INSERT && r->n == 1)
		return answer_write(r, NULL);
	set_classes(r);
	if (r->asked->command == CMD_INSERT)
		return make_answer(ANSWER_VIEWS, NULL,
						   list_make1("each row of the query is a put of its own"));
	read = read_with_copies(r, 0);
	if (read != NULL && r->asked->target >= 0)
		return answer_write(r, read);
	if (read != NULL)
		return make_answer(ANSWER_ONE_READ, read, notes_of_read(r, read));
	drop_none(r);
	return answer_views(r);
}

/* Returns what answers a query, which has been analysed, in the current memory context. */
AskedAnswer *
asked_answer(const Proposal *proposal, const AskedQuery *asked)
{
	Reading r = {.proposal = proposal, .asked = asked, .n = list_length(asked->relations)};
	AskedAnswer *answer;

	if (asked->utility)
		return make_answer(ANSWER_UTILITY, NULL, NIL);
	if ((asked->stays != NULL || asked->unknown != NULL) && asked->mentioned != NIL &&
		!mentions_source(proposal, asked))
		return make_answer(ANSWER_ELSEWHERE, NULL, NIL);
	if (asked->stays != NULL)
		return make_answer(ANSWER_VIEWS, NULL, list_make1((void *) asked->stays));
	if (asked->unknown != NULL)
		return make_answer(ANSWER_UNKNOWN, NULL, list_make1((void *) asked->unknown));
	r.tables = palloc0((r.n + 1) * sizeof(ProposeTable *));
	r.into = palloc0((r.n + 1) * sizeof(int));
	r.copies = palloc0((r.n + 1) * sizeof(List *));
	r.first = palloc0((r.n + 1) * sizeof(int));
	drop_none(&r);
	answer = find_tables(&r);
	return answer != NULL ? answer : answer_tables(&r);
}
