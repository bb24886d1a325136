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
		list->child = child;
		list->foreign = foreign;
		list->attribute = propose_new_attribute(parent, child->name, NULL);
		parent->lists = lappend(parent->lists, list);
	}
}
