/*
 * chart.h
 *	  Charts of a model, for people: tables of text, plain or in Markdown.
 *
 *		chart = chart_create(format, 3, "Entity", "pk", "sk");
 *		chart_add(chart, cells);
 *		chart_print(chart, "Main table", &out);
 */
#ifndef DYNAMO_TABLE_MODEL_CHART_H
#define DYNAMO_TABLE_MODEL_CHART_H

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

#include "item/item.h"

typedef enum ChartFormat
{
	CHART_TEXT,
	CHART_MARKDOWN
} ChartFormat;

typedef struct Chart
{
	ChartFormat format;
	int ncolumns;
	List *rows; /* of char **: the header first */
} Chart;

extern ChartFormat chart_format(FunctionCallInfo fcinfo, int i);
extern Chart *chart_create(ChartFormat format, int ncolumns, char **header);
extern void chart_add(Chart *chart, char **cells); /* NULL is empty */
extern char *chart_code(const Chart *chart, ItemSpan text);
extern char *chart_words(const Chart *chart, ItemSpan text);
extern void chart_print(const Chart *chart, const char *title, StringInfo out);
extern void chart_return(FunctionCallInfo fcinfo, const char *printed);

#endif
