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
			if (!column->in_key)
				continue;
			found |= delimiters_of(column);
			if (delimiters_of(column) & 1)
				propose_remark(
					&table->remarks, false,
					"Column %s is in a key and holds \"%c\", which therefore cannot divide "
					"the parts of keys.",
					column->name, candidates[0]);
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
			const ProposeTable *table, int n, const int *columns, bool sorted)
{
	key = add_literal(key, n == 0 ? prefix : psprintf("%s%c", prefix, proposal->delimiter));
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			key = add_literal(key, psprintf("%c", proposal->delimiter));
		key = add_part(key, NULL, columns[i], sorted ? table->columns[columns[i]].width : 0);
	}
	return key;
}

/* Returns the partition key by which an entity is identified. */
ProposeKey *
propose_own_key(const Proposal *proposal, const ProposeEntity *entity)
{
	const ProposeTable *table = entity->table;

	return add_columns(proposal, NIL, entity->prefix, table, table->nkeys, table->keys, false);
}

/* Returns the sort key of the item that a collection is named by: it sorts before all others. */
ProposeKey *
propose_head_key(const ProposeEntity *entity)
{
	return add_literal(NIL, psprintf("#%s", entity->prefix));
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

		if (part->literal != NULL)
		{
			result = add_literal(result, part->literal);
			continue;
		}
		while (i < foreign->ncolumns && foreign->parent_columns[i] != part->column)
			i++;
		if (i == foreign->ncolumns)
			return NIL;
		result = add_part(result, NULL, foreign->columns[i], part->width);
	}
	return result;
}

/*
 * Returns the partition key of what a foreign key refers to, made of the columns that refer to it.
 * If these are not the parent's key, their names are in it too.
 */
ProposeKey *
propose_parent_key(const Proposal *proposal, const ProposeForeignKey *foreign)
{
	const ProposeEntity *parent = foreign->parent->entity;
	StringInfoData prefix;

	if (foreign->to_key)
		return as_referred(propose_own_key(proposal, parent), foreign);
	initStringInfo(&prefix);
	appendStringInfoString(&prefix, parent->prefix);
	for (int i = 0; i < foreign->ncolumns; i++)
		appendStringInfo(
			&prefix, "_%s",
			propose_prefix(parent->table->columns[foreign->parent_columns[i]].attribute));
	return add_columns(proposal, NIL, prefix.data, parent->table, foreign->ncolumns,
					   foreign->columns, false);
}

/*
 * Appends columns, and an entity's own key without these and without the columns by which it refers to
 * a parent.
 */
static ProposeKey *
add_rest(const Proposal *proposal, ProposeKey *key, const ProposeEntity *entity,
		 const ProposeForeignKey *foreign, const List *first)
{
	const ProposeTable *table = entity->table;
	int *rest = palloc((list_length(first) + table->nkeys) * sizeof(int));
	int n = 0;
	ListCell *cell;

	foreach (cell, first)
		rest[n++] = lfirst_int(cell);
	for (int i = 0; i < table->nkeys; i++)
	{
		if (!list_member_int(first, table->keys[i]) &&
			(foreign == NULL || !bms_is_member(table->keys[i], foreign->set)))
			rest[n++] = table->keys[i];
	}
	return add_columns(proposal, key, entity->prefix, table, n, rest, true);
}

/* Returns the sort key of an entity in a collection, that of a parent's children or another one. */
ProposeKey *
propose_child_key(const Proposal *proposal, const ProposeEntity *entity,
				  const ProposeForeignKey *foreign, const List *first)
{
	return add_rest(proposal, NIL, entity, foreign, first);
}

/* Returns a partition key of some columns, whose names are in it; without any, it has all rows. */
ProposeKey *
propose_columns_key(const Proposal *proposal, const ProposeEntity *entity, const Bitmapset *columns)
{
	const ProposeTable *table = entity->table;
	int *members = palloc(table->ncolumns * sizeof(int));
	int n = 0;
	StringInfoData prefix;

	initStringInfo(&prefix);
	appendStringInfoString(&prefix, entity->prefix);
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (!bms_is_member(i, columns))
			continue;
		appendStringInfo(&prefix, "_%s", propose_prefix(table->columns[i].attribute));
		members[n++] = i;
	}
	return add_columns(proposal, NIL, prefix.data, table, n, members, false);
}

/* Sets the table's key: below an owner that is itself in a collection, if the row has its key. */
static void
set_keys(const Proposal *proposal, ProposeEntity *entity)
{
	ProposeEntity *parent;

	check_stack_depth();
	if (entity->partition != NIL)
		return;
	if (entity->owner == NULL)
	{
		entity->partition = propose_own_key(proposal, entity);
		entity->sort = propose_head_key(entity);
		return;
	}
	parent = entity->owner->parent->entity;
	set_keys(proposal, parent);
	if (parent->owner != NULL)
	{
		entity->partition = as_referred(parent->partition, entity->owner);
		entity->sort = as_referred(parent->sort, entity->owner);
	}
	if (entity->partition == NIL || entity->sort == NIL)
	{
		entity->partition = propose_parent_key(proposal, entity->owner);
		entity->sort = NIL;
	}
	else
		entity->sort = add_literal(entity->sort, psprintf("%c", proposal->delimiter));
	entity->sort = add_rest(proposal, entity->sort, entity, entity->owner, NIL);
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
		bool sorts = bms_is_member(i, propose_key_columns(entity->sort));

		for (int k = 0; k < PROPOSE_MAX_INDEXES; k++)
			sorts |= entity->places[k] != NULL &&
					 bms_is_member(i, propose_key_columns(entity->places[k]->sort));
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

/* Returns the columns in a key. */
Bitmapset *
propose_key_columns(const ProposeKey *key)
{
	Bitmapset *columns = NULL;
	ListCell *cell;

	foreach (cell, key)
	{
		const ProposePart *part = lfirst(cell);

		if (part->literal == NULL)
			columns = bms_add_member(columns, part->column);
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
	Bitmapset *columns = propose_key_columns(key);
	int i = -1;

	while ((i = bms_next_member(columns, i)) >= 0 && table->columns[i].required)
		continue;
	return i < 0;
}
