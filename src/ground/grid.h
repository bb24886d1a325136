/*
 * grid.h
 *	  A table of text for people: cells of one line, columns as wide as their widest cell.
 */
#ifndef DYNAMO_TABLE_ACTIONS_GRID_H
#define DYNAMO_TABLE_ACTIONS_GRID_H

#include "item/item.h"

typedef struct Grid
{
	int ncolumns;
	int nrows;
	int maxrows;
	int max_width; /* of a cell, in columns of the terminal; longer ones are cut */
	int *widths;
	char **cells; /* row by row; NULL is empty */
	bool *rules; /* whether a row is a line between others */
} Grid;

extern Grid *grid_create(int ncolumns, int max_width);
extern void grid_add_row(Grid *grid);
extern void grid_add_rule(Grid *grid);
extern void grid_set_text(Grid *grid, int column, ItemSpan text);
extern void grid_set_value(Grid *grid, int column, ItemSpan value);
extern char *grid_line(const Grid *grid, int row);

#endif
