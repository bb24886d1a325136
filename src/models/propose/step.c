/*
 * step.c
 *	  The statement of the migration, with a step for each entity.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "models/propose/propose.h"

/* Returns which attributes are no columns of the same names. */
static const char *
attributes_json(const ProposeTable *table)
{
	const char *members = "";

	for (int i = 0; i < table->ncolumns; i++)
	{
		const ProposeColumn *column = &table->columns[i];

		if (column->sql != NULL || strcmp(column->attribute, column->name) != 0)
			members = propose_member(members, column->attribute,
									 column->sql != NULL ? column->sql : column->name);
	}
	return *members == '\0' ? "" : psprintf(", \"attributes\": {%s}", members);
}

/* Returns {"column of the parent": "column"}, or the other way round of children. */
static const char *
on_json(const ProposeForeignKey *foreign, const ProposeTable *table, bool of_children)
{
	const char *members = "";

	for (int i = 0; i < list_length(foreign->columns); i++)
	{
		const char *column = table->columns[list_nth_int(foreign->columns, i)].name;
		const char *parent =
			foreign->parent->columns[list_nth_int(foreign->parent_columns, i)].name;

		members =
			propose_member(members, of_children ? column : parent, of_children ? parent : column);
	}
	return psprintf("\"on\": {%s}", members);
}

/* Returns all that is copied from the parent of one foreign key. */
static const char *
parent_json(const ProposeEntity *entity, const ProposeForeignKey *foreign)
{
	const char *attributes = "";
	ListCell *cell;

	foreach (cell, entity->copies)
	{
		const ProposeCopy *copy = lfirst(cell);

		if (copy->foreign == foreign)
			attributes = propose_member(attributes, copy->attribute, copy->column->name);
	}
	return psprintf("%s: {\"from\": %s, %s, \"attributes\": {%s}}", propose_string(foreign->name),
					propose_string(foreign->parent->qualified),
					on_json(foreign, entity->table, false), attributes);
}

static const char *
parents_json(const ProposeEntity *entity)
{
	const char *parents = "";
	const ProposeForeignKey *last = NULL;
	ListCell *cell;

	foreach (cell, entity->copies)
	{
		const ProposeCopy *copy = lfirst(cell);

		if (copy->foreign != last)
			parents = propose_add(parents, ", ", parent_json(entity, copy->foreign));
		last = copy->foreign;
	}
	return psprintf(", \"parents\": {%s}", parents);
}

/* Returns the columns of the key, as a migration looks for them in the table or in children. */
static const char *
key_json(const ProposeTable *table, bool of_children)
{
	const char *columns = "";
	ListCell *cell;

	foreach (cell, table->key)
	{
		const char *name = table->columns[lfirst_int(cell)].name;

		if (of_children)
			name = psprintf("%s.%s", quote_identifier(table->name), quote_identifier(name));
		columns = propose_add(columns, ", ", propose_string(name));
	}
	/* a primary key is known, and orders a list by itself */
	return table->key_is_primary
			   ? ""
			   : psprintf(", \"%s\": [%s]", of_children ? "order" : "key", columns);
}

/* Returns a list of children, with their columns but those that refer to the parent. */
static const char *
child_json(const ProposeList *list)
{
	const ProposeTable *table = list->child->table;
	const char *values = "";

	for (int i = 0; i < table->ncolumns; i++)
	{
		const char *name = table->columns[i].name;

		if (!list_member_int(list->foreign->columns, i))
			values = propose_member(
				values, name,
				psprintf("%s.%s", quote_identifier(table->name), quote_identifier(name)));
	}
	return psprintf("%s: {\"from\": %s, %s, \"as\": \"list\"%s, \"value\": {%s}}",
					propose_string(list->attribute), propose_string(table->qualified),
					on_json(list->foreign, table, true), key_json(table, true), values);
}

static const char *
children_json(const ProposeEntity *entity)
{
	const char *children = "";
	ListCell *cell;

	foreach (cell, entity->lists)
		children = propose_add(children, ", ", child_json(lfirst(cell)));
	return psprintf(", \"children\": {%s}", children);
}

static void
append_step(StringInfo out, const ProposeEntity *entity, const char *before)
{
	const ProposeTable *table = entity->table;
	bool whole = entity->copies == NIL && entity->lists == NIL;

	propose_piece(out, psprintf("%s{\"entity\": %s, \"from\": %s%s%s%s", before,
								propose_string(entity->name), propose_string(table->qualified),
								key_json(table, false), attributes_json(table), whole ? "}" : ""));
	if (entity->copies != NIL)
		propose_option(out, parents_json(entity));
	if (entity->lists != NIL)
		propose_option(out, children_json(entity));
	if (!whole)
		propose_piece(out, "}");
}

/* Returns the statement that declares the migration. */
char *
propose_print_migration(const Proposal *proposal)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	propose_comment(&out, "Each step makes items of the rows of one table.  Attributes are the "
						  "columns of the same names.");
	propose_call(&out, proposal, "dyn_create_migration");
	appendStringInfo(&out, ", %s,", quote_literal_cstr(proposal->migration));
	foreach (cell, proposal->entities)
		append_step(&out, lfirst(cell), cell == list_head(proposal->entities) ? "[" : ", ");
	propose_piece(&out, "]");
	appendStringInfoString(&out, ");");
	return out.data;
}
