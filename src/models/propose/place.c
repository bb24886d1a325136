/*
 * place.c
 *	  The overloaded indexes: which entity is where in them.
 *
 * Each index has its own key attributes, which all entities share.  An entity that lacks one is not
 * in the index.  There are as many indexes as the entity with the most places needs.  Those who
 * refer to the same parent are in the same index if they can be, since then one Query reads all of
 * them.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "models/propose/propose.h"

/* A Habit says in which index the collections with some literal at their beginning are. */
typedef struct Habit
{
	const char *prefix;
	int index;
} Habit;

static int
habit_of(const List *habits, const char *prefix)
{
	ListCell *cell;

	foreach (cell, habits)
	{
		const Habit *habit = lfirst(cell);

		if (strcmp(habit->prefix, prefix) == 0)
			return habit->index;
	}
	return -1;
}

/*
 * What an entity needs
 */

/* Returns whether whoever knows the key of a row can make the key of its item. */
static bool
is_found_by_key(const ProposeEntity *entity)
{
	const ProposePlace *place = entity->places[0];

	return propose_are_in(propose_key_columns(place->partition), entity->table->key) &&
		   propose_are_in(propose_key_columns(place->sort), entity->table->key);
}

/* Returns whether the items of a collection are in one of the table already, or in that of a place. */
static bool
is_read_already(const List *places, const ProposePlace *wanted)
{
	const ProposeEntity *entity = wanted->entity;
	const char *text = propose_key_text(entity, wanted->partition);
	ListCell *cell;

	foreach (cell, lcons(entity->places[0], list_copy(places)))
	{
		const ProposePlace *place = lfirst(cell);

		if (strcmp(text, propose_key_text(entity, place->partition)) == 0 &&
			(place->index == 0 || propose_is_required(entity->table, place->sort)))
			return true;
	}
	return false;
}

/* Returns whether all questions are known; else the key and all foreign keys are questions. */
static bool
all_is_asked(const Proposal *proposal)
{
	return proposal->asked && proposal->unseen_questions == NULL;
}

/* Returns the places that questions need, and those that cascades need. */
static List *
places_of(const Proposal *proposal, ProposeEntity *entity)
{
	ProposeTable *table = entity->table;
	List *places = list_copy(entity->wanted);

	for (int i = -1; i < table->nforeign; i++)
	{
		const ProposeForeignKey *foreign = i < 0 ? NULL : &table->foreign[i];
		const char *by = foreign == NULL ? "its key" : psprintf("foreign key %s", foreign->name);
		ProposePlace *place;

		if (foreign == NULL ? is_found_by_key(entity)
							: foreign->parent == NULL || foreign == entity->owner)
			continue;
		place = propose_make_place(proposal, entity, foreign, table->key, NIL);
		if (is_read_already(places, place))
			continue;
		if (all_is_asked(proposal) && (foreign == NULL || !foreign->cascades))
			propose_remark(&table->remarks, false,
						   "No question reads it by %s (%s), so no index does.", by,
						   propose_columns(table, foreign == NULL ? table->key : foreign->columns));
		else
			places = lappend(places, place);
	}
	return places;
}

/*
 * Which index
 */

static bool
is_free(const ProposePlace *place, int index)
{
	return place->entity->places[index] == NULL &&
		   (place->head == NULL || place->head->entity->places[index] == NULL);
}

/* Returns the lowest index that has room for it, of those that others want only if need be. */
static int
free_index(const ProposePlace *place, const List *habits, const List *places)
{
	int fallback = -1;

	for (int i = 1; i <= PROPOSE_MAX_INDEXES; i++)
	{
		bool wanted = false;
		ListCell *cell;

		if (!is_free(place, i))
			continue;
		foreach (cell, places)
			wanted |=
				habit_of(habits,
						 propose_first_literal(((ProposePlace *) lfirst(cell))->partition)) == i;
		if (!wanted)
			return i;
		if (fallback < 0)
			fallback = i;
	}
	return fallback;
}

static List *
put_place(Proposal *proposal, ProposePlace *place, int index, List *habits)
{
	const char *prefix = propose_first_literal(place->partition);

	proposal->nindexes = Max(proposal->nindexes, index);
	place->index = index;
	place->entity->places[index] = place;
	if (place->head != NULL)
		habits = put_place(proposal, place->head, index, habits);
	if (habit_of(habits, prefix) < 0)
	{
		Habit *habit = palloc(sizeof(Habit));

		*habit = (Habit){prefix, index};
		habits = lappend(habits, habit);
	}
	return habits;
}

/* Puts places into the indexes that they are wanted in, as far as the number allows. */
static List *
put_places(Proposal *proposal, ProposeEntity *entity, List *places, List *habits)
{
	List *rest = NIL;
	ListCell *cell;

	foreach (cell, places)
	{
		ProposePlace *place = lfirst(cell);
		int index = habit_of(habits, propose_first_literal(place->partition));

		if (index >= 0 && is_free(place, index))
			habits = put_place(proposal, place, index, habits);
		else
			rest = lappend(rest, place);
	}
	foreach (cell, rest)
	{
		ProposePlace *place = lfirst(cell);
		int index = free_index(place, habits, places);

		/* one that others want raises no number, a new one would */
		if (index > proposal->nindexes)
			index = free_index(place, habits, NIL);
		if (index < 0)
		{
			propose_remark(&entity->table->remarks, true,
						   "A table has at most %d indexes, so %s is in none: by which of its "
						   "foreign keys is it read?",
						   PROPOSE_MAX_INDEXES,
						   place->foreign != NULL ? place->foreign->name : "its own key");
			continue;
		}
		habits = put_place(proposal, place, index, habits);
	}
	return habits;
}

/*
 * Returns whether the items of its owner are elsewhere in the table: then one Query could read both
 * if they were in one index.
 */
static bool
wants_join(const ProposeEntity *entity)
{
	return entity->owner != NULL && !is_found_by_key(entity->owner->parent->entity);
}

/* Such a place is worth no index more, and nothing where its owner is in another index. */
static void
drop_lonely_joins(const Proposal *proposal, ProposeEntity *entity)
{
	for (int i = 1; i <= proposal->nindexes; i++)
	{
		const ProposePlace *place = entity->places[i];
		const ProposePlace *other;

		if (place == NULL || place->purpose != PLACE_JOIN)
			continue;
		other = entity->owner->parent->entity->places[i];
		if (other == NULL || other->purpose != PLACE_OWN)
			entity->places[i] = NULL;
	}
}

static int
compare_counts(const ListCell *a, const ListCell *b)
{
	const List *x = lfirst(a);
	const List *y = lfirst(b);
	const ProposeTable *first = ((const ProposeEntity *) linitial(x))->table;
	const ProposeTable *second = ((const ProposeEntity *) linitial(y))->table;

	if (list_length(x) != list_length(y))
		return list_length(y) - list_length(x);
	return first < second ? -1 : first > second;
}

/* Lists the needs of all entities, each as entity and places; sets the number of indexes. */
static List *
list_needs(Proposal *proposal)
{
	List *needs = NIL;
	ListCell *cell;

	foreach (cell, proposal->entities)
	{
		ProposeEntity *entity = lfirst(cell);
		List *places = places_of(proposal, entity);

		proposal->nindexes = Max(proposal->nindexes, list_length(places));
		needs = lappend(needs, lcons(entity, places));
	}
	proposal->nindexes = Min(proposal->nindexes, PROPOSE_MAX_INDEXES);
	foreach (cell, needs)
	{
		ProposeEntity *entity = linitial(lfirst(cell));
		ProposePlace *place;

		if (all_is_asked(proposal) || !wants_join(entity) ||
			list_length(lfirst(cell)) > proposal->nindexes)
			continue;
		place = propose_make_place(proposal, entity, entity->owner, NIL, NIL);
		place->purpose = PLACE_JOIN;
		lfirst(cell) = lappend(lfirst(cell), place);
	}
	return needs;
}

/* Chooses the indexes, entities with the most places first. */
void
propose_places(Proposal *proposal)
{
	List *needs;
	List *habits = NIL;
	ListCell *cell;

	propose_asked_places(proposal);
	needs = list_needs(proposal);
	list_sort(needs, compare_counts);
	foreach (cell, needs)
	{
		List *places = lfirst(cell);
		ProposeEntity *entity = linitial(places);

		CHECK_FOR_INTERRUPTS();
		habits = put_places(proposal, entity, list_delete_first(places), habits);
	}
	foreach (cell, proposal->entities)
		drop_lonely_joins(proposal, lfirst(cell));
}

/* Returns the name of an index, which is what the names of its keys begin with. */
const char *
propose_index_name(const Proposal *proposal, int index)
{
	return index == 0 ? "Main table" : psprintf("%s%d", proposal->index_name, index);
}

/* Returns the name of a key of the table or of an index. */
const char *
propose_key_name(const Proposal *proposal, int index, bool sort)
{
	if (index == 0)
		return sort ? proposal->sort_name : proposal->partition_name;
	return psprintf("%s%s", propose_index_name(proposal, index), sort ? "SK" : "PK");
}
