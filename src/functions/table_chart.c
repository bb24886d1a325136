/*
 * table_chart.c
 *	  dyn_table_chart(): item collections the way people draw single-table models.
 *
 * One row per item, collections one below the other, the partition key written once for each;
 * then the sort key, the other keys, and the attributes that most items have.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "actions/actions.h"
#include "ground/arguments.h"
#include "entity/chart.h"
#include "ground/grid.h"
#include "ground/errors.h"

typedef struct Frequency
{
	ItemSpan attribute;
	int count;
} Frequency;

typedef struct Show
{
	DynTable *table;
	const DynIndex *index;
	MemoryContext context;
	int64 max_items;
	List *items; /* one more than max_items if there are more */
	int ncolumns; /* the index's, then the most frequent attributes */
	ItemSpan *columns;
	bool hidden; /* some attribute has no column */
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
 * Columns
 */

static bool
is_column(const Show *show, ItemSpan attribute)
{
	for (int i = 0; i < show->ncolumns; i++)
	{
		if (item_compare_bytes(show->columns[i], attribute) == 0)
			return true;
	}
	return false;
}

/* The most frequent first. */
static int
compare_frequencies(const void *a, const void *b)
{
	const Frequency *x = a;
	const Frequency *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return item_compare_bytes(x->attribute, y->attribute);
}

/* The names of all attributes of all items, except those that have a column. */
static ItemSpan *
collect_names(const Show *show, int *count)
{
	ItemSpan *names;
	ListCell *cell;
	int n = 0;

	foreach (cell, show->items)
		n += item_children(item_root(lfirst(cell))).count;
	names = palloc((n + 1) * sizeof(ItemSpan));
	n = 0;
	foreach (cell, show->items)
	{
		ItemChildren attributes = item_children(item_root(lfirst(cell)));

		for (uint32 i = 0; i < attributes.count; i++)
		{
			item_entry(item_child(&attributes, i), &names[n]);
			n += !is_column(show, names[n]);
		}
	}
	*count = n;
	return names;
}

static void
add_frequent_columns(Show *show, int max_columns)
{
	int n;
	int distinct = 0;
	ItemSpan *names = collect_names(show, &n);
	Frequency *frequencies = palloc((n + 1) * sizeof(Frequency));

	qsort(names, n, sizeof(ItemSpan), item_compare_spans);
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || item_compare_bytes(names[i], names[i - 1]) != 0)
			frequencies[distinct++] = (Frequency){names[i], 0};
		frequencies[distinct - 1].count++;
	}
	qsort(frequencies, distinct, sizeof(Frequency), compare_frequencies);
	for (int i = 0; i < Min(distinct, max_columns); i++)
		show->columns[show->ncolumns++] = frequencies[i].attribute;
	show->hidden = distinct > max_columns;
}

static void
choose_columns(Show *show, int max_columns)
{
	show->columns = palloc((show->index->ncolumns + max_columns) * sizeof(ItemSpan));
	for (int i = 0; i < show->index->ncolumns; i++)
		show->columns[show->ncolumns++] = dyn_index_key(show->table, show->index, i)->attribute;
	add_frequent_columns(show, max_columns);
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

		item_find(&as, show->columns[i], &x);
		item_find(&bs, show->columns[i], &y);
		if (item_compare_bytes(x, y) != 0)
			return false;
	}
	return true;
}

/* "+2" for attributes that have no column. */
static void
set_hidden(const Show *show, Grid *grid, uint32 hidden)
{
	char text[16];

	if (!show->hidden || hidden == 0)
		return;
	snprintf(text, sizeof(text), "+%u", hidden);
	grid_set_text(grid, show->ncolumns, (ItemSpan){text, (uint32) strlen(text)});
}

static void
add_item(const Show *show, Grid *grid, const DynItem *item, bool first)
{
	ItemChildren attributes = item_children(item_root(item));
	uint32 shown = 0;

	grid_add_row(grid);
	for (int i = 0; i < show->ncolumns; i++)
	{
		ItemSpan value;

		if (!item_find(&attributes, show->columns[i], &value))
			continue;
		shown++;
		if (first || i >= show->index->npartition)
			grid_set_value(grid, i, value);
	}
	set_hidden(show, grid, attributes.count - shown);
}

static Grid *
draw(const Show *show, int max_width, int *collections)
{
	Grid *grid = grid_create(show->ncolumns + show->hidden, max_width);
	int n = (int) Min(list_length(show->items), show->max_items);
	const DynItem *last = NULL;

	*collections = 0;
	grid_add_row(grid);
	for (int i = 0; i < show->ncolumns; i++)
		grid_set_text(grid, i, show->columns[i]);
	for (int i = 0; i < n; i++)
	{
		const DynItem *item = list_nth(show->items, i);
		bool first = last == NULL || !same_collection(show, last, item);

		CHECK_FOR_INTERRUPTS();
		if (first)
		{
			(*collections)++;
			grid_add_rule(grid);
		}
		add_item(show, grid, item, first);
		last = item;
	}
	if (n == 0)
		grid_add_rule(grid);
	return grid;
}

/*
 * Function
 */

/* A row of the grid is one of the chart. */
static void
print_markdown(const Grid *grid, StringInfo out)
{
	static const Chart markdown = {CHART_MARKDOWN};
	char **cells = palloc(grid->ncolumns * sizeof(char *));
	Chart *chart = NULL;

	for (int row = 0; row < grid->nrows; row++)
	{
		if (grid->rules[row])
			continue;
		for (int i = 0; i < grid->ncolumns; i++)
		{
			const char *cell = grid->cells[row * grid->ncolumns + i];

			cells[i] = cell == NULL ? NULL : chart_words(&markdown, (ItemSpan){cell, strlen(cell)});
		}
		if (chart == NULL)
			chart = chart_create(CHART_MARKDOWN, grid->ncolumns, cells);
		else
			chart_add(chart, cells);
	}
	chart_print(chart, NULL, out);
	appendStringInfoChar(out, '\n');
}

static void
print_text(const Grid *grid, StringInfo out)
{
	for (int i = 0; i < grid->nrows; i++)
		appendStringInfo(out, "%s\n", grid_line(grid, i));
}

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

static int
small_argument(FunctionCallInfo fcinfo, int i, int minimum, const char *name)
{
	int64 value;

	argument_require(fcinfo, i, name);
	value = PG_GETARG_INT64(i);
	if (value < minimum || value > 1000)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("%s must be between %d and %d", name, minimum, 1000)));
	return (int) value;
}

/* dyn_table_chart(table_name, index_name, max_items, max_columns, max_width, format) */
PG_FUNCTION_INFO_V1(dyn_table_chart);
Datum
dyn_table_chart(PG_FUNCTION_ARGS)
{
	Show show = {.context = CurrentMemoryContext};
	text *index = argument_text(fcinfo, 1);
	int max_columns = small_argument(fcinfo, 3, 0, "max_columns");
	int max_width = small_argument(fcinfo, 4, 4, "max_width");
	ChartFormat format = chart_format(fcinfo, 5);
	StringInfoData out;
	int collections;
	Relation rel;
	Grid *grid;

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 2, "max_items");
	show.max_items = argument_positive(fcinfo, 2, "max_items");
	rel = open_index(&show, PG_GETARG_TEXT_PP(0), index);
	read_items(&show, PG_GETARG_TEXT_PP(0), index);
	choose_columns(&show, max_columns);
	grid = draw(&show, max_width, &collections);
	initStringInfo(&out);
	if (format == CHART_MARKDOWN)
		print_markdown(grid, &out);
	else
		print_text(grid, &out);
	appendStringInfoString(&out, summary(&show, collections));
	chart_return(fcinfo, out.data);
	relation_close(rel, NoLock);
	return (Datum) 0;
}
