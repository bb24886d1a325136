/*
 * grid.h
 *	  A table of text for people, no wider than their terminal.
 */
#ifndef DYNAMO_TABLE_GROUND_GRID_H
#define DYNAMO_TABLE_GROUND_GRID_H

#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

extern void grid_print(const List *rows, int ncolumns, int width, StringInfo out);

#endif
