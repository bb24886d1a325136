/*
 * writer.h
 *	  A call of the direct store that writes: what it has open, and the row that it is about.
 */
#ifndef DYNAMO_TABLE_STORE_WRITER_H
#define DYNAMO_TABLE_STORE_WRITER_H

#include "access/tableam.h"
#include "nodes/execnodes.h"
#include "nodes/lockoptions.h"

#include "catalog/derive.h"
#include "store/find.h"
#include "store/statement.h"

typedef struct Writer
{
	RowFinder at; /* what is open, and the row that was found */
	Relation *btrees; /* by the table's; NULL where one has not been needed */
	IndexInfo *index_info;
	CommandId command; /* of the statement that has begun */
	StoreStatement *statement; /* NULL: it has nothing to obey that is not the table's own */
	bool locks_first; /* a row has to be locked before it is replaced or deleted */
	TupleTableSlot
		*proposed; /* the row that is to be inserted; NULL: nothing has written one yet */
	TupleTableSlot *changed; /* the row that replaces another one; it may be the same slot */
	TupleTableSlot *new; /* the one of them that is written */
	bool kept[DYN_MAX_COLUMNS]; /* columns of it that are as they were, by the table's keys */
} Writer;

/* Tells what became of a write of a row that was found. */
typedef enum WriteResult
{
	WRITE_DONE,
	WRITE_MOVED, /* somebody had replaced it; now its newest version is locked, and the row found */
	WRITE_GONE, /* somebody had deleted it */
	WRITE_SUPPRESSED /* by a trigger */
} WriteResult;

extern void writer_open(Writer *w, Relation rel, const DynTable *table);
extern void writer_close(Writer *w);
extern void writer_begin(Writer *w, CmdType operation, const char *name);
extern void writer_end(Writer *w);
extern void writer_new_snapshot(const Writer *w);

extern bool writer_find(Writer *w, const DynKeyValues *key);
extern bool writer_find_any(Writer *w, const DynKeyValues *key);
extern bool writer_lock(Writer *w, const DynKeyValues *key, LockTupleMode mode);

extern LockTupleMode writer_update_mode(const Writer *w);
extern TM_Result writer_lock_version(Writer *w, LockTupleMode mode, uint8 flags,
									 TM_FailureData *failure);
extern WriteResult writer_resolve(Writer *w, const DynKeyValues *key, TM_Result result,
								  const TM_FailureData *failure, LockTupleMode mode,
								  const char *what);

/* row.c */
extern const DynRow *writer_propose(Writer *w, const DynRow *row);
extern bool writer_insert(Writer *w, const DynRow *row);
extern WriteResult writer_update(Writer *w, const DynRow *row);
extern WriteResult writer_delete(Writer *w, const DynKeyValues *key);

#endif
