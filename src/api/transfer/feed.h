/*
 * feed.h
 *	  What is imported, as it comes: from bytes to records, and to items.
 */
#ifndef DYNAMO_TABLE_API_TRANSFER_FEED_H
#define DYNAMO_TABLE_API_TRANSFER_FEED_H

#include "api/transfer/csv.h"
#include "api/transfer/record.h"
#include "api/transfer/transfer.h"

typedef enum TransferFormat
{
	TRANSFER_AUTO,
	TRANSFER_JSON, /* lines of DynamoDB JSON */
	TRANSFER_PLAIN, /* lines of plain JSON */
	TRANSFER_CSV,
	TRANSFER_DOCUMENT, /* JSON that is not in lines */
	TRANSFER_ION /* which is only recognized */
} TransferFormat;

/* A TransferForm is what is known of a file beforehand. */
typedef struct TransferForm
{
	TransferFormat format;
	const Jsonb *types; /* of columns of CSV; or NULL */
	const text *delimiter; /* of its fields; or NULL */
	const text *header; /* which the file has not; or NULL */
	const text *from_table; /* whose items are wanted, of a body of BatchWriteItem; or NULL */
} TransferForm;

/*
 * A TransferFeed is the state of what is read.  It lives as long as the import, in the memory
 * context that was the current one when it began.
 */
typedef struct TransferFeed
{
	Transfer *transfer;
	TransferForm form; /* whose format is TRANSFER_AUTO until it is known */
	MemoryContext context;
	StringInfoData kept; /* what is not yet taken of pieces */
	RecordText text; /* in it, or what the caller has */
	Size needed; /* bytes, before it makes sense to look for a record again */
	bool begun; /* a byte order mark has been looked for */
	bool too_long; /* in a line that is, up to its end */
	int64 line; /* of CSV or a document, where the next record begins */
	Csv csv;
	Document document;
	bool survey; /* the file is read for the names of its tables */
	List *tables; /* these, as far as they are kept: ItemSpan */
	bool more_tables;
	bool found; /* the one that is wanted */
} TransferFeed;

/* feed.c */
extern void transfer_feed_begin(TransferFeed *feed, Transfer *transfer, const TransferForm *form);
extern void transfer_feed_whole(TransferFeed *feed, const char *data, Size len);
extern void transfer_feed_piece(TransferFeed *feed, const char *data, Size len);
extern void transfer_feed_end(TransferFeed *feed);
extern bool transfer_feed_take(TransferFeed *feed);
extern bool transfer_feed_row(TransferFeed *feed, const char *data, Size len);
extern bool transfer_feed_again(TransferFeed *feed);

/* format.c */
extern TransferFormat transfer_format(const DynTable *table, RecordText text, DocumentKind *kind);
extern bool transfer_is_plain(const DynTable *table, const char *json, int len);

#endif
