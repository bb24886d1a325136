/*
 * step.c
 *	  The statement of the migration, with a step for each entity.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "item/json_writer.h"
#include "models/propose/propose.h"

static void
write_step_attributes(JsonWriter *json, const ProposeTable *table)
{
	bool begun = false;

	for (int i = 0; i < table->ncolumns; i++)
	{
		const ProposeColumn *column = &table->columns[i];

		if (column->sql == NULL && strcmp(column->attribute, column->name) == 0)
			continue;
		if (!begun)
			json_write_begin(json, "attributes");
		begun = true;
		json_write_member(json, item_span(column->attribute));
		json_write_string(json, NULL, column->sql != NULL ? column->sql : column->name);
	}
	if (begun)
		json_write_end(json);
}

/* Writes {"column of the parent": "column"}, or the other way round of children. */
static void
write_on(JsonWriter *json, const ProposeForeignKey *foreign, const ProposeTable *table,
		 bool of_children)
{
	json_write_begin(json, "on");
	for (int i = 0; i < list_length(foreign->columns); i++)
	{
		const char *column = table->columns[list_nth_int(foreign->columns, i)].name;
		const char *parent =
			foreign->parent->columns[list_nth_int(foreign->parent_columns, i)].name;

		json_write_member(json, item_span(of_children ? column : parent));
		json_write_string(json, NULL, of_children ? parent : column);
	}
	json_write_end(json);
}

/* Writes all that is copied from the parent of one foreign key. */
static void
write_parent(JsonWriter *json, const ProposeEntity *entity, const ProposeForeignKey *foreign)
{
	ListCell *cell;

	json_write_member(json, item_span(foreign->name));
	json_write_begin(json, NULL);
	json_write_string(json, "from", foreign->parent->qualified);
	write_on(json, foreign, entity->table, false);
	json_write_begin(json, "attributes");
	foreach (cell, entity->copies)
	{
		const ProposeCopy *copy = lfirst(cell);

		if (copy->foreign != foreign)
			continue;
		json_write_member(json, item_span(copy->attribute));
		json_write_string(json, NULL, copy->column->name);
	}
	json_write_end(json);
	json_write_end(json);
}

static char *
parents_json(const ProposeEntity *entity)
{
	JsonWriter json = json_writer(JSON_SPACED);
	const ProposeForeignKey *last = NULL;
	ListCell *cell;

	appendStringInfoString(json.text, ", ");
	json_write_begin(&json, "parents");
	foreach (cell, entity->copies)
	{
		const ProposeCopy *copy = lfirst(cell);

		if (copy->foreign != last)
			write_parent(&json, entity, copy->foreign);
		last = copy->foreign;
	}
	json_write_end(&json);
	return json.text->data;
}

/* Writes the columns of a child but those that refer to the parent. */
static void
write_values(JsonWriter *json, const ProposeList *list)
{
	const ProposeTable *table = list->child->table;
	const char *alias = quote_identifier(table->name);

	json_write_begin(json, "value");
	for (int i = 0; i < table->ncolumns; i++)
	{
		if (list_member_int(list->foreign->columns, i))
			continue;
		json_write_member(json, item_span(table->columns[i].name));
		json_write_string(json, NULL,
						  psprintf("%s.%s", alias, quote_identifier(table->columns[i].name)));
	}
	json_write_end(json);
}

/* A primary key orders a list by itself. */
static void
write_order(JsonWriter *json, const ProposeTable *table)
{
	const char *alias = quote_identifier(table->name);
	ListCell *cell;

	if (table->key_is_primary)
		return;
	json_write_begin_array(json, "order");
	foreach (cell, table->key)
		json_write_string(
			json, NULL,
			psprintf("%s.%s", alias, quote_identifier(table->columns[lfirst_int(cell)].name)));
	json_write_end_array(json);
}

static char *
children_json(const ProposeEntity *entity)
{
	JsonWriter json = json_writer(JSON_SPACED);
	ListCell *cell;

	appendStringInfoString(json.text, ", ");
	json_write_begin(&json, "children");
	foreach (cell, entity->lists)
	{
		const ProposeList *list = lfirst(cell);

		json_write_member(&json, item_span(list->attribute));
		json_write_begin(&json, NULL);
		json_write_string(&json, "from", list->child->table->qualified);
		write_on(&json, list->foreign, list->child->table, true);
		json_write_string(&json, "as", "list");
		write_order(&json, list->child->table);
		write_values(&json, list);
		json_write_end(&json);
	}
	json_write_end(&json);
	return json.text->data;
}

/* Returns a step without the brace at its end. */
static char *
step_json(const ProposeEntity *entity, const char *before)
{
	const ProposeTable *table = entity->table;
	JsonWriter json = json_writer(JSON_SPACED);
	ListCell *cell;

	appendStringInfoString(json.text, before);
	json_write_begin(&json, NULL);
	json_write_string(&json, "entity", entity->name);
	json_write_string(&json, "from", table->qualified);
	if (!table->key_is_primary)
	{
		json_write_begin_array(&json, "key");
		foreach (cell, table->key)
			json_write_string(&json, NULL, table->columns[lfirst_int(cell)].name);
		json_write_end_array(&json);
	}
	write_step_attributes(&json, table);
	return json.text->data;
}

static void
append_step(StringInfo out, const ProposeEntity *entity, const char *before)
{
	char *json = step_json(entity, before);

	if (entity->copies == NIL && entity->lists == NIL)
	{
		propose_piece(out, psprintf("%s}", json));
		return;
	}
	propose_piece(out, json);
	if (entity->copies != NIL)
		propose_option(out, parents_json(entity));
	if (entity->lists != NIL)
		propose_option(out, children_json(entity));
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
