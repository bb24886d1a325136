/*
 * record.h
 *	  Where records begin and end: lines, records of CSV, items of a document.
 *
 * What is read comes in pieces, so a step may need more of it.  Then it is done again from the same
 * place.  A step looks for boundaries only, and leaves what is between them to the parsers.
 */
#ifndef DYNAMO_TABLE_API_TRANSFER_RECORD_H
#define DYNAMO_TABLE_API_TRANSFER_RECORD_H

#include "item/item.h"

/* A RecordText is what is there of a file from the place on that was reached. */
typedef struct RecordText
{
	const char *data;
	Size len;
	bool whole; /* nothing more will come */
} RecordText;

typedef enum RecordStep
{
	RECORD_FOUND,
	RECORD_MORE, /* is needed */
	RECORD_END, /* there is none */
	RECORD_FAULT /* and nothing behind it can be read */
} RecordStep;

typedef struct Record
{
	RecordStep step;
	Size start; /* of what was found, or where the fault shows */
	Size len;
	Size next; /* where to go on */
	const char *fault;
	ItemSpan table; /* whose items begin here; or no data */
} Record;

extern Record record_of_lines(RecordText text);

/*
 * CSV
 */

typedef struct CsvField
{
	const char *start; /* within the quotes, if there are any */
	const char *end;
	bool quoted;
	bool closed; /* the quote that ends it is there */
	bool doubled; /* it has quotes, which are doubled */
	const char *fault;
	const char *behind; /* the separator, or the end of the text */
} CsvField;

extern CsvField csv_field(const char *at, const char *end, char delimiter);
extern Record record_of_csv(RecordText text, char delimiter);

/*
 * Documents, one after the other: items, or arrays of items, or objects whose arrays have items
 */

typedef enum DocumentKind
{
	DOCUMENT_UNKNOWN,
	DOCUMENT_OF_ITEMS, /* an object is an item */
	DOCUMENT_OF_ANSWER, /* {"Items":[…], …}, of Scan or Query */
	DOCUMENT_OF_BATCH /* {"Table":[…], …}, of BatchWriteItem, perhaps in {"RequestItems":…} */
} DocumentKind;

typedef enum DocumentState
{
	DOCUMENT_OUTSIDE,
	DOCUMENT_MEMBER, /* a name may come, or the end of the object */
	DOCUMENT_NAME, /* a name must come */
	DOCUMENT_COMMA, /* of the object, or its end */
	DOCUMENT_ITEM, /* an item may come, or the end of the array */
	DOCUMENT_NEXT_ITEM, /* an item must come */
	DOCUMENT_ITEM_COMMA /* of the array, or its end */
} DocumentState;

typedef struct Document
{
	DocumentKind kind;
	ItemSpan table; /* of a batch: the one whose items are wanted; no data: all */
	DocumentState state;
	bool object; /* around the array */
	bool requests; /* in the object of RequestItems */
	bool wanted; /* the array's items are */
	bool items; /* the object has had the member */
	bool any; /* there has been a document */
} Document;

extern Record record_of_document(Document *document, RecordText text);

#endif
