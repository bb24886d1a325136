/*
 * value.c
 *	  Finding things in a value, and values as data of their own.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "item/item.h"

/* Most names differ in their first byte, which is cheaper to see than to call memcmp(). */
static inline int
compare_names(ItemSpan a, ItemSpan b)
{
	if (a.len > 0 && b.len > 0 && a.data[0] != b.data[0])
		return (unsigned char) a.data[0] < (unsigned char) b.data[0] ? -1 : 1;
	return item_compare_bytes(a, b);
}

/* Names are short: a call of memcmp() takes longer than to look at their bytes. */
static inline bool
is_name(ItemSpan here, ItemSpan name)
{
	if (here.len != name.len)
		return false;
	for (uint32 i = 0; i < name.len; i++)
	{
		if (here.data[i] != name.data[i])
			return false;
	}
	return true;
}

/* Returns the number of the child with that name, and its value; -1 if there is none. */
int
item_position(const ItemChildren *map, ItemSpan name, ItemSpan *value)
{
	uint32 low = 0;
	uint32 high = map->count;

	while (low < high)
	{
		uint32 middle = low + (high - low) / 2;
		ItemSpan here;
		ItemSpan found = item_entry(item_child(map, middle), &here);
		int cmp = compare_names(name, here);

		if (cmp == 0)
		{
			*value = found;
			return (int) middle;
		}
		if (cmp < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

#ifdef USE_ASSERT_CHECKING
uint64 item_finds = 0;
#endif

/*
 * Finds a value as item_find() does, first at the position *place, where it was found in another map;
 * sets *place to where it is.  Maps that were made alike have it there.
 */
bool
item_find_near(const ItemChildren *map, ItemSpan name, uint32 *place, ItemSpan *value)
{
	int found;

	if (*place < map->count)
	{
		ItemSpan here;
		ItemSpan there = item_entry(item_child(map, *place), &here);

		if (is_name(here, name))
		{
			*value = there;
			return true;
		}
	}
	found = item_position(map, name, value);
	if (found >= 0)
		*place = (uint32) found;
	return found >= 0;
}

/* Returns whether a map has a value of that name, and sets *value to it if so. */
bool
item_find(const ItemChildren *map, ItemSpan name, ItemSpan *value)
{
#ifdef USE_ASSERT_CHECKING
	item_finds++;
#endif
	return item_position(map, name, value) >= 0;
}

/* Does the same with a value that is looked into once; what is no map has none. */
bool
item_lookup(ItemSpan map, ItemSpan name, ItemSpan *value)
{
	ItemChildren members;

	if (item_type(map) != ITEM_M)
		return false;
	members = item_children(map);
	return item_find(&members, name, value);
}

/* Returns whether two lists have the same bytes. */
bool
item_spans_equal(const ItemSpan *a, int na, const ItemSpan *b, int nb)
{
	for (int i = 0; i < na && na == nb; i++)
	{
		if (item_compare_bytes(a[i], b[i]) != 0)
			return false;
	}
	return na == nb;
}

/* Returns a hint for a missing name: the map's name that differs in case only; else NULL. */
const char *
item_case_hint(const ItemChildren *map, ItemSpan name)
{
	for (uint32 i = 0; i < map->count; i++)
	{
		ItemSpan here;

		item_entry(item_child(map, i), &here);
		if (here.len == name.len && pg_strncasecmp(here.data, name.data, name.len) == 0)
			return psprintf("Names of attributes are case-sensitive, and \"%s\" is there.",
							item_quoted(here));
	}
	return NULL;
}

/* Compares elements of a set, which are payloads without tags, or names of a map. */
int
item_element_compare(ItemType type, ItemSpan a, ItemSpan b)
{
	return type == ITEM_NS ? item_number_compare(a, b) : item_compare_bytes(a, b);
}

/*
 * Returns whether a set has an element.  The element is a payload without a tag, and has the type
 * of the set's elements.
 */
bool
item_set_contains(ItemSpan set, ItemSpan element)
{
	ItemChildren c = item_children(set);
	uint32 low = 0;
	uint32 high = c.count;

	while (low < high)
	{
		uint32 middle = low + (high - low) / 2;
		int cmp = item_element_compare(item_type(set), element, item_child(&c, middle));

		if (cmp == 0)
			return true;
		if (cmp < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* Returns the levels of lists and maps, this value counted; sets are leaves. */
int
item_nesting(ItemSpan value)
{
	ItemType type = item_type(value);
	ItemChildren c;
	int deepest = 0;

	if (type != ITEM_L && type != ITEM_M)
		return 0;
	check_stack_depth();
	c = item_children(value);
	for (uint32 i = 0; i < c.count; i++)
	{
		ItemSpan child = item_child(&c, i);
		ItemSpan name;
		int nesting;

		if (type == ITEM_M)
			child = item_entry(child, &name);
		if (item_type(child) != ITEM_M && item_type(child) != ITEM_L)
			continue;
		nesting = item_nesting(child);
		deepest = Max(deepest, nesting);
	}
	return deepest + 1;
}

/* Returns a copy of part of an item as a datum of its own. */
DynItem *
item_from_value(ItemSpan value)
{
	DynItem *item = palloc(VARHDRSZ + 1 + value.len);

	SET_VARSIZE(item, VARHDRSZ + 1 + value.len);
	VARDATA(item)[0] = ITEM_FORMAT;
	memcpy(VARDATA(item) + 1, value.data, value.len);
	return item;
}
