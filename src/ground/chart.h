/*
 * chart.h
 *	  Charts for people: tables, as text that fits a terminal or in Markdown.
 *
 *		chart = chart_create(style, 3);
 *		chart_add(chart, header);
 *		chart_add(chart, cells);
 *		chart_print(chart, "Main table", &out);
 */
#ifndef DYNAMO_TABLE_GROUND_CHART_H
#define DYNAMO_TABLE_GROUND_CHART_H

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

#include "item/item.h"

typedef enum ChartFormat
{
	CHART_TEXT,
	CHART_MARKDOWN
} ChartFormat;

/* How a chart is asked for by arguments of an SQL function. */
typedef struct ChartStyle
{
	ChartFormat format;
	int width; /* of a line of text, in columns of the terminal */
} ChartStyle;

typedef struct Chart
{
	ChartStyle style;
	int ncolumns;
	List *rows; /* of char **: the header first; NULL is a line between rows */
} Chart;

/* Nothing is cut to fit a screen. */
#define CHART_MAX_WIDTH 1000

extern ChartStyle chart_style(FunctionCallInfo fcinfo, int i);
extern Chart *chart_create(ChartStyle style, int ncolumns);
extern void chart_add(Chart *chart, char **cells); /* NULL is empty */
extern void chart_add_rule(Chart *chart);
extern char *chart_code(const Chart *chart, ItemSpan text);
extern char *chart_words(const Chart *chart, ItemSpan text);
extern void chart_print(const Chart *chart, const char *title, StringInfo out);
extern void chart_return(FunctionCallInfo fcinfo, const char *printed);

#endif
