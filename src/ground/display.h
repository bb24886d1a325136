/*
 * display.h
 *	  Text on a terminal: how wide it is, and what must not get there.
 */
#ifndef DYNAMO_TABLE_GROUND_DISPLAY_H
#define DYNAMO_TABLE_GROUND_DISPLAY_H

#include "lib/stringinfo.h"

#include "item/item.h"

/* Lines between cells, and the end of a text that is cut, in the client's encoding. */
typedef struct DisplayMarks
{
	const char *between; /* cells of a row */
	const char *rule; /* one column of a horizontal line */
	const char *crossing;
	const char *cut;
} DisplayMarks;

extern const DisplayMarks *display_marks(void);
extern int display_width(const char *text, int len);
extern void display_append(StringInfo out, ItemSpan text);
extern void display_append_cut(StringInfo out, ItemSpan text, int max_width);

#endif
