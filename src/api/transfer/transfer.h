/*
 * transfer.h
 *	  Items in and out: lines of JSON, CSV, and JSON that is not in lines, as answers of Scan and
 *	  bodies of BatchWriteItem.
 *
 * A line is an item, as {"pk":{"S":"a"}}, an item as DynamoDB exports it, {"Item":{…}}, or a change
 * of an incremental export, {"Metadata":{…},"Keys":{…},"NewImage":{…},"OldImage":{…}}, which is a
 * put if it has a new image and otherwise a delete.  An item may have {"PutRequest":{"Item":{…}}}
 * around it, too.
 *
 *		import.c	dyn_import_lines(), and dyn_import(), which reads the lines from a table
 *		feed.c		what is imported, as it comes: from bytes to records, and to items
 *		format.c	which format it has, by its beginning
 *		record.c	where records begin and end: lines, records of CSV, items of a document
 *		line.c		a line of DynamoDB JSON: an item to put, or a key to delete
 *		csv.c		records of CSV as items
 *		batch.c		lines of an import, written in batches
 *		export.c	dyn_export(): items as lines
 *		lexer.h		tokens of JSON: what the lexer is at
 */
#ifndef DYNAMO_TABLE_API_TRANSFER_TRANSFER_H
#define DYNAMO_TABLE_API_TRANSFER_TRANSFER_H

#include "utils/array.h"

#include "actions/write.h"
#include "item/json_writer.h"

/*
 * line.c
 */

typedef enum TransferKind
{
	TRANSFER_BLANK,
	TRANSFER_ITEM,
	TRANSFER_PUT, /* of a change */
	TRANSFER_DELETE
} TransferKind;

/* Reads a record of an import as transfer_parse_line() does. */
typedef TransferKind (*TransferReader)(void *arg, const char *record, int len, DynItem **item);

/* Allocates *item in the current memory context; for a delete it is the key. */
extern TransferKind transfer_parse_line(const char *line, int len, DynItem **item);

/*
 * batch.c
 */

typedef enum TransferConflict
{
	TRANSFER_REPLACE,
	TRANSFER_KEEP,
	TRANSFER_REFUSE
} TransferConflict;

/* So many errors of lines are returned in full. */
#define TRANSFER_MAX_ERRORS 100

typedef struct TransferEntry TransferEntry;

/*
 * A Transfer is an import.  Lines are taken in, and written in batches, each in the order of the
 * keys.  What comes out is as if they had been written one after the other.
 */
typedef struct Transfer
{
	TransferConflict on_conflict;
	const Expr *condition; /* which what is there must meet to be replaced; or NULL */
	bool skip; /* lines that cannot be written */
	bool keep_refused; /* lines that are not written */
	const char *unit; /* what is counted: "line", "row", "item" */
	TransferReader read; /* of what is counted; NULL: transfer_parse_line() */
	void *read_arg;
	bool verify; /* that it is UTF-8 */
	bool from_keys; /* attributes that items lack are made of their keys */
	const char *hint; /* to errors that have none; or NULL */
	/* of the transaction */
	Relation rel;
	DynTable *table;
	int64 line;
	int64 place; /* in which line it begins, where that is not what is counted; or 0 */
	int64 items; /* lines that are not blank */
	int64 written; /* with those that a later line of the same key superseded */
	int64 kept; /* that were there already */
	int64 skipped;
	int64 batches; /* written */
	JsonWriter errors; /* elements of a JSON array */
	List *refused; /* lines, as text, that the caller takes away */
	MemoryContext outer;
	MemoryContext context; /* of the batch */
	MemoryContext transient; /* of a line */
	TransferEntry *entries; /* allocated with the import, as is what follows */
	TransferEntry **sorted;
	ItemWrite **writes;
	bool *inserted;
	int n;
	int max;
	Size bytes;
} Transfer;

/* Begins in the current memory context, which outlives the import. */
extern void transfer_begin(Transfer *transfer, const char *unit, int max);

/* Counts the line; writes the batch if it is full. */
extern void transfer_take(Transfer *transfer, const char *line, int len);
extern void transfer_blank(Transfer *transfer);
extern void transfer_write(Transfer *transfer);
extern ArrayType *transfer_take_refused(Transfer *transfer);

#endif
