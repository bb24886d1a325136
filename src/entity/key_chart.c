/*
 * key_chart.c
 *	  dyn_entity_chart(): the keys of a table's entities as a chart (docs/semantics.md, M02).
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"

#include "ground/arguments.h"
#include "ground/chart.h"
#include "entity/entity.h"

/* "OPEN#<Id>" if Status is "OPEN" */
static void
append_template(const Chart *chart, const EntityTemplate *choice, StringInfo out)
{
	ItemChildren when;

	appendStringInfoString(out, chart_code(chart, choice->template->text));
	if (choice->when == NULL)
		return;
	when = item_children(item_root(choice->when));
	for (uint32 i = 0; i < when.count; i++)
	{
		ItemSpan name;
		ItemSpan value = item_entry(item_child(&when, i), &name);
		StringInfoData text;

		initStringInfo(&text);
		item_print_plain(&text, value);
		appendStringInfo(out, " %s %s = %s", i == 0 ? "if" : "and", chart_words(chart, name),
						 chart_words(chart, (ItemSpan){text.data, (uint32) text.len}));
	}
}

/* Returns NULL if items of the entity have no such key. */
static char *
key_cell(const Chart *chart, const Entity *entity, ItemSpan attribute)
{
	const EntityKey *key = entity_key(entity, attribute);
	const EntityAttribute *natural = entity_stored_attribute(entity, attribute);
	StringInfoData out;

	initStringInfo(&out);
	if (key == NULL && natural == NULL)
		return NULL;
	if (key == NULL)
	{
		appendStringInfo(&out, "<%.*s>", (int) natural->name.len, natural->name.data);
		return chart_code(chart, (ItemSpan){out.data, (uint32) out.len});
	}
	for (int i = 0; i < key->ntemplates; i++)
	{
		if (i > 0)
			appendStringInfoString(&out, ", or ");
		append_template(chart, &key->templates[i], &out);
	}
	return out.data;
}

/* The chart of an index: the entities that are in it. */
static void
draw_index(ChartStyle style, const DynTable *table, const DynIndex *index, List *entities,
		   StringInfo out)
{
	Chart *chart = chart_create(style, index->nkeys + 1);
	char *cells[DYN_MAX_INDEX_KEYS + 1] = {"Entity"};
	const char *title = "Main table";
	ListCell *cell;

	for (int i = 0; i < index->nkeys; i++)
		cells[i + 1] = chart_words(chart, dyn_index_key(table, index, i)->attribute);
	chart_add(chart, cells);
	foreach (cell, entities)
	{
		const Entity *entity = lfirst(cell);
		bool whole = true;

		cells[0] = chart_words(chart, entity->name);
		for (int i = 0; i < index->nkeys; i++)
		{
			cells[i + 1] = key_cell(chart, entity, dyn_index_key(table, index, i)->attribute);
			whole &= cells[i + 1] != NULL;
		}
		if (whole)
			chart_add(chart, cells);
	}
	if (!dyn_index_is_table(index))
		title = psprintf("Index %s", chart_words(chart, index->name));
	chart_print(chart, title, out);
}

/* dyn_entity_chart(table_name, format, width) */
PG_FUNCTION_INFO_V1(dyn_entity_chart);
Datum
dyn_entity_chart(PG_FUNCTION_ARGS)
{
	StringInfoData out;
	ChartStyle style;
	List *entities;
	DynTable *table;
	Relation rel;

	argument_require(fcinfo, 0, "table_name");
	style = chart_style(fcinfo, 1);
	rel = dyn_table_open(PG_GETARG_TEXT_PP(0), AccessShareLock, &table);
	entities = entities_of(rel, table);
	initStringInfo(&out);
	draw_index(style, table, &table->primary, entities, &out);
	for (int i = 0; i < table->nindexes; i++)
		draw_index(style, table, &table->indexes[i], entities, &out);
	relation_close(rel, NoLock);
	chart_return(fcinfo, out.data);
	return (Datum) 0;
}
