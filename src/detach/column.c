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
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "detach/detach.h"
#include "ground/extension.h"
#include "view/member.h"

#define ENTITY_COLUMN "entity"

static bool
same(ItemSpan a, ItemSpan b)
{
	return item_compare_bytes(a, b) == 0;
}

/* A string as SQL has it. */
char *
detach_literal(ItemSpan text)
{
	return quote_literal_cstr(pnstrdup(text.data, text.len));
}

/* Types without their modifiers, as views of entities have them. */
char *
detach_type_sql(Oid type)
{
	return format_type_extended(type, -1, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
}

static const DynKey *
key_of(const DynTable *table, ItemSpan attribute)
{
	for (int i = 0; i < table->nattributes; i++)
	{
		if (same(table->keys[i].attribute, attribute))
			return &table->keys[i];
	}
	return NULL;
}

/* The column of a key attribute. */
const char *
detach_key_column(const Detach *detach, ItemSpan attribute)
{
	const DynKey *key = key_of(detach->table, attribute);

	return key == NULL ? NULL : quote_identifier(key->column);
}

/*
 * Which columns there are
 */

static DetachColumn *
find_column(const Detach *detach, ItemSpan stored, const ValueType *type)
{
	ListCell *cell;

	foreach (cell, detach->columns)
	{
		DetachColumn *column = lfirst(cell);

		if (same(column->stored, stored) && column->type.type == type->type &&
			column->type.sql == type->sql)
			return column;
	}
	return NULL;
}

static DetachColumn *
make_column(const Detach *detach, ItemSpan stored, const ValueType *type)
{
	DetachColumn *column = palloc0(sizeof(DetachColumn));
	const DynKey *key = key_of(detach->table, stored);

	column->stored = stored;
	column->type = *type;
	if (key != NULL && key->type == type->type && dyn_key_column_type(key->type) == type->sql)
	{
		column->is_key = true;
		column->name = key->column;
	}
	return column;
}

/* The column of an attribute as an entity declares it; entity is NULL if it is to show all items'. */
DetachColumn *
detach_add_column(Detach *detach, ItemSpan stored, const ValueType *type, const Entity *entity)
{
	DetachColumn *column = find_column(detach, stored, type);

	if (column == NULL)
	{
		column = make_column(detach, stored, type);
		detach->columns = lappend(detach->columns, column);
	}
	if (entity == NULL)
		column->for_all = true;
	else
		column->entities = list_append_unique_ptr(column->entities, (void *) entity);
	return column;
}

static void
add_entity(Detach *detach, const Entity *entity)
{
	static const ValueType text_type = {ITEM_S, TEXTOID, -1};

	if (entity->type_attribute.len > 0)
		detach_add_column(detach, entity->type_attribute, &text_type, NULL);
	else
		detach->entity_column = ENTITY_COLUMN;
	for (int i = 0; i < entity->nattributes; i++)
		detach_add_column(detach, entity->attributes[i].stored, &entity->attributes[i].type,
						  entity);
}

/* The columns that the entities of the table declare. */
void
detach_choose_columns(Detach *detach, Relation rel)
{
	ListCell *cell;

	foreach (cell, entities_of(rel, detach->table))
		add_entity(detach, lfirst(cell));
}

/*
 * Their names
 */

static bool
is_taken(const Detach *detach, const char *name)
{
	ListCell *cell;

	if (get_attnum(detach->relid, name) != InvalidAttrNumber)
		return true;
	if (detach->entity_column != NULL && strcmp(detach->entity_column, name) == 0)
		return true;
	foreach (cell, detach->columns)
	{
		const DetachColumn *column = lfirst(cell);

		if (column->name != NULL && strcmp(column->name, name) == 0)
			return true;
	}
	return false;
}

static char *
identifier(const char *name)
{
	return dyn_column_identifier((ItemSpan){name, (uint32) strlen(name)});
}

static char *
numbered(const Detach *detach, const char *wanted)
{
	char *name = identifier(wanted);

	for (int i = 2; is_taken(detach, name); i++)
		name = identifier(psprintf("%s_%d", wanted, i));
	return name;
}

static bool
has_another(const Detach *detach, const DetachColumn *column)
{
	ListCell *cell;

	foreach (cell, detach->columns)
	{
		const DetachColumn *other = lfirst(cell);

		if (other != column && !other->is_key && same(other->stored, column->stored))
			return true;
	}
	return false;
}

/* The attribute's, with the entity's before it where one attribute has several columns. */
static char *
column_name(const Detach *detach, const DetachColumn *column)
{
	const Entity *entity;

	if (!column->shared || column->for_all)
		return numbered(detach, pnstrdup(column->stored.data, column->stored.len));
	entity = linitial(column->entities);
	return numbered(detach, psprintf("%.*s_%.*s", (int) entity->name.len, entity->name.data,
									 (int) column->stored.len, column->stored.data));
}

/* Names for all columns that are new. */
void
detach_name_columns(Detach *detach)
{
	ListCell *cell;

	if (detach->entity_column != NULL)
	{
		detach->entity_column = NULL;
		detach->entity_column = numbered(detach, ENTITY_COLUMN);
	}
	foreach (cell, detach->columns)
	{
		DetachColumn *column = lfirst(cell);

		column->shared = has_another(detach, column);
		if (!column->is_key)
			column->name = column_name(detach, column);
	}
}

/*
 * Their values
 */

/* Whether an item is of an entity, by the templates of the table's keys. */
static char *
entity_condition(const Detach *detach, const Entity *entity)
{
	const char *word = "";
	StringInfoData sql;

	initStringInfo(&sql);
	for (int i = 0; i < entity->nkeys; i++)
	{
		const EntityKey *key = &entity->keys[i];

		if (!key->of_table)
			continue;
		appendStringInfo(&sql, "%s" DYN_INTERNAL ".is_entity(%s, %s, %s)", word,
						 quote_identifier(DYN_ITEM_COLUMN),
						 quote_literal_cstr(member_definition(entity, key, false)),
						 detach_key_column(detach, key->attribute));
		word = " AND ";
	}
	return sql.data;
}

static char *
attribute_value(ItemSpan stored, ItemType type, const char *sql_type)
{
	return psprintf(DYN_INTERNAL ".attribute(%s, %s, '%s', NULL::%s)",
					quote_identifier(DYN_ITEM_COLUMN), detach_literal(stored), item_type_code(type),
					sql_type);
}

/* The value of a new column in an old row. */
char *
detach_column_value(const Detach *detach, const DetachColumn *column)
{
	char *value =
		attribute_value(column->stored, column->type.type, detach_type_sql(column->type.sql));
	StringInfoData sql;
	ListCell *cell;

	if (!column->shared || column->for_all)
		return value;
	initStringInfo(&sql);
	appendStringInfoString(&sql, "CASE WHEN ");
	foreach (cell, column->entities)
		appendStringInfo(&sql, "%s(%s)", foreach_current_index(cell) > 0 ? " OR " : "",
						 entity_condition(detach, lfirst(cell)));
	appendStringInfo(&sql, " THEN %s END", value);
	return sql.data;
}

/* The name of a row's entity, of those without a type attribute. */
char *
detach_entity_value(const Detach *detach, Relation rel)
{
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "CASE");
	foreach (cell, entities_of(rel, detach->table))
	{
		const Entity *entity = lfirst(cell);

		if (entity->type_attribute.len == 0)
			appendStringInfo(&sql, " WHEN %s THEN %s", entity_condition(detach, entity),
							 detach_literal(entity->name));
	}
	appendStringInfoString(&sql, " END");
	return sql.data;
}

/* A key is left in the item where its column has it in another form. */
static void
append_key(StringInfo sql, const DynKey *key)
{
	const char *type = format_type_be(dyn_key_column_type(key->type));

	appendStringInfo(sql, "%sCASE WHEN %s = %s THEN %s END", sql->len > 0 ? ", " : "",
					 attribute_value(key->attribute, key->type, type),
					 quote_identifier(key->column), detach_literal(key->attribute));
}

/* A timestamp as text, without zeros at the end of its seconds: declarations say how many there are. */
#define WITHOUT_ZEROS \
	"pg_catalog.regexp_replace(pg_catalog.regexp_replace(%s, E'\\\\.0+(Z?)$', E'\\\\1'), " \
	"E'(\\\\.[0-9]*[1-9])0+(Z?)$', E'\\\\1\\\\2')"

static bool
is_timestamp_text(const ValueType *type)
{
	Oid base = getBaseType(type->sql);

	return type->type == ITEM_S && (base == TIMESTAMPOID || base == TIMESTAMPTZOID);
}

/*
 * Whether a column would give the attribute back as it was stored.  A type of SQL may read several
 * forms of a value as one, or round it.
 */
static char *
held_condition(const Detach *detach, const DetachColumn *column)
{
	const char *extension = detach->table->extension;
	char *again = psprintf(DYN_INTERNAL ".to_value(%s, '%s')::pg_catalog.jsonb",
						   detach_column_value(detach, column), item_type_code(column->type.type));
	char *stored =
		psprintf("%s.dyn_attribute(%s::%s.dyn_item, %s)::pg_catalog.jsonb", extension,
				 quote_identifier(DYN_ITEM_COLUMN), extension, detach_literal(column->stored));

	if (!is_timestamp_text(&column->type))
		return psprintf("%s = %s", again, stored);
	return psprintf(WITHOUT_ZEROS " = " WITHOUT_ZEROS, psprintf("%s #>> '{}'", again),
					psprintf("%s #>> '{}'", stored));
}

/* What no column has of an item, or not exactly, as jsonb. */
char *
detach_rest_value(const Detach *detach)
{
	const char *item = quote_identifier(DYN_ITEM_COLUMN);
	StringInfoData held;
	ListCell *cell;

	initStringInfo(&held);
	for (int i = 0; i < detach->table->nattributes; i++)
		append_key(&held, &detach->table->keys[i]);
	foreach (cell, detach->columns)
	{
		const DetachColumn *column = lfirst(cell);

		if (!column->is_key)
			appendStringInfo(&held, ", CASE WHEN %s THEN %s END", held_condition(detach, column),
							 detach_literal(column->stored));
	}
	return psprintf("%s::%s.dyn_item::pg_catalog.jsonb - "
					"pg_catalog.array_remove(ARRAY[%s]::pg_catalog.text[], NULL)",
					item, detach->table->extension, held.data);
}
