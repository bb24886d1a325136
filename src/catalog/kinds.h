/*
 * kinds.h
 *	  Entities, the kinds of items that a table may declare, as layers below theirs know them.
 */
#ifndef DYNAMO_TABLE_CATALOG_KINDS_H
#define DYNAMO_TABLE_CATALOG_KINDS_H

#include "catalog/table.h"

typedef struct Entity Entity;

typedef struct ItemKinds
{
	/* those of an open table, in the order declared; or the one of a name, which must be there */
	List *(*of_table)(Relation rel, const DynTable *table);
	const Entity *(*find)(Relation rel, const DynTable *table, ItemSpan name);
	ItemSpan (*name)(const Entity *entity);
	bool (*has)(const Entity *entity, const DynItem *item);
	const Entity *(*of_item)(const List *entities, const DynItem *item); /* NULL: none */
	/* the item with attributes that its keys say */
	const DynItem *(*completed)(const List *entities, const DynItem *item);
} ItemKinds;

/* They are named in dynamo_table.c. */
extern const ItemKinds *const item_kinds;

#endif
