/*
 * key_chart.c
 *	  dyn_entity_chart(): the keys of a table's entities as a chart (docs/semantics.md, M02).
 */
#include "postgres.h"

#include <limits.h>

#include "access/relation.h"

#include "catalog/lookup.h"
#include "models/entity/entity.h"
#include "server/arguments.h"
#include "server/chart.h"

/* Returns "OPEN#<Id> if {"Status":"OPEN"}, or <Id>", or NULL if the entity has no such key. */
static char *
key_cell(const Chart *chart, const Entity *entity, ItemSpan attribute)
{
	const EntityKey *key = entity_key(entity, attribute);
	const EntityAttribute *natural = entity_stored_attribute(entity, attribute);
	StringInfoData out;

	if (key == NULL && natural == NULL)
		return NULL;
	initStringInfo(&out);
	if (key == NULL)
		appendStringInfo(&out, "<%.*s>", (int) natural->name.len, natural->name.data);
	for (int i = 0; key != NULL && i < key->ntemplates; i++)
	{
		const EntityTemplate *choice = &key->templates[i];
		ItemSpan text = choice->template->text;

		appendStringInfo(&out, "%s%.*s", i > 0 ? ", or " : "", (int) text.len, text.data);
		if (choice->when != NULL)
		{
			appendStringInfoString(&out, " if ");
			item_print_plain(&out, item_root(choice->when));
		}
	}
	return chart_code(chart, out.data);
}

/* Appends the chart of an index, which has the entities that are in it. */
static List *
draw_index(Chart *chart, const DynTable *table, const DynIndex *index, List *entities, List *lines)
{
	const char *title = dyn_index_is_table(index) ? "Main table" : "Index ";
	char *cells[DYN_MAX_INDEX_KEYS + 1] = {"Entity"};
	ListCell *cell;

	for (int i = 0; i < index->nkeys; i++)
		cells[i + 1] = chart_words(chart, dyn_index_key(table, index, i)->attribute, INT_MAX);
	chart_add(chart, cells);
	foreach (cell, entities)
	{
		const Entity *entity = lfirst(cell);
		bool whole = true;

		cells[0] = chart_words(chart, entity->name, INT_MAX);
		for (int i = 0; i < index->nkeys; i++)
		{
			cells[i + 1] = key_cell(chart, entity, dyn_index_key(table, index, i)->attribute);
			whole &= cells[i + 1] != NULL;
		}
		if (whole)
			chart_add(chart, cells);
	}
	lines = lappend(lines, psprintf("%s%s%s", chart->markdown ? "### " : "", title,
									chart_words(chart, index->name, INT_MAX)));
	return chart_lines(chart, lappend(lines, ""));
}

/* dyn_entity_chart(table_name, format, width) */
PG_FUNCTION_INFO_V1(dyn_entity_chart);
Datum
dyn_entity_chart(PG_FUNCTION_ARGS)
{
	text *name = argument_required_text(fcinfo, 0, "table_name");
	List *lines = NIL;
	List *entities;
	DynTable *table;
	Relation rel = dyn_table_open(name, AccessShareLock, &table);

	entities = entities_of(rel, table);
	for (int i = -1; i < table->nindexes; i++)
	{
		const DynIndex *index = i < 0 ? &table->primary : &table->indexes[i];

		if (i >= 0)
			lines = lappend(lines, "");
		lines =
			draw_index(chart_create(fcinfo, 1, index->nkeys + 1), table, index, entities, lines);
	}
	relation_close(rel, NoLock);
	return_texts(fcinfo, lines);
	return (Datum) 0;
}
