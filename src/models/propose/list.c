/*
 * list.c
 *	  Children that may be a list in the item of their parent.
 *
 * That is worth while where they are few, small, and read only together with the parent.  Items of
 * the parent's collection are always right, so lists are offered and not made.
 */
#include "postgres.h"

#include "models/propose/propose.h"

/* A list is offered for so many children of one row, and so many bytes of all of them. */
#define MAX_CHILDREN 50
#define MAX_LIST_BYTES 16384

static bool
is_referred_to(const Proposal *proposal, const ProposeTable *table)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		for (int k = 0; k < proposal->tables[i].nforeign; k++)
		{
			if (proposal->tables[i].foreign[k].parent == table)
				return true;
		}
	}
	return false;
}

/* Returns the one foreign key of a table that nothing refers to; NULL: it has several, or none. */
static const ProposeForeignKey *
only_parent(const Proposal *proposal, const ProposeTable *table)
{
	if (table->nforeign != 1 || is_referred_to(proposal, table))
		return NULL;
	return table->foreign[0].parent == table ? NULL : &table->foreign[0];
}

/* Chooses the lists that all entities are offered. */
void
propose_lists(Proposal *proposal)
{
	ListCell *cell;

	foreach (cell, proposal->entities)
	{
		const ProposeEntity *child = lfirst(cell);
		const ProposeForeignKey *foreign = only_parent(proposal, child->table);
		ProposeEntity *parent;
		ProposeList *list;

		if (foreign == NULL || foreign->parent == NULL || foreign->most < 1 ||
			foreign->most > MAX_CHILDREN ||
			foreign->most * propose_item_size(proposal, child, 0) > MAX_LIST_BYTES)
			continue;
		parent = foreign->parent->entity;
		list = palloc(sizeof(ProposeList));
		list->child = child;
		list->foreign = foreign;
		list->attribute = propose_new_attribute(parent, child->name, NULL);
		parent->lists = lappend(parent->lists, list);
	}
}
