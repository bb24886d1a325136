/*
 * offer.c
 *	  What items may have of others: columns of parents, and lists of children.
 *
 * A copy of what a parent is called saves the read of the parent, and has to be written again when
 * it changes.  A list is worth while where children are few, small, and read only together with the
 * parent; items of its collection are always right.  Which costs less is for a person to say, so
 * both are offered and not made.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "models/propose/propose.h"

/* So many columns of one parent are copied at most. */
#define MAX_COPIES 2

/* A list is offered for so many children of one row, and so many bytes of all of them. */
#define MAX_CHILDREN 50
#define MAX_LIST_BYTES 16384

/*
 * Copies
 */

static bool
is_text(const ProposeColumn *column)
{
	char category;
	bool preferred;

	get_type_category_preferred(getBaseType(column->type), &category, &preferred);
	return category == 'S' && column->sql == NULL && column->value.type == ITEM_S;
}

static bool
ends_with(const char *name, const char *word)
{
	size_t length = strlen(name);
	size_t end = strlen(word);

	return length >= end && pg_strcasecmp(name + length - end, word) == 0;
}

static bool
is_name_like(const ProposeColumn *column)
{
	return is_text(column) &&
		   (ends_with(column->name, "name") || ends_with(column->name, "title") ||
			ends_with(column->name, "label"));
}

/*
 * Returns "reports_to" of reports_to, "artist" of artist_id, "Artist" of ArtistId; or the parent's
 * name, if the column only repeats the name of the one that it refers to.
 */
static const char *
stem(const ProposeTable *table, const ProposeForeignKey *foreign)
{
	static const char *const ends[] = {"_id", "Id", "ID"};
	const char *name = table->columns[linitial_int(foreign->columns)].name;
	size_t length = strlen(name);

	if (list_length(foreign->columns) > 1)
		return foreign->parent->entity->name;
	for (int i = 0; i < lengthof(ends); i++)
	{
		size_t end = strlen(ends[i]);

		if (length > end && strcmp(name + length - end, ends[i]) == 0)
			return pnstrdup(name, length - end);
	}
	if (strcmp(name, foreign->parent->columns[linitial_int(foreign->parent_columns)].name) == 0)
		return foreign->parent->entity->name;
	return name;
}

static void
offer(ProposeEntity *entity, const ProposeForeignKey *foreign)
{
	const ProposeTable *parent = foreign->parent;
	int n = 0;

	for (int i = 0; i < parent->ncolumns && n < MAX_COPIES; i++)
	{
		ProposeCopy *copy;

		if (!is_name_like(&parent->columns[i]) || list_member_int(parent->key, i))
			continue;
		copy = palloc(sizeof(ProposeCopy));
		*copy = (ProposeCopy){
			foreign, &parent->columns[i],
			propose_new_attribute(entity, stem(entity->table, foreign), parent->columns[i].name)};
		entity->copies = lappend(entity->copies, copy);
		n++;
	}
}

/* Chooses the copies that all entities are offered. */
void
propose_copies(Proposal *proposal)
{
	ListCell *cell;

	foreach (cell, proposal->entities)
	{
		ProposeEntity *entity = lfirst(cell);

		for (int i = 0; i < entity->table->nforeign; i++)
		{
			const ProposeForeignKey *foreign = &entity->table->foreign[i];

			if (foreign->parent != NULL)
				offer(entity, foreign);
		}
	}
}

/*
 * Lists
 */

/* Chooses the lists that all entities are offered. */
void
propose_lists(Proposal *proposal)
{
	ListCell *cell;

	foreach (cell, proposal->entities)
	{
		const ProposeEntity *child = lfirst(cell);
		const ProposeForeignKey *foreign = child->table->foreign;
		ProposeEntity *parent;
		ProposeList *list;

		/* nothing refers to it, and it refers to its parent alone */
		if (child->table->is_parent || child->table->nforeign != 1 || foreign->parent == NULL ||
			foreign->most < 1 || foreign->most > MAX_CHILDREN ||
			foreign->most * propose_item_size(proposal, child, 0) > MAX_LIST_BYTES)
			continue;
		parent = foreign->parent->entity;
		list = palloc(sizeof(ProposeList));
		*list = (ProposeList){child, foreign, propose_new_attribute(parent, child->name, NULL)};
		parent->lists = lappend(parent->lists, list);
	}
}
