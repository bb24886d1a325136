/*
 * table_chart.c
 *	  dyn_table_chart(): item collections the way people draw single-table models.
 *
 * A row for each item, collections one below the other, the partition key written once for each.
 * Items differ in what they have, so their attributes are in one cell, each with its name.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "actions/actions.h"
#include "ground/arguments.h"
#include "ground/chart.h"
#include "ground/display.h"

/* As many of an item as can be asked for. */
#define MAX_ATTRIBUTES 1000

typedef struct Attribute
{
	ItemSpan name;
	ItemSpan value; /* in one item */
	int count; /* of the items that have it */
} Attribute;

typedef struct Show
{
	DynTable *table;
	const DynIndex *index;
	MemoryContext context;
	int64 max_items;
	int max_attributes; /* of an item, beside keys */
	int value_width; /* of a name or value, in columns of the terminal; longer ones are cut */
	List *items; /* one more than max_items if there are more */
	int nattributes; /* of all items, by name, with their counts */
	Attribute *attributes;
} Show;

static void
keep_item(Datum item, void *arg)
{
	Show *show = arg;
	MemoryContext old = MemoryContextSwitchTo(show->context);

	show->items = lappend(show->items, PG_DETOAST_DATUM_COPY(item));
	MemoryContextSwitchTo(old);
}

static void
read_items(Show *show, text *table, text *index)
{
	ScanRequest request = {0};
	ReadResult result;

	request.read.table = table;
	request.read.index = index;
	request.read.max_items = show->max_items + 1;
	request.read.expressions = expr_request(NULL, NULL);
	action_scan(&request, keep_item, show, &result);
}

/*
 * Attributes
 */

static ItemSpan
key_name(const Show *show, int i)
{
	return dyn_index_key(show->table, show->index, i)->attribute;
}

static bool
is_key(const Show *show, ItemSpan name)
{
	for (int i = 0; i < show->index->ncolumns; i++)
	{
		if (item_compare_bytes(key_name(show, i), name) == 0)
			return true;
	}
	return false;
}

static int
compare_names(const void *a, const void *b)
{
	return item_compare_bytes(((const Attribute *) a)->name, ((const Attribute *) b)->name);
}

/* The most frequent first. */
static int
compare_counts(const void *a, const void *b)
{
	int x = ((const Attribute *) a)->count;
	int y = ((const Attribute *) b)->count;

	return x != y ? (x > y ? -1 : 1) : compare_names(a, b);
}

/* The attributes of an item, without keys, each with its value and counted once. */
static int
item_attributes(const Show *show, const DynItem *item, Attribute *attributes)
{
	ItemChildren children = item_children(item_root(item));
	int n = 0;

	for (uint32 i = 0; i < children.count; i++)
	{
		attributes[n].value = item_entry(item_child(&children, i), &attributes[n].name);
		attributes[n].count = 1;
		n += !is_key(show, attributes[n].name);
	}
	return n;
}

static void
count_attributes(Show *show)
{
	ListCell *cell;
	int n = 0;

	foreach (cell, show->items)
		n += item_children(item_root(lfirst(cell))).count;
	show->attributes = palloc_extended((n + 1) * sizeof(Attribute), MCXT_ALLOC_HUGE);
	n = 0;
	foreach (cell, show->items)
		n += item_attributes(show, lfirst(cell), show->attributes + n);
	qsort(show->attributes, n, sizeof(Attribute), compare_names);
	for (int i = 0; i < n; i++)
	{
		int last = show->nattributes - 1;

		if (last >= 0 && compare_names(&show->attributes[last], &show->attributes[i]) == 0)
			show->attributes[last].count++;
		else
			show->attributes[show->nattributes++] = show->attributes[i];
	}
}

/* Those of an item that most items have come first. */
static Attribute *
ordered_attributes(const Show *show, const DynItem *item, int *n)
{
	Attribute *attributes = palloc((item_children(item_root(item)).count + 1) * sizeof(Attribute));

	*n = item_attributes(show, item, attributes);
	for (int i = 0; i < *n; i++)
	{
		const Attribute *counted = bsearch(&attributes[i], show->attributes, show->nattributes,
										   sizeof(Attribute), compare_names);

		attributes[i].count = counted->count;
	}
	qsort(attributes, *n, sizeof(Attribute), compare_counts);
	return attributes;
}

/*
 * Rows
 */

static bool
same_collection(const Show *show, const DynItem *a, const DynItem *b)
{
	ItemChildren as = item_children(item_root(a));
	ItemChildren bs = item_children(item_root(b));

	for (int i = 0; i < show->index->npartition; i++)
	{
		ItemSpan x = {NULL, 0};
		ItemSpan y = {NULL, 0};

		item_find(&as, key_name(show, i), &x);
		item_find(&bs, key_name(show, i), &y);
		if (item_compare_bytes(x, y) != 0)
			return false;
	}
	return true;
}

/* Strings as they are, unless they are empty, bytes in base64, everything else as plain JSON. */
static ItemSpan
value_text(ItemSpan value)
{
	StringInfoData json;

	if (item_type(value) == ITEM_S && item_payload(value).len > 0)
		return item_payload(value);
	if (item_type(value) == ITEM_B)
	{
		int len;
		char *base64 = item_base64(item_payload(value), &len);

		return (ItemSpan){base64, (uint32) len};
	}
	initStringInfo(&json);
	item_print_plain(&json, value);
	return (ItemSpan){json.data, (uint32) json.len};
}

static char *
words(const Show *show, const Chart *chart, ItemSpan text)
{
	StringInfoData shown;

	initStringInfo(&shown);
	display_append_cut(&shown, text, show->value_width);
	return chart_words(chart, (ItemSpan){shown.data, (uint32) shown.len});
}

static const char *
separator(const Chart *chart)
{
	return chart->style.format == CHART_TEXT ? "  " : ", ";
}

/* "Name: Ada" */
static void
append_attribute(const Show *show, const Chart *chart, ItemSpan name, ItemSpan value,
				 StringInfo out)
{
	bool markdown = chart->style.format == CHART_MARKDOWN;

	if (out->len > 0)
		appendStringInfoString(out, separator(chart));
	appendStringInfo(out, markdown ? "**%s**: %s" : "%s: %s", words(show, chart, name),
					 words(show, chart, value_text(value)));
}

/* For an index the table's keys come first; "+2": two more attributes are not shown. */
static char *
attributes_cell(const Show *show, const Chart *chart, const DynItem *item)
{
	ItemChildren children = item_children(item_root(item));
	int n;
	Attribute *attributes = ordered_attributes(show, item, &n);
	int shown = Min(n, show->max_attributes);
	StringInfoData out;

	initStringInfo(&out);
	for (int i = show->index->nkeys; i < show->index->ncolumns; i++)
	{
		ItemSpan value;

		if (item_find(&children, key_name(show, i), &value))
			append_attribute(show, chart, key_name(show, i), value, &out);
	}
	for (int i = 0; i < shown; i++)
		append_attribute(show, chart, attributes[i].name, attributes[i].value, &out);
	if (n > shown)
		appendStringInfo(&out, "%s+%d", out.len > 0 ? separator(chart) : "", n - shown);
	return out.data;
}

static void
add_item(const Show *show, Chart *chart, const DynItem *item, bool first)
{
	ItemChildren children = item_children(item_root(item));
	int nkeys = show->index->nkeys;
	char **cells = palloc0((nkeys + 1) * sizeof(char *));

	for (int i = first ? 0 : show->index->npartition; i < nkeys; i++)
	{
		ItemSpan value;

		if (item_find(&children, key_name(show, i), &value))
			cells[i] = words(show, chart, value_text(value));
	}
	cells[nkeys] = attributes_cell(show, chart, item);
	chart_add(chart, cells);
}

static void
add_header(const Show *show, Chart *chart)
{
	int nkeys = show->index->nkeys;
	char **cells = palloc((nkeys + 1) * sizeof(char *));

	for (int i = 0; i < nkeys; i++)
		cells[i] = words(show, chart, key_name(show, i));
	cells[nkeys] = "Attributes";
	chart_add(chart, cells);
}

static Chart *
draw(const Show *show, ChartStyle style, int *collections)
{
	Chart *chart = chart_create(style, show->index->nkeys + 1);
	int n = (int) Min(list_length(show->items), show->max_items);
	const DynItem *last = NULL;

	*collections = 0;
	add_header(show, chart);
	for (int i = 0; i < n; i++)
	{
		const DynItem *item = list_nth(show->items, i);
		bool first = last == NULL || !same_collection(show, last, item);

		CHECK_FOR_INTERRUPTS();
		if (first && last != NULL)
			chart_add_rule(chart);
		*collections += first;
		add_item(show, chart, item, first);
		last = item;
	}
	return chart;
}

/*
 * Function
 */

static const char *
summary(const Show *show, int collections)
{
	bool more = list_length(show->items) > show->max_items;
	int64 n = Min(list_length(show->items), show->max_items);

	return psprintf("(%s" INT64_FORMAT " item%s in %d collection%s%s)", more ? "the first " : "", n,
					n == 1 ? "" : "s", collections, collections == 1 ? "" : "s",
					more ? "; there are more" : "");
}

/* The table may not be dropped before the last line is made: its schema names the columns. */
static Relation
open_index(Show *show, text *table, text *index)
{
	Relation rel = dyn_table_open(table, AccessShareLock, &show->table);

	show->index =
		index == NULL ? &show->table->primary : dyn_active_index(show->table, text_span(index));
	return rel;
}

/* dyn_table_chart(table_name, index_name, max_items, max_attributes, value_width, format, width) */
PG_FUNCTION_INFO_V1(dyn_table_chart);
Datum
dyn_table_chart(PG_FUNCTION_ARGS)
{
	Show show = {.context = CurrentMemoryContext};
	text *index = argument_text(fcinfo, 1);
	ChartStyle style = chart_style(fcinfo, 5);
	StringInfoData out;
	int collections;
	Relation rel;
	Chart *chart;

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 2, "max_items");
	show.max_items = argument_positive(fcinfo, 2, "max_items");
	show.max_attributes = argument_between(fcinfo, 3, "max_attributes", 0, MAX_ATTRIBUTES);
	show.value_width = argument_between(fcinfo, 4, "value_width", 4, CHART_MAX_WIDTH);
	rel = open_index(&show, PG_GETARG_TEXT_PP(0), index);
	read_items(&show, PG_GETARG_TEXT_PP(0), index);
	count_attributes(&show);
	chart = draw(&show, style, &collections);
	initStringInfo(&out);
	chart_print(chart, NULL, &out);
	if (style.format == CHART_MARKDOWN)
		appendStringInfoChar(&out, '\n');
	appendStringInfoString(&out, summary(&show, collections));
	chart_return(fcinfo, out.data);
	relation_close(rel, NoLock);
	return (Datum) 0;
}
