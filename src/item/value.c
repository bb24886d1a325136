/*
 * value.c
 *	  Finding an attribute in a map, and values as data of their own.
 */
#include "postgres.h"

#include "item/item.h"

bool
item_find(const ItemChildren *map, ItemSpan name, ItemSpan *value)
{
	uint32 low = 0;
	uint32 high = map->count;

	while (low < high)
	{
		uint32 middle = low + (high - low) / 2;
		ItemSpan here;
		ItemSpan found = item_entry(item_child(map, middle), &here);
		int cmp = item_compare_bytes(name, here);

		if (cmp == 0)
		{
			*value = found;
			return true;
		}
		if (cmp < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* A copy of part of an item as a datum of its own. */
DynItem *
item_from_value(ItemSpan value)
{
	DynItem *item = palloc(VARHDRSZ + 1 + value.len);

	SET_VARSIZE(item, VARHDRSZ + 1 + value.len);
	VARDATA(item)[0] = ITEM_FORMAT;
	memcpy(VARDATA(item) + 1, value.data, value.len);
	return item;
}
