/*
 * type.c
 *	  The ten type codes.
 */
#include "postgres.h"

#include "item/item.h"

static const char *const type_codes[] = {NULL, "S", "N",  "B",  "BOOL", "NULL",
										 "L",  "M", "SS", "NS", "BS"};

/* Returns DynamoDB's code of a type, such as "S", a constant string. */
const char *
item_type_code(ItemType type)
{
	return type_codes[type];
}

/* Returns the type that a code stands for, or 0. */
ItemType
item_type_from_code(ItemSpan code)
{
	if (code.len == 0 || code.len > 4)
		return 0;
	for (int type = ITEM_S; type <= ITEM_TYPE_LAST; type++)
	{
		const char *known = type_codes[type];

		if (strlen(known) == code.len && memcmp(known, code.data, code.len) == 0)
			return (ItemType) type;
	}
	return 0;
}
