/*
 * size.c
 *	  The size of an item by DynamoDB's rules, which its limits and capacity units use.
 *	  It has nothing to do with the bytes that Postgres stores.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "item/item.h"
#include "server/errors.h"

/* Counts 1 byte and one more for two digits, and one for the sign of a negative number. */
static Size
number_size(ItemSpan number, ItemSizeRule rule)
{
	int pairs = rule == ITEM_SIZE_NOW ? item_number_pairs_by_point(number)
									  : (item_number_digits(number) + 1) / 2;

	return 1 + pairs + item_number_is_negative(number);
}

static Size
set_size(ItemSpan value, ItemSizeRule rule)
{
	ItemChildren c = item_children(value);
	Size size = 0;

	for (uint32 i = 0; i < c.count; i++)
	{
		ItemSpan element = item_child(&c, i);

		size += item_type(value) == ITEM_NS ? number_size(element, rule) : element.len;
	}
	return size;
}

/* Names and values of a map, without what the map itself costs as a value. */
static Size
attributes_size(ItemSpan map, Size per_child, ItemSizeRule rule)
{
	Size size = 0;

	for (ItemMembers m = item_members(map); item_next(&m);)
		size += per_child + m.name.len + item_value_size_by(m.value, rule);
	return size;
}

/* Returns the size of a value by a rule, without its attribute's name. */
Size
item_value_size_by(ItemSpan value, ItemSizeRule rule)
{
	switch (item_type(value))
	{
		case ITEM_S:
		case ITEM_B:
			return item_payload(value).len;
		case ITEM_N:
			return number_size(item_payload(value), rule);
		case ITEM_BOOL:
		case ITEM_NULL:
			return 1;
		case ITEM_M:
			check_stack_depth();
			return 3 + attributes_size(value, 1, rule);
		case ITEM_L:
		{
			ItemChildren c = item_children(value);
			Size size = 3 + c.count;

			check_stack_depth();
			for (uint32 i = 0; i < c.count; i++)
				size += item_value_size_by(item_child(&c, i), rule);
			return size;
		}
		case ITEM_SS:
		case ITEM_NS:
		case ITEM_BS:
			break;
	}
	return set_size(value, rule);
}

/* Returns the size of an item: names and values, no overhead of its own; or of another value. */
Size
item_size_by(ItemSpan root, ItemSizeRule rule)
{
	return item_type(root) == ITEM_M ? attributes_size(root, 0, rule)
									 : item_value_size_by(root, rule);
}

/* Returns the size of an item or a value by DynamoDB's rules, in bytes. */
Size
item_size(ItemSpan root)
{
	return item_size_by(root, ITEM_SIZE_NOW);
}

static void
require_size(Size size, const char *words)
{
	if (size > ITEM_MAX_SIZE)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("item size exceeds %d bytes", ITEM_MAX_SIZE),
						errdetail("The item has %zu bytes, names and values together.", size),
						errwords("%s", words)));
}

/*
 * Raises ERRCODE_DYN_VALIDATION if an item is too large to be stored.  It is for items that do not
 * come from text, where the error would name a place.
 */
void
item_check_size(ItemSpan root)
{
	require_size(item_size_by(root, ITEM_SIZE_STORED), ITEM_SIZE_WORDS);
}

/*
 * Raises ERRCODE_DYN_VALIDATION, in DynamoDB's words, if what a call makes of an item, or of nothing
 * (NULL), is too large.  What was too large before only has to be fit to be stored.
 */
void
item_check_change(const DynItem *old, ItemSpan root, const char *words)
{
	Size size = item_size(root);

	if (size > ITEM_MAX_SIZE && old != NULL && item_size(item_root(old)) > ITEM_MAX_SIZE)
		size = item_size_by(root, ITEM_SIZE_STORED);
	require_size(size, words);
}
