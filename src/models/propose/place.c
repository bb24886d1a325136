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

static const char *
first_literal(const ProposeKey *key)
{
	return ((const ProposePart *) linitial(key))->literal;
}

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

static ProposePlace *
make_place(ProposePurpose purpose, const ProposeForeignKey *foreign, ProposeKey *partition,
		   ProposeKey *sort)
{
	ProposePlace *place = palloc(sizeof(ProposePlace));

	*place = (ProposePlace){purpose, foreign, partition, sort};
	return place;
}

/* Returns whether whoever knows the key of a row can make the key of its item. */
static bool
is_found_by_key(const ProposeEntity *entity)
{
	const ProposeTable *table = entity->table;

	for (int i = 0; i < table->ncolumns; i++)
	{
		if ((propose_key_has(entity->partition, i) || propose_key_has(entity->sort, i)) &&
			!propose_in_key(table, i))
			return false;
	}
	return true;
}

static bool
is_read_already(const ProposeEntity *entity, const List *places, const ProposeKey *partition)
{
	const char *text = propose_key_text(entity, partition);
	ListCell *cell;

	if (strcmp(text, propose_key_text(entity, entity->partition)) == 0)
		return true;
	foreach (cell, places)
	{
		const ProposePlace *place = lfirst(cell);

		if (strcmp(text, propose_key_text(entity, place->partition)) == 0)
			return true;
	}
	return false;
}

static List *
places_of(const Proposal *proposal, const ProposeEntity *entity)
{
	ProposeTable *table = entity->table;
	List *places = NIL;

	if (!is_found_by_key(entity))
		places = lappend(places, make_place(PLACE_OWN, NULL, propose_own_key(proposal, entity),
											propose_head_key(entity)));
	for (int i = 0; i < table->nforeign; i++)
	{
		const ProposeForeignKey *foreign = &table->foreign[i];
		ProposeKey *partition;

		if (foreign->parent == NULL || foreign == entity->owner)
			continue;
		partition = propose_parent_key(proposal, foreign);
		if (!is_read_already(entity, places, partition))
			places = lappend(places, make_place(PLACE_PARENT, foreign, partition,
												propose_child_key(proposal, entity, foreign)));
	}
	return places;
}

/*
 * Which index
 */

/* Returns the lowest index that the entity is not in, of those that others want only if need be. */
static int
free_index(const ProposeEntity *entity, const List *habits, const List *places)
{
	int fallback = -1;

	for (int i = 0; i < PROPOSE_MAX_INDEXES; i++)
	{
		bool wanted = false;
		ListCell *cell;

		if (entity->places[i] != NULL)
			continue;
		foreach (cell, places)
			wanted |=
				habit_of(habits, first_literal(((ProposePlace *) lfirst(cell))->partition)) == i;
		if (!wanted)
			return i;
		if (fallback < 0)
			fallback = i;
	}
	return fallback;
}

static List *
put_place(ProposeEntity *entity, ProposePlace *place, int index, List *habits)
{
	const char *prefix = first_literal(place->partition);

	entity->places[index] = place;
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
		int index = habit_of(habits, first_literal(place->partition));

		if (index >= 0 && entity->places[index] == NULL)
			habits = put_place(entity, place, index, habits);
		else
			rest = lappend(rest, place);
	}
	foreach (cell, rest)
	{
		ProposePlace *place = lfirst(cell);
		int index = free_index(entity, habits, places);

		/* one that others want raises no number, a new one would */
		if (index >= proposal->nindexes)
			index = free_index(entity, habits, NIL);
		if (index < 0)
		{
			propose_remark(&entity->table->remarks, true,
						   "A table has at most %d indexes, so %s is in none: by which of its "
						   "foreign keys is it read?",
						   PROPOSE_MAX_INDEXES,
						   place->foreign != NULL ? place->foreign->name : "its own key");
			continue;
		}
		habits = put_place(entity, place, index, habits);
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
	for (int i = 0; i < proposal->nindexes; i++)
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

		if (wants_join(entity) && list_length(lfirst(cell)) <= proposal->nindexes)
			lfirst(cell) = lappend(lfirst(cell),
								   make_place(PLACE_JOIN, entity->owner,
											  propose_parent_key(proposal, entity->owner),
											  propose_child_key(proposal, entity, entity->owner)));
	}
	return needs;
}

/* Chooses the indexes, entities with the most places first. */
void
propose_places(Proposal *proposal)
{
	List *needs = list_needs(proposal);
	List *habits = NIL;
	ListCell *cell;

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
	return psprintf("%s%d", proposal->index_name, index + 1);
}
