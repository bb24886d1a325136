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

typedef struct Writer
{
	RowFinder at; /* what is open, and the row that was found */
	Relation *btrees; /* by the table's; NULL where one has not been needed */
	IndexInfo *index_info;
	CommandId command; /* of the statement that has begun */
	TupleTableSlot *new; /* the row that is to be */
	bool kept[DYN_MAX_COLUMNS]; /* columns of it that are as they were, by the table's keys */
} Writer;

/* What became of a write of a row that was found. */
typedef enum WriteResult
{
	WRITE_DONE,
	WRITE_MOVED, /* somebody had replaced it; now its newest version is locked, and the row found */
	WRITE_GONE /* somebody had deleted it */
} WriteResult;

extern void writer_open(Writer *w, Relation rel, const DynTable *table);
extern void writer_close(Writer *w);
extern void writer_begin(Writer *w, CmdType command, const char *name);
extern void writer_end(Writer *w);
extern void writer_new_snapshot(void);

extern bool writer_find(Writer *w, const DynKeyValues *key);
extern bool writer_find_any(Writer *w, const DynKeyValues *key);
extern bool writer_lock(Writer *w, const DynKeyValues *key, LockTupleMode mode);

extern bool writer_insert(Writer *w, const DynRow *row);
extern WriteResult writer_update(Writer *w, const DynRow *row);
extern WriteResult writer_delete(Writer *w, const DynKeyValues *key);

#endif
