/*
 * table_chart.c
 *	  dyn_table_chart(): item collections the way people draw single-table models.
 *
 * A row for each item, collections one below the other, the partition key written once for each.
 * Items differ in what they have, so their attributes are in one cell, each with its name.
 */
#include "postgres.h"

#include "access/relation.h"

#include "actions/actions.h"
#include "catalog/lookup.h"
#include "server/arguments.h"
#include "server/chart.h"

typedef struct Drawing
{
	DynTable *table;
	const DynIndex *index;
	MemoryContext context;
	Chart *chart;
	int64 max_items;
	int max_attributes; /* of an item, beside keys */
	int value_width; /* of a name or value, in columns of the terminal; longer ones are cut */
	const ItemSpan *keys; /* of the last item */
	int64 items;
	int64 collections;
} Drawing;

static ItemSpan
key_name(const Drawing *drawing, int i)
{
	return dyn_index_key(drawing->table, drawing->index, i)->attribute;
}

/* Returns strings as they are, unless they are empty, and everything else as plain JSON. */
static char *
value_words(const Drawing *drawing, ItemSpan value)
{
	StringInfoData json;

	if (item_type(value) == ITEM_S && item_payload(value).len > 0)
		return chart_words(drawing->chart, item_payload(value), drawing->value_width);
	initStringInfo(&json);
	item_print_plain(&json, value);
	return chart_words(drawing->chart, item_span(json.data), drawing->value_width);
}

/* Appends "Name: Ada". */
static void
append_attribute(const Drawing *drawing, ItemSpan name, ItemSpan value, StringInfo out)
{
	appendStringInfo(out, "%s%s: %s", out->len > 0 ? ", " : "",
					 chart_words(drawing->chart, name, drawing->value_width),
					 value_words(drawing, value));
}

/* Returns a cell; an index has the table's keys first; "+2": two more attributes are not shown. */
static char *
attributes_cell(const Drawing *drawing, const DynItem *item, const ItemSpan *keys)
{
	int n = 0;
	StringInfoData out;

	initStringInfo(&out);
	for (int i = drawing->index->nkeys; i < drawing->index->ncolumns; i++)
		append_attribute(drawing, key_name(drawing, i), keys[i], &out);
	for (ItemMembers m = item_members(item_root(item)); item_next(&m);)
	{
		bool is_key = false;

		for (int k = 0; k < drawing->index->ncolumns; k++)
			is_key |= m.value.data == keys[k].data;
		if (!is_key && n++ < drawing->max_attributes)
			append_attribute(drawing, m.name, m.value, &out);
	}
	if (n > drawing->max_attributes)
		appendStringInfo(&out, "%s+%d", out.len > 0 ? ", " : "", n - drawing->max_attributes);
	return out.data;
}

static void
draw_item(Datum datum, void *arg)
{
	Drawing *drawing = arg;
	const DynIndex *index = drawing->index;
	MemoryContext old = MemoryContextSwitchTo(drawing->context);
	const DynItem *item = (const DynItem *) PG_DETOAST_DATUM_COPY(datum);
	ItemSpan *keys = palloc(index->ncolumns * sizeof(ItemSpan));
	char **cells = palloc0((index->nkeys + 1) * sizeof(char *));
	bool first = drawing->keys == NULL;

	for (int i = 0; i < index->ncolumns; i++)
	{
		if (!item_lookup(item_root(item), key_name(drawing, i), &keys[i]))
			item_fail_invalid();
		first =
			first || (i < index->npartition && item_compare_bytes(keys[i], drawing->keys[i]) != 0);
	}
	for (int i = first ? 0 : index->npartition; i < index->nkeys; i++)
		cells[i] = value_words(drawing, keys[i]);
	cells[index->nkeys] = attributes_cell(drawing, item, keys);
	if (drawing->items++ < drawing->max_items)
	{
		chart_add(drawing->chart, cells);
		drawing->collections += first;
	}
	drawing->keys = keys;
	MemoryContextSwitchTo(old);
}

/* dyn_table_chart(table_name, index_name, max_items, max_attributes, value_width, format, width) */
PG_FUNCTION_INFO_V1(dyn_table_chart);
Datum
dyn_table_chart(PG_FUNCTION_ARGS)
{
	Drawing drawing = {.context = CurrentMemoryContext};
	ScanRequest request = {.read.expressions = expr_request(NULL, NULL)};
	Relation rel;
	char **header;
	List *lines;
	ReadResult result;

	request.read.table = argument_required_text(fcinfo, 0, "table_name");
	request.read.index = argument_text(fcinfo, 1);
	argument_require(fcinfo, 2, "max_items");
	drawing.max_items = argument_positive(fcinfo, 2, "max_items");
	request.read.max_items = drawing.max_items + 1;
	drawing.max_attributes = argument_between(fcinfo, 3, "max_attributes", 0, CHART_MAX_WIDTH);
	drawing.value_width = argument_between(fcinfo, 4, "value_width", 4, CHART_MAX_WIDTH);
	/* it may not be dropped before the last line is made: its schema names the columns */
	rel = dyn_table_open(request.read.table, AccessShareLock, &drawing.table);
	drawing.index = request.read.index == NULL
						? &drawing.table->primary
						: dyn_active_index(drawing.table, text_span(request.read.index));
	drawing.chart = chart_create(fcinfo, 5, drawing.index->nkeys + 1);
	header = palloc0((drawing.index->nkeys + 1) * sizeof(char *));
	for (int i = 0; i < drawing.index->nkeys; i++)
		header[i] = chart_words(drawing.chart, key_name(&drawing, i), drawing.value_width);
	header[drawing.index->nkeys] = "Attributes";
	chart_add(drawing.chart, header);
	action_scan(&request, draw_item, &drawing, &result);
	lines = chart_lines(drawing.chart, NIL);
	if (drawing.chart->markdown)
		lines = lappend(lines, "");
	lines = lappend(lines, psprintf("(items: %s" INT64_FORMAT ", collections: " INT64_FORMAT ")",
									drawing.items > drawing.max_items ? "the first " : "",
									Min(drawing.items, drawing.max_items), drawing.collections));
	return_texts(fcinfo, lines);
	relation_close(rel, NoLock);
	return (Datum) 0;
}
