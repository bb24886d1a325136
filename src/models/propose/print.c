/*
 * print.c
 *	  The statements of a proposal, each with the comments before it.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "models/propose/propose.h"
#include "server/extension.h"

/*
 * The table
 */

static char *
index_keys(const Proposal *proposal, int index)
{
	const char *partition = psprintf("%s S", propose_key_name(proposal, index, false));
	const char *sort = psprintf("%s S", propose_key_name(proposal, index, true));

	return propose_member(propose_member("", "partition_key", partition), "sort_key", sort);
}

static char *
print_table(const Proposal *proposal)
{
	StringInfoData out;

	initStringInfo(&out);
	propose_comment(&out, "A migration of %d tables into the one table %s, as it is proposed.",
					proposal->ntables, proposal->target);
	propose_comment(&out, "Nothing is changed yet: read the statements, edit them, and run them.");
	propose_comment(&out, "A line that begins with \"-- ?\" is a question that only a person can "
						  "answer.");
	propose_print_remarks(&out, proposal->remarks);
	if (proposal->nindexes > 0)
		propose_comment(&out, "Each index is shared by entities, and has only items that have its "
							  "keys.");
	propose_call(&out, proposal, "dyn_create_table");
	appendStringInfo(&out, ", %s, %s",
					 quote_literal_cstr(psprintf("%s S", proposal->partition_name)),
					 quote_literal_cstr(psprintf("%s S", proposal->sort_name)));
	if (proposal->nindexes > 0)
		appendStringInfoString(&out, ", global_indexes =>");
	for (int i = 1; i <= proposal->nindexes; i++)
		propose_piece(&out, psprintf("%s%s: {%s}%s", i == 1 ? "{" : ", ",
									 propose_string(propose_index_name(proposal, i)),
									 index_keys(proposal, i), i == proposal->nindexes ? "}" : ""));
	appendStringInfoString(&out, ");");
	return out.data;
}

/*
 * Entities
 */

static char *
keys_json(const Proposal *proposal, const ProposeEntity *entity)
{
	const char *keys = "";

	for (int i = 0; i <= proposal->nindexes; i++)
	{
		const ProposePlace *place = entity->places[i];

		if (place == NULL)
			continue;
		keys = propose_member(keys, propose_key_name(proposal, i, false),
							  propose_key_text(entity, place->partition));
		keys = propose_member(keys, propose_key_name(proposal, i, true),
							  propose_key_text(entity, place->sort));
	}
	return psprintf("{%s}", keys);
}

static char *
attribute_json(const char *before, const char *name, const char *type, bool required)
{
	return psprintf("%s%s: {\"type\": %s%s}", before, propose_string(name), propose_string(type),
					required ? ", \"required\": true" : "");
}

/* Appends the attributes that are offered. */
static void
append_options(StringInfo out, const ProposeEntity *entity)
{
	ListCell *cell;

	foreach (cell, entity->copies)
	{
		const ProposeCopy *copy = lfirst(cell);

		propose_option(out, attribute_json(", ", copy->attribute,
										   value_type_print(&copy->column->value), false));
	}
	foreach (cell, entity->lists)
		propose_option(out, attribute_json(", ", ((const ProposeList *) lfirst(cell))->attribute,
										   "L jsonb", false));
}

static void
explain_owner(StringInfo out, const ProposeEntity *entity)
{
	const ProposeForeignKey *owner = entity->owner;

	if (owner == NULL)
	{
		propose_comment(out, "It has an item collection of its own.");
		return;
	}
	propose_comment(out, "It is in the collection of its %s, by foreign key %s (%s)%s.",
					owner->parent->entity->name, owner->name,
					propose_columns(entity->table, owner->columns),
					list_member_int(entity->table->key, linitial_int(owner->columns))
						? ", which is a part of its key"
						: ", as owners names it");
}

static const char *
place_text(const ProposePlace *place)
{
	const ProposeTable *table = place->entity->table;
	const ProposeForeignKey *foreign = place->foreign;

	switch (place->purpose)
	{
		case PLACE_OWN:
			return psprintf("by its own key %s, without that of its owner",
							propose_columns(table, table->key));
		case PLACE_PARENT:
			return psprintf("all of one %s, by foreign key %s (%s)%s",
							foreign->parent->entity->name, foreign->name,
							propose_columns(table, foreign->columns),
							foreign->required ? "" : "; without it an item is not in the index");
		case PLACE_COLUMNS:
			return list_length(place->partition) == 1
					   ? "all of them, as questions ask"
					   : psprintf("by %s, as questions ask",
								  propose_key_text(place->entity, place->partition));
		case PLACE_HEAD:
			return "behind the items that refer to it, so that one Query reads it and the last of "
				   "them";
		case PLACE_JOIN:
			return psprintf("beside its %s, so that one Query reads both",
							foreign->parent->entity->name);
	}
	return NULL;
}

static void
explain_entity(StringInfo out, const Proposal *proposal, const ProposeEntity *entity)
{
	const ProposeTable *table = entity->table;
	ListCell *cell;

	if (table->unseen != NULL)
		propose_comment(out, "%s: rows of %s.", entity->name, table->qualified);
	else
		propose_comment(out, "%s: %.0f %s of %s%s.", entity->name, table->rows,
						table->rows == 1 ? "row" : "rows", table->qualified,
						table->sampled < 1
							? psprintf(", of which %.1f %% were looked at", table->sampled * 100)
							: "");
	explain_owner(out, entity);
	for (int i = 1; i <= proposal->nindexes; i++)
	{
		if (entity->places[i] != NULL)
			propose_comment(out, "%s: %s.", propose_index_name(proposal, i),
							place_text(entity->places[i]));
	}
	propose_print_remarks(out, table->remarks);
	if (entity->copies != NIL)
		propose_comment(out, "Copies of what its parents are called save a read of them: uncomment "
							 "the attributes here, and \"parents\" in the step.");
	foreach (cell, entity->lists)
		propose_comment(out,
						"%s are few, so they may be a list instead of items: uncomment the "
						"attribute here, and \"children\" in the step.",
						((const ProposeList *) lfirst(cell))->child->name);
}

static char *
print_entity(const Proposal *proposal, const ProposeEntity *entity)
{
	const ProposeTable *table = entity->table;
	StringInfoData out;

	initStringInfo(&out);
	explain_entity(&out, proposal, entity);
	propose_call(&out, proposal, "dyn_create_entity");
	appendStringInfo(&out, ", %s,", quote_literal_cstr(entity->name));
	propose_piece(&out, keys_json(proposal, entity));
	appendStringInfoChar(&out, ',');
	for (int i = 0; i < table->ncolumns; i++)
	{
		const ProposeColumn *column = &table->columns[i];

		propose_piece(&out, attribute_json(i == 0 ? "{" : ", ", column->attribute,
										   value_type_print(&column->value), column->required));
	}
	append_options(&out, entity);
	propose_piece(&out, "}");
	if (strcmp(proposal->type_name, "Type") != 0)
		appendStringInfo(&out, ", type_attribute => %s", quote_literal_cstr(proposal->type_name));
	appendStringInfoString(&out, ");");
	return out.data;
}

/* Prints a table that becomes no entity, as a comment. */
static char *
print_left_out(const ProposeTable *table)
{
	StringInfoData out;

	initStringInfo(&out);
	propose_comment(&out,
					"? %s has neither a primary key nor a unique index of columns that are NOT "
					"NULL, so it is left out: what identifies its rows?",
					table->qualified);
	propose_print_remarks(&out, table->remarks);
	return out.data;
}

/*
 * Views
 */

static List *
print_views(const Proposal *proposal, List *texts)
{
	StringInfoData out;
	ListCell *cell;

	initStringInfo(&out);
	propose_comment(&out, "Views, for reports: one of each entity, whose items joins find by the "
						  "table's key and by all indexes.");
	texts = lappend(texts, out.data);
	foreach (cell, proposal->entities)
	{
		const ProposeEntity *entity = lfirst(cell);

		initStringInfo(&out);
		propose_call(&out, proposal, "dyn_create_entity_view");
		appendStringInfo(&out, ", %s", quote_literal_cstr(entity->name));
		if (strcmp(entity->view, entity->name) != 0)
			appendStringInfo(&out, ", %s", quote_literal_cstr(entity->view));
		appendStringInfoString(&out, ");");
		texts = lappend(texts, out.data);
	}
	return texts;
}

/*
 * All of it
 */

/* Prints what a person calls after all that, as comments. */
static char *
print_calls(const Proposal *proposal)
{
	const char *schema = extension_schema();
	const char *name = quote_literal_cstr(proposal->migration);
	StringInfoData out;

	initStringInfo(&out);
	propose_comment(&out, "Then, in this order: see what a run would do,");
	propose_comment(&out, "SELECT * FROM %s.dyn_preview_migration(%s);", schema, name);
	propose_comment(&out, "keep the items in step from now on, if both sides are to be in use,");
	propose_comment(&out, "SELECT %s.dyn_follow_migration(%s);", schema, name);
	propose_comment(&out, "make the items, in as many sessions as there are cores to spare,");
	propose_comment(&out, "CALL %s.dyn_migrate(%s);", schema, name);
	propose_comment(&out, "let the planner know them, and compare both sides.");
	propose_comment(
		&out, "ANALYZE %s;",
		quote_qualified_identifier(get_namespace_name(proposal->schema), proposal->relation));
	propose_comment(&out, "SELECT * FROM %s.dyn_job_problems WHERE name = %s;", schema, name);
	propose_comment(&out, "SELECT * FROM %s.dyn_verify_migration(%s);", schema, name);
	return out.data;
}

/* Returns the texts of all statements in their order, and of the comments between. */
List *
propose_print(const Proposal *proposal)
{
	List *texts = list_make1(print_table(proposal));

	for (int i = 0; i < proposal->ntables; i++)
	{
		const ProposeTable *table = &proposal->tables[i];

		texts = lappend(texts, table->entity == NULL ? print_left_out(table)
													 : print_entity(proposal, table->entity));
	}
	if (proposal->entities == NIL)
		return texts;
	texts = print_views(proposal, texts);
	texts = lappend(texts, propose_print_migration(proposal));
	return lappend(texts, print_calls(proposal));
}
