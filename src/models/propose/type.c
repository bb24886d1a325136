/*
 * type.c
 *	  Types of attributes: those of the columns, unless the data or a key asks for another one.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "models/propose/propose.h"

static ItemType
json_type(const ProposeColumn *column)
{
	const ProposeData *data = &column->data;

	if (data->objects && !data->arrays && !data->scalars)
		return ITEM_M;
	if (data->arrays && !data->objects && !data->scalars)
		return ITEM_L;
	return ITEM_S;
}

static bool
is_json(Oid base)
{
	return base == JSONOID || base == JSONBOID;
}

/*
 * Returns the SQL of the text of a column, under the alias src.  A cast of a type that a user has
 * made may call that user's function, so such values are printed and not cast.
 */
const char *
propose_text_sql(const ProposeColumn *column)
{
	const char *name = quote_identifier(column->name);

	if (getBaseType(column->type) < FirstNormalObjectId)
		return psprintf("src.%s::text", name);
	return psprintf("CASE WHEN num_nulls(src.%s) = 0 THEN format('%%s', src.%s) END", name, name);
}

/* The attribute is the text of the value. */
static void
take_text(ProposeColumn *column)
{
	column->value = (ValueType){ITEM_S, TEXTOID, -1};
	column->sql = propose_text_sql(column);
}

static void
choose_in_key(ProposeTable *table, ProposeColumn *column, Oid base)
{
	ItemType type = value_item_type(column->type);

	if (type == ITEM_BOOL || type == ITEM_B)
		column->value.type = ITEM_S;
	else if (is_json(base) || column->value.type == ITEM_L)
	{
		take_text(column);
		propose_remark(&table->remarks, false,
					   "Column %s is in a key, which cannot hold its type %s, so the attribute is "
					   "its text.",
					   column->name, format_type_be(column->type));
	}
}

static void
type_choose(ProposeTable *table, ProposeColumn *column)
{
	Oid base = getBaseType(column->type);
	ItemType type = value_item_type(column->type);

	column->value = value_type_of(column->type, column->typmod);
	if (column->in_key)
		choose_in_key(table, column, base);
	else if (is_json(base))
	{
		column->value.type = json_type(column);
		if (column->value.type == ITEM_S)
			propose_remark(&table->remarks, false,
						   "Column %s holds %s, so the attribute is its text.", column->name,
						   column->data.objects || column->data.arrays || column->data.scalars
							   ? "JSON of several kinds"
							   : "no JSON that says of what kind it is");
	}
	if (!column->data.unstorable)
		return;
	if (type == ITEM_N)
		column->value.type = ITEM_S;
	else
		take_text(column);
	propose_remark(
		&table->remarks, false,
		"Column %s, or one on the other side of a foreign key, holds values that no %s can "
		"hold (NaN, infinity, more than 38 digits, or years outside of 1 to 9999), so the "
		"attribute is their text.",
		column->name, type == ITEM_N ? "N" : "timestamp");
}

/* A column without values, of which nothing is known, has those of the other one. */
static bool
share_data(ProposeColumn *column, ProposeColumn *other)
{
	ProposeData *a = &column->data;
	ProposeData *b = &other->data;
	bool changed = a->unstorable != b->unstorable || a->digits != b->digits;

	a->unstorable = b->unstorable = a->unstorable || b->unstorable;
	a->digits = b->digits = Max(a->digits, b->digits);
	return changed;
}

/* Chooses the types of all attributes. */
void
propose_types(Proposal *proposal)
{
	propose_share(proposal, share_data);
	for (int i = 0; i < proposal->ntables; i++)
	{
		for (int k = 0; k < proposal->tables[i].ncolumns; k++)
			type_choose(&proposal->tables[i], &proposal->tables[i].columns[k]);
	}
}

/* Returns whether all values of a column are integers that a key can pad. */
bool
propose_is_integer(const ProposeColumn *column)
{
	return column->value.type == ITEM_N && value_item_type(column->type) == ITEM_N &&
		   value_sort_format(&column->value) != NULL && !column->data.fractions &&
		   !column->data.negative;
}
