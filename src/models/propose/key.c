/*
 * key.c
 *	  Templates of keys: their parts, the delimiter between these, and the widths of numbers.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "models/propose/propose.h"

/* A padded number has so many digits more than the largest one that was seen. */
#define SPARE_DIGITS 3

/* A value of more bytes leaves too little for the rest of a key: all keys have about 2,690. */
#define LONG_VALUE 900

/*
 * Widths of numbers
 */

/* Returns the number of digits that a number of the column can have. */
static int
type_digits(const ProposeColumn *column)
{
	int32 typmod = column->typmod;

	if (getBaseTypeAndTypmod(column->type, &typmod) == NUMERICOID && typmod < 0)
		return ITEM_NUMBER_DIGITS;
	return atoi(value_sort_format(&column->value));
}

/* Returns the width to pad values to; 0: they are not padded. */
static int
width_of(const ProposeColumn *column)
{
	if (!propose_is_integer(column))
		return 0;
	if (column->data.digits == 0)
		return type_digits(column);
	return Min((int) column->data.digits + SPARE_DIGITS, type_digits(column));
}

static bool
share_width(ProposeColumn *a, ProposeColumn *b)
{
	bool changed = a->width != b->width;

	a->width = b->width = a->width == 0 || b->width == 0 ? 0 : Max(a->width, b->width);
	return changed;
}

/* Chooses how numbers are padded in sort keys. */
void
propose_widths(Proposal *proposal)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		for (int k = 0; k < proposal->tables[i].ncolumns; k++)
			proposal->tables[i].columns[k].width = width_of(&proposal->tables[i].columns[k]);
	}
	propose_share(proposal, share_width);
}

/*
 * The delimiter
 */

static uint32
delimiters_of(const ProposeColumn *column)
{
	const char *slash = strchr(PROPOSE_DELIMITERS, '/');

	if ((!column->in_key && !column->asked) || column->value.type != ITEM_S)
		return 0;
	/* base64 */
	if (getBaseType(column->value.sql) == BYTEAOID)
		return 1 << (slash - PROPOSE_DELIMITERS);
	return column->data.delimiters;
}

static void
remark_key_values(ProposeTable *table, const ProposeColumn *column)
{
	if (!column->in_key)
		return;
	if (column->data.empty)
		propose_remark(&table->remarks, true,
					   "Column %s is in a key and holds empty strings, which no key can hold: what "
					   "are these rows to become?",
					   column->name);
	if (column->data.longest > LONG_VALUE)
		propose_remark(&table->remarks, true,
					   "Column %s is in a key and holds values of up to %d bytes: do they fit into "
					   "its keys?",
					   column->name, (int) column->data.longest);
	if (delimiters_of(column) & 1)
		propose_remark(&table->remarks, false,
					   "Column %s is in a key and holds \"%c\", which therefore cannot divide "
					   "the parts of keys.",
					   column->name, PROPOSE_DELIMITERS[0]);
}

/* Chooses the first delimiter that no value in a key has. */
void
propose_delimiter(Proposal *proposal)
{
	const char *candidates = PROPOSE_DELIMITERS;
	uint32 found = 0;
	int i = 0;

	for (int t = 0; t < proposal->ntables; t++)
	{
		ProposeTable *table = &proposal->tables[t];

		for (int k = 0; k < table->ncolumns; k++)
		{
			ProposeColumn *column = &table->columns[k];

			remark_key_values(table, column);
			found |= column->in_key ? delimiters_of(column) : 0;
		}
	}
	/* questions do not take the last one away */
	for (int t = 0; t < proposal->ntables; t++)
	{
		for (int k = 0; k < proposal->tables[t].ncolumns; k++)
		{
			ProposeColumn *column = &proposal->tables[t].columns[k];
			uint32 with = found | delimiters_of(column);

			column->asked &= column->in_key || with != (1 << strlen(candidates)) - 1;
			found = column->asked ? with : found;
		}
	}
	while (candidates[i] != '\0' && (found >> i & 1) != 0)
		i++;
	if (candidates[i] == '\0')
	{
		propose_remark(&proposal->remarks, true,
					   "Each of the characters %s is in a value of some key: what is to divide the "
					   "parts of keys?",
					   candidates);
		i = 0;
	}
	proposal->delimiter = candidates[i];
}

/*
 * Parts
 */

static ProposeKey *
add_part(ProposeKey *key, const char *literal, int column, int width)
{
	ProposePart *part = palloc(sizeof(ProposePart));

	*part = (ProposePart){literal, column, width};
	return lappend(key, part);
}

static ProposeKey *
add_literal(ProposeKey *key, const char *literal)
{
	return add_part(key, literal, -1, 0);
}

/* Appends "E#<a>#<b>" to a key, or "E" without columns. */
static ProposeKey *
add_columns(const Proposal *proposal, ProposeKey *key, const char *prefix,
			const ProposeTable *table, const List *columns, bool sorted)
{
	const char *between = psprintf("%c", proposal->delimiter);
	ListCell *cell;

	key = add_literal(key, columns == NIL ? prefix : psprintf("%s%s", prefix, between));
	foreach (cell, columns)
	{
		int i = lfirst_int(cell);

		if (cell != list_head(columns))
			key = add_literal(key, between);
		key = add_part(key, NULL, i, sorted ? table->columns[i].width : 0);
	}
	return key;
}

/* Does the same with the names of the columns in the prefix. */
static ProposeKey *
named_key(const Proposal *proposal, const ProposeEntity *entity, const List *names,
		  const List *columns)
{
	const char *prefix = entity->prefix;
	ListCell *cell;

	foreach (cell, names)
		prefix = psprintf("%s_%s", prefix,
						  propose_prefix(entity->table->columns[lfirst_int(cell)].attribute));
	return add_columns(proposal, NIL, prefix, entity->table, columns, false);
}

/* Returns the partition key by which an entity is identified. */
static ProposeKey *
own_key(const Proposal *proposal, const ProposeEntity *entity)
{
	const ProposeTable *table = entity->table;

	return add_columns(proposal, NIL, entity->prefix, table, table->key, false);
}

/* Returns the key of the rows that refer to it; NIL if the foreign key does not have all of it. */
static ProposeKey *
as_referred(const ProposeKey *key, const ProposeForeignKey *foreign)
{
	ProposeKey *result = NIL;
	ListCell *cell;

	foreach (cell, key)
	{
		const ProposePart *part = lfirst(cell);
		int i = 0;

		if (part->literal == NULL && !list_member_int(foreign->parent_columns, part->column))
			return NIL;
		while (part->literal == NULL && list_nth_int(foreign->parent_columns, i) != part->column)
			i++;
		result = add_part(result, part->literal, list_nth_int(foreign->columns, i), part->width);
	}
	return result;
}

/*
 * Returns the partition key of what a foreign key refers to, made of the columns that refer to it.
 * If these are not the parent's key, their names are in it too.
 */
static ProposeKey *
parent_key(const Proposal *proposal, const ProposeForeignKey *foreign)
{
	const ProposeEntity *parent = foreign->parent->entity;

	if (foreign->to_key)
		return as_referred(own_key(proposal, parent), foreign);
	return named_key(proposal, parent, foreign->parent_columns, foreign->columns);
}

/*
 * Appends columns, and an entity's own key without these and without the columns by which it refers to
 * a parent.
 */
static ProposeKey *
add_rest(const Proposal *proposal, ProposeKey *key, const ProposeEntity *entity,
		 const ProposeForeignKey *foreign, const List *first)
{
	List *rest = list_difference_int(entity->table->key, first);

	if (foreign != NULL)
		rest = list_difference_int(rest, foreign->columns);
	return add_columns(proposal, key, entity->prefix, entity->table, list_concat_copy(first, rest),
					   true);
}

/*
 * Returns a place by columns: by a foreign key or the table's key, if they are these.  sort: the columns
 * that its sort key begins with.
 */
ProposePlace *
propose_make_place(const Proposal *proposal, ProposeEntity *entity, const List *columns,
				   const List *sort)
{
	const ProposeTable *table = entity->table;
	const ProposeForeignKey *foreign = NULL;
	ProposePlace *place = palloc(sizeof(ProposePlace));

	for (int i = 0; i < table->nforeign; i++)
		foreign = table->foreign[i].columns == columns ? &table->foreign[i] : foreign;
	*place = (ProposePlace){PLACE_COLUMNS, foreign, .entity = entity, .index = -1};
	place->sort = add_rest(proposal, NIL, entity, foreign, sort);
	if (foreign != NULL)
	{
		place->purpose = PLACE_PARENT;
		place->partition = parent_key(proposal, foreign);
	}
	else if (columns == table->key)
	{
		place->purpose = PLACE_OWN;
		place->partition = own_key(proposal, entity);
		/* it sorts before all others of the collection that is named by it */
		place->sort = add_literal(NIL, psprintf("#%s", entity->prefix));
	}
	else
		place->partition = named_key(proposal, entity, columns, columns);
	return place;
}

/*
 * Puts the item of a parent behind those that refer to it: who reads these backward begins with it.
 * What they are sorted by has no "~".
 */
void
propose_add_head(const Proposal *proposal, ProposePlace *place, ProposeEntity *parent)
{
	const char *sort = psprintf("%s~%s", propose_first_literal(place->sort), parent->prefix);

	place->head = propose_make_place(proposal, parent, parent->table->key, NIL);
	place->head->purpose = PLACE_HEAD;
	place->head->sort = add_literal(NIL, sort);
}

/* Sets the table's key: below an owner that is itself in a collection, if the row has its key. */
static void
set_keys(const Proposal *proposal, ProposeEntity *entity)
{
	const ProposeForeignKey *owner = entity->owner;
	ProposePlace *place;
	ProposePlace *above;

	check_stack_depth();
	if (entity->places[0] != NULL)
		return;
	place = propose_make_place(proposal, entity,
							   owner == NULL ? entity->table->key : owner->columns, NIL);
	place->index = 0;
	entity->places[0] = place;
	if (owner == NULL)
		return;
	set_keys(proposal, owner->parent->entity);
	above = owner->parent->entity->places[0];
	if (above->foreign == NULL || as_referred(above->partition, owner) == NIL ||
		as_referred(above->sort, owner) == NIL)
		return;
	place->partition = as_referred(above->partition, owner);
	place->sort = add_literal(as_referred(above->sort, owner), psprintf("%c", proposal->delimiter));
	place->sort = add_rest(proposal, place->sort, entity, owner, NIL);
}

/* Chooses the keys of the table of all entities. */
void
propose_keys(Proposal *proposal)
{
	ListCell *cell;

	foreach (cell, proposal->entities)
		set_keys(proposal, lfirst(cell));
}

/* Adds remarks on numbers that no key sorts by value. */
void
propose_remark_unpadded(ProposeEntity *entity)
{
	ProposeTable *table = entity->table;

	for (int i = 0; i < table->ncolumns; i++)
	{
		const ProposeColumn *column = &table->columns[i];
		bool sorts = false;

		for (int k = 0; k <= PROPOSE_MAX_INDEXES; k++)
			sorts |= entity->places[k] != NULL &&
					 list_member_int(propose_key_columns(entity->places[k]->sort), i);
		if (sorts && value_item_type(column->type) == ITEM_N && column->width == 0)
			propose_remark(
				&table->remarks, false,
				"Column %s may be negative or have a fraction, so it is not padded in sort "
				"keys, and sorts as text.",
				column->name);
	}
}

/* Returns how templates have a width, ":06"; "" for none. */
const char *
propose_format(int width)
{
	return width == 0 ? "" : psprintf(":0%d", width);
}

/* Returns the template as a declaration has it. */
const char *
propose_key_text(const ProposeEntity *entity, const ProposeKey *key)
{
	StringInfoData text;
	ListCell *cell;

	initStringInfo(&text);
	foreach (cell, key)
	{
		const ProposePart *part = lfirst(cell);

		if (part->literal != NULL)
			appendStringInfoString(&text, part->literal);
		else
			appendStringInfo(&text, "<%s%s>", entity->table->columns[part->column].attribute,
							 propose_format(part->width));
	}
	return text.data;
}

/* Returns the columns in a key, in their order. */
List *
propose_key_columns(const ProposeKey *key)
{
	List *columns = NIL;
	ListCell *cell;

	foreach (cell, key)
	{
		const ProposePart *part = lfirst(cell);

		if (part->literal == NULL)
			columns = lappend_int(columns, part->column);
	}
	return columns;
}

/* Returns what all keys begin with. */
const char *
propose_first_literal(const ProposeKey *key)
{
	return ((const ProposePart *) linitial(key))->literal;
}

/* Returns whether a key can hold all values of a column that is in none of the schema's keys. */
bool
propose_can_be_key(const ProposeColumn *column)
{
	switch (getBaseType(column->value.sql))
	{
		case BPCHAROID:
		case DATEOID:
		case TEXTOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
		case VARCHAROID:
			return column->value.type == ITEM_S && column->sql == NULL && !column->data.empty &&
				   column->data.longest <= LONG_VALUE && (column->in_key || column->asked);
		default:
			return propose_is_integer(column);
	}
}

/* Returns whether all rows have the key: none of its columns can be NULL. */
bool
propose_is_required(const ProposeTable *table, const ProposeKey *key)
{
	ListCell *cell;

	foreach (cell, propose_key_columns(key))
	{
		if (!table->columns[lfirst_int(cell)].required)
			return false;
	}
	return true;
}
