/*
 * hint.c
 *	  What to do about attributes that do not fit their entity, for those who meet entities first.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "models/entity/entity.h"

/* Returns an example of an SQL value for an attribute, or NULL where JSON has such values. */
static const char *
sql_example(Oid sql)
{
	switch (getBaseType(sql))
	{
		case TIMESTAMPTZOID:
			return "now()";
		case TIMESTAMPOID:
			return "localtimestamp";
		case DATEOID:
			return "current_date";
		default:
			return NULL;
	}
}

/* Returns the type of an attribute as dyn_to_value() takes it, beside a value of that type. */
static const char *
type_argument(const ValueType *type)
{
	if (type->typmod < 0)
		return value_code(type);
	return psprintf("%s %s", value_code(type), format_type_with_typemod(type->sql, type->typmod));
}

/* Returns a hint in both forms of JSON, in which attributes are given. */
static const char *
json_hint(ItemType type)
{
	static const struct
	{
		const char *what;
		const char *plain; /* NULL: plain JSON has none */
		const char *json;
	} forms[] = {[ITEM_S] = {"a string", "\"7\"", "{\"S\": \"7\"}"},
				 [ITEM_N] = {"a number", "7", "{\"N\": \"7\"}"},
				 [ITEM_B] = {"bytes", NULL, "{\"B\": \"AAE=\"}"},
				 [ITEM_BOOL] = {"a boolean", "true", "{\"BOOL\": true}"},
				 [ITEM_L] = {"an array", "[7]", "{\"L\": [{\"N\": \"7\"}]}"},
				 [ITEM_M] = {"an object", "{\"a\": 7}", "{\"M\": {\"a\": {\"N\": \"7\"}}}"},
				 [ITEM_SS] = {"sets", NULL, "{\"SS\": [\"a\"]}"},
				 [ITEM_NS] = {"sets", NULL, "{\"NS\": [\"7\"]}"},
				 [ITEM_BS] = {"sets", NULL, "{\"BS\": [\"AAE=\"]}"}};

	if (type >= lengthof(forms) || forms[type].what == NULL)
		return NULL;
	if (forms[type].plain == NULL)
		return psprintf("Plain JSON has no %s. Write the item as DynamoDB JSON, with %s.",
						forms[type].what, forms[type].json);
	return psprintf("Write %s: %s in plain JSON, %s in DynamoDB JSON.", forms[type].what,
					forms[type].plain, forms[type].json);
}

/*
 * Returns how to write a value of the attribute, where the given one is of a wrong kind; NULL if
 * nothing can be said.
 */
const char *
entity_value_hint(const EntityAttribute *attribute, ItemSpan value)
{
	const ValueType *type = &attribute->type;
	const char *example = sql_example(type->sql);

	if (example != NULL)
		return psprintf("Make it of a value of SQL, as dyn_to_value(%s, '%s') does.", example,
						type_argument(type));
	return item_type(value) == type->type ? NULL : json_hint(type->type);
}

/*
 * Returns a hint if one of the entity's attributes is missing, and there is one whose name differs in
 * case only; else NULL.
 */
const char *
entity_case_hint(const Entity *entity, const ItemChildren *map)
{
	for (int i = 0; i < entity->nattributes; i++)
	{
		ItemSpan name = entity->attributes[i].name;
		ItemSpan ignored;
		const char *hint = item_find(map, name, &ignored) ? NULL : item_case_hint(map, name);

		if (hint != NULL)
			return hint;
	}
	return NULL;
}

/* Returns a hint if an attribute of the entity has the name in another case; else NULL. */
const char *
entity_attribute_hint(const Entity *entity, ItemSpan name)
{
	for (int i = 0; i < entity->nattributes; i++)
	{
		ItemSpan here = entity->attributes[i].name;

		if (here.len == name.len && pg_strncasecmp(here.data, name.data, name.len) == 0)
			return psprintf("Names of attributes are case-sensitive, and there is \"%s\".",
							item_quoted(here));
	}
	return NULL;
}
