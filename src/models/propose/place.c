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

/* Returns whether the table, or a place, has the collections of a place already. */
static bool
is_read_already(const ProposePlace *wanted)
{
	const ProposeEntity *entity = wanted->entity;
	const char *text = propose_key_text(entity, wanted->partition);
	ListCell *cell;

	foreach (cell, lcons(entity->places[0], list_copy(entity->wanted)))
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

/* Adds the places that cascades need to those of questions; or all, if these are not known. */
static void
want_places(const Proposal *proposal, ProposeEntity *entity)
{
	ProposeTable *table = entity->table;

	for (int i = -1; i < table->nforeign; i++)
	{
		const ProposeForeignKey *foreign = i < 0 ? NULL : &table->foreign[i];
		const List *columns = foreign == NULL ? table->key : foreign->columns;
		const char *by = foreign == NULL ? "its key" : psprintf("foreign key %s", foreign->name);
		ProposePlace *place;

		if (foreign == NULL ? is_found_by_key(entity)
							: foreign->parent == NULL || foreign == entity->owner)
			continue;
		place = propose_make_place(proposal, entity, columns, NIL);
		if (is_read_already(place))
			continue;
		if (all_is_asked(proposal) && (foreign == NULL || !foreign->cascades))
			propose_remark(&table->remarks, false,
						   "No question reads it by %s (%s), so no index does.", by,
						   propose_columns(table, columns));
		else
			entity->wanted = lappend(entity->wanted, place);
	}
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

/* Returns the index that has collections of the same first literal; 0: there is none. */
static int
habit_of(const Proposal *proposal, const ProposePlace *place)
{
	const char *prefix = propose_first_literal(place->partition);

	for (int i = 1; i <= proposal->nindexes; i++)
	{
		ListCell *cell;

		foreach (cell, proposal->entities)
		{
			const ProposePlace *other = ((const ProposeEntity *) lfirst(cell))->places[i];

			if (other != NULL && strcmp(propose_first_literal(other->partition), prefix) == 0)
				return i;
		}
	}
	return 0;
}

/* Returns the lowest index with room for it, of those that others want only if need be; or 0. */
static int
free_index(const Proposal *proposal, const ProposePlace *place, const List *others)
{
	bool wanted[PROPOSE_MAX_INDEXES + 1] = {false};
	int fallback = 0;
	ListCell *cell;

	foreach (cell, others)
		wanted[habit_of(proposal, lfirst(cell))] = true;
	for (int i = PROPOSE_MAX_INDEXES; i > 0; i--)
	{
		if (is_free(place, i) && (!wanted[i] || fallback == 0 || wanted[fallback]))
			fallback = i;
	}
	return fallback;
}

static void
put_place(Proposal *proposal, ProposePlace *place, int index)
{
	proposal->nindexes = Max(proposal->nindexes, index);
	place->index = index;
	place->entity->places[index] = place;
	if (place->head != NULL)
		put_place(proposal, place->head, index);
}

/* Puts places into the indexes that they are wanted in, as far as the number allows. */
static void
put_places(Proposal *proposal, ProposeEntity *entity)
{
	List *rest = NIL;
	ListCell *cell;

	foreach (cell, entity->wanted)
	{
		ProposePlace *place = lfirst(cell);
		int index = habit_of(proposal, place);

		if (index > 0 && is_free(place, index))
			put_place(proposal, place, index);
		else
			rest = lappend(rest, place);
	}
	foreach (cell, rest)
	{
		ProposePlace *place = lfirst(cell);
		int index = free_index(proposal, place, entity->wanted);

		/* one that others want raises no number, a new one would */
		if (index > proposal->nindexes)
			index = free_index(proposal, place, NIL);
		if (index > 0)
			put_place(proposal, place, index);
		else
			propose_remark(&entity->table->remarks, true,
						   "A table has at most %d indexes, so %s is in none: by which of its "
						   "foreign keys is it read?",
						   PROPOSE_MAX_INDEXES,
						   place->foreign != NULL ? place->foreign->name : "its own key");
	}
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
		ProposePlace *place = entity->places[i];
		const ProposePlace *other;

		if (place == NULL || place->purpose != PLACE_JOIN)
			continue;
		other = entity->owner->parent->entity->places[i];
		if (other != NULL && other->purpose == PLACE_OWN)
			continue;
		place->index = -1;
		entity->places[i] = NULL;
	}
}

static int
compare_counts(const ListCell *a, const ListCell *b)
{
	const ProposeEntity *x = lfirst(a);
	const ProposeEntity *y = lfirst(b);

	if (list_length(x->wanted) != list_length(y->wanted))
		return list_length(y->wanted) - list_length(x->wanted);
	return x->table < y->table ? -1 : x->table > y->table;
}

/* Chooses the indexes, entities with the most places first. */
void
propose_places(Proposal *proposal)
{
	List *entities = list_copy(proposal->entities);
	ListCell *cell;

	propose_asked_places(proposal);
	foreach (cell, entities)
	{
		ProposeEntity *entity = lfirst(cell);

		want_places(proposal, entity);
		proposal->nindexes = Max(proposal->nindexes, list_length(entity->wanted));
	}
	proposal->nindexes = Min(proposal->nindexes, PROPOSE_MAX_INDEXES);
	foreach (cell, entities)
	{
		ProposeEntity *entity = lfirst(cell);
		ProposePlace *place;

		if (all_is_asked(proposal) || !wants_join(entity) ||
			list_length(entity->wanted) >= proposal->nindexes)
			continue;
		place = propose_make_place(proposal, entity, entity->owner->columns, NIL);
		place->purpose = PLACE_JOIN;
		entity->wanted = lappend(entity->wanted, place);
	}
	list_sort(entities, compare_counts);
	foreach (cell, entities)
	{
		CHECK_FOR_INTERRUPTS();
		put_places(proposal, lfirst(cell));
	}
	foreach (cell, entities)
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
