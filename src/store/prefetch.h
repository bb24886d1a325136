/*
 * prefetch.h
 *	  Pages of a table that are read soon, asked for from the operating system before.
 */
#ifndef DYNAMO_TABLE_STORE_PREFETCH_H
#define DYNAMO_TABLE_STORE_PREFETCH_H

#include "storage/buf.h"
#include "utils/relcache.h"

/* Lists pages in the order in which they will be read. */
typedef struct PageList
{
	const BlockNumber *blocks;
	int n;
} PageList;

typedef struct Prefetch
{
	Relation rel;
	int depth; /* how many pages are asked for before they are read; 0: none */
	int credit; /* how many pages may be found in the buffers before no more are looked for */
	int asked; /* pages of the list that have been asked for, or will not be */
} Prefetch;

extern void prefetch_begin(Prefetch *prefetch, Relation rel);
extern void prefetch_list(Prefetch *prefetch);
extern Buffer prefetch_read(Prefetch *prefetch, PageList pages, int next);

/* Called once by store_init(). */
extern void prefetch_init(void);

#endif
