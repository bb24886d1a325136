/*
 * caution.c
 *	  What a person should know about a table that no choice depends on.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "models/propose/propose.h"

/* A value of so many bytes may make an item too large. */
#define LARGE_VALUE (300 * 1024)

/* Returns whether values that SQL holds for equal may differ as text. */
static bool
has_loose_equality(const ProposeColumn *column)
{
	Oid base = getBaseType(column->type);

	if (OidIsValid(column->collation) && !get_collation_isdeterministic(column->collation))
		return true;
	/* 1.0 and 1.00, as text */
	if (value_item_type(base) == ITEM_N && column->value.type == ITEM_S)
		return true;
	return base == INTERVALOID || base == TIMETZOID || value_is_citext(base);
}

static void
warn_of_column(ProposeTable *table, const ProposeColumn *column)
{
	if (column->in_key && has_loose_equality(column))
		propose_remark(
			&table->remarks, true,
			"Column %s is in a key, and values of it that SQL holds for equal can differ "
			"as text, which makes different keys: are they always written alike?",
			column->name);
	if (column->data.longest > LARGE_VALUE)
		propose_remark(
			&table->remarks, true,
			"Column %s holds values of up to %d bytes, and an item has at most 400 kB: are "
			"the large ones to be kept elsewhere?",
			column->name, (int) column->data.longest);
	if (column->generated)
		propose_remark(&table->remarks, false,
					   "Column %s is generated: programs that write items have to compute it.",
					   column->name);
	if (column->identity)
		propose_remark(
			&table->remarks, false,
			"Column %s is numbered by a sequence: programs that write items have to make "
			"the number.",
			column->name);
}

/* Returns whether an owner may be named, and no foreign key before says so. */
static bool
may_be_owned(const ProposeTable *table, const ProposeForeignKey *foreign)
{
	if (!foreign->required || !foreign->to_key || foreign->parent == table ||
		table->entity->owner != NULL)
		return false;
	for (const ProposeForeignKey *other = table->foreign; other < foreign; other++)
	{
		if (other->parent == foreign->parent && other->required && other->to_key)
			return false;
	}
	return true;
}

static void
tell_of_foreign_key(ProposeTable *table, const ProposeForeignKey *foreign)
{
	if (foreign->parent == NULL)
	{
		propose_remark(&table->remarks, false,
					   "Foreign key %s (%s) refers to %s, which is not among the entities, so no "
					   "index is made for it.",
					   foreign->name, propose_columns(table, foreign->columns),
					   get_rel_name(foreign->parent_relid));
		return;
	}
	if (foreign->most > 0)
		propose_remark(&table->remarks, false,
					   "By %s there are %.1f on average and %.0f at most for each %s that has any.",
					   propose_columns(table, foreign->columns), foreign->average, foreign->most,
					   foreign->parent->entity->name);
	if (may_be_owned(table, foreign))
		propose_remark(&table->remarks, false,
					   "To have it in the collection of its %s, call with {\"%s\": \"%s\"} in "
					   "owners.",
					   foreign->parent->entity->name, table->entity->name,
					   foreign->parent->entity->name);
}

static void
warn_of_table(ProposeTable *table)
{
	if (table->has_children)
		propose_remark(
			&table->remarks, true,
			"Other tables inherit from it, and their rows become items too: do all of these "
			"differ in the key?");
	if (table->unseen != NULL)
		propose_remark(
			&table->remarks, true,
			"Its rows were not looked at, because %s.  So widths of numbers are those of their "
			"types, and nothing is known of values that keys cannot hold: will the migration run "
			"as a role that sees all rows?",
			table->unseen);
	else if (table->rows < 1)
		propose_remark(&table->remarks, false,
					   "It is empty, so widths of numbers are those of their types.");
}

/* Adds remarks on all tables. */
void
propose_cautions(Proposal *proposal)
{
	for (int i = 0; i < proposal->ntables; i++)
	{
		ProposeTable *table = &proposal->tables[i];

		warn_of_table(table);
		for (int k = 0; k < table->ncolumns; k++)
			warn_of_column(table, &table->columns[k]);
		for (int k = 0; k < table->nforeign && table->entity != NULL; k++)
			tell_of_foreign_key(table, &table->foreign[k]);
		if (table->entity != NULL)
			propose_remark_unpadded(table->entity);
	}
}
