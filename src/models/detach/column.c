/*
 * column.c
 *	  Typed columns of attributes: one for each attribute and type that entities declare.
 *
 * An attribute whose value is not of the declared type has NULL in the column and stays in the item.
 * So does one that the column does not hold exactly.
 * Key attributes have columns already.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/lookup.h"
#include "models/detach/detach.h"
#include "models/view/view.h"
#include "server/attempt.h"
#include "server/extension.h"

/*
 * Which columns there are
 */

/* Returns the attribute's name, with a number where several columns would have it. */
static char *
new_name(Detach *detach, ItemSpan stored)
{
	const char *wanted = stored.len > 0 ? span_string(stored) : "entity";
	char *name = dyn_column_identifier(item_span(wanted));

	for (int i = 2; list_member(detach->names, makeString(name)) ||
					get_attnum(detach->relid, name) != InvalidAttrNumber;
		 i++)
		name = dyn_column_identifier(item_span(psprintf("%s_%d", wanted, i)));
	detach->names = lappend(detach->names, makeString(name));
	return name;
}

static void
check_null(void *type)
{
	domain_check((Datum) 0, true, *(const Oid *) type, NULL, NULL);
}

/*
 * Returns the type of a column.  Rows of other entities have NULL there, so it is no domain that refuses
 * NULL.
 */
static ValueType
type_of_column(ValueType type)
{
	ValueType base = type;

	base.sql = getBaseTypeAndTypmod(type.sql, &base.typmod);
	return base.sql == type.sql || attempt(check_null, &type.sql) == NULL ? type : base;
}

static void
add_column(Detach *detach, ItemSpan stored, ValueType type, const char *name, bool is_key)
{
	DetachColumn *column = palloc(sizeof(DetachColumn));

	*column = (DetachColumn){stored, type, type_of_column(type), name, is_key};
	detach->columns = lappend(detach->columns, column);
}

/* Returns the column that has an attribute's values of a type. */
const DetachColumn *
detach_column(Detach *detach, ItemSpan stored, ValueType type)
{
	ListCell *cell;

	foreach (cell, detach->columns)
	{
		const DetachColumn *column = lfirst(cell);

		if (item_compare_bytes(column->stored, stored) == 0 &&
			memcmp(&column->type, &type, sizeof(type)) == 0)
			return column;
	}
	add_column(detach, stored, type, new_name(detach, stored), false);
	return llast(detach->columns);
}

/* Returns the column that tells which rows are of an entity. */
const DetachColumn *
detach_type_column(Detach *detach, const Entity *entity)
{
	return detach_column(detach, entity->type_attribute, (ValueType){ITEM_S, TEXTOID, -1});
}

/* Chooses the columns of keys, and those that the entities of the table declare. */
void
detach_choose_columns(Detach *detach, Relation rel)
{
	const DynTable *table = detach->table;
	ListCell *cell;

	detach->entities = entities_of(rel, table);
	for (int i = 0; i < table->nattributes; i++)
	{
		const DynKey *key = &table->keys[i];
		ValueType type = {key->type, dyn_key_column_type(key->type), -1};

		add_column(detach, key->attribute, type, key->column, true);
	}
	foreach (cell, detach->entities)
	{
		const Entity *entity = lfirst(cell);

		detach_type_column(detach, entity);
		for (int i = 0; i < entity->nattributes; i++)
			detach_column(detach, entity->attributes[i].stored, entity->attributes[i].type);
	}
}

/*
 * Their values
 */

/*
 * Returns the name of a row's entity, by the templates of its keys, if no type attribute says it.
 */
static char *
entity_value(const Detach *detach)
{
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "CASE WHEN false THEN ''");
	foreach (cell, detach->entities)
	{
		const Entity *entity = lfirst(cell);

		if (entity->type_attribute.len > 0)
			continue;
		for (int i = 0; i < detach->table->nkeys; i++)
			appendStringInfo(
				&sql, " %s " DYN_INTERNAL ".is_entity(item, %s, %s)", i == 0 ? "WHEN" : "AND",
				quote_literal_cstr(member_definition(entity, &(MemberKey){&entity->keys[i]})),
				quote_identifier(detach->table->keys[i].column));
		appendStringInfo(&sql, " THEN %s", quote_literal_cstr(span_string(entity->name)));
	}
	appendStringInfoString(&sql, " END");
	return sql.data;
}

/* Returns the value of a column in an old row. */
char *
detach_column_value(const Detach *detach, const DetachColumn *column)
{
	if (column->is_key)
		return pstrdup(quote_identifier(column->name));
	if (column->stored.len == 0)
		return entity_value(detach);
	return entity_view_value("item", column->stored, &column->type);
}

/* Strips zeros that end timestamps, as declarations say how many digits of a second there are. */
static const char *
compared_form(const DetachColumn *column, const char *json)
{
	Oid base = getBaseType(column->type.sql);

	if (column->type.type != ITEM_S || (base != TIMESTAMPOID && base != TIMESTAMPTZOID))
		return json;
	return psprintf("pg_catalog.regexp_replace(%s #>> '{}', '[.0]*(Z?)$', E'\\\\1')", json);
}

/*
 * Returns as jsonb what no column has of an item, or not exactly.  A type of SQL may read several
 * forms of a value as one, or round it: a column holds what it would give back as it was stored.
 */
char *
detach_rest_value(const Detach *detach)
{
	const char *extension = detach->table->extension;
	const char *item = psprintf("item::%s.dyn_item", extension);
	StringInfoData held;
	ListCell *cell;

	initStringInfo(&held);
	foreach (cell, detach->columns)
	{
		const DetachColumn *column = lfirst(cell);
		const char *name = quote_literal_cstr(span_string(column->stored));
		const char *again =
			psprintf(DYN_INTERNAL ".to_value(%s, '%s')::pg_catalog.jsonb",
					 detach_column_value(detach, column), value_code(&column->type));
		const char *stored =
			psprintf(DYN_INTERNAL ".get_attribute(%s, %s)::pg_catalog.jsonb", item, name);

		if (column->stored.len > 0)
			appendStringInfo(&held, "%sCASE WHEN %s = %s THEN %s END", held.len > 0 ? ", " : "",
							 compared_form(column, again), compared_form(column, stored), name);
	}
	return psprintf("%s::pg_catalog.jsonb - pg_catalog.array_remove(ARRAY[%s]::pg_catalog.text[], "
					"NULL)",
					item, held.data);
}
