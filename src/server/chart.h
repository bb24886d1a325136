/*
 * chart.h
 *	  Charts for people: tables, as text that fits a terminal or in Markdown.
 *
 *		chart = chart_create(fcinfo, 1, 3);
 *		chart_add(chart, header);
 *		chart_add(chart, cells);
 *		return_texts(fcinfo, chart_lines(chart, NIL));
 */
#ifndef DYNAMO_TABLE_SERVER_CHART_H
#define DYNAMO_TABLE_SERVER_CHART_H

#include "fmgr.h"
#include "nodes/pg_list.h"

#include "server/span.h"

typedef struct Chart
{
	int ncolumns;
	bool markdown;
	int width; /* of a line of text, in columns of the terminal */
	List *rows; /* of char **, the header first */
} Chart;

/* Nothing is cut to fit a screen. */
#define CHART_MAX_WIDTH 1000

extern Chart *chart_create(FunctionCallInfo fcinfo, int i, int ncolumns);
extern void chart_add(Chart *chart, char **cells);
extern int chart_hidden(const char *c);
extern char *chart_words(const Chart *chart, ItemSpan text, int max_width);
extern List *chart_lines(const Chart *chart, List *lines);

#endif
