/*
 * am.h
 *	  The table access method "dynamo_table": heap with a few callbacks of its own.
 *
 *		handler.c		the routine: heap's own, with some callbacks replaced; the settings
 *		placement.c		inserts and updates that keep the rows of a collection on the same pages
 *		place.h			what the parts of placement share
 *		state.c			a backend's state of the tables that it writes
 *		neighbour.c		the position of a key in its btree, and the rows beside it
 *		fetched.c		the row that an index scan has fetched last
 *		page.c			pages for rows: looking into them, finding and opening them
 *		size.c			how long a row will be in the table
 *		move.c			rows that leave their page, whatever room it has; move.h is for others
 *		spread.c		which rows are with the others of their collection
 *		index_build.c	builds and validations of indexes, by heap's code
 *		rewrite.c		VACUUM FULL and CLUSTER, in the order that keeps collections together
 */
#ifndef DYNAMO_TABLE_AM_AM_H
#define DYNAMO_TABLE_AM_AM_H

#include "access/tableam.h"

#include "server/compat.h"

/* This is the setting dynamo_table.sort_on_vacuum_full. */
extern bool dyn_sort_on_vacuum_full;

/* Called once by _PG_init. */
extern void dyn_am_init(void);

/* handler.c */
extern bool dyn_am_is_ours(Relation rel);

/* index_build.c */
extern void dyn_index_build_init(void);
extern double dyn_index_build_range_scan(Relation table_rel, Relation index_rel,
										 struct IndexInfo *index_info, bool allow_sync,
										 bool anyvisible, bool progress, BlockNumber start_blockno,
										 BlockNumber numblocks, IndexBuildCallback callback,
										 void *callback_state, TableScanDesc scan);
extern void dyn_index_validate_scan(Relation table_rel, Relation index_rel,
									struct IndexInfo *index_info, Snapshot snapshot,
									struct ValidateIndexState *state);

/* fetched.c */
extern bool dyn_index_fetch_tuple(struct IndexFetchTableData *scan, ItemPointer tid,
								  Snapshot snapshot, TupleTableSlot *slot, bool *call_again,
								  bool *all_dead);

/* placement.c */
extern void dyn_tuple_insert(Relation rel, TupleTableSlot *slot, CommandId cid,
							 TableOptions options, struct BulkInsertStateData *bistate);
extern void dyn_multi_insert(Relation rel, TupleTableSlot **slots, int n, CommandId cid,
							 TableOptions options, struct BulkInsertStateData *bistate);
extern void dyn_tuple_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid,
										 TableOptions options, struct BulkInsertStateData *bistate,
										 uint32 token);
extern TM_Result dyn_tuple_update(Relation rel, ItemPointer old, TupleTableSlot *slot,
								  CommandId cid, UPDATE_OPTIONS_DECLARED Snapshot snapshot,
								  Snapshot crosscheck, bool wait, TM_FailureData *failure,
								  LockTupleMode *mode, UpdateIndexes *update_indexes);
extern void dyn_relation_truncate(Relation rel);

/* rewrite.c */
extern void dyn_relation_copy_for_cluster(Relation old_table, Relation new_table,
										  Relation old_index, bool use_sort,
										  TransactionId oldest_xmin,
										  COPY_SNAPSHOT_DECLARED TransactionId *xid_cutoff,
										  MultiXactId *multi_cutoff, double *num_tuples,
										  double *tups_vacuumed, double *tups_recently_dead);

#endif
