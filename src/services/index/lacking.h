/*
 * lacking.h
 *	  Rows of a table, or of a shard on this node, that lack columns of indexes.
 */
#ifndef DYNAMO_TABLE_SERVICES_INDEX_LACKING_H
#define DYNAMO_TABLE_SERVICES_INDEX_LACKING_H

#include "portability/instr_time.h"
#include "storage/block.h"

#include "services/index/index.h"

typedef struct BlockRange
{
	BlockNumber from;
	BlockNumber to;
} BlockRange;

/* Holds what statements say of them. */
typedef struct Lacking
{
	Oid relid;
	const char *qualified;
	const char *match; /* the constraint's condition */
	const char *lacking; /* condition on rows that need an update */
	const char *left_out; /* the same on those that the index leaves out once that is done */
	const char *candidates; /* what may lack something: cheap, and not exact */
} Lacking;

/* This is a condition on rows of a range, by the places of its ends. */
#define LACKING_IN_RANGE "ctid OPERATOR(pg_catalog.>=) $1 AND ctid OPERATOR(pg_catalog.<) $2"

extern void lacking_describe(Lacking *rows, const IndexBuild *work, Relation rel,
							 const DynTable *table);
extern void lacking_run(const Lacking *rows, const char *sql, int nargs, const Datum *values,
						bool read_only);
extern void lacking_run_tid_scan(const Lacking *rows, const char *sql, int nargs,
								 const Datum *values);
extern Datum lacking_tid(BlockNumber block);

#define LACKING_LARGEST_BATCH 128
extern BlockNumber lacking_next_batch(BlockNumber batch, instr_time begin, double less,
									  double more);
extern List *lacking_keep(List *skipped, BlockRange range, const IndexBuild *work);
extern int64 lacking_count(const Lacking *rows, BlockRange range, TransactionId begin,
						   int64 *left_out);

#endif
